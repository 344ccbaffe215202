//! The list `notify` of `project.json`: who hears of a run that nobody watches.

use super::error::ConfigError;
use super::load::Effective;
use crate::domain::policy::{Kept, NotifyWay};
use crate::domain::{NoticeKind, policy};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The server that a topic without another one is on.
const NTFY: &str = "https://ntfy.sh";

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

impl Effective {
    pub(super) fn notify(&self) -> Result<Vec<policy::NotifyTarget>, ConfigError> {
        let targets = self.file.notify.iter().enumerate();
        targets.map(|(i, file)| self.notify_target(&format!("notify[{i}]"), file)).collect()
    }

    fn notify_target(&self, key: &str, file: &NotifyFile) -> Result<policy::NotifyTarget, ConfigError> {
        let kinds = [NoticeFile::NeedsYou, NoticeFile::Budget, NoticeFile::Finished, NoticeFile::Ended];
        let on = file.on.clone().unwrap_or(kinds.to_vec());
        self.require(!on.is_empty(), key, "has an empty `on`; leave it out for all notices")?;
        Ok(policy::NotifyTarget { way: self.notify_way(key, file)?, on: on.into_iter().map(Into::into).collect() })
    }

    fn notify_way(&self, key: &str, file: &NotifyFile) -> Result<NotifyWay, ConfigError> {
        let (webhook, ntfy) = (file.kind == NotifyKind::Webhook, file.kind == NotifyKind::Ntfy);
        let keys = [
            ("argv", !file.argv.is_empty(), file.kind == NotifyKind::Command),
            ("url", file.url.is_some(), webhook || ntfy),
            ("urlEnv", file.url_env.is_some(), webhook),
            ("headersEnv", !file.headers_env.is_empty(), webhook),
            ("topic", file.topic.is_some(), ntfy),
            ("topicEnv", file.topic_env.is_some(), ntfy),
            ("tokenEnv", file.token_env.is_some(), ntfy),
        ];
        self.all_used(key, "a target", keys.into_iter())?;
        let variables = file.headers_env.values().chain(&file.url_env).chain(&file.topic_env).chain(&file.token_env);
        for name in variables {
            let usable = !name.is_empty() && !name.contains(['=', '\0', '$', ' ']);
            self.require(usable, key, &format!("names the environment variable `{name}`, which cannot exist"))?;
        }
        if let Some(url) = &file.url {
            let known = url.starts_with("http://") || url.starts_with("https://");
            self.require(known, key, "has a `url` that does not begin with http:// or https://")?;
        }
        Ok(match file.kind {
            NotifyKind::Desktop => NotifyWay::Desktop,
            NotifyKind::Command => {
                let given = file.argv.first().is_some_and(|program| !program.is_empty());
                self.require(given, key, "is a command and needs `argv`, a list of program and arguments")?;
                NotifyWay::Command { argv: file.argv.clone() }
            }
            NotifyKind::Webhook => {
                let name = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
                for header in file.headers_env.keys() {
                    let usable = !header.is_empty() && header.chars().all(name);
                    self.require(usable, key, &format!("has the header `{header}`, which is no name of one"))?;
                }
                let url = self.kept(key, "url", (&file.url, &file.url_env))?;
                NotifyWay::Webhook { url, headers: file.headers_env.clone() }
            }
            NotifyKind::Ntfy => NotifyWay::Ntfy {
                server: file.url.clone().unwrap_or_else(|| NTFY.to_owned()),
                topic: self.kept(key, "topic", (&file.topic, &file.topic_env))?,
                token: file.token_env.clone(),
            },
        })
    }

    /// A value here or in the environment, but not both.
    fn kept(&self, key: &str, name: &str, given: (&Option<String>, &Option<String>)) -> Result<Kept, ConfigError> {
        match given {
            (Some(value), None) => Ok(Kept::Here(value.clone())),
            (None, Some(variable)) => Ok(Kept::Variable(variable.clone())),
            _ => Err(self.wrong(key, format!("`{key}` needs one of `{name}` and `{name}Env`"))),
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Inputs, load};

    fn read(target: &str) -> Result<policy::NotifyTarget, String> {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("project.json"), format!(r#"{{"notify":[{target}]}}"#)).unwrap();
        let loaded = load(&Inputs { dir: dir.path().to_owned(), ..Inputs::default() }).map_err(|e| e.to_string())?;
        loaded.settings().map(|mut values| values.notify.remove(0)).map_err(|e| e.to_string())
    }

    #[test]
    fn variables_that_hold_secrets_are_known_by_the_keys_that_name_them() {
        let dir = tempfile::tempdir().unwrap();
        let text = r#"{"notify":[{"type":"webhook","urlEnv":"HOOK","headersEnv":{"X-Key":"HEADER"}},
            {"type":"ntfy","topicEnv":"TOPIC","tokenEnv":"LOGIN"}],"agents":{"a":{"type":"command","argv":["x"],"env":{"NAME":"value"}}},
            "reflexion":{"generator":{"type":"llm","provider":"openai","model":"m","keyEnv":"KEY"}}}"#;
        std::fs::write(dir.path().join("project.json"), text).unwrap();
        let loaded = load(&Inputs { dir: dir.path().to_owned(), ..Inputs::default() }).unwrap();
        let names: Vec<String> = loaded.named_variables().into_iter().collect();
        assert_eq!(names, ["HEADER", "HOOK", "KEY", "LOGIN", "TOPIC"]);
    }

    #[test]
    fn a_target_is_what_its_type_needs() {
        let way = |target: &str| read(target).unwrap().way;
        assert_eq!(way(r#"{"type":"desktop"}"#), NotifyWay::Desktop);
        assert_eq!(
            way(r#"{"type":"ntfy","topic":"t","tokenEnv":"T"}"#),
            NotifyWay::Ntfy { server: NTFY.to_owned(), topic: Kept::Here("t".to_owned()), token: Some("T".to_owned()) }
        );
        let NotifyWay::Webhook { url, headers } =
            way(r#"{"type":"webhook","urlEnv":"HOOK","headersEnv":{"X-Key":"K"}}"#)
        else {
            panic!("no webhook")
        };
        assert_eq!((url, headers["X-Key"].as_str()), (Kept::Variable("HOOK".to_owned()), "K"));
    }

    #[test]
    fn everything_is_told_unless_something_is_chosen() {
        use NoticeKind::{Budget, Ended, Finished, NeedsYou};
        assert_eq!(read(r#"{"type":"desktop"}"#).unwrap().on, [NeedsYou, Budget, Finished, Ended]);
        assert_eq!(read(r#"{"type":"desktop","on":["ended"]}"#).unwrap().on, [Ended]);
    }

    #[test]
    fn what_does_not_fit_is_said() {
        let check = |target: &str, expected: &str| {
            let said = read(target).unwrap_err();
            assert!(said.contains(expected), "{target}: {said}");
        };
        check(r#"{"type":"pigeon"}"#, "unknown value `pigeon`");
        check(r#"{"type":"desktop","on":["night"]}"#, "unknown value `night`");
        check(r#"{"type":"desktop","on":[]}"#, "`notify[0]` has an empty `on`");
        check(r#"{"type":"desktop","url":"http://h"}"#, "has `url`, which a target of this `type` does not use");
        check(r#"{"type":"command"}"#, "needs `argv`");
        check(r#"{"type":"command","argv":[""]}"#, "needs `argv`");
        check(r#"{"type":"webhook"}"#, "needs one of `url` and `urlEnv`");
        check(r#"{"type":"webhook","url":"http://h","urlEnv":"H"}"#, "needs one of `url` and `urlEnv`");
        check(r#"{"type":"webhook","url":"hooks.example.org"}"#, "does not begin with http:// or https://");
        check(r#"{"type":"webhook","url":"http://h","headersEnv":{"X:\r\nY":"K"}}"#, "which is no name of one");
        check(r#"{"type":"webhook","url":"http://h","headersEnv":{"X":"$K"}}"#, "which cannot exist");
        check(r#"{"type":"ntfy"}"#, "needs one of `topic` and `topicEnv`");
        check(r#"{"type":"ntfy","topic":"t","token":"secret"}"#, "did you mean `tokenEnv`");
    }
}
