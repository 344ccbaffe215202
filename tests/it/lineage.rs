//! Lessons about files that are gone: who sees them, and what brings them back.

use crate::project::Project;
use crate::recall::project;
use serde_json::{Value, json};

/// A project that has learned something about `pool.py`.
fn learned() -> Project {
    let project = project(false);
    project.write("lib/pool.py", "pool = {}\n");
    project.commit();
    project.run(&["run"]).exits(0);
    project
}

fn events(project: &Project) -> Vec<Value> {
    let lines = String::from_utf8(project.read("memory/lessons.jsonl")).unwrap();
    lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Does task `b` once more, and says whether the second attempt saw the lesson of `a`.
fn again(project: &Project, attempt: u32) -> (String, bool) {
    project.run(&["task", "reopen", "b"]).exits(0);
    let printed = project.run(&["run"]).stdout;
    let prompt = project.told(&format!("b.{attempt}"));
    (printed, prompt.contains("collect the keys before `evict_all` changes the pool"))
}

#[test]
fn a_lesson_is_stale_while_its_file_is_gone_and_live_again_when_it_is_back() {
    let project = learned();
    let lessons = String::from_utf8(project.read("memory/reflections.jsonl")).unwrap();
    let first: Value = serde_json::from_str(lessons.lines().next().unwrap()).unwrap();
    assert_eq!(first["files"], json!(["pool.py"]), "the output names it, and so it is what the lesson is about");
    let id = first["id"].as_str().unwrap();

    // Another directory is no other file.
    project.git(&["mv", "lib/pool.py", "pool.py"]);
    project.commit();
    let (printed, seen) = again(&project, 4);
    assert!(seen && !printed.contains("gone"), "{printed}");

    project.git(&["rm", "-q", "pool.py"]);
    project.commit();
    let (printed, seen) = again(&project, 6);
    assert!(!seen && printed.contains("about files that are gone and in no prompt any more"), "{printed}");
    project.run(&["report"]).prints("about files that are gone");
    let of_it = |event: &Value| event["lesson"] == id && event["event"] == "stale" && event["path"] == "pool.py";
    assert!(events(&project).iter().any(of_it), "{:?}", events(&project));
    project.run(&["memory", "show", id]).exits(0).prints("stale: nobody sees it (there is no file pool.py any more)");
    project.run(&["memory", "list"]).exits(0).prints("root_cause  stale  The pool changes");
    project.run(&["memory", "list", "--state", "stale", "--json"]).exits(0).prints(id);
    project.run(&["memory", "check"]).prints("about files that were gone when the last run began");
    project.write("check.log", "pool.py:12: KeyError: 'gone' in evict_all\n1 failed in 0.1s\n");
    project.run(&["memory", "search", "--explain", "check.log"]).prints("not shown: what it is about is gone");
    let (printed, seen) = again(&project, 8);
    assert!(!seen && !printed.contains("files that are gone"), "it is said once: {printed}");

    project.write("other/pool.py", "pool = []\n");
    project.commit();
    let (_, seen) = again(&project, 10);
    assert!(seen, "{:?}", events(&project));
    project.run(&["memory", "show", id]).prints("probation: ").prints("(pool.py is there again)");
}

#[test]
fn a_persons_word_and_a_task_that_deletes_the_file_itself_leave_a_lesson_alone() {
    let project = project(false);
    project.write("pool.py", "pool = {}\n");
    // Whatever `b` does first is to delete it.
    project.config(|config| {
        let agent = config["agents"]["sh"]["argv"][2].as_str().unwrap().to_owned();
        config["agents"]["sh"]["argv"][2] =
            json!(format!("case $REFLEXION_TASK_ID in b) rm -f pool.py ;; esac\n{agent}"));
    });
    project.commit();
    project.run(&["run"]).exits(0);
    assert!(project.told("b.2").contains("collect the keys"), "{}", project.told("b.2"));
    assert!(events(&project).iter().all(|event| event["event"] != "stale"), "{:?}", events(&project));

    project.git(&["rm", "-q", "pool.py"]);
    project.commit();
    assert!(!again(&project, 4).1);
    let gone: Vec<Value> = events(&project).into_iter().filter(|event| event["event"] == "stale").collect();
    let lessons = String::from_utf8(project.read("memory/reflections.jsonl")).unwrap();
    let of_a =
        lessons.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()).find(|one| one["taskId"] == "a");
    let of_a = of_a.unwrap()["id"].clone();
    assert!(gone.iter().any(|event| event["lesson"] == of_a), "{gone:?}");
    project.run(&["memory", "promote", of_a.as_str().unwrap()]).exits(0).prints("probation");
    assert!(again(&project, 6).1 && again(&project, 8).1);
}
