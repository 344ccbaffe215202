//! Tests that their runner numbers by their place, so that a case put before them gives them another id.

use super::{CountedTests, FailedTest, same_file};
use std::collections::{BTreeMap, BTreeSet};

/// What stands behind the id of a test that is new, where its id is that of another one at the base.
const NOW: &str = " (as it is numbered now)";

impl CountedTests {
    /// Gives tests that fail here the ids that they had at the base, where their runner numbers cases by their place
    /// (`test_mean[items3-result3]`), by what they print. Where one of several cases has moved and it is not known which is which, each stands
    /// for one that failed at the base, in other words. That is for files whose tests are others than the base's: with the same tests an id is
    /// that of the same case.
    ///
    /// ```
    /// # use reflexion_core::domain::{CountedTests, FailedTest};
    /// let failed = |id: &str| (id.to_owned(), FailedTest { values: "assert 2 == 2.5".to_owned(), ..FailedTest::default() });
    /// let of = |id: &str, ran| CountedTests { ran: Some(ran), failing: [failed(id)].into(), ..CountedTests::default() };
    /// let (base, mut now) = (of("test_mean[items1]", 3), of("test_mean[items2]", 4));
    /// now.align(&base);
    /// assert!(now.failing.contains_key("test_mean[items1]"));
    /// ```
    ///
    /// Several tests of one name (`red`, `red (2)`) are numbered like that, too. Of these, what one says and its file tell which it is, so that a
    /// new one before it takes nothing of it.
    pub fn align(&mut self, base: &Self) {
        self.align_names(base);
        let families: BTreeSet<String> = self.failing.keys().filter_map(|id| family(id)).collect();
        for family in families {
            let moved = self.moved(base, &family);
            let taken: BTreeMap<String, FailedTest> =
                moved.keys().filter_map(|id| self.failing.remove_entry(id)).collect();
            for (id, mut failed) in taken {
                let was = moved[&id].clone();
                if base.failing.get(&was).is_some_and(|base| !says_the_same(&failed, base)) {
                    // Which one it was is not known, so where that one stopped says nothing.
                    failed.source = None;
                }
                self.failing.insert(was, failed);
            }
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

    /// The ids of a family that are others now, and what they were.
    fn moved(&self, base: &Self, family: &str) -> BTreeMap<String, String> {
        let (mut now, mut before) = (of_family(self, family), of_family(base, family));
        let stays = |id: &String| match (self.failing.get(id), base.failing.get(id)) {
            (Some(now), Some(before)) => says_the_same(now, before),
            _ => false,
        };
        now.retain(|id| !stays(id));
        before.retain(|id| !stays(id));
        let mut moved = BTreeMap::new();
        now.retain(|id| {
            let failed = &self.failing[id];
            let old = before.iter().position(|old| names_values(failed) && says_the_same(failed, &base.failing[old]));
            old.map(|at| moved.insert(id.clone(), before.remove(at))).is_none()
        });
        if moved.is_empty() && self.ran == base.ran {
            return moved;
        }
        // Cases have moved: what prints the same as one that failed before is no new failure, also where it names no values.
        now.retain(|id| {
            let old = before.iter().position(|old| says_the_same(&self.failing[id], &base.failing[old]));
            old.map(|at| moved.insert(id.clone(), before.remove(at))).is_none()
        });
        // Of the others nobody knows which is which; one that fails in the same way is the more likely.
        before.retain(|old| !now.contains(old));
        for id in now {
            let is_taken = moved.values().any(|old| *old == id);
            if base.failing.contains_key(&id) && !is_taken {
                continue;
            }
            let (failed, asserts) = (&self.failing[&id], self.failing[&id].says_an_assertion_failed());
            let same_way = before.iter().position(|old| base.failing[old].how == failed.how);
            let same_kind = || before.iter().position(|old| base.failing[old].says_an_assertion_failed() == asserts);
            let alike = same_way.or_else(same_kind).unwrap_or(0);
            let old = if before.is_empty() { None } else { Some(before.remove(alike)) };
            match old {
                Some(old) => _ = moved.insert(id, old),
                None if is_taken => _ = moved.insert(id.clone(), format!("{id}{NOW}")),
                None => {}
            }
        }
        moved
    }
}

/// The ids of failing tests of a family.
fn of_family(counted: &CountedTests, family: &str) -> Vec<String> {
    counted.failing.keys().filter(|id| self::family(id).as_deref() == Some(family)).cloned().collect()
}

/// The id of a case without its number: of `test_mean[items3-result3]`, `test_mean[items#-result#]`. None of what has none, or has several:
/// pytest gives all parameters of a case the same one, and a value that it can name has none.
fn family(id: &str) -> Option<String> {
    let (test, case) = id.strip_suffix(']')?.split_once('[')?;
    let (mut masked, mut before, mut is_number) = (String::new(), ' ', false);
    let mut numbers: Vec<String> = Vec::new();
    for c in case.chars() {
        is_number = c.is_ascii_digit() && (is_number || before.is_alphabetic() || before == '_');
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
    let first = numbers.first()?;
    numbers.iter().all(|number| number == first).then(|| format!("{test}[{masked}]"))
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

/// Whether what it prints tells one case from another.
fn names_values(failed: &FailedTest) -> bool {
    failed.values.contains(|c: char| c.is_ascii_digit() || c == '\'' || c == '"')
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

    #[test]
    fn a_case_that_was_put_before_others_makes_none_of_them_a_new_failure() {
        let base = counted(&[("t[a1-b1]", "1 == 1.5"), ("t[a3-b3]", "2 == 2.5")], 4);
        let check = |now: &[(&str, &str)], ran: usize, expected: &[(&str, &str)]| {
            let mut now = counted(now, ran);
            now.align(&base);
            assert_eq!(now, counted(expected, ran));
        };
        let both = [("t[a1-b1]", "1 == 1.5"), ("t[a3-b3]", "2 == 2.5")];
        check(&both, 4, &both);
        check(&[("t[a2-b2]", "1 == 1.5"), ("t[a4-b4]", "2 == 2.5")], 5, &both);
        // One is fixed, and it is known which.
        check(&[("t[a4-b4]", "2 == 2.5")], 5, &both[1..]);
        // A case is gone, and another one was put elsewhere.
        check(&[("t[a1-b1]", "1 == 1.5"), ("t[a2-b2]", "2 == 2.5")], 4, &both);
        // The new one fails, too, where an old one stood.
        let new = ("t[a1-b1] (as it is numbered now)", "8 == 9");
        check(
            &[("t[a1-b1]", "8 == 9"), ("t[a2-b2]", "1 == 1.5"), ("t[a4-b4]", "2 == 2.5")],
            5,
            &[both[0], both[1], new],
        );
        // One that moved fails with other values, so that it may be either.
        check(&[("t[a2-b2]", "1 == 1.5"), ("t[a4-b4]", "7 == 2.5")], 5, &[both[0], ("t[a3-b3]", "7 == 2.5")]);
        // One is fixed, and the other one names no values.
        let failed = |id: &str, how: &str| (id.to_owned(), FailedTest { how: how.to_owned(), ..FailedTest::default() });
        let of = |failing: Vec<_>, ran| CountedTests {
            ran: Some(ran),
            failing: failing.into_iter().collect(),
            ..CountedTests::default()
        };
        let before = of(vec![failed("m[a0]", "AssertionError"), failed("m[a1]", "ZeroDivisionError")], 2);
        let mut now = of(vec![failed("m[a2]", "ZeroDivisionError")], 3);
        now.align(&before);
        assert_eq!(now, of(vec![failed("m[a1]", "ZeroDivisionError")], 3));
    }

    #[test]
    fn what_has_not_moved_keeps_its_id() {
        let check = |base: &[(&str, &str)], now: &[(&str, &str)], ran: usize| {
            let mut aligned = counted(now, ran);
            aligned.align(&counted(base, 4));
            assert_eq!(aligned, counted(now, ran));
        };
        // Another case fails with as many tests, and what it prints is not said by any.
        check(&[("t[a1]", "1 == 2")], &[("t[a3]", "4 == 5")], 4);
        check(&[("t[a1]", "assert False")], &[("t[a3]", "assert False")], 4);
        // These are no numbers of places.
        check(&[("t[3-4]", "1 == 2")], &[("t[5-4]", "1 == 2")], 5);
        check(&[("test_a1", "1 == 2")], &[("test_a2", "1 == 2")], 5);
        check(&[("t[utf8-sha1]", "1 == 2")], &[("t[utf16-sha1]", "1 == 2")], 5);
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
            now.align(&with(&[("red", "b.js", "1 == 2")], &[]));
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
