//! Models on tape.

use super::Cassette;
use super::agents::written;
use super::normalise::{Secrets, retold};
use super::request::ModelCall;
use super::wire::{Answer, Record};
use crate::domain::policy;
use crate::layer::Svc;
use crate::services::{Completion, Model, ModelError, ModelRequest, Models};
use async_trait::async_trait;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Opens models: live ones while recording.
pub(super) struct TapedModels {
    pub cassette: Cassette,
    pub live: Option<Svc<dyn Models>>,
}

#[async_trait]
impl Models for TapedModels {
    fn open(&self, settings: &policy::Model) -> Result<Arc<dyn Model>, ModelError> {
        let provider = match settings.provider {
            policy::Provider::Anthropic => "anthropic",
            policy::Provider::OpenAi => "openai",
            policy::Provider::Gemini => "gemini",
        };
        let live = self.live.as_ref().map(|live| live.open(settings)).transpose()?;
        Ok(taped_model(&self.cassette, &format!("{provider}/{}", settings.name), live))
    }

    /// Not known while recording either, so that a replay asks the same model.
    async fn offered(&self, _: &policy::Model) -> Result<Vec<String>, ModelError> {
        Err(ModelError::Unavailable("a cassette keeps no list of models".to_owned()))
    }
}

/// One model under its name: a live one to record, or the recorded one.
pub(super) fn taped_model(cassette: &Cassette, name: &str, live: Option<Arc<dyn Model>>) -> Arc<dyn Model> {
    Arc::new(TapedModel { cassette: cassette.clone(), name: name.to_owned(), live })
}

struct TapedModel {
    cassette: Cassette,
    name: String,
    live: Option<Arc<dyn Model>>,
}

#[async_trait]
impl Model for TapedModel {
    async fn complete(&self, request: ModelRequest) -> Result<Completion, ModelError> {
        let Cassette { tape, normaliser, .. } = &self.cassette;
        let call = ModelCall::new(&self.name, &request, normaliser);
        if let Some(live) = &self.live {
            let result = live.complete(request).await;
            let answer = match &result {
                Ok(completion) => Answer::Completion(completion.clone()),
                Err(error) => Answer::Error(error.clone()),
            };
            let secrets = Secrets::of(&BTreeMap::new());
            let answer = retold(&answer, &|text: &str| secrets.hide(text));
            written(tape.write(&Record::Question { request: call, answer }));
            return result;
        }
        match tape.play(&call.name(), &call.text(normaliser), normaliser) {
            Record::Question { answer: Answer::Completion(completion), .. } => Ok(completion),
            Record::Question { answer: Answer::Error(error), .. } => Err(error),
            Record::Agent { .. } | Record::AgentRun { .. } => {
                unreachable!("the text of a question begins with its model")
            }
        }
    }
}
