//! The kinds of small edits, and how likely each is before anything is known of the failure.

/// A kind of edit. Together they are the five mutation operators that Offutt et al. found to suffice (ROR, LCR, AOR, UOI
/// and constants; TOSEM 5(2), 1996) and templates of one-statement bugs from PAR (Kim et al., ICSE 2013) and
/// `ManySStuBs4J` (Karampatsis and Sutton, MSR 2020).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Rule {
    /// `<` and `<=`, `>` and `>=`, `..` and `..=`.
    Boundary,
    /// `<` and `>`, `<` and `>=`.
    Direction,
    /// `==` and `!=`, `is` and `is not`, `in` and `not in`.
    Equality,
    /// `==` and `<=` or `>=`.
    Relation,
    /// `and` and `or`.
    Logic,
    /// A `not` too many.
    NotRemoved,
    /// A `not` too few.
    NotAdded,
    /// `+` and `-`, `*` and `/`.
    Arithmetic,
    /// `+` and `*`, `/` and `%`.
    FarArithmetic,
    /// `&` and `|`, `<<` and `>>`.
    Bits,
    /// `+=` and `-=`.
    Update,
    /// `=` and `+=`.
    Assignment,
    /// A number off by one.
    Constant,
    /// A number of the other sign, or a `-` too many.
    Sign,
    /// `True` and `False`.
    Boolean,
    /// `break` and `continue`.
    Jump,
    /// A call's twin: `min` and `max`, `any` and `all`, `lower` and `upper`.
    Twin,
    /// Two arguments or operands in the wrong order.
    Swap,
    /// Another name of the same function.
    Name,
    /// A missing `return`.
    Return,
    /// An index or a bound off by one where no number stands.
    Index,
    /// One part of an `and` or `or` too many.
    Clause,
    /// An empty value where another one belongs: `None`, `""`.
    Empty,
    /// The value that the same name gets elsewhere in the file, in place of `None` (most repairs reuse code of the same
    /// project: Barr et al., "The plastic surgery hypothesis", FSE 2014).
    Reuse,
}

impl Rule {
    /// How likely an edit of this kind is the right one, against the others; per edit, so a kind that has many edits a line
    /// (`Name`) has a small weight. The order follows the frequencies in `ManySStuBs4J` as far as the kinds are the same there
    /// (numbers, operators, names, swapped arguments); the sizes are estimates, tuned on the development half of
    /// `benches/repair/mutants.py`.
    pub(super) fn weight(self) -> f64 {
        match self {
            Self::Equality | Self::Logic | Self::Boundary => 1.0,
            Self::Arithmetic | Self::Boolean | Self::Update | Self::Jump => 0.9,
            Self::Constant => 0.75,
            Self::Twin | Self::Sign | Self::NotAdded | Self::Swap => 0.5,
            Self::Bits => 0.4,
            Self::Direction | Self::NotRemoved => 0.35,
            Self::FarArithmetic => 0.35,
            Self::Assignment | Self::Return => 0.25,
            Self::Empty | Self::Reuse => 0.2,
            Self::Index => 0.3,
            Self::Relation => 0.15,
            Self::Clause => 0.1,
            Self::Name => 0.04,
        }
    }

    /// What is done, for the closing message.
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Boundary => "a boundary moved by one",
            Self::Direction => "a comparison turned round",
            Self::Equality => "a comparison negated",
            Self::Relation => "another comparison",
            Self::Logic => "and/or exchanged",
            Self::NotRemoved => "a negation removed",
            Self::NotAdded => "a condition negated",
            Self::Arithmetic | Self::FarArithmetic => "another operator",
            Self::Bits => "another bit operator",
            Self::Update | Self::Assignment => "another assignment",
            Self::Constant => "a constant moved by one",
            Self::Sign => "a sign changed",
            Self::Boolean => "a truth value turned",
            Self::Jump => "break/continue exchanged",
            Self::Twin => "a call replaced by its counterpart",
            Self::Swap => "two arguments or operands exchanged",
            Self::Name => "another name of the same function",
            Self::Return => "a missing return",
            Self::Index => "an index or bound moved by one",
            Self::Clause => "a part of a condition removed",
            Self::Empty => "a value in place of an empty one",
            Self::Reuse => "a value used elsewhere in place of None",
        }
    }
}
