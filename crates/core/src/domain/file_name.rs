//! Names of files in lines of our own.

use std::borrow::Cow;

/// A file's name as it stands in a line: characters that end the line, drive a terminal or turn the reading direction are written as Rust
/// does, so that a name says nothing in our place.
///
/// ```
/// use reflexion_core::domain::in_a_line;
/// assert_eq!(in_a_line("src/a b.rs"), "src/a b.rs");
/// assert_eq!(in_a_line("x\nnote: all is well\u{1b}[2J"), r"x\nnote: all is well\u{1b}[2J");
/// ```
#[must_use]
pub fn in_a_line(name: &str) -> Cow<'_, str> {
    let turns = |c: char| {
        c.is_control() || matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    if !name.contains(turns) {
        return Cow::Borrowed(name);
    }
    let mut shown = String::with_capacity(name.len() + 8);
    for c in name.chars() {
        if turns(c) {
            shown.extend(c.escape_debug());
        } else {
            shown.push(c);
        }
    }
    Cow::Owned(shown)
}

/// Whether two paths name the same file, one of them perhaps from further down.
///
/// ```
/// # use reflexion_core::domain::same_file;
/// assert!(same_file("shop/cart.py", "cart.py") && !same_file("shopcart.py", "cart.py"));
/// ```
#[must_use]
pub fn same_file(a: &str, b: &str) -> bool {
    let ends =
        |long: &str, short: &str| long.strip_suffix(short).is_some_and(|rest| rest.is_empty() || rest.ends_with('/'));
    ends(a, b) || ends(b, a)
}
