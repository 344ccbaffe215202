//! The list `notify` of `project.json`: who hears of a run that nobody watches.

use super::effective::Effective;
use super::error::ConfigError;
use super::wire::{NoticeFile, NotifyFile, NotifyKind};
use crate::domain::policy;
use crate::domain::policy::{Kept, NotifyWay};

/// The server that a topic without another one is on.
const NTFY: &str = "https://ntfy.sh";

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
#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Inputs, load};
    use crate::domain::NoticeKind;

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
