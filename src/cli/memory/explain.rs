//! `memory search --explain`: what a run would make of each lesson after a failure.

use super::super::exit::UsageError;
use super::super::output::{errln, outln};
use super::super::{Exit, project};
use super::Memory;
use super::listing::line;
use super::search::output;
use crate::domain::TaskId;
use crate::runtime::{self, AskedRecall, Decided, ExplainedLesson, Same};
use crate::services::Tasks;
use serde_json::{Value, json};
use std::path::Path;

impl Memory {
    /// Prints whether and why an attempt would see each lesson; `task` is the one that is asked for, if one is.
    pub(super) async fn explain(
        &self,
        file: Option<&Path>,
        (tasks, task): (&dyn Tasks, Option<String>),
        limit: usize,
        json: bool,
    ) -> anyhow::Result<Exit> {
        let (task, text) = self.as_task(tasks, task).await?;
        let asked = AskedRecall { task, text, output: output(file)? };
        let ports = (self.storage.clone().into_arc(), self.lessons.clone().into_arc());
        let mut found = runtime::explain_recall(ports, self.settings.reflexion(), asked).await?;
        let all = found.len();
        found.retain(|one| {
            one.own || one.retry.shown || one.first.shown || one.same.is_some() || one.lines + one.words > 0.0
        });
        found.truncate(limit);
        if json {
            let lessons: Vec<Value> = found.iter().map(as_json).collect();
            project::print_json(&json!({ "lessons": lessons }))?;
        } else if found.is_empty() {
            errln!("no lesson has anything in common with this output ({all} looked at)");
        } else {
            found.iter().for_each(print);
        }
        Ok(Exit::Confirmed)
    }

    /// The task that is asked for, and what it says.
    async fn as_task(&self, tasks: &dyn Tasks, id: Option<String>) -> anyhow::Result<(TaskId, String)> {
        let Some(id) = id else {
            // No task is called so: every lesson is another one's.
            return Ok((TaskId::new(format!("none-{}", self.clock.new_id()))?, String::new()));
        };
        let id = TaskId::new(id).map_err(|error| UsageError(error.to_string()))?;
        let list = tasks.load().await?;
        let task = list.tasks.iter().find(|task| task.id == id);
        let task = task.ok_or_else(|| {
            UsageError(format!("there is no task `{id}`; `reflexion task list` shows which there are"))
        })?;
        let text = format!("{}\n\n{}", task.title, task.description);
        Ok((id, text.trim().to_owned()))
    }
}

fn print(found: &ExplainedLesson) {
    outln!("{}", line(&found.reflection));
    outln!("    -> {}", found.reflection.suggestion);
    outln!("    failure:       {}", likeness(found));
    let helps = found.helps.map_or_else(
        || "not measured yet".to_owned(),
        |helps| format!("it helps with a probability of {:.0} %", helps * 100.0),
    );
    outln!("    state:         {}; {helps}", found.state.as_str());
    if let Some(why) = found.at_home.as_ref().filter(|_| !found.own) {
        outln!("    its words:     they stay with its own task, unless you say otherwise: {why}");
    }
    outln!("    a retry:       {}", in_words(&found.retry));
    outln!("    first attempt: {}\n", in_words(&found.first));
}

fn likeness(found: &ExplainedLesson) -> String {
    let same = found.same.map(|same| format!("the same ({}); ", fingerprint(same))).unwrap_or_default();
    let shared =
        if found.shared.is_empty() { String::new() } else { format!(" (both say: {})", found.shared.join(", ")) };
    let (lines, words) = (found.lines * 100.0, found.words * 100.0);
    format!("{same}{lines:.0} % of the error lines, {words:.0} % of the words{shared}")
}

fn fingerprint(same: Same) -> &'static str {
    match same {
        Same::Structure => "F1: tool, code, tests and place are equal",
        Same::Lines => "F0: every error line is equal",
    }
}

fn in_words(decided: &Decided) -> String {
    format!("{}: {}", if decided.shown { "shown" } else { "not shown" }, decided.why)
}

fn as_json(found: &ExplainedLesson) -> Value {
    let decided = |one: &Decided| json!({ "shown": one.shown, "why": one.why });
    let same = found.same.map(|same| match same {
        Same::Structure => "F1",
        Same::Lines => "F0",
    });
    json!({
        "id": found.reflection.id,
        "own": found.own,
        "same": same,
        "lines": found.lines,
        "words": found.words,
        "shared": found.shared,
        "state": found.state,
        "staysHome": found.at_home,
        "helps": found.helps,
        "retry": decided(&found.retry),
        "first": decided(&found.first),
        "reflection": found.reflection,
    })
}
