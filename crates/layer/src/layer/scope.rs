//! What must happen when a layer's service is no longer needed.

use super::BoxError;
use futures_util::future::BoxFuture;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// One finalizer, erased.
pub(super) type Release = Box<dyn FnOnce() -> BoxFuture<'static, Result<(), BoxError>> + Send>;

/// Where a layer leaves its finalizers; ask for it as an argument.
///
/// Finalizers run on [`App::shutdown`](super::App::shutdown), or at once when a later layer fails
/// to build: layers in reverse order of need (whoever needs a service is released before the
/// layer that provides it), and within one layer last in, first out. The app lets go of a layer's
/// service before that layer's finalizers run, so that a finalizer can wait for a task which ends
/// when the service is dropped; a finalizer that needs the service itself keeps a clone.
///
/// A build can be given up at any `.await` of a layer (another layer failed): register the
/// finalizer as soon as there is something to release.
///
/// ```
/// # use reflexion_layer::layer::{BoxError, Scope, Svc};
/// # trait Journal: Send + Sync {}
/// # reflexion_layer::service!(Journal);
/// # struct File;
/// # impl Journal for std::sync::Arc<File> {}
/// # impl File { async fn open() -> std::io::Result<File> { Ok(File) } async fn sync(&self) -> std::io::Result<()> { Ok(()) } }
/// async fn journal(scope: Scope) -> Result<Svc<dyn Journal>, BoxError> {
///     let file = std::sync::Arc::new(File::open().await?);
///     let to_sync = file.clone();
///     scope.on_release(|| async move { to_sync.sync().await });
///     Ok(Svc::new(file))
/// }
/// ```
#[derive(Clone)]
pub struct Scope {
    finalizers: Finalizers,
    slot: usize,
}

impl Scope {
    /// Registers an asynchronous finalizer; its future ends in `()` or in a `Result<(), E>`.
    ///
    /// A failing or panicking finalizer does not keep the others from running; `shutdown` reports
    /// it. A finalizer registered after its layer was released never runs, which is logged as a
    /// warning.
    pub fn on_release<F>(&self, finalizer: impl FnOnce() -> F + Send + 'static)
    where
        F: Future<Output: Released> + Send + 'static,
    {
        let release: Release = Box::new(move || Box::pin(async move { finalizer().await.into_result() }));
        self.finalizers.push(self.slot, release);
    }
}

impl fmt::Debug for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Scope of layer `{}`", self.finalizers.name(self.slot))
    }
}

/// What a finalizer may end in: `()`, or a `Result<(), E>` whose error `shutdown` reports.
pub trait Released {
    /// The outcome with its error boxed.
    #[doc(hidden)]
    fn into_result(self) -> Result<(), BoxError>;
}

impl Released for () {
    fn into_result(self) -> Result<(), BoxError> {
        Ok(())
    }
}

impl<E: Into<BoxError>> Released for Result<(), E> {
    fn into_result(self) -> Result<(), BoxError> {
        self.map_err(Into::into)
    }
}

/// The finalizers of all layers of one build, one slot a layer in the order of the plan.
#[derive(Clone)]
pub(super) struct Finalizers {
    slots: Arc<Mutex<Vec<Slot>>>,
}

/// The finalizers of one layer.
struct Slot {
    layer: &'static str,
    releases: Vec<Release>,
    phase: Phase,
}

/// How far the release of one layer has come.
#[derive(Clone, Copy, PartialEq)]
enum Phase {
    InUse,
    Releasing,
    Over,
}

impl Finalizers {
    /// Empty slots for these layers.
    pub(super) fn of(layers: impl Iterator<Item = &'static str>) -> Self {
        let slots = layers.map(|layer| Slot { layer, releases: Vec::new(), phase: Phase::InUse });
        Finalizers { slots: Arc::new(Mutex::new(slots.collect())) }
    }

    /// What the layer of this slot gets to see.
    pub(super) fn scope(&self, slot: usize) -> Scope {
        Scope { finalizers: self.clone(), slot }
    }

    /// How many layers there are.
    pub(super) fn len(&self) -> usize {
        self.lock().len()
    }

    /// The name of the slot's layer.
    pub(super) fn name(&self, slot: usize) -> &'static str {
        self.lock()[slot].layer
    }

    /// Takes the slot's youngest finalizer; at `None` the layer's release is over.
    pub(super) fn take(&self, slot: usize) -> Option<Release> {
        let slot = &mut self.lock()[slot];
        let youngest = slot.releases.pop();
        slot.phase = match youngest {
            Some(_) => Phase::Releasing,
            None => Phase::Over,
        };
        youngest
    }

    /// Gives up on what was not released; names the layers that still had something to release.
    pub(super) fn abandon(&self) -> Vec<&'static str> {
        let mut dropped = Vec::new();
        let mut layers = Vec::new();
        for slot in self.lock().iter_mut().rev() {
            if slot.phase == Phase::Releasing || !slot.releases.is_empty() {
                layers.push(slot.layer);
            }
            dropped.append(&mut slot.releases);
            slot.phase = Phase::Over;
        }
        // Out of the lock: what a finalizer owns may use its scope when it is dropped.
        drop(dropped);
        layers
    }

    fn push(&self, slot: usize, release: Release) {
        let mut slots = self.lock();
        let slot = &mut slots[slot];
        if slot.phase == Phase::Over {
            let layer = slot.layer;
            drop(slots);
            tracing::warn!(layer, "finalizer registered after its layer was released; it never runs");
        } else {
            slot.releases.push(release);
        }
    }

    /// No code of others runs under this lock, so a poisoned one is as good as new.
    fn lock(&self) -> MutexGuard<'_, Vec<Slot>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
