//! An item's clauses.

use super::words::{Noun, noun};

/// A word of an item, or a piece of code in backticks.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    Word(String),
    Code(String),
    /// Words before and after do not belong together.
    Break,
}

/// A verb and its object.
#[derive(Debug, Default)]
pub(super) struct Clause {
    /// Its words, in lower case.
    pub words: Vec<String>,
    /// Its last piece of code in backticks.
    pub code: Option<String>,
}

/// The clauses of an item, without those that only say when or what for.
pub(super) fn clauses(item: &str) -> Vec<Clause> {
    let mut clauses = vec![Clause::default()];
    let mut is_aside = false;
    for token in tokens(item) {
        let (word, code) = match token {
            Token::Break => {
                is_aside = false;
                clauses.push(Clause::default());
                continue;
            }
            Token::Word(word) => (word, None),
            Token::Code(code) => (String::new(), Some(code)),
        };
        match word.as_str() {
            "and" | "then" | "or" | "but" if !is_aside => clauses.push(Clause::default()),
            "before" | "after" | "so" | "because" | "since" | "until" | "when" | "once" | "if" | "while" | "unless" => {
                is_aside = true;
            }
            _ if is_aside => {}
            _ => {
                if let Some(clause) = clauses.last_mut() {
                    clause.code = code.or(clause.code.take());
                    clause.words.extend(Some(word).filter(|word| !word.is_empty()));
                }
            }
        }
    }
    clauses.retain(|clause| !clause.words.is_empty() || clause.code.is_some());
    clauses
}

/// Names of two words.
const PHRASES: [(&str, &str); 7] = [
    ("two-factor", "2fa"),
    ("two factor", "2fa"),
    ("2-factor", "2fa"),
    ("second factor", "2fa"),
    ("multi-factor", "mfa"),
    ("touch id", "fingerprint"),
    ("face id", "fingerprint"),
];

fn tokens(item: &str) -> Vec<Token> {
    let item = PHRASES.iter().fold(item.to_lowercase(), |item, (phrase, word)| item.replace(phrase, word));
    let mut tokens = Vec::new();
    for (at, piece) in item.split('`').enumerate() {
        // The name of a secret in backticks is no code that is to run.
        if at % 2 == 1 && noun(piece, "") != Some(Noun::Secret) {
            tokens.push(Token::Code(piece.trim().to_owned()));
            continue;
        }
        let piece = without_addresses(piece);
        for word in piece.split(|c: char| c.is_whitespace() || matches!(c, '/' | '(' | ')' | '"')) {
            let ends = word.ends_with([',', ';', ':', '.', '!']) || matches!(word, "-" | "–" | "—" | "&" | "+");
            let plain = word.trim_matches(|c: char| !c.is_alphanumeric());
            if !plain.is_empty() {
                tokens.push(Token::Word(plain.replace('’', "'")));
            }
            if ends {
                tokens.push(Token::Break);
            }
        }
    }
    tokens
}

/// The text with every address on the web as the word for where it leads.
fn without_addresses(text: &str) -> String {
    let place = |word: &str| if word.contains("://") { "website".to_owned() } else { word.to_owned() };
    text.split_whitespace().map(place).collect::<Vec<_>>().join(" ")
}
