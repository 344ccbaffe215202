//! `reflexion notify`.

use super::args::{NotifyArgs, NotifyCommand};
use super::exit::UsageError;
use super::output::outln;
use super::{Exit, project, trust};
use crate::layer::Svc;
use crate::runtime;
use crate::services::Notifiers;
use serde_json::json;
use std::path::Path;

pub(super) async fn notify(dir: &Path, args: NotifyArgs) -> anyhow::Result<Exit> {
    let NotifyCommand::Test { json } = args.command;
    let (layers, settings, trust) = project::guarded(dir, Vec::new())?;
    trust::ensure(&trust, &[], |_| false, false).await?;
    let app = layers.build::<Svc<dyn Notifiers>>().await?;
    let sent = runtime::notify_test(&**app, &settings.project().name, &*runtime::system_clock()).await;
    app.shutdown().await?;
    if sent.is_empty() {
        let how = format!(
            r#"nobody is told of anything: `notify` in {} is empty; e.g. "notify": [{{"type":"desktop"}}]"#,
            settings.project().settings
        );
        return Err(UsageError(how).into());
    }
    if json {
        let sent = sent.iter().map(|(to, result)| match result {
            Ok(()) => json!({ "to": to, "ok": true }),
            Err(error) => json!({ "to": to, "ok": false, "error": error.to_string() }),
        });
        project::print_json(&json!({ "sent": sent.collect::<Vec<_>>() }))?;
    } else {
        for (to, result) in &sent {
            let line = match result {
                Ok(()) => format!("✓ {to}: taken"),
                Err(error) => format!("✗ {to}: {error}"),
            };
            outln!("{line}");
        }
    }
    Ok(if sent.iter().all(|(_, result)| result.is_ok()) { Exit::Confirmed } else { Exit::NotConfirmed })
}
