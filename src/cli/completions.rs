//! `reflexion completions`.

use super::Exit;
use super::args::Args;
use super::args::CompletionsArgs;
use clap::CommandFactory;

pub(super) fn completions(args: &CompletionsArgs) -> Exit {
    clap_complete::generate(args.shell, &mut Args::command(), "reflexion", &mut std::io::stdout());
    Exit::Confirmed
}
