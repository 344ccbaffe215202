//! Telling a person who is not watching.

use crate::domain::{Notice, NoticeKind};
use async_trait::async_trait;
use std::sync::Arc;
use std::time::Duration;

/// One way to reach a person: a program, a web address, the desktop.
///
/// *Who calls:* the layer around the orchestrator, for each notice, and `reflexion notify test`. *Promise:* a notice is
/// sent at most once, and never twice at the same time; it may be lost. The caller sets the time limit, and dropping the
/// returned future ends whatever was begun.
#[cfg_attr(feature = "testing", mockall::automock)]
#[async_trait]
pub trait Notifier: Send + Sync {
    /// Which one it is, in words that give no secret away: `webhook hooks.example.org`.
    fn name(&self) -> String;

    /// What can be said without sending anything, such as where its program is.
    ///
    /// # Errors
    /// [`NotifyError`] if nothing could be sent as things stand.
    fn check(&self) -> Result<String, NotifyError>;

    /// Sends one notice.
    ///
    /// # Errors
    /// [`NotifyError`] if it was not taken.
    async fn send(&self, notice: &Notice) -> Result<(), NotifyError>;
}

/// Everybody who is told; nobody where nothing is configured.
#[cfg_attr(feature = "testing", mockall::automock)]
pub trait Notifiers: Send + Sync {
    /// Them, in the order of the settings.
    fn all(&self) -> Vec<Recipient>;
}

/// Somebody who is told, and of what.
#[derive(Clone)]
pub struct Recipient {
    /// How they are reached.
    pub notifier: Arc<dyn Notifier>,
    /// What they want to hear of.
    pub on: Vec<NoticeKind>,
}

/// A notice was not sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotifyError {
    /// A variable that holds a part of the settings is missing.
    #[error("the environment variable {0} is not set")]
    Unset(String),
    /// As things are set up, nothing can be sent.
    #[error("{0}")]
    Unavailable(String),
    /// It was tried.
    #[error("{0}")]
    Failed(String),
    /// It took too long.
    #[error("no answer within {} s", .0.as_secs())]
    Timeout(Duration),
}
