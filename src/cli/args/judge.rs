//! `judge` and `risk`: what can be asked about work without a project.

use crate::domain::RiskThreshold;
use std::ffi::OsString;
use std::path::PathBuf;

/// Judge a transcript.
///
/// Facts decide: exit statuses, what was changed and what ran after it. Only what they leave open goes to the judge of
/// the project's settings, if there is one. Works without a project, and writes nothing.
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
/// alike. "Needs no review" never means that a change is right. Works without a project, and writes nothing.
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
    /// Compare with where the branch left this revision; if not given, its upstream (its own copy on a remote is none), or the
    /// default branch
    #[arg(long, value_name = "REV", conflicts_with = "files")]
    pub base: Option<String>,
    /// These files instead of the work tree's; `-` reads names from stdin, one a line or NUL-separated
    #[arg(long, value_name = "FILE", num_args = 0..)]
    pub files: Option<Vec<OsString>>,
    /// From which score on somebody should look, 0 to 1; `risk.threshold` of the settings if not given
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub threshold: Option<RiskThreshold>,
    /// Print `{"needs_review","score","surface","reason","files":[{"path","surface"}],"base","base_commit","threshold"}`
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
