//! What a verb is done to.

use super::words::{Noun, is_modifier, is_person, is_preposition, noun};

/// What a verb is done to.
#[derive(Debug, Default)]
pub(super) struct Object {
    /// What kind of thing it is: its last noun before a preposition.
    pub head: Option<Noun>,
    /// Something made of code is named anywhere.
    pub has_code: bool,
    /// Something that is seen on a screen is named anywhere.
    pub has_screen: bool,
    /// Hardware is named anywhere.
    pub has_hardware: bool,
    /// What a person has is named anywhere.
    pub has_private: bool,
    /// Signing in is named anywhere.
    pub has_auth: bool,
    /// A person is named.
    pub has_person: bool,
    /// "your".
    pub is_yours: bool,
    /// A place outside of the project is named: a dashboard, a console, a vault, `.env`.
    pub is_elsewhere: bool,
    /// Something is to be decided or answered.
    pub is_choice: bool,
    /// It is of a kind that somebody issues: API keys, access tokens, credentials.
    pub is_issued: bool,
}

impl Object {
    pub fn of(words: &[&str]) -> Self {
        let mut object = Self::default();
        let (mut in_head, mut before) = (true, "");
        for word in words {
            if is_preposition(word) {
                in_head = object.head.is_none() && in_head;
                before = "";
                continue;
            }
            if before.contains('_') && matches!(*word, "environment" | "env" | "variable") {
                continue; // the name before it says what it is
            }
            object.is_yours |= matches!(*word, "your" | "my");
            object.has_person |= is_person(word);
            let issued = ["api", "access", "license", "licence", "client", "personal", "credential", "password", "ssh"];
            object.is_issued |= issued.iter().any(|known| word.starts_with(known));
            let noun = noun(word, before).or(Some(Noun::Other).filter(|_| !is_modifier(word)));
            object.note(noun, in_head);
            before = word;
        }
        object
    }

    fn note(&mut self, noun: Option<Noun>, in_head: bool) {
        let Some(noun) = noun else { return };
        self.has_code |= noun == Noun::Code;
        self.has_screen |= noun == Noun::Screen;
        self.has_private |= noun == Noun::Private;
        self.has_hardware |= noun == Noun::Hardware || noun == Noun::Private;
        self.has_auth |= noun == Noun::Auth;
        self.is_elsewhere |= noun == Noun::Place;
        self.is_choice |= noun == Noun::Choice;
        if in_head {
            self.head = Some(noun);
        }
    }

    /// Something that a person has and an agent has not.
    pub fn is_for_people(&self) -> bool {
        matches!(
            self.head,
            Some(Noun::Secret | Noun::Factor | Noun::Permission | Noun::Billing | Noun::Private | Noun::Choice)
        )
    }
}
