//! Tests that recorded commands and whole-file writes removed, emptied or moved away; what the session made itself, and
//! what it put back, is no loss.

use super::facts::View;
use super::kept::OFF;
use super::kept_edits::replaced;
use super::kept_tests::is_code;
use super::kept_tests::is_test_file;
use super::kept_tests::tests_in;
use super::timeline::Step;
use super::timeline::happened;
use super::timeline::in_project;
use super::timeline::is_elsewhere;
use crate::domain::ToolKind;
use crate::verification::commands::Run;
use std::path::Path;

/// What happened to tests, in words; empty if nothing did.
pub(super) fn lost_tests(view: &View<'_>) -> Vec<String> {
    let mut session = Session { dir: view.facts.turn.dir.as_deref(), ..Session::default() };
    for step in &view.timeline.steps {
        session.step(step);
    }
    session.lost.into_iter().map(|(path, how)| format!("{path} was {how}")).collect()
}

#[derive(Default)]
struct Session<'v> {
    dir: Option<&'v Path>,
    /// Made by the session.
    own: Vec<String>,
    /// There before the session wrote them.
    known: Vec<String>,
    lost: Vec<(String, &'static str)>,
}

impl Session<'_> {
    fn step(&mut self, step: &Step<'_>) {
        let action = step.action;
        if matches!(action.kind, ToolKind::Read | ToolKind::Search) {
            let input: serde_json::Value = serde_json::from_str(&action.input).unwrap_or_default();
            let path = ["file_path", "filePath", "path"].iter().find_map(|key| input.get(*key)?.as_str());
            self.known.extend(path.filter(|_| happened(action)).map(str::to_owned));
        }
        if !happened(action) || action.outcome.as_ref().is_some_and(|o| o.exit_code.is_some_and(|code| code != 0)) {
            return;
        }
        self.edit(step);
        let line = action.command.as_deref().unwrap_or_default();
        let dir = self.dir;
        for (i, run) in step.runs.iter().enumerate().filter(|(i, _)| !is_elsewhere(&step.places[*i], dir)) {
            let name = run.words.first().map_or("", |word| word.rsplit('/').next().unwrap_or_default());
            let args: Vec<&str> = run.words.iter().skip(1).map(String::as_str).collect();
            match (name, args.as_slice()) {
                ("rm" | "unlink" | "shred" | "trash" | "rmdir", args) => self.removes(args, &step.runs[..i]),
                ("git", ["rm", args @ ..]) if !args.contains(&"--cached") => self.removes(args, &step.runs[..i]),
                ("mv", args) | ("git", ["mv", args @ ..]) => self.moves(args),
                ("git", ["checkout" | "restore", args @ ..]) if !args.contains(&"--staged") => self.restores(args),
                ("git", ["reset", args @ ..]) if args.contains(&"--hard") => self.lost.clear(),
                ("git", ["stash", args @ ..]) if !matches!(args.first(), Some(&("list" | "show" | "drop"))) => {
                    self.lost.clear();
                }
                ("find", args) => self.finds(args),
                ("truncate", args) => operands(args).for_each(|path| self.empties(path)),
                ("cp", ["/dev/null", path]) => self.empties(path),
                ("sed" | "gsed" | "perl", args) if !run.files.is_empty() => self.marks(args, &run.files),
                _ => self.writes(name, &args, run, line),
            }
        }
    }

    /// A whole file that an edit tool wrote, and the deletions of a patch.
    fn edit(&mut self, step: &Step<'_>) {
        let action = step.action;
        if action.input.contains("*** Delete File: ")
            || action.command.as_deref().is_some_and(|c| c.contains("*** Delete File: "))
        {
            let text =
                format!("{}\n{}", action.input.replace("\\n", "\n"), action.command.as_deref().unwrap_or_default());
            for line in text.lines() {
                let Some(path) = line.split_once("*** Delete File: ").map(|(_, path)| path.trim().trim_matches('"'))
                else {
                    continue;
                };
                if is_test_file(path) {
                    self.loses(path, "deleted");
                }
            }
            return;
        }
        if action.kind != ToolKind::Edit {
            return;
        }
        let input: serde_json::Value = serde_json::from_str(&action.input).unwrap_or_default();
        let content = ["content", "file_text", "contents", "text"].iter().find_map(|key| input.get(*key)?.as_str());
        for path in &action.edits {
            match content {
                _ if replaced(action).is_some() || input.get("edits").is_some() => self.known.push(path.clone()),
                Some(text) if text.trim().is_empty() => self.empties(path),
                _ => self.makes(path),
            }
        }
    }

    /// A redirection, `tee`, `cp`, `touch`, …
    fn writes(&mut self, name: &str, args: &[&str], run: &Run, line: &str) {
        let silent = matches!(name, ":" | "true")
            || matches!((name, args), ("cat", ["/dev/null"]) | ("echo", ["-n"]) | ("printf" | "echo", [""]));
        for file in &run.files {
            // `>>` adds nothing here, and takes nothing away.
            let appends = line.contains(&format!(">> {file}")) || line.contains(&format!(">>{file}"));
            let overwrites = has(&self.known, file) && !self.is_own(file) && tests_in(line.lines()).is_empty();
            if appends {
                continue;
            }
            if silent {
                self.empties(file);
            } else if overwrites
                && matches!(name, "cat" | "echo" | "printf")
                && is_test_file(file)
                && line.contains('>')
            {
                self.loses(file, "overwritten without a test");
            } else {
                self.makes(file);
            }
        }
        if name == "mkdir" {
            operands(args).for_each(|path| self.own.push(path.to_owned()));
        } else if name == "cat" || name == "head" || name == "tail" {
            self.known.extend(operands(args).map(str::to_owned));
        }
    }

    fn makes(&mut self, path: &str) {
        self.lost.retain(|(lost, _)| !same(lost, path) && !replaces(lost, path));
        self.own.push(path.to_owned());
    }

    fn removes(&mut self, args: &[&str], before: &[Run]) {
        let deep = args.iter().any(|arg| arg.starts_with('-') && !arg.starts_with("--") && arg.contains(['r', 'R']))
            || args.contains(&"--recursive");
        let mut any = false;
        for path in operands(args).filter(|path| *path != "{}") {
            any = true;
            if is_test_target(path, deep) {
                self.loses(path, "deleted");
            }
        }
        // `ls tests/*.py | xargs rm`, `find tests -exec rm {} +`
        let from = before
            .iter()
            .rev()
            .find(|run| matches!(run.words.first().map(String::as_str), Some("ls" | "find" | "fd" | "echo" | "git")));
        if let Some(from) = from.filter(|_| !any) {
            let words: Vec<&str> = from.words.iter().skip(1).map(String::as_str).collect();
            if from.words[0] == "find" {
                if let Some(path) = found(&words) {
                    self.loses(&path, "deleted");
                }
            } else if let Some(path) = operands(&words).find(|path| is_test_target(path, true)) {
                self.loses(path, "deleted");
            }
        }
    }

    fn finds(&mut self, args: &[&str]) {
        // What `-exec` runs is a command of its own.
        if let Some(path) = found(args).filter(|_| args.contains(&"-delete")) {
            self.loses(&path, "deleted");
        }
    }

    fn moves(&mut self, args: &[&str]) {
        let paths: Vec<&str> = operands(args).collect();
        let Some((to, from)) = paths.split_last() else { return };
        // Back again.
        self.lost.retain(|(lost, _)| !same(lost, to) && !lost.starts_with(&format!("{}/", to.trim_end_matches('/'))));
        for path in from {
            if self.is_own(path) {
                self.own.push((*to).to_owned());
                continue;
            }
            let name = path.trim_end_matches('/').rsplit('/').next().unwrap_or(path);
            let is_file = is_code(name);
            let lands =
                if is_file && is_code(to) { (*to).to_owned() } else { format!("{}/{name}", to.trim_end_matches('/')) };
            let away = outside(&lands, self.dir) || shelved(to);
            let leaves = is_test_target(path, true) && (away || is_file && !is_test_file(&lands));
            if leaves {
                self.loses(path, "moved away");
            } else {
                self.own.push(lands);
            }
        }
    }

    fn restores(&mut self, args: &[&str]) {
        self.lost.retain(|(lost, _)| !operands(args).any(|path| covers(path, lost)));
    }

    fn empties(&mut self, path: &str) {
        if is_test_file(path) {
            self.loses(path, "emptied");
        }
    }

    /// Marks that keep tests from being run, put in by `sed -i` and the like.
    fn marks(&mut self, args: &[&str], files: &[String]) {
        let plain = |text: &str| text.replace('\\', "");
        let added = |script: &str| {
            // `s/#[test]/…/`: what stands there afterwards. `/def test_/i …`: what is inserted.
            let delimiter =
                script.split_once('s').and_then(|(_, rest)| rest.chars().next()).filter(char::is_ascii_punctuation);
            let sides: Vec<String> =
                delimiter.map_or_else(Vec::new, |delimiter| script.split(delimiter).map(plain).collect());
            let text = plain(script);
            OFF.iter().any(|mark| match sides.as_slice() {
                [head, old, new, ..] if head.ends_with('s') && head.len() < 8 => {
                    new.contains(mark) && !old.contains(mark)
                }
                _ => text.find(mark).is_some_and(|at| text[..at].trim_end().ends_with(['i', 'a', 'c'])),
            })
        };
        if !args.iter().filter(|arg| !arg.starts_with("-i")).any(|arg| added(arg)) {
            return;
        }
        for file in files.iter().filter(|file| is_code(file)) {
            self.loses(file, "marked so that its tests are not run");
        }
    }

    fn loses(&mut self, path: &str, how: &'static str) {
        if !self.is_own(path)
            && !outside(path, self.dir)
            && !self.own.iter().any(|own| replaces(path, own))
            && self.lost.iter().all(|(lost, _)| lost != path)
        {
            self.lost.push((path.to_owned(), how));
        }
    }

    fn is_own(&self, path: &str) -> bool {
        has(&self.own, path) && !has(&self.known, path)
    }
}

fn has(list: &[String], path: &str) -> bool {
    list.iter().any(|one| same(one, path) || covers(one, path) && !one.contains(['*', '.']))
}

/// What is no option.
fn operands<'a, 'b>(args: &'b [&'a str]) -> impl Iterator<Item = &'a str> + 'b {
    let ends = args.iter().position(|arg| *arg == "--").unwrap_or(args.len());
    args.iter()
        .enumerate()
        .filter(move |(i, arg)| *i != ends && (*i > ends || !arg.starts_with('-')))
        .map(|(_, arg)| *arg)
}

fn trimmed(path: &str) -> &str {
    path.trim_start_matches("./").trim_end_matches('/')
}

/// The same path, one of them perhaps from the root.
fn same(a: &str, b: &str) -> bool {
    let (a, b) = (trimmed(a), trimmed(b));
    let ends = |long: &str, short: &str| {
        !short.is_empty() && long.strip_suffix(short).is_some_and(|head| head.is_empty() || head.ends_with('/'))
    };
    ends(a, b) || ends(b, a)
}

/// Whether a path is, or lies in, what is named.
fn covers(named: &str, path: &str) -> bool {
    let named = trimmed(named).trim_end_matches(['*', '/']);
    named.is_empty()
        || named == "."
        || named == ":"
        || same(named, path)
        || trimmed(path).starts_with(&format!("{named}/"))
}

/// A test of the same name in another style or runner: `a.test.js` by `a.spec.ts`.
fn replaces(old: &str, new: &str) -> bool {
    let stem = |path: &str| {
        let name = path.rsplit('/').next().unwrap_or(path).split('.').next().unwrap_or_default().to_ascii_lowercase();
        name.trim_start_matches("test_").trim_end_matches("_test").trim_end_matches("_spec").to_owned()
    };
    is_test_file(old) && is_test_file(new) && stem(old) == stem(new)
}

fn outside(path: &str, dir: Option<&Path>) -> bool {
    let temporary =
        ["/tmp/", "/var/tmp/", "/dev/", "~", "..", "$TMPDIR", "$HOME"].iter().any(|place| path.starts_with(place));
    if dir.is_some_and(|dir| Path::new(path).starts_with(dir)) { false } else { temporary || !in_project(path, dir) }
}

/// A place, or an ending, for what is no longer used.
fn shelved(to: &str) -> bool {
    const PLACES: [&str; 13] = [
        "attic",
        "old",
        "archive",
        "archived",
        "backup",
        "backups",
        "bak",
        "disabled",
        "deprecated",
        "trash",
        "unused",
        "legacy",
        "orig",
    ];
    trimmed(to).split(['/', '.', '_', '-']).any(|part| PLACES.contains(&part.to_ascii_lowercase().as_str()))
}

/// Whether removing this removes tests: a test file, all in a directory of tests, or - where directories go too - the
/// directory itself.
fn is_test_target(path: &str, deep: bool) -> bool {
    const DIRS: [&str; 6] = ["test", "tests", "__tests__", "spec", "specs", "e2e"];
    const PARTS: [&str; 9] =
        ["unit", "integration", "functional", "regression", "e2e", "api", "acceptance", "smoke", "it"];
    let path = trimmed(path);
    let (parent, last) = path.rsplit_once('/').unwrap_or(("", path));
    let in_tests = parent.split('/').any(|part| DIRS.contains(&part));
    if last.contains('*') {
        let everything = matches!(last, "*" | "**" | "*.*");
        return everything && (in_tests && parent.rsplit('/').next().is_some_and(|part| DIRS.contains(&part)))
            || is_test_file(&path.replace('*', "x"));
    }
    is_test_file(path) || deep && (DIRS.contains(&last) || in_tests && PARTS.contains(&last))
}

/// What of the tests `find` finds.
fn found(args: &[&str]) -> Option<String> {
    let paths: Vec<&str> = args.iter().take_while(|arg| !arg.starts_with('-')).copied().collect();
    let name = args.iter().position(|arg| matches!(*arg, "-name" | "-iname")).and_then(|at| args.get(at + 1));
    let place = paths.first().copied().unwrap_or(".");
    let negated = args.iter().any(|arg| matches!(*arg, "!" | "-not" | "-prune"));
    let hit = match name {
        Some(name) => is_test_target(&format!("{}/{name}", trimmed(place)), true),
        None => {
            paths.iter().any(|path| is_test_target(path, true))
                && !args
                    .iter()
                    .any(|arg| matches!(*arg, "-mtime" | "-empty" | "-mmin" | "-size" | "-path" | "-regex" | "-newer"))
        }
    };
    (hit && !negated).then(|| name.map_or_else(|| place.to_owned(), |name| format!("{}/{name}", trimmed(place))))
}
