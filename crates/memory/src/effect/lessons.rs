//! Which lesson helps.

use super::adjusted::log_odds;
use super::beta::Beta;
use super::interval::Interval;
use super::strata::Tally;
use super::trial::{MAX_LESSONS, Numbers, Trial};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Trials that the belief "a lesson changes nothing" weighs as much as.
const PRIOR: f64 = 8.0;

/// What is known about one lesson.
///
/// Attempts that show a lesson are not drawn among lessons: it is shown where its failure is. So it is compared with attempts of the same kind
/// that had no lessons, twice: within the failure's class (`baseline` to `high`), and within the stratum, beside the other lessons of the same
/// prompt (`log_odds`, `log_odds_helps`). Ranking by the second separates helpful from harmful lessons better; the first is easier to explain.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LessonEffect {
    /// Its id.
    pub lesson: String,
    /// Attempts that showed it.
    pub shown: u64,
    /// How many of them passed.
    pub passed: u64,
    /// How many of them would have passed without lessons, as far as attempts of the same classes tell. Never show `passed` without it.
    pub expected: f64,
    /// The share of passes without lessons that it is compared with: the mean over its attempts' classes.
    pub baseline: f64,
    /// How probable it is that attempts with it pass more often than `baseline`.
    pub helps: f64,
    /// The share of its attempts that pass, believed from `baseline` on.
    pub mean: f64,
    /// Lower end of the 95 % interval of `mean`.
    pub low: f64,
    /// Upper end of it.
    pub high: f64,
    /// By how much it changes the log-odds of a pass (0.6 at 17 % is 27 %), with its 95 % interval.
    pub log_odds: Interval,
    /// How probable it is that this is above 0.
    pub log_odds_helps: f64,
}

/// What is known about each lesson that these trials showed, by id.
///
/// The share of passes of a lesson is believed to be its baseline with the weight of 8 attempts (a beta distribution); each attempt that showed
/// it adds a pass or a failure, divided among the lessons of its prompt. The baseline of a class is the share of held-out attempts that passed,
/// pulled towards that of all classes by 20 attempts, and this as much towards that of all attempts, which is all there is before any is held
/// out. Under some three hundred retries this is decoration: delete nothing that was shown fewer than 8 times.
///
/// ```
/// # use reflexion_memory::effect::{Trial, lesson_effects};
/// let trials: Vec<Trial> = (0..60)
///     .map(|n| Trial {
///         probability: 0.5,
///         injected: n % 2 == 0,
///         passed: n % 2 == 0,
///         lessons: vec!["ref-1".to_owned()],
///         ..Trial::default()
///     })
///     .collect();
/// let lessons = lesson_effects(&trials);
/// assert_eq!((lessons[0].shown, lessons[0].passed), (30, 30), "what was held out showed nothing");
/// assert!(lessons[0].helps > 0.99 && lessons[0].log_odds.low > 0.0);
/// ```
#[must_use]
pub fn lesson_effects(trials: &[Trial]) -> Vec<LessonEffect> {
    let exposures = Exposures::of(trials);
    let log_odds = log_odds(&exposures);
    let effects = exposures.lessons.iter().zip(log_odds).map(|((lesson, shown), adjusted)| {
        let mut sums = Sums::default();
        for trial in shown {
            sums.count(&exposures.trials[*trial as usize]);
        }
        let baseline = sums.baseline / sums.weight;
        let rate = Beta {
            passes: PRIOR * baseline + sums.credit,
            failures: PRIOR * (1.0 - baseline) + sums.weight - sums.credit,
        };
        LessonEffect {
            lesson: (*lesson).to_owned(),
            shown: shown.len() as u64,
            passed: sums.passed,
            expected: sums.expected,
            baseline,
            helps: 1.0 - rate.at_most(baseline),
            mean: rate.mean(),
            low: rate.quantile(0.025),
            high: rate.quantile(0.975),
            log_odds: adjusted.interval(),
            log_odds_helps: adjusted.helps(),
        }
    });
    effects.collect()
}

/// Sums over a lesson's exposures.
#[derive(Default)]
struct Sums {
    passed: u64,
    expected: f64,
    /// Of the shares of each exposure: their sum, what of it passed, and the baselines in them.
    weight: f64,
    credit: f64,
    baseline: f64,
}

impl Sums {
    fn count(&mut self, exposure: &Exposure) {
        let share = 1.0 / exposure.lessons.len() as f64;
        self.passed += u64::from(exposure.passed);
        self.expected += exposure.baseline;
        self.weight += share;
        self.credit += if exposure.passed { share } else { 0.0 };
        self.baseline += share * exposure.baseline;
    }
}

/// Trials by numbers instead of names.
pub(super) struct Exposures<'a> {
    /// Each usable trial, in the order of time.
    pub(super) trials: Vec<Exposure>,
    /// The numbers of the trials of each stratum.
    pub(super) strata: Vec<Vec<u32>>,
    /// Each lesson, by id, with the numbers of the trials that showed it.
    pub(super) lessons: Vec<(&'a str, Vec<u32>)>,
    /// The share of held-out trials that passed.
    pub(super) rate: f64,
}

pub(super) struct Exposure {
    pub(super) passed: bool,
    pub(super) stratum: usize,
    /// What was shown, as places in [`Exposures::lessons`].
    pub(super) lessons: Vec<u32>,
    /// The share that passes without lessons in the failure's class.
    baseline: f64,
}

impl Exposure {
    pub(super) fn outcome(&self) -> f64 {
        f64::from(u8::from(self.passed))
    }
}

impl<'a> Exposures<'a> {
    fn of(trials: &'a [Trial]) -> Self {
        let usable = || {
            trials.iter().filter(|trial| trial.is_usable() && (!trial.injected || trial.lessons.len() <= MAX_LESSONS))
        };
        let (rate, baselines) = baselines(trials);
        let mut lessons: BTreeMap<&str, Vec<u32>> = BTreeMap::new();
        for (number, trial) in usable().enumerate().filter(|(_, trial)| trial.injected) {
            for lesson in &trial.lessons {
                let shown = lessons.entry(lesson).or_default();
                if shown.last() != Some(&(number as u32)) {
                    shown.push(number as u32);
                }
            }
        }
        let mut strata = Numbers::default();
        let mut exposures: Vec<Exposure> = usable()
            .map(|trial| Exposure {
                passed: trial.passed,
                stratum: strata.number(&trial.stratum),
                lessons: Vec::new(),
                baseline: baselines.get(trial.class.as_str()).map_or(rate, |class| class.towards(rate)),
            })
            .collect();
        for (place, shown) in lessons.values().enumerate() {
            for number in shown {
                exposures[*number as usize].lessons.push(place as u32);
            }
        }
        let mut strata = vec![Vec::new(); exposures.iter().map(|trial| trial.stratum + 1).max().unwrap_or(0)];
        for (number, trial) in exposures.iter().enumerate() {
            strata[trial.stratum].push(number as u32);
        }
        Self { trials: exposures, strata, lessons: lessons.into_iter().collect(), rate }
    }
}

/// The share of held-out trials that passed, pulled towards that of all; and what was held out in each class.
fn baselines(trials: &[Trial]) -> (f64, BTreeMap<&str, Tally>) {
    let (mut all, mut held_out) = (Tally::default(), Tally::default());
    let mut classes: BTreeMap<&str, Tally> = BTreeMap::new();
    for trial in trials.iter().filter(|trial| trial.is_usable()) {
        all.count(trial.outcome());
        if !trial.injected {
            held_out.count(trial.outcome());
            classes.entry(&trial.class).or_default().count(trial.outcome());
        }
    }
    (held_out.towards(all.rate()), classes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trial(class: &str, injected: bool, passed: bool, lessons: &[&str]) -> Trial {
        let lessons = lessons.iter().map(|lesson| (*lesson).to_owned()).collect();
        Trial {
            class: class.to_owned(),
            stratum: class.to_owned(),
            probability: 0.5,
            injected,
            passed,
            lessons,
            ..Trial::default()
        }
    }

    /// Held out: none of 20 of a hard class, all of 20 of an easy one. With the lesson, half of the hard and half of the easy ones pass.
    fn easy_and_hard() -> Vec<Trial> {
        let mut trials = Vec::new();
        for n in 0..20 {
            trials.push(trial("hard", false, false, &[]));
            trials.push(trial("easy", false, true, &[]));
            trials.push(trial("hard", true, n % 2 == 0, &["for the hard"]));
            trials.push(trial("easy", true, n % 2 == 0, &["for the easy"]));
        }
        trials
    }

    #[test]
    fn a_lesson_is_compared_with_what_passes_without_it_in_its_class() {
        let [easy, hard] = &lesson_effects(&easy_and_hard())[..] else { panic!("two lessons") };
        assert_eq!((easy.shown, easy.passed, hard.shown, hard.passed), (20, 10, 20, 10));
        // (0 + 20 · 0.5) / (20 + 20), and the same from the other end.
        assert!((hard.baseline - 0.25).abs() < 1e-9 && (easy.baseline - 0.75).abs() < 1e-9);
        assert!((hard.expected - 5.0).abs() < 1e-9 && (easy.expected - 15.0).abs() < 1e-9);
        // (8 · 0.25 + 10) / (8 + 20).
        assert!((hard.mean - 12.0 / 28.0).abs() < 1e-9);
        assert!(hard.helps > 0.95 && easy.helps < 0.05, "{} {}", hard.helps, easy.helps);
        assert!(hard.log_odds_helps > 0.95 && easy.log_odds_helps < 0.05, "{hard:?} {easy:?}");
        assert!(hard.low < hard.mean && hard.mean < hard.high);
    }

    #[test]
    fn the_outcome_is_divided_among_the_lessons_of_a_prompt() {
        let alone = lesson_effects(&vec![trial("", true, true, &["a"]); 4]);
        let in_two = lesson_effects(&vec![trial("", true, true, &["a", "b"]); 8]);
        assert_eq!(in_two[0].shown, 8);
        // Eight halves weigh as four.
        let weight = |lesson: &LessonEffect| (lesson.mean - lesson.baseline) / (1.0 - lesson.baseline);
        assert!((weight(&alone[0]) - 4.0 / 12.0).abs() < 1e-9 && (weight(&in_two[0]) - 4.0 / 12.0).abs() < 1e-9);
    }

    /// A good lesson always stands beside another that changes nothing, which is also seen without it.
    #[test]
    fn a_neighbour_does_not_earn_what_another_lesson_did() {
        let mut trials = Vec::new();
        for n in 0..60 {
            trials.push(trial("", false, n % 5 == 0, &[]));
            trials.push(trial("", true, n % 5 != 0, &["good", "idle"]));
            trials.push(trial("", true, n % 5 == 0, &["idle"]));
        }
        let [good, idle] = &lesson_effects(&trials)[..] else { panic!("two lessons") };
        assert!(idle.helps > 0.95, "its class alone cannot tell: {}", idle.helps);
        assert!(good.log_odds.low > 0.5 && idle.log_odds.low < 0.0, "{:?} {:?}", good.log_odds, idle.log_odds);
    }

    /// Without anything held out nothing speaks for a lesson that all prompts have.
    #[test]
    fn without_a_held_out_attempt_no_lesson_stands_out() {
        let trials: Vec<Trial> = (0..60).map(|n| trial("", true, n % 5 == 0, &["a"])).collect();
        let lesson = &lesson_effects(&trials)[0];
        assert!((lesson.mean - lesson.baseline).abs() < 0.02 && (0.4..0.6).contains(&lesson.helps), "{lesson:?}");
        assert!(lesson.log_odds.low < 0.0 && lesson.log_odds.high > 0.0);
    }

    #[test]
    fn a_held_out_attempt_showed_nothing() {
        let trials = [trial("", false, true, &["a"]), trial("", true, false, &["b"])];
        let lessons = lesson_effects(&trials);
        assert_eq!(lessons.iter().map(|lesson| lesson.lesson.as_str()).collect::<Vec<_>>(), ["b"]);
    }

    #[test]
    fn a_lesson_that_is_named_twice_is_shown_once() {
        let (once, twice) = (["a", "b"], ["a", "a", "b"]);
        assert_eq!(
            lesson_effects(&[trial("", true, true, &twice), trial("", false, false, &[])]),
            lesson_effects(&[trial("", true, true, &once), trial("", false, false, &[])])
        );
    }

    /// Which of them did it cannot be known, however often they are shown: the interval stays nearly as wide as before anything was seen (0.5 on
    /// either side, by 1.96), and never wider.
    #[test]
    fn lessons_that_are_always_together_are_not_told_apart() {
        let width = |lessons: &[&str]| {
            let shown = (0..400).map(|n| trial("", true, n % 5 == 0, lessons));
            let held_out = (0..400).map(|n| trial("", false, n % 5 == 0, &[]));
            let found = lesson_effects(&shown.chain(held_out).collect::<Vec<_>>());
            found[0].log_odds.high - found[0].log_odds.low
        };
        let before = 2.0 * 1.96 * 0.5;
        assert!(width(&["a"]) < 0.5 * before, "{}", width(&["a"]));
        for together in [&["a", "b"][..], &["a", "b", "c", "d"]] {
            assert!((0.6 * before..before + 0.001).contains(&width(together)), "{}", width(together));
        }
    }
}
