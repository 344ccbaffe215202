//! In which parts a task is worked on, as far as that is known before a run.

use crate::domain::policy::Decompose;
use crate::domain::{Proposal, Task, TaskList, decompose};
use crate::runtime::Told;

/// What is known of a task's parts.
pub(super) struct Known<'a> {
    /// How tasks are split.
    pub how: Decompose,
    /// The tasks, with the attempts that they had.
    pub list: &'a TaskList,
    /// What came of asking for its parts.
    pub told: Option<&'a Told>,
}

impl Known<'_> {
    /// What was proposed for the task as it says now.
    fn proposal(&self, task: &Task) -> Option<&Proposal> {
        let stands = self.told.and_then(|told| told.stands.as_ref());
        stands.filter(|proposal| task.subtasks.is_empty() && proposal.is_of(task))
    }

    /// The task in the parts that a run would work on.
    pub(super) fn split(&self, task: &Task) -> Task {
        match self.proposal(task).filter(|proposal| !proposal.parts.is_empty()) {
            Some(proposal) => Task { subtasks: proposal.parts.clone(), ..task.clone() },
            None => task.clone().split(self.how),
        }
    }

    /// What the task would be split into, and what stands against it; nothing where it is simply one.
    pub(super) fn said(&self, task: &Task) -> String {
        let how = self.how;
        let wanted = if how == Decompose::Off { Decompose::Structure } else { how };
        let found = match decompose(task, wanted) {
            Err(error) if how != Decompose::Off => return format!("not split: {error}\n"),
            Ok(found) if !found.is_empty() => found,
            _ if how == Decompose::Asked && task.subtasks.is_empty() => return self.asked(task),
            _ if task.subtasks.is_empty() => return String::new(),
            _ => task.subtasks.clone(),
        };
        let head = match (task.subtasks.is_empty(), how) {
            (false, _) => "in parts, one after the other:",
            (true, Decompose::Off) => "worked on as a whole; with `decompose: structure` it would be split into",
            (true, _) => "split by its description, one part after the other:",
        };
        listed(head, &found)
    }

    /// Where somebody is asked: what was answered, or that it is still to come.
    fn asked(&self, task: &Task) -> String {
        let begun = self.list.attempts.iter().any(|((id, _), count)| *id == task.id && count.last > 0);
        match (self.proposal(task), self.told.and_then(|told| told.failed.as_ref())) {
            (Some(proposal), _) if proposal.parts.is_empty() => {
                "worked on as a whole, as whoever was asked for its parts said\n".to_owned()
            }
            (Some(proposal), _) => listed("in the parts that were proposed, one after the other:", &proposal.parts),
            (None, Some(because)) if begun => {
                format!("worked on as a whole, because nobody split it before its first attempt: {because}\n")
            }
            (None, _) if begun => {
                "worked on as a whole: parts are asked for before the first attempt only, and it had one\n".to_owned()
            }
            _ => "before its first attempt somebody is asked in which parts it is worked on\n".to_owned(),
        }
    }
}

fn listed(head: &str, parts: &[crate::domain::Subtask]) -> String {
    let lines = parts.iter().map(|part| format!("  {}  {}\n", part.id, part.title));
    format!("{head}\n{}", lines.collect::<String>())
}
