//! Commands that set a project up and say how it stands: `init`, `config`, `doctor`, `completions`.

use clap::Subcommand;

/// Write commented settings: project.json, or reflexion.json where that is another tool's.
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
#[command(
    after_help = "Exit codes: 0 nothing is broken; 1 something is (✗), but not what a run needs to begin; 4 no run can begin: the \
                  base, the sandbox, or with --checks the workspace or a check.\n\nExample:\n  reflexion doctor"
)]
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

/// Trust what a project names.
///
/// Before `run` and `overnight` start a program that a project's files name, or give a key to a host, somebody has to trust them.
/// That is kept in your own state directory, thing by thing: what changes is asked for again, and what you write with `init`,
/// `task add` and `task edit` is trusted by that.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Marks: + new or changed, - no longer there. Exit codes: 0, and 1 with --show if something is not trusted.\n\n\
                  Examples:\n  reflexion trust --show\n  reflexion trust\n  reflexion trust --revoke"
)]
pub struct TrustArgs {
    /// Show what would run, and trust nothing
    #[arg(long)]
    pub show: bool,
    /// Trust nothing in this project any more
    #[arg(long, conflicts_with_all = ["show", "json"])]
    pub revoke: bool,
    /// Print `{"dir","file","items":[{"place","kind","text","trusted","was"}],"gone":[…]}`
    #[arg(long)]
    pub json: bool,
}

/// Print a completion script.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  reflexion completions bash > ~/.local/share/bash-completion/completions/reflexion")]
pub struct CompletionsArgs {
    /// bash, zsh, fish, elvish or powershell
    #[arg(value_enum)]
    pub shell: clap_complete::Shell,
}
