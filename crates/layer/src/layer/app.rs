//! What was built, and its orderly end.

use super::built::{Built, ReleaseFailure};
use super::service::{Service, Svc};
use std::fmt;
use std::ops::Deref;

/// A built root with everything it needs; methods of the root are called on the app directly.
///
/// End it with [`shutdown`](App::shutdown). An app that is dropped instead cannot run its
/// asynchronous finalizers and logs a warning that names their layers.
#[must_use = "dropping an app at once runs no finalizers: use it, then call `shutdown`"]
pub struct App<R> {
    root: R,
    built: Built,
}

/// Finalizers that failed or panicked; all others ran nevertheless.
#[derive(Debug, thiserror::Error)]
#[error("failed to release {}", failures.iter().map(ReleaseFailure::to_string).collect::<Vec<_>>().join("; "))]
pub struct ShutdownError {
    /// What failed, in the order of release; never empty.
    pub failures: Vec<ReleaseFailure>,
}

impl<R> App<R> {
    pub(super) fn new(root: R, built: Built) -> Self {
        App { root, built }
    }

    /// Another service, if it was built: the root or something it needs, directly or not.
    ///
    /// A handle that outlives [`shutdown`](App::shutdown) keeps its service alive, although the
    /// service's finalizers have run.
    pub fn get<S: Service + ?Sized>(&self) -> Option<Svc<S>> {
        self.built.service::<S>()
    }

    /// Releases everything in reverse order: whoever needs a service ends before the service.
    ///
    /// A layer's service is let go of first, then its finalizers run, last in, first out.
    ///
    /// # Errors
    ///
    /// [`ShutdownError`] lists every finalizer that failed or panicked; the others have run.
    pub async fn shutdown(self) -> Result<(), ShutdownError> {
        let App { root, mut built } = self;
        drop(root);
        let failures = built.release().await;
        if failures.is_empty() { Ok(()) } else { Err(ShutdownError { failures }) }
    }
}

impl<R> Deref for App<R> {
    type Target = R;

    fn deref(&self) -> &R {
        &self.root
    }
}

impl<R> fmt::Debug for App<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("App").field(&self.built).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layer::fixture::{Events, Log, Reflection, Storage, noting, text};
    use crate::layer::{BoxError, Layers, Scope};
    use std::sync::Arc;

    #[tokio::test]
    async fn shutdown_releases_in_reverse_order() {
        let events = Events::default();
        let app = noting(&events).build::<Svc<dyn Reflection>>().await.unwrap();
        events.take();
        app.shutdown().await.unwrap();
        let released = ["release reflection", "release generator", "release storage", "release config"];
        assert_eq!(events.take(), released);
    }

    /// One layer, `storage`, that registers its finalizers like this.
    fn storage(register: impl Fn(Scope) + Clone + Send + Sync + 'static) -> Layers {
        crate::layers![].with_layer("storage", move |scope: Scope| {
            register(scope);
            std::future::ready(Ok::<Svc<dyn Storage>, BoxError>(text("storage")))
        })
    }

    #[tokio::test]
    async fn within_a_layer_the_last_finalizer_runs_first() {
        let events = Events::default();
        let noted = events.clone();
        let layers = storage(move |scope| {
            for number in 1..=3 {
                let noted = noted.clone();
                scope.on_release(move || async move { noted.note(format!("finalizer {number}")) });
            }
        });
        layers.build::<Svc<dyn Storage>>().await.unwrap().shutdown().await.unwrap();
        assert_eq!(events.take(), ["finalizer 3", "finalizer 2", "finalizer 1"]);
    }

    #[tokio::test]
    async fn failing_finalizers_are_reported_and_do_not_stop_the_others() {
        let events = Events::default();
        let noted = events.clone();
        let layers = storage(move |scope| {
            let noted = noted.clone();
            scope.on_release(|| async move { noted.note("unlocked") });
            scope.on_release(|| async { Err("disk full") });
            scope.on_release(|| -> std::future::Ready<()> { panic!("no luck") });
        });
        let app = layers.build::<Svc<dyn Storage>>().await.unwrap();
        let error = app.shutdown().await.unwrap_err();
        assert_eq!(
            error.to_string(),
            "failed to release layer `storage`: panicked: no luck; layer `storage`: disk full"
        );
        assert_eq!(events.take(), ["unlocked"]);
    }

    #[tokio::test]
    async fn a_service_is_let_go_of_before_its_finalizers_run() {
        let alive = Arc::new(());
        let handed_out = Arc::downgrade(&alive);
        struct Holds(#[allow(dead_code)] Arc<()>); // kept for its reference count
        impl Storage for Holds {
            fn text(&self) -> String {
                String::new()
            }
        }
        let held = std::sync::Mutex::new(Some(alive));
        let held = Arc::new(held);
        let layers = crate::layers![].with_layer("storage", move |scope: Scope| {
            let held = held.lock().unwrap().take().unwrap();
            let handed_out = handed_out.clone();
            scope.on_release(move || async move { handed_out.upgrade().map_or(Ok(()), |_| Err("still held")) });
            std::future::ready(Ok::<_, BoxError>(Svc::<dyn Storage>::new(Holds(held))))
        });
        layers.build::<Svc<dyn Storage>>().await.unwrap().shutdown().await.unwrap();
    }

    /// The warnings of what is done.
    fn warnings(of: impl AsyncFnOnce()) -> Vec<String> {
        let lines = Events::default();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        tracing::subscriber::with_default(Log(lines.clone()), || runtime.block_on(of()));
        lines.take()
    }

    #[test]
    fn an_app_dropped_without_shutdown_warns_and_names_the_layers() {
        let lines = warnings(async || {
            drop(noting(&Events::default()).build::<Svc<dyn Storage>>().await.unwrap());
        });
        let expected = "message=dropped without shutdown: the finalizers of these layers did not run \
                        layers=\"storage, config\"";
        assert_eq!(lines, [expected]);
    }

    #[test]
    fn nothing_to_release_is_nothing_to_warn_of() {
        let lines = warnings(async || {
            drop(storage(|_| ()).build::<Svc<dyn Storage>>().await.unwrap());
            let app = noting(&Events::default()).build::<Svc<dyn Storage>>().await.unwrap();
            app.shutdown().await.unwrap();
        });
        assert_eq!(lines, [""; 0]);
    }

    #[test]
    fn a_finalizer_registered_too_late_warns() {
        let lines = warnings(async || {
            let late = Arc::new(std::sync::Mutex::new(None));
            let kept = Arc::clone(&late);
            let layers = storage(move |scope| *kept.lock().unwrap() = Some(scope));
            layers.build::<Svc<dyn Storage>>().await.unwrap().shutdown().await.unwrap();
            let scope = late.lock().unwrap().take().unwrap();
            scope.on_release(|| async {});
        });
        let expected = "message=finalizer registered after its layer was released; it never runs \
                        layer=\"storage\"";
        assert_eq!(lines, [expected]);
    }

    #[test]
    fn a_shutdown_that_is_given_up_warns_of_the_finalizer_it_was_in() {
        use futures_util::FutureExt;
        let lines = warnings(async || {
            let layers = storage(|scope| scope.on_release(std::future::pending::<()>));
            let app = layers.build::<Svc<dyn Storage>>().await.unwrap();
            assert!(app.shutdown().now_or_never().is_none());
        });
        let expected = "message=dropped without shutdown: the finalizers of these layers did not run \
                        layers=\"storage\"";
        assert_eq!(lines, [expected]);
    }
}
