//! The command line; the doc comments are its help and `docs/cli.md`.

use crate::domain::RiskThreshold;
use crate::evaluation::Threshold;
use crate::runtime::EvalJudge;
use crate::runtime::HookAgent;
use clap::Parser;
use clap::Subcommand;
use std::ffi::OsString;
use std::path::PathBuf;

/// Makes coding agents learn from their failed attempts.
///
/// reflexion hands a task to any agent, checks the result itself, turns every failed attempt into a short written
/// reflection, and puts the reflections that matter into the next attempt's prompt.
#[derive(Debug, Parser)]
#[command(
    name = "reflexion",
    version,
    after_help = "Exit codes: 0 all confirmed, or nothing was open; 1 ran, not all confirmed; 2 wrong usage or configuration; \
                  3 a deadline, budget or limit left work open; 4 the environment failed; 130 interrupted."
)]
pub struct Args {
    /// The directory with project.json
    #[arg(long, short = 'C', global = true, value_name = "DIR", default_value = ".", hide_default_value = true)]
    pub project: PathBuf,
    /// What to do
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Write a commented project.json for this directory, with the checks, setup and carry of its toolchain
    Init(InitArgs),
    /// Work on tasks: attempt, check, reflect, retry
    Run(RunArgs),
    /// Bring a task's confirmed work into your checkout, uncommitted
    Apply(ApplyArgs),
    /// List and change tasks
    Task(TaskArgs),
    /// Look at what agents did, step by step
    Transcript(TranscriptArgs),
    /// Judge a transcript: is the task done? Or: is the agent stuck, what after its context was shortened?
    Judge(JudgeArgs),
    /// Say how risky a change is, from the names of its files
    Risk(RiskArgs),
    /// Look at what was learned, and change it
    Memory(MemoryArgs),
    /// Measure how often verdicts are right, on suites of cases
    Eval(EvalArgs),
    /// Ask your own history whether self-reflection is worth it: three experiments with a kill condition each
    Analyze(AnalyzeArgs),
    /// Show the effective settings
    Config(ConfigArgs),
    /// Say what is installed, what is missing, and what to do about it
    Doctor(DoctorArgs),
    /// Try whether notices of a run arrive
    Notify(super::notify::NotifyArgs),
    /// Record what an agent knew when it stopped: what agents' hooks call, and how they get installed
    Hook(HookArgs),
    /// Print a completion script for a shell
    Completions(CompletionsArgs),
}

/// Write a commented project.json.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  reflexion init && reflexion task add 'Fix the date parser' --check 'cargo test dates'"
)]
pub struct InitArgs {
    /// Print what would be written, and write nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Print what was found as JSON
    #[arg(long)]
    pub json: bool,
}

/// Work on tasks.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  reflexion run\n  reflexion run fix-dates --max-attempts 5\n  reflexion run --json --jobs 2 > result.json"
)]
pub struct RunArgs {
    /// The tasks; every open one if none is named
    #[arg(value_name = "TASK")]
    pub tasks: Vec<String>,
    /// Print the result as one JSON document on stdout
    #[arg(long)]
    pub json: bool,
    /// Say what would be done, and start nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Work on so many tasks at the same time
    #[arg(long, short, value_name = "N", allow_negative_numbers = true)]
    pub jobs: Option<usize>,
    /// Attempts per task
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(1..))]
    pub max_attempts: Option<u32>,
    /// The agent for every task, as named in project.json
    #[arg(long, value_name = "NAME")]
    pub agent: Option<String>,
    /// Neither write reflections nor put them into prompts
    #[arg(long)]
    pub no_reflexion: bool,
    /// Also do closed and blocked tasks, as if they had just been opened
    #[arg(long)]
    pub again: bool,
}

/// Bring a task's confirmed work into your checkout.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  reflexion apply fix-dates && git diff")]
pub struct ApplyArgs {
    /// The task
    #[arg(value_name = "TASK")]
    pub task: String,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

/// List and change tasks.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  reflexion task list\n  reflexion task add 'Fix the date parser' --check 'cargo test dates'"
)]
pub struct TaskArgs {
    /// What to do
    #[command(subcommand)]
    pub command: TaskCommand,
}

/// What to do with tasks.
#[derive(Debug, Subcommand)]
pub enum TaskCommand {
    /// List tasks with their effective status, in the order of work: by priority, then age
    List {
        /// Only tasks with this status: open, `in_progress`, blocked, closed
        #[arg(long)]
        status: Option<String>,
        /// Print `{"tasks":[…]}`
        #[arg(long)]
        json: bool,
    },
    /// List the tasks that a run would start with, in the order of work, and say what the other open ones wait for
    #[command(after_help = "Example:\n  reflexion task ready")]
    Ready {
        /// Print `{"tasks":[…],"waiting":[{"id","because":[…]}]}`
        #[arg(long)]
        json: bool,
    },
    /// Show one task, why it stands where it stands, and what it would be split into
    Show {
        /// The task
        id: String,
        /// Print it as JSON
        #[arg(long)]
        json: bool,
    },
    /// Add a task to the task file
    Add(TaskAddArgs),
    /// Change fields of a task; what is not named stays as it is
    Edit {
        /// The task
        id: String,
        /// Fields as one JSON object, e.g. '{"priority":0}'
        #[arg(value_name = "JSON")]
        fields: String,
        /// Print the changed task as JSON
        #[arg(long)]
        json: bool,
    },
    /// Mark a task as done
    Close {
        /// The task
        id: String,
        /// Print the changed task as JSON
        #[arg(long)]
        json: bool,
    },
    /// Open a closed or blocked task again; its attempts count anew
    Reopen {
        /// The task
        id: String,
        /// Print the changed task as JSON
        #[arg(long)]
        json: bool,
    },
    /// Write what runs found out into the task file
    Sync {
        /// Print the number of changed tasks as JSON
        #[arg(long)]
        json: bool,
    },
}

/// Add a task.
#[derive(Debug, clap::Args)]
pub struct TaskAddArgs {
    /// One line that says what is to be done
    #[arg(value_name = "TITLE")]
    pub title: String,
    /// The id, such as fix-dates; `t-` and six digits if not given
    #[arg(long)]
    pub id: Option<String>,
    /// More words for the agent
    #[arg(long)]
    pub description: Option<String>,
    /// When it counts as done, in words
    #[arg(long)]
    pub criteria: Option<String>,
    /// A shell command that must pass; may be given several times
    #[arg(long = "check", value_name = "COMMAND")]
    pub checks: Vec<String>,
    /// 0 (first) to 4 (last)
    #[arg(long, allow_negative_numbers = true, value_parser = clap::value_parser!(u8).range(0..=4))]
    pub priority: Option<u8>,
    /// A task that must be closed first; may be given several times
    #[arg(long = "after", value_name = "TASK")]
    pub after: Vec<String>,
    /// Print the stored task as JSON
    #[arg(long)]
    pub json: bool,
}

/// Look at what agents did, step by step.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  reflexion transcript list\n  reflexion transcript show fix-dates#2\n  reflexion transcript show --json | jq '.records[] | select(.type == \"tool_call\")'"
)]
pub struct TranscriptArgs {
    /// What to do
    #[command(subcommand)]
    pub command: TranscriptCommand,
}

/// What to do with transcripts.
#[derive(Debug, Subcommand)]
pub enum TranscriptCommand {
    /// List the agent runs that have a transcript, newest last
    #[command(after_help = "Example:\n  reflexion transcript list --run 20261121-2233")]
    List {
        /// Only of this run; the beginning of its id is enough
        #[arg(long)]
        run: Option<String>,
        /// Print `{"transcripts":[…]}`
        #[arg(long)]
        json: bool,
    },
    /// Show one transcript: what was said, called, printed and used
    #[command(after_help = "Examples:\n  reflexion transcript show\n  reflexion transcript show fix-dates#2 --full")]
    Show {
        /// A session, or a task (its newest attempt), or a task and an attempt; the beginning is enough where it is
        /// unique. The newest transcript if not given
        #[arg(value_name = "SESSION|TASK[#ATTEMPT]")]
        which: Option<String>,
        /// Only of this run; the beginning of its id is enough
        #[arg(long)]
        run: Option<String>,
        /// Print `{"head","records","unreadable"}`
        #[arg(long)]
        json: bool,
        /// Show everything that was kept, not only first lines
        #[arg(long, conflicts_with = "json")]
        full: bool,
    },
}

/// Judge a transcript.
///
/// Facts decide: exit statuses, what was changed and what ran after it. Only what they leave open goes to the judge of
/// project.json, if there is one. Works without project.json, and writes nothing.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit codes: 0 complete, 1 not complete (stuck and compaction: 0 with any answer), 2 what is given cannot be read.\n\n\
                  Keys of a question, all optional:\n  \
                  stuck: time_since_activity (seconds), message_completed, output_tokens,\n    \
                  last_user_message, last_assistant_response, tool_calls (`name: state` lines)\n  \
                  compaction: task_summary, last_assistant_response, tools_used, has_git_commands,\n    \
                  has_pr_issue_ref\n\n\
                  Examples:\n  \
                  reflexion judge ~/.claude/projects/-home-me-app/0b7a-….jsonl\n  \
                  codex exec --json 'Fix the date parser' | reflexion judge - --task 'Fix the date parser'\n  \
                  echo '{\"task\":\"Fix it\",\"tools\":[{\"tool\":\"bash\",\"command\":\"make test\",\"exitCode\":2}],\"response\":\"All tests pass.\"}' | reflexion judge --json\n  \
                  echo '{\"time_since_activity\":90,\"tool_calls\":\"bash: running\"}' | reflexion judge --kind stuck"
)]
pub struct JudgeArgs {
    /// The transcript, or with another --kind the question as JSON; `-` or nothing reads stdin
    #[arg(value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// What is asked
    #[arg(long, value_enum, default_value_t = JudgeWhat::Completion)]
    pub kind: JudgeWhat,
    /// The task, where the transcript does not say it, or says more
    #[arg(long, value_name = "TEXT")]
    pub task: Option<String>,
    /// Where the work is, for how it is tested and built; the project if not given
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
    /// How the transcript is written: claude, claude-transcript, codex, codex-transcript, opencode, gemini,
    /// gemini-transcript, qwen, pi, acp, reflexion, plain; seen from its first records if not given
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<String>,
    /// Print the verdict as one JSON document on stdout
    #[arg(long)]
    pub json: bool,
}

/// Say how risky a change is, from the names of its files.
///
/// Without --files: what differs in the work tree from where the branch began, committed, staged, unstaged and untracked
/// alike. "Needs no review" never means that a change is right. Works without project.json, and writes nothing.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit codes: 0 whatever the risk; 2 wrong usage, no git work tree, or no such commit; 4 git failed.\n\n\
                  Surfaces: auth 1.0, data 0.9, infra 0.85, build 0.6, ui 0.4, test 0.2, docs 0.1, none 0.0; the heaviest counts.\n\n\
                  Examples:\n  \
                  reflexion risk\n  \
                  reflexion risk --base origin/main --json | jq .needs_review\n  \
                  git diff --name-only -z v1.0 v1.1 | reflexion risk --files -\n  \
                  reflexion risk --files src/auth/mod.rs docs/login.md"
)]
pub struct RiskArgs {
    /// Compare with where the branch left this revision; its upstream if not given, or the default branch
    #[arg(long, value_name = "REV", conflicts_with = "files")]
    pub base: Option<String>,
    /// These files instead of the work tree's; `-` reads names from stdin, one a line or NUL-separated
    #[arg(long, value_name = "FILE", num_args = 0..)]
    pub files: Option<Vec<OsString>>,
    /// From which score on somebody should look, 0 to 1; `risk.threshold` of the settings if not given
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub threshold: Option<RiskThreshold>,
    /// Print `{"needs_review","score","surface","reason","files":[{"path","surface"}]}`
    #[arg(long)]
    pub json: bool,
}

/// What a judge is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum JudgeWhat {
    /// Is the task done?
    Completion,
    /// Is the agent stuck?
    Stuck,
    /// What should it do after its context was shortened?
    Compaction,
}

/// Measure how often verdicts are right, on suites of cases.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit codes: 0 every suite held its threshold; 1 one fell short, or a case was lost; 2 a suite cannot be read.\n\nExamples:\n  reflexion eval config/evals/*.yaml --judge none\n  reflexion eval stuck.yaml --repeat 5 --jobs 4 --threshold max_false_complete=0,max_false_alarm=0.02\n  reflexion eval --compare"
)]
pub struct EvalArgs {
    /// Suites: .yaml, .json or .jsonl, our own or promptfoo's test cases; every one in config/evals/ if none is named
    #[arg(value_name = "SUITE")]
    pub suites: Vec<PathBuf>,
    /// Who judges what the facts leave open: none, command:PROGRAM ARGUMENT…, agent:NAME; `verification.judge` of the
    /// settings if not given
    #[arg(long, value_name = "WHO")]
    pub judge: Option<EvalJudge>,
    /// Run every case so many times, and say which are flaky
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub repeat: u32,
    /// So many cases at a time
    #[arg(long, short, value_name = "N", default_value_t = 4, value_parser = parse_jobs)]
    pub jobs: usize,
    /// What every suite must come to, instead of its own threshold: `max_false_complete=SHARE,max_false_alarm=SHARE`, and
    /// `min_accuracy=SHARE` beside one of them
    #[arg(long, value_name = "LIMITS")]
    pub threshold: Option<Threshold>,
    /// Show a line for every case, not only for those that do not hold
    #[arg(long)]
    pub cases: bool,
    /// Print the result as one JSON document on stdout
    #[arg(long)]
    pub json: bool,
    /// Also write the result to this file
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// List the suites and their cases, and run nothing
    #[arg(long)]
    pub list: bool,
    /// Say what two results differ in; the two newest of every suite if none is named
    #[arg(long, num_args = 0..=2, value_names = ["OLD", "NEW"], conflicts_with_all = ["suites", "list", "judge", "out"])]
    pub compare: Option<Vec<PathBuf>>,
}

fn parse_jobs(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|jobs| (1..=1024).contains(jobs)).ok_or_else(|| "is a number, 1 to 1024".to_owned())
}

/// Ask your own history whether self-reflection is worth it.
///
/// Three experiments, offline. Each prints first what would end the idea behind it, decided before any data was seen.
/// Nothing is written, and no project.json is needed where a file or a repository is named.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit codes: 0 whatever came of it (`killed` in the JSON: true, false, or null where there is too little to decide on); \
                  2 wrong usage, or nothing that can be read; 4 git or the disk failed.\n\nExamples:\n  \
                  reflexion analyze calibration labels.jsonl\n  reflexion analyze calibration --json | jq .auc.value\n  reflexion analyze git-history --repo ../other\n  reflexion analyze board-history board.jsonl"
)]
pub struct AnalyzeArgs {
    /// The experiment
    #[command(subcommand)]
    pub experiment: AnalyzeCommand,
}

/// The experiments.
#[derive(Debug, Subcommand)]
pub enum AnalyzeCommand {
    /// P1: does confidence tell right work from wrong?
    #[command(
        after_help = "Examples:\n  reflexion analyze calibration\n  jq -c '{confidence, correct: .passed}' runs.jsonl | reflexion analyze calibration -"
    )]
    Calibration {
        /// JSON Lines of `{"confidence": 0.9, "correct": true}`; `-` reads stdin; the project's own runs if not given
        #[arg(value_name = "FILE")]
        file: Option<PathBuf>,
        /// Whose confidence, without FILE; `self-reports` if there are any, else `lessons`, if not given
        #[arg(long, value_enum, value_name = "WHAT", conflicts_with = "file")]
        of: Option<ConfidenceOf>,
        /// Print the result as one JSON document on stdout
        #[arg(long)]
        json: bool,
    },
    /// P2: which gate would have caught what was repaired soon after it came?
    #[command(
        after_help = "Examples:\n  reflexion analyze git-history\n  reflexion analyze git-history --repo ../other --days 30 --since 2026-01-01 --json"
    )]
    GitHistory {
        /// The repository; the project's directory if not given
        #[arg(long, value_name = "DIR")]
        repo: Option<PathBuf>,
        /// How soon after a change a repair counts
        #[arg(long, value_name = "N", default_value_t = 14, value_parser = clap::value_parser!(u32).range(1..=365), allow_negative_numbers = true)]
        days: u32,
        /// Only what was committed since: a day (2026-01-31) or a moment (2026-01-31T12:00:00Z)
        #[arg(long, value_name = "WHEN")]
        since: Option<String>,
        /// Print the result as one JSON document on stdout
        #[arg(long)]
        json: bool,
    },
    /// P3: does anything say afterwards whether finished work was right?
    #[command(
        after_help = "Examples:\n  reflexion analyze board-history\n  reflexion analyze board-history board.csv --json"
    )]
    BoardHistory {
        /// An exported board: JSON Lines, a JSON list or CSV; `-` reads stdin; the project's own tasks if not given
        #[arg(value_name = "FILE")]
        file: Option<PathBuf>,
        /// Print the result as one JSON document on stdout
        #[arg(long)]
        json: bool,
    },
}

/// Whose confidence is compared with the verdicts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum ConfidenceOf {
    /// Agents', in their work, as they reported it at the end of an attempt
    SelfReports,
    /// The reflections', in themselves: was the attempt confirmed whose prompt held them first?
    Lessons,
}

/// Look at what was learned, and change it.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  reflexion memory list --task fix-dates --limit 3\n  reflexion memory add < reflection.json"
)]
pub struct MemoryArgs {
    /// What to do
    #[command(subcommand)]
    pub command: MemoryCommand,
}

/// What to do with the memory.
#[derive(Debug, Subcommand)]
pub enum MemoryCommand {
    /// List reflections, newest first
    List {
        /// Only of this task
        #[arg(long)]
        task: Option<String>,
        /// Only of this subtask
        #[arg(long)]
        subtask: Option<String>,
        /// At most so many; all if not given
        #[arg(long, value_name = "N", allow_negative_numbers = true)]
        limit: Option<usize>,
        /// Print `{"reflections":[…]}`
        #[arg(long)]
        json: bool,
    },
    /// Show one reflection
    Show {
        /// Its id
        id: String,
        /// Print it as JSON
        #[arg(long)]
        json: bool,
    },
    /// Store one reflection, read as JSON from stdin; missing ids and times are filled in
    Add {
        /// Print the stored reflection as JSON (it is printed in words otherwise)
        #[arg(long)]
        json: bool,
    },
    /// Remove reflections older than the retention time
    Prune {
        /// Days to keep, instead of `reflexion.retentionDays`
        #[arg(long, value_name = "N", allow_negative_numbers = true)]
        days: Option<u32>,
        /// Say how many would go, and remove nothing
        #[arg(long)]
        dry_run: bool,
        /// Print the result as JSON
        #[arg(long)]
        json: bool,
    },
    /// Take over the reflections of another file, such as the Golden Loop's
    Import {
        /// A JSON Lines file of reflections
        file: PathBuf,
        /// Print the result as JSON
        #[arg(long)]
        json: bool,
    },
}

/// Show the effective settings.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  reflexion config show")]
pub struct ConfigArgs {
    /// What to do
    #[command(subcommand)]
    pub command: ConfigCommand,
}

/// What to do with the settings.
#[derive(Debug, Subcommand)]
pub enum ConfigCommand {
    /// Print every effective value and where it came from
    Show {
        /// Print `{"values":{key:{"value","origin"}},"warnings":[…]}`
        #[arg(long)]
        json: bool,
    },
}

/// Say what is installed, what is missing, and what to do about it.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  reflexion doctor")]
pub struct DoctorArgs {
    /// Print the findings as JSON
    #[arg(long)]
    pub json: bool,
    /// Also build one workspace and run setup and every check at the base
    #[arg(long)]
    pub checks: bool,
    /// Print how the services are put together, as a Mermaid diagram
    #[arg(long, conflicts_with_all = ["json", "checks"])]
    pub graph: bool,
}

/// What agents' hooks call.
///
/// Whatever goes wrong, `stop` and `session-start` end with exit code 0 and a line on stderr: a hook never fails the session
/// that it is part of. Both do nothing unless `REFLECTION_MODE` is `solo` or `orchestrated`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  reflexion hook install claude\n  REFLECTION_MODE=solo claude\n  ls .reflection/reflections/"
)]
pub struct HookArgs {
    /// What to do
    #[command(subcommand)]
    pub command: HookCommand,
}

/// What a hook does.
#[derive(Debug, Subcommand)]
pub enum HookCommand {
    /// Note the commit and the dirty files at a session's start; the agent's payload is read from stdin
    SessionStart(HookStartArgs),
    /// Write the record of a session that stops; the agent's payload is read from stdin
    Stop(HookStopArgs),
    /// Put the hooks into an agent's settings; what is there stays
    Install(HookInstallArgs),
    /// Take them out again
    Uninstall(HookUninstallArgs),
}

/// How an agent's hook calls at a session's start.
#[derive(Debug, clap::Args)]
pub struct HookStartArgs {
    /// Who calls
    #[command(flatten)]
    pub call: HookCallArgs,
    /// Also without `REFLECTION_MODE`: `stop --verify` goes by the settings that are seen here
    #[arg(long)]
    pub verify: bool,
}

/// How an agent's hook calls at a stop.
#[derive(Debug, clap::Args)]
pub struct HookStopArgs {
    /// Who calls
    #[command(flatten)]
    pub call: HookCallArgs,
    /// Also judge the stop as `reflexion judge` does, and send the agent back to work if facts refute it: at most
    /// `feedback.maxTurns` turns for one prompt of yours, never twice for the same. Needs no `REFLECTION_MODE`;
    /// `REFLECTION_MODE=off` switches it off too, and a run judges its agents itself
    #[arg(long)]
    pub verify: bool,
}

/// Put the hooks into an agent's settings.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  reflexion hook install claude\n  reflexion hook install claude --verify --user\n  reflexion hook install codex"
)]
pub struct HookInstallArgs {
    /// Where
    #[command(flatten)]
    pub place: HookPlaceArgs,
    /// Stops are judged too: `reflexion hook stop --verify`; for claude only
    #[arg(long)]
    pub verify: bool,
}

/// Take the hooks out of an agent's settings.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  reflexion hook uninstall claude")]
pub struct HookUninstallArgs {
    /// Where
    #[command(flatten)]
    pub place: HookPlaceArgs,
}

/// Which settings.
#[derive(Debug, clap::Args)]
pub struct HookPlaceArgs {
    /// claude, codex, gemini or opencode
    #[arg(value_name = "AGENT", value_parser = parse_hook_agent)]
    pub agent: HookAgent,
    /// Your own settings, for every project, instead of this project's
    #[arg(long)]
    pub user: bool,
    /// Print `{"file","changed"}`
    #[arg(long)]
    pub json: bool,
}

fn parse_hook_agent(text: &str) -> Result<HookAgent, String> {
    text.parse()
}

/// How an agent's hook calls.
#[derive(Debug, clap::Args)]
pub struct HookCallArgs {
    /// Who calls, unless `REFLECTION_AGENT` says it
    #[arg(long, value_name = "NAME")]
    pub agent: Option<String>,
}

/// Print a completion script.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  reflexion completions bash > ~/.local/share/bash-completion/completions/reflexion")]
pub struct CompletionsArgs {
    /// bash, zsh, fish, elvish or powershell
    #[arg(value_enum)]
    pub shell: clap_complete::Shell,
}
