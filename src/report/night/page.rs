//! The report's content in its order, once for every form it is printed in.

use super::super::events::NOTHING_LEFT;
use super::block::{CAUSE, Item, Line, Mark, Page, Section, TITLE, named, section, text, ticked, with_code};
use super::chain::chain;
use super::change::{see, turned};
use super::figures::figures;
use super::learned::lessons;
use super::needs::{apply, step};
use super::said::{asked_for_test, last_said, review, shown_by};
use super::used::{limits, spend, time};
use super::value::{Fate, Merge, Need, NeedKind, Night, NightState, NightTask, Step, TaskChange, TaskState};
use super::words::{Times, by_part, duration, foreign, joined, plural, unnoticed, usage};
use crate::domain::{Flaky, KeptPatch, MergeOutcome, Proof, ReflectionId, Stop, TaskId, Verdict};
use std::collections::HashSet;

/// The whole report.
pub(super) fn page(night: &Night, times: &Times) -> Page {
    let when = night.started_at.zip(night.last_sign_at).map(|(from, to)| {
        let length = duration(super::replay::millis(to.duration_since(from)));
        format!("{} ({length}), {}", times.range(from, to), times.zone_name(to))
    });
    let mut sections = vec![
        needs(night),
        security(night),
        done(night),
        unchanged(night),
        failed(night),
        open(night, times),
        closed(night),
    ];
    // What is counted in the first sentence has its section, also where that says only where it stands.
    let says_where = |section: &Section| ["failed", "open"].contains(&section.id) && !section.lead.is_empty();
    sections.retain(|section| !section.items.is_empty() || section.id == "needs" || says_where(section));
    let links = sections.iter().flat_map(|section| &section.items).flat_map(|item| &item.chain);
    let in_full: HashSet<ReflectionId> = links.filter_map(|link| link.lesson.as_ref()?.in_full.clone()).collect();
    sections.extend(
        [
            spend(night),
            time(night),
            limits(night, times),
            super::heals::section(night, times),
            lessons(night, &in_full),
        ]
        .into_iter()
        .flatten(),
    );
    Page {
        title: format!("Report of run {}", night.run),
        headline: night.headline.clone(),
        when,
        figures: figures(night),
        notes: super::notes::notes(night, times),
        next: night.next.clone(),
        sections,
    }
}

fn needs(night: &Night) -> Section {
    let mut section = section("needs", "Needs you", &night.needs, |need| need_item(night, need));
    if section.items.is_empty() {
        section.lead.push(text("Nothing."));
    }
    section
}

/// What is none of the work, whoever did it.
fn security(night: &Night) -> Section {
    section("security", "Security", &night.security, |noticed| {
        let ids: Vec<&str> = noticed.tasks.iter().map(TaskId::as_str).collect();
        let name = if ids.is_empty() { "your repository".to_owned() } else { named(&ids) };
        let lines = vec![ticked(&foreign(&noticed.what, CAUSE))];
        Item {
            mark: Mark::Review,
            name,
            title: String::new(),
            lines,
            chain: Vec::new(),
            change: None,
            commands: Vec::new(),
        }
    })
}

fn need_item(night: &Night, need: &Need) -> Item {
    let why = foreign(&need.why, CAUSE);
    let tasks: Vec<&NightTask> = need.tasks.iter().filter_map(|place| night.tasks.get(*place)).collect();
    let ids: Vec<&str> = tasks.iter().map(|task| task.id.as_str()).collect();
    let (name, title) = match need.kind {
        NeedKind::Repository => ("your repository".to_owned(), String::new()),
        NeedKind::Login => ("a login".to_owned(), String::new()),
        NeedKind::Environment => ("something is missing".to_owned(), String::new()),
        _ if ids.len() > 1 => (named(&ids), String::new()),
        _ => (ids.join(", "), tasks.first().map(|task| foreign(&task.title, TITLE)).unwrap_or_default()),
    };
    let what = match need.kind {
        NeedKind::Repository | NeedKind::Login | NeedKind::Environment => "",
        NeedKind::Person => "waits for you: ",
        NeedKind::Unverifiable => "not verified: ",
        NeedKind::Unmerged => "not merged: ",
        NeedKind::YoursToMerge => "confirmed, and yours to merge: ",
        NeedKind::Blocked => "blocked: ",
        NeedKind::Failed => "failed: ",
        NeedKind::Held => "waits for ",
        NeedKind::Review => "done, and worth a look: ",
    };
    let below = if need.kind == NeedKind::Failed { "; why stands below" } else { "" };
    let mut lines = vec![ticked(&format!("{what}{why}{below}"))];
    // What could not be merged says itself where it is kept.
    if let Some(branch) = need.branch.as_ref().filter(|_| need.kind != NeedKind::Unmerged) {
        lines.push(with_code("on ", branch, ""));
    }
    if let ([task], NeedKind::YoursToMerge | NeedKind::Review) = (tasks.as_slice(), need.kind) {
        lines.extend(asked_for_test(night, task).map(text));
    }
    if let ([task], NeedKind::YoursToMerge) = (tasks.as_slice(), need.kind) {
        lines.extend(turned(task));
        lines.extend(shown_by(night, task));
    }
    if need.kind == NeedKind::Repository && !ids.is_empty() {
        lines.push(text(format!("during {}", named(&ids))));
    }
    if matches!(need.kind, NeedKind::Login | NeedKind::Environment) && !ids.is_empty() {
        lines.push(text(format!("{} left open for it: {}", plural(ids.len(), "task"), named(&ids))));
    }
    let is_below = matches!(need.kind, NeedKind::Review | NeedKind::Failed);
    if let ([task], true) = (tasks.as_slice(), !is_below && !is_confirmed_last(night, need)) {
        lines.extend(last_said(night, task));
        lines.extend(review(task).filter(|_| need.kind != NeedKind::YoursToMerge));
        lines.extend(kept(task));
    }
    let mark = if need.kind == NeedKind::Review { Mark::Review } else { Mark::Needs };
    // What stands below as well is told there attempt by attempt.
    let chain = match tasks.as_slice() {
        [task] if !is_below => chain(night, task),
        _ => Vec::new(),
    };
    let change = tasks.first().filter(|_| tasks.len() == 1 && !is_below).and_then(|task| task.change.clone());
    Item { mark, name, title, lines, chain, change, commands: need.commands.clone() }
}

/// Whether the last attempt of a task that could not be merged was confirmed: what is kept is on its branch then.
fn is_confirmed_last(night: &Night, need: &Need) -> bool {
    let task = need.tasks.first().and_then(|place| night.tasks.get(*place));
    let last = task.and_then(|task| Some((task.merges.last()?, night.attempts.get(*task.attempts.last()?)?)));
    need.kind == NeedKind::Unmerged && last.is_some_and(|(merge, attempt)| merge.attempt == attempt.attempt)
}

/// What a report says of the task at this place.
pub(super) fn item(night: &Night, place: usize, times: &Times) -> Item {
    let task = &night.tasks[place];
    let apart = [NeedKind::Review, NeedKind::Failed];
    let need = night.needs.iter().find(|need| need.tasks.contains(&place) && !apart.contains(&need.kind));
    match (need, task.state) {
        (Some(need), _) => need_item(night, need),
        (None, TaskState::Merged | TaskState::Confirmed) => done_item(night, task),
        (None, TaskState::Unchanged) => unchanged_item(night, task),
        (None, TaskState::Failed) => failed_item(night, task),
        (None, TaskState::Working | TaskState::Open | TaskState::Blocked) => open_item(night, task, times),
        (None, TaskState::Closed) => closed_item(task),
    }
}

/// Where what its attempts changed is that nothing confirmed, and of which attempt it is.
fn kept(task: &NightTask) -> Vec<Line> {
    let of = |path: &str| {
        let is_it = |patch: &&KeptPatch| path.rsplit('/').next() == Some(patch.file.as_str());
        let by = task.patches.iter().find(is_it);
        by.map_or("its attempts have".to_owned(), |patch| format!("attempt {} has", patch.attempt))
    };
    let words =
        |path: &String| with_code(&format!("what {} left, and nothing confirmed, is kept in ", of(path)), path, "");
    task.kept.iter().take(5).map(words).collect()
}

/// Tasks that stand among what needs a person are not told again.
fn told(night: &Night) -> HashSet<usize> {
    let apart = [NeedKind::Review, NeedKind::Repository, NeedKind::Failed];
    let needs = night.needs.iter().filter(|need| !apart.contains(&need.kind));
    needs.flat_map(|need| need.tasks.iter().copied()).collect()
}

fn in_state<'n>(night: &'n Night, states: &[TaskState]) -> Vec<&'n NightTask> {
    let told = told(night);
    let tasks = night.tasks.iter().enumerate();
    let tasks = tasks.filter(|(place, task)| states.contains(&task.state) && !told.contains(place));
    tasks.map(|(_, task)| task).collect()
}

fn done(night: &Night) -> Section {
    let mut tasks = in_state(night, &[TaskState::Merged, TaskState::Confirmed]);
    // By what is listed: work that a person merges stands above.
    let of = |state: TaskState| tasks.iter().any(|task| task.state == state);
    let title = match (of(TaskState::Merged), of(TaskState::Confirmed)) {
        (_, false) => "Merged and verified",
        (false, true) => "Confirmed, each on its branch",
        (true, true) => "Merged and verified, or confirmed on a branch",
    };
    let score = |task: &NightTask| task.risk.as_ref().map_or(0.0, |risk| risk.score);
    tasks.sort_by(|a, b| score(b).total_cmp(&score(a)));
    let mut section = section("done", title, &tasks, |task| done_item(night, task));
    if let Some(branch) = &night.integration {
        section.lead.push(with_code(
            "Each that was merged was checked on top of those before it on ",
            branch,
            if night.brought_in {
                "; the riskiest stand first here. It is merged into a branch of yours since."
            } else {
                "; the riskiest stand first here. The run put none of it into your own branch."
            },
        ));
    }
    section
}

fn done_item(night: &Night, task: &NightTask) -> Item {
    let mut lines = Vec::new();
    let chain = chain(night, task);
    let by_part = by_part(night, task);
    let tries = match (task.solved_at, task.judged) {
        _ if !by_part.is_empty() => format!("confirmed after {}", plural(task.judged as usize, "attempt")),
        (Some(at), judged) if at == judged => format!("confirmed at attempt {at}"),
        (Some(at), judged) => format!("confirmed at attempt {at} ({judged} judged in this {})", night.noun()),
        (None, judged) => format!("confirmed after {}", plural(judged as usize, "attempt")),
    };
    let proof = match task.proof {
        Some(proof) if proof.shows_a_difference() => format!("; {}", proof.words()),
        Some(proof) if task.wants_look().is_some() => format!("; {}, so look at it yourself", proof.words()),
        Some(proof) => format!("; {}", proof.words()),
        None => String::new(),
    };
    let spent = usage(&task.usage).map(|spent| format!("; {spent}")).unwrap_or_default();
    lines.push(text(format!("{tries}{proof}; {} of agents' work{spent}", duration(task.agent_ms))));
    let shown = shown_by(night, task).filter(|_| chain.is_empty());
    lines.extend(shown.filter(|_| task.proof.is_some_and(Proof::shows_a_difference)));
    lines.extend(turned(task));
    lines.extend(changed(task));
    lines.extend(asked_for_test(night, task).map(text));
    lines.extend(unnoticed(task).map(text));
    lines.extend((!by_part.is_empty()).then(|| ticked(&by_part)));
    lines.extend(plan(task));
    lines.extend(flaky(night, task));
    lines.extend(kept_earlier(task));
    let mut commands = Vec::new();
    match task.merges.last() {
        Some(Merge { outcome: MergeOutcome::Merged { commit, flaky, was_there }, .. }) => {
            if !flaky.is_empty() {
                let checks: Vec<String> = flaky.iter().take(5).map(|check| foreign(check, 60)).collect();
                lines.push(text(format!(
                    "flaky: {} failed after the merge and passed when run again on the same files",
                    joined(&checks)
                )));
            }
            let short = commit.get(..12).unwrap_or(commit);
            let how = if *was_there { format!("{NOTHING_LEFT} ") } else { "merged as ".to_owned() };
            lines.push(with_code(&how, short, ""));
            commands.extend(task.is_patch().then(|| apply(task)));
        }
        _ => {
            if let Some(branch) = &task.branch {
                let how = match (task.brought_in, &night.integration) {
                    (true, _) => ", merged into a branch of yours since",
                    (false, Some(_)) => ", not merged",
                    (false, None) => "",
                };
                lines.push(with_code("on ", branch, how));
                commands.extend((!task.brought_in).then(|| {
                    if task.is_patch() {
                        return apply(task);
                    }
                    step(format!("git merge {}", super::words::quoted(branch)), "bring it into your own branch")
                }));
            }
        }
    }
    commands.extend(see(task));
    Item {
        mark: Mark::Good,
        name: task.id.to_string(),
        title: foreign(&task.title, TITLE),
        lines,
        chain,
        change: task.change.clone(),
        commands,
    }
}

fn unchanged(night: &Night) -> Section {
    let tasks = in_state(night, &[TaskState::Unchanged]);
    section("unchanged", "Done without a change", &tasks, |task| unchanged_item(night, task))
}

fn unchanged_item(night: &Night, task: &NightTask) -> Item {
    let mut lines: Vec<Line> = shown_by(night, task).into_iter().collect();
    lines.extend(last_said(night, task));
    let spent = usage(&task.usage).map(|spent| format!("; {spent}")).unwrap_or_default();
    lines.push(text(format!("{} of agents' work{spent}", duration(task.agent_ms))));
    let look = super::needs::read(night, task);
    let (name, title) = (task.id.to_string(), foreign(&task.title, TITLE));
    Item {
        mark: Mark::Good,
        name,
        title,
        lines,
        chain: chain(night, task),
        change: None,
        commands: look.into_iter().collect(),
    }
}

/// At most this many files of a task are named.
const FILES: usize = 5;

/// What its confirmed work changes: a file that nobody asked for is seen so.
fn changed(task: &NightTask) -> Option<Line> {
    let named: Vec<String> = task.files.iter().take(FILES).map(|file| format!("`{}`", foreign(file, 120))).collect();
    let more = task.files.len().saturating_sub(FILES);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let lines =
        task.change.as_ref().map(|TaskChange { size, .. }| format!(" (+{} −{} lines)", size.added, size.removed));
    let files = plural(task.files.len(), "file") + &lines.unwrap_or_default();
    (!named.is_empty()).then(|| ticked(&format!("changes {files}: {}{more}", named.join(", "))))
}

/// The branches that keep work of it which was confirmed and did not merge.
fn kept_earlier(task: &NightTask) -> Vec<Line> {
    let kept = task.merges.iter().filter_map(|merge| match &merge.outcome {
        MergeOutcome::Conflict { kept, .. } | MergeOutcome::Red { kept, .. } => Some((merge.attempt, kept)),
        MergeOutcome::Merged { .. } | MergeOutcome::LeftToPerson { .. } => None,
    });
    kept.map(|(attempt, kept)| with_code(&format!("attempt {attempt} did not merge, and is kept on "), kept, ""))
        .collect()
}

/// Who it was given to and in which parts, where that was decided for this task.
fn plan(task: &NightTask) -> Vec<Line> {
    let parts: Vec<String> =
        task.parts.iter().take(8).map(|part| format!("`{}`", foreign(part.as_str(), 80))).collect();
    let more = if task.parts.len() > parts.len() { ", …" } else { "" };
    let parts = (!parts.is_empty())
        .then(|| format!("in {}, as was proposed: {}{more}", plural(task.parts.len(), "part"), parts.join(", ")));
    let routed = task.routed.as_ref().map(|because| format!("routing: {}", foreign(because, CAUSE)));
    routed.into_iter().chain(parts).map(|words| ticked(&words)).collect()
}

/// What failed by chance, or because of what is around the files.
fn flaky(night: &Night, task: &NightTask) -> Option<Line> {
    let mut words: Vec<String> = Vec::new();
    for flaky in task.attempts.iter().flat_map(|place| &night.attempts[*place].flaky) {
        let tests = flaky.tests.iter().map(|test| foreign(test, 120)).collect();
        let flaky = Flaky { check: foreign(&flaky.check, 60), how: flaky.how, tests }.words();
        if !words.contains(&flaky) {
            words.push(flaky);
        }
    }
    words.truncate(5);
    (!words.is_empty()).then(|| ticked(&format!("flaky: {}", words.join("; "))))
}

fn failed(night: &Night) -> Section {
    let tasks = in_state(night, &[TaskState::Failed]);
    let elsewhere = night.counts.failed - tasks.len();
    // What to do stands above, once; of very many, only of the first ones.
    let is_above = |step: &Step| night.needs.iter().any(|need| need.commands.contains(step));
    let mut section = section("failed", "Failed", &tasks, |task| {
        let mut item = failed_item(night, task);
        item.commands.retain(|step| !is_above(step));
        item
    });
    if elsewhere > 0 {
        let words = plural(elsewhere, if section.items.is_empty() { "task" } else { "more task" });
        let were = if elsewhere == 1 { "was" } else { "were" };
        section.lead.push(text(format!(
            "{words} {were} confirmed and could not be merged; what was confirmed is kept, see above."
        )));
    }
    section
}

fn failed_item(night: &Night, task: &NightTask) -> Item {
    let mut lines = Vec::new();
    let cause = task.cause.as_ref().map_or("nothing says why".to_owned(), |cause| foreign(cause, CAUSE));
    lines.push(ticked(&format!("{}: {cause}", verdict(task.verdict))));
    let chain = chain(night, task);
    let by_part = by_part(night, task);
    lines.extend((!by_part.is_empty()).then(|| ticked(&by_part)));
    lines.extend(plan(task));
    lines.extend(flaky(night, task));
    lines.extend(last_said(night, task));
    lines.extend(review(task));
    lines.extend(task.brought_in.then(|| text("what was confirmed of it is merged into a branch of yours since")));
    lines.extend(kept_earlier(task));
    lines.extend(kept(task));
    let spent = usage(&task.usage).map(|spent| format!(", {spent}")).unwrap_or_default();
    lines.push(text(format!("{} of agents' work{spent}", duration(task.agent_ms))));
    let mut commands: Vec<Step> = super::needs::look(night, task).into_iter().collect();
    commands.extend(super::needs::apply_kept(task));
    commands.push(step(format!("reflexion task reopen {}", task.id), "open it again"));
    Item {
        mark: Mark::Bad,
        name: task.id.to_string(),
        title: foreign(&task.title, TITLE),
        lines,
        chain,
        change: task.change.clone(),
        commands,
    }
}

fn verdict(verdict: Option<Verdict>) -> &'static str {
    match verdict {
        Some(Verdict::FalseDone) => "the agent stopped by itself, and it is not done",
        Some(Verdict::Failed) => "failed",
        Some(Verdict::Unverifiable) => "unverifiable",
        Some(Verdict::Confirmed) => "confirmed",
        None => "not judged",
    }
}

fn open(night: &Night, times: &Times) -> Section {
    let tasks = in_state(night, &[TaskState::Working, TaskState::Open, TaskState::Blocked]);
    let title = if night.state == NightState::Running { "To do" } else { "Left open" };
    let mut section = section("open", title, &tasks, |task| open_item(night, task, times));
    let above = told(night);
    let is_above = |(place, task): &(usize, &NightTask)| task.state == TaskState::Open && above.contains(place);
    let above: Vec<&str> = night.tasks.iter().enumerate().filter(is_above).map(|(_, task)| task.id.as_str()).collect();
    if !above.is_empty() {
        let tasks = plural(above.len(), if section.items.is_empty() { "task" } else { "more task" });
        section.lead.push(text(format!("{tasks}, see what needs you: {}.", named(&above))));
    }
    section
}

fn open_item(night: &Night, task: &NightTask, times: &Times) -> Item {
    let attempt = task.attempts.last().map(|place| &night.attempts[*place]);
    let words = match (task.state, attempt) {
        (TaskState::Working, Some(attempt)) if attempt.fate == Fate::Working => format!(
            "attempt {} by {} since {}",
            attempt.attempt,
            foreign(&attempt.agent, 60),
            times.clock(attempt.started_at)
        ),
        (TaskState::Working, _) => "being worked on".to_owned(),
        (_, Some(attempt)) if task.in_work && attempt.fate == Fate::Cut => {
            format!(
                "attempt {} by {} was cut off; the next run takes it up again",
                attempt.attempt,
                foreign(&attempt.agent, 60)
            )
        }
        (_, _) if task.in_work => "it was cut off before it had an end".to_owned(),
        (_, _) if !task.started && night.state == NightState::Running => "not started yet".to_owned(),
        (_, _) if !task.started && task.cause.is_none() => "never started".to_owned(),
        _ => {
            let cause = task.cause.as_ref().map_or("nothing says why".to_owned(), |cause| foreign(cause, CAUSE));
            match task.stop {
                Some(Stop::Limit) => format!("a limit: {cause}"),
                Some(Stop::Dependency) => format!("it depends on others: {cause}"),
                _ => cause,
            }
        }
    };
    let mut lines = vec![ticked(&words)];
    let chain = chain(night, task);
    lines.extend(last_verdict(night, task).filter(|_| chain.is_empty()));
    lines.extend(kept(task));
    let commands = super::needs::apply_kept(task).into_iter().collect();
    let (name, title) = (task.id.to_string(), foreign(&task.title, TITLE));
    Item { mark: Mark::Open, name, title, lines, chain, change: None, commands }
}

/// How its last judged attempt ended, where the task is open all the same.
fn last_verdict(night: &Night, task: &NightTask) -> Option<Line> {
    let judged = task.attempts.iter().rev().map(|place| &night.attempts[*place]);
    let last = judged.into_iter().find(|attempt| attempt.fate == Fate::Judged)?;
    let because = if last.because.is_empty() { String::new() } else { format!(": {}", foreign(&last.because, CAUSE)) };
    Some(ticked(&format!("attempt {} was judged {}{because}", last.attempt, last.verdict?.as_str())))
}

fn closed(night: &Night) -> Section {
    section("closed", "Closed since", &in_state(night, &[TaskState::Closed]), |task| closed_item(task))
}

fn closed_item(task: &NightTask) -> Item {
    let words = foreign(task.cause.as_deref().unwrap_or("closed"), CAUSE);
    let (name, title) = (task.id.to_string(), foreign(&task.title, TITLE));
    Item {
        mark: Mark::Plain,
        name,
        title,
        lines: vec![text(words)],
        chain: Vec::new(),
        change: None,
        commands: Vec::new(),
    }
}
