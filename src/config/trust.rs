//! What the settings name that needs a person's trust.
//!
//! Found by walking over all of the settings, so that a block of settings that is added later is looked at as well: whatever
//! has `argv` starts a program, whatever has `baseUrl`, `url` or the name of a variable with a key sends something somewhere.

use super::effective::{Effective, Origin};
use super::wire::{AgentKindFile, PermissionsFile, SandboxFile, SandboxKindFile};
use crate::domain::{CheckCommand, Rights, SHARED_SETTINGS, Task, TrustItem, TrustKind};
use crate::files::read_named;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::path::{Component, Path};

/// Where something is sent, the first of these that is there.
const TO: [&str; 4] = ["baseUrl", "url", "urlEnv", "provider"];
/// Whose presence means that something is sent.
const SENDS: [&str; 8] = ["baseUrl", "url", "urlEnv", "provider", "keyEnv", "tokenEnv", "topic", "topicEnv"];

/// The blocks in which agents are called by their names.
const NAME_AGENTS: [&str; 7] = [
    "agents.default",
    "agents.labels",
    "routing",
    "verification.judge.agent",
    "verification.review",
    "reflexion.generator.agent",
    "decompose",
];

impl Effective {
    /// What the project's files name that starts a program, or lets one do or learn more. What the caller set by the environment
    /// or a flag is not among it.
    #[must_use]
    pub fn trust_items(&self) -> Vec<TrustItem> {
        self.items_by_key().into_iter().map(|(_, item)| item).collect()
    }

    /// Every program beside checks that the settings name, whoever set it, and the files of rules for secrets and about tool chains.
    #[must_use]
    pub(super) fn named(&self) -> Vec<CheckCommand> {
        let mut found = Vec::new();
        if let Ok(Value::Object(file)) = serde_json::to_value(&self.file) {
            file.iter().filter(|(key, _)| *key != "checks").for_each(|(key, value)| commands(key, value, &mut found));
        }
        let files = self.file.redaction.rules.iter().chain(&self.file.toolchains);
        found.extend(files.map(|file| CheckCommand::Argv(vec![file.clone()])));
        found
    }

    /// The same with the key of the settings that says who set it.
    fn items_by_key(&self) -> Vec<(String, TrustItem)> {
        let mut items = Vec::new();
        if let Ok(Value::Object(file)) = serde_json::to_value(&self.file) {
            for (key, value) in &file {
                match key.as_str() {
                    // Theirs is said below: what they start by name, and what programs run in.
                    "sandbox" => {}
                    "setup" => items.extend(command("setup", value).map(|item| (key.clone(), item))),
                    _ => walk(key, key, value, &mut items),
                }
            }
            items = items.into_iter().map(|(key, item)| (key, self.with_rights(item))).collect();
            self.agents_by_name(&file, &mut items);
        }
        items.retain(|(key, _)| self.is_of_files(key));
        let mut around = Vec::new();
        self.around(&mut around);
        items.extend(around.into_iter().map(|item| (item.place.clone(), item)));
        let mut seen = BTreeSet::new();
        items.retain(|(_, item)| seen.insert((item.place.clone(), item.digest())));
        items
    }

    /// The same without what `config/reflexion.json` has a word in.
    #[must_use]
    pub fn trust_items_of_project(&self) -> Vec<TrustItem> {
        let shared = |origin: &Origin| matches!(origin, Origin::File(file) if file == SHARED_SETTINGS);
        let own = self.items_by_key().into_iter().filter(|(key, _)| !self.origins(key).any(shared));
        own.map(|(_, item)| item).collect()
    }

    /// The same of a task: its own checks, and the agent that it names.
    #[must_use]
    pub fn trust_items_of(&self, task: &Task) -> Vec<TrustItem> {
        let agent = task.agent.as_deref().and_then(|name| self.built_in(name));
        let agent = agent.map(|program| TrustItem::program(format!("task {}, agent", task.id), &[program.to_owned()]));
        TrustItem::of_task(task).into_iter().chain(agent).collect()
    }

    /// Agents without a program of their own: the one on PATH is started, with what is added to its words.
    fn agents_by_name(&self, file: &Map<String, Value>, items: &mut Vec<(String, TrustItem)>) {
        for block in NAME_AGENTS {
            let value = block.split('.').try_fold(None, |at: Option<&Value>, key| {
                Some(Some(at.map_or_else(|| file.get(key), |at| at.get(key))?))
            });
            let mut words = Vec::new();
            value.flatten().into_iter().for_each(|value| texts(value, &mut words));
            let programs = words.into_iter().filter_map(|name| self.built_in(name));
            items.extend(programs.map(|program| (block.to_owned(), TrustItem::program(block, &[program.to_owned()]))));
        }
        for (name, agent) in self.file.agents.named.iter().filter(|(_, agent)| agent.argv.is_empty()) {
            let Some(program) = agent.kind.map_or_else(|| built_in(name), program_of) else { continue };
            let words: Vec<String> =
                std::iter::once(program.to_owned()).chain(agent.extra_args.iter().cloned()).collect();
            let key = format!("agents.{name}");
            items.push((key.clone(), self.with_rights(TrustItem::program(key, &words))));
        }
    }

    /// A program by what its place gives it. Agents, checks and `setup` are in the sandbox; whoever judges, writes lessons or sends notices is not.
    fn with_rights(&self, item: TrustItem) -> TrustItem {
        if !matches!(item.kind, TrustKind::Program | TrustKind::Shell) {
            return item;
        }
        let agent = item.place.strip_prefix("agents.").and_then(|name| self.file.agents.named.get(name));
        let is_held = agent.is_some_and(|agent| agent.permissions == Some(PermissionsFile::Deny));
        let is_inside = ["agents", "checks", "setup"].iter().any(|block| {
            item.place.strip_prefix(block).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        });
        match (is_held, is_inside) {
            (true, _) => item.with(Rights::Held),
            (false, true) => item,
            (false, false) => item.with(Rights::Outside),
        }
    }

    /// The program of an agent that no file says more of than its name.
    fn built_in(&self, name: &str) -> Option<&'static str> {
        built_in(name).filter(|_| !self.file.agents.named.contains_key(name))
    }

    /// What programs may, once there are any.
    fn around(&self, items: &mut Vec<TrustItem>) {
        items.extend(self.tasks_elsewhere());
        items.extend(self.own_redaction());
        items.extend(self.own_toolchains());
        if self.file.allow_push && self.is_of_files("allowPush") {
            items.push(TrustItem::new("allowPush", TrustKind::Push, "push"));
        }
        let by_caller = self.is_set_by_caller("sandbox");
        match &self.file.sandbox {
            _ if by_caller => {}
            SandboxFile::Kind(SandboxKindFile::Landlock) => {}
            // Who takes the sandbox away lets what is trusted do more; and tasks have programs too.
            SandboxFile::Kind(SandboxKindFile::None) => {
                items.push(TrustItem::new("sandbox", TrustKind::Sandbox, "no sandbox"));
            }
            SandboxFile::Landlock(more) => {
                let text = format!("landlock, where they may also write to {}", more.write.join(", "));
                items.push(TrustItem::new("sandbox", TrustKind::Sandbox, text));
            }
            SandboxFile::Command(with) => {
                items.push(TrustItem::program("sandbox", &with.command).with(Rights::Outside));
            }
        }
    }

    /// Tasks in a file outside of the project: `task add` would write to it.
    fn tasks_elsewhere(&self) -> Option<TrustItem> {
        let named = Path::new(&self.file.tasks);
        if named.is_absolute() || named.components().any(|part| part == Component::ParentDir) {
            let item = || TrustItem::new("tasks", TrustKind::Tasks, self.file.tasks.as_str());
            return self.is_of_files("tasks").then(item);
        }
        // A link is the repository's, whoever chose the name, and only where it leads now is trusted. Of a file that is not there yet, its
        // directory may be one.
        let whole = self.dir.join(named);
        let real = whole.ancestors().find_map(|path| path.canonicalize().ok())?;
        let is_within = self.dir.canonicalize().is_ok_and(|dir| real.starts_with(dir));
        let text = || format!("{} (a link to {})", self.file.tasks, real.display());
        (!is_within).then(|| TrustItem::new("tasks", TrustKind::Tasks, text()))
    }

    /// A file of rules may also say what is no secret, so what counts is what is in it.
    fn own_redaction(&self) -> Option<TrustItem> {
        let named = self.file.redaction.rules.as_ref().filter(|_| self.is_of_files("redaction.rules"))?;
        Some(TrustItem::new("redaction.rules", TrustKind::Redaction, self.with_digest(named)?))
    }

    /// A file about tool chains says what a run of tests proves, so what counts is what is in it.
    fn own_toolchains(&self) -> Vec<TrustItem> {
        let named = self.file.toolchains.iter().filter(|_| self.is_of_files("toolchains"));
        let item = |name: &String| Some(TrustItem::new("toolchains", TrustKind::Toolchain, self.with_digest(name)?));
        named.filter_map(item).collect()
    }

    /// A file's name with what is in it; none: it cannot be read, and then nothing begins.
    fn with_digest(&self, named: &str) -> Option<String> {
        let digest = format!("{:x}", Sha256::digest(read_named(&self.dir.join(named)).ok()?));
        Some(format!("{named} ({})", &digest[..12]))
    }

    /// Whether a file has a word in what stands at a place. What nobody is known to have set is a file's.
    fn is_of_files(&self, place: &str) -> bool {
        let mut origins = self.origins(place).peekable();
        origins.peek().is_none() || origins.any(|origin| matches!(origin, Origin::File(_)))
    }

    fn is_set_by_caller(&self, place: &str) -> bool {
        self.origins(place).any(|origin| matches!(origin, Origin::Environment(_) | Origin::Flag(_)))
    }

    /// Who set the values at a key, below it, and above it.
    fn origins<'a>(&'a self, place: &'a str) -> impl Iterator<Item = &'a Origin> {
        let below = |whole: &str, part: &str| part.strip_prefix(whole).is_some_and(|rest| rest.starts_with('.'));
        let near = move |key: &str| key == place || below(key, place) || below(place, key);
        self.values.iter().filter(move |(key, _)| near(key)).map(|(_, (_, origin))| origin)
    }
}

/// Every command in a value, by the names of the keys that hold one.
fn commands(key: &str, value: &Value, found: &mut Vec<CheckCommand>) {
    match value {
        Value::String(_) | Value::Array(_) if matches!(key, "argv" | "command" | "run" | "setup") => {
            found.extend(serde_json::from_value::<CheckCommand>(value.clone()));
        }
        Value::Array(list) => list.iter().for_each(|inner| commands("", inner, found)),
        Value::Object(map) => map.iter().for_each(|(key, inner)| commands(key, inner, found)),
        _ => {}
    }
}

/// Every text in a value.
fn texts<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
    match value {
        Value::String(text) => found.push(text),
        Value::Array(list) => list.iter().for_each(|inner| texts(inner, found)),
        Value::Object(map) => map.values().for_each(|inner| texts(inner, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The program of an agent that is there without an entry.
fn built_in(name: &str) -> Option<&'static str> {
    AgentKindFile::BUILT_IN.iter().find(|(known, _)| *known == name).and_then(|(_, kind)| program_of(*kind))
}

fn program_of(kind: AgentKindFile) -> Option<&'static str> {
    let known = AgentKindFile::BUILT_IN.iter().find(|(_, known)| *known == kind);
    known.map(|(name, _)| *name).filter(|_| kind != AgentKindFile::Repair)
}

/// What is named at a place. A list is one value of the settings, with one key.
fn walk(place: &str, key: &str, value: &Value, items: &mut Vec<(String, TrustItem)>) {
    match value {
        Value::Array(list) => {
            for (i, inner) in list.iter().enumerate() {
                walk(&format!("{place}[{i}]"), key, inner, items);
            }
        }
        Value::Object(map) => {
            let words = |key: &str| map.get(key).and_then(Value::as_array).into_iter().flatten();
            let argv: Vec<String> =
                words("argv").chain(words("extraArgs")).filter_map(|word| Some(word.as_str()?.to_owned())).collect();
            if map.contains_key("argv") {
                items.push((key.to_owned(), TrustItem::program(place, &argv)));
            }
            items.extend(sends(place, map).map(|item| (key.to_owned(), item)));
            let is_in_list = place != key;
            for (name, inner) in map {
                let place_of_key = format!("{place}.{name}");
                let key_of_key = if is_in_list { key.to_owned() } else { place_of_key.clone() };
                match (name.as_str(), inner) {
                    ("run", _) => items.extend(command(place, inner).map(|item| (key.to_owned(), item))),
                    ("env", Value::Object(variables)) => {
                        for (name, value) in variables {
                            let text = format!("{name}={}", value.as_str().unwrap_or_default());
                            let item = TrustItem::new(format!("{place_of_key}.{name}"), TrustKind::Variable, text);
                            items.push((key_of_key.clone(), item));
                        }
                    }
                    _ => walk(&place_of_key, &key_of_key, inner, items),
                }
            }
        }
        _ => {}
    }
}

fn command(place: &str, value: &Value) -> Option<TrustItem> {
    let command: CheckCommand = serde_json::from_value(value.clone()).ok()?;
    Some(TrustItem::command(place, &command))
}

/// An address and the variables whose values it gets belong together: the same key for another host is something else.
fn sends(place: &str, map: &Map<String, Value>) -> Option<TrustItem> {
    let text = |key: &str| map.get(key).and_then(Value::as_str);
    SENDS.iter().find(|key| text(key).is_some())?;
    let to = TO.iter().find_map(|key| Some((*key, text(key)?)));
    let mut said = match to {
        Some(("urlEnv", name)) => format!("the address in ${name}"),
        Some((_, to)) => to.to_owned(),
        None => text("type").unwrap_or("its usual host").to_owned(),
    };
    if let Some(topic) = text("topic") {
        said.push_str(&format!(", topic {topic}"));
    }
    let keys = ["keyEnv", "tokenEnv", "topicEnv"].into_iter().filter_map(text).map(|name| format!("${name}"));
    let headers = map.get("headersEnv").and_then(Value::as_object).into_iter().flatten();
    let headers = headers.map(|(header, name)| format!("{header}: ${}", name.as_str().unwrap_or_default()));
    let with: Vec<String> = keys.chain(headers).collect();
    if !with.is_empty() {
        said.push_str(&format!(", with {}", with.join(", ")));
    } else if text("provider").is_some() && text("baseUrl").is_none() {
        said.push_str(", with its usual key");
    }
    Some(TrustItem::new(place, TrustKind::Host, said))
}
