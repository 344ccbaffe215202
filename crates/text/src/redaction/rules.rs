//! What secrets look like: gitleaks' rules and our own, read from `config/redaction/`.

use super::decoded::{Colours, Decoded, Percent};
use aho_corasick::{AhoCorasick, AhoCorasickKind};
use regex::bytes::{Captures, Regex, RegexBuilder};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, LazyLock};

/// So much stands before a rule's keyword at most: what rules have there is a name of a few words.
const BEFORE: usize = 256;
/// So far behind the keyword a secret is looked for; further while it goes on.
const BEHIND: usize = 512;
/// The same for patterns that go over lines.
const BEHIND_LINES: usize = 16 << 10;
/// What a pattern may remember of the texts that it has seen, in bytes: with less it begins anew again and again.
const DFA: usize = 16 << 20;
/// No secret is longer.
const LONGEST: usize = 256 << 10;
/// How gitleaks says that a token ends. Tokens also stand before a comma, a bracket or a colour's end.
const END: &str = r#"(?:[\x60'"\s;]|\\[nr]|$)"#;
const OUR_END: &str = r"(?:[^0-9A-Za-z]|$)";

#[derive(Deserialize)]
struct File {
    #[serde(default)]
    allowlist: Allowed,
    #[serde(default)]
    rules: Vec<Described>,
    #[serde(default)]
    environment: Variables,
}

/// Which variables are secrets.
#[derive(Deserialize, Default)]
struct Variables {
    #[serde(default)]
    names: Vec<String>,
    #[serde(default)]
    not: Vec<String>,
    #[serde(default)]
    plain: Vec<String>,
    #[serde(default)]
    words: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Described {
    id: String,
    regex: Option<String>,
    entropy: Option<f64>,
    secret_group: Option<usize>,
    #[serde(default)]
    keywords: Vec<String>,
    #[serde(default)]
    allowlists: Vec<Allowed>,
    /// It is about files of some names only: no text is one.
    path: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
struct Allowed {
    #[serde(default)]
    regex_target: String,
    #[serde(default)]
    regexes: Vec<String>,
    #[serde(default)]
    stopwords: Vec<String>,
    #[serde(default)]
    condition: String,
    #[serde(default)]
    paths: Vec<String>,
}

/// All rules.
pub(super) struct Rules {
    all: Vec<Rule>,
    allowed: Allow,
    keywords: AhoCorasick,
    /// The rules of each keyword.
    of_keyword: Vec<Vec<usize>>,
    /// The rules without a keyword, which look at every text.
    always: Vec<usize>,
    names: Vec<Pattern>,
    not: Vec<Pattern>,
    plain: Vec<Pattern>,
    words: Vec<String>,
}

struct Rule {
    id: String,
    pattern: Pattern,
    entropy: f64,
    group: Option<usize>,
    behind: usize,
    allowed: Vec<Allow>,
}

/// Compiled when it is first needed: most never are.
struct Pattern(LazyLock<Option<Regex>, Box<dyn FnOnce() -> Option<Regex> + Send>>);

impl Pattern {
    fn new(source: &str) -> Self {
        let source = source.to_owned();
        Self(LazyLock::new(Box::new(move || compiled(&source).ok())))
    }

    fn get(&self) -> Option<&Regex> {
        self.0.as_ref()
    }
}

fn compiled(source: &str) -> Result<Regex, regex::Error> {
    let source = with_plain_braces(&source.replace(END, OUR_END));
    // As in RE2, for which gitleaks writes them: classes such as `\w` are ASCII.
    RegexBuilder::new(&source).unicode(false).size_limit(64 << 20).dfa_size_limit(DFA).build()
}

/// Go takes a brace that counts nothing for itself, this engine wants it escaped.
fn with_plain_braces(source: &str) -> String {
    static PLAIN: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"\\.\{[^{}]*\}|\\.|\{[0-9]+(?:,[0-9]*)?\}|[{}]").expect("a test compiles it"));
    let replaced = PLAIN.replace_all(source.as_bytes(), |found: &Captures<'_>| match &found[0] {
        brace @ (b"{" | b"}") => [b"\\", brace].concat(),
        other => other.to_vec(),
    });
    String::from_utf8_lossy(&replaced).into_owned()
}

/// What is no secret although it looks like one.
struct Allow {
    target: Target,
    patterns: Vec<Pattern>,
    stopwords: Option<AhoCorasick>,
    needs_all: bool,
}

enum Target {
    Secret,
    Match,
    Line,
}

impl Allow {
    fn new(allowed: Allowed) -> Option<Self> {
        // One that asks for a file's name as well can never hold here.
        let needs_all = allowed.condition.eq_ignore_ascii_case("and");
        if needs_all && !allowed.paths.is_empty() {
            return None;
        }
        let stopwords = AhoCorasick::builder().ascii_case_insensitive(true).build(&allowed.stopwords).ok();
        Some(Self {
            target: match allowed.regex_target.as_str() {
                "match" => Target::Match,
                "line" => Target::Line,
                _ => Target::Secret,
            },
            patterns: allowed.regexes.iter().map(|source| Pattern::new(source)).collect(),
            stopwords: stopwords.filter(|_| !allowed.stopwords.is_empty()),
            needs_all,
        })
    }

    fn holds(&self, text: &[u8], found: &Range<usize>, secret: &[u8]) -> bool {
        let target = match self.target {
            Target::Secret => secret,
            Target::Match => &text[found.clone()],
            Target::Line => &text[line_of(text, found)],
        };
        let by_pattern = self.patterns.iter().filter_map(Pattern::get).any(|pattern| pattern.is_match(target));
        let by_word = self.stopwords.as_ref().is_some_and(|words| words.is_match(secret));
        if self.needs_all {
            (by_pattern || self.patterns.is_empty()) && (by_word || self.stopwords.is_none())
        } else {
            by_pattern || by_word
        }
    }
}

fn line_of(text: &[u8], found: &Range<usize>) -> Range<usize> {
    let start = memchr::memrchr(b'\n', &text[..found.start]).map_or(0, |at| at + 1);
    let end = memchr::memchr(b'\n', &text[found.end..]).map_or(text.len(), |at| found.end + at);
    start..end
}

static SHIPPED: LazyLock<Arc<Rules>> = LazyLock::new(|| Arc::new(Rules::with([])));

impl Rules {
    /// Those that come with the program.
    pub fn shipped() -> Arc<Self> {
        Arc::clone(&SHIPPED)
    }

    /// Those and more, from texts that were checked.
    pub fn with<'a>(more: impl IntoIterator<Item = &'a String>) -> Self {
        let theirs = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/config/redaction/gitleaks.toml"));
        let ours = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/config/redaction/rules.toml"));
        let texts = [theirs, ours].into_iter().chain(more.into_iter().map(String::as_str));
        Self::of(
            texts.map(|text| toml::from_str(text).expect("a test reads what is shipped, and what is added is checked")),
        )
    }

    /// Whether a text can be used, all of it: of a rule that is never tried nobody would know that it finds nothing.
    pub fn check(text: &str) -> Result<(), String> {
        let file: File = toml::from_str(text).map_err(|error| error.to_string())?;
        let mut patterns = Vec::new();
        for rule in &file.rules {
            if rule.regex.is_none() && rule.path.is_none() {
                return Err(format!("the rule `{}` has no `regex`", rule.id));
            }
            let allowed = rule.allowlists.iter().flat_map(|allowed| &allowed.regexes);
            patterns.extend(rule.regex.iter().chain(allowed).map(|source| (rule.id.as_str(), source)));
        }
        patterns.extend(file.allowlist.regexes.iter().map(|source| ("allowlist", source)));
        let variables = file.environment.names.iter().chain(&file.environment.not).chain(&file.environment.plain);
        patterns.extend(variables.map(|source| ("environment", source)));
        for (of, source) in patterns {
            compiled(source).map_err(|error| format!("`{of}`: {error}"))?;
        }
        Ok(())
    }

    fn of(files: impl IntoIterator<Item = File>) -> Self {
        let mut rules = Vec::new();
        let mut by_keyword: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        let mut always = Vec::new();
        let mut allowed = Allowed::default();
        let mut variables = Variables::default();
        for file in files {
            allowed.regexes.extend(file.allowlist.regexes);
            allowed.stopwords.extend(file.allowlist.stopwords);
            variables.names.extend(file.environment.names);
            variables.not.extend(file.environment.not);
            variables.plain.extend(file.environment.plain);
            variables.words.extend(file.environment.words);
            for rule in file.rules {
                let (Some(source), None) = (rule.regex, rule.path) else { continue };
                if rule.keywords.is_empty() {
                    always.push(rules.len());
                }
                for keyword in rule.keywords {
                    by_keyword.entry(keyword.to_ascii_lowercase()).or_default().push(rules.len());
                }
                let over_lines = [r"[\s\S", r"(?s", r"[\r\n]", r"\s*"].iter().any(|mark| source.contains(mark));
                rules.push(Rule {
                    id: rule.id,
                    pattern: Pattern::new(&source),
                    entropy: rule.entropy.unwrap_or(0.0),
                    group: rule.secret_group.filter(|group| *group > 0),
                    behind: if over_lines { BEHIND_LINES } else { BEHIND },
                    allowed: rule.allowlists.into_iter().filter_map(Allow::new).collect(),
                });
            }
        }
        let (keywords, of_keyword): (Vec<_>, Vec<_>) = by_keyword.into_iter().unzip();
        Self {
            all: rules,
            allowed: Allow::new(allowed).expect("it asks for nothing else"),
            keywords: AhoCorasick::builder()
                // Some hundred kilobytes, and a third of the time: every text goes through it.
                .kind(Some(AhoCorasickKind::DFA))
                .ascii_case_insensitive(true)
                .build(keywords)
                .expect("some hundred words are not too many"),
            of_keyword,
            always,
            names: variables.names.iter().map(|source| Pattern::new(source)).collect(),
            not: variables.not.iter().map(|source| Pattern::new(source)).collect(),
            plain: variables.plain.iter().map(|source| Pattern::new(source)).collect(),
            words: variables.words,
        }
    }

    /// Whether a variable of this name holds a secret.
    pub fn is_secret_name(&self, name: &str) -> bool {
        let has = |patterns: &[Pattern]| patterns.iter().filter_map(Pattern::get).any(|p| p.is_match(name.as_bytes()));
        has(&self.names) && !has(&self.not)
    }

    /// Whether what a file of variables sets is a secret by its name, and by its value where other things are called so too.
    pub fn is_secret_setting(&self, name: &str, value: &str) -> bool {
        let is_word =
            value.chars().all(|c| c.is_ascii_alphabetic() || matches!(c, '_' | '-' | '.' | ',' | ':' | '/' | '\\'));
        let is_plain = || self.plain.iter().filter_map(Pattern::get).any(|p| p.is_match(name.as_bytes()));
        self.is_secret_name(name) && (!is_word || is_plain())
    }

    /// Whether it is a word that stands in such variables and says nothing.
    pub fn is_common_word(&self, value: &str) -> bool {
        self.words.iter().any(|word| value.eq_ignore_ascii_case(word))
    }

    /// Every secret in a text, with its rule.
    pub fn find<'a>(&'a self, text: &str) -> Vec<(Range<usize>, &'a str)> {
        let mut found = Vec::new();
        for percent in [Percent::Between, Percent::All] {
            let decoded = Decoded::of(text.as_bytes(), percent);
            match decoded.without_colours(Colours::Blank) {
                Some(blank) => found.extend(self.find_in(text, &blank)),
                None => found.extend(self.find_in(text, &decoded)),
            }
            if let Some(gone) = decoded.without_colours(Colours::Gone) {
                found.extend(self.find_in(text, &gone));
            }
            if !decoded.has_more {
                break;
            }
        }
        found
    }

    fn find_in<'a>(&'a self, text: &str, decoded: &Decoded<'_>) -> Vec<(Range<usize>, &'a str)> {
        let bytes = decoded.bytes();
        // Where each rule has looked so far, and the window in which it is to look next.
        let mut windows: BTreeMap<usize, Range<usize>> = BTreeMap::new();
        let mut found = Vec::new();
        for keyword in self.keywords.find_overlapping_iter(bytes) {
            for &rule in &self.of_keyword[keyword.pattern().as_usize()] {
                let behind = self.all[rule].behind;
                let window = keyword.start().saturating_sub(BEFORE)..(keyword.end() + behind).min(bytes.len());
                match windows.get_mut(&rule) {
                    Some(last) if window.start <= last.end => last.end = last.end.max(window.end),
                    Some(last) => {
                        let last = std::mem::replace(last, window);
                        self.look(rule, bytes, last, &mut found);
                    }
                    None => drop(windows.insert(rule, window)),
                }
            }
        }
        windows.extend(self.always.iter().map(|rule| (*rule, 0..bytes.len())));
        for (rule, window) in windows {
            self.look(rule, bytes, window, &mut found);
        }
        // What is no character's border in the text is moved to one.
        for (range, _) in &mut found {
            range.start = text.floor_char_boundary(decoded.origin(range.start));
            range.end = text.ceil_char_boundary(decoded.origin(range.end));
        }
        found
    }

    /// Adds what one rule finds in a window of the text.
    fn look<'a>(&'a self, rule: usize, text: &[u8], window: Range<usize>, found: &mut Vec<(Range<usize>, &'a str)>) {
        let rule = &self.all[rule];
        let Some(pattern) = rule.pattern.get() else { return };
        let (mut at, mut end) = (window.start, window.end);
        while let Some(captures) = pattern.captures_at(&text[..end], at) {
            let Some(whole) = captures.get(0) else { return };
            // It may go on behind the window.
            if whole.end() == end && end < text.len() && end - whole.start() < LONGEST {
                end = (end + BEHIND.max(end - whole.start())).min(text.len());
                continue;
            }
            at = whole.end().max(at + 1);
            if let Some(secret) = self.secret(rule, text, &captures) {
                found.push((secret, rule.id.as_str()));
            }
            if at > end {
                return;
            }
        }
    }

    /// The secret of a match, if it is one.
    fn secret(&self, rule: &Rule, text: &[u8], captures: &Captures<'_>) -> Option<Range<usize>> {
        let whole = captures.get(0)?;
        let first = || captures.iter().skip(1).flatten().find(|group| !group.is_empty());
        let secret = rule.group.and_then(|group| captures.get(group)).or_else(first).unwrap_or(whole);
        let bytes = secret.as_bytes();
        // As gitleaks has it: what is found by a word like "key" alone is a secret only with a digit in it.
        let is_word = rule.id.starts_with("generic") && !bytes.iter().any(u8::is_ascii_digit);
        if is_word || entropy(bytes) < rule.entropy || bytes.starts_with(b"[redacted:") {
            return None;
        }
        let found = whole.range();
        let allowed = rule.allowed.iter().chain([&self.allowed]).any(|allow| allow.holds(text, &found, bytes));
        (!allowed).then(|| secret.range())
    }

    #[cfg(test)]
    pub fn broken(&self) -> Vec<&str> {
        let allowed = |rule: &Rule| rule.allowed.iter().flat_map(|a| &a.patterns).all(|p| p.get().is_some());
        let broken = self.all.iter().filter(|rule| rule.pattern.get().is_none() || !allowed(rule));
        broken.map(|rule| rule.id.as_str()).collect()
    }
}

/// Bits per byte (Shannon), as gitleaks has it.
fn entropy(bytes: &[u8]) -> f64 {
    let mut counts = [0u32; 256];
    bytes.iter().for_each(|byte| counts[usize::from(*byte)] += 1);
    let share = |count: &u32| f64::from(*count) / bytes.len() as f64;
    counts.iter().filter(|count| **count > 0).map(|count| -share(count) * share(count).log2()).sum()
}
