//! Results as Markdown, with plots that a terminal shows.

use super::calibration::Calibration;
use super::decision::Decision;
use crate::evaluation::Rate;
use std::fmt::Write as _;

/// Columns of a bar.
const WIDTH: usize = 40;

/// P1's result; the kill condition stands in the heading.
#[must_use]
pub fn calibration_text(result: &Calibration) -> String {
    let mut text = decided(&result.decision);
    let none = || "not computed".to_owned();
    let auc = result.auc.map_or_else(none, |a| {
        format!("{:.3} (95 %: {:.3} to {:.3}, {})", a.value, a.lo, a.hi, method(a.method))
    });
    let lift = result.lift.map_or_else(none, |lift| format!("{:+.1} points", lift * 100.0));
    let brier = result.brier.map_or_else(none, |brier| format!("{brier:.4}"));
    let _ = write!(
        text,
        "\n| measure | value |\n|---|---|\n| observations | {} |\n| right | {} |\n| AUC | {auc} |\n\
         | right where confidence >= {} | {} |\n| lift over all | {lift} |\n| Brier score | {brier} |\n",
        result.n, result.base_rate, result.high.from, result.high.correct
    );
    if result.n > 0 {
        text.push_str("\nReliability: how often those were right who were so sure (`|`: as often as they said).\n\n```text\n");
        text.push_str("confidence       n  right\n");
        for bin in &result.bins {
            let said = bin.confidence;
            let plot = bin.correct.rate().map(|rate| bar(rate, said)).unwrap_or_default();
            let share = bin.correct.rate().map_or_else(|| "     -".to_owned(), |rate| format!("{:4.0} %", rate * 100.0));
            let _ = writeln!(text, "{:.1} to {:.1} {:7} {share}  {plot}", bin.from, bin.to, bin.correct.of);
        }
        text.push_str("```\n");
    }
    text
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
    let (full, mark) = (column(share), mark.map(column));
    let cell = |at: usize| match (mark == Some(at), at < full) {
        (true, _) => '|',
        (false, true) => '#',
        (false, false) => '.',
    };
    (0..=WIDTH).map(cell).collect()
}

/// A share as a percentage with its bar.
fn share_line(name: &str, rate: Rate) -> String {
    let Some((share, (low, high))) = rate.rate().zip(rate.interval()) else {
        return format!("{name:<26} {:>6}\n", 0);
    };
    let [percent, low, high] = [share, low, high].map(|share| share * 100.0);
    format!("{name:<26} {:>6} {percent:5.1} % ({low:.1} to {high:.1} %)  {}\n", rate.count, bar(share, None))
}
