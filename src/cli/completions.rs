//! `reflexion completions`.

use super::Exit;
use super::args::{Args, CompletionsArgs};
use super::output::out;
use clap::CommandFactory;

pub(super) fn completions(args: &CompletionsArgs) -> Exit {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Args::command(), "reflexion", &mut script);
    out!("{}", String::from_utf8_lossy(&script));
    Exit::Confirmed
}
