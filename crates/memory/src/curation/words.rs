//! English as lessons use it: the tables by which [`orders`](super::orders) are read.

/// Verbs whose forms are known, in their base form; of others that form alone is read.
pub(super) const VERBS: [&str; 33] = [
    "skip", "ignore", "disable", "delete", "remove", "drop", "exclude", "omit", "lower", "reduce", "decrease", "raise",
    "increase", "run", "execute", "keep", "enable", "include", "add", "use", "put", "set", "pass", "append", "insert",
    "make", "change", "update", "replace", "lock", "unlock", "open", "close",
];

/// A verb before one of these is an order, an advice or a plan.
pub(super) const LEADS: [&str; 46] = [
    "to",
    "should",
    "must",
    "please",
    "then",
    "and",
    "or",
    "always",
    "you",
    "we",
    "i",
    "will",
    "can",
    "could",
    "may",
    "might",
    "instead",
    "just",
    "simply",
    "first",
    "next",
    "finally",
    "now",
    "also",
    "let",
    "let's",
    "us",
    "shall",
    "i'll",
    "we'll",
    "need",
    "would",
    "better",
    "temporarily",
    "safely",
    "afterwards",
    "either",
    "not",
    "never",
    "only",
    "so",
    "but",
    "ought",
    "best",
    "easiest",
    "immediately",
];

/// A gerund behind one of these is an advice.
pub(super) const GERUND_LEADS: [&str; 16] = [
    "by",
    "try",
    "consider",
    "start",
    "recommend",
    "suggest",
    "suggesting",
    "means",
    "is",
    "of",
    "worth",
    "and",
    "or",
    "keep",
    "without",
    "than",
];

/// Words that turn an order into its opposite, until their clause ends.
pub(super) const NEGATIONS: [&str; 18] = [
    "not",
    "never",
    "avoid",
    "avoids",
    "avoiding",
    "without",
    "stop",
    "refrain",
    "nor",
    "cannot",
    "no",
    "neither",
    "forbidden",
    "prohibited",
    "unnecessary",
    "wrong",
    "resist",
    "prevent",
];

/// Behind a negation these turn it back: `do not forget to run`.
pub(super) const TURN_BACK: [&str; 6] = ["forget", "fail", "hesitate", "neglect", "omit", "miss"];

/// Here another clause begins, and no negation reaches into it.
pub(super) const TURNS: [&str; 6] = ["but", "instead", "then", "rather", "because", "so"];

/// Where the thing that is acted on ends.
pub(super) const STOPS: [&str; 45] = [
    "for", "in", "on", "with", "when", "if", "because", "so", "to", "by", "from", "at", "as", "that", "which", "until",
    "unless", "before", "after", "but", "instead", "rather", "via", "into", "while", "where", "whether", "since", "is",
    "are", "was", "were", "be", "should", "must", "can", "will", "fails", "fail", "only", "against", "during", "first",
    "then", "without",
];

/// Words that say nothing about which thing it is.
pub(super) const EMPTY: [&str; 40] = [
    "the",
    "a",
    "an",
    "all",
    "any",
    "every",
    "each",
    "this",
    "these",
    "those",
    "of",
    "my",
    "your",
    "our",
    "their",
    "its",
    "some",
    "both",
    "out",
    "off",
    "rid",
    "over",
    "up",
    "entire",
    "whole",
    "just",
    "simply",
    "also",
    "again",
    "more",
    "other",
    "such",
    "same",
    "own",
    "temporarily",
    "safely",
    "completely",
    "entirely",
    "always",
    "really",
];

/// Before `of` these say how much of what follows; other words there are the thing itself.
pub(super) const AMOUNTS: [&str; 12] =
    ["half", "rest", "part", "parts", "most", "one", "couple", "lot", "few", "majority", "set", "remainder"];

/// What stands for the thing that was named last.
pub(super) const PRONOUNS: [&str; 3] = ["it", "them", "they"];

/// Pairs of verbs that are each other's opposite.
pub(super) const OPPOSITES: [(&str, &str); 18] = [
    ("add", "remove"),
    ("add", "delete"),
    ("add", "drop"),
    ("insert", "remove"),
    ("put", "remove"),
    ("enable", "disable"),
    ("increase", "decrease"),
    ("increase", "reduce"),
    ("raise", "lower"),
    ("raise", "reduce"),
    ("keep", "remove"),
    ("keep", "delete"),
    ("keep", "drop"),
    ("include", "exclude"),
    ("include", "omit"),
    ("run", "skip"),
    ("lock", "unlock"),
    ("open", "close"),
];
