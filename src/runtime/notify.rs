//! Who hears of a run that nobody watches, on this machine.

use super::programs::find_program;
use crate::domain::{Notice, NoticeKind};
use crate::layer::Svc;
use crate::notify::{Configured, Surroundings, send};
use crate::services::{Clock, CommandRunner, Notifiers, NotifyError, Settings};
use futures_util::future::join_all;
use std::sync::Arc;

/// The recipients that the settings name.
pub(super) async fn notifiers(
    settings: Svc<dyn Settings>,
    runner: Svc<dyn CommandRunner>,
) -> Result<Svc<dyn Notifiers>, NotifyError> {
    let root = settings.project().root.clone();
    let surroundings = Surroundings {
        runner: runner.into_arc(),
        root: root.clone(),
        variable: Arc::new(|name| std::env::var(name).ok()),
        program: Arc::new(move |name| find_program(name, &root, &std::env::var_os("PATH").unwrap_or_default())),
    };
    Ok(Svc::new(Configured::new(settings.notify(), &surroundings)?))
}

/// Sends every recipient a notice that says it is a test, all at the same time and whatever they want to hear of; gives each
/// one's name and what came of it.
pub async fn notify_test(
    notifiers: &dyn Notifiers,
    project: &str,
    clock: &dyn Clock,
) -> Vec<(String, Result<(), NotifyError>)> {
    let text = "this is what a notice looks like; nothing needs to be done";
    let notice = Notice::new(NoticeKind::Test, project, clock.now()).saying("a test", text);
    let notice = &notice;
    let sent = notifiers.all().into_iter().map(|recipient| async move {
        let sent = send(&*recipient.notifier, notice).await;
        (recipient.notifier.name(), sent)
    });
    join_all(sent).await
}
