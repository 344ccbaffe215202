//! Broken workspaces are repaired, checks that flip are found out, and nobody is judged by either.

use crate::project::{Project, Ran, task, task_with_check};
use serde_json::{Value, json};
use std::fs;

impl Project {
    /// The journal of the only run.
    fn journal(&self) -> Vec<Value> {
        let runs: Vec<_> = fs::read_dir(self.dir.join(".reflection/runs")).unwrap().flatten().collect();
        assert_eq!(runs.len(), 1);
        let text = fs::read_to_string(runs[0].path().join("journal.jsonl")).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The kinds of its entries that are about repairs and attempts.
    fn course(&self) -> Vec<String> {
        let kinds = self.journal().into_iter().map(|entry| entry["type"].as_str().unwrap().to_owned());
        let told = ["heal_started", "heal_ended", "attempt_started", "attempt_judged", "task_ended"];
        kinds.filter(|kind| told.contains(&kind.as_str())).collect()
    }

    fn entry(&self, kind: &str) -> Value {
        self.journal().into_iter().find(|entry| entry["type"] == kind).unwrap_or_else(|| panic!("no {kind}"))
    }

    fn set_up_by(&self, setup: &str) {
        self.config(|config| config["setup"] = json!(setup));
    }
}

fn heals(ran: &Ran) -> u64 {
    ran.json()["totals"]["heals"].as_u64().unwrap()
}

/// Fails the first time, and leaves something in its own way.
const FAILS_ONCE: &str =
    "ls >> $OUT/setups; [ -e $OUT/failed ] || { touch $OUT/failed half; echo 'no network'; exit 1; }";

#[test]
fn a_setup_that_failed_runs_once_more_before_anybody_is_paid() {
    let project = Project::new(crate::project::RIGHT);
    project.set_up_by(FAILS_ONCE);
    let ran = project.run(&["run", "--json"]);
    ran.exits(0).says("workspace healed: setup failed; set up again");
    assert_eq!((ran.verdict("a"), heals(&ran)), (json!("confirmed"), 1));
    assert!(!project.told("setups").contains("half"), "it begins with nothing that it had left");
    assert_eq!(project.course(), ["heal_started", "heal_ended", "attempt_started", "attempt_judged", "task_ended"]);
    let started = project.entry("heal_started");
    assert_eq!((&started["symptom"], &started["spell"]), (&json!("setup_failed"), &json!("set_up_again")));
    assert!(started["because"].as_str().unwrap().contains("no network"), "{started}");
    assert_eq!(project.entry("heal_ended")["outcome"]["kind"], "healed");
    let report = project.run(&["report", "--md"]);
    assert!(report.stdout.contains("## Repaired workspaces"), "{}", report.stdout);
    let report = project.run(&["report", "--json"]).json();
    assert_eq!(report["heals"][0]["symptom"], "setup_failed");
}

#[test]
fn a_setup_that_fails_again_is_told_and_not_tried_a_third_time() {
    let project = Project::new(crate::project::RIGHT);
    project.set_up_by("echo ran >> $OUT/setups; echo 'no such registry'; exit 3");
    let ran = project.run(&["run", "--json"]);
    ran.exits(4).says("no such registry");
    assert_eq!(project.told("setups").lines().count(), 2);
    assert_eq!(project.entry("heal_ended")["outcome"]["kind"], "not_healed");
    assert!(!project.course().contains(&"attempt_started".to_owned()));
}

#[test]
fn who_switches_it_off_is_told_at_once() {
    let project = Project::new(crate::project::RIGHT);
    project.set_up_by(FAILS_ONCE);
    project.config(|config| config["healer"] = json!({ "enabled": false }));
    project.run(&["run", "--json"]).exits(4).says("no network");
    assert_eq!(project.told("setups").lines().filter(|line| *line == "answer.txt").count(), 1);
    assert!(project.course().is_empty(), "{:?}", project.course());
}

/// Makes the program that the checks need, outside of the workspace.
const MAKES_CHECK: &str = r#"mkdir -p "$DEPS"; printf 'grep -qx right "$1"' > "$DEPS/check"; chmod +x "$DEPS/check""#;

fn needs_check(agent: &str) -> Project {
    let project = Project::new(agent);
    project.set_up_by(MAKES_CHECK);
    let deps = project.out.join("deps");
    project.config(|config| config["workspace"] = json!({ "env": { "DEPS": deps } }));
    project.tasks(&[task_with_check("a", NEEDS_CHECK)]);
    project
}

/// Takes away what it needs itself, if the work says so: what an agent takes away where it works reaches no check.
const NEEDS_CHECK: &str = "[ ! -e spoil ] || rm -rf \"$DEPS\"; \"$DEPS/check\" answer.txt";

#[test]
fn what_the_checks_need_is_brought_back_between_attempts_after_the_lesson_is_written() {
    let agent = "cat > $OUT/prompt-$REFLEXION_ATTEMPT; rm -f spoil; if [ $REFLEXION_ATTEMPT = 1 ]; then touch spoil; fi; \
                 echo right > answer.txt";
    let project = needs_check(agent);
    let ran = project.run(&["run", "--json"]);
    ran.exits(0);
    // The first attempt's own check took away what could have shown that it is right: its verdict stands.
    let task = ran.task("a");
    assert_eq!((&task["attempts"], &task["solvedAt"], heals(&ran)), (&json!(2), &json!(2), 1));
    assert_eq!(
        project.course(),
        [
            "attempt_started",
            "attempt_judged",
            "heal_started",
            "heal_ended",
            "attempt_started",
            "attempt_judged",
            "task_ended"
        ]
    );
    let judged = project.entry("attempt_judged");
    assert_eq!(judged["verdict"], "false_done");
    assert!(judged["reflection"].is_string(), "written before the repair: {judged}");
    assert_eq!(project.entry("heal_started")["symptom"], "dependencies_missing");
    assert_eq!(project.entry("heal_ended")["explains"], 1);
    // Nobody can do anything about what was repaired since.
    let prompt = project.told("prompt-2");
    assert!(prompt.contains("Attempt 1 failed: something that the check needs beside the files was gone"), "{prompt}");
    assert!(!prompt.contains("not found") && !prompt.contains("needs a program"), "{prompt}");
}

#[test]
fn a_subtask_is_repaired_once_and_then_blocked_with_the_cause() {
    let project = needs_check("touch spoil; echo right > answer.txt");
    let ran = project.run(&["run", "--json"]);
    ran.exits(1).says("its workspace was repaired once before (`healer.perSubtask`)");
    let task = ran.task("a");
    assert_eq!((&task["attempts"], &task["stop"], heals(&ran)), (&json!(2), &json!("environment"), 1));
    assert!(task["cause"].as_str().unwrap().contains("says of the base now"), "{task}");
}

#[test]
fn a_run_repairs_no_more_workspaces_than_it_may() {
    let agent = "rm -f spoil; [ $REFLEXION_ATTEMPT = 1 ] && touch spoil; echo right > answer.txt";
    let project = needs_check(agent);
    project.config(|config| config["healer"] = json!({ "perRun": 1 }));
    project.tasks(&[task_with_check("a", NEEDS_CHECK), task_with_check("b", NEEDS_CHECK)]);
    let ran = project.run(&["run", "--json"]);
    ran.says("workspaces of this run were repaired once before (`healer.perRun`)");
    assert_eq!((heals(&ran), ran.verdict("a")), (1, json!("confirmed")));
    assert_eq!(ran.task("b")["stop"], "environment");
}

#[test]
fn files_that_cannot_be_put_back_are_made_anew() {
    let project = Project::new(crate::project::RIGHT_AT_TWO);
    // Copies of what setup made are kept beside the room, out of reach in a sandbox.
    let breaks = "[ -e $OUT/broke ] || { touch $OUT/broke; rm ../.private/room-1/store/deps/d; echo x > deps/d; }; \
                  grep -qx right answer.txt";
    project.write(".gitignore", "deps/\n");
    project.set_up_by("mkdir -p deps; echo d > deps/d");
    project.tasks(&[task_with_check("a", breaks)]);
    let before = project.git(&["status", "--porcelain"]);
    let ran = project.run(&["run", "--json"]);
    ran.exits(0).says("workspace healed: the files could not be put back; made anew");
    assert_eq!((ran.task("a")["solvedAt"].clone(), heals(&ran)), (json!(2), 1));
    assert_eq!(project.entry("heal_started")["spell"], "make_anew");
    assert_eq!(project.git(&["status", "--porcelain"]).replace("?? memory/\n", ""), before);
}

/// Leaves locks as git does that is killed: of the task's branch, and of the user's.
const LEAVES_LOCKS: &str = r#"
echo right > answer.txt
heads=$(cd ../../../.. && pwd)/.git/refs/heads
mkdir -p "$heads/reflexion/$REFLEXION_RUN_ID"
for lock in "$heads/reflexion/$REFLEXION_RUN_ID/a.lock" "$heads/reflexion/$REFLEXION_RUN_ID/integration.lock" "$heads/main.lock"; do
    echo killed > "$lock"; touch -d '5 minutes ago' "$lock"
done
"#;

#[test]
fn a_lock_that_a_killed_git_left_on_the_tasks_branch_is_removed() {
    let project = Project::new(LEAVES_LOCKS);
    let ran = project.run(&["overnight", "--json"]);
    ran.exits(0).says("workspace healed: a lock was left behind; lock removed (removed ");
    assert_eq!((ran.verdict("a"), heals(&ran)), (json!("confirmed"), 1));
    assert_eq!(project.entry("heal_started")["spell"], "unlock");
    assert_eq!(fs::read_to_string(project.dir.join(".git/refs/heads/main.lock")).unwrap(), "killed\n");
}

#[test]
fn what_an_agent_leaves_half_done_is_in_nobodys_way() {
    let half = "if [ $REFLEXION_ATTEMPT = 1 ]; then \
        git rev-parse HEAD > $(git rev-parse --git-dir)/MERGE_HEAD; touch $(git rev-parse --git-dir)/index.lock; \
        fi; [ $REFLEXION_ATTEMPT = 1 ] || { git add -A; echo right > answer.txt; git commit -qam right; }";
    let project = Project::new(half);
    let ran = project.run(&["run", "--json"]);
    ran.exits(0).says("a merge was left half done in the workspace, and is undone");
    assert_eq!((ran.task("a")["solvedAt"].clone(), heals(&ran)), (json!(2), 0), "{}", ran.stderr);
}

#[test]
fn setup_may_warn() {
    let project = Project::new(crate::project::RIGHT);
    project.set_up_by("echo 'no cache'; exit 2");
    let ran = project.run(&["run", "--json"]);
    ran.exits(0).says("ended with warnings (exit status 2): no cache");
    assert_eq!(heals(&ran), 0);
}

#[test]
fn work_that_cannot_be_set_up_is_judged_and_not_started_from_again() {
    let agent = "if [ $REFLEXION_ATTEMPT = 1 ]; then echo broken > requirements.txt; touch harm; else echo right > answer.txt; fi";
    let project = Project::new(agent);
    project.write("requirements.txt", "fine\n");
    project.set_up_by("! grep broken requirements.txt");
    project.config(|config| {
        config["retry"] = json!({ "start": "continue" });
        config["checks"] = json!([{ "name": "harmless", "run": "[ ! -e harm ]" }]);
    });
    let ran = project.run(&["run", "--json"]);
    ran.exits(0).says("what the last attempt left cannot be set up, so this one starts from the base: setup `! grep");
    assert_eq!((ran.task("a")["solvedAt"].clone(), heals(&ran)), (json!(2), 0), "{}", ran.stderr);
    assert_eq!(project.entry("attempt_judged")["verdict"], "false_done");
}

/// What `a` and `b` need cannot be had together.
const NEEDS: &str = r#"
echo right > "$REFLEXION_TASK_ID.txt"
[ "$REFLEXION_TASK_ID" = b ] && [ -e requirements-a.txt ] || echo x > "requirements-$REFLEXION_TASK_ID.txt"
"#;

#[test]
fn work_that_cannot_be_set_up_with_other_work_is_not_merged() {
    let project = Project::new(NEEDS);
    project.write("a.txt", "wrong\n");
    project.write("b.txt", "wrong\n");
    project.set_up_by("[ ! -e requirements-a.txt ] || [ ! -e requirements-b.txt ]");
    let wanted = |id: &str| task_with_check(id, &format!("grep -qx right {id}.txt"));
    project.tasks(&[wanted("a"), wanted("b")]);
    let ran = project.run(&["overnight", "--json"]);
    ran.exits(0).says("not merged: ").says("on top of what was merged before, setup `");
    assert_eq!((ran.task("b")["solvedAt"].clone(), heals(&ran)), (json!(2), 0), "{}", ran.stderr);
}

/// A project's check that is red in these of its runs, counted from 1; the first one is at the base.
fn red_in(runs: &str) -> Project {
    let project = Project::new(crate::project::RIGHT);
    let check = format!("echo run >> $OUT/e2e; case \" {runs} \" in *\" $(wc -l < $OUT/e2e) \"*) exit 1;; esac");
    project.config(|config| config["checks"] = json!([{ "name": "e2e", "run": check }]));
    project.tasks(&[task("a")]);
    project
}

fn count(project: &Project) -> usize {
    project.told("e2e").lines().count()
}

#[test]
fn a_check_that_passes_again_on_the_same_files_is_flaky_and_green() {
    let project = red_in("2");
    let ran = project.run(&["run", "--json"]);
    ran.exits(0).says("check `e2e` failed once, and passed when it ran once more on the same files");
    assert_eq!((ran.task("a")["solvedAt"].clone(), count(&project)), (json!(1), 3));
    let judged = project.entry("attempt_judged");
    assert_eq!(judged["flaky"], json!([{ "check": "e2e", "how": "passed_again" }]));
    let report = project.run(&["report", "--md"]).stdout;
    assert!(report.contains("flaky: check `e2e` failed once"), "{report}");
}

#[test]
fn a_check_that_fails_at_the_base_by_now_makes_no_liar() {
    // After the work, once more, and at the base.
    let project = red_in("2 3 4");
    let ran = project.run(&["run", "--json"]);
    ran.exits(0).says("check `e2e` fails at the base too by now");
    assert_eq!(ran.task("a")["solvedAt"], 2);
    let judged = project.entry("attempt_judged");
    assert_eq!((&judged["verdict"], &judged["failure"]), (&json!("failed"), &json!("check_failed")));
    assert!(judged["reflection"].is_string());
    // The base, the first attempt with its three, the base once more before the second, and the second.
    assert_eq!(count(&project), 6);
}

#[test]
fn a_check_that_the_work_broke_is_blamed_on_it() {
    let agent = "echo right > answer.txt; [ $REFLEXION_ATTEMPT = 2 ] || touch broken";
    let project = Project::new(agent);
    let check = "echo run >> $OUT/e2e; [ ! -e broken ]";
    project.config(|config| {
        config["checks"] = json!([{ "name": "e2e", "run": check }]);
        config["retry"] = json!({ "start": "fresh" });
    });
    let ran = project.run(&["run", "--json"]);
    ran.exits(0);
    assert_eq!(project.entry("attempt_judged")["verdict"], "false_done");
    assert_eq!((ran.task("a")["solvedAt"].clone(), count(&project)), (json!(2), 5));
}

/// A project whose only check is unittest, with two red tests and a green one, and a task with a check of its own.
fn with_two_red_tests(agent: &str) -> Project {
    let project = Project::new(agent);
    project.write("calc.py", "def add(a, b): return a - b\ndef twice(a): return a\n");
    let tests = "import calc, unittest\nclass T(unittest.TestCase):\n  def test_add(self): self.assertEqual(calc.add(1, 2), 3)\n  \
                 def test_twice(self): self.assertEqual(calc.twice(2), 4)\n  def test_none(self): pass\n";
    project.write("test_calc.py", tests);
    project.config(|config| config["checks"] = json!([{ "name": "unit", "run": "python3 -B -m unittest" }]));
    project.tasks(&[task_with_check("a", "python3 -B -c 'import calc; assert calc.add(1, 2) == 3'")]);
    project.commit();
    project
}

#[test]
fn who_mends_one_of_two_known_bugs_is_not_blamed_for_the_other() {
    if std::process::Command::new("python3").arg("-V").output().is_err() {
        eprintln!("SKIPPED: there is no python3 here");
        return;
    }
    let mends = "sed -i 's/a - b/a + b/' calc.py";
    let project = with_two_red_tests(mends);
    project.run(&["run", "--json"]).exits(0).says("confirmed");
    let hides = format!("{mends}; sed -i /test_none/d test_calc.py");
    let ran = with_two_red_tests(&hides).run(&["run", "--json", "--max-attempts", "1"]);
    assert_eq!(ran.verdict("a"), "false_done", "fewer tests run than at the base");
    let breaks = format!("{mends}; echo 'def twice(a): return 7' >> calc.py");
    let ran = with_two_red_tests(&breaks).run(&["run", "--json", "--max-attempts", "1"]);
    assert_eq!(ran.verdict("a"), "unverifiable", "with another value it may be worse: a person sees");
}

/// A project whose compiler prints a line for each file that it refuses, and what changes from run to run; one file is bad.
fn with_a_known_error(agent: &str) -> Project {
    let project = Project::new(agent);
    project.write("src/a.ts", "bad\n");
    project.write("src/c.ts", "good\n");
    let compiler = "echo \"started $(date +%T.%N) in $(mktemp -d), pid $$\"\ncd src; s=0\nfor f in *.ts; do if grep -n bad $f >/dev/null; then \
                    echo \"src/$f($(grep -n bad $f | cut -d: -f1),7): error TS2322: no such type\"; s=2; fi; done\nexit $s\n";
    project.write("compile.sh", compiler);
    project.config(|config| config["checks"] = json!([{ "name": "types", "run": "sh compile.sh" }]));
    project.tasks(&[task("a")]);
    project.commit();
    project
}

#[test]
fn a_known_failure_hides_no_further_one() {
    let run = |agent: &str| with_a_known_error(agent).run(&["run", "--json", "--max-attempts", "1"]);
    let right = crate::project::RIGHT;
    assert_eq!(run(right).verdict("a"), "confirmed");
    assert_eq!(run(&format!("{right}; printf 'new\nbad\n' > src/a.ts")).verdict("a"), "confirmed", "it has moved");
    let more = run(&format!("{right}; echo bad > src/c.ts"));
    assert_eq!(more.says("it was at the base too, but more fails now").verdict("a"), "false_done");
}

#[test]
fn a_lesson_never_says_that_no_check_was_run_when_one_was() {
    let lesson = |agent: &str| {
        let project = Project::new(agent);
        project.config(|config| config["checks"] = json!([{ "name": "ut", "run": "echo 'the sum is 3'; exit 1" }]));
        project.tasks(&[json!({ "id": "a", "title": "Mend the sum" })]);
        project.commit();
        project.run(&["run", "--json", "--max-attempts", "1"]);
        let text = fs::read_to_string(project.dir.join("memory/reflections.jsonl")).unwrap();
        serde_json::from_str::<Value>(text.lines().last().unwrap()).unwrap()["analysis"].as_str().unwrap().to_owned()
    };
    for (agent, told) in [("true", "the sum is 3"), ("kill -9 $$", "signal")] {
        let lesson = lesson(agent);
        assert!(lesson.contains(told) && !lesson.contains("no check"), "{agent}: {lesson}");
    }
}
