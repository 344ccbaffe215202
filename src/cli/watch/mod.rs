//! `reflexion watch`: a run on a screen while it goes on, and afterwards.
//!
//! `command` decides in which form: the [`Screen`] on a terminal (`terminal` opens it and gives it back), lines in a pipe
//! (`lines`), one text or one JSON document. A `Screen` is what is chosen and opened; `keys` changes that, `draw` and
//! `detail` put it into a buffer of cells, `rooms` says who gets how many rows, `ink` how things look. Everything shown comes from
//! [`report::night::watch`](crate::report::night::watch), where words from outside have lost what drives a terminal.

mod command;
mod detail;
mod draw;
mod ink;
mod keys;
mod lines;
mod rooms;
mod screen;
mod terminal;

pub(super) use command::watch;
pub use ink::Ink;
pub use keys::After;
pub use screen::Screen;
