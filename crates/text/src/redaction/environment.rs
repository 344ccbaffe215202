//! The values of variables that look like secrets by their name.

use super::rules::Rules;
use super::spelt::Spelt;
use aho_corasick::{AhoCorasick, MatchKind};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;
use std::collections::BTreeSet;
use std::ops::Range;
use std::path::Path;

/// What stands in the place of such a value.
pub(super) const RULE: &str = "environment";
/// Shorter values stand in too many texts by chance.
pub(super) const FEWEST_BYTES: usize = 8;

/// This process's variables, as far as they are text.
pub(super) fn of_process() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
}

/// The values of variables.
#[derive(Debug)]
pub(super) struct Values {
    /// As most programs print them, longest first.
    exact: AhoCorasick,
    spelt: Option<Spelt>,
}

impl Values {
    /// Of variables that are called as secrets are by the rules, or as `named` says. None if there is none.
    pub(super) fn of(
        variables: impl IntoIterator<Item = (String, String)>,
        named: impl Fn(&str) -> bool,
        rules: &Rules,
    ) -> Option<Self> {
        let is_one =
            |(name, value): &(String, String)| (rules.is_secret_name(name) || named(name)) && is_secret(value, rules);
        let values: Vec<String> = variables.into_iter().filter(is_one).map(|(_, value)| value).collect();
        if values.is_empty() {
            return None;
        }
        let spellings: BTreeSet<String> = values.iter().flat_map(|value| spellings(value)).collect();
        let exact = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(spellings).ok()?;
        Some(Self { exact, spelt: Spelt::of(values.iter().flat_map(|value| parts(value))) })
    }

    /// Where they stand in a text, not in order.
    pub(super) fn find(&self, text: &str) -> Vec<Range<usize>> {
        let mut found: Vec<Range<usize>> = self.exact.find_iter(text).map(|value| value.range()).collect();
        found.extend(self.spelt.iter().flat_map(|spelt| spelt.find(text)));
        found
    }
}

/// A value as it is, without the blanks around it, and each long line of it.
fn parts(value: &str) -> impl Iterator<Item = &str> {
    /// A line that is shorter stands in too many texts.
    const LINE_BYTES: usize = 16;
    let lines = value.lines().map(str::trim).filter(|line| line.len() >= LINE_BYTES && !line.starts_with("-----"));
    [value, value.trim()].into_iter().chain(lines)
}

/// A value as most programs print it: as it is, in JSON, in a URL and in HTML. Other spellings are [read](Spelt), which needs more of a value.
fn spellings(value: &str) -> BTreeSet<String> {
    /// What most programs leave as it is; some leave slashes, and `encodeURIComponent` leaves more.
    const URL: AsciiSet = NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');
    const SETS: [&AsciiSet; 3] =
        [&URL, &URL.remove(b'/'), &URL.remove(b'!').remove(b'*').remove(b'\'').remove(b'(').remove(b')')];
    let mut all = BTreeSet::new();
    for value in parts(value) {
        let json = Value::from(value).to_string();
        let json = json.trim_matches('"');
        for json in [json.to_owned(), only_ascii(json)] {
            all.insert(json.replace('/', "\\/"));
            all.insert(json);
        }
        for set in SETS {
            let url = utf8_percent_encode(value, set).to_string();
            all.insert(url.replace("%20", "+"));
            all.insert(url);
        }
        let html = value.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;");
        for quote in ["&#39;", "&#x27;"] {
            let html = html.replace('\'', quote);
            all.insert(html.replace('/', "&#x2F;"));
            all.insert(html);
        }
        all.insert(value.to_owned());
    }
    all
}

/// A text of JSON as many programs print it: what is not ASCII as `\u00e4`.
fn only_ascii(json: &str) -> String {
    let mut ascii = String::with_capacity(json.len());
    for c in json.chars() {
        if c.is_ascii() {
            ascii.push(c);
        } else {
            c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| ascii.push_str(&format!("\\u{unit:04x}")));
        }
    }
    ascii
}

/// No word, no number, and no path of a file: those stand in texts for other reasons.
fn is_secret(value: &str, rules: &Rules) -> bool {
    let is_number = value.bytes().all(|byte| byte.is_ascii_digit());
    let is_file = value.starts_with('/') && Path::new(value).exists();
    // `2026-11-28T06:00`: every record has one.
    let is_time =
        value.starts_with("20") && value.bytes().all(|byte| byte.is_ascii_digit() || b"-:.TZ+ ".contains(&byte));
    value.len() >= FEWEST_BYTES && !is_time && !rules.is_common_word(value) && !is_number && !is_file
}
