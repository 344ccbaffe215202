//! `notify`.

/// Who hears of a run that nobody watches.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  reflexion notify test")]
pub struct NotifyArgs {
    /// What to do
    #[command(subcommand)]
    pub command: NotifyCommand,
}

/// What to do about notices.
#[derive(Debug, clap::Subcommand)]
pub enum NotifyCommand {
    /// Send a test notice to everybody under `notify` in the settings, and say whether it was taken
    Test {
        /// Print `{"sent":[{"to","ok","error"?}]}`
        #[arg(long)]
        json: bool,
    },
}
