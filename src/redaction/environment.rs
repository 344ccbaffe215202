//! The values of variables that look like secrets by their name.

use super::rules::Rules;
use aho_corasick::AhoCorasick;
use aho_corasick::MatchKind;
use std::path::Path;

/// What stands in the place of such a value.
pub(super) const RULE: &str = "environment";
/// Shorter values stand in too many texts by chance.
const FEWEST_BYTES: usize = 8;

/// This process's variables, as far as they are text.
pub(super) fn of_process() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
}

/// Finds these values; none if there is none.
pub(super) fn matcher(variables: impl IntoIterator<Item = (String, String)>, rules: &Rules) -> Option<AhoCorasick> {
    let mut values = Vec::new();
    for (name, value) in variables {
        if rules.is_secret_name(&name) && is_secret(&value, rules) {
            // JSON and shells print it with its quotes and backslashes escaped.
            values.push(value.replace('\\', "\\\\").replace('"', "\\\""));
            values.push(value);
        }
    }
    if values.is_empty() {
        return None;
    }
    AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(values).ok()
}

/// No word, no number, and no path of a file: those stand in texts for other reasons.
fn is_secret(value: &str, rules: &Rules) -> bool {
    let is_number = value.bytes().all(|byte| byte.is_ascii_digit());
    let is_file = value.starts_with('/') && Path::new(value).exists();
    value.len() >= FEWEST_BYTES && !rules.is_common_word(value) && !is_number && !is_file
}
