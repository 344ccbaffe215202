//! Commands that set a project up and say how it stands: `init`, `config`, `doctor`, `completions`.

use clap::Subcommand;

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

/// Print a completion script.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  reflexion completions bash > ~/.local/share/bash-completion/completions/reflexion")]
pub struct CompletionsArgs {
    /// bash, zsh, fish, elvish or powershell
    #[arg(value_enum)]
    pub shell: clap_complete::Shell,
}
