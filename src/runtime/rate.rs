//! A rate limit that all clones of a service share.

use futures_util::future::BoxFuture;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::sync::{Mutex, OwnedMutexGuard};
use tokio_util::sync::ReusableBoxFuture;
use tower::limit::RateLimit;
use tower::limit::rate::Rate;
use tower::{Layer, Service};

/// [`tower::limit::RateLimit`] for any number of callers.
///
/// Tower's cannot be cloned, and its usual companion, `Buffer`, runs a task of its own. Here callers take turns at a
/// fair lock instead: who is first in line waits for the window, the others wait in line, and nothing is left behind
/// when one of them gives up. As with tower's, the first calls of a window may come all at once.
#[derive(Debug, Clone, Copy)]
pub(super) struct SharedRateLayer {
    calls: u32,
    per: Duration,
}

impl SharedRateLayer {
    /// So many calls a minute, at least 1.
    pub fn per_minute(calls: u32) -> Self {
        Self { calls: calls.max(1), per: Duration::from_mins(1) }
    }
}

impl<S> Layer<S> for SharedRateLayer {
    type Service = SharedRate<S>;

    fn layer(&self, service: S) -> SharedRate<S> {
        let limited = RateLimit::new(service, Rate::new(self.calls.into(), self.per));
        SharedRate { limited: Arc::new(Mutex::new(limited)), in_line: None, turn: None }
    }
}

/// The service of a [`SharedRateLayer`]; its clones share the rate.
pub(super) struct SharedRate<S> {
    limited: Arc<Mutex<RateLimit<S>>>,
    /// Waits for the lock.
    in_line: Option<ReusableBoxFuture<'static, OwnedMutexGuard<RateLimit<S>>>>,
    /// Holds the lock, from the first in line until the call.
    turn: Option<OwnedMutexGuard<RateLimit<S>>>,
}

impl<S> Clone for SharedRate<S> {
    fn clone(&self) -> Self {
        Self { limited: Arc::clone(&self.limited), in_line: None, turn: None }
    }
}

impl<S, Request> Service<Request> for SharedRate<S>
where
    S: Service<Request> + Send + 'static,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        let turn = if let Some(turn) = self.turn.take() {
            turn
        } else {
            let lock = || -> BoxFuture<'static, _> { Box::pin(Arc::clone(&self.limited).lock_owned()) };
            ready!(self.in_line.get_or_insert_with(|| ReusableBoxFuture::new(lock())).poll(cx))
        };
        self.in_line = None;
        self.turn.insert(turn).poll_ready(cx)
    }

    fn call(&mut self, request: Request) -> S::Future {
        // Tower's contract: `call` comes after `poll_ready` said that it may.
        self.turn.take().expect("poll_ready was not asked before call").call(request)
    }
}
