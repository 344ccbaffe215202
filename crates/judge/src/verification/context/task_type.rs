//! What kind of work a task asks for.

use super::vocabulary::{CODE, PERSONAL, SYSTEMS, TEXTS};
use super::words::{Word, sentences};
use crate::domain::TaskType;

/// From the task's own words, never from the agent's answer.
///
/// Every sentence that asks for something gives one reading, from its verb and what the verb is about; what is only
/// mentioned gives none. If any asks for code to be changed, the task does; otherwise the first reading counts. A task that
/// forbids changing code is never [`TaskType::Coding`].
///
/// ```
/// # use reflexion_core::domain::TaskType;
/// # use reflexion_judge::verification::context::task_type;
/// assert_eq!(task_type("Fix the Dockerfile so that the build stops failing"), TaskType::Coding);
/// assert_eq!(task_type("Find out why the worker stops. Do not change any code."), TaskType::Research);
/// ```
#[must_use]
pub fn task_type(task: &str) -> TaskType {
    let (mut readings, mut forbidden, mut issue) = (Vec::new(), false, false);
    for sentence in sentences(task) {
        issue |= sentence.iter().any(Word::is_issue_link);
        if forbids_code(&sentence) {
            forbidden = true;
            continue;
        }
        readings.extend(readings_of(&sentence));
    }
    if forbidden {
        readings.retain(|reading| *reading != TaskType::Coding);
        return readings.first().copied().unwrap_or(TaskType::Research);
    }
    // Whoever points at an issue wants it dealt with.
    if issue && readings.iter().all(|reading| *reading == TaskType::Research) {
        return TaskType::Coding;
    }
    if readings.contains(&TaskType::Coding) {
        return TaskType::Coding;
    }
    readings.first().copied().unwrap_or(TaskType::Other)
}

/// `do not write code`, `without changing anything`, `read-only`, `no code changes`.
fn forbids_code(sentence: &[Word<'_>]) -> bool {
    let is = |at: usize, words: &[&str]| sentence.get(at).is_some_and(|word| words.contains(&word.text()));
    let object = |from: usize| {
        let near = sentence[from.min(sentence.len())..].iter().take(4).map(Word::text);
        let words: Vec<&str> = near
            .filter(|word| !matches!(*word, "any" | "the" | "of" | "my" | "our" | "or" | "edit" | "modify" | "commit"))
            .collect();
        // "do not change the public interface" leaves everything else open.
        matches!(words.first().copied(), None | Some("code" | "anything" | "file" | "files" | "source" | "sources"))
    };
    (0..sentence.len()).any(|at| {
        let negated = is(at, &["not", "don't", "dont", "never", "without", "no"]);
        let changes = |word: usize| {
            is(
                word,
                &[
                    "write",
                    "writing",
                    "change",
                    "changing",
                    "changes",
                    "modify",
                    "modifying",
                    "edit",
                    "editing",
                    "touch",
                    "touching",
                    "implement",
                    "make",
                    "making",
                    "commit",
                ],
            )
        };
        let no_code = is(at, &["no"]) && (is(at + 1, &["code", "coding", "changes", "edits", "implementation"]));
        let no_change =
            negated && changes(at + 1) && (object(at + 2) || is(at + 2, &["code", "changes", "any"]) && object(at + 3));
        let only = is(at, &["read-only", "readonly"])
            || (is(at, &["research", "analysis", "investigation", "read"]) && is(at + 1, &["only"]));
        no_code || no_change || only && sentence.len() < 14
    })
}

/// The readings of a sentence: one for each verb that asks for something.
fn readings_of(sentence: &[Word<'_>]) -> Vec<TaskType> {
    let mut readings = Vec::new();
    for at in 0..sentence.len() {
        if !asks_at(sentence, at) {
            continue;
        }
        let end = (at + 1..sentence.len()).find(|next| asks_at(sentence, *next)).unwrap_or(sentence.len());
        readings.extend(reading(sentence[at].text(), &sentence[at + 1..end]));
    }
    readings
}

/// Whether a verb could ask for something here: at the beginning, and after `and`, `then`, `please`, `to`, `can you`, …
fn asks_at(sentence: &[Word<'_>], at: usize) -> bool {
    let verb = sentence[at].text();
    if verb_kind(verb).is_none() {
        return false;
    }
    let Some(before) = at.checked_sub(1).map(|before| &sentence[before]) else { return true };
    let opens = matches!(
        before.text(),
        "and"
            | "then"
            | "please"
            | "to"
            | "you"
            | "also"
            | "should"
            | "must"
            | "let's"
            | "lets"
            | "we"
            | "i"
            | "but"
            | "now"
            | "just"
            | "or"
            | "finally"
            | "first"
            | "next"
            | "actually"
            | "instead"
            | "kindly"
            | "can"
            | "could"
            | "will"
            | "task"
            | "todo"
            | "feature"
            | "bug"
            | "fix"
            | "feat"
            | "docs"
            | "chore"
            | "refactor"
            | "simply"
            | "quickly"
            | "help"
            | "me"
    );
    // "the steps to reproduce", "how to install": no request.
    let told = at >= 2
        && before.text() == "to"
        && matches!(
            sentence[at - 2].text(),
            "how" | "ways" | "way" | "steps" | "where" | "unable" | "fails" | "able" | "used" | "tries"
        );
    let past = matches!(before.text(), "i" | "we")
        && !matches!(at.checked_sub(2).map(|b| sentence[b].text()), None | Some("should" | "can" | "could"));
    before.ends_clause() && !told || opens && !told && !past
}

/// What a verb asks for, whatever it is about; the object may say otherwise.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Verb {
    /// Changes code unless the object is something else.
    Change,
    /// Writes; code, unless it is a text.
    Write,
    Look,
    Operate,
    /// Arranges a person's things, or sets something up in code.
    Arrange,
}

fn verb_kind(word: &str) -> Option<Verb> {
    Some(match word {
        "fix" | "implement" | "refactor" | "rename" | "migrate" | "remove" | "delete" | "replace" | "port"
        | "rewrite" | "optimize" | "optimise" | "extract" | "inline" | "convert" | "upgrade" | "bump" | "patch"
        | "debug" | "resolve" | "handle" | "support" | "validate" | "parse" | "cache" | "add" | "change" | "modify"
        | "adjust" | "improve" | "update" | "extend" | "enable" | "disable" | "split" | "move" | "integrate"
        | "introduce" | "simplify" | "deprecate" | "speed" | "make" | "let" | "allow" | "ensure" | "use" | "switch"
        | "drop" | "expose" | "wire" | "hook" | "correct" | "address" | "solve" | "eliminate" | "merge" | "reduce"
        | "increase" | "prevent" | "stop" | "throw" | "return" | "catch" | "escape" | "sanitize" | "reject"
        | "accept" | "type" | "annotate" | "test" | "cover" | "lint" | "revert" | "apply" | "generate" | "scaffold"
        | "finish" | "complete" | "get" | "turn" | "render" | "style" | "translate" | "localize" | "deduplicate"
        | "unify" | "harden" | "repair" | "tweak" => Verb::Change,
        "write" | "create" | "build" | "develop" | "design" | "draft" | "prepare" | "produce" | "provide" | "code"
        | "program" => Verb::Write,
        "research" | "investigate" | "analyze" | "analyse" | "compare" | "evaluate" | "study" | "explain" | "find"
        | "look" | "explore" | "describe" | "summarize" | "summarise" | "review" | "check" | "identify"
        | "determine" | "list" | "tell" | "show" | "assess" | "audit" | "examine" | "inspect" | "measure"
        | "profile" | "diagnose" | "trace" | "locate" | "understand" | "why" | "what" | "how" | "where" | "which"
        | "who" | "report" | "estimate" | "benchmark" | "survey" | "read" | "figure" | "search" => Verb::Look,
        "document" => Verb::Write,
        "deploy" | "release" | "publish" | "restart" | "provision" | "rollback" | "roll" | "scale" | "ship"
        | "monitor" | "backup" | "restore" | "rotate" | "reboot" | "send" | "reply" | "book" | "schedule" | "order"
        | "invite" | "archive" | "unsubscribe" | "forward" | "file" | "upload" | "download" | "run" | "start"
        | "launch" | "post" => Verb::Operate,
        "set" | "setup" | "configure" | "install" | "organize" | "organise" | "clean" | "sort" | "arrange"
        | "label" | "connect" => Verb::Arrange,
        _ => return None,
    })
}

/// What a verb and its object ask for.
fn reading(verb: &str, object: &[Word<'_>]) -> Option<TaskType> {
    let kind = verb_kind(verb)?;
    // What it is about stands before "so that", "when", "because".
    let object: Vec<&Word<'_>> = object
        .iter()
        .take_while(|word| {
            !matches!(
                word.text(),
                "so" | "when" | "because" | "which" | "that" | "while" | "where" | "if" | "until" | "as"
            )
        })
        .take(14)
        .collect();
    let object = if CAUSES.contains(&verb) { subject(&object) } else { &object };
    let about: Vec<&str> = object.iter().map(|word| word.text()).collect();
    let any = |list: &[&str]| about.iter().any(|word| list.contains(word));
    let matter = matter(verb, object);
    let texts = matter == Some(Matter::Text);
    let code = any(&CODE) || object.iter().any(|word| word.is_source());
    let systems = any(&SYSTEMS);
    let personal = any(&PERSONAL);
    Some(match kind {
        Verb::Look
            if matches!(verb, "find" | "check" | "look" | "search" | "identify" | "show") && personal && !code =>
        {
            TaskType::Ops
        }
        Verb::Look => TaskType::Research,
        Verb::Operate if matches!(verb, "run" | "start" | "file" | "report") && code && !systems => TaskType::Other,
        Verb::Operate if matches!(verb, "ship" | "launch" | "order") && code && !systems => TaskType::Coding,
        Verb::Operate => TaskType::Ops,
        Verb::Change | Verb::Write if verb == "document" || texts => TaskType::Docs,
        Verb::Change | Verb::Write if is_of_git(verb, object) => TaskType::Ops,
        Verb::Change
            if matches!(verb, "get" | "let" | "use" | "return" | "complete" | "finish" | "stop" | "turn")
                && about.is_empty() =>
        {
            return None;
        }
        Verb::Change
            if personal
                && !code
                && matches!(verb, "move" | "delete" | "remove" | "update" | "add")
                && personal_only(&about) =>
        {
            TaskType::Ops
        }
        Verb::Write if personal && !code && personal_only(&about) => TaskType::Ops,
        Verb::Change | Verb::Write => TaskType::Coding,
        Verb::Arrange if code && !systems && !personal => TaskType::Coding,
        Verb::Arrange if verb == "clean" && !personal && !systems => TaskType::Coding,
        Verb::Arrange => TaskType::Ops,
    })
}

/// Verbs that have something do something: "make the lexer accept comments".
const CAUSES: [&str; 8] = ["make", "let", "get", "allow", "enable", "ensure", "have", "prevent"];

/// What is to do something, without what it is to do: of "the lexer accept nested comments" the lexer. "The docs clearer"
/// stays as it is: a thing that is to be so does nothing.
fn subject<'s, 'w>(object: &'s [&'w Word<'w>]) -> &'s [&'w Word<'w>] {
    const DOES: [&str; 12] = [
        "skip", "ignore", "print", "emit", "keep", "mention", "treat", "count", "include", "strip", "preserve", "stop",
    ];
    let does = |word: &&Word<'_>| DOES.contains(&word.text()) || verb_kind(word.text()).is_some();
    // The article's noun comes first: "the test", "the build cache" are things.
    let first = usize::from(object.first().is_some_and(|word| ARTICLES.contains(&word.text()))) + 1;
    let end = object.iter().skip(first).position(|word| does(word) && !NOUNS_TOO.contains(&word.text()));
    end.map_or(object, |end| &object[..first + end])
}

const ARTICLES: [&str; 7] = ["the", "a", "an", "our", "my", "this", "all"];
/// Verbs that stand for things as often.
const NOUNS_TOO: [&str; 11] =
    ["build", "test", "cache", "type", "report", "design", "release", "order", "file", "post", "set"];

/// Branches, tags and the like, by themselves or with a name: "the branch feature/old". A "tag input" is a part of a
/// program.
fn is_of_git(verb: &str, object: &[&Word<'_>]) -> bool {
    let moves = matches!(verb, "delete" | "remove" | "create" | "rename" | "make" | "move" | "revert" | "drop");
    let phrase = object.split(|word| PREPOSITIONS.contains(&word.text())).next().unwrap_or_default();
    moves
        && phrase.iter().enumerate().any(|(at, word)| {
            let named = phrase.get(at + 1).is_none_or(|next| {
                word.ends_clause() || next.text().contains(['/', '-', '.', '_', '0', '1', '2', '3'])
            });
            matches!(word.text(), "branch" | "tag" | "worktree" | "stash" | "milestone") && named
        })
}

/// Text or code, whichever the verb is about.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Matter {
    Text,
    Code,
}

/// The last word that says so of the first phrase that has one: "a migration guide for the parser" is a guide, "the docs
/// generator" a generator, and "the typo in intro.md" is in a text.
fn matter(verb: &str, object: &[&Word<'_>]) -> Option<Matter> {
    // What is described in a file is not the file.
    let described =
        matches!(verb, "solve" | "implement" | "complete" | "finish" | "address" | "handle" | "resolve" | "build");
    let says = |word: &&Word<'_>| {
        let text = word.text();
        if CODE.contains(&text) || PROGRAMS.contains(&text) || word.is_source() {
            Some(Matter::Code)
        } else if TEXTS.contains(&text) && !(described && text == "readme") || word.is_document() && !described {
            Some(Matter::Text)
        } else {
            None
        }
    };
    let mut phrases = object.split(|word| PREPOSITIONS.contains(&word.text()));
    phrases.find_map(|phrase| phrase.iter().rev().find_map(says))
}

/// Words between phrases.
const PREPOSITIONS: [&str; 20] = [
    "for",
    "to",
    "in",
    "of",
    "on",
    "about",
    "at",
    "from",
    "with",
    "into",
    "explaining",
    "describing",
    "by",
    "across",
    "under",
    "per",
    "using",
    "via",
    "against",
    "within",
];

/// What makes a program of the text before it: "the docs generator".
const PROGRAMS: [&str; 10] =
    ["generator", "renderer", "viewer", "builder", "link-checker", "site", "theme", "template", "engine", "editor"];

/// A person's things and no part of a program: "a filter to label emails", not "the e-mail validation".
fn personal_only(about: &[&str]) -> bool {
    const PROGRAM: [&str; 16] = [
        "validation",
        "template",
        "templates",
        "field",
        "address",
        "sender",
        "service",
        "notification",
        "notifications",
        "regex",
        "handler",
        "widget",
        "view",
        "picker",
        "header",
        "schema",
    ];
    !about.iter().any(|word| PROGRAM.contains(word))
}
