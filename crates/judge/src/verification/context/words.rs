//! A task's text as sentences of words.

/// At most so many words of a task are read; what it asks for stands long before.
const KEPT_WORDS: usize = 4_000;

/// A word in small letters, with what the writing around it says.
#[derive(Debug, Clone)]
pub(super) struct Word<'a> {
    raw: &'a str,
    text: String,
}

impl<'a> Word<'a> {
    fn new(raw: &'a str) -> Self {
        let text = raw.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase().replace('’', "'");
        Self { raw, text }
    }

    /// Without the punctuation around it.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// With what belongs to a command line and not to the sentence around it.
    pub(super) fn as_typed(&self) -> &str {
        self.raw.trim_matches(['`', '"', '\'', ',', ';', '!', '?', '(', ')', '*']).trim_end_matches(['.', ':'])
    }

    /// A comma or a colon follows.
    pub(super) fn ends_clause(&self) -> bool {
        self.raw.ends_with([',', ':', ';', ')', ']', '-', '–', '—'])
    }

    pub(super) fn is_issue_link(&self) -> bool {
        let parts: Vec<&str> = self.raw.split('/').collect();
        let number = |text: &str| text.starts_with(|c: char| c.is_ascii_digit());
        self.raw.contains("://")
            && parts.windows(2).any(|pair| matches!(pair[0], "issues" | "work_items") && number(pair[1]))
    }

    /// A file that holds a text.
    pub(super) fn is_document(&self) -> bool {
        self.ends_with_one_of(&[".md", ".rst", ".adoc", ".txt", ".mdx"])
    }

    /// A file that holds code.
    pub(super) fn is_source(&self) -> bool {
        self.ends_with_one_of(&[
            ".rs", ".py", ".ts", ".tsx", ".js", ".jsx", ".go", ".java", ".kt", ".c", ".h", ".cpp", ".rb", ".php",
            ".cs", ".swift", ".ex", ".sh", ".sql", ".css", ".html", ".vue", ".svelte", ".toml", ".yml", ".yaml",
            ".json",
        ]) || self.text.contains("::")
            || self.text.ends_with("()")
    }

    fn ends_with_one_of(&self, endings: &[&str]) -> bool {
        endings.iter().any(|ending| self.text.len() > ending.len() && self.text.ends_with(ending))
    }
}

/// Sentences, by full stops, question marks, lines and bullets. Code blocks are no sentences.
pub(super) fn sentences(text: &str) -> Vec<Vec<Word<'_>>> {
    let (mut sentences, mut kept, mut in_code) = (Vec::new(), 0, false);
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
            continue;
        }
        if in_code || line.trim_start().starts_with('>') {
            continue;
        }
        let mut sentence = Vec::new();
        for raw in line.split_whitespace() {
            if kept >= KEPT_WORDS {
                break;
            }
            kept += 1;
            let word = Word::new(raw);
            // `make -C . test` does not end there.
            let ends = raw != "." && raw.trim_end_matches(['"', '\'', ')', '*', '`']).ends_with(['.', '!', '?']);
            if !word.text.is_empty() && !is_numbering(raw) {
                sentence.push(word);
            }
            if ends && !sentence.is_empty() {
                sentences.push(std::mem::take(&mut sentence));
            }
        }
        if !sentence.is_empty() {
            sentences.push(sentence);
        }
    }
    sentences
}

/// `1.`, `2)`, `[3]`
fn is_numbering(raw: &str) -> bool {
    let inner = raw.trim_matches(|c: char| !c.is_alphanumeric());
    raw.len() > inner.len() && inner.len() <= 3 && inner.bytes().all(|byte| byte.is_ascii_digit())
}
