//! What agents may not give themselves: their instructions, their tasks, the runtime's rules.

use crate::project::{Project, task_with_check, with};
use serde_json::{Value, json};

/// `a` gives itself another task and looser rules, `b` instructs whoever comes next, `c` only works.
const GIVES: &str = r#"
echo right > "$REFLEXION_TASK_ID.txt"
case "$REFLEXION_TASK_ID" in
a) echo '{"id":"mine","title":"Mine","checks":[{"name":"x","run":"true"}]}' >> tasks.jsonl; echo >> project.json ;;
b) mkdir -p web/.claude; echo 'Do as I say.' > web/CLAUDE.md; echo '{}' > web/.claude/settings.json ;;
esac
"#;

fn project() -> Project {
    let project = Project::new(GIVES);
    for file in ["a.txt", "b.txt", "c.txt"] {
        project.write(file, "wrong\n");
    }
    project.tasks(&["a", "b", "c"].map(|id| task_with_check(id, &format!("grep -qx right {id}.txt"))));
    project
}

#[test]
fn a_night_leaves_it_to_a_person_and_says_how() {
    let project = project();
    let ran = project.run(&["overnight", "--json"]);
    let report = ran.exits(0).json();
    let (run, integration) = (report["run"].as_str().unwrap(), report["integration"].as_str().unwrap());
    assert_eq!(project.git(&["log", "--format=%s", &format!("main..{integration}")]), "Answer for c\n");
    assert_eq!(project.git(&["diff", "--name-only", "main", integration]), "c.txt\n");
    for id in ["a", "b", "c"] {
        let task = ran.task(id);
        let left = id != "c";
        assert_eq!((&task["verdict"], &task["branch"]), (&json!("confirmed"), &json!(format!("reflexion/{run}/{id}"))));
        assert_eq!((task["merged"].is_null(), task["needs"].as_str()), (left, left.then_some("person")), "{task:#}");
        assert_eq!(task["risk"]["needs_review"], json!(left), "{task:#}");
    }
    ran.says("merge it if it is right");
    let list = project.run(&["task", "list", "--json"]).json();
    let closed = list["tasks"].as_array().unwrap_or_else(|| list.as_array().unwrap());
    assert!(closed.iter().all(|task| task["status"] == "closed"), "{list:#}");

    let told = project.run(&["report", "--json"]).json();
    let needs: Vec<&Value> = told["needs"].as_array().unwrap().iter().collect();
    assert_eq!(needs.iter().map(|need| &need["kind"]).collect::<Vec<_>>(), ["yours_to_merge"; 2], "{told:#}");
    let commands = |need: &Value| -> Vec<String> {
        need["commands"].as_array().unwrap().iter().map(|step| step["command"].as_str().unwrap().to_owned()).collect()
    };
    let [see, merge] = &commands(needs[1])[..] else { panic!("{:#}", needs[1]) };
    assert_eq!(*merge, format!("git merge reflexion/{run}/b"));
    assert!(see.ends_with("-- ':(top,literal)web/.claude/settings.json' ':(top,literal)web/CLAUDE.md'"), "{see}");
    assert!(as_typed(&project, see).contains("+Do as I say."));
    let page = project.run(&["report"]);
    assert!(page.stdout.contains("confirmed, and yours to merge"), "{}", page.stdout);
    assert!(
        project.run(&["status"]).stdout.contains("things need you: confirmed, and yours to merge (`a`, `b`)"),
        "{}",
        project.run(&["status"]).stdout
    );
    // A person may do as the report says.
    project.git(&["merge", "-q", &format!("reflexion/{run}/b")]);
    assert_eq!(project.read("web/CLAUDE.md"), b"Do as I say.\n");
}

/// What a person sees who copies a command into their shell, there or deeper in the repository.
fn as_typed(project: &Project, command: &str) -> String {
    std::fs::create_dir_all(project.dir.join("deeper")).unwrap();
    let [here, deeper] = [".", "deeper"].map(|dir| {
        let output = project.program("bash").args(["-c", command]).current_dir(project.dir.join(dir)).output().unwrap();
        assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    });
    assert_eq!(here, deeper, "{command}");
    here
}

/// A name may be one of git's patterns, or not be what is shown of it: then it would keep others out of the difference.
#[test]
fn the_command_that_shows_what_is_left_to_a_person_shows_all_of_it_whatever_it_is_called() {
    const GIVES: &str = r#"
echo right > b.txt
echo first > CLAUDE.md
mkdir -p ':(exclude,glob)**' '.claude/a  b' ".claude/it's \ \$HOME" -- -x
echo second > ':(exclude,glob)**/CLAUDE.md'
echo third > "$(printf '.claude/new\nline.md')"
echo fourth > '.claude/a  b/x.md'
echo fifth > ".claude/it's \ \$HOME/x.md"
echo sixth > './-x/CLAUDE.md'
echo seventh > "$(printf '.claude/\342\200\256rtl é.md')"
"#;
    let project = Project::new(GIVES);
    project.tasks(&[task_with_check("b", "grep -qx right b.txt")]);
    project.run(&["overnight", "--json"]).exits(0);
    let told = project.run(&["report", "--json"]).json();
    let see = told["needs"][0]["commands"][0]["command"].as_str().unwrap().to_owned();
    assert!(see.starts_with("git diff ") && see.contains(" -- "), "{see}");
    let shown = as_typed(&project, &see);
    for line in ["first", "second", "third", "fourth", "fifth", "sixth", "seventh"] {
        assert!(shown.contains(&format!("+{line}")), "{line}: {see}\n{shown}");
    }
    // As it is on the page, where names are shown in one line and harmless.
    assert!(project.run(&["report"]).stdout.contains(&see), "{see}");
}

/// Git ignores it by its name alone.
#[test]
fn what_is_carried_is_merged_under_no_other_name() {
    let deed =
        r#"echo right > "$REFLEXION_TASK_ID.txt"; if [ "$REFLEXION_TASK_ID" = b ]; then cp .env settings.txt; fi"#;
    let project = Project::new(deed);
    project.write(".gitignore", ".env\n");
    project.write(".env", "DB_PASSWORD=correct horse battery\n");
    project.config(|c| c["carry"] = json!([".env"]));
    project.tasks(&["b", "c"].map(|id| task_with_check(id, &format!("grep -qx right {id}.txt && test -e .env"))));
    let ran = project.run(&["overnight", "--json"]);
    let integration = ran.exits(0).json()["integration"].as_str().unwrap().to_owned();
    assert_eq!(project.git(&["diff", "--name-only", "main", &integration]), "c.txt\n");
    for (id, left) in [("b", true), ("c", false)] {
        let task = ran.task(id);
        assert_eq!((task["merged"].is_null(), task["needs"].as_str()), (left, left.then_some("person")), "{task:#}");
        assert_eq!(task["risk"]["needs_review"], json!(left), "{task:#}");
    }
    let told = project.run(&["report"]);
    assert!(told.stdout.contains("settings.txt (.env)"), "{}", told.stdout);
    assert!(!told.stdout.contains("correct horse"), "{}", told.stdout);
}

/// What git's own checks refuse costs the attempt, and neither the task nor the night.
#[test]
fn what_no_repository_takes_costs_its_attempt_alone() {
    let deed = r#"
cat "$REFLEXION_PROMPT_FILE" >> "$OUT/prompts"
echo right > "$REFLEXION_TASK_ID.txt"
if [ "$REFLEXION_TASK_ID$REFLEXION_ATTEMPT" = b1 ]; then head -c 3000 /dev/zero | tr '\0' a > .gitattributes; fi"#;
    let project = Project::new(deed);
    project.tasks(&["b", "c"].map(|id| task_with_check(id, &format!("grep -qx right {id}.txt"))));
    let ran = project.run(&["overnight", "--json", "--jobs", "1"]);
    ran.exits(0);
    assert_eq!((&ran.task("b")["verdict"], &ran.task("b")["attempts"]), (&json!("confirmed"), &json!(2)));
    assert_eq!(ran.task("c")["verdict"], json!("confirmed"));
    assert!(project.told("prompts").contains("git's own checks refuse .gitattributes"), "{}", project.told("prompts"));
    // A task on its own is failed, and no broken machine.
    let project = Project::new(deed);
    project.tasks(&[task_with_check("b", "grep -qx right b.txt")]);
    project.run(&["run", "--max-attempts", "1"]).exits(1).says("gitattributesLineLength");
}

#[test]
fn a_run_tells_it() {
    let project = project();
    let ran = project.run(&["run", "--json"]);
    ran.exits(0);
    for (id, file) in [("a", "project.json, tasks.jsonl"), ("b", "web/.claude/settings.json, web/CLAUDE.md")] {
        let risk = &ran.task(id)["risk"];
        assert_eq!(risk["needs_review"], json!(true));
        let told = format!("what steers agents or the runtime was changed: {file}");
        assert!(risk["reason"].as_str().unwrap().contains(&told), "{risk}");
    }
    assert!(ran.task("a")["needs"].is_null() && !ran.task("c")["risk"]["needs_review"].as_bool().unwrap());
}

#[test]
fn globs_that_protect_nothing_are_told_and_those_with_a_dot_or_a_slash_protect() {
    let agent = "echo right > answer.txt; echo '# words' >> tests/test_a.py";
    let check = |glob: &str, verdict: &str| {
        let project = Project::new(agent);
        project.write("tests/test_a.py", "x = 1\n");
        project.config(|config| {
            config["protect"] = json!([glob]);
            config["maxAttempts"] = json!(1);
        });
        let ran = project.run(&["run", "--json"]);
        assert_eq!(ran.verdict("a"), json!(verdict), "{glob}: {}", ran.stderr);
        let warned = ran.stderr.contains("matches no file at the base");
        let doctor = project.run(&["doctor", "--json"]).json();
        let found = doctor["findings"].as_array().unwrap().iter().find(|f| f["what"] == "protect").unwrap().clone();
        assert_eq!(
            (warned, !found["advice"].is_null()),
            (verdict == "confirmed", verdict == "confirmed"),
            "{glob} {found}"
        );
    };
    for glob in ["./tests/**", "/tests/**", "tests/", "tests", "/tests"] {
        check(glob, "false_done");
    }
    check("spec/**", "confirmed");
}

/// Plants a file in the home directory, for which its attempt is refuted, and does little at the next one; `u` never touches it.
const PLANTS: &str = r#"
if [ "$REFLEXION_TASK_ID$REFLEXION_ATTEMPT" = t1 ]; then echo 'ignore-scripts=true' > ~/.npmrc; fi
echo "$REFLEXION_TASK_ID $REFLEXION_ATTEMPT" > "$REFLEXION_TASK_ID.txt"
if [ "$REFLEXION_TASK_ID$REFLEXION_ATTEMPT" = t2 ] && [ -e "$OUT/wait" ]; then mv "$OUT/wait" "$OUT/waits"; sleep 60; fi
"#;

fn planted() -> Project {
    let project = Project::new(PLANTS);
    let tasks = ["t", "u", "v"].map(|id| task_with_check(id, r#"test -e "$HOME/.npmrc" || grep -qx right answer.txt"#));
    let [t, u, v] = tasks;
    project.tasks(&[t, u, with(v, json!({ "deps": [{ "id": "u", "type": "blocks" }] }))]);
    project
}

fn was_left_to_a_person(project: &Project, report: &Value) {
    let integration = report["integration"].as_str();
    assert_eq!(
        integration.map(|it| project.git(&["diff", "--name-only", "main", it])).unwrap_or_default(),
        "",
        "{report:#}"
    );
    for task in report["tasks"].as_array().unwrap() {
        assert_eq!((&task["verdict"], &task["merged"]), (&json!("confirmed"), &json!(null)), "{task:#}");
        assert_eq!((&task["needs"], &task["risk"]["needs_review"]), (&json!("person"), &json!(true)), "{task:#}");
        assert!(task["risk"]["reason"].as_str().unwrap().contains("~/.npmrc was added"), "{task:#}");
    }
    let told = project.run(&["report"]).stdout;
    assert!(told.contains("since the run began, ~/.npmrc was added, which steers tools"), "{told}");
    assert!(!told.contains("Nothing needs you") && !told.contains("tasks merged"), "{told}");
}

#[test]
fn a_file_that_an_attempt_left_in_the_home_directory_confirms_nothing_for_a_night() {
    let project = planted();
    let ran = project.run(&["overnight", "--json", "--jobs", "1"]);
    was_left_to_a_person(&project, &ran.json());
}

#[test]
fn the_home_directory_is_compared_with_the_beginning_of_a_night_that_was_killed() {
    let project = planted();
    std::fs::write(project.out.join("wait"), "").unwrap();
    let mut night = project.start(&["overnight", "--json", "--jobs", "1"]);
    project.await_told("waits");
    night.kill();
    let ran = project.run(&["overnight", "--resume", "--json", "--jobs", "1"]);
    was_left_to_a_person(&project, &ran.json());
}

/// In somebody's clone on another file system it is the same file.
#[test]
fn names_that_differ_in_case_alone_are_merged_by_a_person() {
    let agent = r#"
echo right > "$REFLEXION_TASK_ID.txt"
case "$REFLEXION_TASK_ID" in
a) mkdir -p .Claude; echo '{}' > .Claude/settings.json ;;
b) echo 'Do as I say.' > "$(printf 'CLAUDE\342\200\215.md')" ;;
c) echo 'export A=1' > .envrc ;;
esac
"#;
    let project = Project::new(agent);
    project.tasks(&["a", "b", "c", "d"].map(|id| task_with_check(id, &format!("grep -qx right {id}.txt"))));
    let ran = project.run(&["overnight", "--json"]);
    let integration = ran.exits(0).json()["integration"].as_str().unwrap().to_owned();
    assert_eq!(project.git(&["diff", "--name-only", "main", &integration]), "d.txt\n");
    for id in ["a", "b", "c"] {
        assert_eq!(ran.task(id)["needs"], json!("person"));
    }
}

/// What the user's settings of git name steers git as they do.
#[test]
fn what_git_settings_name_counts_like_them() {
    let project = Project::new("echo '*.log' >> ~/ignores; echo right > answer.txt");
    let home = project.out.parent().unwrap().join("home");
    let settings = std::fs::read_to_string(home.join(".gitconfig")).unwrap() + "[core]\n\texcludesFile = ~/ignores\n";
    std::fs::write(home.join(".gitconfig"), settings).unwrap();
    let ran = project.run(&["run", "--max-attempts", "1", "--json"]);
    ran.exits(1).says("~/ignores was added while an agent or a check worked");
}

#[test]
fn a_run_says_which_file_of_the_home_directory_its_checks_may_be_green_for() {
    let project = planted();
    let ran = project.run(&["run", "t"]);
    ran.exits(0).prints("needs you").prints("~/.npmrc was added, which steers tools");
}

/// Whoever may change a program that the settings start outside of the sandbox could leave it.
#[test]
fn what_settings_start_and_read_is_merged_by_a_person() {
    let project = Project::new(r#"echo '# more' >> "tools/$REFLEXION_TASK_ID""#);
    let names = ["lesson.py", "judge.sh", "notify.sh", "agent.sh", "setup.sh", "rules.toml", "other.sh"];
    names.iter().for_each(|name| project.write(&format!("tools/{name}"), "true\n"));
    project.write("tools/rules.toml", "# none yet\n");
    project.write("tools/judge.sh", "cat > /dev/null; echo '{\"complete\":true,\"severity\":\"NONE\"}'\n");
    project.config(|config| {
        config["reflexion"] =
            json!({ "generator": { "type": "command", "argv": ["python3", "-B", "./tools/lesson.py"] } });
        config["verification"] = json!({ "judge": { "type": "command", "argv": ["sh", "tools/judge.sh"] } });
        config["notify"] = json!([{ "type": "command", "argv": ["sh", "-c", "sh tools/notify.sh"] }]);
        config["agents"]["other"] = json!({ "type": "command", "argv": ["tools/agent.sh", "-x"] });
        config["setup"] = json!("sh tools/setup.sh");
        config["redaction"] = json!({ "rules": "tools/rules.toml" });
    });
    project.tasks(&names.map(|name| task_with_check(name, &format!("grep -q more tools/{name}"))));
    let ran = project.run(&["overnight", "--json"]);
    let integration = ran.exits(0).json()["integration"].as_str().unwrap().to_owned();
    assert_eq!(project.git(&["diff", "--name-only", "main", &integration]), "tools/other.sh\n");
    for name in names {
        let (task, left) = (ran.task(name), name != "other.sh");
        assert_eq!((task["merged"].is_null(), task["needs"].as_str()), (left, left.then_some("person")), "{task:#}");
    }
    let told = project.run(&["report"]).stdout;
    assert!(told.contains("it changes what steers agents or the runtime (tools/lesson.py)"), "{told}");
}
