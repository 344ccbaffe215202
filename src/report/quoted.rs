//! Words from outside inside a message.

use crate::prompt::{plain, shorten};

/// A text from outside as a message may quote it: without control characters, at most so many bytes.
///
/// ```
/// assert_eq!(reflexion::report::quoted("\u{1b}[31mred\u{1b}[0m", 10), "red");
/// ```
#[must_use]
pub fn quoted(text: &str, limit: usize) -> String {
    shorten(&plain(text), limit).into_owned()
}
