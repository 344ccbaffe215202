//! Where functions, classes and constants begin and end, and which of them are tests.

use super::source::{Unit, UnitKind};
use super::token::{Kind, Language, Token};
use std::ops::Range;

/// The units of a file, outer ones before what they hold; the first is the file itself.
pub(super) fn units(text: &str, tokens: &[Token], language: Language) -> Vec<Unit> {
    let outline = Outline { text, tokens };
    let mut units = vec![Unit {
        name: String::new(),
        owner: None,
        kind: UnitKind::File,
        tokens: 0..tokens.len(),
        body: 0,
        is_test: false,
    }];
    match language {
        Language::Python => outline.python(&mut units),
        Language::Rust | Language::Other => outline.braces(&mut units, language),
    }
    units
}

struct Outline<'a> {
    text: &'a str,
    tokens: &'a [Token],
}

impl Outline<'_> {
    fn word(&self, index: usize) -> &str {
        self.tokens.get(index).map_or("", |t| &self.text[t.start..t.end])
    }

    fn is_word(&self, index: usize) -> bool {
        self.tokens.get(index).is_some_and(|t| t.kind == Kind::Word)
    }

    fn indent(&self, index: usize) -> usize {
        let start = self.tokens[index].start;
        start - self.text[..start].rfind('\n').map_or(0, |at| at + 1)
    }

    fn python(&self, units: &mut Vec<Unit>) {
        let lines = self.logical_lines();
        // Units whose bodies are open: number and indentation.
        let mut open: Vec<(usize, usize)> = Vec::new();
        for (number, line) in lines.iter().enumerate() {
            let indent = self.indent(line.start);
            while open.last().is_some_and(|(_, outer)| indent <= *outer) {
                open.pop();
            }
            let first = line.start + usize::from(self.word(line.start) == "async");
            let kind = match self.word(first) {
                "def" => UnitKind::Function,
                "class" => UnitKind::Class,
                _ if self.is_word(first) && ["=", ":"].contains(&self.word(first + 1)) => UnitKind::Value,
                _ => continue,
            };
            let inside = open.last().map(|(unit, _)| *unit);
            let owner = inside.filter(|u| units[*u].kind == UnitKind::Class).map(|u| units[u].name.clone());
            let name_at = first + usize::from(kind != UnitKind::Value);
            let name = self.word(name_at).to_owned();
            if kind == UnitKind::Value {
                if inside.is_some() && owner.is_none() || ["else", "try", "finally"].contains(&name.as_str()) {
                    continue;
                }
                let body = first + 2;
                units.push(Unit { name, owner, kind, tokens: line.clone(), body, is_test: false });
                continue;
            }
            let end = lines[number + 1..]
                .iter()
                .find(|l| self.indent(l.start) <= indent)
                .map_or(self.tokens.len(), |l| l.start);
            let is_test = inside.is_some_and(|u| units[u].is_test)
                || kind == UnitKind::Function && name.starts_with("test")
                || kind == UnitKind::Class && name.starts_with("Test");
            open.push((units.len(), indent));
            let body = self.end_of_signature(line);
            units.push(Unit { name, owner, kind, tokens: line.start..end, body, is_test });
        }
    }

    fn logical_lines(&self) -> Vec<Range<usize>> {
        let mut lines = Vec::new();
        let mut start = 0;
        for (index, token) in self.tokens.iter().enumerate() {
            if token.kind == Kind::Newline {
                if start < index {
                    lines.push(start..index);
                }
                start = index + 1;
            }
        }
        if start < self.tokens.len() {
            lines.push(start..self.tokens.len());
        }
        lines
    }

    /// After the `:` that ends `def f(…) -> …:`.
    fn end_of_signature(&self, line: &Range<usize>) -> usize {
        let mut depth = 0i32;
        for index in line.clone() {
            match self.word(index) {
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" => depth -= 1,
                ":" if depth == 0 => return index + 1,
                _ => {}
            }
        }
        line.end
    }

    fn braces(&self, units: &mut Vec<Unit>, language: Language) {
        let rust = language == Language::Rust;
        // Where the test region that the last attribute announced ends, and the owners that are open.
        let mut test_until = 0;
        let mut test_next = false;
        let mut owners: Vec<(String, usize)> = Vec::new();
        let mut index = 0;
        while index < self.tokens.len() {
            owners.retain(|(_, end)| index < *end);
            let owner = owners.last().map(|(name, _)| name.clone());
            if rust && self.word(index) == "#" && self.word(index + 1) == "[" {
                let end = self.matching(index + 1);
                test_next |=
                    (index..end).any(|i| self.word(i) == "test") && !(index..end).any(|i| self.word(i) == "not");
                index = end;
                continue;
            }
            match self.word(index) {
                "fn" | "function" | "func" | "mod" if self.item_name(index).is_some() => {
                    let name_at = self.item_name(index).unwrap_or(index);
                    let is_module = self.word(index) == "mod";
                    let (body, end) = self.body(index);
                    let is_test = test_next || index < test_until;
                    if test_next {
                        test_until = test_until.max(end);
                    }
                    test_next = false;
                    if !is_module {
                        let name = self.word(name_at).to_owned();
                        units.push(Unit { name, owner, kind: UnitKind::Function, tokens: index..end, body, is_test });
                    }
                    index = if is_module { body.max(index + 1) } else { name_at };
                }
                "impl" | "trait" | "class" if self.starts_item(index) => {
                    let (body, end) = self.body(index);
                    if let Some(name) = self.owner_name(index, body) {
                        owners.push((name, end));
                    }
                    test_next = false;
                    index = body.max(index + 1);
                }
                "const" | "static" if rust && self.is_word(index + 1) && self.word(index + 1) != "fn" => {
                    let end = self.end_of_statement(index);
                    let name = self.word(index + 1).to_owned();
                    let body = (index..end).find(|i| self.word(*i) == "=").map_or(end, |i| i + 1);
                    let is_test = test_next || index < test_until;
                    units.push(Unit { name, owner, kind: UnitKind::Value, tokens: index..end, body, is_test });
                    test_next = false;
                    index = end;
                }
                "struct" | "enum" | "use" => {
                    test_next = false;
                    index += 1;
                }
                _ => index += 1,
            }
        }
    }

    fn item_name(&self, index: usize) -> Option<usize> {
        if self.is_word(index + 1) {
            return Some(index + 1);
        }
        // Go: `func (r *T) name(`.
        (self.word(index) == "func" && self.word(index + 1) == "(")
            .then(|| self.matching(index + 1))
            .filter(|after| self.is_word(*after))
    }

    fn starts_item(&self, index: usize) -> bool {
        index == 0
            || matches!(self.word(index - 1), "}" | "]" | ";" | "{" | "pub" | ")" | "unsafe" | "export" | "default")
            || self.tokens[index - 1].line < self.tokens[index].line
    }

    /// `impl Trait for Type<'_>` belongs to `Type`.
    fn owner_name(&self, index: usize, body: usize) -> Option<String> {
        let head = index + 1..body.saturating_sub(1);
        let after_for = head.clone().find(|i| self.word(*i) == "for").map_or(head.start, |i| i + 1);
        let mut depth = 0i32;
        for i in after_for..head.end {
            match self.word(i) {
                "<" => depth += 1,
                ">" => depth -= 1,
                word if depth == 0 && self.is_word(i) && !["mut", "dyn"].contains(&word) => {
                    return Some(word.to_owned());
                }
                _ => {}
            }
        }
        None
    }

    /// Where the braces of an item begin and end; an item without braces ends at its `;`.
    fn body(&self, index: usize) -> (usize, usize) {
        let mut at = index;
        while at < self.tokens.len() {
            match self.word(at) {
                "{" => return (at + 1, self.matching(at)),
                ";" => return (at, at + 1),
                "(" | "[" => at = self.matching(at),
                _ => at += 1,
            }
        }
        (at, at)
    }

    fn end_of_statement(&self, index: usize) -> usize {
        let mut at = index;
        while at < self.tokens.len() {
            match self.word(at) {
                ";" => return at + 1,
                "(" | "[" | "{" => at = self.matching(at),
                _ => at += 1,
            }
        }
        at
    }

    /// The token after the bracket that closes the one here.
    fn matching(&self, index: usize) -> usize {
        let mut depth = 0i32;
        for at in index..self.tokens.len() {
            match self.word(at) {
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" => {
                    depth -= 1;
                    if depth <= 0 {
                        return at + 1;
                    }
                }
                _ => {}
            }
        }
        self.tokens.len()
    }
}

#[cfg(test)]
mod tests {
    use super::super::source::Source;
    use super::*;

    fn check(language: Language, text: &str, expected: &[&str]) {
        let source = Source::new("src/a".into(), text.into(), language);
        let seen: Vec<_> = source.units[1..]
            .iter()
            .map(|u| {
                let line = |index: usize| source.tokens[index.min(source.tokens.len() - 1)].line;
                let owner = u.owner.as_ref().map_or(String::new(), |o| format!("{o}."));
                let test = if u.is_test { " test" } else { "" };
                format!("{owner}{} {}-{}{test}", u.name, line(u.tokens.start), line(u.tokens.end - 1))
            })
            .collect();
        assert_eq!(seen, expected, "{text}");
    }

    #[test]
    fn python_units_follow_indentation() {
        check(
            Language::Python,
            "LIMIT = 3\n\nclass A(B):\n    x: int = 1\n\n    def f(self,\n          y=1):\n        z = 1\n        def g():\n            pass\n        return z\n\nasync def h(): return 1\n\ndef test_h():\n    assert h()\n",
            &["LIMIT 1-1", "A 3-11", "A.x 4-4", "A.f 6-11", "g 9-10", "h 13-13", "test_h 15-16 test"],
        );
    }

    #[test]
    fn rust_units_follow_braces() {
        check(
            Language::Rust,
            "const N: usize = 3;\nimpl<T> fmt::Display for Wide<T> {\n  fn fmt(&self) -> X { 1 }\n}\npub fn open(x: [u8; 3]) -> u8 {\n  fn inner() {}\n  1\n}\n#[cfg(test)]\nmod tests {\n  use super::*;\n  fn helper() {}\n  #[test]\n  fn works() { assert!(true) }\n}\nfn after() {}\n",
            &["N 1-1", "Wide.fmt 3-3", "open 5-8", "inner 6-6", "helper 12-12 test", "works 14-14 test", "after 16-16"],
        );
    }

    #[test]
    fn other_languages_have_functions_and_no_more() {
        check(
            Language::Other,
            "func (r *T) Len() int { return 1 }\nfunction add(a, b) { return a + b }",
            &["Len 1-1", "add 2-2"],
        );
    }
}
