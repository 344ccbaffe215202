//! What a run did, in one screen.

use super::events::plural;
use super::night::{Night, NightTask, by_part, duration};
use crate::domain::{
    CostSource, Ending, MergeOutcome, Needs, Proof, Risk, RunKind, RunReport, RunStop, RunTotals, Status, TaskReport,
    Verdict,
};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// The summary of a run: a line per task, the sums, and what to do next.
#[must_use]
pub fn run(report: &RunReport) -> String {
    summary(report, None)
}

/// The same, with how many attempts each part of a task took, as the run's journal tells it.
#[must_use]
pub fn run_by_part(report: &RunReport, told: &Night) -> String {
    summary(report, Some(told))
}

fn summary(report: &RunReport, told: Option<&Night>) -> String {
    let is_risky = |task: &TaskReport| task.risk.as_ref().is_some_and(|risk| risk.score > 0.0);
    let order =
        if report.tasks.len() > 1 && report.tasks.iter().any(is_risky) { ", the riskiest change first" } else { "" };
    let mut text = format!("run {} of {}{order}\n\n", report.run, report.project);
    let width = report.tasks.iter().map(|t| t.id.as_str().len()).max().unwrap_or(0);
    for task in &report.tasks {
        let night = told.and_then(|night| Some((night, night.tasks.iter().find(|one| one.id == task.id)?)));
        push_task(&mut text, task, width, night);
    }
    push_totals(&mut text, report, told.and_then(Night::took_ms).unwrap_or(report.totals.duration_ms));
    if report.integration.is_none() {
        push_overlaps(&mut text, report);
    }
    push_next(&mut text, report, told);
    text
}

fn push_task(text: &mut String, task: &TaskReport, width: usize, told: Option<(&Night, &NightTask)>) {
    let parts = told.map(|(night, task)| by_part(night, task)).unwrap_or_default();
    let (mark, verdict) = match (task.verdict, task.by_hand) {
        (Some(Verdict::Confirmed), _) => ("✓", Verdict::Confirmed.as_str()),
        (Some(verdict), _) => ("✗", verdict.as_str()),
        (None, Some(Status::Closed)) => ("-", "closed by you"),
        (None, Some(_)) => ("-", "taken out by you"),
        (None, None) if task.endings.is_empty() => ("·", "not begun"),
        (None, None) => ("✗", "not judged"),
    };
    let attempts = match task.solved_at {
        // Of several parts that is the last one's.
        Some(n) if parts.is_empty() => format!("at attempt {n}"),
        _ => plural(task.attempts as usize, "attempt"),
    };
    let merged = task.merged.as_ref().map(|commit| format!("  merged as {}", &commit[..commit.len().min(12)]));
    let note = || task.note().map(|note| format!("  {note}"));
    let note = merged.or_else(note).unwrap_or_default();
    let little = match told {
        Some((_, told)) => told.wants_look(),
        None => task.proof.filter(|proof| !proof.shows_a_difference()),
    };
    // What a person merges has its reason in a line of its own.
    let is_said = task.needs == Some(Needs::Person);
    let said = little.filter(|_| !is_said).map(|proof| format!("{note}  ({}: look at it yourself)", proof.words()));
    let note = said.unwrap_or(note);
    let by_hand = match task.by_hand.filter(|_| task.verdict.is_some()) {
        Some(status) => format!("  ({} by you meanwhile: that stands)", set_to(status)),
        None => String::new(),
    };
    let _ = writeln!(text, "  {mark} {:width$}  {verdict:12} {attempts:14}{note}{by_hand}", task.id.as_str());
    if !parts.is_empty() {
        let _ = writeln!(text, "    {:width$}  {parts}", "");
    }
    if task.needs == Some(Needs::Person) {
        let why = left_to_person(task, told.map(|(_, task)| task));
        let _ = writeln!(text, "    {:width$}  needs you: you merge it: {why}", "");
    }
    if let Some(review) = needs_review(task.risk.as_ref()) {
        let _ = writeln!(text, "    {:width$}  {review}", "");
    }
}

/// Why only a person merges it: as the run's journal says it, which the page does, too.
fn left_to_person(task: &TaskReport, told: Option<&NightTask>) -> String {
    let merge = told.and_then(|told| told.merges.last());
    let outcome =
        merge.map(|merge| &merge.outcome).filter(|outcome| matches!(outcome, MergeOutcome::LeftToPerson { .. }));
    match (outcome.and_then(MergeOutcome::failed), task.proof.filter(|proof| !proof.shows_a_difference())) {
        (Some(why), _) => why,
        (None, Some(proof)) => proof.words().to_owned(),
        (None, None) => {
            "the runtime does not merge what changes, or was checked by, what steers agents, tools or itself".to_owned()
        }
    }
}

/// Why somebody should look at what was changed, whatever became of it; none where nothing asks for that.
pub(super) fn needs_review(risk: Option<&Risk>) -> Option<String> {
    risk.filter(|risk| risk.needs_review).map(|risk| format!("needs review: {}", risk.reason))
}

fn set_to(status: Status) -> String {
    if status == Status::Closed { "closed".to_owned() } else { format!("set to {}", status.as_str()) }
}

/// `took`: in milliseconds, by the clock that the report goes by.
fn push_totals(text: &mut String, report: &RunReport, took: u64) {
    let totals = &report.totals;
    let by = |proof: Proof| report.tasks.iter().filter(|task| task.proof == Some(proof)).count();
    let by_test = match by(Proof::NewTest) {
        0 => String::new(),
        tasks => format!(", {tasks} by a new test"),
    };
    let _ = write!(
        text,
        "\n{} of {} confirmed ({} proven by what was red{by_test}); {}, {} written, {} put into prompts",
        totals.confirmed,
        plural(totals.tasks as usize, "task"),
        by(Proof::TurnedGreen),
        plural(totals.attempts as usize, "attempt"),
        plural(totals.reflections_written as usize, "reflection"),
        totals.reflections_injected,
    );
    if totals.fallbacks > 0 {
        let _ = write!(text, " ({} by the heuristic, because the generator failed)", totals.fallbacks);
    }
    if let Some(tokens) = totals.tokens {
        let _ = write!(text, "; {tokens} tokens");
        if let Some(judging) = totals.judging_usage.tokens() {
            let _ = write!(text, " ({judging} of them for judging)");
        }
    }
    if let Some(cost) = totals.cost_usd {
        let estimated =
            if totals.usage.cost_source == Some(CostSource::Estimated) { " (estimated, at least in part)" } else { "" };
        let _ = write!(text, "; ${cost:.2}{estimated}");
    }
    let _ = writeln!(text, "; {}", duration(took));
    push_lessons_over(text, totals);
}

/// How many lessons are in no prompt any more since this run, and where they are.
fn push_lessons_over(text: &mut String, totals: &RunTotals) {
    let over = [
        (totals.lessons_expired, "too old (`reflexion.retentionDays`)", "retired"),
        (totals.lessons_stale, "about files that are gone", "stale"),
    ];
    for (count, why, state) in over.into_iter().filter(|(count, ..)| *count > 0) {
        let lessons = if count == 1 { "1 lesson is".to_owned() } else { format!("{count} lessons are") };
        let _ = writeln!(
            text,
            "{lessons} {why} and in no prompt any more; `reflexion memory list --state {state}` shows them, `memory promote` brings one back"
        );
    }
}

/// Two confirmed branches that change the same file may not merge cleanly.
fn push_overlaps(text: &mut String, report: &RunReport) {
    let mut by_file: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for task in report.tasks.iter().filter(|t| t.branch.is_some()) {
        for file in &task.files {
            by_file.entry(file).or_default().push(task.id.as_str());
        }
    }
    for (file, tasks) in by_file.into_iter().filter(|(_, tasks)| tasks.len() > 1) {
        let _ =
            writeln!(text, "warning: {} all change {file}; merge and check them one after the other", tasks.join(", "));
    }
}

/// The commands that merge these branches: one for those that change no file in common, which git merges at once, and one for each of the others.
fn merges(report: &RunReport, branches: &[&str]) -> Vec<String> {
    let files_of = |branch: &str| report.tasks.iter().find(|t| t.branch.as_deref() == Some(branch)).map(|t| &t.files);
    let (mut at_once, mut seen, mut alone) = (Vec::new(), BTreeSet::new(), Vec::new());
    for branch in branches {
        match files_of(branch) {
            Some(files) if !files.is_empty() && files.iter().all(|file| !seen.contains(file)) => {
                seen.extend(files);
                at_once.push(*branch);
            }
            _ => alone.push(format!("  git merge {branch}")),
        }
    }
    let first = (!at_once.is_empty()).then(|| format!("  git merge {}", at_once.join(" ")));
    first.into_iter().chain(alone).collect()
}

fn push_next(text: &mut String, report: &RunReport, told: Option<&Night>) {
    // What a person is to look at first is named below.
    let is_yours = |task: &&TaskReport| task.needs == Some(Needs::Person) && report.kind == RunKind::Overnight;
    let branches: Vec<&str> =
        report.tasks.iter().filter(|task| !is_yours(task)).filter_map(|t| t.branch.as_deref()).collect();
    let is_patch = |b: &&str| b.ends_with(".patch");
    if let Some(integration) = &report.integration {
        let _ = writeln!(text, "\nbring in everything that is merged with:\n  git merge {integration}");
    } else if let Some(first) = branches.iter().find(|b| is_patch(b)) {
        let _ = writeln!(text, "\nbring in confirmed work with `reflexion apply TASK` (patches such as {first})");
    } else if !branches.is_empty() {
        let _ = writeln!(
            text,
            "\nbring it in with:\n{}\nor with `reflexion apply TASK`",
            merges(report, &branches).join("\n")
        );
    }
    for task in report.tasks.iter().filter(is_yours) {
        if let Some(branch) = task.branch.as_ref().filter(|branch| !is_patch(&branch.as_str())) {
            let _ = writeln!(text, "look at {branch}, which is yours to merge:\n  git merge {branch}");
        }
    }
    for kept in report.tasks.iter().filter_map(|task| task.kept.as_ref()).filter(|kept| !kept.contains(' ')) {
        let _ = writeln!(text, "look at {kept}, which was confirmed and could not be merged:\n  git merge {kept}");
    }
    push_more_attempts(text, report, told);
    let because = match report.stopped {
        _ if report.interrupted => "interrupted",
        Some(RunStop::Deadline) => "the time was up",
        Some(RunStop::Budget) => "the budget was used up",
        Some(RunStop::Drained) => "stopped after the attempts that were at work",
        None => return,
    };
    let again = match (&report.kind, report.stopped) {
        (RunKind::Run, _) => "`reflexion run`",
        (RunKind::Overnight, Some(RunStop::Deadline)) => "`reflexion overnight --resume --for 8h`",
        (RunKind::Overnight, Some(RunStop::Budget)) => "`reflexion overnight --resume` with a raised budget",
        (RunKind::Overnight, _) => "`reflexion overnight --resume`",
    };
    let _ = writeln!(text, "\n{because}; {}: {again} goes on with what is open", lost(report));
}

/// How tasks whose attempts are used up are tried again: with twice as many, or with more words where they failed alike.
fn push_more_attempts(text: &mut String, report: &RunReport, told: Option<&Night>) {
    let refuted = |task: &&TaskReport| matches!(task.verdict, Some(Verdict::Failed | Verdict::FalseDone));
    let is_used_up = |task: &&TaskReport| task.stop.is_none() && task.kept.is_none() && task.attempts > 0;
    let fails_alike = |task: &&TaskReport| {
        told.is_some_and(|night| night.tasks.iter().any(|one| one.id == task.id && night.fails_alike(one)))
    };
    if report.kind != RunKind::Run {
        return;
    }
    let failed = report.tasks.iter().filter(refuted).filter(is_used_up);
    let (alike, failed): (Vec<&TaskReport>, Vec<&TaskReport>) = failed.partition(fails_alike);
    if let Some(most) = failed.iter().map(|task| task.attempts).max() {
        let ids: Vec<&str> = failed.iter().map(|task| task.id.as_str()).collect();
        let (ids, most) = (ids.join(" "), most * 2);
        let _ = writeln!(text, "\nmore attempts may do it: `reflexion run {ids} --again --max-attempts {most}`");
    }
    for task in alike {
        let id = &task.id;
        let _ = writeln!(
            text,
            "\nthe last attempts of {id} failed alike: say more of what is asked (`reflexion task edit {id} --description 'WORDS'`), and open it (`reflexion task reopen {id}`)"
        );
    }
}

/// What was at work when the run stopped and is not judged.
fn lost(report: &RunReport) -> String {
    let cut = |task: &&TaskReport| task.endings.last() == Some(&Ending::Cancelled);
    match report.tasks.iter().filter(cut).count() {
        0 => "nothing was lost".to_owned(),
        1 => "1 attempt that was at work is made again".to_owned(),
        n => format!("{n} attempts that were at work are made again"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::RunTotals;
    use serde_json::json;

    #[test]
    fn a_branch_that_keeps_what_could_not_be_merged_has_its_command() {
        let task = json!({"id": "a", "verdict": "false_done", "attempts": 2, "solvedAt": null, "reflectionsWritten": 0,
                          "reflectionsInjected": 0, "tokens": null, "costUsd": null, "durationMs": 1, "endings": [],
                          "cause": "attempt 1 was confirmed and conflicts", "kept": "reflexion/r1/a@1"});
        let report =
            json!({"run": "r1", "project": "p", "tasks": [task], "totals": RunTotals::default(), "kind": "overnight"});
        let said = run(&serde_json::from_value(report).unwrap());
        assert!(said.contains("attempt 1 was confirmed and conflicts\n"), "{said}");
        let expected =
            "look at reflexion/r1/a@1, which was confirmed and could not be merged:\n  git merge reflexion/r1/a@1\n";
        assert!(said.contains(expected), "{said}");
    }

    #[test]
    fn attempts_that_were_cut_off_are_counted() {
        let task = |id: &str, endings: &[&str]| {
            let endings: Vec<_> = endings.iter().map(|kind| json!({"kind": kind})).collect();
            json!({"id": id, "verdict": null, "attempts": 0, "solvedAt": null, "reflectionsWritten": 0, "reflectionsInjected": 0,
                   "tokens": null, "costUsd": null, "durationMs": 1, "endings": endings})
        };
        let said = |tasks: &[serde_json::Value]| {
            let tasks = tasks.iter().map(|task| serde_json::from_value(task.clone()).unwrap()).collect();
            let report = RunReport {
                run: crate::domain::RunId::new("r1").unwrap(),
                project: "p".to_owned(),
                tasks,
                totals: crate::domain::RunTotals::default(),
                kind: RunKind::Overnight,
                interrupted: true,
                stopped: None,
                integration: None,
            };
            run(&report)
        };
        assert!(said(&[task("a", &["finished"])]).contains("interrupted; nothing was lost: "));
        let cut = said(&[task("a", &["finished", "cancelled"]), task("b", &["cancelled"]), task("c", &[])]);
        assert!(cut.contains("interrupted; 2 attempts that were at work are made again: "), "{cut}");
    }
}
