//! Edits of calls and of the names in expressions.

use super::edits::{Edits, KEYWORDS};
use super::rule::Rule;
use super::source::{Source, UnitKind};
use super::token::{Kind, Language};

/// Calls that are easily taken for each other, both ways.
const TWINS: &[(&str, &str)] = &[
    ("min", "max"),
    ("any", "all"),
    ("first", "last"),
    ("lower", "upper"),
    ("lstrip", "rstrip"),
    ("strip", "rstrip"),
    ("startswith", "endswith"),
    ("starts_with", "ends_with"),
    ("append", "extend"),
    ("floor", "ceil"),
    ("keys", "values"),
    ("values", "items"),
    ("find", "rfind"),
    ("index", "rindex"),
    ("split", "rsplit"),
    ("partition", "rpartition"),
    ("ljust", "rjust"),
    ("left", "right"),
    ("add", "discard"),
    ("union", "intersection"),
    ("is_some", "is_none"),
    ("is_ok", "is_err"),
    ("push", "insert"),
    ("pop_front", "pop_back"),
    ("push_front", "push_back"),
    ("trim_start", "trim_end"),
    ("take", "skip"),
    ("take_while", "skip_while"),
    ("to_lowercase", "to_uppercase"),
    ("checked_add", "checked_sub"),
    ("saturating_add", "saturating_sub"),
    ("wrapping_add", "wrapping_sub"),
    ("to_ascii_lowercase", "to_ascii_uppercase"),
    ("is_lowercase", "is_uppercase"),
    ("islower", "isupper"),
    ("isdigit", "isalpha"),
    ("next", "next_back"),
    ("math.floor", "math.ceil"),
];
/// Names of one function that are tried in a name's place; the nearest ones.
const NAMES: usize = 6;

pub(super) fn add(edits: &mut Edits<'_>) {
    let source = edits.source;
    for index in 0..source.tokens.len() {
        if source.kind(index) != Some(Kind::Word) || !edits.editable(index) {
            continue;
        }
        let word = source.word(index);
        let called = source.word(index + 1) == "(";
        for (one, other) in TWINS {
            if word == *one && called {
                edits.replace(index, index + 1, *other, Rule::Twin);
            } else if word == *other && called {
                edits.replace(index, index + 1, *one, Rule::Twin);
            }
        }
        if source.language == Language::Other {
            continue;
        }
        if called && !KEYWORDS.contains(&word) {
            // The order of these makes no difference.
            if !["min", "max"].contains(&word) {
                swapped(edits, index + 1);
            }
            ends_of_arguments(edits, index);
        } else if is_value(source, index) {
            names(edits, index, Rule::Name);
            bounds(edits, index);
        } else if is_empty_value(source, index) {
            names(edits, index, Rule::Empty);
        }
    }
}

/// Each two neighbouring arguments that are short expressions.
fn swapped(edits: &mut Edits<'_>, open: usize) {
    let source = edits.source;
    let arguments = arguments(source, open);
    for pair in arguments.windows(2) {
        let text = |(from, to): (usize, usize)| &source.text[source.tokens[from].start..source.tokens[to - 1].end];
        let named =
            |(from, to): (usize, usize)| (from..to).any(|i| ["=", "*", "**", "lambda"].contains(&source.word(i)));
        if !named(pair[0]) && !named(pair[1]) && text(pair[0]).len() + text(pair[1]).len() <= 60 {
            let between = &source.text[source.tokens[pair[0].1 - 1].end..source.tokens[pair[1].0].start];
            let new = format!("{}{between}{}", text(pair[1]), text(pair[0]));
            edits.replace(pair[0].0, pair[1].1, new, Rule::Swap);
        }
    }
}

/// The operands of `-`, `/` and the like, where they are plain names or fields.
pub(super) fn swapped_operands(edits: &mut Edits<'_>, index: usize) {
    let source = edits.source;
    let part = |i: usize| source.kind(i) == Some(Kind::Word) && !KEYWORDS.contains(&source.word(i));
    if index == 0 || !["-", "/", "//", "%"].contains(&source.word(index)) || !part(index - 1) || !part(index + 1) {
        return;
    }
    let (mut start, mut end) = (index - 1, index + 2);
    while start >= 2 && source.word(start - 1) == "." && part(start - 2) {
        start -= 2;
    }
    while source.word(end) == "." && part(end + 1) {
        end += 2;
    }
    // An operand of a tighter binding, or one that goes on, is no plain name.
    let tight = ["*", "/", "//", "%", "**", ".", "-"];
    if start > 0 && tight.contains(&source.word(start - 1))
        || ["(", "[", "**", "*", "/", "//", "%", "."].contains(&source.word(end))
    {
        return;
    }
    let text = |from: usize, to: usize| &source.text[source.tokens[from].start..source.tokens[to - 1].end];
    let new = format!("{} {} {}", text(index + 1, end), source.word(index), text(start, index));
    edits.replace(start, end, new, Rule::Swap);
}

/// One more and one less at the end of a bound that is computed: `min(n, first + width)`, `range(first, last + step)`.
fn ends_of_arguments(edits: &mut Edits<'_>, index: usize) {
    let source = edits.source;
    if !["min", "max", "range"].contains(&source.word(index)) {
        return;
    }
    for (from, to) in arguments(source, index + 1) {
        let computed = (from..to).any(|i| ["+", "-", "*", "/", "//"].contains(&source.word(i)));
        let plain = (from..to).all(|i| !["if", "for", "=", "lambda"].contains(&source.word(i)));
        if computed && plain && source.word(to - 1) != "1" {
            for new in ["+", "-"] {
                edits.replace(to - 1, to, format!("{} {new} 1", source.word(to - 1)), Rule::Index);
            }
        }
    }
}

/// The token ranges of a call's arguments.
fn arguments(source: &Source, open: usize) -> Vec<(usize, usize)> {
    let (mut out, mut depth, mut start) = (Vec::new(), 0, open + 1);
    for index in open..source.tokens.len() {
        match source.word(index) {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth -= 1,
            "," if depth == 1 => {
                if start < index {
                    out.push((start, index));
                }
                start = index + 1;
            }
            "for" | ";" if depth == 1 => return Vec::new(),
            _ => {}
        }
        if depth == 0 {
            if start < index {
                out.push((start, index));
            }
            break;
        }
    }
    out
}

/// A plain local name that is read: not a field, a call, a keyword argument, a type or the target of an assignment.
fn is_value(source: &Source, index: usize) -> bool {
    let word = source.word(index);
    let before = if index == 0 { "" } else { source.word(index - 1) };
    let after = source.word(index + 1);
    let local =
        word.starts_with(|c: char| c.is_ascii_lowercase() || c == '_') && !KEYWORDS.contains(&word) && word != "self";
    let unit = &source.units[source.unit_of[index]];
    unit.kind == UnitKind::Function
        && local
        && index >= unit.body
        && ![".", "::", "'", "let", "mut", "def", "for", "as", "import", "global", "->", "|"].contains(&before)
        && !["=", "::", "!", ":", "(", "+=", "-=", "*=", ":="].contains(&after)
}

/// A `None` that is passed, assigned or returned in the body of a function.
fn is_empty_value(source: &Source, index: usize) -> bool {
    let unit = &source.units[source.unit_of[index]];
    source.word(index) == "None"
        && unit.kind == UnitKind::Function
        && index > unit.body
        && ["=", "(", ",", "return"].contains(&source.word(index - 1))
}

/// The nearest other local names of the function, parameters included.
fn names(edits: &mut Edits<'_>, index: usize, rule: Rule) {
    let source = edits.source;
    let unit = source.units[source.unit_of[index]].tokens.clone();
    let word = source.word(index);
    let line = source.line_start(index);
    let mut others: Vec<(usize, &str)> = Vec::new();
    for at in unit.start + 2..unit.end {
        let name = source.word(at);
        let parameter = at < source.units[source.unit_of[index]].body
            && matches!(source.word(at - 1), "(" | "," | "mut")
            && source.kind(at) == Some(Kind::Word)
            && !["self", "mut", "cls"].contains(&name);
        let assigned = source.kind(at) == Some(Kind::Word)
            && at < line
            && (source.word(at + 1) == "=" && source.word(at - 1) != "."
                || ["for", "let", "mut", "as"].contains(&source.word(at - 1)))
            && !KEYWORDS.contains(&name)
            && source.word(at - 1) != "("
            && source.word(at - 1) != ",";
        if (parameter || assigned) && name != word && !name.is_empty() {
            others.push((at.abs_diff(index), name));
        }
    }
    others.sort_unstable();
    let mut seen: Vec<&str> = Vec::new();
    for (_, name) in others {
        if !seen.contains(&name) && seen.len() < NAMES {
            seen.push(name);
        }
    }
    for name in seen {
        edits.replace(index, index + 1, name, rule);
    }
}

/// `x[i]`, `range(n)`, `a[:n]`: one more and one less.
fn bounds(edits: &mut Edits<'_>, index: usize) {
    let source = edits.source;
    let before = source.word(index - 1);
    let after = source.word(index + 1);
    let opens = ["[", ":", "..", "..=", "(", ","].contains(&before);
    let closes = ["]", ":", ")", "{", ".."].contains(&after);
    let in_range = before != "(" && before != "," || source.word(index.saturating_sub(2)) == "range" || {
        let first = source.line_start(index);
        (first..index).any(|i| source.word(i) == "range" && index - i <= 6)
    };
    if opens && closes && in_range && before != after {
        for new in ["+", "-"] {
            edits.replace(index, index + 1, format!("{} {new} 1", source.word(index)), Rule::Index);
        }
    }
    // `n - 1` as an index: without the `- 1`.
    if opens && ["+", "-"].contains(&after) && source.word(index + 2) == "1" {
        edits.replace(index, index + 3, source.word(index), Rule::Index);
    }
}
