//! Telling watchers what happens.

use crate::domain::Event;

/// Takes events in the order in which they happened.
///
/// *Promise:* returns at once and never fails; a sink that cannot keep up drops events rather than hold up a run.
#[cfg_attr(feature = "testing", mockall::automock)]
pub trait EventSink: Send + Sync {
    /// Takes one event.
    fn publish(&self, event: Event);
}
