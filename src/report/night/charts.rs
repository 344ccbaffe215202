//! The report's pictures: the timeline of the workers, attempts to success, and what tasks cost.

use super::value::{Fate, Night, NightAttempt, Span, SpanKind, TaskState};
use super::words::{Times, dollars, duration, foreign, number, plural, usage};
use crate::domain::{Exposure, Timestamp, Usage, Verdict};
use jiff::{SignedDuration, ToSpan};
use maud::{Markup, html};
use std::collections::{BTreeMap, HashMap};

/// So many workers have a row of their own.
const LANES: usize = 32;
/// So many agent runs stand in the table.
const ROWS: usize = 500;
/// A span has words of its own where there are not more than so many.
const WORDED: usize = 1500;
/// So many tasks have a bar.
const BARS: usize = 12;
/// A task is named on the timeline where it takes so much of it, in percent.
const NAMED_FROM: f64 = 4.0;
/// A row is drawn in so many steps; what falls into the same step and looks the same is drawn once.
const STEPS: f64 = 1000.0;

/// What the HTML has beside the words.
pub(super) struct Pictures {
    pub timeline: Markup,
    pub has_timeline: bool,
    /// What tasks cost.
    pub cost: Markup,
    /// Attempts to success.
    pub success: Markup,
    pub table: Markup,
}

/// The pictures; `anchors` are the places in the page where tasks are told.
pub(super) fn pictures(night: &Night, times: &Times, anchors: &HashMap<&str, String>) -> Pictures {
    let has_timeline = Axis::of(night).is_some() && !night.spans.is_empty();
    Pictures {
        timeline: timeline(night, times, anchors),
        has_timeline,
        cost: costs(night),
        success: to_success(night),
        table: table(night, times, anchors),
    }
}

/// The time that the timeline shows.
struct Axis {
    from: Timestamp,
    ms: f64,
}

impl Axis {
    fn of(night: &Night) -> Option<Self> {
        let from = night.started_at.or_else(|| night.spans.iter().map(|span| span.start).min())?;
        let to = night.last_sign_at?.max(from);
        let ms = to.duration_since(from).as_millis().max(1) as f64;
        Some(Self { from, ms })
    }

    /// 0 to 100.
    fn percent(&self, at: Timestamp) -> f64 {
        (at.duration_since(self.from).as_millis() as f64 / self.ms * 100.0).clamp(0.0, 100.0)
    }
}

/// How a span looks; the classes of the style sheet.
fn look(night: &Night, span: &Span) -> &'static str {
    let attempt = span.attempt.map(|place| &night.attempts[place]);
    match (span.kind, attempt) {
        (SpanKind::Agent, Some(attempt)) => agent_look(attempt),
        (SpanKind::Agent, None) => "cut",
        (SpanKind::Preparing, _) => "prep",
        (SpanKind::Checking, _) => "check",
        (SpanKind::Waiting, _) => "wait",
        (SpanKind::Merging, _) => "merge",
    }
}

fn agent_look(attempt: &NightAttempt) -> &'static str {
    match (attempt.verdict, attempt.fate) {
        (Some(Verdict::Confirmed), _) => "ok",
        (Some(Verdict::Failed), _) => "no",
        (Some(Verdict::FalseDone), _) => "lie",
        (Some(Verdict::Unverifiable), _) => "unv",
        (None, Fate::Working) => "now",
        (None, _) => "cut",
    }
}

const LEGEND: [(&str, &str); 10] = [
    ("ok", "agent, confirmed"),
    ("no", "agent, refuted"),
    ("lie", "agent, refuted after it had stopped by itself"),
    ("unv", "agent, unverifiable"),
    ("cut", "agent, not judged"),
    ("now", "agent, still working"),
    ("check", "checks and judging"),
    ("merge", "commit and merge"),
    ("wait", "waiting for a service"),
    ("prep", "preparing the workspace"),
];

fn timeline(night: &Night, times: &Times, anchors: &HashMap<&str, String>) -> Markup {
    let Some(axis) = Axis::of(night).filter(|_| !night.spans.is_empty()) else { return html! {} };
    let lanes = night.workers.len().min(LANES);
    let mut by_worker: Vec<Vec<&Span>> = vec![Vec::new(); lanes];
    let mut seen: Vec<&str> = Vec::new();
    for span in &night.spans {
        let look = look(night, span);
        if !seen.contains(&look) {
            seen.push(look);
        }
        if let Some(lane) = by_worker.get_mut(span.worker) {
            lane.push(span);
        }
    }
    let worded = night.spans.len() <= WORDED;
    let zone = times.zone_name(axis.from);
    let hidden = night.workers.len() - lanes;
    html! {
        section id="timeline" aria-labelledby="timeline-title" {
            h2 id="timeline-title" { "Timeline" }
            figure {
                div.wide tabindex="0" role="region" aria-labelledby="timeline-title" { div.lanes {
                    @for (worker, spans) in by_worker.iter().enumerate() {
                        div.lane {
                            span.who aria-hidden="true" { (worker + 1) }
                            (names(night, &axis, spans, anchors))
                            div.bar role="img" aria-label=(lane_words(night, worker)) {
                                @for gap in &night.gaps {
                                    i.gap style=(place(axis.percent(gap.start), axis.percent(gap.end))) {}
                                }
                                (lane(night, times, &axis, spans, worded))
                            }
                        }
                    }
                    div.axis aria-hidden="true" {
                        @for (percent, label) in ticks(&axis, times) {
                            span style=(format!("left:{percent:.2}%")) { (label) }
                        }
                    }
                } }
                figcaption {
                    "A row per worker; local time, " (zone) "."
                    @if hidden > 0 { " " (plural(hidden, "more worker")) " not drawn." }
                    @if !night.gaps.is_empty() { " Hatched: no process worked on it." }
                }
                ul.legend {
                    @for (class, words) in LEGEND.iter().filter(|(class, _)| seen.contains(class)) {
                        li { i class=(format!("s {class}")) aria-hidden="true" {} (words) }
                    }
                }
            }
        }
    }
}

fn place(from: f64, to: f64) -> String {
    format!("left:{from:.2}%;width:{:.2}%", (to - from).max(0.0))
}

/// The names of the tasks above what a worker did for them, as wide as that took; where that is no room, the table has them.
fn names(night: &Night, axis: &Axis, spans: &[&Span], anchors: &HashMap<&str, String>) -> Markup {
    let blocks = spans.chunk_by(|one, next| one.task == next.task).map(|block| {
        let (from, to) = (axis.percent(block[0].start), axis.percent(block[block.len() - 1].end));
        (night.tasks[block[0].task].id.as_str(), from, to)
    });
    html! {
        div.names {
            @for (id, from, to) in blocks.filter(|(_, from, to)| to - from >= NAMED_FROM) {
                @match anchors.get(id) {
                    Some(anchor) => a href=(format!("#{anchor}")) style=(place(from, to)) { (id) },
                    None => span style=(place(from, to)) { (id) },
                }
            }
        }
    }
}

fn lane(night: &Night, times: &Times, axis: &Axis, spans: &[&Span], worded: bool) -> Markup {
    let mut drawn: BTreeMap<&str, i64> = BTreeMap::new();
    let mut shapes = Vec::with_capacity(spans.len());
    for span in spans {
        let class = look(night, span);
        let (from, to) = (axis.percent(span.start), axis.percent(span.end));
        let step = (to / 100.0 * STEPS).ceil() as i64;
        if !worded && drawn.get(class).is_some_and(|last| *last >= step) {
            continue;
        }
        drawn.insert(class, step);
        let words = worded.then(|| span_words(night, times, span));
        shapes.push((class, place(from, to), words));
    }
    html! {
        @for (class, style, words) in &shapes {
            i class=(format!("s {class}")) style=(style) title=[words.as_ref()] {}
        }
    }
}

fn span_words(night: &Night, times: &Times, span: &Span) -> String {
    let length = duration(super::replay::millis(span.end.duration_since(span.start)));
    let task = night.tasks[span.task].id.as_str();
    let what = match (span.kind, span.attempt.map(|place| &night.attempts[place])) {
        (SpanKind::Agent, Some(attempt)) => {
            let verdict = attempt.verdict.map_or("not judged", Verdict::as_str);
            format!("attempt {} of {task} by {}: {verdict}", attempt.attempt, foreign(&attempt.agent, 60))
        }
        (SpanKind::Checking, Some(attempt)) => format!("checks of attempt {} of {task}", attempt.attempt),
        (SpanKind::Waiting, _) => format!("{task} waits"),
        (SpanKind::Merging, _) => format!("commit and merge of {task}"),
        _ => format!("workspace of {task}"),
    };
    let clock = |at| times.clock_of(night.took_ms(), at);
    format!("{what}, {} to {} ({length})", clock(span.start), clock(span.end))
}

fn lane_words(night: &Night, worker: usize) -> String {
    let runs = || night.attempts.iter().filter(|attempt| attempt.worker == worker);
    let confirmed = runs().filter(|attempt| attempt.verdict == Some(Verdict::Confirmed)).count();
    let time = night.workers[worker];
    format!(
        "Worker {}: {}, {confirmed} confirmed; {} at work, {} waiting, {} idle",
        worker + 1,
        plural(runs().count(), "agent run"),
        duration(time.busy_ms),
        duration(time.waiting_ms),
        duration(time.idle_ms),
    )
}

/// Round local times, at most six of them, each with where it stands.
fn ticks(axis: &Axis, times: &Times) -> Vec<(f64, String)> {
    const MINUTE: i64 = 60;
    const SECONDS: [i64; 22] = [
        1, 2, 5, 10, 30, MINUTE, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 14_400, 21_600, 43_200, 86_400, 172_800,
        432_000, 864_000, 2_592_000,
    ];
    let seconds = axis.ms / 1000.0;
    let start = axis.from.to_zoned(times.zone.clone());
    let Ok(midnight) = start.start_of_day() else { return Vec::new() };
    let ends = |label: &str| vec![(0.0, label.to_owned())];
    let Some(step) = SECONDS.into_iter().find(|step| seconds / *step as f64 <= 5.5) else {
        return ends(&times.full(axis.from));
    };
    let label = |at: Timestamp| match step {
        ..MINUTE => times.clock_to_seconds(at),
        MINUTE..86_400 => times.clock(at),
        _ => at.to_zoned(times.zone.clone()).strftime("%-d %b").to_string(),
    };
    let first = (axis.from.duration_since(midnight.timestamp()).as_secs() / step + 1) * step;
    let mut ticks = Vec::new();
    for n in 0..7 {
        let Ok(at) = midnight.timestamp().checked_add((first + n * step).seconds()) else { break };
        let percent = at.duration_since(axis.from).as_millis() as f64 / axis.ms * 100.0;
        // A label is centred at its place, and the row must not grow wider by it.
        if percent > 96.0 {
            break;
        }
        if percent >= 4.0 {
            ticks.push((percent, label(at)));
        }
    }
    if ticks.is_empty() {
        vec![(8.0, label(axis.from + SignedDuration::from_millis((axis.ms * 0.08) as i64)))]
    } else {
        ticks
    }
}

struct Bar {
    name: String,
    share: f64,
    words: String,
}

fn bar_list(id: &str, title: &str, lead: &str, bars: &[Bar]) -> Markup {
    html! {
        section id=(id) aria-labelledby=(format!("{id}-title")) {
            h2 id=(format!("{id}-title")) { (title) }
            p.lead { (lead) }
            ul.bars {
                @for bar in bars {
                    li {
                        bdi.name { (bar.name) }
                        span.track aria-hidden="true" { i style=(format!("width:{:.1}%", bar.share * 100.0)) {} }
                        span.value { (bar.words) }
                    }
                }
            }
        }
    }
}

/// How many attempts of this run confirmed tasks took.
fn to_success(night: &Night) -> Markup {
    let mut by_attempts: BTreeMap<u32, usize> = BTreeMap::new();
    let solved = |state| matches!(state, TaskState::Merged | TaskState::Confirmed | TaskState::Unchanged);
    for task in night.tasks.iter().filter(|task| solved(task.state) && task.judged > 0) {
        *by_attempts.entry(task.judged).or_default() += 1;
    }
    let most = by_attempts.values().copied().max().unwrap_or(0);
    // One bar compares nothing.
    if by_attempts.len() < 2 {
        return html! {};
    }
    let bars = by_attempts.iter().take(BARS).map(|(attempts, tasks)| Bar {
        name: plural(*attempts as usize, "attempt"),
        share: *tasks as f64 / most as f64,
        words: plural(*tasks, "task"),
    });
    let lead = "Judged attempts that confirmed tasks took in this run.";
    bar_list("success", "Attempts to success", lead, &bars.collect::<Vec<_>>())
}

/// What tasks cost: in money where any is known, else in tokens, else in the time of agents.
fn costs(night: &Night) -> Markup {
    let known = |of: fn(&super::value::NightTask) -> f64| night.tasks.iter().any(|task| of(task) > 0.0);
    let usd = |task: &super::value::NightTask| task.usage.cost_usd.unwrap_or(0.0);
    let tokens = |task: &super::value::NightTask| task.usage.tokens().unwrap_or(0) as f64;
    let time = |task: &super::value::NightTask| task.agent_ms as f64;
    let (what, of): (&str, fn(&super::value::NightTask) -> f64) = if known(usd) {
        ("The most expensive tasks, in US dollars; estimated ones say so.", usd)
    } else if known(tokens) {
        ("The most expensive tasks, in tokens. No agent reported money.", tokens)
    } else if known(time) {
        ("Tasks by the time of their agents, which reported neither tokens nor money.", time)
    } else {
        return html! {};
    };
    let mut tasks: Vec<_> = night.tasks.iter().filter(|task| of(task) > 0.0).collect();
    if tasks.len() < 2 {
        return html! {};
    }
    tasks.sort_by(|a, b| of(b).total_cmp(&of(a)));
    let most = tasks.first().map_or(1.0, |task| of(task));
    let words = |task: &super::value::NightTask| {
        // The bar's own measure first; money says of itself where it is estimated.
        let money = Usage { input: None, output: None, ..task.usage };
        let used = usage(if task.usage.cost_usd.is_some() { &money } else { &task.usage });
        let time = duration(task.agent_ms);
        used.map_or(time.clone(), |used| format!("{used}, {time}"))
    };
    let bars = tasks.iter().take(BARS).map(|task| Bar {
        name: task.id.to_string(),
        share: of(task) / most,
        words: words(task),
    });
    let title = if known(usd) || known(tokens) { "Cost by task" } else { "Time by task" };
    bar_list("cost", title, what, &bars.collect::<Vec<_>>())
}

/// Every agent run in a table: the timeline for those who cannot see it.
fn table(night: &Night, times: &Times, anchors: &HashMap<&str, String>) -> Markup {
    if night.attempts.is_empty() {
        return html! {};
    }
    let more = night.attempts.len().saturating_sub(ROWS);
    html! {
        section id="runs" aria-labelledby="runs-title" {
            h2 id="runs-title" { "Every agent run" }
            details {
                summary { (plural(night.attempts.len(), "agent run")) " as a table" }
                div.scroll tabindex="0" role="region" aria-labelledby="runs-title" {
                    table {
                        thead { tr {
                            @for head in ["Start", "Worker", "Task", "Attempt", "Agent", "Worked", "Checked", "Verdict", "Why"] {
                                th scope="col" { (head) }
                            }
                        } }
                        tbody { @for attempt in night.attempts.iter().take(ROWS) { (row(night, attempt, times, anchors)) } }
                    }
                }
                @if more > 0 { p.lead { "And " (more) " more; " code { "reflexion report --json" } " has them all." } }
            }
        }
    }
}

fn row(night: &Night, attempt: &NightAttempt, times: &Times, anchors: &HashMap<&str, String>) -> Markup {
    let verdict = match (attempt.verdict, attempt.fate) {
        (Some(verdict), _) => verdict.as_str(),
        (None, Fate::Working) => "working",
        (None, Fate::Cut) => "cut off",
        (None, _) => "not judged",
    };
    let ending = attempt.ending.as_ref().map_or("", |ending| ending.as_str());
    let why = if attempt.fate == Fate::Cut {
        "its run ended before it was judged".to_owned()
    } else if attempt.because.is_empty() {
        ending.to_owned()
    } else {
        foreign(&attempt.because, 400)
    };
    html! {
        tr {
            td { (times.clock_of(night.took_ms(), attempt.started_at)) }
            td { (attempt.worker + 1) }
            th scope="row" {
                @match anchors.get(attempt.task.as_str()) {
                    Some(place) => a href=(format!("#{place}")) { (attempt.task) },
                    None => (attempt.task),
                }
            }
            td { (attempt.attempt) @if attempt.turns > 1 { " (" (number(u64::from(attempt.turns))) " turns)" } }
            td { bdi { (foreign(&attempt.agent, 60)) } }
            td { (duration(attempt.agent_ms)) }
            td { (duration(attempt.checking_ms)) }
            td { (verdict) }
            td { bdi { (why) } @if let Some(words) = Exposure::held_out(attempt.exposure.as_ref()) { "; " (words) } @if let Some(usd) = attempt.usage.cost_usd { " " (dollars(usd)) } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::tz::TimeZone;

    #[test]
    fn an_axis_has_few_round_local_times() {
        let zone = TimeZone::get("Europe/Berlin").unwrap();
        let check = |from: &str, minutes: i64, expected: &[&str]| {
            let from: Timestamp = from.parse().unwrap();
            let axis = Axis { from, ms: minutes as f64 * 60_000.0 };
            let ticks = ticks(&axis, &Times { zone: zone.clone(), now: from });
            assert_eq!(ticks.iter().map(|(_, label)| label.as_str()).collect::<Vec<_>>(), expected, "{from} {minutes}");
            assert!(ticks.iter().all(|(percent, _)| (0.0..=100.0).contains(percent)), "{ticks:?}");
        };
        check("2026-11-21T21:04:00Z", 560, &["00:00", "02:00", "04:00", "06:00"]);
        check("2026-11-21T21:04:30Z", 4, &["22:05", "22:06", "22:07", "22:08"]);
        check("2026-11-21T21:00:00Z", 3 * 1440, &["23 Nov", "24 Nov"]);
        // The clocks go back at 03:00: the times between two marks are equally long, and their labels say so.
        check("2026-10-24T22:10:00Z", 280, &["01:00", "02:00", "02:00", "03:00"]);
    }
}
