//! What is said of attempts: by what decided, by the agent, by runs of its tests.

use super::super::run::needs_review;
use super::block::{CAUSE, Line, Piece, text, ticked, with_code};
use super::value::{AskedForTest, Fate, Night, NightTask};
use super::words::foreign;
use crate::domain::Proof;
use crate::prompt::one_line;

/// So much of what an agent said last.
const ANSWER: usize = 700;

/// Why somebody should look at what was changed, as a run says it at its end.
pub(super) fn review(task: &NightTask) -> Option<Line> {
    needs_review(task.risk.as_ref()).map(|why| ticked(&foreign(&why, CAUSE)))
}

/// What a red check runs and what it said, and what the agent said last, of the attempt that was judged last.
pub(super) fn last_said(night: &Night, task: &NightTask) -> Vec<Line> {
    let judged = task.attempts.iter().rev().map(|place| &night.attempts[*place]);
    let Some(last) = judged.into_iter().find(|attempt| attempt.fate == Fate::Judged) else { return Vec::new() };
    let red = last.red.as_ref().map(|check| {
        let run = with_code(&format!("check `{}` runs ", foreign(&check.name, 60)), &check.run, "");
        let said = check.line.iter().flat_map(|line| with_code("; it printed ", line, ""));
        run.into_iter()
            .flat_map(|piece| match piece {
                Piece::Text(words) => ticked(&words),
                code @ Piece::Code(_) => vec![code],
            })
            .chain(said)
            .collect()
    });
    let answer = last.answer.as_ref().map(|answer| {
        let said = foreign(answer, ANSWER);
        text(format!("the agent of attempt {} said last, which decides nothing: “{said}”", last.attempt))
    });
    red.into_iter().chain(answer).collect()
}

/// What its confirmation says.
pub(super) fn shown_by(night: &Night, task: &NightTask) -> Option<Line> {
    let judged = task.attempts.iter().rev().map(|place| &night.attempts[*place]);
    let last = judged.into_iter().find(|attempt| attempt.fate == Fate::Judged && !attempt.because.is_empty())?;
    Some(ticked(&format!(
        "attempt {} was confirmed: {}",
        last.attempt,
        foreign(&without_lines(task, &last.because), CAUSE)
    )))
}

/// Why the attempt that was judged last is what it is, without the lines that no check notices: the page has them beside it.
pub(super) fn without_lines(task: &NightTask, because: &str) -> String {
    let lines = task.proof_hunks.as_ref().and_then(|hunks| hunks.words(one_line));
    lines.map_or_else(|| because.to_owned(), |lines| because.replace(&format!("; {lines}"), ""))
}

/// Whether its last attempt was asked for a test, and what came of it; else what the tests show that it has and that do not prove it. And what would.
pub(super) fn asked_for_test(night: &Night, task: &NightTask) -> Option<String> {
    const WANTED: &str = "what would prove it: a test that fails, by what it asserts and not with an error, without the change or with a mistake in it";
    let last = night.attempts.get(*task.attempts.last()?)?;
    let is_open = task.proof == Some(Proof::StayedGreen);
    let own = || Some(format!("its new test {}", task.proof_runs?.tests_show()?.words()));
    let words = last.asked_for_test.map(|asked| asked.words(last.test_shows));
    let words = words.or_else(|| own().filter(|_| is_open))?;
    let is_wanted = is_open && last.asked_for_test != Some(AskedForTest::Nothing);
    Some(if is_wanted { format!("{words}; {WANTED}") } else { words })
}
