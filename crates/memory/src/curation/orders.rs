//! What a text tells somebody to do, read as verbs with their objects.
//!
//! It is a reader of plain advice, not of English: a verb counts where it is an order, an advice or a plan (`skip the test`, `I should skip`, `by
//! skipping`, `the test can be skipped`), and not where it says what happens (`the loop skips a value`, `skipped tests`). A negation (`never`, `do
//! not`, `instead of`, `without`) counts until its clause ends, and `do not forget to` turns it back.

use super::words::{
    AMOUNTS, EMPTY, GERUND_LEADS, LEADS, NEGATIONS, OPPOSITES, PRONOUNS, STOPS, TURN_BACK, TURNS, VERBS,
};

/// Longer objects are sentences.
const OBJECT_WORDS: usize = 8;

/// One thing that a text tells somebody to do, or not to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    /// It is to be left undone.
    pub negated: bool,
    /// The verb's base form: `skip`.
    pub verb: String,
    /// The words of what it is done to, lower case, without articles: `["failing", "tests"]`.
    pub object: Vec<String>,
}

/// A word of a text, and whether punctuation stands behind it.
#[derive(Debug, Clone)]
struct Word {
    lower: String,
    comma: bool,
    end: bool,
}

/// Every order of a text, in its words' order.
///
/// ```
/// # use reflexion_memory::curation::orders;
/// let read = |text| orders(text).into_iter().map(|o| (o.negated, o.verb, o.object.join(" "))).collect::<Vec<_>>();
/// assert_eq!(read("Skip the failing tests."), [(false, "skip".into(), "failing tests".into())]);
/// assert_eq!(read("Do not remove tests!"), [(true, "remove".into(), "tests".into())]);
/// assert_eq!(read("The loop skips a value."), []);
/// ```
#[must_use]
pub fn orders(text: &str) -> Vec<Order> {
    let mut found = Vec::new();
    for sentence in sentences(text) {
        let mut last: Vec<String> = Vec::new();
        for at in 0..sentence.len() {
            let Some(mut order) = order_at(&sentence, at) else { continue };
            if order.object.iter().all(|word| PRONOUNS.contains(&word.as_str())) && !order.object.is_empty() {
                order.object = if last.is_empty() { subject(&sentence[..at]) } else { last.clone() };
            }
            if !order.object.is_empty() {
                last.clone_from(&order.object);
            }
            found.push(order);
        }
    }
    found
}

/// Whether one tells to do what the other tells not to do: the same object, and the same verb negated, or the opposite verb.
///
/// ```
/// # use reflexion_memory::curation::{contradict, orders};
/// let opposite = |one, other| contradict(&orders(one), &orders(other));
/// assert!(opposite("Add the lock around `pool`.", "Remove the lock around `pool`."));
/// assert!(opposite("Use a list for the cache", "Never use a list for the cache"));
/// assert!(!opposite("Add the lock.", "Remove the cache."));
/// ```
#[must_use]
pub fn contradict(one: &[Order], other: &[Order]) -> bool {
    one.iter().any(|a| other.iter().any(|b| same_object(&a.object, &b.object) && (opposed(a, b))))
}

fn opposed(a: &Order, b: &Order) -> bool {
    let opposite = OPPOSITES.iter().any(|(x, y)| (a.verb == *x && b.verb == *y) || (a.verb == *y && b.verb == *x));
    if a.verb == b.verb { a.negated != b.negated } else { opposite && a.negated == b.negated }
}

/// Half of all their words in common.
fn same_object(a: &[String], b: &[String]) -> bool {
    let common = a.iter().filter(|word| b.iter().any(|other| singular(word) == singular(other))).count();
    common > 0 && common * 2 >= a.len() + b.len() - common
}

fn singular(word: &str) -> &str {
    word.strip_suffix('s').filter(|stem| stem.len() > 2 && !stem.ends_with('s')).unwrap_or(word)
}

fn sentences(text: &str) -> Vec<Vec<Word>> {
    let mut all = vec![Vec::new()];
    for line in text.lines() {
        for raw in line.split_whitespace() {
            let trimmed = raw.trim_end_matches(|c: char| "\"'`)”’*".contains(c));
            let (end, comma) = (trimmed.ends_with(['.', '!', '?', ';', ':', '—']), trimmed.ends_with(','));
            let edge = |c: char| c.is_ascii_punctuation() && !"-#@|_".contains(c) || "“”‘’—…".contains(c);
            let start = raw.trim_start_matches(|c: char| edge(c) && c != '.');
            let lower = start.trim_end_matches(|c: char| edge(c) || c == '-').replace('’', "'").to_lowercase();
            if let Some(sentence) = all.last_mut()
                && !matches!(lower.as_str(), "" | "-")
            {
                sentence.push(Word { lower, comma, end });
            }
            if end {
                all.push(Vec::new());
            }
        }
        all.push(Vec::new());
    }
    all.retain(|sentence| !sentence.is_empty());
    all
}

/// How a word stands to the verb that it may be.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Base,
    Gerund,
    Participle,
}

/// The verb of the table that a word is a form of; of others only the base form is known.
fn verb(word: &str) -> Option<(&'static str, Form)> {
    VERBS.iter().find_map(|base| Some((*base, form(word, base)?)))
}

fn form(word: &str, base: &str) -> Option<Form> {
    if word == base {
        return Some(Form::Base);
    }
    let stem = base.strip_suffix('e').unwrap_or(base);
    // `skipping` doubles its last letter.
    let ending = word.strip_prefix(stem).map(|ending| match (ending.chars().next(), stem.chars().last()) {
        (Some(first), Some(last)) if first == last => &ending[first.len_utf8()..],
        _ => ending,
    })?;
    match ending {
        "ing" => Some(Form::Gerund),
        "ed" => Some(Form::Participle),
        _ => None,
    }
}

fn order_at(sentence: &[Word], at: usize) -> Option<Order> {
    let word = sentence[at].lower.as_str();
    let before = at.checked_sub(1).map(|before| &sentence[before]);
    let leads = |words: &[&str]| {
        before.is_none_or(|w| w.end || w.comma || words.contains(&w.lower.as_str()) || w.lower.ends_with("n't"))
    };
    // Of verbs that are not in the table only the order itself is read.
    let Some((verb, form)) = verb(word) else { return other_order(sentence, at) };
    let is_order = match form {
        Form::Base => leads(&LEADS) || is_negation(sentence, at.wrapping_sub(1)),
        Form::Gerund => leads(&GERUND_LEADS) || is_negation(sentence, at.wrapping_sub(1)),
        Form::Participle => is_passive(sentence, at),
    };
    if !is_order {
        return None;
    }
    let object = if form == Form::Participle { subject(&sentence[..at]) } else { object(&sentence[at..]) };
    Some(Order { negated: is_negated(sentence, at), verb: verb.to_owned(), object })
}

/// The first word of a sentence, or one behind `must` and `not`.
fn other_order(sentence: &[Word], at: usize) -> Option<Order> {
    let word = sentence[at].lower.as_str();
    let previous = at.checked_sub(1).map(|before| sentence[before].lower.as_str());
    let ordered = previous
        .is_none_or(|p| ["must", "should", "not", "never", "always", "please"].contains(&p) || p.ends_with("n't"));
    let is_word = word.len() > 2 && word.bytes().all(|byte| byte.is_ascii_lowercase());
    if !ordered || !is_word || NEGATIONS.contains(&word) || EMPTY.contains(&word) || STOPS.contains(&word) {
        return None;
    }
    Some(Order { negated: is_negated(sentence, at), verb: word.to_owned(), object: object(&sentence[at..]) })
}

/// `should be skipped`, `can simply be removed`.
fn is_passive(sentence: &[Word], at: usize) -> bool {
    let before: Vec<&str> = sentence[at.saturating_sub(4)..at].iter().map(|word| word.lower.as_str()).collect();
    let modal = |word: &&str| {
        ["should", "must", "can", "could", "may", "might", "to", "will"].contains(word) || word.ends_with("n't")
    };
    before.iter().rposition(|word| *word == "be" || *word == "get").is_some_and(|be| before[..be].iter().any(modal))
}

/// What a passive verb is about: the words before `should be`.
fn subject(before: &[Word]) -> Vec<String> {
    let modals =
        ["should", "must", "can", "could", "may", "might", "will", "fails", "fail", "is", "are", "have", "need"];
    let end = before
        .iter()
        .position(|word| modals.contains(&word.lower.as_str()) || word.lower.ends_with("n't"))
        .unwrap_or(before.len());
    let words = before[..end].iter().rev().take_while(|word| !STOPS.contains(&word.lower.as_str()));
    let mut words: Vec<String> = words
        .map(|word| word.lower.clone())
        .filter(|word| !EMPTY.contains(&word.as_str()))
        .take(OBJECT_WORDS)
        .collect();
    words.reverse();
    words
}

/// The words behind a verb that say what it is done to.
fn object(from_verb: &[Word]) -> Vec<String> {
    let mut object = Vec::new();
    let mut at = 1;
    let mut joined = false;
    let mut ended = from_verb[0].end || from_verb[0].comma;
    while let Some(word) = from_verb.get(at).filter(|_| !ended && object.len() < OBJECT_WORDS) {
        let lower = word.lower.as_str();
        let joins = ["and", "or", "nor"].contains(&lower);
        // `skip and delete tests`: the verb has the object of the next one.
        let verb_next = from_verb.get(at + usize::from(joins)).is_some_and(|next| verb(&next.lower).is_some());
        let whose = lower == "of" && object.last().is_some_and(|last: &String| !AMOUNTS.contains(&last.as_str()));
        if STOPS.contains(&lower) || whose || (joins && !object.is_empty() && verb_next) {
            break;
        }
        let other_verb = object.is_empty() && joined && verb(lower).is_some();
        if !(joins || other_verb || EMPTY.contains(&lower)) {
            object.push(lower.to_owned());
        }
        joined = joins;
        ended = word.end || (word.comma && !object.is_empty());
        at += 1;
    }
    object
}

fn is_negation(sentence: &[Word], at: usize) -> bool {
    let Some(word) = sentence.get(at) else { return false };
    let before = at.checked_sub(1).map(|before| sentence[before].lower.as_str());
    NEGATIONS.contains(&word.lower.as_str())
        || word.lower.ends_with("n't")
        || (word.lower == "of" && before == Some("instead"))
        || (word.lower == "than" && before == Some("rather"))
}

/// Whether a negation before the verb reaches it.
fn is_negated(sentence: &[Word], at: usize) -> bool {
    let mut negated = false;
    // Since the negation: only verbs and joints, as in `do not skip, delete or disable`.
    let mut only_verbs = true;
    for place in 0..at {
        let lower = sentence[place].lower.as_str();
        if is_negation(sentence, place) {
            negated = lower != "not" || sentence.get(place + 1).is_none_or(|next| next.lower != "only");
            only_verbs = true;
        } else if is_turned_back(sentence, place) || TURNS.contains(&lower) {
            negated = false;
        } else if verb(lower).is_none() && !["to", "or", "and", "nor", "ever", "just", "simply"].contains(&lower) {
            only_verbs = false;
        }
        let listed = sentence[place..].iter().take(12).any(|word| ["or", "nor"].contains(&word.lower.as_str()));
        if sentence[place].comma && !only_verbs && !listed {
            negated = false;
        }
    }
    negated
}

/// `forget to`, which behind a negation is advice to do it.
fn is_turned_back(sentence: &[Word], at: usize) -> bool {
    TURN_BACK.contains(&sentence[at].lower.as_str()) && sentence.get(at + 1).is_some_and(|next| next.lower == "to")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<String> {
        let one = |order: Order| {
            let not = if order.negated { "not " } else { "" };
            format!("{not}{} {}", order.verb, order.object.join(" ")).trim_end().to_owned()
        };
        orders(text).into_iter().map(one).collect()
    }

    #[test]
    fn orders_are_verbs_with_their_objects() {
        let check = |text: &str, expected: &[&str]| assert_eq!(read(text), expected, "{text}");
        check("Skip the failing tests for now.", &["skip failing tests"]);
        check("I should comment the assertion out", &["comment assertion"]);
        check("It works by skipping test_add.", &["skip test_add"]);
        check("The slow test can simply be removed.", &["remove slow test"]);
        check("If the test fails, delete it.", &["delete test"]);
        check("Skip and delete the tests", &["skip tests", "delete tests"]);
        check("the loop skips tests and skipped checks", &[]);
        check("Read the file, then disable `test_cart.py`.", &["read file", "disable test_cart.py"]);
    }

    #[test]
    fn a_negation_counts_until_its_clause_ends() {
        let check = |text: &str, expected: &[&str]| assert_eq!(read(text), expected, "{text}");
        check("Do not skip, delete or disable tests.", &["not skip", "not delete tests", "not disable tests"]);
        check("Never remove the test, but drop the cache", &["not remove test", "drop cache"]);
        check("Don't touch the code, remove the test", &["not touch code", "remove test"]);
        check("Fix the code instead of skipping the test", &["fix code", "not skip test"]);
        check("Do not forget to run the tests", &["not forget", "run tests"]);
        check("Fix it without deleting tests", &["fix", "not delete tests"]);
        check("The test must not be skipped", &["not skip test"]);
        check("Not only skip the test", &["skip test"]);
        check("Remove the mark of the test", &["remove mark"]);
        check("Remove half of the tests", &["remove half tests"]);
    }

    #[test]
    fn opposites_contradict_and_others_do_not() {
        let opposite = |one: &str, other: &str| contradict(&orders(one), &orders(other));
        assert!(opposite("Increase the timeout of the pool", "Reduce the timeout of the pool"));
        assert!(opposite("Enable the retry cache", "Do not enable the retry cache"));
        assert!(!opposite("Enable the retry cache", "Do not disable the retry cache"));
        assert!(!opposite("Increase the timeout", "Reduce the number of workers"));
        assert!(!opposite("Add a test", "Add a test"));
        assert!(!opposite("", "Add a test"));
    }
}
