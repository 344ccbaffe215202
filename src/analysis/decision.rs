//! What an experiment came to.

use crate::evaluation::Rate;
use serde::Serialize;

/// With fewer cases, one of them more or less decides, whatever an interval says.
const FEWEST: u64 = 20;

/// Whether the kill condition was met.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Decision {
    /// The idea is dropped; none if there is nothing to decide on, which is never a pass.
    pub killed: Option<bool>,
    /// The 95 % interval leaves no doubt: all of it lies on the side that was decided for.
    pub conclusive: bool,
    /// Why, in words.
    pub because: String,
}

impl Decision {
    /// There is too little to decide on.
    pub(super) fn open(because: impl Into<String>) -> Self {
        Self { killed: None, conclusive: false, because: because.into() }
    }

    /// An idea that is dropped if a share is below so many percent; none of no cases.
    pub(super) fn of_share(share: Rate, limit_percent: u64, what: &str) -> Option<Self> {
        let (value, (low, high)) = share.rate().zip(share.interval())?;
        let killed = share.count * 100 < limit_percent * share.of;
        let limit = limit_percent as f64 / 100.0;
        let [percent, from, to] = [value, low, high].map(|part| part * 100.0);
        Some(Self {
            killed: Some(killed),
            conclusive: share.of >= FEWEST && if killed { high < limit } else { low >= limit },
            because: format!("{what}: {percent:.1} % ({} of {}; 95 %: {from:.1} to {to:.1} %)", share.count, share.of),
        })
    }

    /// Some words, for people.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match (self.killed, self.conclusive) {
            (Some(true), true) => "KILLED",
            (Some(true), false) => "KILLED, though not beyond doubt",
            (Some(false), true) => "not killed",
            (Some(false), false) => "not killed, though not beyond doubt",
            (None, _) => "not decided",
        }
    }
}
