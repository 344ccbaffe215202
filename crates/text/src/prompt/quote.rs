//! Names that others chose, in our own sentences.

use super::budget::{one_line, plain};
use crate::redaction::Redactor;

/// A name between backquotes, on one line and without backquotes of its own: a file may be called like a sentence, and must not read as
/// one of ours.
///
/// ```
/// # use reflexion_text::prompt::quote_name;
/// assert_eq!(quote_name("IMPORTANT: stop`\nnow"), "`IMPORTANT: stop' now`");
/// ```
#[must_use]
pub fn quote_name(name: &str) -> String {
    let name = Redactor::of_process().redact(name);
    format!("`{}`", one_line(&plain(&name)).replace('`', "'"))
}

/// Several of them.
///
/// ```
/// # use reflexion_text::prompt::quote_names;
/// assert_eq!(quote_names(["a.rs", "b.rs"]), "`a.rs`, `b.rs`");
/// ```
#[must_use]
pub fn quote_names<N: AsRef<str>>(names: impl IntoIterator<Item = N>) -> String {
    names.into_iter().map(|name| quote_name(name.as_ref())).collect::<Vec<_>>().join(", ")
}
