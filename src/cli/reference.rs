//! The command line's reference, generated from its definition.

use super::args::Args;
use clap::Command;
use clap::CommandFactory;
use std::fmt::Write as _;

/// The help of every command, as shipped in `docs/cli.md`.
#[must_use]
pub fn reference() -> String {
    let mut text = "# Command line\n\nGenerated from `src/cli/args.rs`; a test compares the two \
                    (`UPDATE_DOCS=1 cargo test docs` writes it anew).\n"
        .to_owned();
    let mut root = Args::command().term_width(100);
    root.build();
    push(&mut text, &root, &mut vec![]);
    text
}

fn push(text: &mut String, command: &Command, path: &mut Vec<String>) {
    path.push(command.get_name().to_owned());
    let level = "#".repeat(path.len().min(3) + 1);
    let help = command.clone().render_long_help().to_string();
    let help: Vec<&str> = help.lines().map(str::trim_end).collect();
    let _ = write!(text, "\n{level} `{}`\n\n```text\n{}\n```\n", path.join(" "), help.join("\n").trim_end());
    for sub in command.get_subcommands().filter(|c| c.get_name() != "help") {
        push(text, sub, path);
    }
    path.pop();
}
