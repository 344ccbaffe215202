//! Who must do an item.

use super::clauses::{Clause, clauses};
use super::object::Object;
use super::words::{Noun, Verb, has, is_command_for_people, is_person, is_preposition, verb};

/// Who must do something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Who {
    /// Only a person: consent, a second factor, credentials, an approval, an upload, a payment, a plug, a decision.
    Person,
    /// The agent itself.
    Agent,
}

/// A list of open work, by who must do it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Split {
    /// What the agent can do itself.
    pub agent: Vec<String>,
    /// What only a person can do.
    pub person: Vec<String>,
}

/// Who must do an item of a list of open work.
///
/// ```
/// # use reflexion_judge::verification::judging::{Who, who_acts};
/// assert_eq!(who_acts("Provide the API keys"), Who::Person);
/// assert_eq!(who_acts("Add API key validation"), Who::Agent);
/// assert_eq!(who_acts("Run the tests, then approve the deployment"), Who::Agent);
/// ```
#[must_use]
pub fn who_acts(item: &str) -> Who {
    let item = item.trim();
    let clauses = clauses(item);
    if is_question(item) && !clauses.first().is_some_and(Clause::is_investigation) {
        return Who::Person;
    }
    let mut found = None;
    for clause in clauses {
        match clause.who() {
            Some(Who::Agent) => return Who::Agent,
            Some(Who::Person) => found = Some(Who::Person),
            None => {}
        }
    }
    found.unwrap_or(Who::Agent)
}

/// A list of open work, by who must do it; the order stays.
#[must_use]
pub fn split<S: AsRef<str>>(items: impl IntoIterator<Item = S>) -> Split {
    let mut split = Split::default();
    for item in items {
        let item = item.as_ref();
        match who_acts(item) {
            Who::Person => split.person.push(item.to_owned()),
            Who::Agent => split.agent.push(item.to_owned()),
        }
    }
    split
}

/// Something that somebody wants to know.
fn is_question(item: &str) -> bool {
    item.trim_end_matches(['"', '\'', ')', ' ']).ends_with('?')
}

impl Clause {
    /// Who must do it; none if it does not say (a browser is opened for what follows).
    fn who(&self) -> Option<Who> {
        let code = self.code.as_deref();
        if code.is_some_and(is_command_for_people) {
            return Some(Who::Person);
        }
        let words: Vec<&str> = self.words.iter().map(String::as_str).collect();
        let words = without_politeness(&words);
        let words = match subject(words) {
            Subject::Said(who) => return Some(who),
            Subject::Open(words) => words,
        };
        let (head, rest) = words.split_first()?;
        if asks_reader(head, rest) {
            return Some(Who::Person);
        }
        if is_preposition(head) {
            return None;
        }
        match verb(head, rest) {
            Some((Verb::Code, _)) => Some(Who::Agent),
            Some((Verb::Neutral, taken)) => neutral(&Object::of(&rest[taken..]), code),
            Some((verb, taken)) => Some(by_object(verb, &Object::of(&rest[taken..]), code)),
            None => by_noun(words),
        }
    }

    /// "Why does the test fail?" is for the agent to find out.
    fn is_investigation(&self) -> bool {
        let words: Vec<&str> = self.words.iter().map(String::as_str).collect();
        let words = without_politeness(&words);
        words
            .split_first()
            .is_some_and(|(head, rest)| *head == "why" || matches!(verb(head, rest), Some((Verb::Code, _))))
    }
}

/// "Let me know", "tell us", "have a maintainer approve it", "enter the code".
fn asks_reader(head: &str, rest: &[&str]) -> bool {
    let bare = match rest {
        ["the" | "a" | "an", rest @ ..] => rest,
        rest => rest,
    };
    match head {
        "tell" | "let" | "give" | "send" | "show" => matches!(rest, ["me" | "us", ..]),
        "have" | "get" => matches!(bare, [who, next, ..] if is_person(who) && !is_preposition(next)),
        "request" => matches!(rest, ["that", rest @ ..] if rest.iter().any(|word| is_person(word))),
        "enter" | "paste" | "type" => matches!(bare, ["code" | "codes"]),
        _ => false,
    }
}

/// Verbs that anybody may do: what follows says who.
fn neutral(object: &Object, code: Option<&str>) -> Option<Who> {
    let theirs = match object.head {
        Some(Noun::Secret) => object.is_yours,
        Some(Noun::Factor) => !object.has_code,
        _ => object.is_yours && object.has_private && !object.has_code,
    };
    match object.head {
        _ if code.is_some() => Some(Who::Agent),
        Some(Noun::Place) => None,
        _ if theirs => Some(Who::Person),
        _ => Some(Who::Agent),
    }
}

fn by_object(verb: Verb, object: &Object, code: Option<&str>) -> Who {
    let made_of_code = object.has_code || object.has_screen;
    let theirs = match verb {
        Verb::Consent => code.is_none(),
        Verb::Authorize => object.head != Some(Noun::Code),
        Verb::Screen => !object.has_code && code.is_none(),
        Verb::Give => object.is_for_people() && (object.is_issued || !object.has_code),
        Verb::Take => {
            let flow = object.has_auth && object.is_elsewhere;
            (object.is_for_people() || flow) && !object.has_code && code.is_none()
        }
        Verb::Place => match object.head {
            Some(Noun::Secret) => object.is_yours || !made_of_code,
            Some(Noun::Factor | Noun::Billing | Noun::Permission) => !made_of_code,
            Some(Noun::Private) => object.is_yours,
            _ => false,
        },
        Verb::Make => match object.head {
            Some(Noun::Secret) => object.is_yours || object.is_elsewhere || (!made_of_code && object.is_issued),
            Some(Noun::Factor | Noun::Permission | Noun::Billing) => !made_of_code,
            Some(Noun::Private) => object.is_yours || object.is_elsewhere,
            _ => object.has_auth && object.is_elsewhere && !made_of_code,
        },
        Verb::Physical => (object.has_hardware || object.head == Some(Noun::Factor)) && !object.has_code,
        Verb::Await => (object.is_for_people() || object.has_person) && object.head != Some(Noun::Code),
        Verb::Decide => {
            let settles = matches!(object.head, Some(Noun::Billing | Noun::Factor));
            object.has_person || (object.is_yours || object.is_choice || settles) && !object.has_code
        }
        Verb::Code | Verb::Neutral => false,
    };
    if theirs { Who::Person } else { Who::Agent }
}

/// Items without a verb: "AWS credentials", "2FA code needed", "Missing permissions for the bucket".
fn by_noun(words: &[&str]) -> Option<Who> {
    let (lacks, rest): (Vec<&str>, Vec<&str>) = words.iter().copied().partition(|word| says_lack(word));
    let object = Object::of(&rest);
    let theirs = match object.head {
        Some(Noun::Secret | Noun::Factor | Noun::Permission | Noun::Billing) => !object.has_code || !lacks.is_empty(),
        Some(Noun::Choice | Noun::Auth | Noun::Private) => !lacks.is_empty() && !object.has_code,
        _ => false,
    };
    theirs.then_some(Who::Person)
}

fn says_lack(word: &str) -> bool {
    has(
        "missing needed required pending requires needs lacks expired unavailable must not no blocked \
         awaiting",
        word,
    )
}

/// The words without politeness, numbers, and whom the list is written to.
fn without_politeness<'a>(mut words: &'a [&'a str]) -> &'a [&'a str] {
    while let [first, rest @ ..] = words {
        let polite = has("please kindly next step todo first finally also now manually just still", first)
            || first.chars().all(|c| c.is_ascii_digit());
        words = match rest {
            ["must" | "should", rest @ ..] | ["need" | "have", "to", rest @ ..]
                if matches!(*first, "you" | "we" | "i") =>
            {
                rest
            }
            _ if polite && !rest.is_empty() => rest,
            _ => break,
        };
    }
    words
}

/// Who is said to do it.
enum Subject<'a> {
    Said(Who),
    Open(&'a [&'a str]),
}

fn subject<'a>(words: &'a [&'a str]) -> Subject<'a> {
    let bare = match words {
        ["the" | "a" | "an", rest @ ..] => rest,
        words => words,
    };
    match bare {
        [who, "must" | "should", "be" | "see" | "not" | "only" | "never" | "receive", ..] if is_person(who) => {
            // A requirement of the product, not something that a person is to do now.
            Subject::Said(Who::Agent)
        }
        [who, "can" | "will" | "could", ..] if is_person(who) => Subject::Said(Who::Agent),
        [who, "must", ..] | [who, "needs" | "need" | "has" | "have", "to", ..] if is_person(who) => {
            Subject::Said(Who::Person)
        }
        [who, "with", rest @ ..] if is_person(who) && rest.contains(&"must") => Subject::Said(Who::Person),
        [who, "should", rest @ ..] if is_person(who) => Subject::Open(rest),
        _ => Subject::Open(words),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(who: Who, items: &[&str]) {
        let wrong: Vec<&&str> = items.iter().filter(|item| who_acts(item) != who).collect();
        assert!(wrong.is_empty(), "not for {who:?}: {wrong:#?}");
    }

    #[test]
    fn what_only_a_person_can_do() {
        check(
            Who::Person,
            &[
                "Provide AWS credentials",
                "You need to provide the API keys for the integration tests",
                "Set OPENAI_API_KEY",
                "Set `STRIPE_SECRET_KEY` in .env",
                "Rotate the leaked access token",
                "AWS credentials",
                "API keys are missing",
                "2FA code needed",
                "Requires manual approval",
                "Waiting for the user's decision",
                "Wait for approval from the maintainers",
                "Authorizing the app in Slack",
                "Authenticate with GitHub",
                "Log in to the staging server",
                "Sign in with your Google account",
                "Solve the reCAPTCHA",
                "Enter the SMS code",
                "Check your phone for the verification code",
                "Verify your email",
                "Open the browser and click Allow on the consent screen",
                "Run `npm login`, then enter the OTP",
                "Create an access token in the GitHub settings",
                "Grant write access to the repository",
                "Request access to the production database",
                "Accept the invitation",
                "Upload the screenshots",
                "Add a payment method",
                "Enable billing",
                "Buy a domain",
                "Plug in the device",
                "Connect the USB cable",
                "Scan the QR code",
                "User must grant OAuth consent in the browser popup",
                "The admin has to run the migration",
                "Which database should I use?",
                "Decide which region to use",
                "Provide the API key so that I can run the tests",
                "In the Stripe dashboard, create an API key",
                "Complete the OAuth login in the browser",
            ],
        );
    }

    #[test]
    fn what_an_agent_can_do_though_it_sounds_alike() {
        check(
            Who::Agent,
            &[
                "Refactor auth middleware",
                "Add token validation",
                "Add API key validation",
                "Write a test for login",
                "Login page styles",
                "Wire the token refresh into the client",
                "Document the authentication flow",
                "Add 2FA support",
                "Add 2FA to the login page",
                "Implement OAuth consent screen",
                "Add credentials to the test fixture",
                "Replace the hard-coded password with an environment variable",
                "Store tokens securely",
                "Generate a random token for each session",
                "Authenticate requests in the middleware",
                "Allow empty names",
                "Accept unicode input",
                "Send the token in the header",
                "Upload handler: reject large files",
                "Upload coverage in the CI workflow",
                "Check the token signature",
                "Insert a row into the users table",
                "Connect the client to the server",
                "Subscribe to the event stream",
                "Wait for CI",
                "Users must be able to log in",
                "User can reset the password",
                "Open PR and check CI",
                "Run the tests, then provide the API key",
                "Commit and push the changes",
                "Re-run the permission tests",
                "Confirm that the migration works",
                "Why does the login test fail?",
                "Press-key handler",
                "",
            ],
        );
    }

    #[test]
    fn a_list_is_split_in_order() {
        let split = split(["Run npm test", "Provide the API key", "Commit"]);
        assert_eq!(split.agent, ["Run npm test", "Commit"]);
        assert_eq!(split.person, ["Provide the API key"]);
    }

    proptest! {
        #[test]
        fn no_item_panics(item in r"(the |must |user |Set |up |log |in |`|aws login|API_KEY |re-|ing|ied |ß|’|[,.?:/] |://|and |if ){0,12}") {
            let _ = who_acts(&item);
        }
    }
}
