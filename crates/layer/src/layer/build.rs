//! Building: each needed layer once, as soon as what it needs is there.

use super::BoxError;
use super::app::App;
use super::built::Built;
use super::caught::catching;
use super::list::Layers;
use super::plan::{GraphError, Plan, needed_by_text};
use super::provider::{Inputs, Provision, Root};
use futures_util::FutureExt;
use futures_util::stream::{FuturesUnordered, StreamExt};

/// A list of layers could not be built; nothing of it is left standing.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// The layers do not fit together; none was started.
    #[error(transparent)]
    Graph(#[from] GraphError),
    /// A layer failed or panicked; what had been built was released.
    #[error("layer `{layer}` failed to build: {} ({})", chain(cause), needed_by_text(needed_by, ", "))]
    Layer {
        /// The layer.
        layer: &'static str,
        /// What it returned, or the text of its panic; part of the message, hence not `source`.
        cause: BoxError,
        /// The layers that need it directly; empty when it is the root.
        needed_by: Vec<&'static str>,
    },
}

/// The error and what caused it, in one line.
fn chain(error: &BoxError) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        text = format!("{text}: {cause}");
        next = cause.source();
    }
    text
}

impl Layers {
    /// Builds the asked-for service, `Svc<dyn Trait>` or a pair of them, and only what it needs.
    ///
    /// Each layer runs once; layers that do not need each other run at the same time, on the task
    /// of the caller. When a layer fails or panics, layers still running are dropped, what was
    /// built is released in reverse order, and the error names the layer, the cause and who needs
    /// it; a finalizer that fails then is logged as a warning. When the future of `build` itself
    /// is dropped, finalizers cannot run: a warning names their layers.
    ///
    /// # Errors
    ///
    /// [`BuildError::Graph`] when the layers do not fit together, which `layers!` rules out for
    /// lists with a `root:` that were not changed; [`BuildError::Layer`] when a layer fails.
    pub async fn build<R: Root + ?Sized>(&self) -> Result<App<R::Provision>, BuildError> {
        if let Some(mistake) = &self.mistake {
            return Err(mistake.clone().into());
        }
        let plan = Plan::of(&self.entries, R::Provision::SERVICES)?;
        let mut built = Built::nothing(plan.steps.iter().map(|step| step.entry.name));
        if let Err((step, cause)) = construct(&plan, &mut built).await {
            for failure in built.release().await {
                tracing::warn!("failed to release {failure}");
            }
            let needing = plan.needing(step).map(|other| plan.steps[other].entry.name);
            return Err(BuildError::Layer { layer: plan.steps[step].entry.name, cause, needed_by: needing.collect() });
        }
        let root = R::Provision::find(&built);
        let root = root.expect("the plan ends only after the roots were built");
        Ok(App::new(root, built))
    }
}

/// Runs the steps, each when those it waits for are done; stops at the first that fails.
async fn construct(plan: &Plan<'_>, built: &mut Built) -> Result<(), (usize, BoxError)> {
    let mut waits_for: Vec<usize> = plan.steps.iter().map(|step| step.waits_for.len()).collect();
    let mut running = FuturesUnordered::new();
    let start = |step: usize, built: &Built| {
        let inputs = Inputs { built, slot: step };
        let construction = (plan.steps[step].entry.construct)(inputs);
        catching(construction).map(move |outcome| (step, outcome))
    };
    for (step, waits_for) in waits_for.iter().enumerate() {
        if *waits_for == 0 {
            running.push(start(step, built));
        }
    }
    while let Some((step, outcome)) = running.next().await {
        let made = outcome.map_err(|cause| (step, cause))?;
        let entry = plan.steps[step].entry;
        built.keep(step, made, &entry.gives);
        tracing::debug!(layer = entry.name, "layer built");
        for next in plan.needing(step) {
            waits_for[next] -= 1;
            if waits_for[next] == 0 {
                running.push(start(next, built));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layer::fixture::{Config, Events, Generator, Journal, Log, Reflection, Storage, noting, text};
    use crate::layer::{Scope, Svc, fixture};
    use std::convert::Infallible;
    use std::sync::Arc;
    use tokio::sync::{Barrier, Notify};

    fn is_send<T: Send>(value: T) -> T {
        value
    }

    #[tokio::test]
    async fn each_layer_is_built_once_and_after_what_it_needs() {
        let events = Events::default();
        let app = is_send(noting(&events).build::<Svc<dyn Reflection>>()).await.unwrap();
        assert_eq!(app.text(), "storage(config) generator(config)");
        let built = ["build config", "build storage", "build generator", "build reflection"];
        assert_eq!(events.take(), built);
        is_send(app.shutdown()).await.unwrap();
    }

    #[tokio::test]
    async fn only_what_the_root_needs_is_built() {
        let events = Events::default();
        let app = noting(&events).build::<Svc<dyn Storage>>().await.unwrap();
        assert_eq!(events.take(), ["build config", "build storage"]);
        assert_eq!(app.get::<dyn Config>().unwrap().text(), "config");
        assert!(app.get::<dyn Generator>().is_none());
        app.shutdown().await.unwrap();
    }

    #[tokio::test]
    async fn a_pair_of_roots_shares_what_both_need() {
        let events = Events::default();
        let roots = noting(&events).build::<(Svc<dyn Generator>, Svc<dyn Storage>)>().await;
        let app = roots.unwrap();
        assert_eq!(app.0.text() + &app.1.text(), "generator(config)storage(config)");
        assert_eq!(events.take(), ["build config", "build generator", "build storage"]);
        app.shutdown().await.unwrap();
    }

    #[tokio::test]
    async fn a_layer_may_provide_two_services() {
        async fn both() -> Result<(Svc<dyn Storage>, Svc<dyn Generator>), Infallible> {
            Ok((text("left"), text("right")))
        }
        let layers = crate::layers![root: dyn Storage, dyn Generator; both];
        let app = layers.build::<Svc<dyn Storage>>().await.unwrap();
        assert_eq!(app.text(), "left");
        assert_eq!(app.get::<dyn Generator>().unwrap().text(), "right");
        app.shutdown().await.unwrap();
    }

    #[tokio::test]
    async fn a_layer_may_have_twenty_arguments() {
        type C = Svc<dyn Config>;
        async fn config() -> Result<C, Infallible> {
            Ok(text("c"))
        }
        #[rustfmt::skip]
        #[allow(clippy::too_many_arguments)]
        async fn storage(
            c1: C, c2: C, c3: C, c4: C, c5: C, c6: C, c7: C, c8: C, c9: C, c10: C, c11: C, c12: C, c13: C, c14: C, c15: C,
            c16: C, c17: C, c18: C, c19: C,
            _scope: Scope,
        ) -> Result<Svc<dyn Storage>, Infallible> {
            let all = [c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12, c13, c14, c15, c16, c17, c18, c19];
            Ok(text(all.iter().map(|config| config.text()).collect::<String>()))
        }
        let app = crate::layers![config, storage].build::<Svc<dyn Storage>>().await.unwrap();
        assert_eq!(app.text(), "c".repeat(19));
    }

    /// Two layers that both wait for the other to have been started as well.
    #[test]
    fn independent_layers_are_built_at_the_same_time() {
        let meeting = Arc::new(Barrier::new(2));
        let (first, second) = (Arc::clone(&meeting), meeting);
        let layers = noting(&Events::default())
            .with_layer("first", move || {
                let meeting = Arc::clone(&first);
                async move {
                    meeting.wait().await;
                    Ok::<Svc<dyn Storage>, BoxError>(text("first"))
                }
            })
            .with_layer("second", move || {
                let meeting = Arc::clone(&second);
                async move {
                    meeting.wait().await;
                    Ok::<Svc<dyn Generator>, BoxError>(text("second"))
                }
            });
        // Nothing else is waited for, so one poll must be enough; built in turn, it never ends.
        let app = layers.build::<Svc<dyn Reflection>>().now_or_never();
        let app = app.expect("both layers were started").unwrap();
        assert_eq!(app.text(), "first second");
        app.shutdown().now_or_never().unwrap().unwrap();
    }

    /// `storage` stands first in the plan, but waits for `generator` to be there.
    #[tokio::test]
    async fn the_order_of_release_does_not_depend_on_which_layer_was_faster() {
        let events = Events::default();
        let built = Arc::new(Notify::new());
        let (told, tell) = (Arc::clone(&built), built);
        let layers = noting(&events)
            .with_layer("storage", move |journal: Svc<dyn Journal>, scope: Scope| {
                let told = Arc::clone(&told);
                async move {
                    told.notified().await;
                    journal.note("build storage".into());
                    scope.on_release(|| async move { journal.note("release storage".into()) });
                    Ok::<Svc<dyn Storage>, BoxError>(text("storage"))
                }
            })
            .with_layer("generator", move |journal: Svc<dyn Journal>, scope: Scope| {
                tell.notify_one();
                std::future::ready({
                    journal.note("build generator".into());
                    scope.on_release(|| async move { journal.note("release generator".into()) });
                    Ok::<Svc<dyn Generator>, BoxError>(text("generator"))
                })
            });
        let app = layers.build::<Svc<dyn Reflection>>().await.unwrap();
        assert_eq!(events.take(), ["build generator", "build storage", "build reflection"]);
        app.shutdown().await.unwrap();
        let released = ["release reflection", "release generator", "release storage"];
        assert_eq!(events.take(), released);
    }

    /// What `build` says when `generator` is replaced by a layer that ends like this.
    async fn failure<E: Into<BoxError> + Send + 'static>(
        events: &Events,
        end: impl Fn() -> Result<Svc<dyn Generator>, E> + Clone + Send + Sync + 'static,
    ) -> String {
        let layers = noting(events).with_layer(
            "generator_ollama",
            move |_storage: Svc<dyn Storage>, journal: Svc<dyn Journal>, scope: Scope| {
                let end = end.clone();
                async move {
                    scope.on_release(|| async move { journal.note("release half".into()) });
                    end()
                }
            },
        );
        layers.build::<Svc<dyn Reflection>>().await.unwrap_err().to_string()
    }

    #[tokio::test]
    async fn what_was_built_is_released_when_a_later_layer_fails() {
        #[derive(Debug, thiserror::Error)]
        #[error("cannot reach the model")]
        struct Unreachable(#[source] std::io::Error);

        let events = Events::default();
        let message = failure(&events, || Err(Unreachable(std::io::Error::other("refused")))).await;
        assert_eq!(
            message,
            "layer `generator_ollama` failed to build: cannot reach the model: refused (needed by `reflection`)"
        );
        assert_eq!(
            events.take(),
            ["build config", "build storage", "release half", "release storage", "release config"]
        );
    }

    #[tokio::test]
    async fn a_panicking_layer_fails_like_any_other() {
        let events = Events::default();
        let message = failure::<BoxError>(&events, || panic!("no luck")).await;
        assert_eq!(message, "layer `generator_ollama` failed to build: panicked: no luck (needed by `reflection`)");
        assert_eq!(
            events.take(),
            ["build config", "build storage", "release half", "release storage", "release config"]
        );
    }

    #[tokio::test]
    async fn a_failing_root_says_that_it_was_asked_for() {
        let layers =
            fixture::noting(&Events::default()).with_layer("broken", async || Err::<Svc<dyn Reflection>, _>("no"));
        let error = layers.build::<Svc<dyn Reflection>>().await.unwrap_err();
        assert_eq!(error.to_string(), "layer `broken` failed to build: no (asked of `build`)");
    }

    #[test]
    fn a_build_that_is_given_up_warns_and_names_the_layers() {
        let warnings = Events::default();
        let layers = noting(&Events::default())
            .with_layer("stuck", async || std::future::pending::<Result<Svc<dyn Generator>, BoxError>>().await);
        tracing::subscriber::with_default(Log(warnings.clone()), || {
            assert!(layers.build::<Svc<dyn Reflection>>().now_or_never().is_none());
        });
        assert_eq!(
            warnings.take(),
            ["message=dropped without shutdown: the finalizers of these layers did not run \
              layers=\"storage, config\""]
        );
    }
}
