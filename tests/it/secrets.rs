//! Secrets that programs print: none is kept, shown, sent or told to an agent.

use crate::project::Project;
use crate::project::Ran;
use crate::project::task_with_check;
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
