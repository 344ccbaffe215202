//! A small graph for the tests of this module: layers that note when they are built and released.
//!
//! `reflection` needs `storage` and `generator`, both need `config`; all need the `journal`.

use super::{BoxError, Layers, Scope, Svc};
use std::convert::Infallible;
use std::fmt;
use std::fmt::Write;
use std::sync::{Arc, Mutex};
use tracing::field::{Field, Visit};
use tracing::span;

pub(super) trait Journal: Send + Sync {
    fn note(&self, event: String);
}
pub(super) trait Config: Send + Sync {
    fn text(&self) -> String;
}
#[mockall::automock]
pub(super) trait Storage: Send + Sync {
    fn text(&self) -> String;
}
pub(super) trait Generator: Send + Sync {
    fn text(&self) -> String;
}
pub(super) trait Reflection: Send + Sync {
    fn text(&self) -> String;
}
pub(super) trait Metrics: Send + Sync {}
crate::service!(Journal, Config, Storage, Generator, Reflection, Metrics);

/// Whatever service is wanted, as the text it was made of.
pub(super) struct Text(pub(super) String);
macro_rules! text_is {
    ($($service:ident)*) => { $(impl $service for Text {
        fn text(&self) -> String {
            self.0.clone()
        }
    })* };
}
text_is!(Config Storage Generator Reflection);

/// A `Text` behind the wanted service.
pub(super) fn text<S>(text: impl Into<String>) -> Svc<S>
where
    S: super::ImplementedBy<Text> + ?Sized,
{
    Svc::new(Text(text.into()))
}

/// What happened, in order.
#[derive(Clone, Default)]
pub(super) struct Events(Arc<Mutex<Vec<String>>>);

impl Events {
    pub(super) fn note(&self, event: impl Into<String>) {
        self.0.lock().unwrap().push(event.into());
    }

    /// The events since the last time.
    pub(super) fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

impl Journal for Events {
    fn note(&self, event: String) {
        Events::note(self, event);
    }
}

/// Notes that a layer is built, and later that it is released.
fn noted(layer: &'static str, journal: Svc<dyn Journal>, scope: &Scope) {
    journal.note(format!("build {layer}"));
    scope.on_release(move || async move { journal.note(format!("release {layer}")) });
}

pub(super) async fn journal() -> Result<Svc<dyn Journal>, Infallible> {
    Ok(Svc::new(Events::default()))
}
pub(super) async fn config(journal: Svc<dyn Journal>, scope: Scope) -> Result<Svc<dyn Config>, Infallible> {
    noted("config", journal, &scope);
    Ok(text("config"))
}
pub(super) async fn storage(
    journal: Svc<dyn Journal>,
    config: Svc<dyn Config>,
    scope: Scope,
) -> Result<Svc<dyn Storage>, BoxError> {
    noted("storage", journal, &scope);
    Ok(text(format!("storage({})", config.text())))
}
pub(super) async fn generator(
    journal: Svc<dyn Journal>,
    config: Svc<dyn Config>,
    scope: Scope,
) -> Result<Svc<dyn Generator>, BoxError> {
    noted("generator", journal, &scope);
    Ok(text(format!("generator({})", config.text())))
}
pub(super) async fn reflection(
    journal: Svc<dyn Journal>,
    storage: Svc<dyn Storage>,
    generator: Svc<dyn Generator>,
    scope: Scope,
) -> Result<Svc<dyn Reflection>, BoxError> {
    noted("reflection", journal, &scope);
    Ok(text(format!("{} {}", storage.text(), generator.text())))
}

/// The graph, noting into these events.
pub(super) fn noting(events: &Events) -> Layers {
    crate::layers![root: dyn Reflection; reflection, storage, generator, config, journal]
        .with(Svc::<dyn Journal>::new(events.clone()))
}

/// A subscriber that collects the logged lines, fields included.
pub(super) struct Log(pub(super) Events);

impl tracing::Subscriber for Log {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        *metadata.level() <= tracing::Level::WARN
    }
    fn event(&self, event: &tracing::Event<'_>) {
        let mut line = Line(String::new());
        event.record(&mut line);
        self.0.note(line.0.trim_end());
    }
    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }
    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}
    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}
    fn enter(&self, _: &span::Id) {}
    fn exit(&self, _: &span::Id) {}
}

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        write!(self.0, "{field}={value:?} ").unwrap();
    }
}
