//! Secrets that programs print: none is kept, shown, sent or told to an agent.

use crate::project::{Project, Ran, task_with_check};
use serde_json::json;
use std::path::Path;

/// Put together here, so that nothing in this file looks like a key to anybody else.
fn tokens() -> Vec<String> {
    vec![
        ["gh", "p_", "x7Kq2mPz9RtY4wVb8NcL3sHd6fJg1aQe5uTo"].concat(),
        ["gl", "pat-", "x7Kq2mPz9RtY4wVb8NcL"].concat(),
        ["AK", "IA", "Q3EGRZ7WMNK5XJ2D"].concat(),
        ["sk_", "live_", "x7Kq2mPz9RtY4wVb8NcL3sHd"].concat(),
    ]
}

const OF_ENVIRONMENT: &str = "correct horse battery staple";

/// Every file below a directory that holds one of the words.
fn holding(dir: &Path, words: &[String]) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap().flatten() {
        let path = entry.path();
        match entry.file_type().unwrap() {
            kind if kind.is_dir() => found.extend(holding(&path, words)),
            kind if kind.is_file() => {
                let text = String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned();
                let held = words.iter().filter(|word| text.contains(word.as_str()));
                found.extend(held.map(|word| format!("{} holds {word}", path.display())));
            }
            _ => {}
        }
    }
    found
}

/// Prints all of them: as a file has them, in colour, in JSON.
const PRINTS: &str = r#"while read -r token; do echo "error: $token"; printf '\033[31m%s\033[0m {"key":"%s"}\n' "$token" "$token"; done < "$OUT/../tokens"; echo "with $DEPLOY_TOKEN""#;

struct Planted {
    project: Project,
    words: Vec<String>,
}

impl Planted {
    /// Agent, check and notices work as usual; the agent fails twice.
    fn new() -> Self {
        let agent = format!(
            r#"cat "$REFLEXION_PROMPT_FILE" >> "$OUT/prompts"; echo "attempt $REFLEXION_ATTEMPT" > answer.txt; {PRINTS}"#
        );
        let project = Project::new(&agent);
        let tokens = tokens();
        std::fs::write(project.out.join("../tokens"), tokens.join("\n") + "\n").unwrap();
        project.tasks(&[task_with_check("a", &format!("{PRINTS}; {PRINTS} >&2; grep -qx right answer.txt"))]);
        project.config(|c| {
            c["notify"] = json!([{ "type": "command", "argv": ["sh", "-c", "cat >> \"$OUT/notices\""] }]);
        });
        project.commit();
        Self { project, words: tokens.into_iter().chain([OF_ENVIRONMENT.to_owned()]).collect() }
    }

    fn run(&self, args: &[&str]) -> Ran {
        let mut command = self.project.command(args);
        command.env("DEPLOY_TOKEN", OF_ENVIRONMENT);
        let ran = Ran::of(command, "");
        for word in &self.words {
            assert!(!ran.stdout.contains(word), "{args:?}: {word} in {}", ran.stdout);
            assert!(!ran.stderr.contains(word), "{args:?}: {word} in {}", ran.stderr);
        }
        ran
    }

    fn nothing_is_held(&self) {
        for dir in [self.project.dir.join("memory"), self.project.dir.join(".reflection"), self.project.out.clone()] {
            if dir.exists() {
                assert_eq!(holding(&dir, &self.words), [""; 0]);
            }
        }
    }
}

#[test]
fn what_checks_and_agents_print_is_kept_without_secrets() {
    let planted = Planted::new();
    planted.run(&["run", "--max-attempts", "2"]).exits(1);
    planted.nothing_is_held();
    let project = &planted.project;
    // Something was there to be found.
    let memory = String::from_utf8(project.read("memory/reflections.jsonl")).unwrap();
    let prompts = project.told("prompts");
    for (place, text) in [("memory", &memory), ("prompts", &prompts)] {
        assert!(text.contains("[redacted:"), "nothing was redacted in {place}:\n{text}");
    }
    for args in
        [&["status"][..], &["report"], &["report", "--json"], &["memory", "list", "--json"], &["transcript", "list"]]
    {
        planted.run(args);
    }
}

#[test]
fn what_an_agent_is_given_and_what_own_rules_name_goes_as_well() {
    let planted = Planted::new();
    let project = &planted.project;
    let script = "echo $ACME_KEY acme-$((123455 + 1)); echo attempt > answer.txt";
    project.config(|c| {
        c["agents"]["sh"] =
            json!({ "type": "command", "argv": ["sh", "-c", script], "env": { "ACME_KEY": "only here it is" } });
        c["redaction"] = json!({ "rules": "rules.toml" });
    });
    project.tasks(&[task_with_check("a", "echo $ACME_KEY acme-$((123455 + 1)); false")]);
    project.write("rules.toml", "[[rules]]\nid = \"acme\"\nregex = 'acme-[0-9]{6}'\n");
    project.commit();
    planted.run(&["run", "--max-attempts", "2"]).exits(1);
    let words = ["only here it is", "acme-123456"].map(str::to_owned);
    for dir in ["memory", ".reflection"] {
        assert_eq!(holding(&project.dir.join(dir), &words), [""; 0]);
    }
    assert!(String::from_utf8(project.read("memory/reflections.jsonl")).unwrap().contains("[redacted:acme]"));
    project.write("rules.toml", "[[rules]]\nid = \"acme\"\nregex = '('\n");
    planted.run(&["run"]).exits(2).says("rules.toml: `acme`: regex parse error");
}

#[test]
fn what_is_printed_as_json_stays_json() {
    let project = Project::new("true");
    let mut task = task_with_check("a", "true");
    let password = ["tr0ub", "4dor"].concat();
    task["title"] = json!(format!("Ask with curl -u \"ada:{password}\" host"));
    project.tasks(&[task]);
    let shown = project.run(&["task", "list", "--json"]).exits(0).json().to_string();
    assert!(!shown.contains(&password) && shown.contains("[redacted:"), "{shown}");
}

#[test]
fn what_a_setup_prints_is_told_without_secrets() {
    let planted = Planted::new();
    planted.project.config(|c| c["setup"] = json!(format!("{{ {PRINTS}; }} >&2; exit 1")));
    planted.run(&["run"]).exits(4).says("[redacted:");
    assert!(planted.project.told("notices").contains("[redacted:"), "{}", planted.project.told("notices"));
    planted.nothing_is_held();
}

/// An agent names its files as it likes, and so does what it builds links to.
#[test]
fn names_of_files_stand_in_no_prompt_with_their_secrets() {
    let token = tokens().remove(0);
    let agent = format!(
        r#"cat "$REFLEXION_PROMPT_FILE" >> "$OUT/prompts"; echo "$REFLEXION_ATTEMPT" > "{token}.txt"; ln -sfn "../{token}" link; echo x >> tests/kept.txt"#
    );
    let project = Project::new(&agent);
    project.write("tests/kept.txt", "kept\n");
    project.config(|c| {
        c["protect"] = json!(["tests/**"]);
        c["reflexion"]["generator"] = json!({ "type": "command", "argv": ["sh", "-c", "tee -a \"$OUT/asked\""] });
    });
    project.tasks(&[task_with_check("a", "grep -qx right answer.txt")]);
    project.commit();
    project.run(&["run", "--max-attempts", "3"]).exits(1);
    for told in ["prompts", "asked"] {
        let told = project.told(told);
        assert!(!told.contains(&token) && told.contains("[redacted:github-pat].txt"), "{told}");
    }
}

/// A token stands behind the letter that a spelling ends with: of a colour, of JSON, of a URL, of a language.
const SPELLINGS: [&str; 19] = [
    r#"{"out":"\u001b[31mTOKEN\u001b[0m"}"#,
    r#"{"o":"{\"a\":\"\\u001B[1;31mTOKEN\"}"}"#,
    r"AssertionError: '\x1b[31mTOKEN\x1b[0m' != ''",
    r"\u{1b}[31mTOKEN",
    r"\033[31mTOKEN",
    r"\e[1mTOKEN",
    "^[[31mTOKEN^[[0m",
    r"b'\x00TOKEN'",
    r#""a\u0000TOKEN""#,
    r#""a\u003eTOKEN""#,
    r#""a\/TOKEN""#,
    r"a\nTOKEN\nb",
    "GET /cb?next=%2Fa%3Ftoken%3DTOKEN HTTP",
    "https%3A%2F%2Fh%2FTOKEN",
    "https%253A%252F%252Fh%252FTOKEN",
    "a&#x3D;TOKEN",
    "a&#61;TOKEN",
    "a&gt;TOKEN",
    "a&amp;gt;TOKEN",
];

#[test]
fn spellings_of_characters_hide_nothing() {
    let alphabet = "x7Kq2mPz9RtY4wVb8NcL3sHd6fJg1aQe5uTo";
    let long = [alphabet, "Bv5Xc8Zn1Mk4", alphabet, "Lp9Oi3Uy7T"].concat();
    let mut tokens = tokens();
    tokens.extend([
        ["sk-ant-", "api03-", &long[..93], "AA"].concat(),
        ["np", "m_", &alphabet[..36]].concat(),
        ["A", "Iza", &alphabet[1..36]].concat(),
        ["hf", "_", "xKqmPzRtYwVbNcLsHdfJgaQeuToBvXcZnM"].concat(),
        ["ey", "JhbGciOiJIUzI1NiJ9.ey", "J", &long[..40], ".", &long[30..73]].concat(),
    ]);
    let project = Project::new("echo \"attempt $REFLEXION_ATTEMPT\" > answer.txt");
    let line = |token: &String| SPELLINGS.map(|spelling| spelling.replace("TOKEN", token) + "\n").concat();
    std::fs::write(project.out.join("printed"), tokens.iter().map(line).collect::<String>()).unwrap();
    project.tasks(&[task_with_check("a", "cat \"$OUT/printed\"; false")]);
    project.run(&["run", "--max-attempts", "1"]).exits(1);
    for dir in ["memory", ".reflection"] {
        assert_eq!(holding(&project.dir.join(dir), &tokens), [""; 0]);
    }
}

#[test]
fn passwords_are_known_by_where_they_stand() {
    // Each with the word that is secret; none of them is one that anybody uses.
    let printed = [
        (
            "https://discord.com/api/webhooks/123456789012345678/SECRET",
            &"x7Kq2mPz9RtY4wVb8NcL3sHd6fJg1aQe5uTo".repeat(2)[..68],
        ),
        ("https://api.telegram.org/bot123456789:SECRET/sendMessage", "AAx7Kq2mPz9RtY4wVb8NcL3sHd6fJg1aQe5"),
        ("$ docker login -u ada -p SECRET registry.example", "hunter-two"),
        ("+ mysql -uroot -pSECRET shop", "Kq2mPz9R"),
        ("sshpass -p SECRET ssh ada@host", "tr0ub4dor"),
        ("Command '['mysql', '--password', 'SECRET']' returned 1", "Kq2mPz9RtY4w"),
        (r#"["curl", "-u", "bob:SECRET", "http://h"]"#, "Kq2mPz9RtY4w"),
        ("DATABASE_PASS=SECRET", "Kq2mPz9RtY4w"),
        ("> Cookie: lang=de; sid=SECRET; b=1", "x7Kq2mPz9RtY4wVb8NcL"),
        ("Set-Cookie: session=SECRET; Path=/", "x7Kq2mPz9RtY4wVb8NcL"),
        ("['run', '--password SECRET']", "Kq2mPz9RtY4w"),
        ("DB_PASSWORD=SECRET", "guVuZBvhkrGXXmON"),
        ("password=SECRET", "p@ss!word"),
    ];
    let secrets = printed.map(|(_, secret)| secret.to_owned());
    let ordinary = "password: required\npassword=userPassword\nself.password = settings.databasePassword\n--password Required\n\
        PASSWORD=NOT_SET\nif password != confirm_password:\nmysql -p asks\nclient.login -p 8080\nCookie: theme=dark-with-contrast\n\
        parser.add_argument('--password', 'wanted')\npassword=Contraseña\nTEST_PASS=AllTestsPassed\n";
    let project = Project::new("echo \"attempt $REFLEXION_ATTEMPT\" > answer.txt");
    let text: String = printed.iter().map(|(text, secret)| text.replace("SECRET", secret) + "\n").collect();
    std::fs::write(project.out.join("printed"), text).unwrap();
    std::fs::write(project.out.join("ordinary"), ordinary).unwrap();
    project.tasks(&[
        task_with_check("a", "cat \"$OUT/printed\"; false"),
        task_with_check("b", "cat \"$OUT/ordinary\"; false"),
    ]);
    project.run(&["run", "--max-attempts", "1"]).exits(1);
    for dir in ["memory", ".reflection"] {
        assert_eq!(holding(&project.dir.join(dir), &secrets), [""; 0]);
    }
    let kept = holding(&project.dir.join(".reflection"), &ordinary.lines().map(json_text).collect::<Vec<_>>());
    for line in ordinary.lines().map(json_text) {
        assert!(kept.iter().any(|held| held.ends_with(&line)), "`{line}` is no secret: {kept:#?}");
    }
}

/// A line as it stands in a string of JSON.
fn json_text(line: &str) -> String {
    serde_json::to_string(line).unwrap().trim_matches('"').to_owned()
}

#[test]
fn what_a_carried_file_of_variables_holds_is_kept_nowhere() {
    let project = Project::new("echo \"attempt $REFLEXION_ATTEMPT\" > answer.txt; cat .env");
    project.write(".gitignore", ".env\n");
    let more = "MAIL_TOKEN: second-of-the-words\nsetenv CSH_TOKEN third-of-the-words\nA=1 B_TOKEN=fourth-of-the-words C=2\n\
                export A=1;export D_TOKEN=fifth-of-the-words\nexport A=1 \\\n  E_TOKEN=sixth-of-\\\nthe-words\n";
    let first = "export SHOP_TOKEN=\"plain enough words\" # of the shop\nSHOP_NAME=corner shop of mine\n";
    project.write(".env", format!("{first}{more}"));
    project.config(|c| c["carry"] = json!([".env"]));
    let say = "for w in second third fourth fifth sixth; do echo \"$w-of-the-words\"; done; false";
    project.tasks(&[task_with_check("a", &format!(". ./.env 2> /dev/null; echo \"$SHOP_TOKEN $SHOP_NAME\"; {say}"))]);
    project.run(&["run", "--max-attempts", "1"]).exits(1);
    let secrets = ["second", "third", "fourth", "fifth", "sixth"].map(|word| format!("{word}-of-the-words"));
    for secret in ["plain enough words".to_owned()].iter().chain(&secrets) {
        for dir in ["memory", ".reflection"] {
            assert_eq!(holding(&project.dir.join(dir), std::slice::from_ref(secret)), [""; 0], "{secret}");
        }
    }
    assert_ne!(holding(&project.dir.join(".reflection"), &["corner shop of mine".to_owned()]), [""; 0]);
}

/// As caches of build services are keyed.
#[test]
fn the_commit_of_a_run_stands_although_a_variable_is_set_to_it() {
    let project = Project::new("echo right > answer.txt");
    let commit = project.git(&["rev-parse", "HEAD"]);
    let mut command = project.command(&["run"]);
    command.env("CACHE_KEY", commit.trim());
    Ran::of(command, "").exits(0);
    assert_ne!(holding(&project.dir.join(".reflection/runs"), &[commit.trim().to_owned()]), [""; 0]);
}

/// An agent without a sandbox reads it where the user has it, and prints it.
#[test]
fn what_the_projects_own_file_of_variables_holds_is_kept_nowhere_although_it_is_not_carried() {
    let values = ["plain-Qx71-value-here", "listed-Wz82-value-here", "below-Ru93-value-here"].map(str::to_owned);
    let project = Project::new(
        r#"cat "$REFLEXION_PROMPT_FILE" >> "$OUT/prompts"; echo almost > answer.txt; cat "$OUT/../project/.env""#,
    );
    project.write(".gitignore", ".env\n.reflection/\n");
    let [plain, listed, below] = &values;
    project.write(".env", format!("SHOP_TOKEN={plain}\nMAIL_TOKEN=[\"{listed}\"]\nDEPLOY_TOKEN: |\n  {below}\n"));
    project.tasks(&[task_with_check("a", "sed 's/[]\"[|]//g' \"$OUT/../project/.env\"; grep -qx right answer.txt")]);
    let ran = project.run(&["run", "--max-attempts", "2"]);
    let prompts = project.told("prompts");
    assert!(prompts.contains("[redacted:"), "{prompts}");
    std::fs::remove_file(project.dir.join(".env")).unwrap();
    let held = [holding(&project.dir, &values), holding(&project.out, &values)].concat();
    assert_eq!(held, Vec::<String>::new());
    assert!(values.iter().all(|value| !ran.stdout.contains(value) && !ran.stderr.contains(value)), "{}", ran.stderr);
}
