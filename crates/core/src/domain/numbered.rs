//! Tests that their runner numbers by their place, so that a case put before them gives them another id.

use super::{CountedTests, FailedTest, same_file};
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

impl CountedTests {
    /// Whether a test failed at the base that its runner numbers by its place, and that may have another number here.
    #[must_use]
    pub fn may_be_renumbered(&self, base: &Self, cases: &dyn Fn(&str, &FailedTest) -> Cases) -> bool {
        let families: BTreeSet<String> = self.failing.keys().filter_map(|id| family(id)).collect();
        families.iter().any(|family| base.has_family(family) && self.cases_of(family, cases) != Cases::AsTheyWere)
    }

    /// Gives tests that fail here the ids that they had at the base, where their runner numbers cases by their place
    /// (`test_mean[items3-result3]`). `there` is how these tests end with the same code and the tests of the base: by these ids it is known
    /// which of them still fail, and what fails beside as many is new. Which is which, what they print tells, or else their order; where cases
    /// may be gone, others may have come in their places ([`FailedTest::unsure`]).
    ///
    /// ```
    /// # use reflexion_core::domain::{Cases, CountedTests, FailedTest};
    /// let failed = |id: &str| (id.to_owned(), FailedTest { values: "assert 2 == 2.5".to_owned(), ..FailedTest::default() });
    /// let of = |id: &str, ran| CountedTests { ran: Some(ran), failing: [failed(id)].into(), ..CountedTests::default() };
    /// let (base, mut now) = (of("test_mean[items1]", 3), of("test_mean[items2]", 4));
    /// now.align(&base, &base, &|_, _| Cases::Added);
    /// assert!(now.failing.contains_key("test_mean[items1]"));
    /// ```
    ///
    /// Several tests of one name (`red`, `red (2)`) are numbered like that, too. Of these, what one says and its file tell which it is, so that a
    /// new one before it takes nothing of it.
    pub fn align(&mut self, base: &Self, there: &Self, cases: &dyn Fn(&str, &FailedTest) -> Cases) {
        self.align_names(base);
        let families: BTreeSet<String> = self.failing.keys().filter_map(|id| family(id)).collect();
        for family in families.iter().filter(|family| base.has_family(family)) {
            let cases = self.cases_of(family, cases);
            if cases != Cases::AsTheyWere {
                self.align_family(family, base, (there, cases));
            }
        }
    }

    fn has_family(&self, of: &str) -> bool {
        self.failing.keys().any(|id| family(id).as_deref() == Some(of))
    }

    fn cases_of(&self, family: &str, cases: &dyn Fn(&str, &FailedTest) -> Cases) -> Cases {
        let ids = of_family(self, family);
        ids.first().map_or(Cases::AsTheyWere, |id| cases(id, &self.failing[id]))
    }

    fn align_family(&mut self, family: &str, base: &Self, (there, cases): (&Self, Cases)) {
        let (mut moved, new) = self.moved(there, family);
        let taken: BTreeMap<String, FailedTest> =
            of_family(self, family).into_iter().filter_map(|id| self.failing.remove_entry(&id)).collect();
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
        for id in of_family(base, family) {
            passed.remove(&id);
            let is_red = self.failing.contains_key(&id) || there.failing.contains_key(&id);
            passed.extend((!is_red).then_some(id));
        }
    }

    /// Gives each of several tests of one name that fails the number that it had.
    fn align_names(&mut self, base: &Self) {
        let is_known = |id: &String| self.failing.get(id).is_some_and(|now| is_it(now, &base.failing[id]));
        let open: Vec<String> = base.failing.keys().filter(|id| !is_known(id)).cloned().collect();
        for old in open {
            let is_one = |id: &&String| *id != &old && name(id) == name(&old);
            let mut same = self.failing.keys().filter(is_one).filter(|id| {
                let is_of_another = base.failing.get(*id).is_some_and(|before| is_it(&self.failing[*id], before));
                !is_of_another && is_it(&self.failing[*id], &base.failing[&old])
            });
            let Some(now) = same.next().cloned() else { continue };
            self.swap(&now, &old);
        }
    }

    /// Two tests have each other's id from now on.
    fn swap(&mut self, one: &str, other: &str) {
        let (first, second) = (self.failing.remove(one), self.failing.remove(other));
        self.failing.extend(first.map(|failed| (other.to_owned(), failed)));
        self.failing.extend(second.map(|failed| (one.to_owned(), failed)));
        if let Some(passed) = &mut self.passed {
            let [first, second] = [one, other].map(|id| passed.remove(id));
            passed.extend(first.then(|| other.to_owned()).into_iter().chain(second.then(|| one.to_owned())));
        }
    }

    /// Which test of a family each one that fails is, by the ids that they have `there`; and those that fail here alone, with all that may be
    /// one of them.
    fn moved(&self, there: &Self, family: &str) -> (BTreeMap<String, String>, BTreeMap<String, FailedTest>) {
        let (mut now, mut before) = (of_family(self, family), of_family(there, family));
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
        let all = of_family(self, family).into_iter().map(|id| (id.clone(), self.failing[&id].clone()));
        (moved, all.filter(|(_, failed)| may_be(failed)).collect())
    }
}

/// The ids of failing tests of a family, in the order of their places.
fn of_family(counted: &CountedTests, family: &str) -> Vec<String> {
    let mut ids: Vec<String> =
        counted.failing.keys().filter(|id| self::family(id).as_deref() == Some(family)).cloned().collect();
    ids.sort_by_key(|id| place(id));
    ids
}

/// The numbers in the id of a case.
fn place(id: &str) -> Vec<usize> {
    masked(id).map(|(_, numbers)| numbers.iter().filter_map(|number| number.parse().ok()).collect()).unwrap_or_default()
}

/// The id of a case without its numbers: of `test_mean[items3-result3]`, `test_mean[items#-result#]`. None of what has none: pytest numbers
/// parameters that it cannot name, and `subTest(i=3)` of unittest does it by hand. A value that is a number (`[3-4]`) is none.
fn family(id: &str) -> Option<String> {
    masked(id).map(|(family, _)| family)
}

fn masked(id: &str) -> Option<(String, Vec<String>)> {
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
    family(id).is_some() || name(id) != id
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

/// Whether a test that fails is the one that failed at the base: in the same file, and it says the same.
fn is_it(now: &FailedTest, before: &FailedTest) -> bool {
    let file =
        |test: &'_ FailedTest| test.frame.as_deref().and_then(|frame| frame.split(':').next()).map(str::to_owned);
    let is_one = match (file(now), file(before)) {
        (Some(now), Some(before)) => same_file(&now, &before),
        (now, before) => now == before,
    };
    says_the_same(now, before) && is_one
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
        now.align(base, there, &|_, _| cases);
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
            aligned.align(&of(base), &of(base), &|_, _| Cases::Changed);
            assert_eq!(aligned, counted(now, 5));
        };
        check(&[("t[3-4]", "1 == 2")], &[("t[5-4]", "1 == 2")]);
        check(&[("test_a1", "1 == 2")], &[("test_a2", "1 == 2")]);
        assert!(!of(&[("t[3-4]", "1")]).may_be_renumbered(&of(&[("t[5-4]", "1")]), &|_, _| Cases::Changed));
        for [now, base] in [["t[mode0-user2]", "t[mode0-user1]"], ["t (i=2)", "t (i=1)"]] {
            assert!(of(&[(now, "1")]).may_be_renumbered(&of(&[(base, "1")]), &|_, _| Cases::Added));
        }
        assert!(of(&[("t[a3]", "1")]).may_be_renumbered(&of(&[("t[a5]", "1")]), &|_, _| Cases::Added));
    }

    #[test]
    fn a_new_test_of_the_name_of_a_red_one_takes_nothing_of_it() {
        let with = |failing: &[(&str, &str, &str)], passed: &[&str]| {
            let failed = |(id, file, values): &(&str, &str, &str)| {
                let frame = Some(format!("{file}:3"));
                ((*id).to_owned(), FailedTest { values: (*values).to_owned(), frame, ..FailedTest::default() })
            };
            let passed = Some(passed.iter().map(|&id| id.to_owned()).collect());
            CountedTests { failing: failing.iter().map(failed).collect(), passed, ..CountedTests::default() }
        };
        let check = |mut now: CountedTests, expected: &CountedTests| {
            let base = with(&[("red", "b.js", "1 == 2")], &[]);
            now.align(&base, &base, &|_, _| Cases::AsTheyWere);
            assert_eq!(now, *expected);
        };
        // It passes, and stands before it: the red one is not seen to pass.
        let expected = with(&[("red", "b.js", "1 == 2")], &["red (2)"]);
        check(with(&[("red (2)", "b.js", "1 == 2")], &["red"]), &expected);
        // Of another file, or with other words, it is another one.
        for (file, values) in [("a.js", "1 == 2"), ("b.js", "1 == 3")] {
            let other = with(&[("red (2)", file, values)], &["red"]);
            check(other.clone(), &other);
        }
        let both = with(&[("red", "a.js", "3 == 4"), ("red (2)", "b.js", "1 == 2")], &[]);
        check(both, &with(&[("red (2)", "a.js", "3 == 4"), ("red", "b.js", "1 == 2")], &[]));
    }
}
