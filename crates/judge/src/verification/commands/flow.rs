//! Which commands a line runs, and whose exit status it ends with.

use super::run::Edits;
use super::syntax::{Body, Command, Item, Join, Pipeline, Redirect, Script, Simple, parse};
use super::wrappers::{Unwrapped, base_name, is_assignment, unwrap};
use super::{Run, writes};
use std::collections::HashMap;
use std::mem;

/// Scripts in scripts (`sh -c "sh -c '…'"`) and functions in functions are followed so deep.
const MAX_SCRIPTS: usize = 6;
/// The value of a variable is kept up to so many bytes, enough for a branch's name.
const KEPT_VALUE: usize = 256;
/// So many exported variables are kept.
const MAX_EXPORTED: usize = 20;

/// What an exit status says about the runs behind it, by their numbers.
#[derive(Debug, Clone, Default)]
struct Status {
    /// If it is zero, theirs were.
    zero: Vec<usize>,
    /// If it is not zero, they did not pass.
    blame: Vec<usize>,
    /// The line ends with a failure as soon as one of these fails: `npm test || exit 1`.
    guarded: Vec<usize>,
    fate: Fate,
    /// Nothing is run after it.
    leaves: bool,
}

/// How a command can end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Fate {
    #[default]
    Open,
    /// Always well: `echo`.
    Well,
    /// Always badly: `exit 1`.
    Badly,
}

impl Status {
    fn well() -> Self {
        Self { fate: Fate::Well, ..Self::default() }
    }

    fn and(mut self, next: Self) -> Self {
        self.zero.extend(next.zero);
        self.guarded.extend(next.guarded);
        if next.fate == Fate::Well {
            self.blame.extend(next.blame);
        } else {
            self.blame = next.blame;
        }
        let bad = self.fate == Fate::Badly || next.fate == Fate::Badly;
        let well = self.fate == Fate::Well && next.fate == Fate::Well;
        self.fate = if bad {
            Fate::Badly
        } else if well {
            Fate::Well
        } else {
            Fate::Open
        };
        self.leaves = self.fate == Fate::Well && next.leaves;
        self
    }

    fn or(mut self, next: Self) -> Self {
        self.blame.extend(next.blame);
        match next.fate {
            Fate::Badly if next.leaves => self.guarded.extend_from_slice(&self.zero),
            Fate::Badly => {}
            _ if self.fate == Fate::Well => {}
            _ => {
                self.zero.clear();
                self.fate = next.fate;
            }
        }
        self.leaves = false;
        self
    }

    /// The status of a shell that ends here, whose `exit` leaves nothing but itself.
    fn closed(mut self) -> Self {
        self.zero.append(&mut self.guarded);
        self.leaves = false;
        self
    }

    /// What follows whatever this one ends with.
    fn then(mut self, next: Self) -> Self {
        if next.fate == Fate::Well && !self.guarded.is_empty() {
            self.blame.extend(next.blame);
        } else {
            self.blame = next.blame;
        }
        self.zero = next.zero;
        self.guarded.extend(next.guarded);
        self.fate = next.fate;
        self.leaves = next.leaves;
        self
    }
}

/// A walk through a line's commands in the order in which a shell would run them.
#[derive(Default)]
pub(super) struct Walk {
    runs: Vec<Run>,
    bodies: Vec<String>,
    functions: HashMap<String, Command>,
    /// Values that were given on the line itself.
    vars: HashMap<String, String>,
    /// `export NAME=value`
    exported: Vec<String>,
    /// `NAME=value` before a command.
    env: Vec<String>,
    /// Exit statuses in variables: `rc=$?`.
    saved: HashMap<String, Status>,
    /// `$?`
    last: Status,
    /// `${PIPESTATUS[0]}`
    first_of_pipe: Status,
    errexit: bool,
    pipefail: bool,
    scripts: usize,
}

impl Walk {
    /// The runs of a line.
    pub(super) fn of(line: &str) -> Vec<Run> {
        let mut walk = Self::default();
        let status = walk.text(line);
        for at in status.zero {
            walk.runs[at].decides_exit = true;
        }
        for at in status.blame {
            walk.runs[at].takes_blame = true;
        }
        walk.runs
    }

    /// A script within the script.
    fn text(&mut self, code: &str) -> Status {
        self.within(|walk| {
            let parsed = parse(code);
            let outer = mem::replace(&mut walk.bodies, parsed.bodies);
            let options = (walk.errexit, walk.pipefail);
            let status = walk.script(parsed.script);
            (walk.errexit, walk.pipefail) = options;
            walk.bodies = outer;
            status.closed()
        })
    }

    /// A script in a script, a function, a command of `find`; not deeper than [`MAX_SCRIPTS`].
    fn within(&mut self, walk: impl FnOnce(&mut Self) -> Status) -> Status {
        if self.scripts >= MAX_SCRIPTS {
            return Status::default();
        }
        self.scripts += 1;
        let status = walk(self);
        self.scripts -= 1;
        status
    }

    fn script(&mut self, script: Script) -> Status {
        let mut so_far = Status::well();
        for item in script.items {
            let background = item.background;
            let status = self.item(item);
            let status = if background { Status::well() } else { status };
            // With `set -e` a list goes on as if it were joined by `&&`; its option may also end here.
            so_far = if self.errexit { so_far.and(status) } else { so_far.then(status) };
            if so_far.leaves {
                break;
            }
        }
        so_far
    }

    fn item(&mut self, item: Item) -> Status {
        let mut status = self.pipeline(item.first);
        for (join, next) in item.rest {
            let next = self.pipeline(next);
            status = match join {
                Join::And => status.and(next),
                Join::Or => status.or(next),
            };
        }
        self.last = Status { guarded: Vec::new(), leaves: false, ..status.clone() };
        status
    }

    fn pipeline(&mut self, pipeline: Pipeline) -> Status {
        let from = self.runs.len();
        let alone = pipeline.commands.len() == 1;
        let mut all: Vec<Status> = pipeline.commands.into_iter().map(|command| self.command(command)).collect();
        if !alone {
            self.captured(from);
            self.first_of_pipe = all.first().cloned().unwrap_or_default();
        }
        let status = if alone {
            all.pop().unwrap_or_default()
        } else if self.pipefail {
            let open = all.iter().filter(|status| status.fate != Fate::Well).count();
            let mut joined = Status::default();
            for status in all {
                if open == 1 && status.fate != Fate::Well {
                    joined.blame = status.blame;
                }
                joined.zero.extend(status.zero);
            }
            joined
        } else {
            // Every command of a pipe has a shell of its own.
            all.pop().unwrap_or_default().closed()
        };
        if pipeline.negated { Status::default() } else { status }
    }

    /// What a test run prints and `tee` keeps is no work on files.
    fn captured(&mut self, from: usize) {
        let pipe = &mut self.runs[from..];
        if pipe.iter().any(|run| run.kind.checks()) {
            for run in pipe.iter_mut().filter(|run| run.words.first().is_some_and(|word| word == "tee")) {
                run.writes = false;
                run.edits = Edits::No;
                run.files.clear();
            }
        }
    }

    fn command(&mut self, command: Command) -> Status {
        let from = self.runs.len();
        let status = match command.body {
            Body::Simple(simple) => return self.simple(simple, &command.redirects),
            Body::Group(script) => self.script(script),
            Body::Subshell(script) => {
                let options = (self.errexit, self.pipefail);
                let status = self.script(script);
                (self.errexit, self.pipefail) = options;
                status.closed()
            }
            Body::Branches(parts) => {
                for part in parts {
                    self.script(part);
                }
                Status::default()
            }
            Body::Loop(parts) => {
                let mut status = Status::default();
                for part in parts {
                    status = self.script(part);
                }
                // The status of the last round only, unless each failure ends the line.
                let zero = if self.errexit { status.zero } else { Vec::new() };
                Status { zero, guarded: status.guarded, ..Status::default() }
            }
            Body::Function(name, body) => {
                self.functions.insert(name, *body);
                Status::well()
            }
        };
        self.redirected(from, &command.redirects);
        status
    }

    /// Output of a whole group goes into a file: its last command writes it.
    fn redirected(&mut self, from: usize, redirects: &[Redirect]) {
        let checks = self.runs[from..].iter().any(|run| run.kind.checks());
        let Some(last) = self.runs[from..].last_mut().filter(|_| !checks) else { return };
        writes::redirected(last, redirects);
    }

    fn simple(&mut self, simple: Simple, redirects: &[Redirect]) -> Status {
        let mut inner = Status::well();
        for script in simple.inner {
            inner = self.script(script).closed();
        }
        let assigns = simple.assigns;
        if simple.words.is_empty() {
            for (name, value) in assigns {
                self.assign(name, value);
            }
            if redirects.iter().any(|redirect| matches!(redirect, Redirect::Out(_))) {
                return self.run(&[":".to_owned()], redirects);
            }
            // `x=$(command)` ends as the command does.
            return inner.closed();
        }
        let outer = self.env.len();
        self.env.extend(assigns.into_iter().filter(|(_, value)| value.len() <= KEPT_VALUE).map(pair));
        let status = self.words(&simple.words, redirects);
        self.env.truncate(outer);
        status
    }

    fn assign(&mut self, name: String, value: String) {
        match value.as_str() {
            "$?" | "${?}" => {
                self.saved.insert(name, self.last.clone());
            }
            "${PIPESTATUS[0]}" | "$PIPESTATUS" => {
                self.saved.insert(name, self.first_of_pipe.clone());
            }
            _ => {
                self.saved.remove(&name);
                if value.len() <= KEPT_VALUE {
                    self.vars.insert(name, value);
                }
            }
        }
    }

    fn words(&mut self, words: &[String], redirects: &[Redirect]) -> Status {
        match unwrap(words) {
            Unwrapped::Script { code, errexit, pipefail } => {
                let before = (self.errexit, self.pipefail);
                (self.errexit, self.pipefail) = (errexit, pipefail);
                let status = self.text(&code);
                (self.errexit, self.pipefail) = before;
                status
            }
            Unwrapped::Stdin => {
                let input = redirects.iter().rev().find_map(|redirect| match redirect {
                    Redirect::Here(body) => self.bodies.get_mut(*body).map(mem::take),
                    Redirect::HereString(text) => Some(text.clone()),
                    Redirect::Out(_) => None,
                });
                match input {
                    Some(code) => self.text(&code),
                    None => self.run(words, redirects),
                }
            }
            Unwrapped::Each { own, command } => {
                let status = self.run(own, redirects);
                self.within(|walk| walk.words(command, &[]));
                status
            }
            Unwrapped::Plain(inner) => {
                let outer = self.env.len();
                let before = words.len().saturating_sub(inner.len());
                let given = words[..before].iter().filter(|word| is_assignment(word) && word.len() <= KEPT_VALUE);
                self.env.extend(given.cloned());
                let status = self.plain(inner, redirects);
                self.env.truncate(outer);
                status
            }
        }
    }

    fn plain(&mut self, words: &[String], redirects: &[Redirect]) -> Status {
        let Some((program, args)) = words.split_first() else { return Status::well() };
        if let Some(body) = self.functions.remove(program) {
            return self.within(|walk| walk.command(body));
        }
        match program.as_str() {
            "exit" | "return" => self.exit(args.first().map(String::as_str)),
            "set" => {
                self.set(args);
                Status::well()
            }
            "export" if self.exported.len() < MAX_EXPORTED => {
                let given = args.iter().filter(|word| is_assignment(word) && word.len() <= KEPT_VALUE);
                self.exported.extend(given.cloned());
                self.run(words, redirects)
            }
            _ => self.run(words, redirects),
        }
    }

    fn exit(&mut self, code: Option<&str>) -> Status {
        let name = code.unwrap_or("$?").trim_start_matches("${").trim_start_matches('$').trim_end_matches('}');
        let status = match (code, name.parse::<i64>()) {
            (_, Ok(0)) => Status::well(),
            (_, Ok(_)) => Status { fate: Fate::Badly, ..Status::default() },
            _ if name == "?" => self.last.clone(),
            _ if name == "PIPESTATUS[0]" || name == "PIPESTATUS" => self.first_of_pipe.clone(),
            _ => self.saved.get(name).cloned().unwrap_or_default(),
        };
        Status { leaves: true, ..status }
    }

    /// `set -euo pipefail`
    fn set(&mut self, args: &[String]) {
        for (at, arg) in args.iter().enumerate() {
            let on = arg.starts_with('-');
            if !on && !arg.starts_with('+') {
                continue;
            }
            let long = if arg.ends_with('o') { args.get(at + 1).map(String::as_str) } else { None };
            if arg.contains('e') || long == Some("errexit") {
                self.errexit = on;
            }
            if long == Some("pipefail") {
                self.pipefail = on;
            }
        }
    }

    fn run(&mut self, words: &[String], redirects: &[Redirect]) -> Status {
        let mut bodies = redirects.iter().filter_map(|redirect| match redirect {
            Redirect::Here(body) => self.bodies.get(*body).map(String::as_str),
            Redirect::HereString(text) => Some(text.as_str()),
            Redirect::Out(_) => None,
        });
        let mut run = Run::of(words, bodies.next_back(), &self.vars);
        if run.words.first().is_some_and(|program| base_name(program) == "git") {
            run.env = self.exported.iter().chain(&self.env).cloned().collect();
        }
        let fate = fate(&run.words);
        if !run.kind.checks() {
            writes::redirected(&mut run, redirects);
        }
        let at = self.runs.len();
        self.runs.push(run);
        Status { zero: vec![at], blame: vec![at], fate, ..Status::default() }
    }
}

fn pair((name, value): (String, String)) -> String {
    format!("{name}={value}")
}

/// Programs that always end alike, as far as it matters here; so a failure of the line is not theirs.
fn fate(words: &[String]) -> Fate {
    match words.first().map(String::as_str) {
        Some(
            "echo" | "printf" | "true" | ":" | "cd" | "pushd" | "popd" | "pwd" | "date" | "export" | "unset" | "sleep",
        ) => Fate::Well,
        Some("tail" | "tee" | "cat" | "sort" | "wc") => Fate::Well,
        Some("false") => Fate::Badly,
        _ => Fate::Open,
    }
}

/// The simple commands of a command line, in order. A line that no shell could read gives what could be read of it.
///
/// ```
/// # use reflexion_judge::verification::commands::{runs, CommandKind};
/// let found = runs("cd web && CI=1 npx jest 2>&1 | tail -20");
/// assert_eq!(found[1].kind, CommandKind::Test);
/// assert!(!found[1].decides_exit, "`tail` does");
/// assert!(runs("echo 'npm test'")[0].kind == CommandKind::Other);
/// ```
#[must_use]
pub fn runs(line: &str) -> Vec<Run> {
    Walk::of(line)
}
