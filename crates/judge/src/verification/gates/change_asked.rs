//! What the words of a task and of an answer say about whether something has to change.

/// Whether it may be meant that nothing is changed at the end: an undoing, an experiment.
pub(super) fn asks_to_undo(task: &str) -> bool {
    const WORDS: [&str; 15] = [
        "undo",
        "revert",
        "restore",
        "discard",
        "reset",
        "rollback",
        "back",
        "original",
        "originally",
        "try",
        "trying",
        "experiment",
        "temporarily",
        "temporary",
        "whether",
    ];
    let task = task.to_lowercase();
    task.split(|c: char| !c.is_alphabetic()).any(|word| WORDS.contains(&word))
}

/// Whether something is to be tried, and told how it went: "Can we use Boot 3.4? Try it on a scratch branch and tell me."
pub(super) fn asks_what_comes_out(task: &str) -> bool {
    const TELLS: [&str; 6] = ["tell me", "let me know", "report what", "report back", "see what", "what breaks"];
    let task = task.to_lowercase();
    let told = TELLS.iter().any(|words| task.contains(words));
    let tried = task.split(|c: char| !c.is_alphabetic()).any(|word| matches!(word, "try" | "trying" | "experiment"));
    told && tried
}

/// Whether an answer says that there was nothing to do. What the agent says it did itself is no finding.
pub(super) fn finds_it_done(answer: &str) -> bool {
    let answer = answer.to_lowercase().replace('’', "'");
    let phrases = [
        "no change is needed",
        "no changes are needed",
        "no changes needed",
        "no change needed",
        "no changes were needed",
        "no change was needed",
        "no changes necessary",
        "no changes are necessary",
        "no changes required",
        "no changes are required",
        "nothing to change",
        "nothing to fix",
        "nothing needs to be changed",
        "nothing needed",
        "no fix is needed",
        "no fix needed",
    ];
    let own = |before: &str| {
        let words: Vec<&str> = before.split_whitespace().rev().take(3).collect();
        words.iter().any(|word| matches!(*word, "i" | "i've" | "we" | "we've"))
    };
    phrases.iter().any(|phrase| answer.contains(phrase))
        || answer.match_indices("already ").any(|(at, found)| {
            let next = answer[at + found.len()..].split(|c: char| !c.is_alphabetic()).next().unwrap_or_default();
            let there = matches!(
                next,
                "fixed"
                    | "implemented"
                    | "there"
                    | "exists"
                    | "exist"
                    | "handled"
                    | "handles"
                    | "present"
                    | "in"
                    | "correct"
                    | "passes"
                    | "pass"
                    | "done"
                    | "supported"
                    | "supports"
                    | "works"
                    | "contains"
                    | "has"
                    | "set"
                    | "up"
                    | "returns"
            );
            there && !own(&answer[..at])
        })
}

/// Whether a task is conditional, or asks for advice only.
fn leaves_open(task: &str) -> bool {
    let task = task.to_lowercase().replace('’', "'");
    let words: Vec<&str> =
        task.split(|c: char| !c.is_alphabetic() && c != '\'').filter(|word| !word.is_empty()).collect();
    let text = format!(" {} ", words.join(" "));
    const OPEN: [&str; 44] = [
        " only if ",
        " if needed ",
        " if necessary ",
        " if so ",
        " if not ",
        " if any ",
        " if there ",
        " if required ",
        " if it isn't ",
        " if it is ",
        " if it's ",
        " if you find ",
        " if you see ",
        " if that ",
        " if they ",
        " when necessary ",
        " where necessary ",
        " where needed ",
        " as needed ",
        " as necessary ",
        " unless ",
        " in case ",
        " make sure ",
        " just propose ",
        " propose ",
        " suggest ",
        " recommend ",
        " don't implement ",
        " do not implement ",
        " don't change ",
        " do not change anything ",
        " don't write code ",
        " without changing ",
        " without implementing ",
        " no code ",
        " don't code ",
        " don't edit ",
        " do not edit ",
        " just describe ",
        " just explain ",
        " what would ",
        " how would ",
        " how should ",
        " how could ",
    ];
    const REVIEWS: [&str; 5] = [" review my ", " review the ", " review this ", " give me feedback ", " your opinion "];
    const QUESTIONS: [&str; 13] =
        ["how", "what", "why", "which", "where", "who", "should", "would", "is", "are", "does", "do", "did"];
    let polite = words.get(1).is_some_and(|word| *word == "you") && matches!(words[0], "would" | "do");
    let asks = words.first().is_some_and(|word| QUESTIONS.contains(word))
        && !polite
        && !matches!(words.get(1), Some(&("not" | "the" | "this" | "it")) if words[0] == "do");
    // "Fix it and make sure the tests pass" asks for a fix before it makes sure.
    let made_sure = text.find(" make sure ").is_some_and(|at| text[..at].split(' ').any(|word| CHANGE.contains(&word)));
    asks || OPEN.iter().any(|phrase| text.contains(phrase) && !(*phrase == " make sure " && made_sure))
        || REVIEWS.iter().any(|phrase| text.contains(phrase))
        || words.first().is_some_and(|word| *word == "if")
}

/// Whether the first thing that a task asks for changes files: "Run the tests and fix any failures" is done without a
/// change where nothing fails, "Fix the failing test" is not.
pub(super) fn asks_for_change_first(task: &str) -> bool {
    if leaves_open(task) {
        return false;
    }
    let task = task.to_ascii_lowercase();
    let mut words = task.split(|c: char| !c.is_ascii_alphabetic());
    words.find(|word| CHANGE.contains(word) || OTHER.contains(word)).is_some_and(|word| CHANGE.contains(&word))
}

/// Verbs that ask for a change.
const CHANGE: [&str; 43] = [
    "handle",
    "allow",
    "enable",
    "disable",
    "prevent",
    "bump",
    "adjust",
    "expose",
    "reduce",
    "increase",
    "lower",
    "hide",
    "drop",
    "fix",
    "add",
    "implement",
    "create",
    "write",
    "refactor",
    "rename",
    "migrate",
    "update",
    "remove",
    "delete",
    "replace",
    "change",
    "rewrite",
    "port",
    "convert",
    "extend",
    "introduce",
    "extract",
    "optimize",
    "optimise",
    "improve",
    "upgrade",
    "document",
    "simplify",
    "return",
    "support",
    "reject",
    "make",
    "correct",
];
/// Verbs that ask for something else.
const OTHER: [&str; 34] = [
    "run",
    "execute",
    "verify",
    "check",
    "ensure",
    "confirm",
    "review",
    "show",
    "list",
    "explain",
    "find",
    "investigate",
    "analyze",
    "analyse",
    "compare",
    "research",
    "read",
    "look",
    "test",
    "deploy",
    "publish",
    "release",
    "push",
    "merge",
    "send",
    "reply",
    "fetch",
    "connect",
    "complete",
    "finish",
    "configure",
    "install",
    "open",
    "download",
];
