//! The command line's reference, generated from its definition.

use super::args::Args;
use clap::{Command, CommandFactory};
use std::fmt::Write as _;

/// The help of every command, as shipped in `docs/cli.md`.
#[must_use]
pub fn reference() -> String {
    let mut text = HEAD.to_owned();
    let mut root = Args::command().term_width(100);
    root.build();
    push_overview(&mut text, &root, "reflexion");
    push(&mut text, &root, &mut vec![]);
    text
}

const HEAD: &str = "# Command line

Generated from `src/cli/args/`; a test compares the two (`UPDATE_DOCS=1 cargo test --test it docs` writes it anew).

Every command takes `-C DIR` (`--project DIR`), the directory with `project.json` or `reflexion.json`, or one below it in the same checkout; it is the
current one if not given.
`--json` prints one JSON document on stdout and nothing else. What `run --json` prints, and the exit codes, stand in
[formats](formats.md); the settings in [configuration](configuration.md).

| command | what it does |
|---|---|
";

/// A row per command that does something itself.
fn push_overview(text: &mut String, command: &Command, path: &str) {
    for sub in subcommands(command) {
        let path = format!("{path} {}", sub.get_name());
        if sub.has_subcommands() {
            push_overview(text, sub, &path);
        } else {
            let about = sub.get_about().map(ToString::to_string).unwrap_or_default().replace('|', "\\|");
            let _ = writeln!(text, "| [`{path}`](#{}) | {about} |", path.replace(' ', "-"));
        }
    }
}

fn push(text: &mut String, command: &Command, path: &mut Vec<String>) {
    path.push(command.get_name().to_owned());
    let level = "#".repeat(path.len().min(3) + 1);
    let _ = write!(text, "\n{level} `{}`\n\n```text\n{}\n```\n", path.join(" "), help(command, path.len()));
    for sub in subcommands(command) {
        push(text, sub, path);
    }
    path.pop();
}

fn subcommands(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|c| c.get_name() != "help")
}

/// The help as the program prints it; below the first level without the options that every command has.
fn help(command: &Command, depth: usize) -> String {
    let mut command = command.clone();
    if depth > 1 {
        command = command.mut_arg("project", |a| a.hide(true)).mut_arg("help", |a| a.hide(true));
    }
    let long = command.get_long_about().is_some() || command.get_arguments().any(|a| a.get_long_help().is_some());
    let help = if long { command.render_long_help() } else { command.render_help() }.to_string();
    help.lines().map(str::trim_end).collect::<Vec<_>>().join("\n").trim_end().to_owned()
}
