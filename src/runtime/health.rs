//! What `reflexion doctor` says of agents: found, of which version, logged in, without spending a token.

use super::programs::find_program;
use crate::domain::policy::{Agent, AgentKind, Generator, Model, Permissions, Project, Sandbox};
use crate::domain::{CheckCommand, FileGlobs};
use crate::host::{HostWorkTree, hidden_in_sandbox, try_base, try_sandbox};
use crate::services::{Command, CommandEnd, CommandError, CommandRunner, Models, Settings, WorkTree};
use crate::subagents::{AGENTS, Description, describe};
use crate::toolchain;
use crate::verification::commands::runs;
use futures_util::future::join_all;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::net::{TcpStream, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::time::Duration;
use walkdir::WalkDir;

/// A program that has not said its version after so long is not asked any more: agents in JavaScript need seconds on a
/// busy machine.
const ANSWER: Duration = Duration::from_secs(20);
/// A model server on this machine or network answers at once.
const CONNECT: Duration = Duration::from_secs(3);

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Health {
    /// What: an agent, its login, the generator.
    pub what: String,
    /// How it stands.
    pub state: HealthState,
    /// What was seen.
    pub detail: String,
    /// What to do, if something is to be done.
    pub advice: Option<String>,
}

/// How something stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HealthState {
    /// As it should be.
    Good,
    /// It may well work, but nobody can say so from here.
    Unsure,
    /// A run would fail on it.
    Bad,
}

impl Health {
    fn good(what: &str, detail: impl Into<String>) -> Self {
        Self { what: what.to_owned(), state: HealthState::Good, detail: detail.into(), advice: None }
    }

    fn unsure(what: &str, detail: impl Into<String>, advice: impl Into<String>) -> Self {
        let advice = Some(advice.into());
        Self { what: what.to_owned(), state: HealthState::Unsure, detail: detail.into(), advice }
    }

    /// The same, but nobody can say more from here.
    fn unless_bad(self, advice: &str) -> Self {
        match self.state {
            HealthState::Bad => self,
            HealthState::Good | HealthState::Unsure => {
                Self { state: HealthState::Unsure, advice: Some(advice.to_owned()), ..self }
            }
        }
    }

    fn bad(what: &str, detail: impl Into<String>, advice: impl Into<String>) -> Self {
        let advice = Some(advice.into());
        Self { what: what.to_owned(), state: HealthState::Bad, detail: detail.into(), advice }
    }
}

/// What is not tried in a project that nobody trusts.
const NOT_STARTED: &str = "not tried, because this project is not trusted: look at `reflexion trust --show`";

/// Who is asked, and with what.
pub struct HealthParams<'a> {
    /// The settings.
    pub settings: &'a dyn Settings,
    /// The agents that the project uses, by name.
    pub used: &'a [String],
    /// Whether the project is trusted: otherwise nothing that it names is started or connected to.
    pub trusted: bool,
    /// Runs `--version` and the like.
    pub runner: &'a dyn CommandRunner,
    /// Knows whether a model can be asked at all.
    pub models: &'a dyn Models,
}

/// How the agents that a project uses stand, and its generator.
///
/// Programs are asked for their version and, where they have such a command, whether somebody is logged in; none of it
/// reaches a model. A model's server is only connected to.
pub async fn agent_health(params: HealthParams<'_>) -> Vec<Health> {
    let named = &params.settings.agents().named;
    let known = params.used.iter().filter_map(|name| Some((name, named.get(name)?)));
    let params_of_all = &params;
    let checks = known
        .map(|(name, agent)| async move { Doctor { params: params_of_all, env: &agent.env }.agent(name, agent).await });
    let mut found: Vec<Health> = join_all(checks).await.into_iter().flatten().collect();
    let none = BTreeMap::new();
    let doctor = Doctor { params: &params, env: &none };
    match &params.settings.reflexion().generator {
        Generator::Command { argv } => found.push(doctor.program("generator", &argv[0])),
        Generator::Llm { model } => found.push(doctor.model("generator", model).await),
        // An agent that writes reflections is one of those that are used.
        Generator::Heuristic | Generator::Agent { .. } => {}
    }
    found
}

/// Whether a run could begin here, as far as project and repository go.
pub async fn base_health(settings: &dyn Settings) -> Health {
    match try_base(settings.project()).await {
        Ok(base) => Health::good("base", format!("a run would start from {base}")),
        Err(error) => Health::bad("base", error.to_string(), "no run begins before that is fixed"),
    }
}

/// Whether every glob under `protect` has files at the base; nothing where there is none.
#[must_use]
pub fn protect_health(settings: &dyn Settings) -> Option<Health> {
    let globs = &settings.run().protect;
    if globs.is_empty() {
        return None;
    }
    let idle = idle_globs(settings.project(), globs)?;
    if idle.is_empty() {
        return Some(Health::good("protect", "each of its globs has files at the base"));
    }
    let named = idle.iter().map(|glob| format!("`{glob}`")).collect::<Vec<_>>().join(", ");
    let (glob, it) = if idle.len() == 1 { ("the glob", "it protects") } else { ("the globs", "they protect") };
    let detail = format!("{glob} {named} under `protect` matches no file at the base, so {it} nothing that is there");
    Some(Health::unsure(
        "protect",
        detail,
        "globs start at the project's directory; see `protect` in docs/configuration.md",
    ))
}

/// Those of these globs that match no file at the base; nothing where one of them cannot be read, which is an error elsewhere.
#[must_use]
pub fn idle_globs(project: &Project, globs: &[String]) -> Option<Vec<String>> {
    let files = files_at_base(&project.root);
    let idle = FileGlobs::new(globs).ok()?.without_file(&files).into_iter().map(str::to_owned).collect();
    Some(idle)
}

/// The files that a run starts from, given from the project's directory: those of the last commit, or without git all.
fn files_at_base(root: &Path) -> Vec<PathBuf> {
    let tracked = HostWorkTree::around(root).and_then(|tree| {
        let files = tree.changed(None, "HEAD").ok()?;
        let prefix = root.strip_prefix(tree.top()).ok()?.to_owned();
        let files = files.iter().filter_map(|file| Some(file.strip_prefix(&prefix).ok()?.to_owned()));
        Some(files.collect::<Vec<_>>()).filter(|files| !files.is_empty())
    });
    tracked.unwrap_or_else(|| {
        let walk = WalkDir::new(root).into_iter().filter_entry(|entry| entry.file_name() != ".reflection");
        let files = walk.flatten().filter(|entry| !entry.file_type().is_dir());
        files.filter_map(|entry| Some(entry.path().strip_prefix(root).ok()?.to_owned())).collect()
    })
}

/// Whether the project's sandbox works here, and which agents in use it hides; nothing where it has none.
pub async fn sandbox_health(settings: &dyn Settings, used: &[String], trusted: bool) -> Vec<Health> {
    let sandbox = &settings.environment().sandbox;
    if *sandbox == Sandbox::None {
        return Vec::new();
    }
    if !trusted {
        return vec![Health::unsure("sandbox", sandbox.to_string(), NOT_STARTED)];
    }
    let good = format!("{sandbox} keeps programs from writing to your checkout; tried");
    if let Err(error) = try_sandbox(settings.project(), sandbox).await {
        return vec![Health::bad("sandbox", error.to_string(), "no run begins before that works, see docs/sandbox.md")];
    }
    let programs = programs_of(settings, used);
    let hidden = hidden_in_sandbox(settings.project(), sandbox, &programs).await;
    let hidden = hidden.into_iter().map(|program| {
        let hidden = CommandError::Hidden { program };
        Health::bad("sandbox", hidden.to_string(), "no agent of that program can work before that, see docs/sandbox.md")
    });
    std::iter::once(Health::good("sandbox", good)).chain(hidden).collect()
}

/// The programs of these agents that are there outside of a sandbox. One that is named from its workspace may be made there.
fn programs_of(settings: &dyn Settings, used: &[String]) -> Vec<String> {
    let own = |agent: &Agent| match &agent.kind {
        AgentKind::Command { argv } | AgentKind::Acp { argv, .. } => argv.first().cloned(),
        AgentKind::Cli { adapter, argv, .. } => {
            argv.first().cloned().or_else(|| Some(describe(adapter)?.program.clone()))
        }
        AgentKind::Repair | AgentKind::Completion { .. } | AgentKind::Given => None,
    };
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_there = |program: &String| {
        let named_elsewhere = !program.contains('/') || Path::new(program).is_absolute();
        named_elsewhere && find_program(program, &settings.project().root, &path).is_some()
    };
    let mut programs: Vec<String> =
        used.iter().filter_map(|name| own(settings.agents().named.get(name)?)).filter(is_there).collect();
    programs.sort();
    programs.dedup();
    programs
}

/// The coding agents that are installed here, by name, in the order in which they are proposed.
#[must_use]
pub fn installed_agents() -> Vec<&'static str> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let here = |name: &&str| describe(name).is_some_and(|d| find_program(&d.program, Path::new("."), &path).is_some());
    AGENTS.into_iter().filter(here).collect()
}

/// Looks at one agent, in the environment that it would get.
struct Doctor<'a> {
    params: &'a HealthParams<'a>,
    env: &'a BTreeMap<String, String>,
}

impl Doctor<'_> {
    async fn agent(&self, name: &str, agent: &Agent) -> Vec<Health> {
        let what = format!("agent `{name}`");
        match &agent.kind {
            AgentKind::Repair => vec![Health::good(&what, "embedded")],
            AgentKind::Given => vec![Health::good(&what, "brought by the program itself")],
            AgentKind::Command { argv } | AgentKind::Acp { argv, .. } => vec![self.program(&what, &argv[0])],
            AgentKind::Completion { model } => vec![self.model(&what, model).await],
            AgentKind::Cli { adapter, argv, .. } if !self.params.trusted => {
                let own = describe(adapter).map(|description| description.program.clone());
                let program = argv.first().cloned().or(own).unwrap_or_default();
                vec![self.program(&what, &program).unless_bad(NOT_STARTED)]
            }
            AgentKind::Cli { adapter, argv, options } => match describe(adapter) {
                Some(description) => {
                    let allows = options.permissions == Permissions::Allow;
                    self.described(&what, argv, allows, description).await
                }
                None => vec![Health::bad(&what, format!("nothing is known of `{adapter}`"), "name another `type`")],
            },
        }
    }

    fn program(&self, what: &str, program: &str) -> Health {
        if let Some(path) = find_program(program, &self.params.settings.project().root, &self.path()) {
            return Health::good(what, path.display().to_string());
        }
        let file = self.params.settings.project().settings;
        Health::bad(what, format!("`{program}` was not found"), format!("install it, or fix its `argv` in {file}"))
    }

    /// A coding agent's program: its version first, and its login only if it starts.
    async fn described(&self, what: &str, argv: &[String], allows: bool, description: &Description) -> Vec<Health> {
        let own = [description.program.clone()];
        let argv = if argv.is_empty() { &own } else { argv };
        let version = self.version(what, argv, description).await;
        if version.state == HealthState::Bad {
            return vec![version];
        }
        if let Some(refused) = self.refused(what, allows, description) {
            return vec![refused];
        }
        let login = self.login(&format!("{what}, login"), argv, description).await;
        vec![version, login]
    }

    async fn version(&self, what: &str, argv: &[String], description: &Description) -> Health {
        let program = &argv[0];
        let said = match self.ask(argv, &description.version.args).await {
            Ok(said) => said,
            Err(CommandError::NotFound { .. }) => {
                let detail = format!("{}: `{program}` was not found", description.title);
                return Health::bad(what, detail, format!("install it: {}", description.install));
            }
            Err(error) => return Health::bad(what, error.to_string(), format!("install it: {}", description.install)),
        };
        let path = find_program(program, &self.params.settings.project().root, &self.path());
        let place = path.map(|path| format!(", {}", path.display())).unwrap_or_default();
        let Some(found) = said.good.then(|| version_in(&said.text)).flatten() else {
            let detail = format!("{} does not say its version: {}", description.title, said.shown());
            let advice = format!(
                "try `{program} {}`; install it anew: {}",
                description.version.args.join(" "),
                description.install
            );
            return if said.good { Health::unsure(what, detail, advice) } else { Health::bad(what, detail, advice) };
        };
        let detail = format!("{} {found}{place}", description.title);
        let tried = &description.version.tried;
        if tried.contains(&found) {
            return Health::good(what, detail);
        }
        let oldest = tried.iter().min_by_key(|v| numbers(v));
        let advice = match oldest {
            Some(oldest) if numbers(&found) < numbers(oldest) => {
                format!("it is older than what was tried ({oldest}); update it: {}", description.install)
            }
            _ => format!(
                "tried was {}, on {}; if it behaves oddly, compare with that",
                tried.join(", "),
                description.checked
            ),
        };
        Health::unsure(what, detail, advice)
    }

    /// What it says to root when it may do everything, without being asked.
    fn refused(&self, what: &str, allows: bool, description: &Description) -> Option<Health> {
        let refuses = description.refuses_root.as_ref().filter(|_| allows && rustix::process::geteuid().is_root())?;
        let is_let = |name: &String| self.variable(name).is_some_and(|value| value == "1");
        if refuses.unless.iter().any(is_let) {
            return None;
        }
        let detail = format!("{} refuses to work without permissions as root, and you are root", description.title);
        // What is set for an agent is a thing to be trusted.
        let say = format!("{}; what is changed in the settings is trusted with `reflexion trust`", refuses.say);
        Some(Health::bad(what, detail, say))
    }

    /// Keys, credential files, then the program's own word, the cheapest first.
    async fn login(&self, what: &str, argv: &[String], description: &Description) -> Health {
        let login = &description.login;
        if let Some(name) = login.env.iter().find(|name| self.is_set(name)) {
            return Health::good(what, format!("a key is in {name}; whether it is good, only a run can say"));
        }
        let home = self.variable("HOME").map(PathBuf::from);
        let file = home.and_then(|home| login.files.iter().map(|file| home.join(file)).find(|file| file.is_file()));
        if let Some(file) = file {
            return Health::good(what, format!("credentials are in {}", file.display()));
        }
        let asked = match &login.status {
            Some(status) => match self.ask(argv, status).await {
                Ok(said) if said.good => {
                    return Health::good(what, format!("`{} {}` says so", argv[0], status.join(" ")));
                }
                _ => format!(", and `{} {}` says no", argv[0], status.join(" ")),
            },
            None => String::new(),
        };
        let looked =
            login.env.iter().map(|name| format!("${name}")).chain(login.files.iter().map(|f| format!("~/{f}")));
        let looked = looked.collect::<Vec<_>>().join(", ");
        Health::unsure(what, format!("none was found; looked for {looked}{asked}"), login.advice.clone())
    }

    /// Whether a model can be asked, and whether its own server is there. Nothing is asked.
    async fn model(&self, what: &str, model: &Model) -> Health {
        if !self.params.trusted {
            let to = model.base_url.as_deref().unwrap_or("its provider's own host");
            return Health::good(what, format!("{} at {to}", model.name)).unless_bad(NOT_STARTED);
        }
        if let Err(error) = self.params.models.open(model) {
            return Health::bad(what, error.to_string(), "set the variable with the key, or fix `keyEnv`");
        }
        let Some(url) = &model.base_url else {
            return Health::good(what, format!("{}, with a key; whether it is good, only a call can say", model.name));
        };
        let detail = format!("{} at {url}", model.name);
        let Some((host, port)) = host_and_port(url) else {
            return Health::bad(what, detail, "`baseUrl` names no server; e.g. \"http://127.0.0.1:11434/v1\"");
        };
        match tokio::task::spawn_blocking(move || connect(&host, port)).await {
            Ok(Ok(())) => Health::good(what, format!("{detail} answers")),
            Ok(Err(error)) => {
                Health::bad(what, format!("{detail} does not answer: {error}"), "start it, or fix `baseUrl`")
            }
            Err(error) => Health::unsure(what, format!("{detail}: {error}"), "try again"),
        }
    }

    /// What a program prints; its stdin is empty.
    async fn ask(&self, argv: &[String], args: &[String]) -> Result<Said, CommandError> {
        let argv = argv.iter().chain(args).cloned();
        let command = Command {
            env: self.env.clone(),
            env_deny: self.params.settings.environment().deny.clone(),
            timeout: ANSWER,
            keep_bytes: 4096,
            ..Command::new(argv, self.params.settings.project().root.clone())
        };
        let output = self.params.runner.run(command).await?;
        let text = format!("{}\n{}", output.stdout.text(), output.stderr.text());
        Ok(Said { good: output.success(), text, end: end_in_words(output.end) })
    }

    /// A variable as the agent would see it.
    fn variable(&self, name: &str) -> Option<OsString> {
        let denied = || {
            let globs = &self.params.settings.environment().deny;
            globs.iter().any(|glob| globset::Glob::new(glob).is_ok_and(|g| g.compile_matcher().is_match(name)))
        };
        match self.env.get(name) {
            Some(own) => Some(own.into()),
            None if denied() => None,
            None => std::env::var_os(name),
        }
    }

    fn is_set(&self, name: &str) -> bool {
        self.variable(name).is_some_and(|value| !value.is_empty())
    }

    fn path(&self) -> OsString {
        self.variable("PATH").unwrap_or_default()
    }
}

/// What a program said when asked.
struct Said {
    good: bool,
    text: String,
    end: String,
}

impl Said {
    /// In a few words.
    fn shown(&self) -> String {
        let first = self.text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("nothing");
        format!("{} ({})", first.chars().take(160).collect::<String>(), self.end)
    }
}

fn end_in_words(end: CommandEnd) -> String {
    match end {
        CommandEnd::Exited(status) => format!("exit status {status}"),
        CommandEnd::Signaled(signal) => format!("signal {signal}"),
        CommandEnd::TimedOut => format!("no answer within {} s", ANSWER.as_secs()),
        CommandEnd::Cancelled | CommandEnd::Idle | CommandEnd::Stopped | CommandEnd::TookMemory { .. } => {
            "it was stopped".to_owned()
        }
    }
}

/// The first `1.2.3` in a text.
fn version_in(text: &str) -> Option<String> {
    let mut words = text.split(|c: char| !(c.is_ascii_alphanumeric() || ".-+".contains(c)));
    let version = words.find_map(|word| {
        let word = word.trim_start_matches('v');
        let core = word.split(['-', '+']).next().unwrap_or_default();
        let parts: Vec<&str> = core.split('.').collect();
        let is_version = parts.len() >= 3 && parts.iter().all(|part| part.parse::<u64>().is_ok());
        is_version.then_some(word)
    });
    version.map(str::to_owned)
}

/// A version as numbers to compare.
fn numbers(version: &str) -> Vec<u64> {
    let core = version.split(['-', '+']).next().unwrap_or_default();
    core.split('.').map(|part| part.parse().unwrap_or(0)).collect()
}

/// Where a URL's server is.
fn host_and_port(url: &str) -> Option<(String, u16)> {
    let (scheme, rest) = url.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let authority = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let usual = match scheme {
        "http" => 80,
        "https" => 443,
        _ => return None,
    };
    // An IPv6 address stands in brackets, and has colons of its own.
    let after_address = authority.rfind(']').map_or(0, |end| end + 1);
    let (host, port) = match authority[after_address..].rfind(':') {
        Some(colon) => {
            let (host, port) = authority.split_at(after_address + colon);
            (host, port[1..].parse().ok()?)
        }
        None => (authority, usual),
    };
    let host = host.trim_start_matches('[').trim_end_matches(']');
    (!host.is_empty()).then(|| (host.to_owned(), port))
}

/// Connects to the first address that takes it, and says nothing.
fn connect(host: &str, port: u16) -> std::io::Result<()> {
    let mut last = std::io::Error::new(std::io::ErrorKind::NotFound, "the name has no address");
    for address in (host, port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, CONNECT) {
            Ok(_) => return Ok(()),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// The option by which a check runs all of its tests, where it stops at a failure without it.
#[must_use]
pub fn runs_all_with(check: &CheckCommand) -> Option<&'static str> {
    match check {
        CheckCommand::Shell(line) => runs(line).iter().find_map(|run| toolchain::runs_all_with(&run.words.join(" "))),
        CheckCommand::Argv(words) => toolchain::runs_all_with(&words.join(" ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_found_in_what_programs_print() {
        let check = |text: &str, expected: Option<&str>| assert_eq!(version_in(text).as_deref(), expected, "{text}");
        check("2.1.330 (Claude Code)\n", Some("2.1.330"));
        check("codex-cli 0.169.0", Some("0.169.0"));
        check("v1.2.3-beta.1", Some("1.2.3-beta.1"));
        check("\n(node:12) warning\n0.61.0\n", Some("0.61.0"));
        check("command not found", None);
        check("since 2.1", None);
        check("", None);
    }

    #[test]
    fn versions_are_compared_as_numbers() {
        assert!(numbers("2.1.9") < numbers("2.1.330"));
        assert!(numbers("0.169.0") > numbers("0.20.5"));
        assert_eq!(numbers("1.2.3-rc1"), numbers("1.2.3"));
    }

    #[test]
    fn the_server_of_a_url_is_found() {
        let check = |url: &str, expected: Option<(&str, u16)>| {
            let expected = expected.map(|(host, port)| (host.to_owned(), port));
            assert_eq!(host_and_port(url), expected, "{url}");
        };
        check("http://127.0.0.1:11434/v1", Some(("127.0.0.1", 11434)));
        check("https://models.example.org/v1", Some(("models.example.org", 443)));
        check("http://me:secret@host:8080?x", Some(("host", 8080)));
        check("http://[::1]:8080/v1", Some(("::1", 8080)));
        check("http://[::1]", Some(("::1", 80)));
        check("ftp://host/x", None);
        check("localhost:11434", None);
        check("http://host:port", None);
        check("http:///v1", None);
    }
}
