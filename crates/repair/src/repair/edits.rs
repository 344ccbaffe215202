//! Every small edit that could be made to a unit of a file.

use super::rule::Rule;
use super::source::{Source, UnitKind};
use super::token::{Kind, Language};
use super::{edits_of_calls, edits_of_statements};

/// One small change to one file: bytes `start..end` become `new`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Edit {
    pub(super) unit: usize,
    /// The token that it is about.
    pub(super) token: usize,
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) new: String,
    pub(super) rule: Rule,
}

/// The edits of a file, in the order of the text. Nothing that is a test is edited, nor imports, decorators and annotations.
pub(super) fn edits(source: &Source) -> Vec<Edit> {
    let mut out = Edits { source, out: Vec::new() };
    if source.is_test {
        return out.out;
    }
    for index in 0..source.tokens.len() {
        if !out.editable(index) {
            continue;
        }
        match source.tokens[index].kind {
            Kind::Sign => out.sign(index),
            Kind::Word => out.word(index),
            Kind::Number => out.number(index),
            Kind::Text => out.text(index),
            Kind::Newline => {}
        }
    }
    edits_of_calls::add(&mut out);
    edits_of_statements::add(&mut out);
    let text = &source.text;
    out.out.retain(|e| text[e.start..e.end] != e.new);
    out.out.sort_by(|a, b| (a.start, a.end, &a.new).cmp(&(b.start, b.end, &b.new)));
    out.out.dedup_by(|a, b| (a.start, a.end, &a.new) == (b.start, b.end, &b.new));
    out.out
}

/// Collects edits of one file.
pub(super) struct Edits<'a> {
    pub(super) source: &'a Source,
    out: Vec<Edit>,
}

/// Operators and what may stand in their place.
const SIGNS: &[(&str, &[(&str, Rule)])] = &[
    ("<", &[("<=", Rule::Boundary), (">", Rule::Direction), (">=", Rule::Direction)]),
    ("<=", &[("<", Rule::Boundary), (">=", Rule::Direction), (">", Rule::Direction), ("==", Rule::Relation)]),
    (">", &[(">=", Rule::Boundary), ("<", Rule::Direction), ("<=", Rule::Direction)]),
    (">=", &[(">", Rule::Boundary), ("<=", Rule::Direction), ("<", Rule::Direction), ("==", Rule::Relation)]),
    (
        "==",
        &[
            ("!=", Rule::Equality),
            ("<=", Rule::Relation),
            (">=", Rule::Relation),
            ("<", Rule::Relation),
            (">", Rule::Relation),
        ],
    ),
    ("!=", &[("==", Rule::Equality), ("<", Rule::Relation), (">", Rule::Relation)]),
    ("===", &[("!==", Rule::Equality)]),
    ("!==", &[("===", Rule::Equality)]),
    ("&&", &[("||", Rule::Logic)]),
    ("||", &[("&&", Rule::Logic)]),
    ("+", &[("-", Rule::Arithmetic), ("*", Rule::FarArithmetic)]),
    ("-", &[("+", Rule::Arithmetic), ("/", Rule::FarArithmetic)]),
    ("*", &[("/", Rule::Arithmetic), ("+", Rule::FarArithmetic)]),
    ("/", &[("*", Rule::Arithmetic), ("%", Rule::FarArithmetic)]),
    ("%", &[("/", Rule::Arithmetic), ("*", Rule::FarArithmetic)]),
    ("&", &[("|", Rule::Bits), ("^", Rule::Bits)]),
    ("|", &[("&", Rule::Bits), ("^", Rule::Bits)]),
    ("^", &[("&", Rule::Bits), ("|", Rule::Bits)]),
    ("<<", &[(">>", Rule::Bits)]),
    (">>", &[("<<", Rule::Bits)]),
    ("+=", &[("-=", Rule::Update), ("=", Rule::Assignment), ("*=", Rule::FarArithmetic)]),
    ("-=", &[("+=", Rule::Update), ("=", Rule::Assignment)]),
    ("*=", &[("/=", Rule::Update), ("=", Rule::Assignment), ("+=", Rule::FarArithmetic)]),
    ("/=", &[("*=", Rule::Update), ("=", Rule::Assignment)]),
    ("|=", &[("&=", Rule::Bits), ("=", Rule::Assignment)]),
    ("&=", &[("|=", Rule::Bits), ("=", Rule::Assignment)]),
    ("..", &[("..=", Rule::Boundary)]),
    ("..=", &[("..", Rule::Boundary)]),
    ("++", &[("--", Rule::Update)]),
    ("--", &[("++", Rule::Update)]),
];
/// Operators that only Python has.
const PYTHON_SIGNS: &[(&str, &[(&str, Rule)])] = &[
    ("/", &[("//", Rule::FarArithmetic)]),
    ("//", &[("/", Rule::Arithmetic), ("%", Rule::FarArithmetic), ("*", Rule::FarArithmetic)]),
    ("%", &[("//", Rule::FarArithmetic)]),
    ("**", &[("*", Rule::Arithmetic)]),
    ("*", &[("**", Rule::FarArithmetic)]),
    ("//=", &[("/=", Rule::Update), ("=", Rule::Assignment)]),
];
/// Words, for the languages in which they mean something.
const WORDS: &[(&str, &[(&str, Rule)])] = &[
    ("True", &[("False", Rule::Boolean)]),
    ("False", &[("True", Rule::Boolean)]),
    ("true", &[("false", Rule::Boolean)]),
    ("false", &[("true", Rule::Boolean)]),
    ("break", &[("continue", Rule::Jump)]),
    ("continue", &[("break", Rule::Jump)]),
];
const PYTHON_WORDS: &[(&str, &[(&str, Rule)])] = &[
    ("and", &[("or", Rule::Logic)]),
    ("or", &[("and", Rule::Logic)]),
    ("continue", &[("return", Rule::Jump)]),
    ("break", &[("return", Rule::Jump)]),
];

impl Edits<'_> {
    /// Adds the edit that puts `new` in the place of tokens `from..to`.
    pub(super) fn replace(&mut self, from: usize, to: usize, new: impl Into<String>, rule: Rule) {
        let tokens = &self.source.tokens;
        let (Some(first), Some(last)) = (tokens.get(from), tokens.get(to.saturating_sub(1))) else {
            return;
        };
        self.out.push(Edit {
            unit: self.source.unit_of[from],
            token: from,
            start: first.start,
            end: last.end.max(first.start),
            new: new.into(),
            rule,
        });
    }

    /// Adds the edit that inserts `new` before a token.
    pub(super) fn insert(&mut self, at: usize, new: impl Into<String>, rule: Rule) {
        if let Some(token) = self.source.tokens.get(at) {
            let (unit, start) = (self.source.unit_of[at], token.start);
            self.out.push(Edit { unit, token: at, start, end: start, new: new.into(), rule });
        }
    }

    /// Removes tokens `from..to`, and the blanks after them.
    pub(super) fn remove(&mut self, from: usize, to: usize, rule: Rule) {
        if let (Some(first), Some(next)) = (self.source.tokens.get(from), self.source.tokens.get(to)) {
            let (unit, start, end) = (self.source.unit_of[from], first.start, next.start);
            self.out.push(Edit { unit, token: from, start, end, new: String::new(), rule });
        }
    }

    /// Whether a token may be edited: it stands in code that runs and is no test.
    pub(super) fn editable(&self, index: usize) -> bool {
        let source = self.source;
        let unit = &source.units[source.unit_of[index]];
        if unit.is_test {
            return false;
        }
        match source.language {
            Language::Python => {
                let first = source.line_start(index);
                !["import", "from", "@", "class"].contains(&source.word(first))
                    && (index >= unit.body || self.is_default(index, unit.tokens.start))
            }
            Language::Rust => unit.kind != UnitKind::File && index >= unit.body,
            Language::Other => source.word(source.line_start(index)) != "import",
        }
    }

    /// Whether a token of a signature is a default value, not a name or an annotation.
    fn is_default(&self, index: usize, signature: usize) -> bool {
        (signature..index).rev().take_while(|i| self.source.word(*i) != ",").any(|i| self.source.word(i) == "=")
    }

    fn table(&mut self, index: usize, table: &[(&str, &[(&str, Rule)])]) {
        let source = self.source;
        let word = source.word(index);
        for (_, replacements) in table.iter().filter(|(old, _)| *old == word) {
            for (new, rule) in *replacements {
                self.replace(index, index + 1, *new, *rule);
            }
        }
    }

    fn sign(&mut self, index: usize) {
        let source = self.source;
        let word = source.word(index);
        let binary = self.is_binary(index);
        match word {
            "-" if !binary => return self.remove(index, index + 1, Rule::Sign),
            "!" if source.language != Language::Python && !self.is_macro(index) => {
                return self.remove(index, index + 1, Rule::NotRemoved);
            }
            "+" | "*" | "/" | "%" | "&" | "|" | "^" | "<" | ">" | "<<" | ">>" | "**" | "//" | "||" | "&&"
                if !binary =>
            {
                return;
            }
            _ => {}
        }
        if source.language != Language::Other {
            edits_of_calls::swapped_operands(self, index);
        }
        self.table(index, SIGNS);
        if source.language == Language::Python {
            self.table(index, PYTHON_SIGNS);
        }
    }

    /// Whether an operator stands between two operands. Rust and C-like languages use the same signs in types; there an
    /// operator has blanks on both sides (rustfmt, prettier and gofmt write it so).
    fn is_binary(&self, index: usize) -> bool {
        let source = self.source;
        let Some(before) = index.checked_sub(1) else {
            return false;
        };
        let word = source.word(before);
        let operand = match source.tokens[before].kind {
            Kind::Word => !KEYWORDS.contains(&word),
            Kind::Number | Kind::Text => true,
            Kind::Sign => matches!(word, ")" | "]" | "}" | "?"),
            Kind::Newline => false,
        };
        let token = source.tokens[index];
        let blank = |at: Option<&u8>| at.is_some_and(u8::is_ascii_whitespace);
        let bytes = source.text.as_bytes();
        let spaced = blank(bytes.get(token.end)) && token.start > 0 && blank(bytes.get(token.start - 1));
        operand && (spaced || source.language == Language::Python)
    }

    fn is_macro(&self, index: usize) -> bool {
        index > 0
            && self.source.kind(index - 1) == Some(Kind::Word)
            && self.source.tokens[index - 1].end == self.source.tokens[index].start
    }

    fn word(&mut self, index: usize) {
        let source = self.source;
        self.table(index, WORDS);
        if source.language != Language::Python {
            return;
        }
        self.table(index, PYTHON_WORDS);
        match (source.word(index), source.word(index + 1)) {
            ("is", "not") => self.replace(index, index + 2, "is", Rule::Equality),
            ("is", _) => self.replace(index, index + 1, "is not", Rule::Equality),
            ("not", "in") => self.replace(index, index + 2, "in", Rule::Equality),
            ("not", _) if index > 0 && source.word(index - 1) != "is" => {
                self.remove(index, index + 1, Rule::NotRemoved);
            }
            ("in", _) if index > 0 && source.word(index - 1) != "not" && !self.belongs_to_for(index) => {
                self.replace(index, index + 1, "not in", Rule::Equality);
            }
            ("None", _) if index > 0 && source.word(index - 1) == "=" => {
                self.replace(index, index + 1, "\"\"", Rule::Empty);
            }
            _ => {}
        }
    }

    /// Whether this `in` is that of `for x in`.
    fn belongs_to_for(&self, index: usize) -> bool {
        let first = self.source.line_start(index);
        (first..index)
            .rev()
            .map(|i| self.source.word(i))
            .find(|w| ["for", "in", "if", "else", "and", "or", "=", "return"].contains(w))
            == Some("for")
    }

    fn number(&mut self, index: usize) {
        let source = self.source;
        let word = source.word(index);
        let digits = word.find(|c: char| !c.is_ascii_digit()).unwrap_or(word.len());
        let (whole, rest) = word.split_at(digits);
        // Tuple fields (`x.0`), hexadecimal numbers and the like stay as they are; `1u8` and `1.5` count by their whole part.
        if index > 0 && source.word(index - 1) == "." || !(rest.is_empty() || rest.starts_with(['.', 'u', 'i', 'f'])) {
            return;
        }
        let Ok(value) = whole.parse::<u64>() else {
            return;
        };
        if whole.len() > 1 && whole.starts_with('0') {
            return;
        }
        if let Some(less) = value.checked_sub(1) {
            self.replace(index, index + 1, format!("{less}{rest}"), Rule::Constant);
        }
        if let Some(more) = value.checked_add(1) {
            self.replace(index, index + 1, format!("{more}{rest}"), Rule::Constant);
        }
        if value == 1
            && source.language == Language::Python
            && index > 0
            && matches!(source.word(index - 1), "[" | "return" | "=" | "==")
        {
            self.insert(index, "-", Rule::Sign);
        }
    }

    fn text(&mut self, index: usize) {
        let python = self.source.language == Language::Python;
        if python
            && ["\"\"", "''"].contains(&self.source.word(index))
            && index > 0
            && self.source.word(index - 1) == "="
        {
            self.replace(index, index + 1, "None", Rule::Empty);
        }
    }
}

/// Words after which an operator has no left operand, and that are no names.
pub(super) const KEYWORDS: [&str; 62] = [
    "return", "if", "elif", "else", "while", "for", "in", "not", "and", "or", "is", "lambda", "yield", "match", "let",
    "mut", "None", "True", "False", "def", "class", "pass", "break", "continue", "try", "except", "finally", "with",
    "as", "assert", "raise", "del", "global", "nonlocal", "import", "from", "async", "await", "fn", "pub", "use",
    "mod", "impl", "struct", "enum", "trait", "type", "where", "move", "ref", "loop", "true", "false", "case",
    "unsafe", "dyn", "const", "static", "crate", "super", "function", "var",
];

#[cfg(test)]
mod tests {
    use super::super::token::Language;
    use super::*;

    /// The lines that the edits of a function's only line make of it.
    fn made_of(language: Language, line: &str) -> Vec<String> {
        let text = match language {
            Language::Python => format!("def f(a, b):\n    {line}\n"),
            Language::Rust => format!("fn f(a: u8, b: u8) -> u8 {{\n    {line}\n}}\n"),
            Language::Other => format!("\n{line}\n"),
        };
        let source = Source::new("src/a".into(), text.clone(), language);
        edits(&source)
            .iter()
            .map(|e| [&text[..e.start], &e.new, &text[e.end..]].concat())
            .map(|new| new.lines().nth(1).unwrap_or("").trim().to_owned())
            .collect()
    }

    fn check(language: Language, line: &str, among: &[&str]) {
        let made = made_of(language, line);
        for expected in among {
            assert!(made.iter().any(|m| m == expected), "{line}: no {expected:?} in {made:#?}");
        }
    }

    #[test]
    fn python_lines_are_edited() {
        let check = |line, among| check(Language::Python, line, among);
        check("if a < b: pass", &["if a <= b: pass", "if a > b: pass", "if b < b: pass"]);
        check("return a + 1", &["return a - 1", "return a + 0", "return a + 2", "return b + 1"]);
        check("return a - b", &["return a + b", "return b - a"]);
        check("return a is None and b", &["return a is not None and b", "return a is None or b"]);
        check("return a not in b", &["return a in b"]);
        check("if a and not b: pass", &["if a or not b: pass", "if a and b: pass", "if not b: pass", "if a: pass"]);
        check("if a: pass", &["if not a: pass"]);
        check("return a.g(a, b)", &["return a.g(b, a)"]);
        check("a += 1", &["a -= 1", "a = 1"]);
        check("return max(a, b)", &["return min(a, b)", "return max(b, b)"]);
        check("return a[1:-1]", &["return a[0:-1]", "return a[1:1]"]);
        check("g(a, True)", &["return g(a, True)", "g(a, False)"]);
        check("for i in range(a): break", &["for i in range(a + 1): break", "for i in range(a): continue"]);
        check("b.x = None", &["b.x = a", "b.x = \"\""]);
        check("return '%d' % a", &["return '%d' / a"]);
    }

    #[test]
    fn rust_lines_are_edited() {
        let check = |line, among| check(Language::Rust, line, among);
        check(
            "if a <= b && !c { 0 } else { 1 }",
            &["if a < b && !c { 0 } else { 1 }", "if a <= b && c { 0 } else { 1 }", "if a <= b || !c { 0 } else { 1 }"],
        );
        check("for i in 0..a {}", &["for i in 0..=a {}", "for i in 1..a {}"]);
        check("a - b", &["a + b", "b - a", "b - b"]);
        check("if a { 1 } else { 2 }", &["if !a { 1 } else { 2 }"]);
        check("a;", &["a"]);
        check("1u8", &["0u8", "2u8"]);
    }

    #[test]
    fn other_languages_have_operators_and_constants() {
        check(
            Language::Other,
            "if (a === 1 && b) { i++ }",
            &[
                "if (a !== 1 && b) { i++ }",
                "if (a === 2 && b) { i++ }",
                "if (a === 1 || b) { i++ }",
                "if (a === 1 && b) { i-- }",
            ],
        );
    }

    #[test]
    fn what_is_no_operator_stays() {
        for line in
            ["let x: Vec<u8> = y;", "let f = |x| x;", "println!(\"a < b\");", "fn g(x: &u8, y: *const u8) {}", "x.0"]
        {
            let made = made_of(Language::Rust, line);
            let wrong: Vec<_> = made
                .iter()
                .filter(|m| {
                    m.contains("<=")
                        || m.contains("&&")
                        || m.contains("println(")
                        || m.contains("x.1")
                        || m.contains("/const")
                })
                .collect();
            assert!(wrong.is_empty(), "{line}: {wrong:?}");
        }
        assert_eq!(made_of(Language::Python, "from x import a"), [""; 0]);
    }

    #[test]
    fn tests_are_never_edited() {
        let none = |path: &str, text: &str, language| {
            assert_eq!(edits(&Source::new(path.into(), text.into(), language)), [], "{path}");
        };
        none("tests/a.py", "x = 1\n", Language::Python);
        none("src/a_test.go", "x := 1 + 2\n", Language::Other);
        none(
            "a.py",
            "def test_a():\n    assert 1 + 1 == 2\n\nclass TestB:\n    def helper(self):\n        return 1\n",
            Language::Python,
        );
        none(
            "a.rs",
            "#[cfg(test)]\nmod tests {\n  const N: u8 = 1;\n  fn helper() -> u8 { 1 + 1 }\n  #[test]\n  fn t() { assert_eq!(2, 1 + 1) }\n}\n",
            Language::Rust,
        );
    }
}
