//! What of a change somebody should see, whatever it proves. Pure; it only tells.

use crate::domain::Change;
use crate::prompt::one_line;
use crate::prompt::shorten;
use crate::toolchain;

/// So many files are named, and so much of each.
const NAMED: usize = 3;
const NAME_BYTES: usize = 80;

/// Why somebody should look at a change, if so: tests were there and are changed, what decides how they run is new or changed, or
/// its code reaches into the test runner. `diff` is the change as a unified diff, as far as it is known; `steers` are those of its files that
/// steer agents or this runtime.
#[must_use]
pub fn to_review(change: &Change, diff: &str, steers: &[String]) -> Option<String> {
    let all = || change.files.iter().map(String::as_str);
    let existed = || change.existed.iter().map(String::as_str);
    let is_new = |file: &&str| !change.existed.iter().any(|old| old == file);
    let prose = |file: &str| file.ends_with(".md") || file.ends_with(".rst");
    let is_test = |file: &&str| toolchain::is_test(file) || toolchain::is_test_data(file) && !prose(file);
    let configures = |file: &&str| toolchain::configures_tests(file);
    let reasons = [
        named("what steers agents or the runtime was changed", steers.iter().map(String::as_str)),
        named("tests that were there were changed", existed().filter(|file| is_test(file) && !configures(file))),
        named("files that decide how tests run were changed", existed().filter(configures)),
        // A new part of a project has such files of its own; so does who leaves out the tests of the old ones.
        named("new files decide how tests run", all().filter(|file| configures(file) && is_new(file))),
        named("the code reaches into the test runner", reaching(diff).iter().map(String::as_str)),
        named("files stand in for the test runner's own", all().filter(|file| toolchain::stands_in(file))),
    ];
    let reasons: Vec<String> = reasons.into_iter().flatten().collect();
    (!reasons.is_empty()).then(|| reasons.join("; "))
}

fn named<'a>(what: &str, files: impl Iterator<Item = &'a str>) -> Option<String> {
    let files: Vec<String> = files.map(|file| shorten(&one_line(file), NAME_BYTES).into_owned()).collect();
    let more = files.len().checked_sub(NAMED).filter(|more| *more > 0);
    let more = more.map(|more| format!(" and {more} more")).unwrap_or_default();
    let shown = files.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
    (!files.is_empty()).then(|| format!("{what}: {shown}{more}"))
}

/// Files that are no tests and whose added lines use what belongs to test runners, with the first such word of each.
fn reaching(diff: &str) -> Vec<String> {
    let mut found: Vec<(&str, &str)> = Vec::new();
    let mut file = "";
    let mut before = "";
    for line in diff.lines() {
        // An added line may look like a header; only a header follows one.
        if let Some(name) = line.strip_prefix("+++ ").filter(|_| before.starts_with("--- ")) {
            file = name.strip_prefix("b/").unwrap_or(name);
        } else {
            let code = toolchain::is_code(file) && !toolchain::is_test(file) && !toolchain::configures_tests(file);
            let known = found.iter().any(|(known, _)| *known == file);
            let word = line.strip_prefix('+').filter(|_| code && !known).and_then(toolchain::reaches_into_tests);
            found.extend(word.map(|word| (file, word)));
        }
        before = line;
    }
    found.into_iter().map(|(file, word)| format!("{file} (`{word}`)")).collect()
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
        let list = |files: &[&str]| files.iter().map(|file| (*file).to_owned()).collect::<Vec<_>>();
        let change = Change {
            tree: TreeId("t".to_owned()),
            files: [list(existed), list(new)].concat(),
            existed: list(existed),
            leads_out: Vec::new(),
            left_out: Vec::new(),
            remarks: Vec::new(),
            diff_hash: String::new(),
            no_op: false,
        };
        assert_eq!(to_review(&change, diff, &[]).unwrap_or_default(), expected);
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
    fn code_that_reaches_into_the_runner_is_told_and_tests_that_use_it_are_not() {
        let file = |name: &str, line: &str| format!("--- /dev/null\n+++ b/{name}\n@@ -0,0 +1 @@\n{line}\n");
        let told = "the code reaches into the test runner: src/a.py (`os._exit`)";
        check(&[], &["src/a.py"], &file("src/a.py", "+os._exit(0)\n+import unittest"), told);
        check(&[], &["src/a.py"], &file("src/a.py", "-os._exit(0)\n import unittest"), "");
        check(&[], &["tests/a.py"], &file("tests/a.py", "+import unittest"), "");
        check(&[], &["a.md"], &file("a.md", "+os._exit(0)"), "");
    }
}
