//! The heuristic generator.

use super::advice::advice;
use super::class::{Class, class};
use super::contrast::{Contrast, contrast};
use super::history::{History, history};
use super::words::{Facts, quote};
use crate::domain::{Category, CheckCommand, Draft, FailureContext, Origin, Signature};
use crate::reflection::signature::details;
use crate::services::{Generator, GeneratorError, UsageMeter};
use async_trait::async_trait;

/// A check has shown what passes.
const CONTRASTED: f64 = 0.9;
/// The place and the test (or the error's code) are known: the analysis names them, and only the cause is open.
const LOCATED_AND_NAMED: f64 = 0.75;
/// One of the two is known.
const LOCATED: f64 = 0.6;
/// There are words, but neither place nor test.
const TOLD: f64 = 0.45;
/// There is an exit status, or an agent's ending, and nothing else.
const BARE: f64 = 0.3;

/// Characters of analysis and of suggestion, as for every generator.
const SENTENCE_CHARS: usize = 1_000;
/// Characters of an action item, as for every generator.
const ITEM_CHARS: usize = 200;

/// Writes reflections by rules: at once, without a model or a process, and always.
///
/// It says what failed where, in the output's own words; what the attempt changed; how the agent ended; and whether an
/// earlier attempt failed alike. It knows nothing of the project's code, and says so by its confidence: 0.3 with an
/// exit status alone, up to 0.75 with a test and a place.
///
/// ```
/// # use reflexion::domain::FailureContext;
/// # use reflexion::reflection::Heuristic;
/// fn because_nothing_else_is_there(failure: &FailureContext) -> String {
///     Heuristic.draft(failure, "no generator is configured".to_owned()).analysis
/// }
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct Heuristic;

#[async_trait]
impl Generator for Heuristic {
    async fn generate(&self, failure: &FailureContext, _: &UsageMeter) -> Result<Draft, GeneratorError> {
        Ok(self.draft(failure, Origin::NO_OTHER.to_owned()))
    }
}

impl Heuristic {
    /// The draft itself; `because` says in words why no other generator wrote it.
    #[must_use]
    pub fn draft(&self, failure: &FailureContext, because: String) -> Draft {
        let not_loaded = not_loaded(failure);
        let failure = not_loaded.as_ref().map_or(failure, |(failure, _)| failure);
        let detail = not_loaded.as_ref().map_or_else(|| detail(failure), |(_, said)| Some(said.clone()));
        let facts = Facts { failure, class: class(failure), detail };
        if let Some(contrast) = failure.passed.as_ref().and_then(|passed| contrast(&facts, passed)) {
            return of_contrast(contrast, because);
        }
        // Two failures of a check that says nothing look alike, and may be two different ones.
        let history = if says_nothing(failure) { History::First } else { history(failure) };
        // What was not changed is behind nobody: it fails as the files did that it began with.
        let is_idle = facts.class == Class::EmptyChange;
        let history = if is_idle && matches!(history, History::MovedOn(_)) { History::First } else { history };
        let advice = advice(&facts);
        let mut sentences = facts.sentences();
        sentences.push(history.sentence(failure.attempt_number));
        sentences.retain(|sentence| !sentence.is_empty());

        let repeated = matches!(history, History::Repeated(_) | History::Returned(_));
        let changed = !failure.files_changed.is_empty() && facts.class != Class::EmptyChange;
        let suggestion = if repeated && changed {
            format!("The same change alone would fail in the same way again. {}", advice.suggestion)
        } else {
            advice.suggestion
        };
        let mut action_items = advice.items;
        if repeated {
            let other = "State another cause than the one assumed so far, and look for evidence of it first";
            action_items.insert(0, other.to_owned());
        }
        Draft {
            category: if repeated { Category::ApproachFlaw } else { advice.category },
            analysis: capped(&sentences.join(" "), SENTENCE_CHARS),
            suggestion: capped(&suggestion, SENTENCE_CHARS),
            action_items: action_items.iter().take(4).map(|item| capped(item, ITEM_CHARS)).collect(),
            confidence: confidence(&failure.signature, facts.class, facts.detail.is_some()),
            origin: Origin::Heuristic { because },
        }
    }
}

fn of_contrast(contrast: Contrast, because: String) -> Draft {
    Draft {
        category: contrast.category,
        analysis: capped(&contrast.analysis, SENTENCE_CHARS),
        suggestion: capped(&contrast.suggestion, SENTENCE_CHARS),
        action_items: contrast.items.iter().map(|item| capped(item, ITEM_CHARS)).collect(),
        confidence: CONTRASTED,
        origin: Origin::Heuristic { because },
    }
}

/// What the output itself says, unmasked: expected and actual where there are such lines, else its message.
fn detail(failure: &FailureContext) -> Option<String> {
    if class(failure) == Class::Refuted {
        return failure.output.text().lines().next().and_then(quote);
    }
    // Where others failed before, the output's first failure is not the one that counts.
    let first = failure.signature.tests.first();
    let counted = failure.signature.counted.iter().flat_map(|counted| counted.failing.values());
    if let Some(failed) = counted.into_iter().find(|failed| Some(&failed.name) == first) {
        return failed.detail.as_deref().and_then(quote);
    }
    let none = CheckCommand::Argv(Vec::new());
    let run = failure.check.as_ref().map_or(&none, |check| &check.run);
    let text = failure.output.text();
    let found = details(run, &text);
    let last = || text.lines().rev().find(|line| !line.trim().is_empty());
    found.detail.as_deref().or_else(last).and_then(quote)
}

/// Of a runner that only says that a whole file of tests failed: the failure with the error that kept it from being loaded, in the words of
/// whoever printed it, and those words.
fn not_loaded(failure: &FailureContext) -> Option<(FailureContext, String)> {
    if failure.signature.code.as_deref() != Some("ERR_TEST_FAILURE") {
        return None;
    }
    let text = failure.output.text();
    // TAP puts a mark before what a program printed.
    let lines: Vec<&str> = text.lines().map(|line| line.trim_start_matches(['#', ' '])).collect();
    let at = lines.iter().position(|line| class_and_message(line).is_some())?;
    let (class, message) = class_and_message(lines[at])?;
    let is_place = |line: &&&str| {
        line.rsplit_once(':').is_some_and(|(file, number)| file.contains('.') && number.parse::<u32>().is_ok())
    };
    let place = lines[..at].iter().rev().take(5).find(is_place).map(|place| place.trim_start_matches("file://"));
    let signature = Signature {
        code: Some(class.to_owned()),
        message: Some(message.to_owned()),
        frame: place.map(str::to_owned).or_else(|| failure.signature.frame.clone()),
        ..failure.signature.clone()
    };
    Some((FailureContext { signature, ..failure.clone() }, quote(lines[at])?))
}

/// `SyntaxError: …`, taken apart.
fn class_and_message(line: &str) -> Option<(&str, &str)> {
    let is_class = |class: &str| class.ends_with("Error") && class.bytes().all(|byte| byte.is_ascii_alphanumeric());
    line.split_once(": ").filter(|(class, _)| is_class(class))
}

fn confidence(signature: &Signature, class: Class, told: bool) -> f64 {
    let place = signature.frame.is_some() && signature.tool != "make";
    let named = !signature.tests.is_empty() || signature.code.is_some();
    match (place, named) {
        _ if class == Class::AgentFailed => BARE,
        (true, true) => LOCATED_AND_NAMED,
        (true, false) | (false, true) => LOCATED,
        (false, false) if told => TOLD,
        (false, false) => BARE,
    }
}

fn capped(text: &str, chars: usize) -> String {
    if text.chars().nth(chars).is_none() {
        return text.to_owned();
    }
    let kept: String = text.chars().take(chars - 1).collect();
    format!("{}…", kept.trim_end())
}
/// Whether the check that failed left nothing but its exit status.
fn says_nothing(failure: &FailureContext) -> bool {
    let signature = &failure.signature;
    let is_silent = signature.message.is_none() && signature.code.is_none() && signature.tests.is_empty();
    failure.check.is_some() && is_silent && !signature.timed_out && !signature.out_of_memory
}
