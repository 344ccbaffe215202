//! What stands so far, while building and after: services, and what must be released.

use super::BoxError;
use super::caught::catching;
use super::provider::Made;
use super::scope::{Finalizers, Scope};
use super::service::{Service, ServiceId, Svc};
use std::any::Any;
use std::collections::HashMap;
use std::fmt;

/// A `Svc<dyn Trait>` without its type.
pub(super) type ErasedService = Box<dyn Any + Send + Sync>;

/// A finalizer that failed or panicked.
#[derive(Debug, thiserror::Error)]
#[error("layer `{layer}`: {cause}")]
pub struct ReleaseFailure {
    /// Whose finalizer.
    pub layer: &'static str,
    /// What it returned, or the text of its panic.
    pub cause: BoxError,
}

/// The services and finalizers of one build; slots are the steps of its plan.
///
/// Dropped before everything was released, it warns: asynchronous finalizers cannot run in `drop`.
pub struct Built {
    services: HashMap<&'static str, Kept>,
    finalizers: Finalizers,
}

/// A service and the slot of the layer that made it.
struct Kept {
    slot: usize,
    service: ErasedService,
}

impl Built {
    /// Nothing yet, with a slot for each of these layers.
    pub(super) fn nothing(layers: impl Iterator<Item = &'static str>) -> Self {
        Built { services: HashMap::new(), finalizers: Finalizers::of(layers) }
    }

    /// The service, if it was built.
    pub(super) fn service<S: Service + ?Sized>(&self) -> Option<Svc<S>> {
        let kept = self.services.get(S::ID.key())?;
        kept.service.downcast_ref::<Svc<S>>().cloned()
    }

    /// What the layer of this slot gets to see.
    pub(super) fn scope(&self, slot: usize) -> Scope {
        self.finalizers.scope(slot)
    }

    /// Keeps those of the made services that this layer is there to provide.
    pub(super) fn keep(&mut self, slot: usize, made: Made, provided: &[ServiceId]) {
        for (id, service) in made {
            if provided.contains(&id) {
                self.services.insert(id.key(), Kept { slot, service });
            }
        }
    }

    /// Releases every layer, the last one first: lets go of its services, then runs its finalizers.
    pub(super) async fn release(&mut self) -> Vec<ReleaseFailure> {
        let mut failures = Vec::new();
        for slot in (0..self.finalizers.len()).rev() {
            self.services.retain(|_, kept| kept.slot != slot);
            while let Some(release) = self.finalizers.take(slot) {
                // The call is inside, too: a finalizer may panic before its first future.
                if let Err(cause) = catching(async move { release().await }).await {
                    let layer = self.finalizers.name(slot);
                    failures.push(ReleaseFailure { layer, cause });
                }
            }
        }
        failures
    }
}

impl Drop for Built {
    fn drop(&mut self) {
        let layers = self.finalizers.abandon();
        if !layers.is_empty() {
            tracing::warn!(
                layers = layers.join(", "),
                "dropped without shutdown: the finalizers of these layers did not run"
            );
        }
    }
}

impl fmt::Debug for Built {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let layers = (0..self.finalizers.len()).map(|slot| self.finalizers.name(slot));
        f.debug_list().entries(layers).finish()
    }
}
