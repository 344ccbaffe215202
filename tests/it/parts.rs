//! The parts of a task that an agent proposes: asked for once, kept, and nothing but words.

use crate::overnight::{When, night, request, run_id, wanted};
use crate::project::{Project, task, with};
use async_trait::async_trait;
use reflexion::domain::policy::Decompose;
use reflexion::domain::{ProposedPart, RunId, Task, Usage};
use reflexion::layer::Svc;
use reflexion::services::{
    AskError, Decomposer, Orchestrator, RunRequest, Settings, Start, Subagents, Tasks, UsageMeter, Workspaces,
};
use reflexion::testing::{MemoryTasks, MemoryWorkspaces, ScriptedSubagent};
use reflexion::{runtime, testing};
use serde_json::{Value, json};

/// Writes down which part it has, and does something for it.
const WORKS: &str = r#"
echo "$REFLEXION_SUBTASK_ID $REFLEXION_ATTEMPT" >> "$OUT/parts"; cp "$REFLEXION_PROMPT_FILE" "$OUT/$REFLEXION_SUBTASK_ID"
echo right > "$REFLEXION_TASK_ID.txt"; echo right > answer.txt; echo done > "$REFLEXION_SUBTASK_ID.part"
"#;

/// Proposes other parts each time it is asked.
const SPLITS: &str = r#"
echo asked >> "$OUT/asked"; n=$(grep -c . "$OUT/asked")
echo "I would do it so: {\"subtasks\": [{\"title\": \"one $n\", \"description\": \"first\", \"checks\": [{\"name\": \"x\", \"run\": \"false\"}]},
{\"title\": \"two $n\", \"description\": \"second\", \"acceptance\": \"it is there\"}]}"
"#;

fn split_by(script: &str) -> Project {
    let project = Project::new("exit 1");
    // Nights inside the test's own process have no `$OUT`.
    let here = |script: &str| script.replace("$OUT", &project.out.display().to_string());
    project.config(|c| {
        c["agents"]["sh"]["argv"][2] = json!(here(WORKS));
        c["agents"]["splitter"] = json!({ "type": "command", "argv": ["sh", "-c", here(script)] });
        c["decompose"] = json!({ "agent": "splitter" });
    });
    project
}

fn asked(project: &Project) -> usize {
    project.told("asked").lines().count()
}

#[test]
fn what_could_not_be_read_is_told_afterwards() {
    let project = split_by("echo no idea");
    project.run(&["run"]).exits(0).says("nobody split it");
    let shown = project.run(&["task", "show", "a"]).exits(0).stdout.clone();
    assert!(shown.contains("worked on as a whole, because nobody split it before its first attempt"), "{shown}");
}

#[test]
fn what_an_agent_proposes_is_worked_on_part_by_part_and_asked_for_once() {
    let project = split_by(SPLITS);
    let written = json!({ "description": "Both of it.", "acceptanceCriteria": "nobody notices" });
    project.tasks(&[with(task("a"), written)]);
    let shown = project.run(&["task", "show", "a"]);
    assert!(shown.exits(0).stdout.contains("somebody is asked in which parts it is worked on"), "{shown:?}");
    let ran = project.run(&["run", "--json"]);
    ran.exits(0).says("[a] in 2 parts: one 1; two 1");
    let shown = project.run(&["task", "show", "a"]).exits(0).stdout.clone();
    assert!(shown.contains("in the parts that were proposed, one after the other:\n  one-1-"), "{shown}");
    let planned = project.run(&["run", "--again", "--dry-run"]).exits(0).stdout.clone();
    assert!(planned.contains("in the parts that were proposed"), "{planned}");
    assert_eq!(ran.task("a")["attempts"], 2);
    let parts = project.told("parts");
    let ids: Vec<&str> = parts.lines().filter_map(|line| line.strip_suffix(" 1")).collect();
    assert!(matches!(ids.as_slice(), [one, two] if one.starts_with("one-1-") && two.starts_with("two-1-")), "{parts}");
    for (id, words) in ids.iter().zip(["one 1\n\nfirst\n</part-", "two 1\n\nsecond\n\nDone when: it is there\n</part-"])
    {
        let prompt = project.told(id);
        assert!(prompt.contains(words) && prompt.contains("\n\nBoth of it.\n"), "{prompt}");
        assert!(prompt.contains("\n## Acceptance criteria\n\nnobody notices\n"), "{prompt}");
    }
    // A later run has the same parts, until the task says something else.
    project.run(&["run", "--again"]).exits(0);
    assert_eq!(asked(&project), 1);
    assert!(project.told("parts").contains(&format!("{} 2\n{} 2\n", ids[0], ids[1])), "{}", project.told("parts"));
    project.tasks(&[with(task("a"), json!({ "description": "All three of it." }))]);
    project.run(&["run", "--again"]).exits(0).says("in 2 parts: one 2; two 2");
    assert_eq!(asked(&project), 2);
}

#[test]
fn a_task_with_parts_of_its_own_or_a_checklist_needs_nobody() {
    let project = split_by(SPLITS);
    let list = json!({ "description": "- [ ] read it\n- [ ] write it\n" });
    let own = json!({ "subtasks": [{ "id": "own", "title": "Mine" }] });
    project.tasks(&[with(task("a"), list), with(task("b"), own)]);
    project.run(&["run"]).exits(0);
    assert!(!project.out.join("asked").exists(), "{}", project.told("asked"));
}

#[test]
fn a_proposal_that_cannot_be_had_leaves_the_task_whole() {
    // Who answers something else is asked once more, with the reason.
    for (script, because, times) in [
        ("echo asked >> \"$OUT/asked\"; echo I would rather not.", "holds no JSON object with a list of `subtasks`", 2),
        ("echo asked >> \"$OUT/asked\"; exit 3", "the agent run ended: ", 1),
        ("echo asked >> \"$OUT/asked\"; sleep 100", "no answer within 0.5 s", 1),
    ] {
        let project = split_by(script);
        project.config(|c| {
            if script.contains("sleep") {
                c["decompose"]["timeoutMs"] = json!(500);
            }
        });
        let ran = project.run(&["run", "--json"]);
        ran.exits(0).says("it is worked on as a whole, because nobody split it: ").says(because);
        assert_eq!(project.told("parts"), "a 1\n");
        // It has begun: nobody is asked about the rest.
        project.run(&["run", "--again"]).exits(0);
        assert_eq!((asked(&project), project.told("parts").as_str()), (times, "a 1\na 2\n"));
    }
}

fn entries(project: &Project, run: &RunId, kind: &str) -> Vec<Value> {
    let journal = String::from_utf8(project.read(&format!(".reflection/runs/{run}/journal.jsonl"))).unwrap();
    let entries = journal.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    entries.filter(|entry| entry["type"] == kind).collect()
}

#[test]
fn killed_after_the_proposal_is_written_down_it_has_the_same_parts_and_before_it_asks_again() {
    let new = || {
        let project = split_by(SPLITS);
        project.write("a.txt", "wrong\n");
        project.tasks(&[wanted("a")]);
        project
    };
    let (project, run) = (new(), run_id());
    night(&project, request(&run, Start::New), None).unwrap();
    let journal = String::from_utf8(project.read(&format!(".reflection/runs/{run}/journal.jsonl"))).unwrap();
    let steps = journal.lines().count();
    let proposed = journal.lines().position(|line| line.contains("\"task_decomposed\"")).unwrap() + 1;
    let after = (proposed..steps).step_by(3).map(|step| (step, When::After));
    for (step, when) in std::iter::once((proposed, When::Before)).chain(after) {
        let (project, run) = (new(), run_id());
        assert_eq!(night(&project, request(&run, Start::New), Some((step, when))), None);
        let report = night(&project, request(&run, Start::Resume), None).unwrap();
        assert_eq!(report.totals.confirmed, 1, "killed {when:?} {step}: {report:?}");
        let times = if when == When::Before { 2 } else { 1 };
        assert_eq!((asked(&project), entries(&project, &run, "task_decomposed").len()), (times, 1), "{when:?} {step}");
        // Each part once, under its own first number.
        let judged = entries(&project, &run, "attempt_judged");
        let judged: Vec<_> = judged.iter().map(|e| (e["subtask"].as_str().unwrap(), e["attempt"].as_u64())).collect();
        let (one, two) = (format!("one-{times}-"), format!("two-{times}-"));
        let fits = |(id, n): &(&str, Option<u64>), part: &str| id.starts_with(part) && *n == Some(1);
        assert!(judged.len() == 2 && fits(&judged[0], &one) && fits(&judged[1], &two), "{when:?} {step}: {judged:?}");
        let branch = format!("reflexion/{run}/integration");
        let names = project.git(&["ls-tree", "-r", "--name-only", &branch]);
        assert_eq!(names.lines().filter(|name| name.ends_with(".part")).count(), 2, "{names}");
    }
}

/// Proposes so many parts, and costs 7 tokens.
struct Proposes(usize);

#[async_trait]
impl Decomposer for Proposes {
    async fn propose(&self, _: &Task, spent: &UsageMeter) -> Result<Vec<ProposedPart>, AskError> {
        spent.add(Usage { input: Some(7), ..Usage::default() });
        let part = |n| ProposedPart { title: format!("part {n}"), description: "x".to_owned() };
        Ok((0..self.0).map(part).collect())
    }
}

#[tokio::test]
async fn what_asking_costs_counts_and_where_the_budget_is_used_up_nobody_is_asked() {
    async fn check(tokens: Option<u64>, agent_runs: usize, used: Option<u64>) {
        let workspaces = MemoryWorkspaces::new([("answer.txt", "nothing")]);
        let agent = ScriptedSubagent::new().writes(&workspaces, "a", "1").writes(&workspaces, "b", "2");
        let mut settings = testing::fixed_settings();
        settings.run.decompose = Decompose::Asked;
        settings.run.budgets.run.tokens = tokens;
        let layers = runtime::test::test()
            .with(Svc::<dyn Settings>::new(settings))
            .with(Svc::<dyn Workspaces>::new(workspaces))
            .with(Svc::<dyn Subagents>::new(agent.clone()))
            .with(Svc::<dyn Tasks>::new(MemoryTasks::new(vec![testing::task("a")])))
            .with(Svc::<dyn Decomposer>::new(Proposes(2)));
        let app = layers.build::<Svc<dyn Orchestrator>>().await.unwrap();
        let report = app.run(RunRequest::everything(RunId::new("run-1").unwrap())).await.unwrap();
        app.shutdown().await.unwrap();
        assert_eq!((agent.requests().len(), report.totals.usage.input), (agent_runs, used));
    }
    check(None, 2, Some(7)).await;
    check(Some(7), 0, Some(7)).await;
    check(Some(0), 0, None).await;
}
