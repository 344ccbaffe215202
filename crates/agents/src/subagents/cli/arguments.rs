//! The command line of an agent run.

use crate::domain::policy::{AgentOptions, Permissions};
use crate::services::{Conversation, Mode};
use crate::streams::program::Arguments;

/// What a command line depends on.
pub(super) struct ArgumentsFor<'a> {
    pub arguments: &'a Arguments,
    pub options: &'a AgentOptions,
    pub mode: Mode,
    pub conversation: &'a Conversation,
}

impl ArgumentsFor<'_> {
    /// The arguments after the program, or what the agent cannot do.
    pub fn line(&self) -> Result<Vec<String>, &'static str> {
        let (pattern, conversation) = match self.conversation {
            Conversation::New => (Some(&self.arguments.new), ""),
            Conversation::Resume(earlier) => (self.arguments.resume.as_ref(), earlier.agent_session.as_str()),
            Conversation::Fork(earlier) => (self.arguments.fork.as_ref(), earlier.agent_session.as_str()),
        };
        let pattern = pattern.ok_or("it cannot go on with an earlier conversation in this way")?;
        // An id comes from the agent's own output, and must not become an option of its command line.
        if conversation.starts_with('-') {
            return Err("this is no name of a conversation");
        }
        let options = self.options()?;
        let mut line = Vec::new();
        for word in pattern {
            match word.as_str() {
                "{options}" => line.extend(options.iter().cloned()),
                word => line.push(word.replace("{conversation}", conversation)),
            }
        }
        Ok(line)
    }

    fn options(&self) -> Result<Vec<String>, &'static str> {
        let (arguments, options) = (self.arguments, self.options);
        // First, so that what the runtime needs of an option comes last and counts.
        let mut line = options.extra_args.clone();
        let mut add = |pattern: &[String], name: &str, value: &str| {
            line.extend(pattern.iter().map(|word| fill(word, name, value)));
        };
        if let Some(model) = &options.model {
            add(&arguments.model, "{model}", model);
        }
        let rights = match (self.mode, options.permissions) {
            (Mode::ReadOnly, _) => arguments.read_only.as_ref().ok_or("it has no read-only mode")?,
            (Mode::Work, Permissions::Allow) => &arguments.allow,
            (Mode::Work, Permissions::Deny) => arguments
                .deny
                .as_ref()
                .ok_or("it never asks for a permission, so `permissions` cannot be `deny`; leave the key out")?,
        };
        add(rights, "", "");
        if let Some(turns) = options.max_turns {
            add(&arguments.max_turns, "{turns}", &turns.to_string());
        }
        if let Some(cents) = options.max_cost_cents {
            add(&arguments.max_cost, "{usd}", &format!("{}.{:02}", cents / 100, cents % 100));
        }
        if let Some(text) = &options.system_prompt {
            add(&arguments.system_prompt, "{text}", text);
        }
        Ok(line)
    }

    /// The prompt as it goes to stdin: with the system prompt's words before it where there is no option for them.
    pub fn stdin(&self, prompt: &str) -> Vec<u8> {
        match &self.options.system_prompt {
            Some(text) if self.arguments.system_prompt.is_empty() => format!("{text}\n\n{prompt}").into_bytes(),
            _ => prompt.as_bytes().to_vec(),
        }
    }
}

/// Puts a value in its place; `{json}` is the text as a JSON string, which TOML reads too.
fn fill(word: &str, name: &str, value: &str) -> String {
    if word.contains("{json}") {
        word.replace("{json}", &serde_json::Value::from(value).to_string())
    } else if name.is_empty() {
        word.to_owned()
    } else {
        word.replace(name, value)
    }
}
