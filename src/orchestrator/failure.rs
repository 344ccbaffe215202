//! What is known of a failed attempt: for the next prompt, and for whoever writes the lesson.

use super::course::{Judged, shown_diff};
use super::healer;
use super::machine::Input;
use super::past_failure::{PastChange, PastFailure};
use super::task_run::{LastChange, Prepared, Progress, TaskPlan, TaskRun};
use super::verdict::{Judgement, RUN_ALL, beside_red, is_red};
use crate::domain::{
    ChangedLine, CheckReport, CheckScope, CheckSpec, Ending, FailedCheck, FailureContext, FailureType, LessonFollowed,
    Output, Reflection, Refutation, Signature, TaskId, Timestamp, TreeId, belongs_to_tests, changed_lines, same_file,
};
use crate::prompt::{PartOrigin, one_line, relative, with_proposed};
use crate::services::Diff;

/// What an agent is to do where several tests are red, and none of them was moved.
const FIND_ITS_TEST: &str =
    "Find the test among the red ones that shows what the task asks, and change the code until that one passes";

/// What the machine was last fed with, if that is an attempt that failed.
fn judged_last(past: &[Input]) -> Option<(&Judgement, &TreeId)> {
    match past.last()? {
        Input::Judged { judgement, tree, .. } if judgement.failure.is_some() => Some((judgement, tree)),
        _ => None,
    }
}

impl TaskRun {
    /// Keeps a failure for the next prompt, and that of the attempt before.
    pub fn remember_failure(&mut self, judged: &Judged, baseline: &[CheckReport]) {
        let next = self.failure_for_next(judged, baseline);
        self.progress.failed_before = std::mem::replace(&mut self.progress.last_failure, next);
    }

    /// What the next prompt says of what was judged, if it failed.
    pub fn failure_for_next(&self, judged: &Judged, baseline: &[CheckReport]) -> Option<PastFailure> {
        let part = judged.attempt.part;
        let goes_back =
            |before: &&PastFailure| judged.change.no_op && before.part == part && !before.change.files.is_empty();
        let before = self.progress.last_failure.as_ref().filter(goes_back).map(|before| &before.change);
        let because = for_agent(judged, baseline);
        let because = match before {
            Some(PastChange { number, because: of_change, .. }) => {
                let now = if because.is_empty() { String::new() } else { format!("{because}. ") };
                format!("{now}Attempt {number}, the last that changed anything, failed so: {of_change}")
            }
            None => because,
        };
        let own = || PastChange {
            number: judged.attempt.number,
            because: judged.judgement.because.clone(),
            files: changed(judged),
            diff: judged.diff.clone(),
        };
        judged.judgement.failure.map(|_| PastFailure {
            part,
            number: judged.attempt.number,
            because,
            check: judged.shown().cloned(),
            change: before.cloned().unwrap_or_else(own),
        })
    }

    /// The failure of the attempt that an earlier process of the run judged last, for the prompt of the one that comes next: from the record of its
    /// turn, and its diff from the files that the journal names. What is not there any more is left out; that it failed is not.
    pub async fn recall_failure(&mut self, prepared: &Prepared) {
        let workspace = &prepared.workspace;
        let Some((judgement, tree)) = judged_last(&self.progress.past) else { return };
        let Some(last) = &self.progress.last_judged else { return };
        let Some(part) = self.plan.parts.iter().position(|part| part.id == last.subtask) else { return };
        // What the journal does not know of, an agent may have written while nobody looked.
        let record = match &last.record {
            Some(digest) => self.plan.context.services.verdicts.kept(&last.session, digest).await.ok().flatten(),
            None => None,
        };
        let suspects =
            record.as_ref().map(|record| healer::suspects(&record.checks, &prepared.baseline)).unwrap_or_default();
        let kept = record.as_ref().and_then(|record| record.failure.clone());
        let check = kept.as_ref().and_then(|kept| record.as_ref()?.checks.get(kept.check?).cloned());
        let is_known = kept.as_ref().is_none_or(|kept| !kept.files.is_empty());
        let diff = if is_known { workspace.diff(tree).await.ok() } else { None };
        let because = kept.as_ref().map_or_else(|| judgement.because.clone(), |kept| kept.because.clone());
        // Without a record, the change itself tells what is in it.
        let changed = || diff.as_ref().map(Diff::files).unwrap_or_default();
        let (files, of_change) = kept.map_or_else(|| (changed(), None), |kept| (kept.files, kept.of_change));
        let (number, of_change) = of_change.unwrap_or_else(|| (last.attempt, judgement.because.clone()));
        let diff_text = diff.as_ref().map(shown_diff).unwrap_or_default();
        self.progress.last_change = diff.map(|_| LastChange { part, attempt: number, tree: tree.clone() });
        let change = PastChange { number, because: of_change, files, diff: diff_text };
        let failure = PastFailure { part, number: last.attempt, because, check, change };
        if self.progress.explained.contains(&(last.subtask.clone(), last.attempt)) {
            self.progress.last_failure = Some(failure.explained());
            return;
        }
        self.progress.last_failure = Some(failure);
        // The process that ended would have looked whether something is gone; what it would have brought back is there in any case.
        if !suspects.is_empty() {
            (self.work.suspects, self.work.made_anew) = (suspects, Some(tree.clone()));
        }
    }

    /// What the last attempt at a part said of its work does not count: the next prompt does not hold it, nor its lesson.
    pub(super) fn explain_failure(&mut self, part: usize, attempt: u32) {
        self.progress.last_failure = self.progress.last_failure.take().map(PastFailure::explained);
        self.progress.explained.insert((self.plan.parts[part].id.clone(), attempt));
    }
}

impl Progress {
    /// The number of the last attempt at a part, where what failed in it is one of these checks.
    pub(super) fn failed_by(&self, part: usize, checks: &[CheckSpec]) -> Option<u32> {
        let failure = self.last_failure.as_ref().filter(|last| last.part == part)?;
        checks.contains(&failure.check.as_ref()?.spec).then_some(failure.number)
    }
}

impl TaskPlan {
    /// What is known of a failed attempt, for the generator.
    pub async fn failure_context(&self, judged: &Judged) -> FailureContext {
        let services = &self.context.services;
        let part = &self.parts[judged.attempt.part];
        let previous_reflections = self.previous_reflections(judged.attempt.part).await;
        FailureContext {
            id: format!("fc-{}", services.clock.new_id()),
            subtask_id: part.id.clone(),
            subtask_description: self.described(judged.attempt.part),
            acceptance_criteria: self.task.acceptance_criteria.clone(),
            followed: followed(&previous_reflections, judged),
            previous_reflections,
            ..judged.failure_of(self.task.id.clone(), services.clock.now())
        }
    }

    /// What a part is about, in words.
    pub(super) fn described(&self, part: usize) -> String {
        if let Some(proposed) = self.proposed(part) {
            return with_proposed(&format!("{}\n\n{}", self.task.title, self.task.description), &proposed);
        }
        self.words_of(part)
    }

    fn words_of(&self, part: usize) -> String {
        let part = &self.parts[part];
        format!("{}\n\n{}", part.title, part.description).trim().to_owned()
    }

    /// The words of a part, if they are an agent's.
    pub(super) fn proposed(&self, part: usize) -> Option<String> {
        let is_proposed = self.origin == PartOrigin::Proposed && !self.task.subtasks.is_empty();
        is_proposed.then(|| self.words_of(part))
    }

    /// Earlier lessons of a part. Without them the next may repeat one; that is no reason to have none.
    pub(super) async fn previous_reflections(&self, part: usize) -> Vec<Reflection> {
        let limit = self.context.services.settings.reflexion().max_reflections_per_retry;
        let mut previous = self.recent(part, limit).await.unwrap_or_default();
        previous.retain(|r| r.subtask_id == self.parts[part].id.as_str());
        previous
    }
}

impl Judged {
    /// What the attempt itself says of its failure.
    pub(super) fn failure_of(&self, task: TaskId, now: Timestamp) -> FailureContext {
        // Of what fails in it, nothing is about this attempt.
        let check = self.shown().filter(|_| !self.old.lost && !self.old.open).or_else(|| still_red(self));
        let shown = |other: &CheckReport| check.is_some_and(|check| std::ptr::eq(check, other));
        let ran = self.checks.iter().filter(|other| !other.is_not_run() && !shown(other));
        // Of a check that was red before, the lesson is about what is new.
        let signature = self.old.rest.clone().or_else(|| Some(check?.signature.clone())).unwrap_or_default();
        FailureContext {
            session_id: self.session.clone(),
            failure_type: self.judgement.failure.unwrap_or(FailureType::CheckFailed),
            ending: self.ending.clone(),
            check: check.map(failed_check),
            ran: ran.map(|check| check.spec.name.clone()).collect(),
            todo: match check {
                Some(_) => Vec::new(),
                None if self.old.lost => vec![RUN_ALL.to_owned()],
                None if self.old.open => vec![FIND_ITS_TEST.to_owned()],
                None => self.judgement.todo.clone(),
            },
            refuted_by: if check.is_none() { self.refutation() } else { None },
            output: self.relative(check.map_or_else(|| agent_output(self), |c| c.output.clone())),
            signature: self.relative_signature(signature),
            flaky: self.doubts.flaky.clone(),
            known_failures: check.map(|check| self.known_failures(check)).unwrap_or_default(),
            files_changed: changed(self),
            files_left: if self.change.no_op { self.change.files.clone() } else { Vec::new() },
            diff_hash: self.change.diff_hash.clone(),
            diff: self.diff.clone(),
            steps: self.did.steps.clone(),
            steps_left_out: self.did.left_out,
            agent_message: self.message.clone(),
            ..FailureContext::new(task, self.attempt.number, now)
        }
    }

    /// The rule that refutes it beside the checks, and where in the change that shows.
    fn refutation(&self) -> Option<Refutation> {
        let rule = match () {
            () if self.old.lost => "test_count".to_owned(),
            () if self.old.open => "nothing_turned".to_owned(),
            () => self.judgement.rule.clone()?,
        };
        let is_about_tests = ["test_count", "tests_kept"].contains(&rule.as_str());
        let because = &self.judgement.because;
        let shows = |line: &ChangedLine<'_>| {
            if is_about_tests {
                // What is switched off is written anew, and what is gone stood there.
                belongs_to_tests(line.file) && !line.text.trim().is_empty() && (!line.is_added || is_off(line.text))
            } else {
                names_file(because, line.file)
            }
        };
        let lines: Vec<ChangedLine<'_>> = changed_lines(&self.diff).filter(shows).collect();
        let off = lines.iter().find(|line| is_about_tests && line.is_added);
        let found = off.or(lines.first());
        Some(Refutation {
            rule,
            place: found.map(|line| format!("{}:{}", line.file, line.number)),
            line: found.map(|line| one_line(line.text)).filter(|line| !line.is_empty()),
        })
    }

    /// Output with paths as the agent knows them.
    pub(super) fn relative(&self, output: Output) -> Output {
        Output { head: self.relative_text(&output.head), tail: self.relative_text(&output.tail), ..output }
    }

    fn relative_text(&self, text: &str) -> String {
        self.dirs.iter().fold(text.to_owned(), |text, dir| relative(&text, dir).into_owned())
    }

    /// Its names and words, not its fingerprint: that one knows no directories.
    pub(super) fn relative_signature(&self, mut signature: Signature) -> Signature {
        let tests = signature.tests.iter().map(|test| self.relative_text(test)).collect();
        let message = signature.message.as_ref().map(|message| self.relative_text(message));
        for failed in signature.counted.iter_mut().flat_map(|counted| counted.failing.values_mut()) {
            failed.name = self.relative_text(&failed.name);
            failed.detail = failed.detail.as_ref().map(|detail| self.relative_text(detail));
        }
        Signature { tests, message, ..signature }
    }

    /// The tests of one of its checks, by id, that failed in the same way before.
    fn known_failures(&self, check: &CheckReport) -> Vec<String> {
        let at = self.checks.iter().position(|other| std::ptr::eq(other, check));
        at.and_then(|at| self.old.known.get(at)).cloned().unwrap_or_default()
    }
}

/// Whether a text names this file, and not one whose name only ends or begins like it.
fn names_file(text: &str, file: &str) -> bool {
    let goes_on = |c: char| c.is_alphanumeric() || "_-/.".contains(c);
    let is_whole = |at: usize| {
        let (before, behind) = (&text[..at], &text[at + file.len()..]);
        let behind = behind.trim_start_matches('.');
        !before.ends_with(goes_on) && !behind.starts_with(goes_on)
    };
    !file.is_empty() && text.match_indices(file).any(|(at, _)| is_whole(at))
}

/// Whether a line switches a test off, by the words that test frameworks have for it.
fn is_off(line: &str) -> bool {
    const OFF: [&str; 9] =
        ["skip", "#[ignore", "@Ignore", "@Disabled", "xfail", "xit(", "xdescribe(", "xtest(", ".todo("];
    OFF.iter().any(|word| line.contains(word))
}

/// What the attempt went along with of the lessons that stood in its prompt, where they name files.
fn followed(previous: &[Reflection], judged: &Judged) -> Vec<LessonFollowed> {
    let shown = previous.iter().filter(|lesson| judged.injected.contains(&lesson.id));
    let of = |lesson: &Reflection| {
        let named = files_named(lesson);
        let changes = |file: &String| judged.change.files.iter().any(|changed| same_file(changed, file));
        let changed = named.iter().filter(|file| changes(file)).cloned().collect();
        (!named.is_empty()).then(|| LessonFollowed { reflection: lesson.id.clone(), named, changed })
    };
    shown.filter_map(of).collect()
}

/// The files that a lesson names: words with an extension, without the line behind them.
pub(super) fn files_named(lesson: &Reflection) -> Vec<String> {
    let texts = [&lesson.analysis, &lesson.suggestion].into_iter().chain(&lesson.action_items);
    let between = |c: char| c.is_whitespace() || "`'\"()[]{},;<>".contains(c);
    let words = texts.flat_map(|text| text.split(between)).map(|word| word.split(':').next().unwrap_or_default());
    let is_file = |word: &&str| {
        let name = word.rsplit('/').next().unwrap_or_default();
        let (stem, extension) = name.rsplit_once('.').unwrap_or_default();
        let is_word = |part: &str| part.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        is_word(stem)
            && is_word(extension)
            && extension.len() <= 5
            && extension.bytes().all(|b| b.is_ascii_alphanumeric())
    };
    let mut files: Vec<String> = words.filter(is_file).map(str::to_owned).collect();
    files.sort_unstable();
    files.dedup();
    files
}

/// Why an attempt failed, without what is said of a red check anyway: that it is red, and that it was at the base.
fn for_agent(judged: &Judged, baseline: &[CheckReport]) -> String {
    let because = &judged.judgement.because;
    match judged.judgement.failing.map(|at| &judged.checks[at]) {
        // Names of tests are known without the directory in which they were run.
        Some(check) if because.starts_with(&is_red(check, baseline)) => {
            beside_red(check, baseline, &judged.change).replace("<path>/", "")
        }
        _ => because.clone(),
    }
}

/// A red check as generators are told of it.
pub(super) fn failed_check(check: &CheckReport) -> FailedCheck {
    FailedCheck {
        name: check.spec.name.clone(),
        run: check.spec.run.clone(),
        exit_status: check.exit_status,
        signal: check.signal,
        timed_out: check.timed_out,
    }
}

/// A check that was red before, where the agent did not get to change that: it changed nothing, or was cut off. Of work that
/// something else refutes it says nothing, nor of why an agent failed.
fn still_red(judged: &Judged) -> Option<&CheckReport> {
    let never_came_to_it = judged.change.no_op || !judged.ending.claims_done();
    if !never_came_to_it || matches!(judged.ending, Ending::Crash | Ending::AgentError) {
        return None;
    }
    let red: Vec<usize> =
        (0..judged.checks.len()).filter(|&at| !judged.checks[at].passed() && !judged.checks[at].is_not_run()).collect();
    // Where the task has no check of its own, the only one that was red before may be all that shows what it is about; of several nobody
    // knows which, and where each failing test is known, they are somebody else's.
    let own = judged.checks.iter().any(|check| check.scope == CheckScope::Task);
    let is_named = |at: usize| judged.checks[at].signature.counted.is_some();
    let is_of_others = |at: usize| judged.old.checks.contains(&at) && (own || is_named(at) || red.len() > 1);
    let counts = |at: &usize| !(is_of_others(*at) || judged.old.lost && is_named(*at));
    red.iter().copied().find(counts).map(|at| &judged.checks[at])
}

/// What the attempt itself changed. What differs from the base where it did nothing is an earlier attempt's.
fn changed(judged: &Judged) -> Vec<String> {
    if judged.change.no_op { Vec::new() } else { judged.change.files.clone() }
}

/// What is known where no check is red: why the attempt is refuted, and what went wrong with the agent.
fn agent_output(judged: &Judged) -> Output {
    let because = &judged.judgement.because;
    let detail = judged.detail.as_deref().filter(|detail| !because.contains(detail)).unwrap_or_default();
    Output::whole(format!("{because}\n{detail}").trim().to_owned())
}
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_named_as_a_whole() {
        let check =
            |text: &str, file: &str, expected: bool| assert_eq!(names_file(text, file), expected, "{text} {file}");
        check("it changed protected files: tests/test_slots.py", "tests/test_slots.py", true);
        check("it changed protected files: tests/test_slots.py", "slots.py", false);
        check("a.py, b.py.", "b.py", true);
        check("a.pyc", "a.py", false);
        check("x", "", false);
    }
}
