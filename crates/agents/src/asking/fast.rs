//! Which model is asked: the first in order of preference that the provider offers.

use crate::domain::policy;
use crate::services::{Clock, Model, ModelError, Models};
use serde::Deserialize;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::Duration;

/// For so long a provider's list of models is taken for granted. Seed 000 of Reflection-3 has the same.
const KNOWN_FOR: Duration = Duration::from_mins(5);
/// So many names are quoted where none of the wanted ones is offered.
const QUOTED: usize = 8;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    #[serde(rename = "checked")]
    _checked: String,
    #[serde(rename = "source")]
    _source: String,
    #[serde(rename = "note")]
    _note: String,
    fast: Fast,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Fast {
    anthropic: Vec<String>,
    openai: Vec<String>,
    gemini: Vec<String>,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let text = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/config/models.json"));
    // It is part of the program, and a test reads it.
    serde_json::from_str(text).expect("config/models.json can be read")
});

/// Opens the first model in order of preference that the provider offers; the choice holds for five minutes.
///
/// The order is the user's (`verification.judge.models`), else that of `config/models.json`. A dated version of a name
/// counts as the name. Where the provider's list cannot be had, the first in the order is asked.
pub(super) struct FastModel {
    models: Arc<dyn Models>,
    clock: Arc<dyn Clock>,
    wanted: Vec<String>,
    template: policy::Model,
    chosen: Mutex<Option<(Duration, String)>>,
}

/// What [`FastModel`] needs.
pub(super) struct FastModelParams {
    /// Opens it, and knows what there is.
    pub models: Arc<dyn Models>,
    /// Says when a choice is old.
    pub clock: Arc<dyn Clock>,
    /// Names in order of preference; empty: the fast ones of the provider.
    pub wanted: Vec<String>,
    /// How it is asked; the name is filled in.
    pub template: policy::Model,
}

impl FastModel {
    /// Nothing is asked yet.
    #[must_use]
    pub fn new(params: FastModelParams) -> Self {
        let FastModelParams { models, clock, wanted, template } = params;
        let usual = match template.provider {
            policy::Provider::Anthropic => &TABLE.fast.anthropic,
            policy::Provider::OpenAi => &TABLE.fast.openai,
            policy::Provider::Gemini => &TABLE.fast.gemini,
        };
        let wanted = if wanted.is_empty() { usual.clone() } else { wanted };
        Self { models, clock, wanted, template, chosen: Mutex::default() }
    }

    /// The model.
    ///
    /// # Errors
    /// [`ModelError`]: it cannot be opened, or the provider offers none of the wanted ones.
    pub async fn open(&self) -> Result<Arc<dyn Model>, ModelError> {
        let name = self.name().await?;
        self.models.open(&policy::Model { name, ..self.template.clone() })
    }

    pub async fn name(&self) -> Result<String, ModelError> {
        if let [only] = self.wanted.as_slice() {
            return Ok(only.clone());
        }
        let now = self.clock.elapsed();
        let known = self.chosen.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some((since, name)) = known
            && now.saturating_sub(since) < KNOWN_FOR
        {
            return Ok(name);
        }
        let name = match self.models.offered(&self.template).await {
            Ok(offered) if !offered.is_empty() => self.first_of(&offered)?,
            Ok(_) => self.first(),
            Err(error @ (ModelError::Auth(_) | ModelError::Quota(_))) => return Err(error),
            Err(error) => {
                tracing::debug!(%error, "the provider's list of models is not known; the first wanted one is asked");
                self.first()
            }
        };
        *self.chosen.lock().unwrap_or_else(PoisonError::into_inner) = Some((now, name.clone()));
        Ok(name)
    }

    fn first(&self) -> String {
        self.wanted.first().cloned().unwrap_or_default()
    }

    fn first_of(&self, offered: &[String]) -> Result<String, ModelError> {
        let found = self.wanted.iter().find_map(|wanted| {
            offered.iter().find(|name| *name == wanted).or_else(|| offered.iter().find(|name| is_dated(name, wanted)))
        });
        found.cloned().ok_or_else(|| {
            let some = offered.iter().take(QUOTED).cloned().collect::<Vec<_>>().join(", ");
            ModelError::Unavailable(format!(
                "the provider offers none of {}; name one that it offers in `verification.judge.models` ({some}{})",
                self.wanted.join(", "),
                if offered.len() > QUOTED { ", …" } else { "" }
            ))
        })
    }
}

/// `claude-haiku-4-5-20251001` is a dated `claude-haiku-4-5`; `gpt-5-mini-audio` is another model.
fn is_dated(name: &str, wanted: &str) -> bool {
    name.strip_prefix(wanted).and_then(|rest| rest.strip_prefix(['-', '@'])).is_some_and(|date| {
        date == "latest" || (date.len() >= 3 && date.bytes().all(|b| b.is_ascii_digit() || b == b'-'))
    })
}
