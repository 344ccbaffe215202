//! Asking a model again after a passing fault.

use crate::services::{Completion, ModelError, ModelRequest};
use std::time::Duration;
use tokio::time::Sleep;
use tower::BoxError;
use tower::retry::Policy;
use tower::util::rng::{HasherRng, Rng};

// The figures of Anthropic's client library (anthropic-sdk-python, `_constants.py` and `_calculate_retry_timeout`).

/// The first wait; each next one is twice as long.
const FIRST_WAIT: Duration = Duration::from_millis(500);
/// No wait of our own choice is longer.
const LONGEST_WAIT: Duration = Duration::from_secs(8);
/// A service that asks for a longer wait is not waited for here: its error goes up with the time, and whoever asked
/// decides.
const LONGEST_ASKED_WAIT: Duration = Duration::from_mins(1);
/// So much of a wait is chance, so that callers that failed together do not come back together.
const JITTER: f64 = 0.25;

/// Tries passing faults again, at most so often; the last error then stands, and says how it began.
#[derive(Debug, Clone)]
pub(super) struct PassingFaults {
    most: u32,
    done: u32,
    first: Option<ModelError>,
}

impl PassingFaults {
    /// At most so many tries after the first.
    pub fn at_most(most: u32) -> Self {
        Self { most, done: 0, first: None }
    }

    /// How long to wait before the next try, without chance; none if there is none.
    fn wait(&self, error: &ModelError) -> Option<Duration> {
        if self.done >= self.most || !error.is_passing() {
            return None;
        }
        match error {
            ModelError::RateLimited { retry_after: Some(asked), .. } => {
                (*asked <= LONGEST_ASKED_WAIT).then_some(*asked)
            }
            _ => Some(FIRST_WAIT.saturating_mul(2_u32.saturating_pow(self.done)).min(LONGEST_WAIT)),
        }
    }
}

impl Policy<ModelRequest, Completion, BoxError> for PassingFaults {
    type Future = Sleep;

    fn retry(&mut self, _: &mut ModelRequest, result: &mut Result<Completion, BoxError>) -> Option<Sleep> {
        let error = result.as_ref().err()?.downcast_ref::<ModelError>()?.clone();
        let Some(wait) = self.wait(&error) else {
            if let Some(first) = &self.first {
                *result = Err(after(error, first, self.done + 1).into());
            }
            return None;
        };
        self.done += 1;
        self.first.get_or_insert(error);
        // Longer and never shorter: a wait that was asked for is kept. Each caller draws from a seed of its own; a
        // generator kept here would be cloned with its state and give all of them the same.
        let chance = HasherRng::default().next_f64() * JITTER;
        Some(tokio::time::sleep(wait.mul_f64(1.0 + chance)))
    }

    fn clone_request(&mut self, request: &ModelRequest) -> Option<ModelRequest> {
        Some(request.clone())
    }
}

/// The last error, which decides what follows, with the first in words.
fn after(last: ModelError, first: &ModelError, tries: u32) -> ModelError {
    let tell = |message: String| format!("{message} (asked {tries} times; at first: {first})");
    match last {
        ModelError::RateLimited { retry_after, message } => {
            ModelError::RateLimited { retry_after, message: tell(message) }
        }
        ModelError::Quota(message) => ModelError::Quota(tell(message)),
        ModelError::Auth(message) => ModelError::Auth(tell(message)),
        ModelError::Transient(message) => ModelError::Transient(tell(message)),
        ModelError::Context(message) => ModelError::Context(tell(message)),
        ModelError::Rejected(message) => ModelError::Rejected(tell(message)),
        ModelError::Unavailable(message) => ModelError::Unavailable(tell(message)),
        ModelError::Timeout(limit) => ModelError::Timeout(limit),
    }
}
