//! Make: only targets that are really there, and only where no toolchain gave a check.

use super::found::Found;
use super::package::Package;

/// In the order in which make looks for them.
const NAMES: [&str; 3] = ["GNUmakefile", "makefile", "Makefile"];

/// What a makefile's `test` and `check` targets ask for.
pub(super) fn find(package: &Package) -> Option<Found> {
    let (name, text) = NAMES.iter().find_map(|name| Some((*name, package.text(name)?)))?;
    let mut found = Found::new("make");
    let rules = rules(&text);
    let has = |target: &str| rules.iter().any(|(t, _)| t == target);
    let needs = |target: &str, other: &str| rules.iter().any(|(t, p)| t == target && p.iter().any(|p| p == other));
    for (target, other) in [("test", "check"), ("check", "test")] {
        // One that the other makes anyway would run twice; of two that need each other, `test` stays.
        let covered = needs(other, target) && !(target == "test" && needs(target, other));
        if has(target) && !covered {
            found.check(&format!("make {target}"), format!("make {target}"));
            found.because(format!("{name} has the target `{target}`."));
        }
    }
    if found.checks.is_empty() {
        found.because(format!("{name} has neither a target `test` nor `check`, so there is no check."));
    }
    Some(found)
}

/// Explicit rules as targets with their prerequisites. Recipes, assignments and comments are no rules; variables and
/// patterns are not expanded.
fn rules(text: &str) -> Vec<(String, Vec<String>)> {
    let mut rules = Vec::new();
    for line in text.replace("\\\n", " ").lines() {
        let line = line.split('#').next().unwrap_or_default();
        let Some((targets, rest)) = line.split_once(':') else { continue };
        if line.starts_with('\t') || targets.contains('=') || rest.trim_start_matches(':').starts_with('=') {
            continue;
        }
        let rest = rest.trim_start_matches(':').split(';').next().unwrap_or_default();
        let needs: Vec<String> = rest.split_whitespace().map(str::to_owned).collect();
        rules.extend(targets.split_whitespace().map(|target| (target.to_owned(), needs.clone())));
    }
    rules
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(makefile: &str, expected: &[&str]) {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("Makefile"), makefile).unwrap();
        let found = find(&Package::new(dir.path())).unwrap();
        let runs: Vec<String> = found.checks.iter().map(|c| c.run.to_string()).collect();
        assert_eq!(runs, expected, "{makefile}");
    }

    #[test]
    fn only_targets_that_are_really_there_count() {
        check("all:\n\tcc x.c\ntest: all\n\t./x\n", &["make test"]);
        check("check test: all\n\t./x\n", &["make test", "make check"]);
        check("check: test\ntest:\n\t./x\n", &["make check"]);
        check("check:: ; ./x\n", &["make check"]);
        check("test: check\ncheck: test\n", &["make test"]);
        check(".PHONY: test\ntests:\n\t./x\n", &[]);
        check("test := a\ncheck = b: c\n# test:\nall:\n\techo test:\n", &[]);
        check("test: a \\\n  check\ncheck:\n\t./x\n", &["make test"]);
    }
}
