//! Nights: merging, deadlines, and going on after a crash at every step.

use crate::project::{Project, task_with_check};
use async_trait::async_trait;
use reflexion::domain::{JournalEntry, RunId, RunKind, RunReport, Timestamp};
use reflexion::layer::Svc;
use reflexion::runtime;
use reflexion::services::{Journal, JournalError, Orchestrator, RecentQuery, RunError, RunRequest, Start, Storage};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::sync::Notify;

/// Works on the file that its task is named after. `b` is wrong at first. `c` writes into the file of `a` as long as it does
/// not see what `a` wrote there.
const AGENT: &str = r#"
case "$REFLEXION_TASK_ID" in
b) if [ "$REFLEXION_ATTEMPT" = 1 ]; then echo almost > b.txt; else echo right > b.txt; fi ;;
c) echo right > c.txt; grep -q right a.txt || echo mine > a.txt ;;
*) echo right > "$REFLEXION_TASK_ID.txt" ;;
esac
"#;

pub fn wanted(id: &str) -> Value {
    task_with_check(id, &format!("grep -qx right {id}.txt"))
}

/// Four tasks: `c` conflicts with `a` when it is merged, `d` stands on `b`.
fn four_tasks() -> Project {
    let project = Project::new(AGENT);
    for file in ["a.txt", "b.txt", "c.txt", "d.txt"] {
        project.write(file, "wrong\n");
    }
    let mut d = wanted("d");
    d["deps"] = json!([{ "id": "b", "type": "blocks" }]);
    project.tasks(&[wanted("a"), wanted("b"), wanted("c"), d]);
    project
}

/// What must be the same whether a night was killed or not.
#[derive(Debug, PartialEq, Eq)]
struct FinalState {
    statuses: BTreeMap<String, String>,
    /// Branch to tree.
    trees: BTreeMap<String, String>,
    /// Subjects on the integration branch, in any order.
    merged: Vec<String>,
    /// Subtask and attempt of each reflection.
    reflections: Vec<(String, u32)>,
    /// What attempt 2 of `b` was told.
    retry: String,
    checkout: String,
}

async fn final_state(project: &Project, run: &RunId) -> FinalState {
    let layers = runtime::live().with(runtime::project(&project.dir).unwrap());
    let app = layers.build::<Svc<dyn Storage>>().await.unwrap();
    // By the user whose night it was: nobody else believes their marks.
    let list = project.run(&["task", "list", "--json"]).json();
    let list = list["tasks"].as_array().or(list.as_array()).unwrap();
    let all = app.recent(&RecentQuery::default()).await.unwrap();
    let mut reflections: Vec<_> = all.iter().map(|r| (r.subtask_id.clone(), r.attempt_number)).collect();
    reflections.sort();
    let text = |task: &serde_json::Value, key: &str| task[key].as_str().unwrap().to_owned();
    let statuses = list.iter().map(|task| (text(task, "id"), text(task, "status"))).collect();
    drop(all);
    app.shutdown().await.unwrap();
    let prefix = format!("refs/heads/reflexion/{run}/");
    let refs = project.git(&["for-each-ref", "--format=%(refname) %(tree)", &prefix]);
    let trees = refs.lines().filter_map(|line| line.strip_prefix(&prefix)?.split_once(' '));
    let log = project.git(&["log", "--format=%s", &format!("main..reflexion/{run}/integration")]);
    let mut merged: Vec<String> = log.lines().map(str::to_owned).collect();
    merged.sort();
    FinalState {
        statuses,
        trees: trees.map(|(name, tree)| (name.to_owned(), tree.to_owned())).collect(),
        merged,
        reflections,
        retry: told(project, run, "b+b+2"),
        checkout: project.git(&["status", "--porcelain"]),
    }
}

/// The prompt of an attempt, without the ids in it; nothing where there is none.
fn told(project: &Project, run: &RunId, attempt: &str) -> String {
    let file = project.dir.join(format!(".reflection/runs/{run}/prompts/{attempt}.md"));
    let prompt = fs::read_to_string(file).unwrap_or_default().replace(&project.dir.display().to_string(), "<project>");
    let names_no_id = |line: &&str| !line.starts_with("[ref-") && !line.starts_with('<') && !line.starts_with("</");
    prompt.lines().filter(names_no_id).collect::<Vec<_>>().join("\n")
}

/// A journal whose process dies at one step: before the entry is written, or after.
struct Dying {
    inner: Svc<dyn Journal>,
    left: AtomicUsize,
    when: When,
    died: Arc<Notify>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum When {
    Before,
    After,
}

#[async_trait]
impl Journal for Dying {
    async fn record(&self, entry: JournalEntry) -> Result<(), JournalError> {
        let left = self.left.fetch_sub(1, Ordering::SeqCst);
        if left > 1 || (left == 1 && self.when == When::After) {
            self.inner.record(entry).await?;
        }
        if left <= 1 {
            self.died.notify_one();
            // Whoever waits for this is gone with the process.
            std::future::pending::<()>().await;
        }
        Ok(())
    }

    async fn foreign_changes(&self) -> Result<Vec<String>, JournalError> {
        self.inner.foreign_changes().await
    }

    async fn read(&self, run: &RunId) -> Result<Vec<(Timestamp, JournalEntry)>, JournalError> {
        self.inner.read(run).await
    }

    async fn runs(&self) -> Result<Vec<RunId>, JournalError> {
        self.inner.runs().await
    }
}

pub fn request(run: &RunId, start: Start) -> RunRequest {
    RunRequest { kind: RunKind::Overnight, start, ..RunRequest::everything(run.clone()) }
}

/// Runs the night in a runtime of its own; with a step to die at, the runtime is gone when it has come to it. Gives the
/// report, or nothing if it died.
pub fn night(project: &Project, request: RunRequest, dies: Option<(usize, When)>) -> Option<RunReport> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let report = runtime.block_on(async {
        let layers = || runtime::live().with(runtime::project(&project.dir).unwrap());
        let Some((step, when)) = dies else {
            let app = layers().build::<Svc<dyn Orchestrator>>().await.unwrap();
            let report = tokio::time::timeout(Duration::from_secs(100), run(&app, request)).await.unwrap();
            app.shutdown().await.unwrap();
            return Some(report);
        };
        let inner = layers().build::<Svc<dyn Journal>>().await.unwrap();
        let died = Arc::new(Notify::new());
        let journal = Dying { inner: (*inner).clone(), left: AtomicUsize::new(step), when, died: Arc::clone(&died) };
        let app = layers().with(Svc::<dyn Journal>::new(journal)).build::<Svc<dyn Orchestrator>>().await.unwrap();
        tokio::select! {
            report = app.run(request) => Some(report.unwrap()),
            () = died.notified() => None,
            () = tokio::time::sleep(Duration::from_secs(100)) => panic!("the night neither ended nor died"),
        }
    });
    runtime.shutdown_timeout(Duration::from_secs(10));
    report
}

/// A child of another test of this process may hold the lock of the run that died, between its fork and its exec.
async fn run(orchestrator: &Svc<dyn Orchestrator>, request: RunRequest) -> RunReport {
    loop {
        match orchestrator.run(request.clone()).await {
            Err(RunError::Environment(held)) if held.contains("another run holds") => {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            other => return other.unwrap(),
        }
    }
}

fn state(project: &Project, run: &RunId) -> FinalState {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(final_state(project, run))
}

pub fn run_id() -> RunId {
    RunId::new("20261122-220000-night").unwrap()
}

/// The state of a night that nothing happened to, and how many steps its journal has.
fn undisturbed() -> (FinalState, usize) {
    let project = four_tasks();
    let run = run_id();
    let report = night(&project, request(&run, Start::New), None).unwrap();
    assert_eq!(report.totals.confirmed, 4, "{report:?}");
    let journal = fs::read_to_string(project.dir.join(format!(".reflection/runs/{run}/journal.jsonl"))).unwrap();
    (state(&project, &run), journal.lines().count())
}

#[test]
fn what_conflicts_is_kept_and_done_again_on_top_of_what_was_merged() {
    let (state, _) = undisturbed();
    assert_eq!(state.statuses.values().collect::<Vec<_>>(), ["closed"; 4].iter().collect::<Vec<_>>());
    let branches: Vec<&str> = state.trees.keys().map(String::as_str).collect();
    assert_eq!(branches, ["a", "b", "c", "c@1", "d", "integration"]);
    assert_eq!(state.merged, ["Answer for a", "Answer for b", "Answer for c", "Answer for d"], "each once");
    // Of what passed behind a failure there is a second one; `c` is done again without one that failed.
    assert_eq!(state.reflections, [("b".to_owned(), 1), ("b".to_owned(), 1), ("c".to_owned(), 1)]);
    assert_eq!(state.checkout, "?? memory/\n", "nothing else of the user's is touched");
}

#[test]
fn who_does_again_what_did_not_merge_is_shown_how_it_was_done() {
    let project = Project::new(
        r#"
case "$REFLEXION_TASK_ID-$REFLEXION_ATTEMPT" in
a-*) echo right > a.txt ;;
c-1) echo right > c.txt; echo mine > a.txt; sleep 1 ;;
c-*) if grep -q '^+right' "$REFLEXION_PROMPT_FILE"; then echo right > c.txt; fi ;;
esac
"#,
    );
    for file in ["a.txt", "c.txt"] {
        project.write(file, "wrong\n");
    }
    project.tasks(&[wanted("a"), wanted("c")]);
    let report = night(&project, request(&run_id(), Start::New), None).unwrap();
    assert_eq!((report.totals.confirmed, report.totals.attempts), (2, 3), "{report:?}");
}

/// Kills the night at steps of its journal, and lets it go on: at every third one, others before than after it; at every one with
/// `REFLEXION_EVERY_STEP`, as `.ci/run --full` does. A night takes seconds, and these are some hundred.
fn killed_at(make: impl Fn() -> Project, undisturbed: &(FinalState, usize), when: When) {
    let every = std::env::var_os("REFLEXION_EVERY_STEP").is_some();
    let first = match when {
        When::Before => 0,
        When::After => 1,
    };
    killed(make, undisturbed, |step| every || step % 3 == first, when);
}

fn killed(
    make: impl Fn() -> Project,
    (expected, steps): &(FinalState, usize),
    mine: impl Fn(usize) -> bool,
    when: When,
) {
    let steps = *steps;
    for step in (1..=steps).filter(|step| mine(*step)) {
        let project = make();
        let run = run_id();
        assert_eq!(night(&project, request(&run, Start::New), Some((step, when))), None, "it dies at step {step}");
        let began = project.dir.join(format!(".reflection/runs/{run}/journal.jsonl")).exists();
        let start = if began { Start::Resume } else { Start::New };
        night(&project, request(&run, start), None).unwrap();
        assert_eq!(state(&project, &run), *expected, "killed {when:?} step {step} of {steps}");
    }
}

#[test]
fn killed_before_any_step_it_ends_as_if_nothing_had_happened() {
    killed_at(four_tasks, &undisturbed(), When::Before);
}

#[test]
fn killed_after_any_step_it_ends_as_if_nothing_had_happened() {
    killed_at(four_tasks, &undisturbed(), When::After);
}

/// Whatever it does at its first attempt at `b`, it takes what the checks need away.
const TAKES_AWAY: &str = r#"
if [ "$REFLEXION_TASK_ID$REFLEXION_ATTEMPT" = b1 ]; then rm -r PROJECT/.git/deps; echo almost > b.txt; exit; fi
echo right > "$REFLEXION_TASK_ID.txt"
"#;

/// The very first time it fails. What it makes lies outside the workspace, where no reset brings it back.
const FAILS_ONCE: &str = r#"
once=PROJECT/.git/setup-has-failed
[ -e "$once" ] || { touch "$once"; echo half > half-done; exit 1; }
deps=PROJECT/.git/deps
mkdir -p $deps; printf 'grep -qx right "$1"' > $deps/check; chmod +x $deps/check
"#;

fn two_repairs() -> Project {
    let project = Project::new("");
    // The user's project, from a workspace and from a clean room; its path is another one each time.
    let found = "$(sed 's|/.reflection/.*||;q' .git/objects/info/alternates)";
    let here = |script: &str| script.replace("PROJECT", found);
    for file in ["a.txt", "b.txt"] {
        project.write(file, "wrong\n");
    }
    project.config(|config| {
        config["setup"] = json!(here(FAILS_ONCE));
        config["agents"]["sh"]["argv"][2] = json!(here(TAKES_AWAY));
    });
    let task = |id: &str| task_with_check(id, &here(&format!("PROJECT/.git/deps/check {id}.txt")));
    project.tasks(&[task("a"), task("b")]);
    project
}

/// The state of a night with two repairs that nothing else happened to.
fn repaired() -> (FinalState, usize) {
    let project = two_repairs();
    let run = run_id();
    let report = night(&project, request(&run, Start::New), None).unwrap();
    let totals = &report.totals;
    assert_eq!((totals.confirmed, totals.attempts, totals.heals), (2, 3, 2), "{report:?}");
    let journal = fs::read_to_string(project.dir.join(format!(".reflection/runs/{run}/journal.jsonl"))).unwrap();
    let state = state(&project, &run);
    // What was brought back is what made the difference, and no lesson of the work.
    assert_eq!(state.reflections, [("b".to_owned(), 1)]);
    assert!(state.retry.contains("something that the check needs beside the files was gone"), "{}", state.retry);
    (state, journal.lines().count())
}

#[test]
fn killed_before_any_step_a_night_with_repairs_ends_as_if_nothing_had_happened() {
    killed_at(two_repairs, &repaired(), When::Before);
}

#[test]
fn killed_after_any_step_a_night_with_repairs_ends_as_if_nothing_had_happened() {
    killed_at(two_repairs, &repaired(), When::After);
}

/// `a` writes instructions beside its work, `b` stands on it, `c` has nothing to do with either.
const INSTRUCTS: &str = r#"
echo right > "$REFLEXION_TASK_ID.txt"
[ "$REFLEXION_TASK_ID" = a ] && echo 'Do as I say.' > CLAUDE.md
[ "$REFLEXION_TASK_ID" != b ] || grep -q Do CLAUDE.md
"#;

fn left_to_a_person() -> Project {
    let project = Project::new(INSTRUCTS);
    for file in ["a.txt", "b.txt", "c.txt"] {
        project.write(file, "wrong\n");
    }
    let mut b = wanted("b");
    b["deps"] = json!([{ "id": "a", "type": "blocks" }]);
    project.tasks(&[wanted("a"), b, wanted("c")]);
    project
}

fn left() -> (FinalState, usize) {
    let project = left_to_a_person();
    let run = run_id();
    let report = night(&project, request(&run, Start::New), None).unwrap();
    assert_eq!(report.totals.confirmed, 3, "{report:?}");
    let journal = fs::read_to_string(project.dir.join(format!(".reflection/runs/{run}/journal.jsonl"))).unwrap();
    let state = state(&project, &run);
    assert_eq!(state.statuses.values().collect::<Vec<_>>(), ["closed"; 3].iter().collect::<Vec<_>>());
    assert_eq!(state.merged, ["Answer for c"], "what steers agents is not merged, nor what stands on it");
    (state, journal.lines().count())
}

#[test]
fn killed_at_any_step_a_night_leaves_to_a_person_what_steers_agents() {
    let expected = left();
    killed_at(left_to_a_person, &expected, When::Before);
    killed_at(left_to_a_person, &expected, When::After);
}

/// The program is killed with -9 at so many random moments, and started again each time.
#[test]
fn killed_at_random_moments_it_ends_as_if_nothing_had_happened() {
    let kills = std::env::var("REFLEXION_TEST_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(20_u32);
    let (expected, _) = undisturbed();
    let mut left = kills;
    // Any generator does; a failure names the delays.
    let mut random = u64::from(std::process::id());
    while left > 0 {
        let project = four_tasks();
        let mut delays = Vec::new();
        // A night that is killed at every start never ends.
        for _ in 0..left.min(4) {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let delay = Duration::from_millis((random >> 33) % 1500);
            let mut night = project.start(&["overnight", "--json"]);
            std::thread::sleep(delay);
            night.kill();
            delays.push(delay);
            left -= 1;
        }
        let ran = project.run(&["overnight", "--json"]);
        let runs: Vec<_> = fs::read_dir(project.dir.join(".reflection/runs")).unwrap().flatten().collect();
        // One that was killed before its journal had a line never was.
        let has_line = |run: &&fs::DirEntry| {
            fs::read_to_string(run.path().join("journal.jsonl")).is_ok_and(|journal| journal.contains('\n'))
        };
        let begun: Vec<_> = runs.iter().filter(has_line).collect();
        assert_eq!(begun.len(), 1, "{delays:?}: {ran:?}");
        let run = RunId::new(begun[0].file_name().to_string_lossy()).unwrap();
        assert_eq!(state(&project, &run), expected, "killed after {delays:?}");
    }
}

/// Kills the runtime, which is its parent.
const KILLS: &str = r#"echo begun >> "$OUT/attempt-$REFLEXION_ATTEMPT"; kill -9 $PPID; exec sleep 300"#;

#[test]
fn an_agent_that_kills_its_runtime_has_used_its_attempt_up_at_the_fifth_time() {
    for args in [["overnight", "--json"], ["run", "--json"]] {
        let project = Project::new(KILLS);
        project.config(|config| config["maxAttempts"] = 2.into());
        for attempt in ["1", "2"] {
            for _ in 0..5 {
                assert_eq!(project.run(&args).code, None, "{args:?}: attempt {attempt} is not done again");
            }
        }
        let ran = project.run(&args);
        ran.exits(1).says("attempt 2 of `a` counts as crashed: the runtime died 5 times in a row");
        for attempt in ["attempt-1", "attempt-2"] {
            assert_eq!(project.told(attempt), "begun\n".repeat(5), "{args:?}: {attempt}");
        }
        assert!(!project.out.join("attempt-3").exists());
        assert_eq!(project.run(&["task", "show", "a", "--json"]).json()["status"], "blocked");
        project.run(&args);
        assert_eq!(project.told("attempt-2"), "begun\n".repeat(5), "{args:?}: it is over");
    }
}

#[test]
fn a_runtime_that_is_stopped_does_not_go_on() {
    let project = Project::new("touch $OUT/begun; exec sleep 300");
    let night = project.start(&["overnight", "--json"]);
    project.await_told("begun");
    assert!(project.run(&["status"]).stdout.contains(" goes on"));
    night.signal(rustix::process::Signal::STOP);
    // It is stopped when all its threads are.
    let still = format!("stands still: its process {} is stopped", night.pid());
    let said = || project.run(&["status"]).stdout;
    while !said().contains(&still) {
        std::thread::yield_now();
    }
    let told = project.run(&["report", "--json"]).json();
    assert_eq!((&told["state"], &told["stoppedPid"]), (&json!("running"), &json!(night.pid())));
    night.signal(rustix::process::Signal::CONT);
    while !said().contains(" goes on") {
        std::thread::yield_now();
    }
}

#[test]
fn what_a_killed_runtime_left_running_is_told() {
    let project = Project::new("touch $OUT/begun; exec sleep 300");
    let mut night = project.start(&["overnight", "--json"]);
    project.await_told("begun");
    assert!(!project.run(&["status"]).stdout.contains("still run"));
    night.kill();
    let (status, report) = (project.run(&["status", "--json"]).json(), project.run(&["report", "--json"]).json());
    let left = report["leftRunning"].as_array().unwrap();
    let pid = left[0].as_u64().unwrap();
    let process = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    assert!(left.len() == 1 && process.starts_with("sleep"), "{left:?} {process}");
    let said =
        format!("its runtime is gone, but a process that it started still runs (pid {pid}; the next run ends it)");
    assert!(status["text"].as_str().unwrap().contains(&said), "{status}");
    project.run(&["status"]).prints(&said);
    let report = project.run(&["report"]);
    report.prints("a process that it started still runs");
    assert!(!report.stdout.to_lowercase().contains("no process works"), "{}", report.stdout);
    project.config(|config| config["agents"]["sh"]["argv"][2] = json!("true"));
    project.run(&["overnight", "--resume"]);
    assert!(!project.run(&["status"]).stdout.contains("still run"));
}

/// `b` waits until `a` is merged, then moves every branch of the run to a commit of its own, deletes one, and puts refs below
/// the integration branch.
const MOVES_BRANCHES: &str = r#"
echo right > "$REFLEXION_TASK_ID.txt"
[ "$REFLEXION_TASK_ID" = b ] || exit 0
users=$(cd ../../../.. && pwd)
echo evil > backdoor.txt; git add -A; git commit -qm evil; git -C "$users" fetch -q "$PWD" HEAD:refs/heads/evil
of_run=refs/heads/reflexion/$REFLEXION_RUN_ID
git -C "$users" update-ref $of_run/integration evil
git -C "$users" update-ref -d $of_run/a
rm backdoor.txt
"#;

#[test]
fn nobody_but_the_runtime_decides_what_is_on_the_runs_branches() {
    let project = Project::new(MOVES_BRANCHES);
    project.write("a.txt", "wrong\n");
    project.write("b.txt", "wrong\n");
    let mut last = task_with_check("b", "false");
    last["maxAttempts"] = json!(1);
    project.tasks(&[wanted("a"), last]);
    let ran = project.run(&["overnight", "--json"]);
    let report = ran.json();
    let run = report["run"].as_str().unwrap();
    let integration = format!("reflexion/{run}/integration");
    assert_eq!(project.git(&["log", "--format=%s", &format!("main..{integration}")]), "Answer for a\n", "{ran:?}");
    assert!(!project.git(&["ls-tree", "-r", "--name-only", &integration]).contains("backdoor"));
    assert_eq!(project.git(&["show", &format!("reflexion/{run}/a:a.txt")]), "right\n");
    // It may have been a person's.
    let kept = project.git(&["for-each-ref", "--format=%(subject)", &format!("refs/heads/{integration}@*")]);
    assert_eq!(kept, "evil\n");
    assert!(ran.stderr.contains("were moved or deleted by somebody, and are put back"), "{}", ran.stderr);
}

/// What is in the way while the night goes on is said as what is found at its end.
#[test]
fn a_branch_in_the_way_of_one_of_the_run_is_kept_and_said() {
    let moves = r#"
echo right > "$REFLEXION_TASK_ID.txt"
[ "$REFLEXION_TASK_ID" = b ] || exit 0
of_run=refs/heads/reflexion/$REFLEXION_RUN_ID
git -C ../../../.. update-ref -d $of_run/integration
git -C ../../../.. update-ref $of_run/integration/mine main
"#;
    let project = Project::new(moves);
    project.write("a.txt", "wrong\n");
    project.write("b.txt", "wrong\n");
    project.tasks(&[wanted("a"), wanted("b")]);
    let ran = project.run(&["overnight", "--json"]);
    let integration = format!("reflexion/{}/integration", ran.json()["run"].as_str().unwrap());
    assert_eq!(project.git(&["log", "--format=%s", &format!("main..{integration}")]).lines().count(), 2, "{ran:?}");
    ran.says(&format!("were moved or deleted by somebody, and are put back: {integration};"));
    assert_ne!(project.git(&["for-each-ref", &format!("refs/heads/{integration}@*")]), "");
}

#[test]
fn a_night_does_not_end_because_its_task_file_is_away() {
    let project = Project::new(
        r#"[ "$REFLEXION_TASK_ID" = a ] || [ -e $OUT/begun ] || { touch $OUT/begun; exec sleep 300; }; echo right > $REFLEXION_TASK_ID.txt"#,
    );
    project.write("a.txt", "wrong\n");
    project.write("b.txt", "wrong\n");
    project.tasks(&[wanted("a"), wanted("b")]);
    let mut night = project.start(&["overnight", "--json"]);
    project.await_told("begun");
    night.kill();
    let tasks = project.read("tasks.jsonl");
    let half = tasks[..tasks.len() - 9].to_vec();
    for (content, words) in
        [(Some(Vec::new()), "has no tasks"), (None, "is not there"), (Some(half), "cannot be read in line 2")]
    {
        match content {
            Some(content) => project.write("tasks.jsonl", content),
            None => std::fs::remove_file(project.dir.join("tasks.jsonl")).unwrap(),
        }
        project.run(&["overnight", "--resume"]).exits(4).says("`b`").says(words);
    }
    project.write("tasks.jsonl", tasks);
    let report = project.run(&["overnight", "--resume", "--json"]).exits(0).json();
    assert_eq!(report["tasks"].as_array().unwrap().len(), 2);
}

#[test]
fn a_night_whose_merged_work_is_gone_does_not_go_on_without_it() {
    let project =
        Project::new(r#"[ "$REFLEXION_TASK_ID" = a ] || { touch $OUT/begun; exec sleep 300; }; echo right > a.txt"#);
    project.write("a.txt", "wrong\n");
    let mut last = task_with_check("b", "true");
    last["dependencies"] = json!([{ "id": "a", "type": "blocks" }]);
    project.tasks(&[wanted("a"), last]);
    let mut night = project.start(&["overnight", "--json"]);
    project.await_told("begun");
    night.kill();
    for name in project.git(&["for-each-ref", "--format=%(refname)", "refs/heads/reflexion"]).lines() {
        project.git(&["update-ref", "-d", name]);
    }
    std::fs::remove_dir_all(project.dir.join(".reflection/repository.git")).unwrap();
    project.git(&["gc", "--quiet", "--prune=now"]);
    project.run(&["overnight", "--resume"]).exits(4).says("is gone, which is all that run");
}

/// Two bugs are known at the base. `a` mends one and is merged; `b` brings it back, and waits to be killed if it is to; `c` has
/// nothing to do with either.
fn two_known_bugs(waits: &str) -> Project {
    let project = Project::new(&format!(
        "echo right > $REFLEXION_TASK_ID.txt; [ $REFLEXION_TASK_ID = b ] || exit 0; touch block; {waits}"
    ));
    for file in ["a.txt", "b.txt", "c.txt"] {
        project.write(file, "wrong\n");
    }
    let check = "grep -qx right a.txt && ! [ -e block ] || echo 'error: a is wrong'; echo 'error: z is wrong'; exit 1";
    project.config(|config| config["checks"] = json!([{ "name": "all", "run": check }]));
    project.tasks(&[wanted("a"), wanted("b"), wanted("c")]);
    project
}

fn only_b_is_not_merged(project: &Project, ran: &crate::project::Ran) {
    ran.exits(1).says("not merged: on top of what was merged before check `all` is red");
    let branch = ran.json()["integration"].as_str().unwrap().to_owned();
    let merged = project.git(&["log", "--format=%s", &format!("main..{branch}")]);
    assert_eq!(merged, "Answer for c\nAnswer for a\n", "{}", ran.stderr);
}

#[test]
fn what_merged_work_has_mended_is_no_known_failure_any_more() {
    let project = two_known_bugs("");
    only_b_is_not_merged(&project, &project.run(&["overnight", "--json", "--jobs", "1", "--max-attempts", "1"]));
}

#[test]
fn what_merged_work_has_mended_is_no_known_failure_after_a_crash_either() {
    let project = two_known_bugs("[ -e $OUT/begun ] || { touch $OUT/begun; exec sleep 300; }");
    let mut night = project.start(&["overnight", "--json", "--jobs", "1", "--max-attempts", "1"]);
    project.await_told("begun");
    night.kill();
    only_b_is_not_merged(&project, &project.run(&["overnight", "--resume", "--json", "--jobs", "1"]));
}

#[test]
fn a_task_that_is_opened_again_is_done_again_when_the_night_goes_on() {
    let project = Project::new(AGENT);
    for file in ["a.txt", "d.txt"] {
        project.write(file, "wrong\n");
    }
    let run = run_id();
    project.tasks(&[wanted("a"), wanted("d")]);
    night(&project, request(&run, Start::New), None).unwrap();
    project.run(&["task", "reopen", "a"]);
    let report = night(&project, request(&run, Start::Resume), None).unwrap();
    let a = report.tasks.iter().find(|task| task.id.as_str() == "a").unwrap();
    assert_eq!((report.tasks.len(), a.attempts, a.solved_at), (2, 1, Some(2)), "{report:?}");
    // What a person closed meanwhile stays closed.
    project.run(&["task", "reopen", "d"]);
    project.run(&["task", "close", "d"]);
    let report = night(&project, request(&run, Start::Resume), None).unwrap();
    assert_eq!(report.totals.attempts, 2, "{report:?}");
}
