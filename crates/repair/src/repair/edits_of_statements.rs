//! Edits of conditions and whole statements.

use super::edits::Edits;
use super::rule::Rule;
use super::source::UnitKind;
use super::token::{Kind, Language};

pub(super) fn add(edits: &mut Edits<'_>) {
    let language = edits.source.language;
    for index in 0..edits.source.tokens.len() {
        if !edits.editable(index) {
            continue;
        }
        match language {
            Language::Python => {
                python_condition(edits, index);
                python_return(edits, index);
                python_assignment(edits, index);
                python_reuse(edits, index);
            }
            Language::Rust => {
                rust_condition(edits, index);
                rust_return(edits, index);
            }
            Language::Other => {}
        }
    }
}

/// Where the expression that begins here ends: at a stop on the same depth of brackets.
fn end_of_expression(edits: &Edits<'_>, start: usize, stops: &[&str]) -> Option<usize> {
    let source = edits.source;
    let mut depth = 0;
    for index in start..source.tokens.len() {
        let word = source.word(index);
        if depth == 0 && stops.contains(&word) {
            return Some(index);
        }
        match word {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth -= 1,
            _ => {}
        }
        if depth < 0 {
            return Some(index);
        }
    }
    None
}

fn python_condition(edits: &mut Edits<'_>, index: usize) {
    let source = edits.source;
    if !["if", "elif", "while", "assert"].contains(&source.word(index)) {
        return;
    }
    let start = index + 1;
    let Some(end) = end_of_expression(edits, start, &[":", "else", "\n", ",", "for"]) else {
        return;
    };
    negate(edits, start, end, "not ");
    clauses(edits, start, end, &["and", "or"]);
}

fn rust_condition(edits: &mut Edits<'_>, index: usize) {
    let source = edits.source;
    if !["if", "while"].contains(&source.word(index)) || source.word(index + 1) == "let" {
        return;
    }
    let Some(end) = end_of_expression(edits, index + 1, &["{", "=>"]) else {
        return;
    };
    negate(edits, index + 1, end, "!");
    clauses(edits, index + 1, end, &["&&", "||"]);
}

/// A condition that holds a comparison is turned there already; others get a negation.
fn negate(edits: &mut Edits<'_>, start: usize, end: usize, not: &str) {
    let source = edits.source;
    let compares = (start..end).any(|i| {
        ["==", "!=", "<", ">", "<=", ">=", "is", "in", "not", "and", "or", "&&", "||"].contains(&source.word(i))
    });
    if !compares && source.word(start) != "!" && start < end {
        edits.insert(start, not, Rule::NotAdded);
    }
}

/// Each part of a condition that could be one too many.
fn clauses(edits: &mut Edits<'_>, start: usize, end: usize, joints: &[&str]) {
    let mut at = start;
    while let Some(joint) = end_of_expression(edits, at, joints).filter(|j| *j < end) {
        edits.remove(at, joint + 1, Rule::Clause);
        let part_end = end_of_expression(edits, joint + 1, joints).map_or(end, |next| next.min(end));
        let tokens = &edits.source.tokens;
        let (from, to) = (tokens[joint - 1].end, tokens[part_end - 1].end);
        if part_end == end && from < to {
            let kept = edits.source.text[tokens[at].start..from].to_owned();
            edits.replace(at, part_end, kept, Rule::Clause);
        }
        at = joint + 1;
    }
}

/// A function whose last statement is an expression, or an assignment to a name, and that returns nothing.
fn python_return(edits: &mut Edits<'_>, index: usize) {
    let source = edits.source;
    let unit = &source.units[source.unit_of[index]];
    if unit.kind != UnitKind::Function || source.line_start(index) != index || index == 0 {
        return;
    }
    let end_of_line = end_of_expression(edits, index, &["\n"]).unwrap_or(source.tokens.len());
    let last = (unit.tokens.start..unit.tokens.end).rev().find(|i| source.kind(*i) != Some(Kind::Newline));
    if last != end_of_line.checked_sub(1) || index < unit.body {
        return;
    }
    let first = source.word(index);
    let target = source.word(index + 1);
    if ["return", "raise", "pass", "yield", "assert", "del", "break", "continue"].contains(&first) {
        return;
    }
    if source.kind(index) == Some(Kind::Word) && !["=", "+=", "-="].contains(&target) {
        edits.insert(index, "return ", Rule::Return);
    }
}

/// `x = …` in a loop that should have been `x += …`.
fn python_assignment(edits: &mut Edits<'_>, index: usize) {
    let source = edits.source;
    if source.word(index) != "=" || index == 0 || source.line_start(index) + 1 != index {
        return;
    }
    let first = source.line_start(index);
    let column = source.column(first);
    let unit = &source.units[source.unit_of[index]];
    let name = source.word(first);
    let set_before =
        (unit.body..first).any(|i| source.word(i) == name && source.word(i + 1) == "=" && source.column(i) < column);
    if unit.kind == UnitKind::Function && set_before {
        edits.replace(index, index + 1, "+=", Rule::Assignment);
        edits.replace(index, index + 1, "-=", Rule::Assignment);
    }
}

/// How many values of other places are tried for one `None`.
const REUSED: usize = 4;

/// `x = None` where other lines of the file say what `x` could be.
fn python_reuse(edits: &mut Edits<'_>, index: usize) {
    let source = edits.source;
    let end_of_line = source.word(index + 1) == "\n";
    if source.word(index) != "None" || index < 2 || source.word(index - 1) != "=" || !end_of_line {
        return;
    }
    let target = source.word(index - 2);
    let mut values: Vec<(usize, &str)> = Vec::new();
    for at in 1..source.tokens.len() {
        if source.word(at) != "=" || source.word(at - 1) != target || at == index - 1 {
            continue;
        }
        let end = end_of_expression(edits, at + 1, &["\n", ","]).unwrap_or(source.tokens.len());
        if end > at + 1 {
            let value = &source.text[source.tokens[at + 1].start..source.tokens[end - 1].end];
            if value != "None" && !values.iter().any(|(_, known)| *known == value) {
                values.push((at.abs_diff(index), value));
            }
        }
    }
    values.sort_unstable();
    for (_, value) in values.into_iter().take(REUSED) {
        edits.replace(index, index + 1, value, Rule::Reuse);
    }
}

/// A last statement `x;` whose value should have been returned.
fn rust_return(edits: &mut Edits<'_>, index: usize) {
    let source = edits.source;
    let unit = &source.units[source.unit_of[index]];
    if unit.kind == UnitKind::Function && source.word(index) == ";" && index + 2 == unit.tokens.end {
        let returns = (unit.tokens.start..unit.body).any(|i| source.word(i) == "->");
        if returns {
            edits.replace(index, index + 1, "", Rule::Return);
        }
    }
}
