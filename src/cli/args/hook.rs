//! `hook`.

use crate::runtime::HookAgent;
use clap::Subcommand;

/// What agents' hooks call.
///
/// Whatever goes wrong, `stop`, `session-start`, `prompt` and `after-tool` end with exit code 0 and a line on stderr: a hook never fails the session
/// that it is part of. Without `--verify` and `--learn` they do nothing unless `REFLECTION_MODE` is `solo` or `orchestrated`.
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
    /// Give the agent the lesson about a failure that was pasted into a prompt, once in a session; its payload is read from stdin
    Prompt(HookLessonArgs),
    /// Give the agent the lesson about a command that failed, once in a session; its payload is read from stdin
    AfterTool(HookLessonArgs),
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
    /// Give the agent at most three lessons of this project: those that were measured to help, and those that you wrote, edited or
    /// promoted. Only where the project is trusted; never inside of a run, and never with `REFLECTION_MODE=off`
    #[arg(long)]
    pub learn: bool,
}

/// How an agent's hook calls before a prompt is read, or after a command.
#[derive(Debug, clap::Args)]
pub struct HookLessonArgs {
    /// Who calls
    #[command(flatten)]
    pub call: HookCallArgs,
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
    /// With `--verify`: write the lesson of a stop that was refuted, as a run does of a failed attempt. Only where the project is trusted;
    /// never inside of a run, and never with `REFLECTION_MODE=off`
    #[arg(long, requires = "verify")]
    pub learn: bool,
}

/// Put the hooks into an agent's settings.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  reflexion hook install claude\n  reflexion hook install claude --verify --user\n  reflexion hook install codex --learn"
)]
pub struct HookInstallArgs {
    /// Where
    #[command(flatten)]
    pub place: HookPlaceArgs,
    /// Stops are judged too: `reflexion hook stop --verify`; not for opencode, which cannot be sent back to work
    #[arg(long)]
    pub verify: bool,
    /// Sessions are given lessons of the project: those that proved themselves when they start, and after a command that
    /// failed, or with a prompt that holds a failure, the one about such a failure; OpenCode's only after a command. With `--verify` a stop that was refuted leaves a lesson
    #[arg(long)]
    pub learn: bool,
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
