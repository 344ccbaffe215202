//! Ids from titles.

use icu_normalizer::DecomposingNormalizerBorrowed;

/// A slug is no longer, in bytes; a number behind it has room below the limit of ids.
const LONGEST: usize = 48;

/// A title as an id that people can read and type: its words in lower case, accents left out, joined by `-`, cut between
/// words. None where the title is mostly of another script than Latin, or has no letters at all: what would be left of it says nothing.
///
/// ```
/// # use reflexion_core::domain::slug;
/// assert_eq!(slug("It's the Café's total: 2.50 €!").as_deref(), Some("its-the-cafes-total-2-50"));
/// assert_eq!(slug("合計を直す"), None);
/// ```
#[must_use]
pub fn slug(title: &str) -> Option<String> {
    let plain: String = DecomposingNormalizerBorrowed::new_nfkd().normalize(title).into_owned();
    let letters = plain.chars().filter(|c| c.is_alphanumeric()).count();
    let latin = plain.chars().filter(char::is_ascii_alphanumeric).count();
    if latin == 0 || latin * 2 < letters {
        return None;
    }
    let kept = plain.chars().filter(|c| !matches!(c, '\'' | '\u{2019}') && !is_combining(*c));
    let words: String = kept.map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { ' ' }).collect();
    let mut slug = String::new();
    for word in words.split_whitespace() {
        if slug.is_empty() {
            slug.push_str(&word[..word.len().min(LONGEST)]);
        } else if slug.len() + 1 + word.len() <= LONGEST {
            slug.push('-');
            slug.push_str(word);
        } else {
            break;
        }
    }
    Some(slug)
}

/// What stands over or below a letter when it is taken apart.
fn is_combining(c: char) -> bool {
    ('\u{300}'..='\u{36f}').contains(&c)
}
