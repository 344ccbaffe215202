//! A lesson of one task in the prompt of another one: when, how it is named, and what is written down of it.

use crate::overnight::{night, request};
use crate::project::{Project, task_with_check, with};
use reflexion::domain::RunId;
use reflexion::services::Start;
use serde_json::{Value, json};

/// Wrong at first. Then right where its own lesson is in the prompt, for `b` only where that of another task is.
const AGENT: &str = r#"
answer=almost
cp "$REFLEXION_PROMPT_FILE" "$OUT/$REFLEXION_TASK_ID.$REFLEXION_ATTEMPT"
case $REFLEXION_TASK_ID.$REFLEXION_ATTEMPT in
  a.2) answer=right ;;
  *.2) if grep -q 'from another task, a' "$REFLEXION_PROMPT_FILE"; then answer=right; fi ;;
esac
echo $answer > "$REFLEXION_TASK_ID.txt"
"#;

/// Prints what a failing test prints, the same whichever file is wrong.
const CHECK: &str = r#"
if grep -qx right "$1"; then echo "1 passed in 0.1s"; exit 0; fi
echo "pool.py:12: KeyError: 'gone' in evict_all"
echo "FAILED tests/test_pool.py::test_evict - KeyError: 'gone' in evict_all"
echo "1 failed in 0.1s"
exit 1
"#;

/// Says of `a` what is true of both, and of `b` nothing.
const GENERATOR: &str = r#"
case $(cat) in
  *'"taskId":"a"'*) advice='collect the keys before `evict_all` changes the pool' ;;
  *) advice='look again' ;;
esac
echo "{\"category\":\"root_cause\",\"analysis\":\"The pool changes while it is read.\",\"suggestion\":\"$advice\",\"actionItems\":[],\"confidence\":0.5}"
"#;

pub(crate) fn project(holdout: bool) -> Project {
    let project = Project::new(AGENT);
    project.write("check.sh", CHECK);
    project.write("generate.sh", GENERATOR);
    for file in ["a.txt", "b.txt"] {
        project.write(file, "wrong\n");
    }
    project.config(|config| {
        config["reflexion"]["holdout"] = holdout.into();
        config["reflexion"]["generator"] = json!({ "type": "command", "argv": ["sh", "generate.sh"] });
    });
    let task = |id: &str| with(task_with_check(id, &format!("sh check.sh {id}.txt")), json!({ "maxAttempts": 2 }));
    project.tasks(&[task("a"), task("b")]);
    project
}

/// What the journal says of the attempt.
fn started(project: &Project, task: &str, attempt: u64) -> Value {
    let run = std::fs::read_dir(project.dir.join(".reflection/runs")).unwrap().next().unwrap().unwrap().file_name();
    let journal = project.read(&format!(".reflection/runs/{}/journal.jsonl", run.to_string_lossy()));
    let entries = String::from_utf8(journal).unwrap();
    let mut entries = entries.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let is_it = |entry: &Value| {
        entry["type"] == "attempt_started" && entry["task"] == task && entry["attempt"].as_u64() == Some(attempt)
    };
    entries.find(is_it).unwrap()
}

fn events(project: &Project) -> Vec<Value> {
    let lines = String::from_utf8(project.read("memory/lessons.jsonl")).unwrap();
    lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_lesson_that_its_own_task_passed_with_is_recalled_where_another_task_fails_alike() {
    let project = project(false);
    project.run(&["run"]).exits(0);
    let prompt = project.told("b.2");
    assert!(prompt.contains("| from another task, a | the same failure]"), "{prompt}");
    assert!(prompt.contains("collect the keys before `evict_all` changes the pool"), "{prompt}");
    assert!(!project.told("b.1").contains("from another task"), "nothing has failed there yet");

    let entry = started(&project, "b", 2);
    let (own, other) = (&entry["injected"][0], &entry["injected"][1]);
    assert_eq!(entry["others"][0]["lesson"], *other, "{entry}");
    assert_eq!((&entry["others"][0]["task"], &entry["others"][0]["source"]), (&json!("a"), &json!("same")));
    let of_a: Vec<Value> = events(&project).into_iter().filter(|event| event["lesson"] == *other).collect();
    let changes: Vec<_> = of_a.iter().map(|event| event["event"].as_str().unwrap()).collect();
    assert_eq!(changes, ["kept", "promoted"]);
    assert!(events(&project).iter().all(|event| event["lesson"] != *own), "`look again` cites nothing");
    project.run(&["report"]).exits(0).prints("attempt 2 of b (confirmed): the same failure");
    // What follows from the same files is the same.
    let before = project.read("memory/lessons.jsonl");
    project.run(&["memory", "rebuild"]).exits(0);
    assert_eq!(project.read("memory/lessons.jsonl"), before);
}

#[test]
fn lessons_of_other_tasks_have_a_coin_of_their_own() {
    let project = project(true);
    // The coin of this run says yes to the lesson of `a`, so that it can prove itself.
    let run = RunId::new("20261122-220000-third").unwrap();
    night(&project, request(&run, Start::New), None).unwrap();
    let entry = started(&project, "a", 2);
    assert!(entry["exposure"]["others"].is_null() && entry["exposure"]["own"].is_object(), "{entry}");
    assert_eq!(entry["exposure"]["own"]["injected"], true);
    let entry = started(&project, "b", 2);
    let (own, others) = (&entry["exposure"]["own"], &entry["exposure"]["others"]);
    assert_eq!(others["candidates"].as_array().map(Vec::len), Some(1), "{entry}");
    let shown = [own, others].map(|coin| usize::from(coin["injected"] == true)).iter().sum::<usize>();
    assert_eq!(entry["injected"].as_array().map(Vec::len), Some(shown), "{entry}");
    let stats = project.run(&["memory", "stats", "--json"]).exits(0).json();
    assert_eq!(stats["others"]["trials"], 1, "{stats}");
    project.run(&["memory", "stats"]).exits(0).prints("\nLessons of other tasks: Not known yet");
}

#[test]
fn a_persons_word_on_a_lesson_stands_above_the_rules() {
    let project = project(false);
    project.run(&["run"]).exits(0);
    let of_a = started(&project, "a", 2)["injected"][0].as_str().unwrap().to_owned();
    project
        .run(&["memory", "show", &of_a])
        .exits(0)
        .prints("probation: its own task sees it, and others of the project that fail alike");
    let retired = project.run(&["memory", "retire", &of_a, "--why", "the pool is gone", "--json"]).exits(0).json();
    assert_eq!(retired["standing"]["state"], "retired", "{retired}");
    project.run(&["memory", "show", &of_a]).exits(0).prints("nobody sees it (the pool is gone)");
    project.run(&["memory", "pin", "nobody"]).exits(2);

    // Neither its own task nor another one sees it.
    for task in ["a", "b"] {
        project.run(&["task", "reopen", task]).exits(0);
    }
    project.write("a.txt", "wrong\n");
    project.write("b.txt", "wrong\n");
    project.git(&["add", "-A"]);
    project.git(&["commit", "-qm", "wrong again", "--allow-empty"]);
    project.run(&["run"]);
    assert!(!project.told("b.4").contains("collect the keys"), "{}", project.told("b.4"));
    project.run(&["memory", "promote", &of_a]).exits(0).prints("probation");
}

#[test]
fn what_is_not_plainly_fine_for_others_is_shown_to_its_own_task_alone() {
    let project = project(false);
    let items = r#"["evict_all: empty tests/test_pool.py", "x: echo exit 0 > check.sh"]"#;
    let items = items.replace('"', "\\\"");
    project.write("generate.sh", GENERATOR.replace("[]", &items));
    project.run(&["run"]);
    assert!(project.told("a.2").contains("empty tests/test_pool.py"), "{}", project.told("a.2"));
    let prompt = project.told("b.2");
    assert!(!prompt.contains("another task") && prompt.contains("look again"), "{prompt}");
    // `b` says the same, and that is all that happened to them.
    assert!(events(&project).iter().all(|event| event["event"] == "merged"), "{:?}", events(&project));
}

#[test]
fn a_record_of_lessons_that_cannot_be_read_costs_those_of_others_alone_and_is_said() {
    let project = project(false);
    std::fs::create_dir_all(project.dir.join("memory/lessons.jsonl")).unwrap();
    let ran = project.run(&["run"]);
    assert!(project.told("a.2").contains("collect the keys"), "{}", project.told("a.2"));
    let prompt = project.told("b.2");
    assert!(!prompt.contains("another task") && prompt.contains("look again"), "{prompt}");
    let said = "memory/lessons.jsonl cannot be read, and no lessons of other tasks are shown";
    assert_eq!(ran.stderr.matches(said).count(), 1, "{}", ran.stderr);
    project.run(&["report"]).prints(said);
}
