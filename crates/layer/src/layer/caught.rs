//! Turns a panic in a layer or a finalizer into an error, so that everything else is still released.

use super::BoxError;
use futures_util::FutureExt;
use std::any::Any;
use std::panic::AssertUnwindSafe;

/// A layer or a finalizer panicked; the text is that of the panic.
#[derive(Debug, thiserror::Error)]
#[error("panicked: {0}")]
struct Panicked(String);

/// Runs the future to its end; a panic becomes an error with the panic's text.
///
/// Unwind safety is asserted because nothing the future touched is used afterwards: a panicking
/// layer provides no service, and a finalizer runs once.
pub(super) async fn catching<T>(future: impl Future<Output = Result<T, BoxError>>) -> Result<T, BoxError> {
    match AssertUnwindSafe(future).catch_unwind().await {
        Ok(outcome) => outcome,
        Err(payload) => Err(Panicked(panic_text(payload.as_ref())).into()),
    }
}

/// The text given to `panic!`, which is a `&str` or a `String` unless `panic_any` was used.
///
/// For the payload that `catch_unwind` and the handles of threads and tasks give.
///
/// ```
/// let caught = std::panic::catch_unwind(|| panic!("no luck")).unwrap_err();
/// assert_eq!(reflexion_layer::layer::panic_text(&*caught), "no luck");
/// ```
#[must_use]
pub fn panic_text(payload: &(dyn Any + Send)) -> String {
    if let Some(text) = payload.downcast_ref::<&str>() {
        (*text).to_owned()
    } else if let Some(text) = payload.downcast_ref::<String>() {
        text.clone()
    } else {
        "with a value that is not text".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn check(future: impl Future<Output = Result<u8, BoxError>>, expected: Result<u8, &str>) {
        let outcome = catching(future).await.map_err(|error| error.to_string());
        assert_eq!(outcome, expected.map_err(str::to_owned));
    }

    #[tokio::test]
    async fn a_panic_becomes_an_error_and_the_rest_passes_through() {
        check(async { Ok(1) }, Ok(1)).await;
        check(async { Err("no disk".into()) }, Err("no disk")).await;
        check(async { panic!("no luck") }, Err("panicked: no luck")).await;
        check(async { panic!("no {}", "luck") }, Err("panicked: no luck")).await;
        let other = async { std::panic::panic_any(7_u8) };
        check(other, Err("panicked: with a value that is not text")).await;
    }
}
