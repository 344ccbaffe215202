//! Whether lessons help, in words.

use crate::domain::AttemptRecord;
use crate::effect::{Arm, Effect, Interval, LessonEffect, Verdict, Whose, lesson_effects, trials};
use serde::Serialize;
use std::fmt;

/// So many lessons are listed.
const LESSONS: usize = 20;

/// What is known of the lessons' effect, from attempts whose lessons a coin put into the prompt or held out.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EffectShown {
    /// Both arms, the lift and the verdict.
    pub effect: Effect,
    /// The same of lessons of other tasks; none before a coin decided about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub others: Option<Effect>,
    /// Each lesson that was shown, those that helped most probably first; none before a retry was held out, because nothing tells their effect
    /// then.
    pub lessons: Vec<LessonEffect>,
}

impl EffectShown {
    /// What these attempts show.
    #[must_use]
    pub fn of(attempts: &[AttemptRecord]) -> Self {
        let (own, mut all) = (trials(attempts, Whose::Own), trials(attempts, Whose::Others));
        let effect = Effect::of(&own);
        let others = (!all.is_empty()).then(|| Effect::of(&all));
        all.extend(own);
        let was_held_out = all.iter().any(|trial| !trial.injected);
        let mut lessons = if was_held_out { lesson_effects(&all) } else { Vec::new() };
        lessons.sort_by(|a, b| b.log_odds_helps.total_cmp(&a.log_odds_helps).then_with(|| a.lesson.cmp(&b.lesson)));
        Self { effect, others, lessons }
    }
}

impl fmt::Display for EffectShown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", effect_words(&self.effect))?;
        if let Some(others) = &self.others {
            writeln!(f, "Lessons of other tasks: {}", effect_words(others))?;
        }
        if self.effect.ignored > 0 {
            writeln!(f, "Not counted: {} that no coin decided about.", retries(self.effect.ignored))?;
        }
        if self.lessons.is_empty() {
            return Ok(());
        }
        writeln!(f, "\nshown  confirmed  expected without  helps  lesson")?;
        for one in self.lessons.iter().take(LESSONS) {
            let helps = percent(one.log_odds_helps);
            writeln!(f, "{:>5}  {:>9}  {:>16.1}  {helps:>5}  {}", one.shown, one.passed, one.expected, one.lesson)?;
        }
        if self.lessons.len() > LESSONS {
            writeln!(f, "and {} more (--json has all)", self.lessons.len() - LESSONS)?;
        }
        writeln!(
            f,
            "`helps` is how probable it is that the lesson helps. Under some 300 retries that is little more than a guess."
        )
    }
}

/// The effect in a sentence or two. Nothing in it says that lessons help or hurt without retries that were held out.
#[must_use]
pub fn effect_words(effect: &Effect) -> String {
    let (with, without) = (effect.injected, effect.held_out);
    if effect.trials == 0 {
        return "Not known: no retry had its lessons held out yet, so nothing says whether they help.".to_owned();
    }
    let all = retries(effect.trials);
    if without.trials == 0 {
        return format!(
            "Not known yet: {all} with lessons, {} confirmed; none had its lessons held out, so nothing says whether they help.",
            with.passed
        );
    }
    let seen = format!(
        "Of {} with lessons {} confirmed ({}), of {} whose lessons were held out {} ({}).",
        retries(with.trials),
        are(with.passed),
        share(with),
        retries(without.trials),
        are(without.passed),
        share(without)
    );
    let lift = effect.lift.map(points).unwrap_or_default();
    let verdict = match effect.verdict {
        Verdict::Helps => format!("Lessons help{lift}."),
        Verdict::Hurts => format!("Lessons hurt{lift}."),
        Verdict::NoPracticalEffect => format!("Lessons change less than 3 points{lift}."),
        Verdict::Undecided { more: Some(more) } => {
            format!("Not known yet whether lessons help: {all}; about {more} more would show 10 points.")
        }
        Verdict::Undecided { more: None } => {
            format!("Not known whether lessons help: {all}; an effect of 10 points would probably show by now.")
        }
    };
    let cost = effect.tokens_per_extra_success.filter(|_| effect.verdict == Verdict::Helps);
    let cost =
        cost.map(|tokens| format!(" Each more that is confirmed takes {tokens:.0} tokens more.")).unwrap_or_default();
    format!("{verdict} {seen}{cost}")
}

fn retries(number: u64) -> String {
    if number == 1 { "1 retry".to_owned() } else { format!("{number} retries") }
}

fn are(number: u64) -> String {
    if number == 1 { "1 was".to_owned() } else { format!("{number} were") }
}

fn share(arm: Arm) -> String {
    percent(arm.passed as f64 / arm.trials.max(1) as f64)
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

fn points(lift: Interval) -> String {
    let points = |share: f64| format!("{:+.0}", share * 100.0).replace('-', "−");
    format!(" ({} points; 95 % interval {} to {})", points(lift.estimate), points(lift.low), points(lift.high))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::effect::Trial;

    fn retries_of(number: usize, injected: impl Fn(usize) -> bool, passed: impl Fn(usize) -> bool) -> Effect {
        let trial = |n: usize| Trial {
            task: format!("t{n}"),
            probability: 0.8,
            injected: injected(n),
            passed: passed(n),
            ..Trial::default()
        };
        Effect::of(&(0..number).map(trial).collect::<Vec<_>>())
    }

    #[test]
    fn no_word_says_that_lessons_help_before_anything_was_held_out() {
        let none = effect_words(&retries_of(0, |_| true, |_| true));
        assert!(none.starts_with("Not known: no retry had its lessons held out"), "{none}");
        let all = effect_words(&retries_of(300, |_| true, |_| true));
        assert!(all.starts_with("Not known yet: 300 retries with lessons, 300 confirmed; none had"), "{all}");
    }

    #[test]
    fn what_is_known_is_said_with_both_rates() {
        let every_fifth = |n: usize| !n.is_multiple_of(5);
        let few = effect_words(&retries_of(14, every_fifth, |n| n == 3));
        assert!(few.contains("14 retries; about ") && few.contains(" more would show 10 points"), "{few}");
        assert!(
            few.contains(
                "Of 11 retries with lessons 1 was confirmed (9 %), of 3 retries whose lessons were held out 0 were"
            ),
            "{few}"
        );
        let helps = effect_words(&retries_of(400, every_fifth, every_fifth));
        assert!(helps.starts_with("Lessons help (+100 points; 95 % interval +"), "{helps}");
        let hurts = effect_words(&retries_of(400, every_fifth, |n| n.is_multiple_of(5)));
        assert!(hurts.starts_with("Lessons hurt (−100 points; 95 % interval −"), "{hurts}");
    }
}
