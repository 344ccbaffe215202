//! The desktop's own notifications.

use super::Surroundings;
use super::command::run;
use crate::domain::{Notice, NoticeKind};
use crate::services::{Command, Notifier, NotifyError};
use async_trait::async_trait;

/// `notify-send`, or `osascript` on macOS.
pub(super) struct OnDesktop {
    pub surroundings: Surroundings,
}

#[async_trait]
impl Notifier for OnDesktop {
    fn name(&self) -> String {
        "desktop".to_owned()
    }

    fn check(&self) -> Result<String, NotifyError> {
        self.surroundings.find(if cfg!(target_os = "macos") { "osascript" } else { "notify-send" })
    }

    async fn send(&self, notice: &Notice) -> Result<(), NotifyError> {
        let argv = if cfg!(target_os = "macos") { osascript(notice) } else { notify_send(notice) };
        run(&self.surroundings, Command::new(argv, self.surroundings.root.clone())).await
    }
}

/// What needs a person stays on the screen until it is seen. Many desktops read the body as markup, so it has none.
fn notify_send(notice: &Notice) -> Vec<String> {
    let urgency = if notice.kind() == NoticeKind::NeedsYou { "critical" } else { "normal" };
    let body = notice.text().replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let urgency = format!("--urgency={urgency}");
    ["notify-send", "--app-name=reflexion", &urgency, "--", &headline(notice), &body].map(str::to_owned).to_vec()
}

/// The script is fixed, and the texts are its arguments: no text becomes a part of a program. The first argument begins with
/// a word of ours, so it is no option.
fn osascript(notice: &Notice) -> Vec<String> {
    let script = [
        "osascript",
        "-e",
        "on run argv",
        "-e",
        "display notification (item 2 of argv) with title (item 1 of argv)",
        "-e",
        "end run",
    ];
    let texts = [headline(notice), notice.text().to_owned()];
    script.map(str::to_owned).into_iter().chain(texts).collect()
}

fn headline(notice: &Notice) -> String {
    format!("reflexion, {}: {}", notice.project(), notice.title())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Timestamp;

    #[test]
    fn texts_are_arguments_and_nothing_else() {
        let notice = Notice::new(NoticeKind::NeedsYou, "p", Timestamp::UNIX_EPOCH);
        let notice = notice.saying("--help", "<b>$(x)</b> \" & 'y'");
        let argv = notify_send(&notice);
        assert_eq!(
            argv[2..],
            ["--urgency=critical", "--", "reflexion, p: --help", "&lt;b&gt;$(x)&lt;/b&gt; \" &amp; 'y'"]
        );
        let argv = osascript(&notice);
        assert_eq!(argv[6..], ["end run", "reflexion, p: --help", "<b>$(x)</b> \" & 'y'"]);
    }
}
