//! Whole words of a text.

/// The words of a text in lower case: split at everything that is neither letter nor digit.
pub(super) fn words(text: &str) -> Vec<String> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_lowercase).collect()
}
