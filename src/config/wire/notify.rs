//! The list `notify`: who hears of a run that nobody watches.

use crate::domain::NoticeKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Somebody who hears of a run that nobody watches. Secrets stand in environment variables that are named here.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NotifyFile {
    /// `command`: any program; it gets the notice as JSON on stdin. `webhook`: the same JSON is posted to an address. `ntfy`:
    /// a topic of an ntfy server. `desktop`: `notify-send`, or `osascript` on macOS.
    #[serde(rename = "type")]
    pub kind: NotifyKind,
    /// Which notices it gets; all if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on: Option<Vec<NoticeFile>>,
    /// For `command`: program and arguments, run without a shell in the project's directory.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub argv: Vec<String>,
    /// For `webhook`: the address. For `ntfy`: the server; `https://ntfy.sh` if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// For `webhook`: the environment variable with the address, in place of `url`: whoever knows many an address can post there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url_env: Option<String>,
    /// For `webhook`: headers, each with the environment variable that holds its value, e.g. `{"Authorization": "HOOK_AUTH"}`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers_env: BTreeMap<String, String>,
    /// For `ntfy`: the topic. Whoever knows it can read along.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topic: Option<String>,
    /// For `ntfy`: the environment variable with the topic, in place of `topic`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topic_env: Option<String>,
    /// For `ntfy`: the environment variable with an access token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_env: Option<String>,
}

/// How somebody is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NotifyKind {
    /// Any program.
    Command,
    /// JSON, posted to an address.
    Webhook,
    /// A topic of an ntfy server.
    Ntfy,
    /// The desktop's own notifications.
    Desktop,
}

/// What a notice is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NoticeFile {
    /// Something does not go on before a person acts.
    NeedsYou,
    /// A budget leaves nothing to work with.
    Budget,
    /// The run is over, and all of it is confirmed.
    Finished,
    /// The run is over, and not all of it is confirmed.
    Ended,
}

impl From<NoticeFile> for NoticeKind {
    fn from(file: NoticeFile) -> Self {
        match file {
            NoticeFile::NeedsYou => Self::NeedsYou,
            NoticeFile::Budget => Self::Budget,
            NoticeFile::Finished => Self::Finished,
            NoticeFile::Ended => Self::Ended,
        }
    }
}
