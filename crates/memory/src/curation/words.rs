//! English as lessons use it: the tables by which [`orders`](super::orders) are read.

/// A verb's base form with the sense that readers compare by.
pub(super) const VERBS: [(&str, Sense); 66] = [
    // What makes a check say less.
    ("skip", Sense::Weaken),
    ("ignore", Sense::Weaken),
    ("disregard", Sense::Weaken),
    ("disable", Sense::Weaken),
    ("deactivate", Sense::Weaken),
    ("delete", Sense::Weaken),
    ("remove", Sense::Weaken),
    ("drop", Sense::Weaken),
    ("erase", Sense::Weaken),
    ("discard", Sense::Weaken),
    ("exclude", Sense::Weaken),
    ("omit", Sense::Weaken),
    ("bypass", Sense::Weaken),
    ("circumvent", Sense::Weaken),
    ("relax", Sense::Weaken),
    ("weaken", Sense::Weaken),
    ("loosen", Sense::Weaken),
    ("suppress", Sense::Weaken),
    ("silence", Sense::Weaken),
    ("mute", Sense::Weaken),
    ("neuter", Sense::Weaken),
    ("xfail", Sense::Weaken),
    ("override", Sense::Weaken),
    ("forget", Sense::Weaken),
    // With a particle: `comment out`, `turn off`, `get rid of`.
    ("comment", Sense::Particle),
    ("turn", Sense::Particle),
    ("switch", Sense::Particle),
    ("leave", Sense::Particle),
    ("take", Sense::Particle),
    ("get", Sense::Particle),
    // Of amounts.
    ("lower", Sense::Less),
    ("reduce", Sense::Less),
    ("decrease", Sense::Less),
    ("raise", Sense::More),
    ("increase", Sense::More),
    // What a check needs; negated it is weakened.
    ("run", Sense::Keep),
    ("rerun", Sense::Keep),
    ("execute", Sense::Keep),
    ("keep", Sense::Keep),
    ("enable", Sense::Keep),
    ("respect", Sense::Keep),
    ("restore", Sense::Keep),
    ("include", Sense::Keep),
    ("obey", Sense::Keep),
    ("follow", Sense::Keep),
    // By which something is put there.
    ("add", Sense::Put),
    ("use", Sense::Put),
    ("put", Sense::Put),
    ("set", Sense::Put),
    ("pass", Sense::Put),
    ("append", Sense::Put),
    ("insert", Sense::Put),
    ("apply", Sense::Put),
    ("mark", Sense::Put),
    ("decorate", Sense::Put),
    ("annotate", Sense::Put),
    ("make", Sense::Put),
    // By which something becomes another thing.
    ("change", Sense::Change),
    ("edit", Sense::Change),
    ("modify", Sense::Change),
    ("update", Sense::Change),
    ("adjust", Sense::Change),
    ("alter", Sense::Change),
    ("tweak", Sense::Change),
    ("rewrite", Sense::Change),
    ("replace", Sense::Change),
];

/// What a verb does to its object, as far as a reader must know it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sense {
    /// It is there less, or says less.
    Weaken,
    /// Only with its particle.
    Particle,
    /// It becomes smaller.
    Less,
    /// It becomes larger.
    More,
    /// It stays, or is used as it is meant.
    Keep,
    /// It is put somewhere.
    Put,
    /// It becomes another thing.
    Change,
    /// Any other verb.
    Other,
}

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
