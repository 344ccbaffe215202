//! When a night begins and ends, from what people write.

use crate::domain::Timestamp;
use jiff::civil::Time;
use jiff::fmt::temporal::Pieces;
use jiff::tz::TimeZone;
use std::fmt;
use std::str::FromStr;

/// When everything stops: a time of day (the next one), or an instant.
///
/// ```
/// # use reflexion::overnight::Until;
/// # use jiff::tz::TimeZone;
/// let until: Until = "07:00".parse().unwrap();
/// let evening = "2026-11-22T22:15:00Z".parse().unwrap();
/// assert_eq!(until.after(evening, &TimeZone::UTC).to_string(), "2026-11-23T07:00:00Z");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Until {
    /// The next time that clocks show this.
    Clock(Time),
    /// This instant.
    Instant(Timestamp),
}

/// From when to when there is work, every day; the end may be on the next day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// The first minute.
    pub from: Time,
    /// The first minute after it.
    pub to: Time,
}

/// What was written is no time.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct WindowError(String);

impl Until {
    /// The instant, seen from `now`.
    #[must_use]
    pub fn after(self, now: Timestamp, zone: &TimeZone) -> Timestamp {
        match self {
            Self::Instant(instant) => instant,
            Self::Clock(time) => next(time, now, zone),
        }
    }
}

impl FromStr for Until {
    type Err = WindowError;

    fn from_str(text: &str) -> Result<Self, WindowError> {
        if let Ok(instant) = text.parse() {
            return Ok(Self::Instant(instant));
        }
        time(text).map(Self::Clock).map_err(|()| {
            let because = match Pieces::parse(text) {
                Ok(date) if date.time().is_some() && date.offset().is_some() => "is later than anybody counts",
                Ok(date) if date.time().is_some() => "does not say in which zone",
                _ => "is no time",
            };
            let message =
                format!("`{text}` {because}: give one of the day such as 07:00, or 2026-11-23T07:00:00+01:00");
            WindowError(message)
        })
    }
}

impl Window {
    /// When it is open: now, or the next time it begins.
    #[must_use]
    pub fn opens(&self, now: Timestamp, zone: &TimeZone) -> Timestamp {
        let begins = next(self.from, now, zone);
        // Whatever comes first: if it ends before it begins again, it is open.
        if next(self.to, now, zone) < begins { now } else { begins }
    }

    /// When it closes next.
    #[must_use]
    pub fn closes(&self, now: Timestamp, zone: &TimeZone) -> Timestamp {
        next(self.to, self.opens(now, zone), zone)
    }
}

/// As it is written, so that it can be read again.
impl fmt::Display for Window {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", clock(self.from), clock(self.to))
    }
}

fn clock(time: Time) -> String {
    let seconds = if time.second() == 0 { "" } else { ":%S" };
    time.strftime(&format!("%H:%M{seconds}")).to_string()
}

impl FromStr for Window {
    type Err = WindowError;

    fn from_str(text: &str) -> Result<Self, WindowError> {
        let wrong = || WindowError(format!("`{text}` is no window: give two times of the day, such as 22:00-07:00"));
        let (from, to) = text.split_once('-').ok_or_else(wrong)?;
        let window = Self { from: time(from).map_err(|()| wrong())?, to: time(to).map_err(|()| wrong())? };
        if window.from == window.to {
            return Err(WindowError(format!("`{text}` begins when it ends")));
        }
        Ok(window)
    }
}

/// `7:00`, `07:00` or `07:00:30`.
fn time(text: &str) -> Result<Time, ()> {
    let text = text.trim();
    // What else a civil time may be written with, an offset such as `-09:00`, means nothing here.
    if !text.bytes().all(|byte| byte.is_ascii_digit() || byte == b':') {
        return Err(());
    }
    let text = if text.find(':') == Some(1) { format!("0{text}") } else { text.to_owned() };
    text.parse().map_err(|_| ())
}

/// The next instant after `now` at which clocks show a time. One that a change of the clocks leaves out comes as much later
/// as the change is; of one that comes twice it is the first that is still to come.
fn next(time: Time, now: Timestamp, zone: &TimeZone) -> Timestamp {
    let today = now.to_zoned(zone.clone()).date();
    let days = [Some(today), today.tomorrow().ok(), today.tomorrow().and_then(jiff::civil::Date::tomorrow).ok()];
    days.into_iter()
        .flatten()
        .flat_map(|day| {
            let shown = || zone.to_ambiguous_timestamp(day.to_datetime(time));
            [shown().compatible(), shown().later()]
        })
        .flatten()
        .find(|instant| *instant > now)
        .unwrap_or(now)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    /// Central European rules without a database.
    fn berlin() -> TimeZone {
        TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap()
    }

    #[test]
    fn a_time_of_the_day_is_the_next_one() {
        let check = |until: &str, now: &str, expected: &str| {
            let until: Until = until.parse().unwrap();
            assert_eq!(until.after(at(now), &berlin()), at(expected), "{until:?} from {now}");
        };
        check("07:00", "2026-11-22T21:00:00Z", "2026-11-23T06:00:00Z");
        check("7:00", "2026-11-23T05:59:59Z", "2026-11-23T06:00:00Z");
        check("07:00", "2026-11-23T06:00:00Z", "2026-11-24T06:00:00Z");
        check("2026-11-23T07:00:00+01:00", "2026-11-22T21:00:00Z", "2026-11-23T06:00:00Z");
    }

    #[test]
    fn nights_in_which_clocks_change_end_when_clocks_say_so() {
        let seven: Until = "07:00".parse().unwrap();
        let night = |from: &str| seven.after(at(from), &berlin()).duration_since(at(from)).as_hours();
        assert_eq!(night("2026-03-28T21:00:00Z"), 8, "the night with an hour less");
        assert_eq!(night("2026-10-24T20:00:00Z"), 10, "the night with an hour more");
        let left_out: Until = "02:30".parse().unwrap();
        assert_eq!(left_out.after(at("2026-03-28T23:00:00Z"), &berlin()), at("2026-03-29T01:30:00Z"));
        let twice: Until = "02:30".parse().unwrap();
        assert_eq!(twice.after(at("2026-10-24T22:00:00Z"), &berlin()), at("2026-10-25T00:30:00Z"));
        assert_eq!(twice.after(at("2026-10-25T00:45:00Z"), &berlin()), at("2026-10-25T01:30:00Z"), "it is shown again");
        assert_eq!(twice.after(at("2026-10-25T01:45:00Z"), &berlin()), at("2026-10-26T01:30:00Z"));
    }

    #[test]
    fn a_window_is_open_or_opens() {
        let check = |window: &str, now: &str, opens: &str, closes: &str| {
            let window: Window = window.parse().unwrap();
            let found = (window.opens(at(now), &TimeZone::UTC), window.closes(at(now), &TimeZone::UTC));
            assert_eq!(found, (at(opens), at(closes)), "{window:?} at {now}");
        };
        let (evening, morning) = ("2026-11-22T22:00:00Z", "2026-11-23T07:00:00Z");
        check("22:00-07:00", "2026-11-22T12:00:00Z", evening, morning);
        check("22:00-07:00", "2026-11-22T23:00:00Z", "2026-11-22T23:00:00Z", morning);
        check("22:00-07:00", "2026-11-23T03:00:00Z", "2026-11-23T03:00:00Z", morning);
        check("22:00-07:00", evening, evening, morning);
        check("22:00-07:00", morning, "2026-11-23T22:00:00Z", "2026-11-24T07:00:00Z");
        check("09:00-17:00", "2026-11-22T12:00:00Z", "2026-11-22T12:00:00Z", "2026-11-22T17:00:00Z");
    }

    #[test]
    fn what_is_no_time_is_refused_in_words() {
        let until = |text: &str| text.parse::<Until>().unwrap_err().to_string();
        assert!(until("7").starts_with("`7` is no time: give one of the day such as 07:00"), "{}", until("7"));
        until("25:00");
        until("");
        assert!(until("9999-12-31T23:59:59Z").contains("is later than anybody counts"));
        assert!(until("2026-11-23T07:00:00").contains("does not say in which zone"));
        let window = |text: &str| text.parse::<Window>().unwrap_err().to_string();
        for wrong in ["22:00", "22:00-07:00-09:00", "22:00-07:00+01:00", "22:00-"] {
            assert!(window(wrong).contains("such as 22:00-07:00"), "{wrong}");
        }
        assert_eq!(window("07:00-7:00"), "`07:00-7:00` begins when it ends");
    }
}
