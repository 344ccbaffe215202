//! A person's editor, which has the terminal while it works.

use std::io;
use std::io::IsTerminal as _;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

/// Opens a file in an editor and waits until that has ended: `program` with `arguments` and the file behind them, started without a shell, in the directory that
/// the caller is in. It has the terminal, if there is one; without one it reads nothing, because what stands on stdin is not meant for it.
///
/// # Errors
/// If it cannot be started. How it ended is not looked at.
pub fn edit(program: &Path, arguments: &[String], file: &Path) -> io::Result<ExitStatus> {
    let stdin = if io::stdin().is_terminal() { Stdio::inherit() } else { Stdio::null() };
    // What it prints is no answer of ours, which may be read by a program.
    Command::new(program).args(arguments).arg(file).stdin(stdin).stdout(terminal_of(io::stdout())).status()
}

/// Stdout where a person looks at it, else stderr.
fn terminal_of(stdout: io::Stdout) -> Stdio {
    if stdout.is_terminal() { Stdio::inherit() } else { Stdio::from(io::stderr()) }
}
