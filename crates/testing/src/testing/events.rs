//! A sink that keeps what it is told.

use crate::domain::Event;
use crate::services::EventSink;
use std::sync::{Mutex, PoisonError};

/// Keeps every event.
#[derive(Debug, Default)]
pub struct CollectedEvents(Mutex<Vec<Event>>);

impl CollectedEvents {
    /// The events so far, in order.
    #[must_use]
    pub fn all(&self) -> Vec<Event> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl EventSink for CollectedEvents {
    fn publish(&self, event: Event) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(event);
    }
}
