//! Results as Markdown, with plots that a terminal shows.

use super::board::BoardResult;
use super::calibration::Calibration;
use super::decision::Decision;
use super::follow_ups::GitHistoryResult;
use super::gates::Gate;
use crate::evaluation::Rate;
use std::fmt::Write as _;

/// Columns of a bar.
const WIDTH: usize = 40;

/// P1's result; the kill condition stands in the heading.
#[must_use]
pub fn calibration_text(result: &Calibration) -> String {
    let mut text = decided(&result.decision);
    let none = || "not computed".to_owned();
    let auc = result
        .auc
        .map_or_else(none, |a| format!("{:.3} (95 %: {:.3} to {:.3}, {})", a.value, a.lo, a.hi, method(a.method)));
    let lift = result.lift.map_or_else(none, |lift| format!("{:+.1} points", lift * 100.0));
    let brier = result.brier.map_or_else(none, |brier| format!("{brier:.4}"));
    let _ = write!(
        text,
        "\n| measure | value |\n|---|---|\n| observations | {} |\n| right | {} |\n| AUC | {auc} |\n\
         | right where confidence >= {} | {} |\n| lift over all | {lift} |\n| Brier score | {brier} |\n",
        result.n, result.base_rate, result.high.from, result.high.correct
    );
    if result.n > 0 {
        text.push_str(
            "\nReliability: how often those were right who were so sure (`|`: as often as they said).\n\n```text\n",
        );
        text.push_str("confidence       n  right\n");
        for bin in &result.bins {
            let said = bin.confidence;
            let plot = bin.correct.rate().map(|rate| bar(rate, said)).unwrap_or_default();
            let share =
                bin.correct.rate().map_or_else(|| "     -".to_owned(), |rate| format!("{:4.0} %", rate * 100.0));
            let _ = writeln!(text, "{:.1} to {:.1} {:7} {share}  {plot}", bin.from, bin.to, bin.correct.of);
        }
        text.push_str("```\n");
    }
    text
}

/// P2's result; the kill condition stands in the heading.
#[must_use]
pub fn git_history_text(result: &GitHistoryResult) -> String {
    let mut text = decided(&result.decision);
    let _ = write!(
        text,
        "\n{} commits in {} steps of the main line; {} repairs within {} days of what they repair",
        result.extent.commits, result.changes, result.n, result.days
    );
    let kinds: Vec<String> = result.kinds.iter().map(|(kind, count)| format!("{count} {}", kind.as_str())).collect();
    if !kinds.is_empty() {
        let _ = write!(text, " ({})", kinds.join(", "));
    }
    let _ = writeln!(text, "; {} more repair something older or unknown.", result.later_or_unknown);
    if result.extent.shallow {
        text.push_str(
            "\nThis is a shallow clone: what came before it is not counted; `git fetch --unshallow` brings it.\n",
        );
    }
    if result.n == 0 {
        return text;
    }
    text.push_str(
        "\nWhich gate would have caught them (upper bound for the last: nothing else explains those).\n\n```text\n",
    );
    for gate in Gate::ALL {
        text += &share_line(gate.as_str(), result.gates.of(gate));
    }
    text.push_str("```\n");
    for gate in Gate::ALL {
        let examples: Vec<_> = result.examples.iter().filter(|repair| repair.gate == gate).collect();
        if examples.is_empty() {
            continue;
        }
        let _ = writeln!(text, "\n## {} ({} of {})\n", gate.as_str(), examples.len(), result.gates.of(gate).count);
        for repair in examples {
            let _ = writeln!(
                text,
                "- {} {} ({}, after {} days: {})\n  repairs {} {}",
                short(&repair.commit),
                repair.subject,
                repair.kind.as_str(),
                repair.days,
                repair.rule,
                short(&repair.repairs),
                repair.repairs_subject
            );
        }
    }
    text
}

/// P3's result; the kill condition stands in the heading.
#[must_use]
pub fn board_history_text(result: &BoardResult) -> String {
    let mut text = decided(&result.decision);
    let _ = writeln!(text, "\n{} finished tasks; {} are not finished.", result.n, result.unfinished);
    if result.n == 0 {
        return text;
    }
    text.push_str("\n```text\n");
    for (name, count) in [
        ("said to be right", result.right),
        ("said to be wrong", result.wrong),
        ("nothing says so", result.n - result.signal.count),
    ] {
        text += &share_line(name, Rate::new(count, result.n));
    }
    text.push_str("```\n");
    let sorts: Vec<String> = result.signals.iter().map(|(what, count)| format!("{what} ({count})")).collect();
    if !sorts.is_empty() {
        let _ = writeln!(text, "\nSignals: {}.", sorts.join(", "));
    }
    if result.young > 0 {
        let _ = writeln!(
            text,
            "\n{} of those without a signal are younger than 30 days: one may still come.",
            result.young
        );
    }
    text
}

/// The digits of an id that people read.
fn short(id: &str) -> &str {
    id.get(..10).unwrap_or(id)
}

fn method(name: &str) -> &'static str {
    if name == "delong" { "DeLong" } else { "Newcombe" }
}

fn decided(decision: &Decision) -> String {
    format!("\n**{}**: {}.\n", decision.word(), decision.because)
}

/// A bar of a share, and where a mark stands on it.
fn bar(share: f64, mark: Option<f64>) -> String {
    let column = |share: f64| (share * WIDTH as f64).round() as usize;
    let (full, mark) = (column(share), mark.map(|mark| column(mark).min(WIDTH - 1)));
    let cell = |at: usize| match (mark == Some(at), at < full) {
        (true, _) => '|',
        (false, true) => '#',
        (false, false) => '.',
    };
    (0..WIDTH).map(cell).collect()
}

/// A share as a percentage with its bar.
fn share_line(name: &str, rate: Rate) -> String {
    let Some((share, (low, high))) = rate.rate().zip(rate.interval()) else {
        return format!("{name:<26} {:>6}\n", 0);
    };
    let [percent, low, high] = [share, low, high].map(|share| share * 100.0);
    format!("{name:<26} {:>6} {percent:5.1} % ({low:.1} to {high:.1} %)  {}\n", rate.count, bar(share, None))
}
