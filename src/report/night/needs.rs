//! What needs a person after a run, and the commands for it.

use super::value::{Fate, Merge, Need, NeedKind, Night, NightState, NightTask, Step, TaskState};
use super::words::{foreign, pathspec, plural, quoted, unnoticed};
use crate::domain::{Ending, MergeOutcome, Proof, Ran, RunKind, Stop, Verdict};
use std::collections::BTreeMap;

pub(super) fn step(command: impl Into<String>, does: &'static str) -> Step {
    Step { command: command.into(), does }
}

fn reopen(task: &NightTask) -> Step {
    step(format!("reflexion task reopen {}", task.id), "open it again")
}

/// So many attempts that fail alike say that another one would, too.
const ALIKE: usize = 3;

impl Night {
    /// Whether the last attempts of a task failed alike, so that more of them may not do it.
    pub(in crate::report) fn fails_alike(&self, task: &NightTask) -> bool {
        let judged = task.attempts.iter().rev().map(|place| &self.attempts[*place]);
        let mut last = judged.filter(|one| one.fate == Fate::Judged).map(|one| one.signature.as_ref()).take(ALIKE);
        let Some(newest) = last.next().flatten() else { return false };
        let others: Vec<Option<&String>> = last.collect();
        others.len() + 1 == ALIKE && others.iter().all(|other| *other == Some(newest))
    }
}

/// What may help a task whose attempts are used up: twice as many, or more words where they failed alike.
fn more_attempts(night: &Night, task: &NightTask) -> Step {
    if night.fails_alike(task) {
        let command = format!("reflexion task edit {} --description 'WORDS'", task.id);
        return step(command, "say more of what is asked before you open it: its last attempts failed alike");
    }
    let attempts = task.attempts.len().max(1) * 2;
    step(format!("reflexion run {} --again --max-attempts {attempts}", task.id), "try it again, with more attempts")
}

/// How the run is gone on with, if it can be.
pub(super) fn go_on(night: &Night) -> Option<Step> {
    // A dead run that was busy with a task has not written down what became of it.
    // What only waits for another task goes on when that one does; what has no check that can show it would be blocked again.
    let waits = |task: &NightTask| matches!(task.stop, Some(Stop::Dependency | Stop::BadDependency | Stop::NoCheck));
    let goes_on = |task: &NightTask| task.state == TaskState::Open && !waits(task);
    let left = night.tasks.iter().any(|task| task.in_work || goes_on(task));
    if !left || night.state == NightState::Running {
        return None;
    }
    let command = match (night.plan.kind, night.state) {
        (RunKind::Run, _) => "reflexion run",
        (RunKind::Overnight, NightState::Ended) => "reflexion overnight",
        (RunKind::Overnight, _) if night.superseded => "reflexion overnight",
        (RunKind::Overnight, _) if night.past_deadline => "reflexion overnight --resume --for 8h",
        (RunKind::Overnight, NightState::Budget) => return Some(with_a_raised_budget(night)),
        (RunKind::Overnight, _) => "reflexion overnight --resume",
    };
    Some(step(command, "go on with what is open"))
}

/// A budget that is used up lets nothing begin until it is raised.
fn with_a_raised_budget(night: &Night) -> Step {
    match night.plan.options.raised() {
        Some(flags) => {
            step(format!("reflexion overnight --resume {flags}"), "go on with what is open, for twice as much")
        }
        None => {
            step("reflexion overnight --resume", "go on with what is open, once `budget.run` is raised in the settings")
        }
    }
}

/// What needs a person, the most urgent first; every task once, and once more if its confirmed change wants review.
pub(super) fn needs(night: &Night) -> Vec<Need> {
    let mut needs = Vec::new();
    let mut shared: BTreeMap<(NeedKind, String), Vec<usize>> = BTreeMap::new();
    for (place, task) in night.tasks.iter().enumerate() {
        if let Some((kind, why)) = around(night, task) {
            shared.entry((kind, why)).or_default().push(place);
        } else if let Some(need) = own(night, place, task) {
            needs.push(need);
        }
    }
    needs.extend(shared.into_iter().map(|((kind, why), tasks)| {
        let mut commands = vec![match kind {
            NeedKind::Login => step("reflexion doctor", "see who is logged in, and how to"),
            _ => step("reflexion doctor --checks", "see what is missing"),
        }];
        commands.extend(go_on(night));
        Need { kind, tasks, why, branch: None, commands }
    }));
    merge_at_once(night, &mut needs);
    needs.extend(changed(night));
    needs.extend(halted(night));
    needs.extend(failed(night, &needs));
    needs.extend(held(night, &needs));
    needs.extend(reviews(night));
    // Reviews come with the heaviest risk first already.
    needs.sort_by_key(|need| need.kind);
    needs
}

/// Of several tasks that only wait to be looked at, the last one says how those are merged with one command that change no file in common,
/// with what is merged neither. The others say what they conflict with, or with whom of those that are not merged they may.
fn merge_at_once(night: &Night, needs: &mut [Need]) {
    let waits = |need: &Need| {
        let merge = first_of(night, need).and_then(|task| task.merges.last());
        let only_shows_little = matches!(
            merge.map(|merge| &merge.outcome),
            Some(MergeOutcome::LeftToPerson { files, carried, steered, proof: Some(Proof::StayedGreen), branch, .. })
                if files.is_empty() && carried.is_empty() && steered.is_empty() && !branch.ends_with(".patch")
        );
        need.kind == NeedKind::YoursToMerge && only_shows_little
    };
    let merged =
        |task: &&NightTask| matches!(task.merges.last(), Some(Merge { outcome: MergeOutcome::Merged { .. }, .. }));
    let merged: Vec<&NightTask> = night.tasks.iter().filter(merged).collect();
    let (mut apart, mut together): (Vec<&NightTask>, Vec<usize>) = (Vec::new(), Vec::new());
    for (at, need) in needs.iter_mut().enumerate() {
        if need.kind != NeedKind::YoursToMerge {
            continue;
        }
        let Some(this) = first_of(night, need) else { continue };
        let shared = apart.iter().filter_map(|other| Some((*other, in_common(this, other)?)));
        let shared: Vec<(&NightTask, String)> = shared.collect();
        let is_apart = shared.is_empty() && !merged.iter().any(|other| in_common(this, other).is_some());
        need.why.push_str(&conflicting(this, &shared));
        // Where what it changes is not written down, nothing is known of what goes with it.
        together.extend((is_apart && !this.files.is_empty() && waits(need)).then_some(at));
        apart.push(this);
    }
    let (Some(last), true) = (together.last().copied(), together.len() > 1) else { return };
    let branches = together.iter().filter_map(|at| needs[*at].branch.as_deref());
    let command = format!("git merge {}", branches.map(quoted).collect::<Vec<_>>().join(" "));
    needs[last].commands.push(step(command, "merge at once those kept branches that change no file in common"));
}

/// With what work that is not merged conflicts, or may.
fn conflicting(task: &NightTask, shared: &[(&NightTask, String)]) -> String {
    let named: Vec<String> = task.conflicts.iter().take(3).map(|file| format!("`{}`", foreign(file, 120))).collect();
    let more = task.conflicts.len().saturating_sub(named.len());
    let more = if more > 0 { format!(" and {}", plural(more, "other file")) } else { String::new() };
    let mut said = String::new();
    if !named.is_empty() {
        said.push_str(&format!("; it conflicts with what is merged in {}{more}", named.join(", ")));
    }
    if let Some((_, file)) = shared.first() {
        let named: Vec<String> = shared.iter().take(REOPENED).map(|(other, _)| format!("`{}`", other.id)).collect();
        let by = super::words::joined(&named);
        said.push_str(&format!("; {file} is changed by {by} too: whichever is merged second may conflict"));
    }
    said
}

fn first_of<'n>(night: &'n Night, need: &Need) -> Option<&'n NightTask> {
    need.tasks.first().and_then(|place| night.tasks.get(*place))
}

/// A file that both tasks change, neither with the other one's change before it.
fn in_common(one: &NightTask, other: &NightTask) -> Option<String> {
    if one.after.contains(&other.id) || other.after.contains(&one.id) {
        return None;
    }
    one.files.iter().find(|file| other.files.contains(file)).map(|file| format!("`{}`", foreign(file, 120)))
}

/// At most this many tasks of one need have a command each.
const REOPENED: usize = 8;

/// Tasks whose attempts are used up, where nothing more is said of them: nobody tries them again by itself.
fn failed(night: &Night, needs: &[Need]) -> Option<Need> {
    let told = |place: usize| needs.iter().any(|need| need.tasks.contains(&place));
    let failed = night
        .tasks
        .iter()
        .enumerate()
        .filter(|(place, task)| task.state == TaskState::Failed && !task.brought_in && !told(*place));
    let tasks: Vec<usize> = failed.map(|(place, _)| place).collect();
    let (it, them) = if tasks.len() == 1 { ("its", "it") } else { ("their", "them") };
    let why = format!("{it} attempts are used up, and nobody tries {them} again before you open {them}");
    let of = |place: &usize| {
        let task = &night.tasks[*place];
        look(night, task).into_iter().chain(apply_kept(task)).chain([more_attempts(night, task), reopen(task)])
    };
    let commands = tasks.iter().take(REOPENED).flat_map(of).collect();
    (!tasks.is_empty()).then_some(Need { kind: NeedKind::Failed, tasks, why, branch: None, commands })
}

/// Tasks that wait for one which waits for a person: they go on when that one does.
fn held(night: &Night, needs: &[Need]) -> Vec<Need> {
    let told = |place: usize| needs.iter().any(|need| need.tasks.contains(&place));
    let held = |(place, task): &(usize, &NightTask)| {
        task.state == TaskState::Open && !task.held_by.is_empty() && !told(*place)
    };
    let held = night.tasks.iter().enumerate().filter(held);
    held.map(|(place, task)| {
        let by: Vec<String> = task.held_by.iter().map(|id| format!("`{id}`")).collect();
        let why = format!("{}, which waits for you", super::words::joined(&by));
        Need { kind: NeedKind::Held, tasks: vec![place], why, branch: None, commands: Vec::new() }
    })
    .collect()
}

/// What is missing around all of them.
fn halted(night: &Night) -> Option<Need> {
    let why = night.halted.clone().filter(|_| night.state == NightState::Halted)?;
    let at_work = night.tasks.iter().enumerate().filter(|(_, task)| task.in_work).map(|(place, _)| place);
    let commands = go_on(night).into_iter().collect();
    Some(Need { kind: NeedKind::Environment, tasks: at_work.collect(), why, branch: None, commands })
}

/// What was changed in the user's repository and is not put back: each thing once.
fn changed(night: &Night) -> Vec<Need> {
    let mut needs: Vec<Need> = Vec::new();
    for (task, why) in &night.changed {
        match needs.iter_mut().find(|need| need.why == *why) {
            Some(need) => need.tasks.extend(task.filter(|task| !need.tasks.contains(task))),
            None => needs.push(Need {
                kind: NeedKind::Repository,
                tasks: task.iter().copied().collect(),
                why: why.clone(),
                branch: None,
                commands: Vec::new(),
            }),
        }
    }
    needs
}

/// What is missing around the task, which others may share.
fn around(night: &Night, task: &NightTask) -> Option<(NeedKind, String)> {
    if task.state != TaskState::Open || task.stop != Some(Stop::Environment) {
        return None;
    }
    let last = task.attempts.iter().rev().map(|place| &night.attempts[*place]);
    let refused = last.take_while(|attempt| attempt.fate == Fate::Dropped).find_map(|attempt| match attempt.ending {
        Some(Ending::Auth) => Some(format!("agent `{}` is not logged in, or its key was refused", attempt.agent)),
        Some(Ending::Quota) => Some(format!("the quota of agent `{}` is used up", attempt.agent)),
        _ => None,
    });
    match refused {
        Some(why) => Some((NeedKind::Login, why)),
        None => Some((NeedKind::Environment, task.cause.clone().unwrap_or_else(|| "nothing says why".to_owned()))),
    }
}

/// What is the matter with this task alone.
fn own(night: &Night, place: usize, task: &NightTask) -> Option<Need> {
    if task.brought_in {
        return None;
    }
    let open = matches!(task.state, TaskState::Failed | TaskState::Blocked | TaskState::Open);
    let unmerged = task.merges.last().filter(|_| open).and_then(|merge| unmerged(task, merge));
    if let Some((why, branch, commands)) = unmerged {
        return Some(Need { kind: NeedKind::Unmerged, tasks: vec![place], why, branch: Some(branch), commands });
    }
    if let Some(need) = yours_to_merge(place, task) {
        return Some(need);
    }
    if task.state == TaskState::Open && task.stop == Some(Stop::BadDependency) {
        let commands = vec![step(format!("reflexion task show {}", task.id), "see what it depends on")];
        let why = task.cause.clone().unwrap_or_default();
        return Some(Need { kind: NeedKind::Blocked, tasks: vec![place], why, branch: None, commands });
    }
    if task.state == TaskState::Open && task.stop == Some(Stop::NoCheck) {
        let give = format!("reflexion task edit {} --check 'COMMAND'", task.id);
        let commands = vec![
            step(give, "give it a check that fails until it is fixed: your command for COMMAND"),
            step("reflexion doctor --checks", "see how the checks are before anybody works"),
        ];
        let why = task.cause.clone().unwrap_or_default();
        return Some(Need { kind: NeedKind::Blocked, tasks: vec![place], why, branch: None, commands });
    }
    if task.state != TaskState::Blocked {
        return None;
    }
    let cause = task.cause.clone().unwrap_or_else(|| "nothing says why".to_owned());
    let (kind, why, mut commands) = match task.verdict {
        _ if !task.person.is_empty() => (NeedKind::Person, task.person.join("; "), vec![reopen(task)]),
        Some(Verdict::Unverifiable) => {
            let close =
                step(format!("reflexion task close {}", task.id), "call it done; that brings nothing into your files");
            let (cause, fix) = match only_the_fix(task) {
                Some(fix) => {
                    (format!("{cause}. It is a bug: with `expects` `fix` changed tests alone do not count"), Some(fix))
                }
                None => (cause, None),
            };
            let commands = fix.into_iter().chain(apply_kept(task)).chain([close, reopen(task)]);
            (NeedKind::Unverifiable, cause, commands.collect())
        }
        _ => (NeedKind::Blocked, cause, vec![reopen(task)]),
    };
    commands.splice(0..0, look(night, task));
    Some(Need { kind, tasks: vec![place], why, branch: task.branch.clone(), commands })
}

/// Of a bug whose tests alone turned its check green: how such work is refuted from now on.
fn only_the_fix(task: &NightTask) -> Option<Step> {
    let command = || format!("reflexion task edit {} --expects fix", task.id);
    let by_tests_alone = task.proof_runs.is_some_and(|runs| (runs.c, runs.t) == (Some(Ran::Red), Some(Ran::Green)));
    (by_tests_alone && task.is_loose_bug)
        .then(|| step(command(), "count only a fix of the code, before you open it again"))
}

/// Confirmed work that only a person merges: how to see what it changes, and how to merge it.
fn yours_to_merge(place: usize, task: &NightTask) -> Option<Need> {
    let Merge { outcome, .. } = task.merges.last().filter(|_| task.state == TaskState::Confirmed)?;
    let MergeOutcome::LeftToPerson { files, steered, proof, size, branch, .. } = outcome else { return None };
    let commands = if branch.ends_with(".patch") {
        vec![apply(task)]
    } else {
        // One that cannot be named would be left out of the difference: then all of it is shown.
        let named =
            files.iter().map(|file| pathspec(file)).collect::<Option<Vec<_>>>().filter(|named| !named.is_empty());
        let only = named.map(|named| format!(" -- {}", named.join(" "))).unwrap_or_default();
        let merge = step(format!("git merge {}", quoted(branch)), "merge it");
        vec![step(see_branch(branch) + &only, "see what it changes there"), merge]
    };
    let risk = task.risk.as_ref().filter(|_| proof.is_some() && steered.is_empty());
    let risk = risk.filter(|risk| risk.score > 0.0).map(|risk| format!("risk {}: {}", risk.score, risk.reason));
    let unnoticed = unnoticed(task).filter(|_| proof.is_some());
    // What the repository says counts the same lines as the diff below.
    let size = task.change.as_ref().map(|change| change.size).or(*size);
    let about: Vec<String> = size.map(|size| size.to_string()).into_iter().chain(risk).chain(unnoticed).collect();
    let about = if about.is_empty() { String::new() } else { format!(" ({})", about.join("; ")) };
    let why = format!("{}{about}", outcome.failed().unwrap_or_default());
    Some(Need { kind: NeedKind::YoursToMerge, tasks: vec![place], why, branch: Some(branch.clone()), commands })
}

/// How all that a task's branch changes is seen: it has one commit, on top of what the task stands on.
fn see_branch(branch: &str) -> String {
    format!("git diff {} {}", quoted(&format!("{branch}~")), quoted(branch))
}

/// How to get work that is no branch.
pub(super) fn apply(task: &NightTask) -> Step {
    step(format!("reflexion apply {}", task.id), "bring it into your files, uncommitted")
}

/// How to get what its last attempt changed, which nothing confirmed.
pub(super) fn apply_kept(task: &NightTask) -> Option<Step> {
    let patch = task.kept.last()?;
    Some(step(
        format!("git apply --3way {}", quoted(patch)),
        "bring what its attempts have left, and nothing confirmed, into your files, uncommitted",
    ))
}

/// How to see what the agent did.
pub(super) fn look(night: &Night, task: &NightTask) -> Option<Step> {
    let last = night.attempts.get(*task.attempts.last()?)?;
    Some(step(format!("reflexion transcript show {}#{}", task.id, last.attempt), "see what the agent did"))
}

fn unmerged(task: &NightTask, merge: &Merge) -> Option<(String, String, Vec<Step>)> {
    let kept = match &merge.outcome {
        MergeOutcome::Merged { .. } | MergeOutcome::LeftToPerson { .. } => return None,
        MergeOutcome::Conflict { kept, .. } | MergeOutcome::Red { kept, .. } => kept,
    };
    let why = task.unmerged.words()?;
    let branch = quoted(kept);
    let commands = vec![
        step(see_branch(kept), "see the change"),
        step(format!("git merge {branch}"), "merge it by hand"),
        step(format!("reflexion task reopen {}", task.id), "let an agent do it again"),
    ];
    Some((why, kept.clone(), commands))
}

/// Confirmed changes that somebody should look at, the heaviest risk first.
fn reviews(night: &Night) -> Vec<Need> {
    // What a person merges anyway is looked at then.
    let yours =
        |task: &NightTask| matches!(task.merges.last(), Some(Merge { outcome: MergeOutcome::LeftToPerson { .. }, .. }));
    let done = [TaskState::Merged, TaskState::Confirmed, TaskState::Unchanged];
    // What was merged since was looked at then.
    let confirmed = |task: &NightTask| done.contains(&task.state) && !yours(task) && !task.brought_in;
    let mut to_see: Vec<(f64, usize, &NightTask, String)> = Vec::new();
    for (place, task) in night.tasks.iter().enumerate().filter(|(_, task)| confirmed(task)) {
        let risk = task.risk.as_ref().filter(|risk| risk.needs_review);
        let risky = risk.map(|risk| format!("{} (risk {})", risk.reason, risk.score));
        let little = task.wants_look();
        let little = little.map(|proof| format!("{}, so look at it yourself", proof.words()));
        let why: Vec<String> = risky.into_iter().chain(little).collect();
        if !why.is_empty() {
            to_see.push((risk.map_or(0.0, |risk| risk.score), place, task, why.join("; ")));
        }
    }
    to_see.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let need = |(_, place, task, why): (f64, usize, &NightTask, String)| Need {
        kind: NeedKind::Review,
        tasks: vec![place],
        why,
        branch: task.branch.clone(),
        commands: show(task).or_else(|| read(night, task)).into_iter().collect(),
    };
    to_see.into_iter().map(need).collect()
}

/// How to see what an agent says of work that changes nothing.
pub(super) fn read(night: &Night, task: &NightTask) -> Option<Step> {
    look(night, task).map(|look| Step { does: "read what the agent answered", ..look })
}

impl NightTask {
    /// What its confirmation rests on where that is so little that a person is asked to look: nothing tells the work from none, and its owner
    /// did not ask for nothing.
    pub(in crate::report) fn wants_look(&self) -> Option<Proof> {
        let is_asked_for = self.state == TaskState::Unchanged && self.expects_nothing;
        self.proof.filter(|proof| !proof.shows_a_difference() && !is_asked_for && !self.brought_in)
    }
}

/// How to see a task's confirmed change.
fn show(task: &NightTask) -> Option<Step> {
    if let Some(Merge { outcome: MergeOutcome::Merged { commit, .. }, .. }) = task.merges.last() {
        return Some(step(format!("git show {}", quoted(commit)), "see the change"));
    }
    let branch = task.branch.as_ref()?;
    if branch.ends_with(".patch") {
        return Some(step(format!("reflexion apply {}", task.id), "bring it into your files, uncommitted"));
    }
    Some(step(see_branch(branch), "see the change"))
}
