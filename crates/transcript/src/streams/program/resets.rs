//! When a limit resets, as records say it.

use super::doc::Doc;
use crate::domain::Timestamp;
use jiff::SignedDuration;
use jiff::civil::Time;
use jiff::fmt::strtime;
use jiff::tz::TimeZone;

/// A wait that is longer is no reset time but a misunderstanding.
const LONGEST: SignedDuration = SignedDuration::from_hours(24 * 45);

/// A clock shows no seconds.
const MINUTE: SignedDuration = SignedDuration::from_mins(1);

/// A time: seconds or milliseconds since 1970, or RFC 3339.
pub(super) fn time(value: &Doc<'_>) -> Option<Timestamp> {
    match value {
        Doc::Text(text) => time_in_words(text),
        other => since_1970(other.number()?),
    }
}

/// As [`time`], of a text.
pub(super) fn time_in_words(text: &str) -> Option<Timestamp> {
    let text = text.trim();
    text.parse().ok().or_else(|| since_1970(text.parse().ok()?))
}

/// Seconds are below this until the year 5138, milliseconds above it since 1973.
const MILLISECONDS_FROM: f64 = 1e11;

fn since_1970(number: f64) -> Option<Timestamp> {
    let seconds = if number >= MILLISECONDS_FROM { number / 1000.0 } else { number };
    let plausible = seconds.is_finite() && seconds > 0.0;
    if plausible { Timestamp::from_millisecond((seconds * 1000.0) as i64).ok() } else { None }
}

/// So long after `now`, in seconds.
pub(super) fn after(now: Timestamp, seconds: f64) -> Option<Timestamp> {
    let wait =
        SignedDuration::try_from_secs_f64(seconds).ok().filter(|wait| !wait.is_negative() && *wait <= LONGEST)?;
    now.checked_add(wait).ok()
}

/// So long after `now`, in words: `5 days 22 hours 11 minutes`, `1h2m3s`, `1.5s`, `90` (seconds), `250ms`.
pub(super) fn after_words(now: Timestamp, words: &str) -> Option<Timestamp> {
    let mut seconds = 0.0;
    let mut rest = words.trim();
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let number: f64 = rest[..digits].parse().ok()?;
        rest = rest[digits..].trim_start();
        let letters = rest.find(|c: char| !c.is_alphabetic()).unwrap_or(rest.len());
        seconds += number * unit(&rest[..letters])?;
        rest = rest[letters..].trim_start_matches([' ', ',']);
    }
    if words.trim().is_empty() { None } else { after(now, seconds) }
}

/// What the words of an error say: the group `at` of their pattern is a time, `wait` a duration, `clock` a time of day
/// or a date as a clock of this place shows it.
pub(super) fn in_words(say: &regex::Regex, message: &str, now: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
    let found = say.captures(message)?;
    let group = |name| found.name(name).map(|group| group.as_str());
    let at = group("at").and_then(time_in_words);
    let wait = || after_words(now, group("wait")?);
    let clock = || at_clock(now, zone, group("clock")?);
    at.or_else(wait).or_else(clock)
}

/// `3:45 PM`, `3pm` (the next time a clock shows it, or the end of this minute) or `Sep 29th, 2026 12:55 AM`.
fn at_clock(now: Timestamp, zone: &TimeZone, words: &str) -> Option<Timestamp> {
    let words = words.trim();
    let plain = ["st,", "nd,", "rd,", "th,"].iter().fold(words.to_owned(), |text, end| text.replace(end, ","));
    let date = strtime::parse("%b %d, %Y %I:%M %p", &plain).and_then(|date| date.to_datetime());
    if let Ok(date) = date {
        return zone.to_timestamp(date).ok();
    }
    let formats = ["%I:%M %p", "%I:%M%p", "%I %p", "%I%p"];
    let time: Time = formats.iter().find_map(|format| strtime::parse(format, words).ok()?.to_time().ok())?;
    let today = now.to_zoned(zone.clone()).date();
    let days = [Some(today), today.tomorrow().ok()];
    let mut times = days.into_iter().flatten().filter_map(|day| zone.to_timestamp(day.to_datetime(time)).ok());
    let at = times.find(|at| at.checked_add(MINUTE).is_ok_and(|end| end > now))?;
    // The minute has begun already: its end is meant, not tomorrow.
    if at > now { Some(at) } else { at.checked_add(MINUTE).ok() }
}

fn unit(word: &str) -> Option<f64> {
    match word.to_ascii_lowercase().as_str() {
        "ms" => Some(0.001),
        "" | "s" | "sec" | "secs" | "second" | "seconds" => Some(1.0),
        "m" | "min" | "mins" | "minute" | "minutes" => Some(60.0),
        "h" | "hr" | "hrs" | "hour" | "hours" => Some(3600.0),
        "d" | "day" | "days" => Some(86400.0),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now() -> Timestamp {
        "2026-01-01T00:00:00Z".parse().unwrap()
    }

    #[test]
    fn waits_in_words() {
        let check = |words: &str, seconds: Option<i64>| {
            let expected = seconds.map(|s| now() + SignedDuration::from_secs(s));
            assert_eq!(after_words(now(), words), expected, "{words}");
        };
        check("5 days 22 hours 11 minutes", Some(5 * 86400 + 22 * 3600 + 11 * 60));
        check("1 day, 1 hour", Some(25 * 3600));
        check("1h2m3s", Some(3723));
        check("90", Some(90));
        check("2000ms", Some(2));
        check("soon", None);
        check("3 fortnights", None);
        check("", None);
        check("400 days", None);
        check("-5", None);
    }

    #[test]
    fn times_as_a_clock_shows_them() {
        let noon = now() + SignedDuration::from_hours(12);
        let zone = TimeZone::get("Europe/Berlin").unwrap_or_else(|_| TimeZone::fixed(jiff::tz::offset(1)));
        let check = |words: &str, expected: Option<&str>| {
            assert_eq!(at_clock(noon, &zone, words), expected.map(|t| t.parse().unwrap()), "{words}");
        };
        check("3:45 PM", Some("2026-01-01T14:45:00Z"));
        check("3pm", Some("2026-01-01T14:00:00Z"));
        check("4:29 AM", Some("2026-01-02T03:29:00Z"));
        check("Jan 29th, 2026 12:55 AM", Some("2026-01-28T23:55:00Z"));
        check("Jan 1st, 2027 1:00 PM", Some("2027-01-01T12:00:00Z"));
        check("1:00 PM", Some("2026-01-01T12:01:00Z"));
        check("12:59 PM", Some("2026-01-02T11:59:00Z"));
        check("teatime", None);
    }

    #[test]
    fn times_in_every_notation() {
        let check = |value: Doc<'_>, expected: Option<&str>| {
            assert_eq!(time(&value), expected.map(|t| t.parse().unwrap()), "{value:?}");
        };
        check(Doc::Int(1_767_225_600), Some("2026-01-01T00:00:00Z"));
        check(Doc::Int(1_767_225_600_000), Some("2026-01-01T00:00:00Z"));
        check(Doc::Text("1767225600".into()), Some("2026-01-01T00:00:00Z"));
        check(Doc::Text("2026-01-01T00:00:00Z".into()), Some("2026-01-01T00:00:00Z"));
        check(Doc::Text("tomorrow".into()), None);
        check(Doc::Int(-1), None);
        check(Doc::Float(f64::INFINITY), None);
        check(Doc::Float(1e300), None);
    }
}
