//! Times, sums and names in words.

use super::value::{Fate, Night, NightTask};
use crate::domain::{CostSource, SubtaskId, Timestamp, Usage, gates_in_words};
use crate::prompt::{has_no_width, is_invisible, one_line, plain, shorten};
use crate::redaction::Redactor;
use jiff::tz::TimeZone;

/// `1 task`, `2 tasks`.
pub(super) fn plural(n: usize, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}

/// `a`, `a and b`, `a, b and c`.
pub(super) fn joined<T: AsRef<str>>(words: &[T]) -> String {
    match words {
        [] => String::new(),
        [one] => one.as_ref().to_owned(),
        [first @ .., last] => {
            let first: Vec<&str> = first.iter().map(AsRef::as_ref).collect();
            format!("{} and {}", first.join(", "), last.as_ref())
        }
    }
}

/// A text from outside in one line: with gates in words, without what drives a terminal or turns the reading direction, and not longer.
pub(super) fn foreign(text: &str, bytes: usize) -> String {
    shorten(&gates_in_words(&one_line(&plain(text))), bytes).into_owned()
}

/// A diff in which nothing is hidden: what would drive a terminal, turn the reading direction or has no width stands there as its number.
pub(super) fn shown_diff(diff: &str) -> String {
    let mut shown = String::with_capacity(diff.len());
    for line in diff.split_inclusive('\n') {
        let (line, end) = line.strip_suffix('\n').map_or((line, ""), |line| (line, "\n"));
        for c in line.strip_suffix('\r').unwrap_or(line).chars() {
            let is_hidden =
                c.is_control() && c != '\t' || is_invisible(c) || has_no_width(c) || "\u{2028}\u{2029}".contains(c);
            if is_hidden { shown.extend(c.escape_unicode()) } else { shown.push(c) }
        }
        shown.push_str(end);
    }
    shown
}

/// An argument as a shell takes it; names that need no quotes get none.
pub(super) fn quoted(argument: &str) -> String {
    let argument = one_line(&plain(argument));
    let safe = |c: char| c.is_ascii_alphanumeric() || "._-/=:@%+,".contains(c);
    if !argument.is_empty() && !argument.starts_with('-') && argument.chars().all(safe) {
        argument
    } else {
        format!("'{}'", argument.replace('\'', "'\\''"))
    }
}

/// The name of a file as an argument that git takes for exactly this file of the repository, wherever in it the command is given, and that stays
/// what it is where it is shown; none if its spelling is not known. What is not plain is escaped as a shell's `$'…'`.
pub(super) fn pathspec(name: &str) -> Option<String> {
    // Bytes that are no text were lost when it was read.
    if name.contains(char::REPLACEMENT_CHARACTER) || Redactor::of_process().redact(name) != *name {
        return None;
    }
    let spec = format!(":(top,literal){name}");
    let stays = |c: char| c.is_alphanumeric() || c.is_ascii_graphic() || c == ' ';
    if spec.chars().all(stays) && one_line(&spec) == spec {
        return Some(quoted(&spec));
    }
    let escaped = spec.chars().map(|c| match c {
        c if (c.is_alphanumeric() || c.is_ascii_graphic()) && !"'\\".contains(c) => c.to_string(),
        c => c.encode_utf8(&mut [0; 4]).bytes().fold(String::new(), |all, byte| all + &format!("\\x{byte:02x}")),
    });
    Some(format!("$'{}'", escaped.collect::<String>()))
}

/// `45 s`, `2 min 05 s`, `12 min`, `3 h 05 min`.
pub(in crate::report) fn duration(ms: u64) -> String {
    let seconds = ms.div_ceil(500) / 2;
    match seconds {
        0 if ms == 0 => "0 s".to_owned(),
        0 => "under 1 s".to_owned(),
        s @ 1..=99 => format!("{s} s"),
        s @ 100..=599 => format!("{} min {:02} s", s / 60, s % 60),
        s if s < 3570 => format!("{} min", (s + 30) / 60),
        s => {
            let minutes = (s + 30) / 60;
            format!("{} h {:02} min", minutes / 60, minutes % 60)
        }
    }
}

/// `12,345` or `1.2 million`.
pub(super) fn number(n: u64) -> String {
    if n >= 1_000_000 {
        return format!("{:.1} million", n as f64 / 1e6);
    }
    let digits = n.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Tokens and money; none if neither is known.
pub(super) fn usage(usage: &Usage) -> Option<String> {
    let tokens = usage.tokens().map(|n| format!("{} tokens", number(n)));
    let estimated = if usage.cost_source == Some(CostSource::Estimated) { " (estimated)" } else { "" };
    let money = usage.cost_usd.map(|usd| format!("{}{estimated}", dollars(usd)));
    let parts: Vec<String> = tokens.into_iter().chain(money).collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

pub(super) fn dollars(usd: f64) -> String {
    if usd > 0.0 && usd < 0.005 { "under $0.01".to_owned() } else { format!("${usd:.2}") }
}

/// A run that took less is told to the second.
const BRIEF_MS: u64 = 600_000;

/// Times as a person reads them where the report is made.
#[derive(Debug, Clone)]
pub struct Times {
    /// The zone.
    pub zone: TimeZone,
    /// When the report is made.
    pub now: Timestamp,
}

impl Times {
    /// `22:04`.
    pub(super) fn clock(&self, at: Timestamp) -> String {
        at.to_zoned(self.zone.clone()).strftime("%H:%M").to_string()
    }

    /// `22:04:31`.
    pub(super) fn clock_to_seconds(&self, at: Timestamp) -> String {
        at.to_zoned(self.zone.clone()).strftime("%H:%M:%S").to_string()
    }

    /// A time in a run that took so long, in milliseconds: with seconds where minutes would tell nothing apart.
    pub(super) fn clock_of(&self, took: Option<u64>, at: Timestamp) -> String {
        if took.is_some_and(|ms| ms < BRIEF_MS) { self.clock_to_seconds(at) } else { self.clock(at) }
    }

    /// `Sat 21 Nov 2026 22:04`.
    pub(super) fn full(&self, at: Timestamp) -> String {
        at.to_zoned(self.zone.clone()).strftime("%a %-d %b %Y %H:%M").to_string()
    }

    /// `22:04` today, `yesterday 22:04`, else the whole.
    pub(super) fn near(&self, at: Timestamp) -> String {
        let (then, now) = (at.to_zoned(self.zone.clone()).date(), self.now.to_zoned(self.zone.clone()).date());
        if then == now {
            format!("today {}", self.clock(at))
        } else if now.yesterday().is_ok_and(|yesterday| yesterday == then) {
            format!("yesterday {}", self.clock(at))
        } else {
            self.full(at)
        }
    }

    /// `22:04` within a day, else with its date: for what is close most of the time.
    pub(super) fn near_clock(&self, at: Timestamp) -> String {
        let apart = at.duration_since(self.now).unsigned_abs();
        if apart.as_secs() < 22 * 3600 { self.clock(at) } else { self.full(at) }
    }

    /// `22:04 to 06:31`, with days where they are more than one apart.
    pub(super) fn range(&self, from: Timestamp, to: Timestamp) -> String {
        let day = |at: Timestamp| at.to_zoned(self.zone.clone()).date();
        let took = to.duration_since(from);
        if day(from) == day(to) && took.as_millis() < i128::from(BRIEF_MS) {
            let seconds = |at: Timestamp| at.to_zoned(self.zone.clone()).strftime(":%S").to_string();
            format!("{}{} to {}", self.full(from), seconds(from), self.clock_to_seconds(to))
        } else if day(from) == day(to) {
            format!("{} to {}", self.full(from), self.clock(to))
        } else {
            format!("{} to {}", self.full(from), self.full(to))
        }
    }

    /// The zone as a person knows it: `Europe/Berlin (+01:00)`.
    pub(super) fn zone_name(&self, at: Timestamp) -> String {
        let offset = at.to_zoned(self.zone.clone()).strftime("%:z").to_string();
        match self.zone.iana_name() {
            Some("UTC" | "Etc/UTC" | "Etc/Unknown") | None if offset == "+00:00" => "UTC".to_owned(),
            Some(name) => format!("{name} ({offset})"),
            None => format!("UTC{offset}"),
        }
    }
}

/// Who works on a run whose runtime is gone.
pub(super) fn who_works(night: &Night) -> String {
    const NAMED: usize = 6;
    let named: Vec<String> = night.left_running.iter().take(NAMED).map(ToString::to_string).collect();
    let ids = if named.len() < night.left_running.len() { ", …" } else { "" };
    let ids = format!("{}{ids}", named.join(", "));
    match night.left_running.len() {
        0 => "no process works on it".to_owned(),
        1 => format!("its runtime is gone, but a process that it started still runs (pid {ids}; the next run ends it)"),
        n => format!(
            "its runtime is gone, but {n} processes that it started still run (pid {ids}; the next run ends them)"
        ),
    }
}

/// How many attempts each of its parts took, in words; empty where it has none.
pub(in crate::report) fn by_part(night: &Night, task: &NightTask) -> String {
    let mut parts: Vec<(&SubtaskId, usize)> = Vec::new();
    for attempt in task.attempts.iter().map(|place| &night.attempts[*place]).filter(|one| one.fate == Fate::Judged) {
        match parts.iter_mut().find(|(id, _)| **id == attempt.subtask) {
            Some((_, judged)) => *judged += 1,
            None => parts.push((&attempt.subtask, 1)),
        }
    }
    if parts.iter().all(|(id, _)| id.as_str() == task.id.as_str()) {
        return String::new();
    }
    let parts =
        parts.into_iter().map(|(id, judged)| format!("`{}` {}", foreign(id.as_str(), 80), plural(judged, "attempt")));
    format!("by part: {}", parts.collect::<Vec<_>>().join(", "))
}

/// The lines of its change that no check notices.
pub(super) fn unnoticed(task: &NightTask) -> Option<String> {
    task.proof_hunks.as_ref()?.words(|place| foreign(place, 160))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_and_sums_are_short() {
        let check = |ms: u64, said: &str| assert_eq!(duration(ms), said, "{ms}");
        check(0, "0 s");
        check(400, "under 1 s");
        check(45_000, "45 s");
        check(99_499, "99 s");
        check(100_600, "1 min 41 s");
        check(150_000, "2 min 30 s");
        check(599_600, "10 min");
        check(3_569_000, "59 min");
        check(3_570_000, "1 h 00 min");
        check(11_100_000, "3 h 05 min");
        assert_eq!([0, 999, 1000, 123_456, 1_250_000].map(number), ["0", "999", "1,000", "123,456", "1.2 million"]);
        assert_eq!([0.0, 0.001, 1.005].map(dollars), ["$0.00", "under $0.01", "$1.00"]);
        assert_eq!(joined(&["a", "b", "c"]), "a, b and c");
    }

    #[test]
    fn times_are_local_and_days_are_named_where_they_are_near() {
        let times = Times { zone: TimeZone::get("Europe/Berlin").unwrap(), now: at("2026-11-22T06:30:00Z") };
        assert_eq!(times.near(at("2026-11-21T23:30:00Z")), "today 00:30");
        assert_eq!(times.near(at("2026-11-21T21:04:00Z")), "yesterday 22:04");
        assert_eq!(times.near(at("2026-11-19T21:04:00Z")), "Thu 19 Nov 2026 22:04");
        assert_eq!(times.zone_name(at("2026-07-01T00:00:00Z")), "Europe/Berlin (+02:00)");
        let utc = Times { zone: TimeZone::UTC, now: at("2026-11-22T06:30:00Z") };
        assert_eq!(utc.zone_name(utc.now), "UTC");
        // The night in which the clocks go back.
        assert_eq!(
            times.range(at("2026-10-24T22:30:00Z"), at("2026-10-25T01:30:00Z")),
            "Sun 25 Oct 2026 00:30 to 02:30"
        );
    }

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }
}
