//! `answer_present`: an agent that said nothing and did nothing is not done.

use super::facts::View;
use super::finding::{Finding, Todo};
use super::runtime_checks::Runtime;
use crate::domain::Expects;

const GATE: &str = "answer_present";

pub(super) fn answer_present(view: &View<'_>) -> Finding {
    let trace = &view.facts.turn.trace;
    if !trace.response.trim().is_empty() {
        return Finding::passed(GATE, "there is an answer");
    }
    let changed = view.facts.turn.observed.as_ref().map(|o| !o.change.no_op && !o.change.files.is_empty());
    let idle = trace.calls == 0 && changed != Some(true);
    if !idle {
        return Finding::not_run(GATE, "there is no answer, but something was done");
    }
    if changed.is_none() && trace.asked.is_empty() && view.facts.turn.task.trim().is_empty() {
        return Finding::not_run(GATE, "nothing is recorded at all");
    }
    let nothing_expected = view.facts.turn.expects == Some(Expects::Nothing);
    if nothing_expected && matches!(view.runtime, Runtime::Green(_)) {
        return Finding::not_run(GATE, "nothing was done, as the task expects, and every check is green");
    }
    let todo = Todo::high("Any work and any answer", "Do what the task asks for, and say what you did.");
    Finding::failed(GATE, "the answer is empty, and nothing was done", todo)
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{coding, turn};
    use super::*;

    #[test]
    fn nothing_said_and_nothing_done_is_not_done() {
        turn("Create it").fails(GATE, "nothing was done");
        turn("Create it").answer("Here.").passes(GATE, "");
        turn("Create it").edit("a.rs").is_silent(GATE, "something was done");
        turn("Create it").observed(&["a.rs"], "").is_silent(GATE, "something was done");
        coding().observed(&[], "").fails(GATE, "nothing was done");
        turn("").is_silent(GATE, "nothing is recorded at all");
    }
}
