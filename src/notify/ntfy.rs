//! A topic of an [ntfy](https://ntfy.sh) server.
//!
//! The message is the body; title, priority and tags are headers, as in <https://docs.ntfy.sh/publish/>.

use super::Surroundings;
use super::post::{Post, post, secret_header, words};
use crate::domain::policy::Kept;
use crate::domain::{Notice, NoticeKind};
use crate::services::{Notifier, NotifyError};
use async_trait::async_trait;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue};

/// Somebody who has subscribed to a topic.
pub(super) struct Ntfy {
    pub server: String,
    pub topic: Kept,
    pub token: Option<String>,
    pub surroundings: Surroundings,
}

impl Ntfy {
    fn url(&self) -> Result<String, NotifyError> {
        let topic = self.surroundings.kept(&self.topic)?;
        if !is_topic(&topic) {
            let message = "the topic is not 1 to 64 letters, digits, `_` and `-`".to_owned();
            return Err(NotifyError::Unavailable(message));
        }
        Ok(format!("{}/{topic}", self.server.trim_end_matches('/')))
    }

    fn authorization(&self) -> Result<Option<HeaderValue>, NotifyError> {
        let Some(variable) = &self.token else { return Ok(None) };
        let token = self.surroundings.value(variable)?;
        secret_header(&format!("Bearer {token}"), variable).map(Some)
    }
}

#[async_trait]
impl Notifier for Ntfy {
    fn name(&self) -> String {
        format!("ntfy {}", super::post::host(&self.server).unwrap_or_default())
    }

    fn check(&self) -> Result<String, NotifyError> {
        self.url()?;
        self.authorization()?;
        Ok("its topic is known; only a notice shows whether it is taken".to_owned())
    }

    async fn send(&self, notice: &Notice) -> Result<(), NotifyError> {
        let mut headers = HeaderMap::new();
        let title = format!("{}: {}", notice.project(), notice.title());
        let (priority, tag) = importance(notice.kind());
        headers.insert("Title", words(&header_text(&title))?);
        headers.insert("Priority", HeaderValue::from_static(priority));
        headers.insert("Tags", HeaderValue::from_static(tag));
        if let Some(token) = self.authorization()? {
            headers.insert(AUTHORIZATION, token);
        }
        // A message without words would be shown as `triggered`.
        let text = if notice.text().is_empty() { notice.title() } else { notice.text() };
        post(Post { url: self.url()?, headers, body: text.as_bytes().to_vec() }).await
    }
}

/// What ntfy takes for a topic: `^[-_A-Za-z0-9]{1,64}$`.
fn is_topic(topic: &str) -> bool {
    (1..=64).contains(&topic.len()) && topic.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
}

/// Priority (3 is the usual one) and the tag, which ntfy shows as a picture.
fn importance(kind: NoticeKind) -> (&'static str, &'static str) {
    match kind {
        NoticeKind::NeedsYou => ("4", "raised_hand"),
        NoticeKind::Budget => ("4", "moneybag"),
        NoticeKind::Finished => ("3", "white_check_mark"),
        NoticeKind::Ended => ("3", "crescent_moon"),
        NoticeKind::Test => ("3", "wave"),
    }
}

/// Text for a header: as it is in ASCII, otherwise as an encoded word of RFC 2047, which ntfy reads.
fn header_text(text: &str) -> String {
    if text.chars().all(|c| c == ' ' || c.is_ascii_graphic()) && !text.contains("=?") {
        return text.to_owned();
    }
    let mut word = "=?UTF-8?Q?".to_owned();
    for byte in text.bytes() {
        match byte {
            b' ' => word.push('_'),
            b if b.is_ascii_alphanumeric() => word.push(char::from(b)),
            b => word += &format!("={b:02X}"),
        }
    }
    word + "?="
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_holds_one_line_of_ascii_whatever_the_text_is() {
        let check = |text: &str, expected: &str| {
            let header = header_text(text);
            assert_eq!(header, expected);
            assert!(header.bytes().all(|b| (b' '..=b'~').contains(&b)), "{header}");
        };
        check("3 of 5 confirmed", "3 of 5 confirmed");
        check("Prüfung 5", "=?UTF-8?Q?Pr=C3=BCfung_5?=");
        check("a\r\nX-Evil: 1", "=?UTF-8?Q?a=0D=0AX=2DEvil=3A_1?=");
        check("=?UTF-8?Q?x?=", "=?UTF-8?Q?=3D=3FUTF=2D8=3FQ=3Fx=3F=3D?=");
    }

    #[test]
    fn topics_are_names() {
        for (topic, expected) in [("my-runs_1", true), ("", false), ("a/b", false), ("a?auth=x", false), ("ä", false)]
        {
            assert_eq!(is_topic(topic), expected, "{topic}");
        }
        assert!(!is_topic(&"a".repeat(65)));
    }
}
