//! What of a change somebody should see, whatever it proves. Pure; it only tells.

use super::programs::runs;
use crate::domain::{Change, ChangeSize, belongs_to_tests};
use crate::prompt::{one_line, shorten};
use crate::services::Diff;
use crate::toolchain;
use std::collections::{BTreeMap, BTreeSet};

/// So many files are named, and so much of each.
const NAMED: usize = 3;
const NAME_BYTES: usize = 80;

/// What somebody may have to look at.
#[derive(Debug, Clone, Copy)]
pub struct Looked<'a> {
    /// The change.
    pub change: &'a Change,
    /// What it does to its files.
    pub diff: &'a Diff,
    /// Those of its files that steer agents or this runtime.
    pub steers: &'a [String],
    /// The command lines of the checks.
    pub commands: &'a [String],
}

/// Why somebody should look at a change, if so: tests were there and are changed, what decides how they run is new or changed,
/// its code reaches into the test runner, or it is too large to be looked at here.
#[must_use]
pub fn to_review(looked: &Looked<'_>) -> Option<String> {
    let Looked { change, diff, steers, commands } = *looked;
    let all = || change.files.iter().map(String::as_str);
    let existed = || change.existed.iter().chain(&change.behind_links).map(String::as_str);
    let is_new = |file: &&str| !change.existed.iter().any(|old| old == file);
    let configures = |file: &&str| toolchain::configures_tests(file);
    let is_run = |file: &&str| commands.iter().any(|command| runs(command, file));
    let is_test = |file: &&str| belongs_to_tests(file) && !configures(file);
    let grown = only_grown(&diff.text);
    let has_grown = |file: &&str| grown.contains(file);
    let reasons = [
        named("what steers agents or the runtime was changed", steers.iter().map(String::as_str)),
        named("what is carried, and not committed, stands in files", change.carried.iter().map(String::as_str)),
        named("tests that were there were changed", existed().filter(|file| is_test(file) && !has_grown(file))),
        named("tests among the code were changed", inline_tests(&diff.text).into_iter().filter(|file| !is_test(file))),
        named("files that decide how tests run were changed", existed().filter(configures)),
        named(
            "what a check runs was changed",
            existed().filter(|file| is_run(file) && !is_test(file) && !configures(file)),
        ),
        // A new part of a project has such files of its own; so does who leaves out the tests of the old ones.
        named("new files decide how tests run", all().filter(|file| configures(file) && is_new(file))),
        named("the code reaches into the test runner", reaching(&diff.text).iter().map(String::as_str)),
        named("linters are kept from looking", silencing(&diff.text).iter().map(String::as_str)),
        named("tests decide how the others end", ending_others(&diff.text).iter().map(String::as_str)),
        named("files stand in for the test runner's own", all().filter(|file| toolchain::stands_in(file))),
        named("too large to be looked at", diff.left_out.iter().map(String::as_str)),
    ];
    let reasons: Vec<String> = reasons.into_iter().flatten().collect();
    (!reasons.is_empty()).then(|| reasons.join("; "))
}

/// What was found of which files, the first of them by name; nothing for none.
pub(super) fn named<'a>(what: &str, files: impl Iterator<Item = &'a str>) -> Option<String> {
    let files: Vec<String> = files.map(|file| shorten(&one_line(file), NAME_BYTES).into_owned()).collect();
    let more = files.len().checked_sub(NAMED).filter(|more| *more > 0);
    let more = more.map(|more| format!(" and {more} more")).unwrap_or_default();
    let shown = files.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
    (!files.is_empty()).then(|| format!("{what}: {shown}{more}"))
}

/// Files that are no tests and whose added lines use what belongs to test runners, with the first such word of each.
fn reaching(diff: &str) -> Vec<String> {
    let is_product =
        |file: &str| toolchain::is_code(file) && !toolchain::is_test(file) && !toolchain::configures_tests(file);
    added(diff, is_product, toolchain::reaches_into_tests)
}

/// Files whose added lines keep a linter from looking, with the first such word of each.
fn silencing(diff: &str) -> Vec<String> {
    added(diff, toolchain::is_code, toolchain::silences_a_linter)
}

/// Tests whose added lines decide how the other ones end, with the first such word of each.
fn ending_others(diff: &str) -> Vec<String> {
    added(diff, toolchain::is_test, toolchain::reaches_into_others)
}

/// Files of a kind of which an added line has something, with the first of each.
fn added(diff: &str, is_of: impl Fn(&str) -> bool, has: for<'l> fn(&str, &'l str) -> Option<&'l str>) -> Vec<String> {
    let mut found: Vec<(&str, &str)> = Vec::new();
    for (file, line) in lines(diff) {
        let known = found.iter().any(|(known, _)| *known == file);
        let Some(added) = line.strip_prefix('+').filter(|_| !known && is_of(file)) else { continue };
        found.extend(has(file, added).map(|word| (file, word)));
    }
    found.into_iter().map(|(file, word)| format!("{file} (`{word}`)")).collect()
}

/// Files of code that lost a line of a test, where the line has not only moved.
fn inline_tests(diff: &str) -> Vec<&str> {
    let is_added = |(_, line): &(&str, &'_ str)| line.starts_with('+');
    let added: BTreeSet<&str> = lines(diff).filter(is_added).map(|(_, line)| line[1..].trim()).collect();
    let mut files: Vec<&str> = Vec::new();
    for (file, line) in lines(diff) {
        let Some(removed) = line.strip_prefix('-').map(str::trim) else { continue };
        if toolchain::is_inline_test(file, removed) && !added.contains(removed) && !files.contains(&file) {
            files.push(file);
        }
    }
    files
}

/// The files that got lines and lost none, but for imports of more than before.
fn only_grown(diff: &str) -> BTreeSet<&str> {
    let added: Vec<(&str, &str)> =
        lines(diff).filter_map(|(file, line)| Some((file, line.strip_prefix('+')?))).collect();
    let is_back =
        |file: &str, old: &str| added.iter().any(|(of, new)| *of == file && toolchain::imports_more(old, new));
    let removed = lines(diff).filter_map(|(file, line)| Some((file, line.strip_prefix('-')?)));
    let lost: BTreeSet<&str> = removed.filter(|(file, old)| !is_back(file, old)).map(|(file, _)| file).collect();
    added.iter().map(|(file, _)| *file).filter(|file| !lost.contains(file)).collect()
}

/// Whether all lines of a text stand in another one as well, in their order; a comma may have come behind one, and a line may import more.
pub(super) fn has_grown(old: &str, new: &str) -> bool {
    let bare = |line: &'_ str| line.trim_end().trim_end_matches(',').to_owned();
    let mut rest = new.lines();
    old.lines().all(|old| rest.any(|new| bare(new) == bare(old) || toolchain::imports_more(old, new)))
}

/// The lines of a diff that are about a file's content, each with its file.
pub(super) fn lines(diff: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut file = "";
    let mut before = "";
    diff.lines().filter_map(move |line| {
        // A changed line may look like a header; only a header follows one.
        let header = line.strip_prefix("+++ ").filter(|_| before.starts_with("--- "));
        let old = before.strip_prefix("--- ").map(|name| name.strip_prefix("a/").unwrap_or(name));
        before = line;
        match header {
            // A file that is gone has its old name.
            Some("/dev/null") => file = old.unwrap_or_default(),
            Some(name) => file = name.strip_prefix("b/").unwrap_or(name),
            None if line.starts_with("diff --git ") => file = "",
            None => return Some((file, line)),
        }
        None
    })
}

/// How large a change is; none where its diff does not show all of it.
pub(super) fn size(change: &Change, diff: &Diff) -> Option<ChangeSize> {
    // Headers stand before the name of their file.
    let shown = |(file, line): &(&str, &str), sign: char| !file.is_empty() && line.starts_with(sign);
    let count = |sign: char| lines(&diff.text).filter(|line| shown(line, sign)).count();
    let whole = diff.left_out.is_empty() && !diff.text.is_empty();
    whole.then(|| ChangeSize { added: count('+'), removed: count('-'), files: change.files.len() })
}

/// The lines that a diff adds, each with its file and its number there.
pub(super) fn added_lines(diff: &str) -> impl Iterator<Item = (&str, usize, &str)> {
    let mut next = 0;
    lines(diff).filter_map(move |(file, line)| {
        if let Some(head) = line.strip_prefix("@@ ") {
            next = first_number(head);
            return None;
        }
        let number = next;
        next += usize::from(line.starts_with(['+', ' ']));
        line.strip_prefix('+').map(|line| (file, number, line))
    })
}

/// The number of a hunk's first line, by its head.
fn first_number(head: &str) -> usize {
    let new = head.split(' ').find_map(|part| part.strip_prefix('+'));
    new.and_then(|new| new.split(',').next()?.parse().ok()).unwrap_or(0)
}

/// What stood where a diff adds lines, by their file and number: where as many are gone as have come.
pub(super) fn replaced_lines(diff: &str) -> BTreeMap<(&str, usize), &str> {
    let (mut found, mut next) = (BTreeMap::new(), 0);
    let (mut gone, mut come) = (Vec::new(), Vec::new());
    // One more, so that the last ones are paired.
    for (file, line) in lines(diff).chain([("", "")]) {
        if line.starts_with('+') {
            come.push((file, next));
            next += 1;
            continue;
        }
        if !(line.starts_with('-') && come.is_empty()) {
            let (is, was) = (std::mem::take(&mut come), std::mem::take(&mut gone));
            if is.len() == was.len() {
                found.extend(is.into_iter().zip(was));
            }
        }
        match line.strip_prefix("@@ ") {
            Some(head) => next = first_number(head),
            None => next += usize::from(line.starts_with(' ')),
        }
        gone.extend(line.strip_prefix('-'));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::TreeId;

    #[test]
    fn a_module_that_is_found_in_place_of_the_runners_own_is_told() {
        check(&[], &["unittest.py"], "", "files stand in for the test runner's own: unittest.py");
        check(&[], &["src/pytest/__init__.py"], "", "files stand in for the test runner's own: src/pytest/__init__.py");
        check(&[], &["unittests.py"], "", "");
    }

    fn check(existed: &[&str], new: &[&str], diff: &str, expected: &str) {
        assert_eq!(told(&change(existed, new), diff, &[]), expected);
    }

    fn change(existed: &[&str], new: &[&str]) -> Change {
        let list = |files: &[&str]| files.iter().map(|file| (*file).to_owned()).collect::<Vec<_>>();
        Change {
            tree: TreeId("t".to_owned()),
            files: [list(existed), list(new)].concat(),
            existed: list(existed),
            leads_out: Vec::new(),
            carried: Vec::new(),
            behind_links: Vec::new(),
            left_out: Vec::new(),
            remarks: Vec::new(),
            diff_hash: String::new(),
            no_op: false,
        }
    }

    fn told(change: &Change, diff: &str, left_out: &[&str]) -> String {
        let diff = Diff { text: diff.to_owned(), left_out: left_out.iter().map(|file| (*file).to_owned()).collect() };
        let commands =
            ["A=1 sh -e tools/check.sh --all && grep -qx right src/answer.txt; ./lint src/main.c".to_owned()];
        to_review(&Looked { change, diff: &diff, steers: &[], commands: &commands }).unwrap_or_default()
    }

    #[test]
    fn tests_that_were_there_are_told_and_new_ones_are_not() {
        check(&["src/a.py"], &["tests/test_b.py"], "", "");
        check(&["src/a.py", "tests/test_a.py"], &[], "", "tests that were there were changed: tests/test_a.py");
        check(&["tests/README.md"], &[], "", "");
        let many = ["tests/a.py", "tests/b.json", "tests/c.py", "tests/d.py", "tests/e.py"];
        let told = "tests that were there were changed: tests/a.py, tests/b.json, tests/c.py and 2 more";
        check(&many, &[], "", told);
        let both = "tests that were there were changed: a_test.go; files that decide how tests run were changed: package.json; \
             new files decide how tests run: conftest.py";
        check(&["a_test.go", "package.json"], &["conftest.py"], "", both);
        check(&["src/a.py"], &["tests/conftest.py"], "", "new files decide how tests run: tests/conftest.py");
        check(&["src/a.py"], &["pytest.ini"], "", "new files decide how tests run: pytest.ini");
    }

    #[test]
    fn tests_that_only_got_lines_were_not_changed() {
        let diff = |lines: &str| format!("--- a/tests/test_a.py\n+++ b/tests/test_a.py\n@@ -1 +1,2 @@\n{lines}\n");
        let file = ["tests/test_a.py"];
        check(&file, &[], &diff(" def test_a(): pass\n+def test_b(): pass"), "");
        let changed = "tests that were there were changed: tests/test_a.py";
        check(&file, &[], &diff("-def test_a(): pass\n+def test_b(): pass"), changed);
    }

    #[test]
    fn tests_are_known_wherever_they_are() {
        let all = [
            "MyApp.Tests/Foo.cs",
            "ShopTest.cpp",
            "t/01.t",
            "x.feature",
            "fixtures/a.json",
            "src/it/java/a/FooIT.java",
        ];
        for file in all {
            check(&[file], &[], "", &format!("tests that were there were changed: {file}"));
        }
        check(&["scripts/run-tests"], &[], "", "files that decide how tests run were changed: scripts/run-tests");
        check(&["tools/check.sh", "lint"], &[], "", "what a check runs was changed: tools/check.sh, lint");
        // What it only reads is the work.
        check(&["src/answer.txt", "src/main.c"], &[], "", "");
        for file in ["src/latest.rs", "src/Contest.cs", "docs/tests.md", "other/check.py"] {
            check(&[file], &[], "", "");
        }
    }

    #[test]
    fn tests_among_the_code_are_told_where_they_lose_something() {
        let file = |name: &str, lines: &str| {
            format!("diff --git a/{name} b/{name}\n--- a/{name}\n+++ b/{name}\n@@ -1 +1 @@\n{lines}\n")
        };
        let told = "tests among the code were changed: src/a.rs";
        check(&["src/a.rs"], &[], &file("src/a.rs", "-    assert_eq!(a(), 3);\n+    assert!(a() > 0);"), told);
        check(&["src/a.rs"], &[], &file("src/a.rs", "-    #[test]"), told);
        check(&["src/a.rs"], &[], &file("src/a.rs", "+    assert_eq!(a(), 3);\n-    let a = 1;"), "");
        let moved = [file("src/a.rs", "-    assert_eq!(a(), 3);"), file("src/b.rs", "+assert_eq!(a(), 3);")].concat();
        check(&["src/a.rs", "src/b.rs"], &[], &moved, "");
        check(&["a.c"], &[], &file("a.c", "-assert_eq!(a, 3)"), "");
        let gone = file("src/a.rs", "-#[test]").replace("+++ b/src/a.rs", "+++ /dev/null");
        check(&["src/a.rs"], &[], &gone, told);
    }

    #[test]
    fn what_was_not_looked_at_is_told() {
        let change = Change { files: vec!["a.py".to_owned()], ..change(&[], &[]) };
        assert_eq!(told(&change, "", &["a.py"]), "too large to be looked at: a.py");
        let change = Change { behind_links: vec!["tests/l.py".to_owned()], ..change };
        assert_eq!(told(&change, "", &[]), "tests that were there were changed: tests/l.py");
    }

    #[test]
    fn code_that_reaches_into_the_runner_is_told_and_tests_that_use_it_are_not() {
        let file = |name: &str, line: &str| format!("--- /dev/null\n+++ b/{name}\n@@ -0,0 +1 @@\n{line}\n");
        let told = "the code reaches into the test runner: src/a.py (`os._exit`)";
        check(&[], &["src/a.py"], &file("src/a.py", "+os._exit(0)\n+import unittest"), told);
        check(&[], &["src/a.py"], &file("src/a.py", "-os._exit(0)\n import unittest"), "");
        check(&[], &["tests/a.py"], &file("tests/a.py", "+import unittest"), "");
        check(&[], &["a.md"], &file("a.md", "+os._exit(0)"), "");
        for (name, line, word) in [
            ("lib/a.rb", "+RSpec::Core::Pending", "RSpec"),
            ("lib/A.pm", "+$main::TODO = 'later';", "$main::TODO"),
            ("lib/A.pm", "+POSIX::_exit(0);", "POSIX::_exit"),
            ("src/a.rs", "+#[cfg(not(test))]", "not(test)"),
            ("src/a.rs", "+    if cfg!(test) {", "cfg!(test)"),
        ] {
            let told = format!("the code reaches into the test runner: {name} (`{word}`)");
            check(&[], &[name], &file(name, line), &told);
        }
        check(&[], &["src/a.rs"], &file("src/a.rs", "+#[cfg(test)]\n+mod tests {"), "");
    }

    #[test]
    fn a_new_test_that_decides_how_the_others_end_is_told() {
        let file = |name: &str, line: &str| format!("--- /dev/null\n+++ b/{name}\n@@ -0,0 +1 @@\n{line}\n");
        let told = "tests decide how the others end: a/main_test.go (`func TestMain(`)";
        check(&[], &["a/main_test.go"], &file("a/main_test.go", "+func TestMain(m *testing.M) {\n+os.Exit(0)"), told);
        check(&[], &["a/a_test.go"], &file("a/a_test.go", "+func TestA(t *testing.T) {"), "");
        check(
            &[],
            &["tests/test_a.py"],
            &file("tests/test_a.py", "+    os._exit(0)"),
            "tests decide how the others end: tests/test_a.py (`os._exit`)",
        );
    }
}
