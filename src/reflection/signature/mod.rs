//! What a failure looks like: the rules that read tools' output.
//!
//! [`Signatures`] looks at the output with one reader per tool family (`rust`, `python`, `javascript`, `go`,
//! `compilers`, `linters`, `shell`; `suites` has a table of them). A reader recognises its tool by lines of a shape that only this tool prints, never by a bare
//! word. Several may recognise something, because programs quote each other (a test prints a compiler's error, `make`
//! runs a compiler): then the one whose last such line stands *last* is believed, because a runner that goes on after
//! the words it quotes has the last word itself. `make` and the plain shell speak only where nobody else does.
//!
//! Every rule was written against the output of the real tool, which stands in `tests/fixtures/failures/`.

mod compilers;
mod counted;
mod extent;
mod fingerprint;
mod found;
mod go;
mod javascript;
mod javascript_tests;
mod linters;
mod listed;
mod located;
mod mask;
mod place;
mod prove;
mod python;
mod reader;
mod rust;
mod rust_tests;
mod shell;
mod suites;
#[cfg(test)]
mod table;
mod tap;
mod written;

pub use reader::Signatures;
pub(super) use reader::details;
