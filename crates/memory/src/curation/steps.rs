//! What a clause tells its reader to do: plainly fine is an edit of code, or a look at it.
//!
//! A sentence may say something harmless first and order anything behind it, so that each clause stands for itself: it ends at a comma and before
//! `and`, `so`, `then` and the like. One that begins with a verb is an order, and so is what follows `should`, `may` or `is to`. Its verb must be one of those by
//! which code is changed or looked at, and it must name something of the code: a name, a place, or a word as `list`, `index`, `call`.

use super::for_others::is_check;
use super::sentences::Word;

/// By which code is changed or looked at.
const VERBS: [&str; 68] = [
    "add",
    "append",
    "apply",
    "assign",
    "begin",
    "break",
    "build",
    "cache",
    "calculate",
    "call",
    "change",
    "check",
    "clamp",
    "close",
    "collect",
    "compare",
    "compute",
    "convert",
    "copy",
    "count",
    "create",
    "declare",
    "define",
    "divide",
    "end",
    "ensure",
    "filter",
    "fix",
    "follow",
    "guard",
    "handle",
    "hold",
    "implement",
    "import",
    "include",
    "increment",
    "initialize",
    "insert",
    "inspect",
    "iterate",
    "join",
    "keep",
    "look",
    "loop",
    "make",
    "match",
    "move",
    "multiply",
    "open",
    "parse",
    "pass",
    "put",
    "raise",
    "read",
    "remove",
    "replace",
    "return",
    "rerun",
    "round",
    "run",
    "see",
    "set",
    "sort",
    "split",
    "start",
    "store",
    "swap",
    "use",
];
/// What code is made of.
const OF_CODE: [&str; 82] = [
    "argument",
    "array",
    "attribute",
    "base",
    "boolean",
    "borrow",
    "bound",
    "bracket",
    "bug",
    "call",
    "case",
    "cast",
    "character",
    "class",
    "code",
    "column",
    "condition",
    "constant",
    "constructor",
    "copy",
    "count",
    "counter",
    "default",
    "dictionary",
    "digit",
    "divisor",
    "element",
    "end",
    "entry",
    "enum",
    "exception",
    "expression",
    "field",
    "float",
    "format",
    "function",
    "handle",
    "handler",
    "header",
    "implementation",
    "import",
    "index",
    "input",
    "integer",
    "item",
    "iterator",
    "key",
    "length",
    "letter",
    "list",
    "lock",
    "logic",
    "loop",
    "map",
    "method",
    "module",
    "name",
    "none",
    "null",
    "number",
    "object",
    "operator",
    "order",
    "parameter",
    "pointer",
    "query",
    "queue",
    "range",
    "recursion",
    "reference",
    "result",
    "return",
    "row",
    "sequence",
    "set",
    "string",
    "struct",
    "sum",
    "timeout",
    "tuple",
    "type",
    "value",
];
/// The same, that are no noun.
const AND_WORDS: [&str; 8] = ["both", "it", "one", "them", "first", "second", "this", "zero"];
/// A clause begins with the word behind these.
const JOINS: [&str; 5] = ["and", "or", "but", "so", "then"];
/// Here a clause begins that only states.
const STATES: [&str; 17] = [
    "because", "since", "as", "when", "if", "where", "while", "until", "before", "after", "that", "which", "who",
    "unless", "although", "though", "whether",
];
/// Before the verb of an order they say nothing of it.
const BEFORE: [&str; 11] =
    ["first", "again", "always", "also", "just", "only", "please", "instead", "simply", "now", "finally"];
/// Behind these stands what is to be done.
const MODALS: [&str; 8] = ["should", "must", "may", "can", "could", "might", "shall", "let's"];
/// And behind `to` with one of these before it.
const BEFORE_TO: [&str; 6] = ["is", "best", "better", "try", "need", "enough"];
/// A verb stands before these, and no noun does.
const ACTED_ON: [&str; 16] = [
    "the", "a", "an", "all", "any", "both", "each", "every", "it", "them", "this", "that", "these", "those", "its",
    "their",
];
/// With these a clause has another subject than its reader, or none.
const NO_VERBS: [&str; 61] = [
    "the",
    "a",
    "an",
    "it",
    "its",
    "this",
    "that",
    "these",
    "those",
    "there",
    "they",
    "them",
    "he",
    "she",
    "we",
    "i",
    "my",
    "our",
    "their",
    "all",
    "any",
    "both",
    "each",
    "every",
    "some",
    "no",
    "nobody",
    "nothing",
    "one",
    "once",
    "twice",
    "two",
    "three",
    "in",
    "on",
    "at",
    "of",
    "to",
    "for",
    "from",
    "by",
    "with",
    "without",
    "into",
    "is",
    "are",
    "was",
    "were",
    "not",
    "never",
    "otherwise",
    "however",
    "therefore",
    "thus",
    "here",
    "what",
    "how",
    "why",
    "upon",
    "regardless",
    "rather",
];

/// What a sentence tells its reader to do that is neither an edit of code nor a look at it, in words; none if there is nothing of that kind.
pub(super) fn other_step(sentence: &[Word<'_>]) -> Option<String> {
    let (mut at, mut ordered) = (0, true);
    clauses(sentence).into_iter().find_map(|(clause, states)| {
        let start = at;
        at += clause.len();
        let found = order(clause, states, ordered);
        ordered = found.is_some();
        let (verb, passive) = found?;
        let known = passive || VERBS.contains(&clause[verb].lower.as_str());
        // `Sort by (date, name)`: what follows stands in brackets.
        let fine = known && (clause.len() <= verb + 2 || names_code(clause, verb));
        (!fine).then(|| {
            let words: Vec<&str> = sentence[start..at].iter().map(|word| word.text).collect();
            format!("`{}` is no plain step in the code", words.join(" "))
        })
    })
}

/// The clauses, each with whether it only states something.
fn clauses<'s, 'a>(sentence: &'s [Word<'a>]) -> Vec<(&'s [Word<'a>], bool)> {
    let mut all = Vec::new();
    let (mut from, mut states) = (0, false);
    for at in 0..sentence.len() {
        let lower = sentence[at].lower.as_str();
        let that = sentence.get(at + 1).is_some_and(|next| next.lower == "that");
        let begins = !sentence[at].code && (JOINS.contains(&lower) || STATES.contains(&lower));
        if begins && at > from {
            all.push((&sentence[from..at], states));
            from = at;
        }
        if begins {
            states = STATES.contains(&lower) || (lower == "so" && that);
        }
        if sentence[at].comma {
            all.push((&sentence[from..=at], states));
            (from, states) = (at + 1, false);
        }
    }
    all.push((&sentence[from..], states));
    all.retain(|(clause, _)| !clause.is_empty());
    all
}

/// Where the verb of an order stands, and whether it is one that something suffers. `ordered`: the clause before is an order, or there is none.
fn order(clause: &[Word<'_>], states: bool, ordered: bool) -> Option<(usize, bool)> {
    let is = |at: usize, words: &[&str]| {
        clause.get(at).is_some_and(|word| !word.code && words.contains(&word.lower.as_str()))
    };
    let asks = |at: usize| (is(at, &MODALS) && !states) || (is(at, &["to"]) && at > 0 && is(at - 1, &BEFORE_TO));
    if let Some(modal) = (0..clause.len()).find(|at| asks(*at)) {
        let verb = (modal + 1..clause.len()).find(|at| !is(*at, &BEFORE) && !is(*at, &["not", "be"]))?;
        // What should have been done is over, and `the function should …` says what is wrong with it.
        let says = is(verb, &["have"]) || (is(modal, &MODALS) && names_code(&clause[..modal], clause.len()));
        return (!says).then_some((verb, is(verb - 1, &["be"])));
    }
    let verb = (0..clause.len()).find(|at| !is(*at, &JOINS) && !is(*at, &BEFORE))?;
    let word = &clause[verb];
    let ends = |ends: &[&str]| ends.iter().any(|end| word.lower.ends_with(end));
    let is_other = !word.is_prose() || NO_VERBS.contains(&word.lower.as_str()) || ends(&["ing", "ed", "ly"]);
    let is_plural = ends(&["s"]) && !ends(&["ss"]);
    // Behind `and`, `or` and a comma a noun may stand as well: `and lowercase letters`.
    let small = word.text.starts_with(|c: char| c.is_ascii_lowercase());
    let acts = clause.get(verb + 1).is_some_and(|next| next.code) || is(verb + 1, &ACTED_ON);
    let begins = ordered || is(0, &["so", "then", "but"]) || (small && acts);
    let is_verb = VERBS.contains(&word.lower.as_str()) || (!is_other && !is_plural && begins);
    (!states && is_verb && verb + 1 < clause.len()).then_some((verb, false))
}

/// Whether something of the code stands beside the verb: what is done, or what it is done to.
fn names_code(clause: &[Word<'_>], verb: usize) -> bool {
    let is_one = |at: usize| {
        let word = &clause[at];
        let lower = word.lower.as_str();
        let one = lower.strip_suffix('s').unwrap_or(lower);
        let name = word.code || !word.text.bytes().all(|b| b.is_ascii_alphabetic() || b"'-".contains(&b));
        // What is done with what checks was looked at before.
        name || OF_CODE.contains(&lower) || OF_CODE.contains(&one) || AND_WORDS.contains(&lower) || is_check(clause, at)
    };
    (0..clause.len()).any(|at| at != verb && is_one(at))
}
