//! Code that is odd whatever the project does: what linters warn of makes an edit there likelier.
//!
//! The patterns are those of "bugs as deviant behavior" (Engler et al., SOSP 2001) and `FindBugs` (Hovemeyer and Pugh, 2004):
//! operations without effect, operators that a literal cannot have, and guards that let through what they should stop.

use super::edits::Edit;
use super::rule::Rule;
use super::source::Source;
use super::token::Kind;

/// By how much the place of an edit is odder than usual; 1 is not odd.
pub(super) fn oddity(source: &Source, edit: &Edit) -> f64 {
    let at = edit.token;
    let (before, word, after) = (before(source, at), source.word(at), source.word(at + 1));
    let operator =
        matches!(source.kind(at), Some(Kind::Sign)) && edit.start < edit.end && source.tokens[at].end == edit.end;
    let no_effect = match word {
        "*" | "/" | "//" | "**" | "*=" | "/=" | "//=" => after == "1",
        "+" | "-" | "+=" | "-=" => after == "0",
        _ => false,
    };
    let of_text =
        at > 0 && source.kind(at - 1) == Some(Kind::Text) && matches!(word, "/" | "-" | "//" | "&" | "<<" | ">>");
    let same_sides = matches!(word, "==" | "!=" | "<" | ">" | "-" | "<=" | ">=" | "/")
        && before == after
        && source.kind(at + 1) == Some(Kind::Word)
        && !matches!(source.word(at + 2), "." | "(" | "[" | "::");
    if operator && (no_effect || of_text) {
        4.0
    } else if operator && same_sides {
        2.0
    } else if guards(source, edit) {
        3.0
    } else {
        1.0
    }
}

fn before(source: &Source, at: usize) -> &str {
    at.checked_sub(1).map_or("", |i| source.word(i))
}

/// Whether the edit turns a guard that lets through what it should stop: `x is not None or x < 1`, `if x is None: x.f()`,
/// `if x: x = default`.
fn guards(source: &Source, edit: &Edit) -> bool {
    let at = edit.token;
    match edit.rule {
        Rule::Equality if source.word(at) == "is" => {
            let negated = source.word(at + 1) == "not";
            let end = at + 1 + usize::from(negated);
            source.word(end) == "None" && is_wrong_guard(source, before(source, at), negated, end + 1)
        }
        Rule::NotAdded => is_wrong_guard(source, source.word(at), true, at + 1),
        Rule::NotRemoved => is_wrong_guard(source, source.word(at + 1), false, at + 2),
        Rule::Logic => {
            let Some(start) = at.checked_sub(3) else {
                return false;
            };
            let (name, negated) = match (source.word(start), source.word(start + 1)) {
                (name, "is") if source.word(at - 1) == "None" => (name, false),
                ("is", "not") if source.word(at - 1) == "None" && start > 0 => (source.word(start - 1), true),
                _ => return false,
            };
            is_wrong_guard(source, name, negated, at)
        }
        _ => false,
    }
}

/// What follows a test of a name for presence (or absence) up to the end of the next line, against what should.
fn is_wrong_guard(source: &Source, name: &str, present: bool, next: usize) -> bool {
    let used = |range: std::ops::Range<usize>| {
        range
            .clone()
            .any(|i| source.word(i) == name && matches!(source.word(i + 1), "." | "[" | "<" | ">" | "<=" | ">="))
    };
    let end_of_line =
        |from: usize| (from..source.tokens.len()).find(|i| source.word(*i) == "\n").unwrap_or(source.tokens.len());
    match source.word(next) {
        "or" => present && used(next..end_of_line(next)),
        "and" => !present && used(next..end_of_line(next)),
        ":" => {
            let body = if source.word(next + 1) == "\n" { next + 2 } else { next + 1 };
            let sets = source.word(body) == name && source.word(body + 1) == "=";
            if present { sets && !used(body..end_of_line(body)) } else { !sets && used(body..end_of_line(body)) }
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::edits::edits;
    use super::super::token::Language;
    use super::*;

    fn check(text: &str, new: &str, odd: bool) {
        let source = Source::new("a.py".into(), format!("def f(x):\n    {text}\n"), Language::Python);
        let edits = edits(&source);
        let found = edits.iter().filter(|e| e.new == new && source.tokens[e.token].line == 2);
        let most = found.map(|e| oddity(&source, e)).fold(0.0, f64::max);
        assert_eq!(most > 1.0, odd, "{text}: {most}");
        assert!(most > 0.0, "{text}: no such edit");
    }

    #[test]
    fn operations_without_effect_are_odd() {
        check("y = x * 1", "+", true);
        check("x -= 0", "+=", true);
        check("y = x * 2", "+", false);
        check("y = '%d' / x", "%", true);
        check("y = x - x", "+", true);
        check("y = x - x.y", "+", false);
    }

    #[test]
    fn guards_that_let_through_what_they_should_stop_are_odd() {
        check("y = x is not None or x.a", "is", true);
        check("y = x is not None or x.a", "and", true);
        check("y = x is None or x.a", "is not", false);
        check("if x is None:\n        return x.a", "is not", true);
        check("if x is not None:\n        x = 1", "is", true);
        check("if x is None:\n        x = 1", "is not", false);
        check("if x:\n        x = 1", "not ", true);
        check("if x:\n        return x.a", "not ", false);
    }
}
