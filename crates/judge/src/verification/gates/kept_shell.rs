//! Tests that recorded commands and whole-file writes removed, emptied or moved away; what the session made itself, and
//! what it put back, is no loss.

use super::facts::View;
use super::kept_edits::replaced;
use super::kept_targets::{finds_perhaps, found, is_test_target, removed_by_name, shelved, takes_out};
use super::kept_tests::tests_in;
use super::paths::in_project;
use super::place::{covers, same, trimmed};
use super::timeline::{Step, happened, is_elsewhere, shown};
use crate::domain::ToolKind;
use crate::prompt::quote_name;
use crate::toolchain::{is_code, is_test, marks_of};
use crate::verification::commands::{Edits, Run};
use std::path::Path;

/// What happened to tests, in words.
#[derive(Debug, Default)]
pub(super) struct Lost {
    /// They are gone.
    pub(super) surely: Vec<String>,
    /// They may be, or have to be: their code went too.
    pub(super) perhaps: Vec<String>,
}

/// What recorded commands did to tests.
pub(super) fn lost_tests(view: &View<'_>) -> Lost {
    let mut session = Session { dir: view.timeline.dir(), ..Session::default() };
    for step in &view.timeline.steps {
        session.step(step);
    }
    let mut found = Lost { perhaps: session.doubts, ..Lost::default() };
    for (path, how) in session.lost {
        let with_its_code = session.code_gone.iter().any(|code| stem(code) == stem(&path));
        let words = format!("{} was {how}", quote_name(&path));
        if with_its_code {
            found.perhaps.push(format!("{words} with the code that it tested"));
        } else {
            found.surely.push(words);
        }
    }
    if let Some(step) = view.timeline.dark_after(None) {
        found.perhaps.push(format!("what `{}` did is not recorded", step.action.tool));
    }
    found
}

#[derive(Default)]
struct Session<'v> {
    dir: Option<&'v Path>,
    /// Made by the session.
    own: Vec<String>,
    /// There before the session wrote them.
    known: Vec<String>,
    lost: Vec<(String, &'static str)>,
    /// Commands that may have taken tests away.
    doubts: Vec<String>,
    /// Code, or whole directories, that the session removed.
    code_gone: Vec<String>,
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
                ("rm" | "unlink" | "shred" | "trash" | "rmdir", args) => self.removes(args, &step.runs[..i], line),
                ("git", ["rm", args @ ..]) if !args.contains(&"--cached") => self.removes(args, &step.runs[..i], line),
                ("mv", args) | ("git", ["mv", args @ ..]) => self.moves(args),
                ("git", ["checkout" | "restore", args @ ..]) if !args.contains(&"--staged") => self.restores(args),
                ("git", ["reset", args @ ..]) if args.contains(&"--hard") => self.lost.clear(),
                ("git", ["stash", args @ ..]) if !matches!(args.first(), Some(&("list" | "show" | "drop"))) => {
                    self.lost.clear();
                }
                ("git", ["clean", args @ ..]) => self.cleans(args, line),
                ("find", args) => self.finds(args, line),
                ("truncate", args) => operands(args).for_each(|path| self.empties(path)),
                ("cp", ["/dev/null", path]) => self.empties(path),
                ("sed" | "gsed" | "perl", args) if !run.files.is_empty() => self.marks(args, &run.files),
                _ if run.edits == Edits::Perhaps && is_interpreter(name) => self.scripted(line),
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
                if is_test(path) {
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
        if run.files.iter().any(|file| configures_tests(file)) {
            self.doubt(line);
        }
        for file in &run.files {
            // `>>` adds nothing here, and takes nothing away.
            let appends = line.contains(&format!(">> {file}")) || line.contains(&format!(">>{file}"));
            let overwrites = has(&self.known, file) && !self.is_own(file) && tests_in(line.lines()).is_empty();
            if appends {
                continue;
            }
            if silent {
                self.empties(file);
            } else if overwrites && matches!(name, "cat" | "echo" | "printf") && is_test(file) && line.contains('>') {
                self.loses(file, "overwritten without a test");
            } else {
                if is_test(file) && line.contains('>') && !has(&self.own, file) {
                    self.overwrites(file, line);
                }
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

    fn removes(&mut self, args: &[&str], before: &[Run], line: &str) {
        let deep = args.iter().any(|arg| arg.starts_with('-') && !arg.starts_with("--") && arg.contains(['r', 'R']))
            || args.contains(&"--recursive");
        let mut any = false;
        for path in operands(args).filter(|path| *path != "{}") {
            any = true;
            if is_test_target(path, deep) {
                self.loses(path, "deleted");
            } else if is_code(path) || deep {
                self.code_gone.push(path.to_owned());
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
                self.found(&words, line);
            } else if let Some(path) = operands(&words).find(|path| is_test_target(path, true)) {
                self.loses(path, "deleted");
            }
        }
    }

    fn finds(&mut self, args: &[&str], line: &str) {
        // What `-exec` runs is a command of its own.
        if args.contains(&"-delete") {
            self.found(args, line);
        }
    }

    /// What `find` finds is removed.
    fn found(&mut self, args: &[&str], line: &str) {
        match found(args) {
            Some(path) => self.loses(&path, "deleted"),
            None if finds_perhaps(args) => self.doubt(line),
            None => {}
        }
    }

    /// `git clean` takes what git does not know: perhaps tests that were not committed.
    fn cleans(&mut self, args: &[&str], line: &str) {
        let shows = args
            .iter()
            .any(|arg| *arg == "--dry-run" || !arg.starts_with("--") && arg.starts_with('-') && arg.contains('n'));
        let mut paths = operands(args).peekable();
        if !shows && (paths.peek().is_none() || paths.any(|path| is_test_target(path, true) || path == ".")) {
            self.doubt(line);
        }
    }

    /// Code on the command line that writes or removes: what it removes by name is gone, the rest is not known.
    fn scripted(&mut self, line: &str) {
        let mut named = false;
        for path in removed_by_name(line).filter(|path| is_test_target(path, true)) {
            self.loses(path, "deleted");
            named = true;
        }
        if !named {
            self.doubt(line);
        }
    }

    /// A file that may have been there, and is another now.
    fn overwrites(&mut self, file: &str, line: &str) {
        if !has(&self.known, file) {
            self.doubt(line);
        }
    }

    fn doubt(&mut self, line: &str) {
        let words = format!("what {} did to the tests is not known", shown(line));
        if !self.doubts.contains(&words) && self.doubts.len() < 6 {
            self.doubts.push(words);
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
            let leaves = is_test_target(path, true) && (away || is_file && !is_test(&lands));
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
        if is_test(path) {
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
            let mut marks = files.iter().flat_map(|file| marks_of(file));
            marks.any(|mark| match sides.as_slice() {
                [head, old, new, ..] if head.ends_with('s') && head.len() < 8 => {
                    new.contains(mark) && !old.contains(mark)
                }
                _ => text.find(mark).is_some_and(|at| text[..at].trim_end().ends_with(['i', 'a', 'c'])),
            })
        };
        let scripts = || args.iter().filter(|arg| !arg.starts_with("-i"));
        let how = if scripts().any(|arg| added(arg)) {
            "marked so that its tests are not run"
        } else if scripts().any(|arg| takes_out(arg)) {
            "edited so that tests or assertions are gone"
        } else {
            return;
        };
        for file in files.iter().filter(|file| is_code(file)) {
            self.loses(file, how);
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

fn is_interpreter(name: &str) -> bool {
    name.starts_with("python") || matches!(name, "node" | "ruby" | "perl" | "php" | "deno" | "bun" | "tsx")
}

/// Files that say which tests are run.
fn configures_tests(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    matches!(name, "conftest.py" | "pytest.ini" | "tox.ini" | "setup.cfg" | "pyproject.toml" | "package.json")
        || name.starts_with("jest.config.")
        || name.starts_with("vitest.config.")
}

/// What a test and its code are both called: `date` of `tests/test_date.py`, `src/date.py` and `date_test.go`.
fn stem(path: &str) -> String {
    let name = trimmed(path).rsplit('/').next().unwrap_or(path);
    let name = name.split('.').next().unwrap_or_default();
    let name = name.strip_suffix("Tests").or(name.strip_suffix("Test")).unwrap_or(name).to_ascii_lowercase();
    name.trim_start_matches("test_").trim_end_matches("_test").trim_end_matches("_spec").to_owned()
}

/// A test of the same name in another style or runner: `a.test.js` by `a.spec.ts`.
fn replaces(old: &str, new: &str) -> bool {
    is_test(old) && is_test(new) && stem(old) == stem(new)
}

fn outside(path: &str, dir: Option<&Path>) -> bool {
    let temporary =
        ["/tmp/", "/var/tmp/", "/dev/", "~", "..", "$TMPDIR", "$HOME"].iter().any(|place| path.starts_with(place));
    if dir.is_some_and(|dir| Path::new(path).starts_with(dir)) { false } else { temporary || !in_project(path, dir) }
}
