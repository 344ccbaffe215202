//! The recipients of the settings.

use super::Surroundings;
use super::command::ByCommand;
use super::desktop::OnDesktop;
#[cfg(feature = "notify")]
use super::ntfy::Ntfy;
#[cfg(feature = "notify")]
use super::webhook::Webhook;
use crate::domain::policy::{NotifyTarget, NotifyWay};
use crate::services::{Notifier, Notifiers, NotifyError, Recipient};
use std::sync::Arc;

/// The recipients of the settings, in their order.
pub struct Configured(Vec<Recipient>);

impl Configured {
    /// Makes them; nothing is looked up or sent yet.
    ///
    /// # Errors
    /// [`NotifyError::Unavailable`] if this program was built without what one of them needs.
    pub fn new(targets: &[NotifyTarget], surroundings: &Surroundings) -> Result<Self, NotifyError> {
        let made = targets.iter().map(|target| {
            Ok(Recipient { notifier: notifier(target.way.clone(), surroundings.clone())?, on: target.on.clone() })
        });
        made.collect::<Result<_, _>>().map(Self)
    }
}

impl Notifiers for Configured {
    fn all(&self) -> Vec<Recipient> {
        self.0.clone()
    }
}

/// Tells nobody.
#[derive(Debug, Clone, Copy, Default)]
pub struct Nobody;

impl Notifiers for Nobody {
    fn all(&self) -> Vec<Recipient> {
        Vec::new()
    }
}

#[cfg_attr(feature = "notify", expect(clippy::unnecessary_wraps, reason = "with every feature nothing is refused"))]
fn notifier(way: NotifyWay, surroundings: Surroundings) -> Result<Arc<dyn Notifier>, NotifyError> {
    Ok(match way {
        NotifyWay::Command { argv } => Arc::new(ByCommand { argv, surroundings }),
        NotifyWay::Desktop => Arc::new(OnDesktop { surroundings }),
        #[cfg(feature = "notify")]
        NotifyWay::Webhook { url, headers } => Arc::new(Webhook { url, headers, surroundings }),
        #[cfg(feature = "notify")]
        NotifyWay::Ntfy { server, topic, token } => Arc::new(Ntfy { server, topic, token, surroundings }),
        #[cfg(not(feature = "notify"))]
        NotifyWay::Webhook { .. } | NotifyWay::Ntfy { .. } => {
            return Err(NotifyError::Unavailable(
                "`notify` names a webhook or ntfy, and this program was built without the feature `notify`; build it with the \
                 default features, or let a command send notices"
                    .to_owned(),
            ));
        }
    })
}
