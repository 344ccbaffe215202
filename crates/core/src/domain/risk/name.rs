//! A path, cut into what tables know: segments and words.

/// A path in pieces, all in lower case.
pub(super) struct Name {
    /// The directories, outermost first; the current one is none.
    pub(super) dirs: Vec<String>,
    /// The file's whole name.
    pub(super) file: String,
    /// The words of every segment, the file's last.
    pub(super) words: Vec<Vec<Word>>,
}

/// A word of a segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Word {
    /// The word, as the case of its letters separates it.
    pub(super) text: String,
    /// Everything up to the next `_`, `-` or `.` where the case separates more than one word: `OAuth` is `o`, `auth`, and
    /// `oauth`. Given with the first of them.
    pub(super) whole: Option<String>,
}

impl Name {
    pub(super) fn of(path: &str) -> Self {
        let parts = || path.split(['/', '\\']).filter(|part| !part.is_empty() && *part != ".");
        let mut dirs: Vec<String> = parts().map(str::to_lowercase).collect();
        // A path that ends with a separator is a directory's.
        let file = if path.ends_with(['/', '\\']) { String::new() } else { dirs.pop().unwrap_or_default() };
        Self { dirs, file, words: parts().map(words).collect() }
    }

    /// The file's name up to its last dot; a leading dot is part of the name.
    pub(super) fn stem(&self) -> &str {
        self.split().0
    }

    /// What follows the last dot; empty where there is none.
    pub(super) fn extension(&self) -> &str {
        self.split().1
    }

    fn split(&self) -> (&str, &str) {
        match self.file.rsplit_once('.') {
            Some((stem, extension)) if !stem.is_empty() => (stem, extension),
            _ => (&self.file, ""),
        }
    }

    /// One of the directories is this.
    pub(super) fn under(&self, dirs: &[&str]) -> bool {
        self.dirs.iter().any(|dir| dirs.contains(&dir.as_str()))
    }

    /// Any segment has this word.
    pub(super) fn has(&self, word: &str) -> bool {
        self.words.iter().flatten().any(|w| w.text == word || w.whole.as_deref() == Some(word))
    }

    /// The words of the file's name, its extension left out.
    pub(super) fn file_words(&self) -> &[Word] {
        let words = self.words.last().map_or(&[][..], Vec::as_slice);
        let extension = usize::from(!self.extension().is_empty());
        &words[..words.len().saturating_sub(extension)]
    }
}

/// The words of a segment: split at everything that is no letter or digit, and where the case changes.
fn words(segment: &str) -> Vec<Word> {
    let mut words = Vec::new();
    for chunk in segment.split(|c: char| !c.is_alphanumeric()).filter(|chunk| !chunk.is_empty()) {
        let cased = cased(chunk);
        let whole = (cased.len() > 1).then(|| chunk.to_lowercase());
        let lower = cased.into_iter().map(|word| Word { text: word.to_lowercase(), whole: None });
        let first = words.len();
        words.extend(lower);
        words[first].whole = whole;
    }
    words
}

/// `LoginForm` is two words, and so is `HTTPServer`; digits belong to the word before them.
fn cased(chunk: &str) -> Vec<&str> {
    let chars: Vec<(usize, char)> = chunk.char_indices().collect();
    let mut cuts = vec![0];
    for i in 1..chars.len() {
        let (before, here) = (chars[i - 1].1, chars[i].1);
        let next_lower = chars.get(i + 1).is_some_and(|(_, next)| next.is_lowercase());
        if here.is_uppercase() && (!before.is_uppercase() || next_lower) {
            cuts.push(chars[i].0);
        }
    }
    cuts.push(chunk.len());
    cuts.windows(2).map(|cut| &chunk[cut[0]..cut[1]]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_cut_at_punctuation_and_where_the_case_changes() {
        let check = |segment: &str, expected: &[&str], wholes: &[&str]| {
            let words = words(segment);
            assert_eq!(words.iter().map(|w| w.text.as_str()).collect::<Vec<_>>(), expected, "{segment}");
            assert_eq!(words.iter().filter_map(|w| w.whole.as_deref()).collect::<Vec<_>>(), wholes, "{segment}");
        };
        check("login_controller.ts", &["login", "controller", "ts"], &[]);
        check("OAuth2Client.java", &["o", "auth2", "client", "java"], &["oauth2client"]);
        check("HTTPServer", &["http", "server"], &["httpserver"]);
        check("useSSO.ts", &["use", "sso", "ts"], &["usesso"]);
        check(".env.production", &["env", "production"], &[]);
        check("(auth)", &["auth"], &[]);
        check("K8S-Über_Ähre", &["k8", "s", "über", "ähre"], &["k8s"]);
        check("...", &[], &[]);
    }

    #[test]
    fn a_path_has_directories_and_a_file() {
        let check = |path: &str, dirs: &[&str], stem: &str, extension: &str| {
            let name = Name::of(path);
            assert_eq!(name.dirs, dirs);
            assert_eq!((name.stem(), name.extension()), (stem, extension));
        };
        check("./src\\Auth//Mod.RS", &["src", "auth"], "mod", "rs");
        check(".env", &[], ".env", "");
        check("a.b.c", &[], "a.b", "c");
        check("", &[], "", "");
        check("/", &[], "", "");
    }
}
