//! Writing to stdout and stderr so that a reader who leaves (`| head`), or a full disk, never breaks off work.
//!
//! The standard macros panic there: a run would die in the middle because nobody watches its progress.
//!
//! Whatever a task, a file's name or an agent's answer holds, what is written here is printable: a terminal obeys what it is shown, and a person
//! decides by what they see. No caller has to think of it.

use crate::prompt::{printable, printable_json};
use crate::redaction::Redactor;
use std::borrow::Cow;
use std::fmt::Arguments;
use std::io;
use std::io::Write;
use std::sync::OnceLock;
use tracing_subscriber::field::MakeExt;
use tracing_subscriber::fmt::{FormatFields, format};

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
    keep_lost(write_to_stdout(format!("{}\n", shown(&Redactor::redact_own_variables(line))).as_bytes()));
}

/// The same on stderr.
pub(super) fn errln_whole(line: &str) {
    let _ = io::stderr().lock().write_all(format!("{}\n", shown(&Redactor::redact_own_variables(line))).as_bytes());
}

/// Writes to stdout.
pub(super) fn write_out(text: Arguments<'_>) {
    keep_lost(write_to_stdout(shown(&without_secrets(text)).as_bytes()));
}

fn write_to_stdout(bytes: &[u8]) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(bytes).and_then(|()| stdout.flush())
}

fn keep_lost(written: io::Result<()>) {
    match written {
        // Who closed the pipe has read enough.
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => drop(LOST.set(error.to_string())),
        _ => {}
    }
}

/// Stdout for lines that others write. That they could not be written is theirs to say: it is not [`lost`].
pub(super) struct Stdout;

impl Write for Stdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        write_to_stdout(bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes a line to stderr.
pub(super) fn write_err(text: Arguments<'_>) {
    // One write, so that lines of several tasks do not mix.
    let _ = io::stderr().lock().write_all(format!("{}\n", shown(&without_secrets(text))).as_bytes());
}

/// Stderr for what is logged. Its levels are coloured, so what is logged is made printable before, by [`log_fields`].
pub(super) struct Log;

/// How what is logged is written: as by default, but printable.
pub(super) fn log_fields() -> impl for<'a> FormatFields<'a> + 'static {
    format::debug_fn(|to, field, value| match field.name() {
        "message" => write!(to, "{}", printable(&format!("{value:?}"))),
        // Where a library's line of log comes from.
        name if name.starts_with("log.") => Ok(()),
        name => write!(to, "{name}={}", printable(&format!("{value:?}"))),
    })
    .delimited(" ")
}

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

fn is_document(text: &str) -> bool {
    text.starts_with(['{', '['])
}

fn shown(text: &str) -> Cow<'_, str> {
    if is_document(text) { printable_json(text) } else { printable(text) }
}

fn without_secrets(text: Arguments<'_>) -> String {
    let text = text.to_string();
    if !is_document(&text) {
        return Redactor::of_process().redact_owned(text);
    }
    // A document stays one, whatever stands in its strings.
    String::from_utf8_lossy(&Redactor::of_process().redact_json(text.as_bytes())).into_owned()
}

/// Why stdout did not take everything that was written, if so.
pub(super) fn lost() -> Option<&'static str> {
    LOST.get().map(String::as_str)
}
