//! Tests that their runner numbers by their place, so that a case put before them gives them another id.

use super::counted_tests::is_renamed;
use super::{CountedTests, FailedTest};
use std::collections::{BTreeMap, BTreeSet};

/// What stands behind the id of a test that is new, where its id is that of another one at the base, or may be.
const NOW: &str = " (as it is numbered now)";
const NOW_OR_ANOTHER: &str = " (or another of its cases, as they are numbered now)";

/// What a change has done to the cases of a test, as far as its file tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cases {
    /// Nothing: an id is that of the same case as at the base.
    AsTheyWere,
    /// There may be more of them: no line of the file is gone.
    Added,
    /// They may be others.
    Changed,
}

/// Which tests of a run their runner numbers among each other.
struct Families {
    /// Names that several tests have (`red`, `red (2)`).
    namesakes: BTreeSet<String>,
}

impl Families {
    fn of_runs(runs: [&CountedTests; 3]) -> Self {
        let ids = runs.iter().flat_map(|run| run.failing.keys().chain(run.passed.iter().flatten()));
        Self { namesakes: ids.filter(|id| name(id) != id.as_str()).map(|id| name(id).to_owned()).collect() }
    }

    /// The one of a test that fails. Namesakes of one file are one: a file that is run before it gives all of them other numbers.
    fn of(&self, id: &str, failed: &FailedTest) -> Option<String> {
        masked(id).map(|(family, _)| family).or_else(|| {
            let file = failed.frame.as_deref().and_then(|frame| frame.split(':').next()).unwrap_or_default();
            self.namesakes.contains(name(id)).then(|| format!("{}\u{1f}{file}", name(id)))
        })
    }

    /// Those of the tests that fail in a run.
    fn all(&self, run: &CountedTests) -> BTreeSet<String> {
        run.failing.iter().filter_map(|(id, failed)| self.of(id, failed)).collect()
    }

    /// The ids of failing tests of one, in the order of their places.
    fn ids(&self, run: &CountedTests, family: &str) -> Vec<String> {
        let is_one = |(id, failed): &(&String, &FailedTest)| self.of(id, failed).as_deref() == Some(family);
        let mut ids: Vec<String> = run.failing.iter().filter(is_one).map(|(id, _)| id.clone()).collect();
        ids.sort_by_key(|id| place(id));
        ids
    }

    /// What has happened to the cases of one that a run has failing tests of. Of namesakes, files that are run before theirs say it, too.
    fn cases(&self, run: &CountedTests, family: &str, cases: &dyn Fn(&str, &FailedTest) -> Cases) -> Cases {
        let Some(id) = self.ids(run, family).into_iter().next() else { return Cases::AsTheyWere };
        match cases(&id, &run.failing[&id]) {
            Cases::AsTheyWere if masked(&id).is_none() => Cases::Added,
            cases => cases,
        }
    }
}

impl CountedTests {
    /// Whether a test failed at the base that may have another id here: its runner numbers it by its place, or it was moved or renamed.
    #[must_use]
    pub fn may_have_other_ids(&self, base: &Self, cases: &dyn Fn(&str, &FailedTest) -> Cases) -> bool {
        let families = Families::of_runs([self, base, base]);
        families.all(base).iter().any(|family| {
            let run = if families.ids(self, family).is_empty() { base } else { self };
            families.cases(run, family, cases) != Cases::AsTheyWere
        }) || base.failing.iter().any(|old| self.renamed(old, base).is_some())
    }

    /// The id that a test of the base has here, if it does not fail under its own and one fails like it that failed under none.
    fn renamed(&self, (old, before): (&String, &FailedTest), base: &Self) -> Option<String> {
        let is_new = |id: &&String| !base.failing.contains_key(*id);
        let mut new = self.failing.keys().filter(is_new);
        let is_it = |new: &&String| is_renamed((old, before), (new, &self.failing[*new]));
        (!self.failing.contains_key(old)).then(|| new.find(is_it).cloned()).flatten()
    }

    /// Gives tests that were moved or renamed the ids that they had: they fail with the tests of the base, and others like them fail instead.
    fn align_renamed(&mut self, base: &Self, there: &Self) {
        for old in there.failing.iter().filter(|(id, _)| base.failing.contains_key(*id)) {
            let Some(failed) = self.renamed(old, base).and_then(|new| self.failing.remove(&new)) else { continue };
            // It stands elsewhere; what it says is compared.
            let how = old.1.how.clone();
            self.failing.insert(old.0.clone(), FailedTest { how, source: None, ..failed });
        }
    }

    /// Gives tests that fail here the ids that they had at the base, where their runner numbers cases by their place
    /// (`test_mean[items3-result3]`), or several tests of one name (`red`, `red (2)`), or where they were moved or renamed. `there` is how these tests end with the same code and the
    /// tests of the base: by these ids it is known which of them still fail, and what fails beside as many is new. Which is which, what they
    /// print tells, or else their order; where cases may be gone, others may have come in their places ([`FailedTest::unsure`]). What fails there
    /// and has no like here fails with the old tests alone ([`CountedTests::only_with_old_tests`]). None: they did not run, and what fails
    /// still is a guess.
    ///
    /// ```
    /// # use reflexion_core::domain::{Cases, CountedTests, FailedTest};
    /// let failed = |id: &str| (id.to_owned(), FailedTest { values: "assert 2 == 2.5".to_owned(), ..FailedTest::default() });
    /// let of = |id: &str, ran| CountedTests { ran: Some(ran), failing: [failed(id)].into(), ..CountedTests::default() };
    /// let (base, mut now) = (of("test_mean[items1]", 3), of("test_mean[items2]", 4));
    /// now.align(&base, Some(&base), &|_, _| Cases::Added);
    /// assert!(now.failing.contains_key("test_mean[items1]"));
    /// ```
    pub fn align(&mut self, base: &Self, there: Option<&Self>, cases: &dyn Fn(&str, &FailedTest) -> Cases) {
        if let Some(there) = there {
            self.align_renamed(base, there);
        }
        let with_old_tests = there.unwrap_or(base);
        let families = Families::of_runs([self, base, with_old_tests]);
        for family in families.all(base) {
            let run = if families.ids(self, &family).is_empty() { base } else { &*self };
            let cases = match families.cases(run, &family, cases) {
                Cases::AsTheyWere => continue,
                Cases::Added if there.is_some() => Cases::Added,
                Cases::Added | Cases::Changed => Cases::Changed,
            };
            self.align_family((&families, &family), base, (with_old_tests, cases));
            let is_red = |id: &String| self.failing.contains_key(id);
            let old = there.map(|there| families.ids(there, &family)).unwrap_or_default();
            self.only_with_old_tests.extend(old.into_iter().filter(|id| !is_red(id)));
        }
    }

    fn align_family(&mut self, (families, family): (&Families, &str), base: &Self, (there, cases): (&Self, Cases)) {
        let (mut moved, new) = self.moved(there, (families, family));
        let taken: BTreeMap<String, FailedTest> =
            families.ids(self, family).into_iter().filter_map(|id| self.failing.remove_entry(&id)).collect();
        for (id, mut failed) in taken {
            let Some(was) = moved.remove(&id) else {
                let alike = |other: &&String| says_the_same(&new[*other], &failed);
                let now = if new.keys().filter(alike).count() == 1 { NOW } else { NOW_OR_ANOTHER };
                self.failing.insert(format!("{id}{now}"), failed);
                continue;
            };
            let is_same = base.failing.get(&was).is_some_and(|base| says_the_same(&failed, base));
            if !is_same {
                // Which one it was is not known, so where that one stopped says nothing.
                failed.source = None;
            }
            failed.unsure = cases == Cases::Changed;
            self.failing.insert(was, failed);
        }
        let Some(passed) = &mut self.passed else { return };
        for id in families.ids(base, family) {
            passed.remove(&id);
            let is_red = self.failing.contains_key(&id) || there.failing.contains_key(&id);
            passed.extend((!is_red).then_some(id));
        }
    }

    /// Which test of a family each one that fails is, by the ids that they have `there`; and those that fail here alone, with all that may be
    /// one of them.
    fn moved(
        &self,
        there: &Self,
        (families, family): (&Families, &str),
    ) -> (BTreeMap<String, String>, BTreeMap<String, FailedTest>) {
        let (mut now, mut before) = (families.ids(self, family), families.ids(there, family));
        let mut moved = BTreeMap::new();
        let mut pair = |is_one: &dyn Fn(&FailedTest, &FailedTest) -> bool| {
            now.retain(|id| {
                let old = before.iter().position(|old| is_one(&self.failing[id], &there.failing[old]));
                old.map(|at| moved.insert(id.clone(), before.remove(at))).is_none()
            });
        };
        // What it prints, how it fails, or at least their order.
        pair(&says_the_same);
        pair(&|now, before| now.how == before.how);
        pair(&|now, before| now.says_an_assertion_failed() == before.says_an_assertion_failed());
        pair(&|_, _| true);
        let new: Vec<&FailedTest> = now.iter().map(|id| &self.failing[id]).collect();
        let may_be = |failed: &FailedTest| new.iter().any(|new| says_the_same(failed, new));
        let all = families.ids(self, family).into_iter().map(|id| (id.clone(), self.failing[&id].clone()));
        (moved, all.filter(|(_, failed)| may_be(failed)).collect())
    }
}

/// The numbers in the id of a case, or behind the name of one of several tests that have it.
fn place(id: &str) -> Vec<usize> {
    let numbers = masked(id).map_or_else(|| vec![id[name(id).len()..].to_owned()], |(_, numbers)| numbers);
    numbers.iter().map(|number| number.trim_matches([' ', '(', ')']).parse().unwrap_or_default()).collect()
}

/// The id of a case without its numbers, and these: of `test_mean[items3-result3]`, `test_mean[items#-result#]`. None of what has none: pytest
/// numbers parameters that it cannot name, and `subTest(i=3)` of unittest does it by hand. A value that is a number (`[3-4]`) is none.
pub(super) fn masked(id: &str) -> Option<(String, Vec<String>)> {
    let (test, case) = id
        .strip_suffix(']')
        .and_then(|id| id.split_once('['))
        .or_else(|| id.strip_suffix(')').and_then(|id| id.split_once(" (")))?;
    let (mut masked, mut before, mut is_number) = (String::new(), ' ', false);
    let mut numbers: Vec<String> = Vec::new();
    for c in case.chars() {
        is_number = c.is_ascii_digit() && (is_number || before.is_alphabetic() || matches!(before, '_' | '='));
        match (is_number, before) {
            (true, '0'..='9') => numbers.iter_mut().last()?.push(c),
            (true, _) => {
                masked.push('#');
                numbers.push(c.to_string());
            }
            (false, _) => masked.push(c),
        }
        before = c;
    }
    (!numbers.is_empty()).then(|| (format!("{test}[{masked}]"), numbers))
}

/// Whether a runner numbers this test by its place among others, so that its id may be another one's in another run.
#[must_use]
pub fn is_numbered_by_place(id: &str) -> bool {
    masked(id).is_some() || name(id) != id
}

/// The id of one of several tests of one name, without its number.
fn name(id: &str) -> &str {
    let number =
        |rest: &'_ str| rest.strip_suffix(')')?.rsplit_once(" (").map(|(name, number)| (name.len(), number.to_owned()));
    match number(id) {
        Some((length, number)) if !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()) => &id[..length],
        _ => id,
    }
}

fn says_the_same(now: &FailedTest, before: &FailedTest) -> bool {
    now.how == before.how && now.values == before.values
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(failing: &[(&str, &str)], ran: usize) -> CountedTests {
        let failed = |(id, values): &(&str, &str)| {
            ((*id).to_owned(), FailedTest { values: (*values).to_owned(), ..FailedTest::default() })
        };
        CountedTests { ran: Some(ran), failing: failing.iter().map(failed).collect(), ..CountedTests::default() }
    }

    fn of(failing: &[(&str, &str)]) -> CountedTests {
        counted(failing, 4)
    }

    /// What fails, as it is numbered at the base.
    fn aligned(
        base: &CountedTests,
        there: &CountedTests,
        now: &[(&str, &str)],
        cases: Cases,
    ) -> Vec<(String, String, bool)> {
        let mut now = counted(now, 5);
        now.align(base, Some(there), &|_, _| cases);
        now.failing.into_iter().map(|(id, failed)| (id, failed.values, failed.unsure)).collect()
    }

    #[test]
    fn a_case_that_was_put_before_others_makes_none_of_them_a_new_failure() {
        let both = [("t[a1-b1]", "1 == 1.5"), ("t[a3-b3]", "2 == 2.5")];
        let base = of(&both);
        let check = |there: &[(&str, &str)], now: &[(&str, &str)], expected: &[(&str, &str)]| {
            let expected: Vec<_> =
                expected.iter().map(|(id, said)| ((*id).to_owned(), (*said).to_owned(), false)).collect();
            assert_eq!(aligned(&base, &of(there), now, Cases::Added), expected);
        };
        check(&both, &both, &both);
        check(&both, &[("t[a2-b2]", "1 == 1.5"), ("t[a4-b4]", "2 == 2.5")], &both);
        // One is fixed, and it is known which.
        check(&both[1..], &[("t[a4-b4]", "2 == 2.5")], &both[1..]);
        // The new one fails, too, where an old one stood.
        let new = ("t[a1-b1] (as it is numbered now)", "8 == 9");
        check(
            &both,
            &[("t[a1-b1]", "8 == 9"), ("t[a2-b2]", "1 == 1.5"), ("t[a4-b4]", "2 == 2.5")],
            &[both[0], new, both[1]],
        );
        // One that moved fails with other values.
        check(&both, &[("t[a2-b2]", "1 == 1.5"), ("t[a4-b4]", "7 == 2.5")], &[both[0], ("t[a3-b3]", "7 == 2.5")]);
    }

    #[test]
    fn what_names_no_values_is_known_by_what_fails_with_the_tests_of_the_base() {
        let said = "DID NOT RAISE";
        let base = of(&[("t[user1]", said), ("t[user3]", said)]);
        let ids = |there: &[&str], now: &[&str], cases| {
            let with =
                |ids: &[&str]| ids.iter().map(|id| (format!("t[user{id}]"), said.to_owned())).collect::<Vec<_>>();
            let there = with(there)
                .into_iter()
                .map(|(id, _)| (id, FailedTest { values: said.to_owned(), ..FailedTest::default() }));
            let there = CountedTests { failing: there.collect(), ..CountedTests::default() };
            let now = with(now);
            let now: Vec<(&str, &str)> = now.iter().map(|(id, said)| (id.as_str(), said.as_str())).collect();
            aligned(&base, &there, &now, cases).into_iter().map(|(id, _, unsure)| (id, unsure)).collect::<Vec<_>>()
        };
        let is = |id: &str, unsure| (id.to_owned(), unsure);
        // The first is fixed, and a case that passes stands before it.
        assert_eq!(ids(&["3"], &["4"], Cases::Added), [is("t[user3]", false)]);
        // That case fails.
        let new = "t[user4] (or another of its cases, as they are numbered now)";
        assert_eq!(ids(&["3"], &["0", "4"], Cases::Added), [is("t[user3]", false), is(new, false)]);
        // Both are fixed, and what passed at the base is broken.
        assert_eq!(ids(&["0"], &["1"], Cases::Added), [is("t[user0]", false)]);
        // One may be gone, and another one have come.
        assert_eq!(ids(&["1", "3"], &["0", "3"], Cases::Changed), [is("t[user1]", true), is("t[user3]", true)]);
        assert_eq!(ids(&["1", "3"], &["0", "3"], Cases::AsTheyWere), [is("t[user0]", false), is("t[user3]", false)]);
        // Ten is behind nine.
        assert_eq!(ids(&["3", "10"], &["4", "11"], Cases::Added), [is("t[user10]", false), is("t[user3]", false)]);
    }

    #[test]
    fn what_has_no_number_keeps_its_id() {
        let check = |base: &[(&str, &str)], now: &[(&str, &str)]| {
            let mut aligned = counted(now, 5);
            aligned.align(&of(base), None, &|_, _| Cases::Changed);
            assert_eq!(aligned, counted(now, 5));
        };
        check(&[("t[3-4]", "1 == 2")], &[("t[5-4]", "1 == 2")]);
        check(&[("test_a1", "1 == 2")], &[("test_a2", "1 == 2")]);
        assert!(!of(&[("t[3-4]", "1")]).may_have_other_ids(&of(&[("t[5-4]", "1")]), &|_, _| Cases::Changed));
        for [now, base] in [["t[mode0-user2]", "t[mode0-user1]"], ["t (i=2)", "t (i=1)"]] {
            assert!(of(&[(now, "1")]).may_have_other_ids(&of(&[(base, "1")]), &|_, _| Cases::Added));
        }
        assert!(of(&[("t[a3]", "1")]).may_have_other_ids(&of(&[("t[a5]", "1")]), &|_, _| Cases::Added));
    }

    #[test]
    fn of_tests_of_one_name_the_tests_of_the_base_tell_which_fail_still() {
        let with = |failing: &[(&str, &str)], passed: &[&str]| {
            let failed = |(id, file): &(&str, &str)| {
                ((*id).to_owned(), FailedTest { frame: Some(format!("{file}:3")), ..FailedTest::default() })
            };
            let passed = Some(passed.iter().map(|&id| id.to_owned()).collect());
            CountedTests { failing: failing.iter().map(failed).collect(), passed, ..CountedTests::default() }
        };
        let check = |base: &CountedTests, there: &CountedTests, mut now: CountedTests, expected: &CountedTests| {
            now.align(base, Some(there), &|_, _| Cases::AsTheyWere);
            assert_eq!(now, *expected);
        };
        let base = with(&[("red", "b.js")], &[]);
        // One of another file passes, and stands before it: the red one is not seen to pass.
        check(&base, &base, with(&[("red (2)", "b.js")], &["red"]), &with(&[("red", "b.js")], &[]));
        // It is another file's, and the red one is fixed.
        let fixed = with(&[("red", "a.js")], &["red (2)"]);
        check(&base, &with(&[], &["red"]), fixed.clone(), &fixed);
        // The first of two is broken, and the second fixed; one is put before them.
        let base = with(&[("red (2)", "b.js")], &["red"]);
        let there = with(&[("red", "b.js")], &["red (2)"]);
        let now = with(&[("red (2)", "b.js")], &["red", "red (3)"]);
        check(&base, &there, now, &with(&[("red", "b.js")], &["red", "red (2)", "red (3)"]));
        // A new one fails as well.
        let now = with(&[("red", "b.js"), ("red (3)", "b.js")], &["red (2)"]);
        let mut aligned = now.clone();
        aligned.align(&base, Some(&base), &|_, _| Cases::Added);
        assert_eq!(
            aligned.failing.keys().collect::<Vec<_>>(),
            ["red (2)", "red (3) (or another of its cases, as they are numbered now)"]
        );
    }

    #[test]
    fn a_moved_test_of_a_runner_that_names_none_that_pass_is_known_by_a_run_of_the_old_ones() {
        let of = |failing: &[&str]| {
            let failed = |id: &&str| {
                let how = format!("E\u{1f}{}\u{1f}assert 1 == 2", id.split("::").next().unwrap());
                ((*id).to_owned(), FailedTest { how, ..FailedTest::default() })
            };
            CountedTests { ran: Some(4), failing: failing.iter().map(failed).collect(), ..CountedTests::default() }
        };
        let check = |base: &[&str], there: &[&str], now: &[&str], new: &[&str]| {
            let (base, mut now) = (of(base), of(now));
            assert!(now.may_have_other_ids(&base, &|_, _| Cases::AsTheyWere));
            now.align(&base, Some(&of(there)), &|_, _| Cases::AsTheyWere);
            assert_eq!(now.beside(&base).new, new);
        };
        check(&["a.py::t"], &["a.py::t"], &["b.py::t"], &[]);
        check(&["a.py::t[1.5-x]"], &["a.py::t[1.5-x]"], &["b.py::t[1.5-x]"], &[]);
        check(&["a.py::t[user1]"], &["a.py::t[user1]"], &["b.py::t[user2]"], &[]);
        // The one is fixed: what fails is a copy.
        check(&["a.py::t"], &[], &["b.py::t"], &["b.py::t"]);
    }

    #[test]
    fn what_fails_with_the_tests_of_the_base_alone_is_not_seen_to_pass() {
        let base = of(&[("t[a1]", "1 == 2"), ("t[a2]", "3 == 4")]);
        let mut now = of(&[("t[a2]", "1 == 2")]);
        // Neither is fixed; a case is put before them, and another one is not run any more.
        now.align(&base, Some(&base), &|_, _| Cases::Added);
        assert_eq!(now.only_with_old_tests, ["t[a2]".to_owned()].into());
        assert!(!now.passes("t[a2]", &base));
        let beside = now.beside(&base);
        assert!(beside.is_only_unclear() && !beside.is_only_changed());
        assert_eq!(
            beside.words(),
            "with the tests as they were, `t[a2]`, or another of its cases, fails, and not with those of the change"
        );
    }
}
