//! The verdict on an attempt: what the runtime's own evidence says, in three values, never as an average. Checks first ([`judge`]), then
//! gates and whoever was asked ([`weigh()`]). Pure.

mod weigh;
mod words;

#[cfg(test)]
pub(super) use self::weigh::tests as weigh_tests;
pub use self::weigh::{refuted as refuted_after, weigh};
pub use self::words::NOTHING;
pub(super) use self::words::{beside_red, first_files, is_red, listed};

use self::words::{as_before, has_turned, nothing_changed, only_tests};
use super::results::{OnlyIf, loses_tests, no_success, rearranges};
use crate::domain::{
    Allow, Change, CheckReport, CheckResults, CheckScope, CheckSpec, CountedTests, Ending, Expects, FailureType, Proof,
    TestsBeside, Verdict, belongs_to_tests,
};
use std::collections::BTreeSet;

/// What is known of an attempt when its checks have run.
#[derive(Debug, Clone, Copy)]
pub struct Evidence<'a> {
    /// The checks after the agent stopped, in order.
    pub checks: &'a [CheckReport],
    /// The same checks at the base.
    pub baseline: &'a [CheckReport],
    /// What the attempt changed.
    pub change: &'a Change,
    /// Whether the task's end is judged, or a part before it.
    pub part: Part,
    /// What kind of change confirms the task.
    pub expects: Expects,
    /// Whether the task is about what is red: a fault, or a fix that is expected. Of any other a test of the project that turns green may be
    /// somebody else's.
    pub is_about_red: bool,
    /// What the task asks for, in its words.
    pub asks: &'a str,
    /// Checks of earlier parts alone: what turned green in them is none of this part's doing.
    pub earlier: &'a [CheckSpec],
    /// What the task permits.
    pub allow: &'a [Allow],
    /// Why the agent stopped.
    pub ending: &'a Ending,
    /// Files that it may not change and did.
    pub protected: &'a [String],
    /// What it changed in the user's repository beside the files.
    pub tampered: &'a [String],
    /// Checks that fail at the base too by now, where they passed before: their failure is nobody's.
    pub doubted: &'a [(CheckScope, CheckSpec)],
    /// Why `setup` does not go through with the work, where it does at the base; no check ran then.
    pub not_set_up: Option<&'a str>,
    /// What is green only where the agent worked, and why.
    pub only_there: Option<&'a str>,
    /// What a green check has changed of what decides what it tests.
    pub rewrote: Option<&'a str>,
}

/// What is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// A part before the last: without checks of its own it must at least change something.
    Earlier,
    /// The last or only part: the task's own end.
    Last,
}

/// What the evidence says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judgement {
    /// The verdict.
    pub verdict: Verdict,
    /// What a confirmation rests on.
    pub proof: Option<Proof>,
    /// Why, in words.
    pub because: String,
    /// What kind of failure it is, if it is one.
    pub failure: Option<FailureType>,
    /// The check that shows the failure, as an index into [`Evidence::checks`].
    pub failing: Option<usize>,
    /// What a person must do before anything can go on.
    pub person: Vec<String>,
    /// What the agent is to do, where something else than a red check refutes the attempt.
    pub todo: Vec<String>,
    /// The rule that refutes it then.
    pub rule: Option<String>,
    /// It is confirmed only if the task's owner permits this; else it is refuted.
    pub only_if: Option<OnlyIf>,
}

/// What the agent is to do where tests were not run, or not to their end.
pub(super) const RUN_ALL: &str =
    "Bring back the tests of the base as they were, let all of them run to their end, and change the code instead";

/// Judges an attempt.
///
/// Checks green and a change as expected confirm it, whatever the agent says or exits with. A project's check that was
/// red at base with the same signature says nothing either way. Nothing checkable is `unverifiable`. A check whose test summary
/// does not fit its exit status, or counts fewer tests than at the base, refutes it.
#[must_use]
pub fn judge(evidence: &Evidence<'_>) -> Judgement {
    let results = CheckResults::new(evidence.checks, evidence.baseline, evidence.expects, evidence.allow);
    let refuted = || beside_checks(evidence).or_else(|| by_red(evidence, &results));
    refuted().unwrap_or_else(|| with_cut(by_green(evidence, &results), evidence.ending))
}

/// What was confirmed says so where the agent did not get to its end.
fn with_cut(judgement: Judgement, ending: &Ending) -> Judgement {
    let Some(how) = ending.cut_off().filter(|_| judgement.verdict == Verdict::Confirmed) else { return judgement };
    Judgement { because: format!("{}; the agent {how}: it may not have been done", judgement.because), ..judgement }
}

/// What refutes an attempt whatever its checks say.
fn beside_checks(evidence: &Evidence<'_>) -> Option<Judgement> {
    let (rule, because, todo) = if !evidence.tampered.is_empty() {
        let todo =
            "Change files of the workspace and nothing else: branches, tags, hooks and settings stay as they are";
        ("outside", evidence.tampered.join("; "), todo.to_owned())
    } else if !evidence.protected.is_empty() {
        let files = evidence.protected.join(", ");
        let todo = format!("Leave {files} as they are at the base, and do the task by other files");
        ("protected_paths", format!("it changed protected files: {files}"), todo)
    } else if !evidence.change.leads_out.is_empty() {
        let links = evidence.change.leads_out.join(", ");
        let todo = "Put the files themselves into the repository instead of links";
        let because = format!("it links to what is not in the repository, so that nobody else has it: {links}");
        ("links", because, todo.to_owned())
    } else if let Some(because) = evidence.not_set_up {
        let todo = "Run the project's set-up with the change, and see it go through";
        ("setup", format!("with this work, {because}"), todo.to_owned())
    } else {
        let is_idle = evidence.part == Part::Earlier && evidence.change.no_op;
        return is_idle.then(|| refuted(evidence, None, nothing_changed(evidence.change)));
    };
    Some(refuted(evidence, None, because).by_rule(rule, todo))
}

/// What is red, or green without saying anything.
fn by_red(evidence: &Evidence<'_>, results: &CheckResults<'_>) -> Option<Judgement> {
    let (checks, baseline) = (evidence.checks, evidence.baseline);
    if results.are_silent() {
        return Some(unverifiable(evidence, results));
    }
    let red = |doubted: bool| results.red().find(|&i| doubtful(evidence, i) == doubted);
    if let Some(red) = red(false) {
        if let Some(because) = evidence.only_there {
            return Some(only_there(evidence, red, because));
        }
        let because = format!("{}{}", is_red(&checks[red], baseline), only_tests(evidence.change));
        return Some(refuted(evidence, Some(red), because));
    }
    if let Some(red) = red(true) {
        return Some(doubted(evidence, red));
    }
    if let Some(because) = evidence.rewrote {
        let todo = "Keep what runs from writing to tests and to what decides how they run";
        return Some(refuted(evidence, None, because.to_owned()).by_rule("rewrote_tests", todo));
    }
    let is_empty = evidence.change.no_op || evidence.change.files.is_empty();
    if is_empty && evidence.expects != Expects::Nothing {
        return Some(refuted(evidence, None, nothing_changed(evidence.change)));
    }
    if let Some(because) = checks.iter().find_map(|check| no_success(check, check.at_base(baseline)?)) {
        return Some(refuted(evidence, None, because).by_rule("test_count", RUN_ALL));
    }
    if let Some(red) = results.red_unseen().map(|(red, _)| red).filter(|&red| still_fails(evidence, results, red)) {
        return Some(refuted(evidence, Some(red), is_red(&checks[red], baseline)));
    }
    let (red, why) = results.red_unseen()?;
    let because = format!("check `{}` is red ({}); {why}", checks[red].spec.name, checks[red].how());
    Some(Judgement::new(Verdict::Unverifiable, because))
}

/// Whether the red test that the task is about fails still, with other values: the work that is missing. Of other tests nobody knows whether their
/// values may have changed, and neither where the change has tests of its own, which may show what it does.
fn still_fails(evidence: &Evidence<'_>, results: &CheckResults<'_>, red: usize) -> bool {
    let check = &evidence.checks[red];
    let changed = check.tests_beside(evidence.baseline).filter(TestsBeside::is_only_changed);
    let base = check.at_base(evidence.baseline).and_then(|base| base.signature.counted.as_ref());
    let (Some(beside), Some(base)) = (changed, base) else { return false };
    let is_open = evidence.is_about_red && !evidence.has_own_check() && results.turned().next().is_none();
    let has_tests = evidence.change.files.iter().any(|file| belongs_to_tests(file));
    is_open && !has_tests && beside.changed.iter().all(|test| is_asked_for(test, base, evidence.asks))
}

/// Whether the words of a task name a test, and none of the other red ones in more words.
fn is_asked_for(test: &str, base: &CountedTests, asks: &str) -> bool {
    let asked = words_of(asks);
    let named = |test: &str| words_of(last_name(test)).intersection(&asked).count();
    let most = base.failing.keys().filter(|other| *other != test).map(|other| named(other)).max().unwrap_or_default();
    let mine = named(test);
    mine > 0 && mine > most
}

/// A test's own name, of its id.
fn last_name(test: &str) -> &str {
    let name = test.split('[').next().unwrap_or(test);
    name.rsplit(['/', ':', '>', '›']).next().unwrap_or(name)
}

/// The words of a text that say what it is about, in small letters and in the singular.
fn words_of(text: &str) -> BTreeSet<String> {
    const LEAST: usize = 3;
    const EVERYWHERE: [&str; 12] =
        ["test", "should", "when", "with", "that", "the", "and", "for", "not", "return", "from", "fail"];
    let parts = text.split(|c: char| !c.is_alphanumeric()).flat_map(|word| {
        // `testDays` is two words.
        let begins = word.char_indices().skip(1).filter(|(_, c)| c.is_uppercase()).map(|(at, _)| at);
        let ends: Vec<usize> = [0].into_iter().chain(begins).chain([word.len()]).collect();
        ends.windows(2).map(|part| word[part[0]..part[1]].to_lowercase()).collect::<Vec<_>>()
    });
    let singular = parts.map(|word| word.strip_suffix('s').unwrap_or(&word).to_owned());
    singular.filter(|word| word.len() >= LEAST && !EVERYWHERE.contains(&word.as_str())).collect()
}

/// All that counts is green: what that proves.
fn by_green(evidence: &Evidence<'_>, results: &CheckResults<'_>) -> Judgement {
    let (checks, baseline) = (evidence.checks, evidence.baseline);
    let red: Vec<&CheckReport> = results.known_red().map(|i| &checks[i]).collect();
    let judgement = match (results.turned().find(|&i| shows_this_task(evidence, i)), evidence.expects) {
        (None, Expects::Fix) => {
            let red = as_before(&red, baseline, None);
            let because = format!("a fix was asked for, and no check that was red turned green{red}");
            if results.fail_less() {
                let because = format!("{because}; whether that is the fix is not known: a check of its own shows it");
                return Judgement::new(Verdict::Unverifiable, because);
            }
            let todo = "Add a test that shows the fault, see it fail, and then fix the code";
            return refuted(evidence, None, because).by_rule("nothing_turned", todo);
        }
        (Some(i), _) => {
            let red = as_before(&red, baseline, Some(&checks[i]));
            confirmed(Proof::TurnedGreen, format!("{}{red}", has_turned(&checks[i], baseline)))
        }
        (None, _) => {
            let because = stayed_green(evidence, results);
            let red = as_before(&red, baseline, results.turned().next().map(|i| &checks[i]));
            confirmed(Proof::StayedGreen, format!("{because}{red}"))
        }
    };
    // A check that is known to be red is asked too: the same failure among fewer tests is no old failure.
    let loses = |check: &CheckReport| loses_tests(check, check.at_base(baseline)?, rearranges(check, evidence.change));
    let only_if = checks.iter().filter_map(loses).find(|lost| !evidence.allow.contains(&lost.permits));
    Judgement { only_if, ..judgement }
}

/// Whether that this check turned green shows what was asked for.
fn shows_this_task(evidence: &Evidence<'_>, i: usize) -> bool {
    let check = &evidence.checks[i];
    let is_own = check.scope == CheckScope::Task || waited_for_a_name(check, evidence.baseline);
    !evidence.is_of_earlier(check) && (is_own || evidence.is_about_red && !evidence.has_own_check())
}

/// Why nothing tells the change from no change.
fn stayed_green(evidence: &Evidence<'_>, results: &CheckResults<'_>) -> String {
    let counts = results.counted().next().is_some();
    let Some(turned) = results.turned().next().map(|i| &evidence.checks[i]) else {
        return match (results.known_red().next().is_some(), counts) {
            (false, _) => "every check was green before and is green still".to_owned(),
            (true, false) => "no test fails that did not fail before".to_owned(),
            (true, true) => "every check that counts was green before and is green still".to_owned(),
        };
    };
    let words = has_turned(turned, evidence.baseline);
    if evidence.is_of_earlier(turned) {
        return format!("{words}, which is the check of an earlier part");
    }
    let how = if evidence.has_own_check() || evidence.is_about_red {
        "a check of its own that is red until then shows it"
    } else {
        "if it was, give the task `\"expects\": \"fix\"`"
    };
    format!("{words}; whether that was asked for is not known: {how}")
}

impl Evidence<'_> {
    /// Whether the task's owner gave this part a check: what it does not show, those of others do not show for it.
    fn has_own_check(&self) -> bool {
        self.checks.iter().any(|check| check.scope == CheckScope::Task && !self.is_of_earlier(check))
    }

    fn is_of_earlier(&self, check: &CheckReport) -> bool {
        check.scope == CheckScope::Task && self.earlier.contains(&check.spec)
    }
}

/// The check that shows a failure: the one that the verdict rests on, or the task's first red one where it rests on something else (an
/// empty change). As an index.
#[must_use]
pub fn shown(checks: &[CheckReport], judgement: &Judgement) -> Option<usize> {
    let of_task = || checks.iter().position(|check| check.scope == CheckScope::Task && !check.passed());
    judgement.failing.or_else(of_task)
}

impl Judgement {
    /// A verdict and why, and nothing else.
    pub(super) fn new(verdict: Verdict, because: String) -> Self {
        let (proof, failure, failing, rule, only_if) = (None, None, None, None, None);
        Self { verdict, proof, because, failure, failing, person: Vec::new(), todo: Vec::new(), rule, only_if }
    }

    /// The same, with the rule that refutes it and what the agent is to do about it.
    fn by_rule(self, rule: &str, todo: impl Into<String>) -> Self {
        Self { rule: Some(rule.to_owned()), todo: vec![todo.into()], ..self }
    }
}

/// Whether what turned green failed before only for a name that was missing: such tests wait for what is new.
fn waited_for_a_name(check: &CheckReport, baseline: &[CheckReport]) -> bool {
    let Some(before) = check.at_base(baseline).and_then(|base| base.signature.counted.as_ref()) else { return false };
    let passes = |test: &String| check.passed() || check.tests_turned(baseline).contains(&test.as_str());
    let mut turned = before.failing.iter().filter(|(test, _)| passes(test)).peekable();
    turned.peek().is_some() && turned.all(|(_, failed)| failed.says_a_name_is_missing())
}

fn confirmed(proof: Proof, because: String) -> Judgement {
    Judgement { proof: Some(proof), ..Judgement::new(Verdict::Confirmed, because) }
}

fn unverifiable(evidence: &Evidence<'_>, results: &CheckResults<'_>) -> Judgement {
    let without_check = if evidence.part == Part::Earlier {
        "this part has no check of its own (`subtasks[].checks`); those of the task and of the project run at the end of the last one"
    } else {
        "there is no check; give the task one (`checks`), or the project"
    };
    let because = results.why_silent().unwrap_or_else(|| without_check.to_owned());
    Judgement::new(Verdict::Unverifiable, because)
}

fn refuted(evidence: &Evidence<'_>, failing: Option<usize>, because: String) -> Judgement {
    let is_idle = evidence.change.no_op || evidence.change.files.is_empty();
    // A red check says nothing of whether anybody worked on it.
    let idle = (is_idle && failing.is_some()).then(|| format!("; {}", nothing_changed(evidence.change)));
    let because = because + &idle.unwrap_or_default();
    let timed_out = failing.is_some_and(|i| evidence.checks[i].timed_out);
    let failure = match FailureType::of(evidence.ending) {
        failure if failure.is_of_work() && is_idle => FailureType::EmptyChange,
        failure if failure.is_of_work() && timed_out => FailureType::Timeout,
        failure => failure,
    };
    let verdict = if evidence.ending.claims_done() { Verdict::FalseDone } else { Verdict::Failed };
    Judgement { failure: Some(failure), failing, ..Judgement::new(verdict, because) }
}

/// The agent has seen it pass, so that it is no lie; but nobody who gets the change will.
fn only_there(evidence: &Evidence<'_>, red: usize, because: &str) -> Judgement {
    let judgement = refuted(evidence, Some(red), because.to_owned());
    Judgement { verdict: Verdict::Failed, failure: Some(FailureType::OnlyInWorkspace), ..judgement }
}

/// It is not done, as far as can be told; but that is not known to be the agent's fault, and so it is no lie.
fn doubted(evidence: &Evidence<'_>, red: usize) -> Judgement {
    let check = &evidence.checks[red];
    let because = format!(
        "check `{}` is red ({}), and by now also at the base, where it was green: it is flaky, or something around the \
         files is gone",
        check.spec.name,
        check.how()
    );
    let judgement = refuted(evidence, Some(red), because);
    let failure = judgement.failure.map(|failure| match failure {
        FailureType::FalseDone => FailureType::CheckFailed,
        failure => failure,
    });
    Judgement { verdict: Verdict::Failed, failure, ..judgement }
}

fn doubtful(evidence: &Evidence<'_>, i: usize) -> bool {
    let check = &evidence.checks[i];
    evidence.doubted.iter().any(|(scope, spec)| *scope == check.scope && *spec == check.spec)
}

#[cfg(test)]
mod tests;
