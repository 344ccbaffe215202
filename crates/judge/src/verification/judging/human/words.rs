//! The words that [`who_acts`](super::who_acts) knows: what verbs ask for, what nouns stand for.
//!
//! Written from what coding agents hand back to people (consent screens, second factors, credentials, approvals, uploads,
//! payments, hardware, decisions) and from the vocabulary of work on code. A word that is not here says nothing.

/// What a verb asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verb {
    /// Work on code.
    Code,
    /// Anybody may do it; the rest says who.
    Neutral,
    /// A person's yes: approve, grant, buy.
    Consent,
    /// A person who says who they are; code does it to requests.
    Authorize,
    /// A person at a screen: log in, click, upload. In a test it is the agent's.
    Screen,
    /// Gives something that somebody has.
    Give,
    /// Takes, sends or passes something, as code does too.
    Take,
    /// Puts something somewhere.
    Place,
    /// Makes something that somebody may have to issue.
    Make,
    /// With hands.
    Physical,
    /// Waits, or asks somebody.
    Await,
    /// Decides.
    Decide,
}

/// What a noun stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Noun {
    /// Credentials, keys, tokens, passwords.
    Secret,
    /// A second factor, a captcha, a passcode.
    Factor,
    /// A permission, an approval, an invitation.
    Permission,
    /// Payments.
    Billing,
    /// What a person has: a phone, an inbox.
    Private,
    /// A decision, an answer.
    Choice,
    /// Signing in, as a thing.
    Auth,
    /// Hardware.
    Hardware,
    /// A place outside of the project.
    Place,
    /// What is seen on a screen.
    Screen,
    /// Made of code.
    Code,
    /// Anything else.
    Other,
}

const VERBS: [(Verb, &str); 11] = [
    (Verb::Neutral, "open go visit check use navigate look verify see launch"),
    (Verb::Consent, "approve consent grant invite buy purchase contact"),
    (Verb::Screen, "login signin signup click upload"),
    (Verb::Authorize, "authorize authorise authenticate"),
    (Verb::Give, "provide supply give enter paste obtain rotate regenerate reissue issue acquire"),
    (
        Verb::Take,
        "get grab collect finish request share send type input copy retrieve revoke accept unlock pay solve \
     complete pass submit sign subscribe renew fill scan need require upgrade raise increase",
    ),
    (Verb::Place, "add set export configure put store insert enable save define update replace change activate"),
    (Verb::Make, "create generate register make provision setup apply allow"),
    (Verb::Physical, "plug unplug press connect attach flip turn reboot power power-cycle tap touch hold"),
    (Verb::Await, "wait await ask call reach"),
    (Verb::Decide, "decide choose pick confirm clarify specify advise select"),
];

const CODE_VERBS: &str = "abstract adapt address adjust align analyse analyze annotate assert assign audit backport benchmark \
     bisect build bump cache capture catch clean cleanup clone close combine comment commit compare \
     compile compute convert correct count cover debug decode decouple decrypt deduplicate delete \
     demonstrate deploy deprecate describe detect diagnose diff disable display document downgrade draft \
     drop dump edit eliminate emit encode encrypt enforce ensure escape evaluate execute explain expose \
     extend extract fetch filter find fix fork format guard handle hash hide ignore implement import \
     improve include inject inline inspect install instrument integrate introduce investigate iterate \
     keep lex limit link lint list load localize lower map mask measure merge migrate mock modify monitor \
     mount move normalise normalize optimise optimize parse patch persist polish populate port prevent \
     print profile propagate protect prove publish pull push query queue read rebase rebuild record \
     redact redeploy redirect reduce refactor refresh reinstall reject release remove rename render \
     reopen reorder report reproduce rerun research reset resolve respond restart restore restructure \
     resume retry return reuse revert review rewrite route run sanitise sanitize scaffold schedule \
     screenshot search seed serialize serve ship show simplify skip sort split squash stage start stash \
     stop strip stub style summarise summarize support swap sync tag test throttle throw tidy trace track \
     translate trim tune tweak typecheck undo unify uninstall validate vendor warn watch wire wrap write";

const NOUNS: [(Noun, &str); 10] = [
    (Noun::Secret, "credential password passphrase secret token apikey key keypair certificate cred"),
    (Noun::Factor, "2fa mfa otp totp passcode pin sms one-time fingerprint biometric authenticator yubikey passkey"),
    (
        Noun::Permission,
        "permission consent approval access invite invitation signoff sign-off privilege terms agreement cla \
     nda account",
    ),
    (Noun::Billing, "billing payment invoice credit subscription fee refund card purchase quota"),
    (Noun::Private, "phone email e-mail inbox mailbox device bank passport identity cookie username number"),
    (
        Noun::Choice,
        "requirement decision preference whether which what how confirmation answer reply feedback review \
     clarification guidance between",
    ),
    (Noun::Auth, "oauth sso saml auth authentication authorization authorisation login sign-in signin"),
    (
        Noun::Hardware,
        "cable usb printer router board sensor battery hardware keyboard monitor headset dongle socket outlet \
     adapter machine switch phone device charger drive",
    ),
    (
        Noun::Place,
        "dashboard console portal website vault keychain browser settings env environment marketplace store \
     manager",
    ),
    (Noun::Screen, "page screen form dialog popup prompt flow window view button"),
];

const CODE_NOUNS: &str = "test e2e bug endpoint middleware function class module component handler handling parser parsing \
     validator validation route migration schema model table column field header fixture workflow ci \
     pipeline script config configuration variable constant interface query logic code request response \
     connection session users hook job lint docs doc readme documentation changelog dependency error \
     exception logging parameter argument refresh storage rotation expiry scanning check rule helper util \
     wrapper mock stub worker dockerfile manifest map array string regex spec suite coverage lexer \
     tokenizer cache struct enum trait constructor signature label";

/// Words that leave the noun before them what it is: "payment method", "2FA prompt", "phone number".
const KINDS: &str = "authentication plan method detail information info challenge prompt number";
/// Words before "code" that make it a second factor.
const CODE_KINDS: &str =
    "sms verification 2fa mfa otp security backup confirmation pairing qr recovery activation one-time";

/// Whether a word is one of these.
pub(super) fn has(words: &str, word: &str) -> bool {
    words.split_whitespace().any(|known| known == word)
}

/// What the verb at the head of a clause asks for, and how many of the following words belong to it ("log *in to*"). None
/// if there is no verb that is known.
pub(super) fn verb(head: &str, rest: &[&str]) -> Option<(Verb, usize)> {
    let next = rest.first().copied().unwrap_or_default();
    let particles =
        rest.iter().take_while(|word| is_preposition(word) || matches!(**word, "up" | "out" | "off")).count();
    // A noun of code behind a word that may be a noun too ("login page", "upload handler") makes it one.
    let noun_follows = matches!(noun(next, head), Some(Noun::Code | Noun::Screen));
    let said = lemmas(head);
    let is = |word: &str| said.iter().any(|lemma| lemma == word);
    if (is("log") || is("sign")) && has("in into on up onto", next) {
        return Some((Verb::Screen, particles));
    }
    if is("set") && next == "up" {
        return Some((Verb::Make, 1));
    }
    if is("top") && next == "up" {
        return Some((Verb::Take, 1));
    }
    let any = |words: &str| said.iter().any(|lemma| has(words, lemma));
    let found = VERBS.iter().find(|(_, words)| any(words)).map(|(verb, _)| *verb);
    match found {
        Some(Verb::Screen | Verb::Consent)
            if noun_follows && particles == 0 && said.len() == 1 && is_noun_too(head) =>
        {
            None
        }
        Some(verb) => Some((verb, particles)),
        None if any(CODE_VERBS) => Some((Verb::Code, 0)),
        None => None,
    }
}

fn is_noun_too(head: &str) -> bool {
    has("login signin signup upload click consent invite purchase grant buy contact", head)
}

/// What a noun stands for, whatever its number; none for a word that is not known. `before` is the word before it.
pub(super) fn noun(word: &str, before: &str) -> Option<Noun> {
    if word.contains("captcha") {
        return Some(Noun::Factor);
    }
    if word.contains('_') && ["key", "token", "secret", "password", "credential"].iter().any(|part| word.contains(part))
    {
        return Some(Noun::Secret);
    }
    let said = lemmas(word);
    let is = |words: &str| said.iter().any(|lemma| has(words, lemma));
    if is("code") && has(CODE_KINDS, before) {
        return Some(Noun::Factor);
    }
    if is(KINDS) {
        let kind = noun(before, "").filter(|noun| matches!(noun, Noun::Factor | Noun::Billing | Noun::Private));
        if kind.is_some() {
            return kind;
        }
    }
    if is(CODE_NOUNS) {
        return Some(Noun::Code);
    }
    NOUNS.iter().find(|(_, words)| is(words)).map(|(noun, _)| *noun)
}

/// Words of one sentence that mean a person who is not the agent.
pub(super) fn is_person(word: &str) -> bool {
    let word = word.trim_end_matches("'s");
    has(
        "user human owner admin administrator maintainer person somebody someone operator reviewer manager \
        stakeholder team colleague customer",
        word,
    )
}

/// Words between a thing and its circumstances.
pub(super) fn is_preposition(word: &str) -> bool {
    has(
        "to in on for from with via at into of by as through using within inside against under over during \
        without onto that per",
        word,
    )
}

/// Words that leave a noun before them what it is.
pub(super) fn is_modifier(word: &str) -> bool {
    has(
        "the a an your my our their its this these those all any is are was were be been still yet here again \
        first please manually yourself now there once configured set provided available present found \
        defined supplied given screen it them value values string",
        word,
    )
}

/// Commands that wait for a person at a terminal or a browser.
pub(super) fn is_command_for_people(command: &str) -> bool {
    let words: Vec<&str> = command.split_whitespace().collect();
    let login = |word: &&str| has("login signin adduser authenticate", word);
    match words.as_slice() {
        ["aws", "configure", ..] | ["gcloud", "init", ..] | ["ssh-copy-id" | "passwd", ..] => true,
        // A script of the project may have the name of a test of the login.
        ["npm" | "pnpm" | "yarn" | "bun" | "make", "run" | "test" | "exec", ..] => false,
        [_, rest @ ..] => rest.iter().take(2).any(login),
        [] => false,
    }
}

/// What a word may be a form of: itself, without a plural's or a verb's ending.
fn lemmas(word: &str) -> Vec<String> {
    let mut lemmas = vec![word.to_owned()];
    let mut add = |lemma: &str| {
        if lemma.len() > 1 {
            lemmas.push(lemma.to_owned());
        }
    };
    if let Some(stem) = word.strip_suffix("ing").or_else(|| word.strip_suffix("ed")) {
        add(stem);
        add(&format!("{stem}e"));
        let doubled = stem.as_bytes();
        if doubled.len() > 2 && doubled[doubled.len() - 1] == doubled[doubled.len() - 2] && stem.is_ascii() {
            add(&stem[..stem.len() - 1]);
        }
    }
    // Before a vowel: "return" is no turn, and "replace" no place.
    let again = word.strip_prefix("re").filter(|rest| rest.starts_with(['a', 'e', 'u']));
    if let Some(again) = word.strip_prefix("re-").or(again) {
        add(again);
    }
    if let Some(stem) = word.strip_suffix("ies").or_else(|| word.strip_suffix("ied")) {
        add(&format!("{stem}y"));
    }
    if let Some(stem) = word.strip_suffix("es") {
        add(stem);
    }
    if let Some(stem) = word.strip_suffix('s').filter(|stem| !stem.ends_with('s')) {
        add(stem.trim_end_matches('\''));
    }
    lemmas
}
