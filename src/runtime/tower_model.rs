//! Models through tower layers and back: [`layer_models`].

use crate::domain::policy;
use crate::layer::Svc;
use crate::services::{Completion, Model, ModelError, ModelRequest, ModelService, Models};
use async_trait::async_trait;
use std::sync::{Arc, Mutex, PoisonError};
use tower::util::BoxCloneSyncService;
use tower::{BoxError, Layer, Service, ServiceExt};

/// Puts a tower layer of your own around every model, outside of the configured limits.
///
/// Equal settings are one model with one layered service, which all its callers share through clones. Made for
/// [`Layers::wrap`](crate::layer::Layers::wrap):
///
/// ```no_run
/// use reflexion::runtime;
/// use reflexion::services::Models;
/// use tower::limit::GlobalConcurrencyLimitLayer;
///
/// // One question at a time, whichever model: they share one graphics card.
/// let one = GlobalConcurrencyLimitLayer::new(1);
/// let layers = runtime::live().wrap::<dyn Models>(move |models| runtime::layer_models(models, one.clone()));
/// ```
///
/// An error of the layer's own (overloaded, elapsed) is [`ModelError::Transient`].
pub fn layer_models<L>(models: Svc<dyn Models>, layer: L) -> Svc<dyn Models>
where
    L: Layer<ModelService> + Send + Sync + 'static,
    L::Service: Service<ModelRequest, Response = Completion, Error = BoxError> + Clone + Send + Sync + 'static,
    <L::Service as Service<ModelRequest>>::Future: Send + 'static,
{
    Svc::new(LayeredModels { models, layer, made: Mutex::default() })
}

struct LayeredModels<L> {
    models: Svc<dyn Models>,
    layer: L,
    made: Mutex<Vec<(policy::Model, Arc<dyn Model>)>>,
}

#[async_trait]
impl<L> Models for LayeredModels<L>
where
    L: Layer<ModelService> + Send + Sync,
    L::Service: Service<ModelRequest, Response = Completion, Error = BoxError> + Clone + Send + Sync + 'static,
    <L::Service as Service<ModelRequest>>::Future: Send + 'static,
{
    fn open(&self, settings: &policy::Model) -> Result<Arc<dyn Model>, ModelError> {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, model)) = made.iter().find(|(known, _)| known == settings) {
            return Ok(Arc::clone(model));
        }
        let service = self.layer.layer(ModelService(self.models.open(settings)?));
        let model: Arc<dyn Model> = Arc::new(TowerModel::new(service));
        made.push((settings.clone(), Arc::clone(&model)));
        Ok(model)
    }

    async fn offered(&self, settings: &policy::Model) -> Result<Vec<String>, ModelError> {
        self.models.offered(settings).await
    }
}

/// A tower service as a model.
pub(super) struct TowerModel {
    service: BoxCloneSyncService<ModelRequest, Completion, BoxError>,
}

impl TowerModel {
    pub fn new<S>(service: S) -> Self
    where
        S: Service<ModelRequest, Response = Completion, Error = BoxError> + Clone + Send + Sync + 'static,
        S::Future: Send + 'static,
    {
        Self { service: BoxCloneSyncService::new(service) }
    }
}

#[async_trait]
impl Model for TowerModel {
    async fn complete(&self, request: ModelRequest) -> Result<Completion, ModelError> {
        self.service.clone().oneshot(request).await.map_err(|error| match error.downcast::<ModelError>() {
            Ok(error) => *error,
            Err(other) => ModelError::Transient(other.to_string()),
        })
    }
}
