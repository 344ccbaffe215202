//! Writing to stdout and stderr so that a reader who leaves (`| head`), or a full disk, never breaks off work.
//!
//! The standard macros panic there: a run would die in the middle because nobody watches its progress.

use crate::redaction::Redactor;
use std::fmt::Arguments;
use std::io;
use std::io::Write;
use std::sync::OnceLock;

/// Why stdout did not take everything.
static LOST: OnceLock<String> = OnceLock::new();

/// `print!` that does not panic; see [`lost`].
macro_rules! out {
    ($($text:tt)*) => { $crate::cli::output::write_out(format_args!($($text)*)) };
}
/// `println!` that does not panic; see [`lost`].
macro_rules! outln {
    () => { $crate::cli::output::write_out(format_args!("\n")) };
    ($($text:tt)*) => { $crate::cli::output::write_out(format_args!("{}\n", format_args!($($text)*))) };
}
/// `eprintln!` that does not panic: what cannot be said is not said.
macro_rules! errln {
    ($($text:tt)*) => { $crate::cli::output::write_err(format_args!($($text)*)) };
}

pub(super) use errln;
pub(super) use out;
pub(super) use outln;

/// Writes a line to stdout that a person has to see as it is, because they are asked whether it may act: a text that looks like a secret could
/// hide what it does. Only the values of their own variables stay out.
pub(super) fn outln_whole(line: &str) {
    write_to_stdout(format!("{}\n", Redactor::redact_own_variables(line)).as_bytes());
}

/// The same on stderr.
pub(super) fn errln_whole(line: &str) {
    let _ = io::stderr().lock().write_all(format!("{}\n", Redactor::redact_own_variables(line)).as_bytes());
}

/// Writes to stdout.
pub(super) fn write_out(text: Arguments<'_>) {
    write_to_stdout(without_secrets(text).as_bytes());
}

fn write_to_stdout(bytes: &[u8]) {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        // Who closed the pipe has read enough.
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => drop(LOST.set(error.to_string())),
        _ => {}
    }
}

/// Stdout for lines that others write, as [`write_out`] writes them.
pub(super) struct Stdout;

impl Write for Stdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        write_to_stdout(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes a line to stderr.
pub(super) fn write_err(text: Arguments<'_>) {
    // One write, so that lines of several tasks do not mix.
    let _ = io::stderr().lock().write_all(format!("{}\n", without_secrets(text)).as_bytes());
}

/// Stderr for what is logged.
pub(super) struct Log;

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(bytes);
        io::stderr().lock().write_all(Redactor::of_process().redact(&text).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

fn without_secrets(text: Arguments<'_>) -> String {
    let text = text.to_string();
    if !text.starts_with(['{', '[']) {
        return Redactor::of_process().redact_owned(text);
    }
    // A document stays one, whatever stands in its strings.
    String::from_utf8_lossy(&Redactor::of_process().redact_json(text.as_bytes())).into_owned()
}

/// Why stdout did not take everything that was written, if so.
pub(super) fn lost() -> Option<&'static str> {
    LOST.get().map(String::as_str)
}
