//! The variables that a text sets, as shells and the libraries that read `.env` files find them.
//!
//! They disagree: `A=one two` is `one two` for a library and `one` for a shell. Where both may be meant, both readings count, because
//! these are secrets to be found elsewhere, and one too many costs nothing.

use serde_json::Value;
use std::collections::HashMap;

/// Words before a name that say that it is one. A `-` is an item of a YAML list.
const DECLARE: [&str; 9] = ["export", "declare", "typeset", "readonly", "local", "set", "setenv", "env", "-"];

/// The names and values that stand in a text: `NAME=value`, `export A=1 B=2; C=3`, `setenv NAME value`, `NAME = "over lines"`, and
/// lines that a `\` joins. `NAME: value` and a `;` without a blank behind it count where the text `is_settings`: in code they stand
/// everywhere.
pub(super) fn variables_in(text: &str, is_settings: bool) -> Vec<(String, String)> {
    let text = text.trim_start_matches('\u{feff}');
    let mut found = in_json(text);
    if !found.is_empty() {
        return found;
    }
    let (mut start, mut joined) = (0, String::new());
    for line in text.split(['\n', '\r']) {
        // Each line counts by itself too: a Windows path may end with a backslash.
        found.extend(Line { text: &text[start..], end: line.len(), is_settings }.variables());
        match line.strip_suffix('\\') {
            Some(front) => joined.push_str(front),
            None if joined.is_empty() => {}
            None => {
                joined.push_str(line);
                found.extend(Line { text: &joined, end: joined.len(), is_settings }.variables());
                joined.clear();
            }
        }
        // A key that is out of use is still a key, where it was not revoked.
        if let Some(setting) = line.trim_start().strip_prefix('#').filter(|_| is_settings) {
            found.extend(Line { text: setting, end: setting.len(), is_settings }.variables());
        }
        start += line.len() + 1;
    }
    found
}

/// The texts with names in a JSON document, however deep; none where it is none.
fn in_json(text: &str) -> Vec<(String, String)> {
    fn collect(value: &Value, name: Option<&str>, found: &mut Vec<(String, String)>) {
        match value {
            Value::String(text) => found.extend(name.map(|name| (name.to_owned(), text.clone()))),
            Value::Number(number) => found.extend(name.map(|name| (name.to_owned(), number.to_string()))),
            // Each of a list has the name of the list.
            Value::Array(all) => all.iter().for_each(|value| collect(value, name, found)),
            Value::Object(fields) => fields.iter().for_each(|(name, value)| collect(value, Some(name), found)),
            Value::Null | Value::Bool(_) => {}
        }
    }
    let mut found = Vec::new();
    if text.trim_start().starts_with(['{', '[']) {
        // One that nests too deep is refused by the reader.
        let read = serde_json::from_str::<Value>(text);
        read.iter().for_each(|value| collect(value, None, &mut found));
    }
    found
}

/// The same variables, and what others in their values come to: `pre-$HOST-post` with the value of `HOST`, and its pieces `pre` and `post` as far as they are
/// long enough to be secrets. `known` says the value of a name that no other variable has.
pub(super) fn with_expanded(
    variables: Vec<(String, String)>,
    known: impl Fn(&str) -> Option<String>,
) -> Vec<(String, String)> {
    let values: HashMap<&str, &str> = variables.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let value_of = |name: &str| values.get(name).map(|value| (*value).to_owned()).or_else(|| known(name));
    let mut more = Vec::new();
    for (name, value) in variables.iter().filter(|(_, value)| value.contains('$')) {
        let (mut pieces, mut whole) = (Vec::new(), value.clone());
        // A value may stand in another one that stands in another one.
        for _ in 0..NESTED {
            let parts = parts_of(&whole);
            if pieces.is_empty() {
                let literals = parts.iter().filter_map(Part::literal);
                let pieces_of = literals.map(|text| text.trim_matches(|c: char| !c.is_alphanumeric()).to_owned());
                pieces = pieces_of.filter(|piece| piece.len() >= PIECE_BYTES).collect();
            }
            let filled: String = parts.iter().map(|part| part.filled(&value_of)).collect();
            if filled == whole || filled.len() > MOST_BYTES {
                break;
            }
            whole = filled;
        }
        pieces.push(whole);
        more.extend(pieces.into_iter().filter(|piece| piece != value).map(|piece| (name.clone(), piece)));
    }
    [variables, more].concat()
}

/// So often a value is filled in.
const NESTED: usize = 4;
/// A shorter piece of a value is a word like others.
const PIECE_BYTES: usize = 8;
/// A longer value is none.
const MOST_BYTES: usize = 1 << 16;

/// What a value is put together of.
enum Part<'a> {
    Text(&'a str),
    /// `$NAME`, `${NAME}` or `${NAME:-other}`, as it is written, its name, and what stands behind the `:-`.
    Variable(&'a str, &'a str, Option<&'a str>),
}

impl Part<'_> {
    fn literal(&self) -> Option<String> {
        match self {
            Part::Text(text) => Some((*text).to_owned()),
            Part::Variable(_, _, other) => other.map(str::to_owned),
        }
    }

    fn filled(&self, value_of: &impl Fn(&str) -> Option<String>) -> String {
        match self {
            Part::Text(text) => (*text).to_owned(),
            Part::Variable(written, name, other) => {
                let value = value_of(name).or_else(|| other.map(str::to_owned));
                value.unwrap_or_else(|| (*written).to_owned())
            }
        }
    }
}

fn parts_of(value: &str) -> Vec<Part<'_>> {
    let (mut parts, mut rest) = (Vec::new(), value);
    while let Some(at) = rest.find('$') {
        let (text, from) = rest.split_at(at);
        let (part, length) = variable(from).unwrap_or((Part::Text("$"), 1));
        parts.extend([Part::Text(text), part]);
        rest = &from[length..];
    }
    parts.push(Part::Text(rest));
    parts
}

/// The variable that a text begins with, and how long that is.
fn variable(text: &str) -> Option<(Part<'_>, usize)> {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let Some(inner) = text.strip_prefix("${") else {
        let name = &text[1..];
        let length = name.find(|c| !is_of_name(c)).unwrap_or(name.len());
        return (length > 0).then(|| (Part::Variable(&text[..=length], &name[..length], None), length + 1));
    };
    let inner = &inner[..inner.find('}')?];
    let (name, other) = match inner.split_once(":-").or_else(|| inner.split_once('-')) {
        Some((name, other)) => (name, Some(other)),
        None => (inner, None),
    };
    let length = inner.len() + 3;
    (!name.is_empty() && name.chars().all(is_of_name)).then(|| (Part::Variable(&text[..length], name, other), length))
}

/// A line, and what follows it: a quoted value may go over lines.
struct Line<'a> {
    text: &'a str,
    end: usize,
    is_settings: bool,
}

/// What blanks and `;` part from others.
struct Word<'a> {
    start: usize,
    raw: &'a str,
}

impl Line<'_> {
    fn variables(&self) -> Vec<(String, String)> {
        let words = self.words();
        let mut found = Vec::new();
        // How a shell reads the first value; this counts if the line has others.
        let mut first = None;
        for statement in words.split(Word::ends_statement) {
            let skipped = statement.iter().take_while(|word| word.is_declaration()).count();
            let (front, mut rest) = statement.split_at(skipped);
            if let ([.., command], [name, values @ ..]) = (front, rest)
                && takes_words(front, command)
                && is_name(name.raw)
            {
                found.extend(values.iter().flat_map(|value| self.readings(name.raw, value.start, true)));
                continue;
            }
            let is_of_shell = skipped > 0;
            while let [word, behind @ ..] = rest {
                let next = behind.first();
                match self.assignment(word, next) {
                    Some((name, start, is_colon)) => {
                        let is_of_shell = !is_colon && (is_of_shell || !found.is_empty());
                        if !is_of_shell && !is_colon {
                            first = Some((name, start));
                        }
                        found.extend(self.readings(name, start, is_of_shell));
                    }
                    // Of a sentence or a command nothing is set.
                    None if !is_of_shell && found.is_empty() => break,
                    None => {}
                }
                rest = behind;
            }
        }
        if let Some((name, start)) = first.filter(|_| found.len() > 1) {
            found.extend(
                self.readings(name, start, true).into_iter().filter(|one| !found.contains(one)).collect::<Vec<_>>(),
            );
        }
        found
    }

    /// The words up to a comment; a `;` between them is one, whatever stands beside it.
    fn words(&self) -> Vec<Word<'_>> {
        let line = &self.text[..self.end];
        let (mut words, mut start) = (Vec::new(), 0);
        while start < line.len() {
            let rest = &line[start..];
            let blanks = rest.len() - rest.trim_start().len();
            if blanks > 0 {
                start += blanks;
            } else if rest.starts_with('#') {
                break;
            } else {
                let length = if rest.starts_with(';') { 1 } else { self.word_length(rest) };
                words.push(Word { start, raw: &rest[..length] });
                start += length;
            }
        }
        words
    }

    /// The name that a word sets, where its value begins, and whether a colon is between them.
    fn assignment<'a>(&self, word: &Word<'a>, next: Option<&Word<'_>>) -> Option<(&'a str, usize, bool)> {
        let has_sign = |word: &Word<'_>| word.raw.starts_with('=') && !word.raw.starts_with("==");
        if let Some((name, _)) = word.raw.split_once('=').filter(|(name, _)| !name.is_empty()) {
            let name = bare_name(name);
            return is_name(name).then(|| (name, word.start + word.raw.find('=').unwrap_or_default() + 1, false));
        }
        if let Some(next) = next.filter(|next| has_sign(next)) {
            let name = bare_name(word.raw);
            return is_name(name).then_some((name, next.start + 1, false));
        }
        let name = bare_name(word.raw.strip_suffix(':').filter(|_| self.is_settings)?);
        is_name(name).then_some((name, word.start + word.raw.len(), true))
    }

    /// What the value that begins there may be.
    fn readings(&self, name: &str, start: usize, is_of_shell: bool) -> Vec<(String, String)> {
        let line = &self.text[..self.end];
        // For a shell a value begins at once; libraries pass over blanks.
        let blanks = line[start..].len() - line[start..].trim_start().len();
        let start = start + blanks;
        let word = &line[start..start + self.word_length(&line[start..])];
        let mut values = Vec::new();
        match in_quotes(&self.text[start..]) {
            Some((value, length)) => {
                values.push(value);
                // `"one"two` is one word; of `"one",` the comma is no part.
                values.extend((length < word.len()).then(|| unquoted(word)));
            }
            None if is_of_shell => values.push(unquoted(word).trim_end_matches(['"', '\'']).to_owned()),
            None => values.push(bare(&line[start..]).to_owned()),
        }
        // A shell ends its word there, and a library goes on.
        let ended = end_of_word(word);
        if ended < word.len() {
            values.push(unquoted(&word[..ended]));
        }
        values.into_iter().map(|value| (name.to_owned(), value)).collect()
    }

    /// How long the word is that a text begins with: up to a blank or `;` that is not in quotes.
    fn word_length(&self, text: &str) -> usize {
        let (mut at, mut is_escaped) = (0, false);
        while let Some(c) = text[at..].chars().next() {
            let ends_statement =
                c == ';' && (self.is_settings || !text[at + 1..].starts_with(|c: char| !c.is_whitespace()));
            if !is_escaped && (c.is_whitespace() || ends_statement) {
                break;
            }
            // A quote that nobody closes is a sign like others: `it's`.
            let in_quotes = (!is_escaped).then(|| in_quotes(&text[at..])).flatten();
            is_escaped = c == '\\' && !is_escaped;
            at += in_quotes.map_or(c.len_utf8(), |(_, length)| length);
        }
        at
    }
}

/// Where a shell ends a word that holds no blank: at `&`, `|` or `)` outside of quotes.
fn end_of_word(word: &str) -> usize {
    let (mut at, mut is_escaped) = (0, false);
    while let Some(c) = word[at..].chars().next() {
        // `$(…)` is one word.
        if !is_escaped && (matches!(c, '&' | '|' | ')') || word[at..].starts_with("$(")) {
            return if c == '$' { word.len() } else { at };
        }
        let in_quotes = (!is_escaped).then(|| in_quotes(&word[at..])).flatten();
        is_escaped = c == '\\' && !is_escaped;
        at += in_quotes.map_or(c.len_utf8(), |(_, length)| length);
    }
    at
}

impl Word<'_> {
    fn ends_statement(&self) -> bool {
        matches!(self.raw, ";" | "&&" | "||")
    }

    fn is_declaration(&self) -> bool {
        DECLARE.contains(&self.raw.trim_start_matches('(')) || (self.raw.starts_with('-') && !self.raw.contains('='))
    }
}

/// Whether the value is the next word, as with `setenv NAME value` and fish's `set -x NAME value`.
fn takes_words(front: &[Word<'_>], last: &Word<'_>) -> bool {
    last.raw == "setenv" || (last.raw != "-" && last.raw.starts_with('-') && front[0].raw == "set")
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-'))
}

/// A name without quotes around it, without what opens a group before it, and without PowerShell's `$env:`.
fn bare_name(name: &str) -> &str {
    let name = name.trim_start_matches(['{', '(']).trim_matches(['"', '\'']);
    name.strip_prefix("$env:").unwrap_or(name)
}

/// A word as a shell reads it.
fn unquoted(word: &str) -> String {
    let (mut value, mut at) = (String::new(), 0);
    while let Some(c) = word[at..].chars().next() {
        let (part, length) = in_quotes(&word[at..]).unwrap_or_else(|| (c.to_string(), c.len_utf8()));
        value.push_str(&part);
        at += length;
    }
    value
}

/// A value in quotes, which a `$` may stand before in a shell, and how long it is with them.
fn in_quotes(text: &str) -> Option<(String, usize)> {
    let of_shell = text.strip_prefix('$').filter(|rest| rest.starts_with(['"', '\'']));
    let from = of_shell.unwrap_or(text);
    let quote = from.chars().next().filter(|c| matches!(c, '"' | '\'' | '`'))?;
    let (value, length) = quoted(&from[1..], quote, quote == '"' || of_shell.is_some())?;
    Some((value, text.len() - from.len() + 1 + length))
}

/// What stands before the quote that closes it, without the backslashes before quotes, and how long it is with that.
fn quoted(text: &str, quote: char, has_escapes: bool) -> Option<(String, usize)> {
    let (mut value, mut is_escaped) = (String::new(), false);
    for (at, c) in text.char_indices() {
        match c {
            _ if is_escaped => {
                if c != quote && c != '\\' {
                    value.push('\\');
                }
                value.push(c);
                is_escaped = false;
            }
            '\\' if has_escapes => is_escaped = true,
            _ if c == quote => return Some((value, at + c.len_utf8())),
            _ => value.push(c),
        }
    }
    None
}

/// What libraries read of a value without quotes: the line, without the comment and the commands behind it (`value; export NAME`).
fn bare(value: &str) -> &str {
    let ends =
        [" #", "; ", " && "].into_iter().filter_map(|end| value.find(end)).chain(value.strip_suffix(';').map(str::len));
    value[..ends.min().unwrap_or(value.len())].trim_end()
}

/// So much of a text behind a name is looked at.
const NEAR_BYTES: usize = 2048;
/// What stands around a value, in whatever language.
const AROUND: &[char] = &['"', '\'', '`', '(', ')', '[', ']', '{', '}', '<', '>', ',', ';', '|', '&', '$', '=', ':'];

/// What stands behind each name that is wanted, until another name is set: its pieces of 8 bytes and more, in whatever way the value is written - a
/// list, a block of YAML, a here-document, an element of XML, what a command prints. They count beside what [`variables_in`] reads.
pub(super) fn pieces_behind(text: &str, is_wanted: impl Fn(&str) -> bool) -> Vec<(String, String)> {
    let lines = text.split_inclusive('\n').filter(|line| !line.trim_start().starts_with('#'));
    let text = lines.collect::<String>().replace("\\\r\n", "").replace("\\\n", "");
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let (mut found, mut at) = (Vec::new(), 0);
    while let Some(start) = text[at..].find(is_of_name).map(|start| at + start) {
        let end = text[start..].find(|c| !is_of_name(c)).map_or(text.len(), |length| start + length);
        let name = &text[start..end];
        if is_wanted(name) {
            let behind = until_next_name(&text[end..]);
            let whole = behind.replace(['"', '\'', '`', '\\'], "");
            let pieces = behind.split(|c: char| c.is_whitespace() || AROUND.contains(&c));
            let pieces = pieces.chain(whole.split(|c: char| c.is_whitespace() || ",;()[]{}<>".contains(c)));
            let pieces = pieces.map(|piece| piece.trim_start_matches(['=', ':', '+', '?']));
            let long = pieces.filter(|piece| piece.len() >= PIECE_BYTES && *piece != name);
            found.extend(long.map(|piece| (name.to_owned(), piece.to_owned())));
        }
        at = end;
    }
    found
}

/// A text up to an empty line, a line that sets another name, or as far as it is looked at.
fn until_next_name(text: &str) -> &str {
    let mut end = 0;
    for (number, line) in text.split_inclusive('\n').enumerate() {
        let is_set = variables_in(line.trim_end(), true).first().is_some_and(|(name, _)| name != "value");
        if end + line.len() > NEAR_BYTES || (number > 0 && (line.trim().is_empty() || is_set)) {
            break;
        }
        end += line.len();
    }
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, wanted: &[(&str, &str)]) {
        let wanted: Vec<_> = wanted.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        assert_eq!(variables_in(text, true), wanted, "{text}");
    }

    #[test]
    fn a_variable_is_read_as_shells_and_libraries_read_it() {
        check("A_KEY=one two", &[("A_KEY", "one two")]);
        check("  export A_KEY = \"a#b\" # why\r\nB=2", &[("A_KEY", "a#b"), ("B", "2")]);
        check("A_KEY='it is' ", &[("A_KEY", "it is")]);
        check("A_KEY=value # why", &[("A_KEY", "value")]);
        check("# A_KEY=value\n\nnothing\n= x\n# nothing = of note\n", &[("A_KEY", "value"), ("nothing", "of note")]);
        check("\u{feff}A_KEY=one\rB_KEY=two", &[("A_KEY", "one"), ("B_KEY", "two")]);
        check("A_KEY=\"one\ntwo \\\"three\\\"\nfour\"\nB=2", &[("A_KEY", "one\ntwo \"three\"\nfour"), ("B", "2")]);
        for line in [
            "export\tA_KEY=one",
            "declare -x A_KEY=\"one\"",
            "typeset -g -x A_KEY=one",
            "A_KEY=one; export A_KEY",
            "A_KEY=one;",
            "setenv A_KEY one",
            "setenv A_KEY 'one';",
            "set -gx A_KEY one",
            "set A_KEY = one",
            "set \"A_KEY=one\"",
            "$env:A_KEY = \"one\"",
            "A_KEY: one",
            "  A_KEY:   'one' # why",
            "- A_KEY=one",
            "\"A_KEY\": \"one\"",
        ] {
            check(line, &[("A_KEY", "one")]);
        }
        for line in [
            "env A_KEY=one prog",
            "export A_KEY=one && prog",
            "A_KEY=one && prog",
            "readonly B=2 A_KEY=one",
            "B=2; A_KEY=one;",
            "B=2 A_KEY=one",
            "A_KEY=one B=2",
            "export B=2; export A_KEY=one",
            "export A_KEY=one; export B=2",
            "export B A_KEY=one",
            "B=2;A_KEY=one",
            "A_KEY=o\\\nne",
            "export B=2 \\\n  A_KEY=one",
            "\"A_KEY\": \"one\",",
            "A_KEY=o'n'\"e\" B=2",
            "B=it's A_KEY=one",
        ] {
            assert!(variables_in(line, true).contains(&("A_KEY".to_owned(), "one".to_owned())), "{line}");
        }
        check("A_KEY=$'it\\'s'\nB=$\"two\"\nC=$(x)", &[("A_KEY", "it's"), ("B", "two"), ("C", "$(x)")]);
        check("if test A_KEY=one\nthe A_KEY=two\nA_KEY == four", &[]);
        check("A_KEY=\"it is open\nB=2", &[("A_KEY", "\"it is open"), ("B", "2")]);
        assert_eq!(variables_in("A_KEY: one\nx(); A_KEY", false), []);
        assert_eq!(variables_in("b=1;A_KEY=one", false), [("b".to_owned(), "1;A_KEY=one".to_owned())]);
    }

    #[test]
    fn a_json_document_is_read_as_one() {
        let all = [("A_KEY", "one"), ("B_KEY", "t\"wo"), ("IN", "x"), ("C_KEY", "1"), ("C_KEY", "z")];
        check(r#"{"A_KEY":"one","B_KEY":"t\"wo","D":{"IN":"x","C_KEY":[1,null,"z"]}}"#, &all);
        check("{\"A_KEY\": \"one\",\n\"B\": \"2\"", &[("A_KEY", "one"), ("A_KEY", "one,"), ("B", "2")]);
        check("[section]\nA_KEY=one", &[("A_KEY", "one")]);
    }

    #[test]
    fn a_shell_ends_its_word_at_its_signs() {
        for line in ["export A_KEY=one&&true", "export A_KEY=one|cat", "(export A_KEY=one)", "A_KEY=one& B=2"] {
            assert!(variables_in(line, true).contains(&("A_KEY".to_owned(), "one".to_owned())), "{line}");
        }
        check("A_KEY=one&two", &[("A_KEY", "one&two"), ("A_KEY", "one")]);
        check("A_KEY='one&two'\nB=$(a|b)", &[("A_KEY", "one&two"), ("B", "$(a|b)")]);
    }

    #[test]
    fn what_stands_in_a_value_is_put_in() {
        let of = |text: &str| {
            let known = |name: &str| (name == "USER").then(|| "ada".to_owned());
            let found = with_expanded(variables_in(text, true), known);
            found.into_iter().filter(|(name, _)| name == "A_KEY").map(|(_, value)| value).collect::<Vec<_>>()
        };
        assert_eq!(
            of("HOST=prod\nA_KEY=pre-${HOST}123456789"),
            ["pre-${HOST}123456789", "123456789", "pre-prod123456789"]
        );
        assert_eq!(of("B=$USER-$C\nC=x\nA_KEY=$B!"), ["$B!", "ada-x!"]);
        assert_eq!(of("A_KEY=${NONE:-otherwise}$NONE"), ["${NONE:-otherwise}$NONE", "otherwise", "otherwise$NONE"]);
        assert!(of("A_KEY=$A_KEY$A_KEY").iter().all(|value| value.len() < 1 << 17), "it ends");
        assert_eq!(of("A_KEY=5$ and $"), ["5$ and $"]);
    }

    #[test]
    fn where_a_shell_and_a_library_disagree_both_count() {
        let both = [("A_KEY", "Server=a;Password=b"), ("Password", "b"), ("A_KEY", "Server=a")];
        check("A_KEY=Server=a;Password=b", &both);
        check("A_KEY=one B=2", &[("A_KEY", "one B=2"), ("B", "2"), ("A_KEY", "one")]);
        check("A_KEY=C:\\\nB=2", &[("A_KEY", "C:\\"), ("B", "2"), ("A_KEY", "C:B=2")]);
        check("A_KEY=\"one\"two", &[("A_KEY", "one"), ("A_KEY", "onetwo")]);
    }

    /// Spellings of an assignment, in shells, YAML, TOML, JSON, XML, Ruby, make, and what people write.
    const SPELLINGS: &str = include_str!("../../tests/fixtures/assignments.txt");

    #[test]
    fn a_value_is_found_in_whatever_way_it_is_written() {
        let (value, is_wanted) = ("s3cr3tValue77x9", |name: &str| name == "A_KEY");
        let spelt: Vec<String> = SPELLINGS.lines().map(|line| line.replace("\\n", "\n").replace('@', value)).collect();
        let read = |text: &str| with_expanded(variables_in(text, true), |_| None);
        let has = |found: &[(String, String)]| found.iter().any(|(_, found)| found == value);
        let read_alone = spelt.iter().filter(|text| has(&read(text))).count();
        let missed: Vec<&String> =
            spelt.iter().filter(|text| !has(&read(text)) && !has(&pieces_behind(text, is_wanted))).collect();
        println!("{read_alone} of {} are read, {} are missed", spelt.len(), missed.len());
        assert_eq!(missed, Vec::<&String>::new());
        let other = pieces_behind("A_KEY: one\nB_NAME: other-words-here\n# A_KEY=in-a-comment\n", is_wanted);
        assert_eq!(other, Vec::new(), "of another name");
    }
}
