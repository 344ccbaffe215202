//! Ids from titles.

use icu_normalizer::DecomposingNormalizerBorrowed;

/// A slug is no longer, in bytes: it stands in names of branches, in commands and in lines of pages.
const LONGEST: usize = 32;

/// With one of these at its end, a title that was cut would go on.
const GOES_ON: [&str; 46] = [
    "a", "after", "all", "an", "and", "are", "as", "at", "be", "before", "but", "by", "can", "does", "for", "from",
    "has", "have", "if", "in", "into", "is", "it", "its", "must", "no", "not", "of", "on", "only", "or", "should",
    "so", "than", "that", "the", "their", "then", "this", "to", "was", "when", "where", "which", "while", "with",
];

/// A title as an id that people can read and type: its words in lower case, accents left out, joined by `-`, cut between
/// words, and not behind one that leads on (`of`, `the`). None where the title is mostly of another script than Latin, or has no letters at all: what would be left of it says nothing.
///
/// ```
/// # use reflexion_core::domain::slug;
/// assert_eq!(slug("It's the Café's total: 2.50 €!").as_deref(), Some("its-the-cafes-total-2-50"));
/// assert_eq!(slug("February of a year that ends a century has 28 days").as_deref(), Some("february-of-a-year-that-ends"));
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
    let (mut kept, mut long, mut is_cut) = (Vec::new(), 0, false);
    for word in words.split_whitespace() {
        let word = &word[..word.len().min(LONGEST)];
        is_cut = long + word.len() > LONGEST;
        if is_cut {
            break;
        }
        long += word.len() + 1;
        kept.push(word);
    }
    while is_cut && kept.len() > 1 && kept.last().is_some_and(|word| GOES_ON.contains(word)) {
        kept.pop();
    }
    Some(kept.join("-"))
}

/// What stands over or below a letter when it is taken apart.
fn is_combining(c: char) -> bool {
    ('\u{300}'..='\u{36f}').contains(&c)
}
