//! A made-up night: the journal of a run over any number of tasks, always the same for the same numbers, with everything in it
//! that a report has to tell.

use reflexion::domain::{
    Category, CostSource, Ending, JournalEntry, LessonsOver, LoggedEntry, MergeOutcome, Proof, Reflection,
    ReflectionId, Risk, RiskThreshold, RunId, RunKind, RunLog, RunPlan, RunStop, SessionId, Status, Stop, SubtaskId,
    TaskId, TaskReport, Timestamp, TreeId, Usage, Verdict,
};
use serde_json::json;
use std::fmt::Write as _;
use std::time::Duration;

const TITLES: [&str; 10] = [
    "Dates before 1900 are parsed as this century",
    "The export leaves out the last line",
    "Retry a download that breaks off in the middle",
    "Show the total in the invoice's footer",
    "Rename `utils.rs` after what it holds",
    "Sort search results by relevance, then by date",
    "Reset tokens are accepted twice",
    "A half-open interval is counted as closed",
    "Warn before an unsaved form is left",
    "Speed up the import of large CSV files",
];

/// What becomes of a task of the night.
#[derive(Clone, Copy)]
enum Story {
    /// Confirmed at this attempt, and merged.
    Merged(u32),
    /// As that, and it touches what somebody should look at.
    Risky(u32),
    /// Refuted this many times.
    Failed(u32),
    /// Conflicts once, and is merged after that.
    Conflict,
    /// Conflicts every time.
    Kept,
    /// Waits for a rate limit first.
    Limited,
    Unverifiable,
    Person,
    Login,
}

const STORIES: [Story; 20] = [
    Story::Merged(1),
    Story::Merged(2),
    Story::Risky(1),
    Story::Failed(3),
    Story::Merged(1),
    Story::Limited,
    Story::Merged(3),
    Story::Conflict,
    Story::Person,
    Story::Merged(1),
    Story::Merged(2),
    Story::Unverifiable,
    Story::Merged(1),
    Story::Failed(2),
    Story::Kept,
    Story::Risky(2),
    Story::Merged(1),
    Story::Login,
    Story::Merged(4),
    Story::Merged(1),
];

/// A night in the making.
pub struct Night {
    pub entries: Vec<LoggedEntry>,
    pub lessons: Vec<Reflection>,
    /// The journal's title for a task, if not one of ours.
    title: Option<String>,
    seed: u64,
    sessions: u64,
}

impl Night {
    /// A night over so many tasks, worked on by so many workers, until the time is up.
    pub fn new(tasks: usize, workers: usize) -> Self {
        Self::titled(tasks, workers, None)
    }

    /// The same where every task, cause and lesson has these words.
    pub fn titled(tasks: usize, workers: usize, title: Option<&str>) -> Self {
        let mut night =
            Self { entries: Vec::new(), lessons: Vec::new(), title: title.map(str::to_owned), seed: 7, sessions: 0 };
        let start: Timestamp = "2026-11-21T21:04:00Z".parse().unwrap();
        let ids: Vec<TaskId> = (0..tasks).map(id).collect();
        let plan = RunPlan {
            kind: RunKind::Overnight,
            jobs: workers,
            base: Some("4f2a9c1e7b3d".to_owned()),
            ..RunPlan::default()
        };
        night.say(start, JournalEntry::RunStarted { run: run(), pid: 4711, boot: None, tasks: ids.clone(), plan });
        let mut clocks = vec![start + Duration::from_secs(1); workers];
        let reached = if tasks >= 20 { tasks - tasks / 10 } else { tasks };
        for (i, task) in ids.iter().enumerate().take(reached) {
            let worker = (0..workers).min_by_key(|w| clocks[*w]).unwrap();
            clocks[worker] = night.task(clocks[worker], worker, i, task);
        }
        let end = clocks.into_iter().max().unwrap();
        night.entries.sort_by_key(|entry| entry.at);
        let stopped = (reached < tasks).then_some(RunStop::Deadline);
        night.say(
            end,
            JournalEntry::RunEnded {
                interrupted: false,
                stopped,
                ahead: Vec::new(),
                conflicts: Vec::new(),
                lessons: LessonsOver::default(),
            },
        );
        night
    }

    /// As a reader of the journal gives it.
    pub fn log(&self, entries: usize) -> RunLog {
        let entries = self.entries[..entries].to_vec();
        RunLog { run: run(), entries, problems: Vec::new(), unreadable: 0, alive: None, torn: false }
    }

    /// As it stands on disk.
    pub fn journal(&self) -> String {
        let mut text = String::new();
        for LoggedEntry { at, entry } in &self.entries {
            let mut line = json!({ "v": 1, "at": at });
            line.as_object_mut().unwrap().extend(json!(entry).as_object().unwrap().clone());
            let _ = writeln!(text, "{line}");
        }
        text
    }

    fn say(&mut self, at: Timestamp, entry: JournalEntry) {
        self.entries.push(LoggedEntry { at, entry });
    }

    fn random(&mut self, below: u64) -> u64 {
        self.seed = self.seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.seed >> 33) % below
    }

    fn words(&self, ours: &str) -> String {
        self.title.clone().unwrap_or_else(|| ours.to_owned())
    }

    fn task(&mut self, mut at: Timestamp, worker: usize, i: usize, task: &TaskId) -> Timestamp {
        let title = self.words(TITLES[i % TITLES.len()]);
        self.say(
            at,
            JournalEntry::TaskStarted {
                task: task.clone(),
                title,
                worker,
                counts: Vec::new(),
                parts: Vec::new(),
                routed: None,
                max_attempts: None,
            },
        );
        at += Duration::from_secs(5 + self.random(20));
        let (at, end) = match STORIES[i % STORIES.len()] {
            Story::Merged(n) => self.merged(at, i, task, n, "src/lib.rs"),
            Story::Risky(n) => self.merged(
                at,
                i,
                task,
                n,
                if i.is_multiple_of(3) { "db/migrations/0007.sql" } else { "src/auth/token.rs" },
            ),
            Story::Failed(n) => {
                let at = (1..=n).fold(at, |at, n| self.attempt(at, i, task, n, Verdict::FalseDone, "src/lib.rs"));
                (
                    at,
                    ended(
                        Some(Verdict::FalseDone),
                        &self.words("not solved; the last: check `test` is red (exit status 1)"),
                    ),
                )
            }
            Story::Conflict => {
                let at = self.attempt(at, i, task, 1, Verdict::Confirmed, "src/lib.rs");
                let at = self.conflict(at, task, 1);
                self.merged_from(at, i, task, 2, 2, "src/lib.rs")
            }
            Story::Kept => {
                let at = self.attempt(at, i, task, 1, Verdict::Confirmed, "src/lib.rs");
                let at = self.conflict(at, task, 1);
                (at, ended(Some(Verdict::Failed), &self.words("not solved in 1 attempt; the last: it conflicts")))
            }
            Story::Limited => {
                let at = self.dropped(at, i, task, Ending::RateLimited { resets_at: None });
                let until = at + Duration::from_secs(1500);
                let because = "rate limited until 02:00".to_owned();
                self.say(at, JournalEntry::WaitStarted { task: task.clone(), until, because });
                self.say(until, JournalEntry::WaitEnded { task: task.clone() });
                self.merged(until, i, task, 1, "src/lib.rs")
            }
            Story::Unverifiable => {
                let at = self.attempt(at, i, task, 1, Verdict::Unverifiable, "README.md");
                (at, ended(Some(Verdict::Unverifiable), &self.words("no check could tell whether it is right")))
            }
            Story::Person => {
                let at = self.attempt(at, i, task, 1, Verdict::Unverifiable, "src/lib.rs");
                let cause =
                    format!("waits for a person: {}", self.words("create a sandbox account at the payment provider"));
                (at, ended(Some(Verdict::Unverifiable), &cause))
            }
            Story::Login => {
                let at = self.dropped(at, i, task, Ending::Auth);
                let mut end = ended(None, &self.words("agent `codex` ended with `auth`: token expired"));
                (end.status, end.stop) = (Status::Open, Some(Stop::Environment));
                (at, end)
            }
        };
        self.end(at, task, end);
        at
    }

    fn merged(&mut self, at: Timestamp, i: usize, task: &TaskId, n: u32, file: &str) -> (Timestamp, End) {
        self.merged_from(at, i, task, 1, n, file)
    }

    fn merged_from(
        &mut self,
        at: Timestamp,
        i: usize,
        task: &TaskId,
        from: u32,
        n: u32,
        file: &str,
    ) -> (Timestamp, End) {
        let at = (from..n).fold(at, |at, n| self.attempt(at, i, task, n, Verdict::FalseDone, file));
        let at = self.attempt(at, i, task, n, Verdict::Confirmed, file);
        self.say(at, JournalEntry::CommitStarted { task: task.clone(), tree: TreeId("t".to_owned()) });
        let onto = "4f2a9c1e7b3d".to_owned();
        self.say(at, JournalEntry::MergeStarted { task: task.clone(), attempt: n, onto });
        let at = at + Duration::from_secs(20 + self.random(40));
        let outcome = MergeOutcome::Merged {
            commit: format!("{:040x}", 0xabc_def_012_345_u64 + i as u64),
            flaky: if i % 20 == 4 { vec!["e2e".to_owned()] } else { Vec::new() },
            was_there: false,
        };
        self.say(at, JournalEntry::MergeEnded { task: task.clone(), attempt: n, outcome, reflection: None });
        let branch = Some(format!("reflexion/{}/{task}", run()));
        let end = End {
            verdict: Some(Verdict::Confirmed),
            status: Status::Closed,
            branch,
            solved_at: Some(n),
            ..ended(None, "")
        };
        (at, End { cause: None, ..end })
    }

    fn conflict(&mut self, at: Timestamp, task: &TaskId, attempt: u32) -> Timestamp {
        let onto = "4f2a9c1e7b3d".to_owned();
        self.say(at, JournalEntry::MergeStarted { task: task.clone(), attempt, onto });
        let at = at + Duration::from_secs(15);
        let kept = format!("reflexion/{}/{task}-attempt-{attempt}", run());
        let outcome =
            MergeOutcome::Conflict { files: vec!["src/lib.rs".to_owned(), "src/search/rank.rs".to_owned()], kept };
        let reflection = self.lesson(at, task, attempt);
        self.say(at, JournalEntry::MergeEnded { task: task.clone(), attempt, outcome, reflection: Some(reflection) });
        at
    }

    fn lesson(&mut self, at: Timestamp, task: &TaskId, attempt: u32) -> ReflectionId {
        let id = ReflectionId::new(format!("ref-{}", self.lessons.len()));
        let suggestion = self.words(
            "Write down what the last line of the file should be, run only the failing test, and look at the \
                                     bytes it compares before changing the parser.",
        );
        self.lessons.push(Reflection {
            id: id.clone(),
            session_id: SessionId::new("s"),
            task_id: task.to_string(),
            subtask_id: task.to_string(),
            attempt_number: attempt,
            category: Category::RootCause,
            analysis: self.words("The last line has no line feed."),
            suggestion,
            action_items: Vec::new(),
            confidence: 0.5,
            created_at: at,
            v: 1,
            origin: None,
            already_tried: None,
            signature: None,
            failure: None,
            replaces: None,
            files: Vec::new(),
            foreign: false,
        });
        id
    }

    fn start(&mut self, at: Timestamp, i: usize, task: &TaskId, attempt: u32) -> SessionId {
        self.sessions += 1;
        let session = SessionId::new(format!("session-{}", self.sessions));
        let agent = if matches!(STORIES[i % STORIES.len()], Story::Login) || i % 3 == 1 { "codex" } else { "claude" };
        let own = self.lessons.iter().filter(|lesson| lesson.task_id == task.as_str());
        let injected = own.map(|lesson| lesson.id.clone()).collect();
        self.say(
            at,
            JournalEntry::AttemptStarted {
                task: task.clone(),
                subtask: SubtaskId::from(task),
                attempt,
                session: session.clone(),
                agent: agent.to_owned(),
                start: TreeId("t".to_owned()),
                injected,
                others: Vec::new(),
                exposure: None,
                resumes: None,
            },
        );
        session
    }

    fn usage(&mut self, i: usize) -> Usage {
        let (reported, tokens) = (i % 3 != 1, 20_000 + self.random(400_000));
        Usage {
            input: Some(tokens),
            output: Some(tokens / 20),
            cost_usd: Some(tokens as f64 * 4e-6),
            cost_source: Some(if reported { CostSource::Reported } else { CostSource::Estimated }),
            ..Usage::default()
        }
    }

    fn dropped(&mut self, at: Timestamp, i: usize, task: &TaskId, ending: Ending) -> Timestamp {
        let session = self.start(at, i, task, 1);
        let at = at + Duration::from_secs(30 + self.random(60));
        let (task, ending) = (task.clone(), Some(ending));
        let entry = JournalEntry::AttemptDropped {
            task,
            session,
            ending,
            usage: Usage::default(),
            judging_usage: Usage::default(),
            files: None,
            detail: None,
        };
        self.say(at, entry);
        at
    }

    fn attempt(
        &mut self,
        at: Timestamp,
        i: usize,
        task: &TaskId,
        attempt: u32,
        verdict: Verdict,
        file: &str,
    ) -> Timestamp {
        let session = self.start(at, i, task, attempt);
        let at = at + Duration::from_secs(240 + self.random(1200));
        let ending = Ending::Finished;
        self.say(
            at,
            JournalEntry::AgentStopped {
                task: task.clone(),
                session: session.clone(),
                ending: ending.clone(),
                usage: Usage::default(),
                files: None,
                detail: None,
            },
        );
        let at = at + Duration::from_secs(30 + self.random(150));
        let reflection = (verdict == Verdict::FalseDone).then(|| self.lesson(at, task, attempt));
        let because = match verdict {
            Verdict::Confirmed => "check `test` turned green".to_owned(),
            _ => self.words("check `test` is red (exit status 1)"),
        };
        let usage = self.usage(i);
        let person = match STORIES[i % STORIES.len()] {
            Story::Person => vec![self.words("create a sandbox account at the payment provider")],
            _ => Vec::new(),
        };
        self.say(
            at,
            JournalEntry::AttemptJudged {
                task: task.clone(),
                subtask: SubtaskId::from(task),
                attempt,
                session,
                ending,
                usage,
                tree: TreeId("t".to_owned()),
                verdict,
                because,
                proof: None,
                proof_runs: None,
                proof_hunks: None,
                tests: None,
                failure: None,
                red: None,
                answer: None,
                person,
                risk: Some(Risk::of([file], RiskThreshold::default())),
                flaky: Vec::new(),
                signature: None,
                record: None,
                reflection,
                reflection_usage: Usage::default(),
                judging_usage: Usage::default(),
            },
        );
        at
    }

    fn end(&mut self, at: Timestamp, task: &TaskId, end: End) {
        let End { verdict, status, branch, cause, stop, solved_at } = end;
        let proof = (verdict == Some(Verdict::Confirmed)).then_some(Proof::TurnedGreen);
        let report = json!({
            "id": task, "verdict": verdict, "attempts": 1, "solvedAt": solved_at, "reflectionsWritten": 0,
            "reflectionsInjected": 0, "tokens": null, "costUsd": null, "durationMs": 1, "endings": [], "stop": stop
        });
        let report: TaskReport = serde_json::from_value(report).unwrap();
        let (task, status, report) = (task.clone(), Some(status), Some(Box::new(report)));
        self.say(at, JournalEntry::TaskEnded { task, verdict, proof, branch, cause, status, report });
    }
}

/// How a task of the night ends.
struct End {
    verdict: Option<Verdict>,
    status: Status,
    branch: Option<String>,
    cause: Option<String>,
    stop: Option<Stop>,
    solved_at: Option<u32>,
}

fn ended(verdict: Option<Verdict>, cause: &str) -> End {
    let cause = Some(cause.to_owned());
    End { verdict, status: Status::Blocked, branch: None, cause, stop: None, solved_at: None }
}

/// The made-up run.
pub fn run() -> RunId {
    RunId::new("20261121-210400-5f2a").unwrap()
}

fn id(i: usize) -> TaskId {
    const NAMES: [&str; 10] =
        ["dates", "export", "download", "invoice", "rename", "search", "tokens", "interval", "forms", "import"];
    TaskId::new(format!("{}-{}", NAMES[i % NAMES.len()], i + 1)).unwrap()
}
