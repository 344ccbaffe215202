//! Which agents have hooks, and where.
//!
//! Claude Code 2.1 (`hooks` in `.claude/settings.json`: `SessionStart`, `UserPromptSubmit`, `PostToolUse`, `PostToolUseFailure`, `Stop`; seconds), Codex 0.169 (the same shape in
//! `.codex/hooks.json`), Gemini CLI 0.61 (`hooks` in `.gemini/settings.json`: `SessionStart`, `BeforeAgent`, `AfterTool`, `AfterAgent`; milliseconds,
//! comments allowed), OpenCode 1.18 (plugins in `.opencode/plugin/`). Each was fired with that version, but the hooks before a prompt, which are as their documentation says.

use super::edit;
use super::edit::{EditError, Entry};
use super::plugin;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// An agent whose sessions can call hooks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookAgent {
    /// Claude Code.
    Claude,
    /// Codex CLI.
    Codex,
    /// Gemini CLI.
    Gemini,
    /// OpenCode.
    OpenCode,
}

impl HookAgent {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Claude, Self::Codex, Self::Gemini, Self::OpenCode];

    /// Its name on the command line and in records.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::OpenCode => "opencode",
        }
    }
}

impl FromStr for HookAgent {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|agent| agent.as_str() == text);
        found.ok_or_else(|| "is claude, codex, gemini or opencode".to_owned())
    }
}

/// Whose settings are changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    /// Those of one project, in its top directory.
    Project(PathBuf),
    /// Those of the user, for every project.
    User {
        /// The home directory.
        home: PathBuf,
        /// `CLAUDE_CONFIG_DIR`, `CODEX_HOME` or `XDG_CONFIG_HOME`, whichever the agent follows.
        moved: Option<PathBuf>,
    },
}

/// Hooks for one agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installing {
    /// The agent.
    pub agent: HookAgent,
    /// Whose settings.
    pub scope: Scope,
    /// How the program is called: its name, or its path where the name alone would not be found.
    pub program: String,
    /// The stop is also judged (`reflexion hook stop --verify`); OpenCode's plugin cannot send a session back to work.
    pub verify: Verify,
    /// Sessions are given lessons of the project.
    pub learn: Learn,
}

/// Whether a session is given lessons.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Learn {
    /// It is, at its start and after commands that failed.
    On,
    /// It is not.
    Off,
}

/// Whether a stop is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verify {
    /// It is, and the agent may be sent back to work.
    On,
    /// It is only recorded.
    Off,
}

impl HookAgent {
    /// The variable by which the agent's own settings are elsewhere.
    #[must_use]
    pub fn moved_by(self) -> Option<&'static str> {
        match self {
            Self::Claude => Some("CLAUDE_CONFIG_DIR"),
            Self::Codex => Some("CODEX_HOME"),
            Self::Gemini => None,
            Self::OpenCode => Some("XDG_CONFIG_HOME"),
        }
    }
}

impl Installing {
    /// The file that is changed.
    #[must_use]
    pub fn file(&self) -> PathBuf {
        let (dir, file) = match self.agent {
            HookAgent::Claude => (".claude", "settings.json"),
            HookAgent::Codex => (".codex", "hooks.json"),
            HookAgent::Gemini => (".gemini", "settings.json"),
            HookAgent::OpenCode => (".opencode", "plugin/reflexion.js"),
        };
        match (&self.scope, self.agent) {
            (Scope::Project(top), _) => top.join(dir).join(file),
            (Scope::User { moved: Some(config), .. }, HookAgent::OpenCode) => config.join("opencode").join(file),
            (Scope::User { home, .. }, HookAgent::OpenCode) => home.join(".config/opencode").join(file),
            (Scope::User { moved: Some(config), .. }, _) => config.join(file),
            (Scope::User { home, .. }, _) => home.join(dir).join(file),
        }
    }

    /// The file's new text with the hooks; none if it has them already.
    ///
    /// # Errors
    /// [`EditError`] if the file is not what the agent itself would understand; it is not touched then.
    pub fn install(&self, old: Option<&str>) -> Result<Option<String>, EditError> {
        if self.agent == HookAgent::OpenCode {
            return plugin::install(&self.program, self.learn, old);
        }
        let Some(text) = old else { return Ok(Some(edit::fresh(&self.entries()))) };
        let new = edit::install(text, &self.entries())?;
        Ok(Some(new).filter(|new| Some(new.as_str()) != old))
    }

    /// What is left of the file without the hooks.
    ///
    /// # Errors
    /// [`EditError`], as above.
    pub fn uninstall(&self, old: &str) -> Result<Left, EditError> {
        if self.agent == HookAgent::OpenCode {
            return plugin::uninstall(old);
        }
        let new = edit::uninstall(old)?;
        Ok(match new {
            new if new == old => Left::Same,
            // A file that was there before stays, also if it is empty now.
            _ if edit::is_all_ours(old) => Left::Nothing,
            new => Left::Text(new),
        })
    }

    /// Whether the text of the file has a hook of ours that judges.
    #[must_use]
    pub fn has_gate(text: &str) -> bool {
        edit::has_word(text, "--verify")
    }

    /// Whether the text of the file has hooks of ours that give lessons.
    #[must_use]
    pub fn has_lessons(text: &str) -> bool {
        edit::has_word(text, "--learn") || plugin::learns(text)
    }

    fn entries(&self) -> Vec<Entry> {
        entries_of(&shell_word(&self.program), self.agent, self.verify, self.learn)
    }
}

fn entries_of(program: &str, agent: HookAgent, verify: Verify, learn: Learn) -> Vec<Entry> {
    let (stop, milliseconds) = match agent {
        HookAgent::Gemini => ("AfterAgent", 1000),
        _ => ("Stop", 1),
    };
    // Claude Code calls another hook after a command that failed; the others have one for both.
    let (prompt, shell, after_tool): (_, _, &[&str]) = match agent {
        HookAgent::Claude => ("UserPromptSubmit", "Bash", &["PostToolUse", "PostToolUseFailure"]),
        HookAgent::Gemini => ("BeforeAgent", "run_shell_command", &["AfterTool"]),
        HookAgent::Codex | HookAgent::OpenCode => ("UserPromptSubmit", "Bash", &["PostToolUse"]),
    };
    let agent = agent.as_str();
    let entry = |event: &str, what: &str, seconds: u64| Entry {
        event: event.to_owned(),
        matcher: None,
        command: format!("{program} hook {what} --agent {agent}"),
        timeout: seconds * milliseconds,
    };
    let (begin, end, seconds) = match verify {
        // A judge may be a language model.
        Verify::On => ("session-start --verify", "stop --verify", 300),
        Verify::Off => ("session-start", "stop", 30),
    };
    match learn {
        Learn::Off => vec![entry("SessionStart", begin, 30), entry(stop, end, seconds)],
        Learn::On => {
            let after = after_tool
                .iter()
                .map(|event| Entry { matcher: Some(shell.to_owned()), ..entry(event, "after-tool", 30) });
            let start = entry("SessionStart", &format!("{begin} --learn"), 30);
            // A stop that nobody judges teaches nothing.
            let end = if verify == Verify::On { format!("{end} --learn") } else { end.to_owned() };
            [start, entry(prompt, "prompt", 30)].into_iter().chain(after).chain([entry(stop, &end, seconds)]).collect()
        }
    }
}

/// What is left of a settings file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Left {
    /// There was nothing of ours in it.
    Same,
    /// This.
    Text(String),
    /// Nothing: it was made by us, and held nothing else.
    Nothing,
}

/// A word of a shell's command line.
fn shell_word(word: &str) -> String {
    let plain = !word.is_empty() && word.bytes().all(|b| b.is_ascii_alphanumeric() || b"/._-+=:@".contains(&b));
    if plain { word.to_owned() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

/// Whether the command line of an event's hook is a call of ours and nothing else: who added something to it keeps it. A program of
/// another name - a download is called as its platform - is ours if it is called with the very words that are installed for that
/// event.
pub(super) fn is_ours(event: &str, command: &str) -> bool {
    let Some(words) = words(command) else { return false };
    is_as_installed(event, &words) || is_our_call(&words)
}

fn is_as_installed(event: &str, words: &[String]) -> bool {
    let [_, said @ ..] = words else { return false };
    let all = HookAgent::ALL.iter().flat_map(|agent| [Verify::On, Verify::Off].map(|verify| (*agent, verify)));
    let all = all.flat_map(|(agent, verify)| [Learn::On, Learn::Off].map(|learn| (agent, verify, learn)));
    let mut entries = all.flat_map(|(agent, verify, learn)| entries_of("", agent, verify, learn));
    entries.any(|entry| entry.event == event && entry.command.split_whitespace().eq(said.iter().map(String::as_str)))
}

/// A call of the program by its name, at whatever path.
fn is_our_call(words: &[String]) -> bool {
    let mut words = words.iter().map(String::as_str);
    let named = words.next().and_then(|word| Path::new(word).file_name()?.to_str()).is_some_and(is_our_name);
    let called = words.next() == Some("hook")
        && matches!(words.next(), Some("stop" | "session-start" | "prompt" | "after-tool"));
    while let Some(word) = words.next() {
        let known = match word {
            "--verify" | "--learn" => true,
            "--agent" | "--project" => words.next().is_some(),
            _ => false,
        };
        if !known {
            return false;
        }
    }
    named && called
}

/// `reflexion`, with a version or without.
fn is_our_name(name: &str) -> bool {
    let version = |rest: &str| rest.strip_prefix('-').is_some_and(|v| v.starts_with(|c: char| c.is_ascii_digit()));
    name.strip_prefix("reflexion").is_some_and(|rest| rest.is_empty() || version(rest))
}

/// The words of a shell's command line that is one plain call; none if it is more than that.
fn words(command: &str) -> Option<Vec<String>> {
    let (mut words, mut word) = (Vec::new(), None::<String>);
    let mut rest = command.chars();
    while let Some(next) = rest.next() {
        match next {
            ' ' | '\t' => words.extend(word.take()),
            '\'' | '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match rest.next()? {
                        end if end == next => break,
                        '$' | '`' | '\\' if next == '"' => return None,
                        inner => word.push(inner),
                    }
                }
            }
            '\\' => word.get_or_insert_default().push(rest.next()?),
            '&' | '|' | ';' | '<' | '>' | '(' | ')' | '{' | '}' | '$' | '`' | '#' | '*' | '?' | '\n' | '\r' => {
                return None;
            }
            plain => word.get_or_insert_default().push(plain),
        }
    }
    words.extend(word);
    Some(words)
}
