//! Keeping the machine awake.

use async_trait::async_trait;

/// Keeps the machine from going to sleep while nobody is at it.
///
/// *Who calls:* a night, before it begins, and `doctor`. *Promise:* nothing is held any more when [`Awake`] is dropped or the
/// process dies, however it dies. A machine that cannot be kept awake is no reason not to work.
#[cfg_attr(feature = "testing", mockall::automock)]
#[async_trait]
pub trait KeepAwake: Send + Sync {
    /// Asks the system for it, and waits until it is sure.
    ///
    /// # Errors
    /// [`NotAwake`] if the system refuses, has nothing that could do it, or does not answer within ten seconds.
    async fn hold(&self) -> Result<Awake, NotAwake>;
}

/// The machine does not go to sleep until this is dropped.
pub struct Awake {
    how: String,
    held: Option<Box<dyn Send + Sync>>,
}

impl Awake {
    /// As long as `held` lives; `how` says through what, e.g. `systemd-inhibit`.
    #[must_use]
    pub fn new(how: impl Into<String>, held: Box<dyn Send + Sync>) -> Self {
        Self { how: how.into(), held: Some(held) }
    }

    /// Through what.
    #[must_use]
    pub fn how(&self) -> &str {
        &self.how
    }
}

impl Drop for Awake {
    fn drop(&mut self) {
        drop(self.held.take());
    }
}

/// The machine may go to sleep.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NotAwake(
    /// Why, in words.
    pub String,
);
