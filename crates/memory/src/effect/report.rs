//! Whether injection helps: both arms, the lift, the verdict.

use super::evidence::{ENOUGH, Evidence};
use super::interval::{Interval, newcombe, weighted};
use super::trial::Trial;
use serde::{Deserialize, Serialize};

/// An arm with fewer trials, or fewer passes or failures, is too small for weights; see [`Method`].
const FEW: u64 = 30;
/// The usual rule for a normal distribution of a number of passes. Without it the interval of 200 trials with 40 held out at a rate of 10 %, which
/// rests on four passes, holds the truth in 92.7 % of records; with it in 97.6 %, which is rather too wide than too narrow.
const FEW_OF_A_KIND: u64 = 5;
/// The effect that [`Verdict::Undecided`] counts trials for: 10 points.
const WORTH_SHOWING: f64 = 0.10;

/// Passes of one arm.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Arm {
    /// Attempts that were confirmed.
    pub passed: u64,
    /// Attempts.
    pub trials: u64,
}

impl Arm {
    fn is_small(self) -> bool {
        self.trials < FEW || self.passed.min(self.trials - self.passed) < FEW_OF_A_KIND
    }
}

/// How the lift is estimated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// The plain difference of the two rates with Newcombe's interval, while an arm has fewer than 30 trials, 5 passes or 5
    /// failures (or all are of one task): too early for more.
    Newcombe,
    /// Augmented inverse probability weighting within strata; the interval counts tasks.
    Aipw,
}

/// What may be said about injection after any number of looks. Of all records in which it changes nothing, at most 5 % are ever said to help
/// or to hurt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Verdict {
    /// More attempts pass with lessons than without.
    Helps,
    /// Fewer attempts pass with lessons than without. It wins over everything else: what helped once may hurt later.
    Hurts,
    /// Not enough is known.
    Undecided {
        /// About how many more trials would show an effect of 10 points, half of the time; none where there is no trial to tell by, and where
        /// so many are past that such an effect would probably show.
        more: Option<u64>,
    },
    /// Whatever injection changes, it is less than 3 points.
    NoPracticalEffect,
}

/// What injection changes, from the trials of one coin.
///
/// ```
/// # use reflexion_memory::effect::{Effect, Trial, Verdict};
/// // Every second retry gets lessons; with them two of three pass, without them none.
/// let trials: Vec<Trial> = (0..120)
///     .map(|n| Trial {
///         task: format!("task-{n}"),
///         probability: 0.5,
///         injected: n % 2 == 0,
///         passed: n % 2 == 0 && n % 3 != 0,
///         ..Trial::default()
///     })
///     .collect();
/// let effect = Effect::of(&trials);
/// assert_eq!(effect.verdict, Verdict::Helps);
/// assert!(effect.lift.unwrap().low > 0.4);
/// assert!(matches!(Effect::of(&trials[..14]).verdict, Verdict::Undecided { more: Some(_) }));
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Effect {
    /// Trials that count.
    pub trials: u64,
    /// Trials that were not drawn by a coin, see [`PROBABILITIES`](super::PROBABILITIES).
    pub ignored: u64,
    /// Attempts with lessons.
    pub injected: Arm,
    /// Attempts whose lessons were held out.
    pub held_out: Arm,
    /// By how much injection changes the share of attempts that pass (0.1 is 10 points), with its 95 % interval; none without trials in both
    /// arms. The interval holds for one look; the verdict for any number.
    pub lift: Option<Interval>,
    /// How the lift is estimated.
    pub method: Method,
    /// What may be said.
    pub verdict: Verdict,
    /// The highest evidence so far that injection helps; 40 decides.
    pub e_helps: f64,
    /// The highest evidence so far that it hurts; 40 decides.
    pub e_hurts: f64,
    /// Tokens that an attempt with lessons uses beyond one without, for each pass that lessons add; negative where they save tokens. None
    /// unless the whole interval of the lift is above 0: otherwise it is a division by noise.
    pub tokens_per_extra_success: Option<f64>,
}

impl Effect {
    /// The effect of injection in these trials, which stand in the order of time.
    #[must_use]
    pub fn of(trials: &[Trial]) -> Self {
        let usable = || trials.iter().filter(|trial| trial.is_usable());
        let mut evidence = Evidence::default();
        let mut arms = [Counted::default(); 2];
        for trial in usable() {
            evidence.count(trial);
            arms[usize::from(trial.injected)].count(trial);
        }
        let [held_out, injected] = arms;
        let few = injected.arm.is_small() || held_out.arm.is_small();
        let weighted = if few { None } else { weighted(usable()) };
        let lift = weighted.or_else(|| newcombe(injected.arm, held_out.arm));
        let counted = injected.arm.trials + held_out.arm.trials;
        Self {
            trials: counted,
            ignored: trials.len() as u64 - counted,
            injected: injected.arm,
            held_out: held_out.arm,
            lift,
            method: if weighted.is_some() { Method::Aipw } else { Method::Newcombe },
            verdict: verdict(&evidence, injected, held_out),
            e_helps: evidence.helps(),
            e_hurts: evidence.hurts(),
            tokens_per_extra_success: lift
                .filter(|lift| lift.low > 0.0)
                .map(|lift| (injected.mean_tokens() - held_out.mean_tokens()) / lift.estimate),
        }
    }
}

/// An arm with what it cost, and how improbable both arms were at its trials.
#[derive(Debug, Clone, Copy, Default)]
struct Counted {
    arm: Arm,
    tokens: f64,
    weight_injected: f64,
    weight_held_out: f64,
}

impl Counted {
    fn count(&mut self, trial: &Trial) {
        self.arm.trials += 1;
        self.arm.passed += u64::from(trial.passed);
        self.tokens += trial.tokens as f64;
        self.weight_injected += 1.0 / trial.probability;
        self.weight_held_out += 1.0 / (1.0 - trial.probability);
    }

    fn mean_tokens(self) -> f64 {
        self.tokens / self.arm.trials as f64
    }
}

fn verdict(evidence: &Evidence, injected: Counted, held_out: Counted) -> Verdict {
    match () {
        () if evidence.hurts() >= ENOUGH => Verdict::Hurts,
        () if evidence.helps() >= ENOUGH => Verdict::Helps,
        () if evidence.shows_no_practical_effect() => Verdict::NoPracticalEffect,
        () => Verdict::Undecided { more: more(injected, held_out) },
    }
}

/// About how many more trials would show an effect of 10 points, in tens.
///
/// A bet of Kelly's size on an effect t with mean square v grows by t²/2v a trial, so that ln 40 takes 2 v ln 40 / t² of them. v is that of a
/// lift from the rate seen so far, under the probabilities used so far. (.10 to .20 with 20 % held out: 500; simulated median 506.)
fn more(injected: Counted, held_out: Counted) -> Option<u64> {
    let trials = (injected.arm.trials + held_out.arm.trials) as f64;
    if trials < 1.0 {
        return None;
    }
    let without = ((injected.arm.passed + held_out.arm.passed) as f64 + 1.0) / (trials + 2.0);
    let with = (without + WORTH_SHOWING).min(1.0);
    let square = |weight: f64, rate: f64| weight / trials * rate * (1.0 - rate);
    let v = square(injected.weight_injected + held_out.weight_injected, with)
        + square(injected.weight_held_out + held_out.weight_held_out, without);
    let wanted = 2.0 * v * ENOUGH.ln() / (WORTH_SHOWING * WORTH_SHOWING);
    (wanted > trials).then(|| ((wanted - trials) / 10.0).ceil() as u64 * 10)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::effect::{MAX_LESSONS, lesson_effects};

    /// Twenty per cent held out; one in `passes_of` passes, whatever the coin said.
    fn retries(number: usize, passes_of: usize) -> Vec<Trial> {
        let retry = |n: usize| Trial {
            task: format!("task-{n}"),
            probability: 0.8,
            injected: !n.is_multiple_of(5),
            passed: n % passes_of == 3,
            tokens: if n.is_multiple_of(5) { 100 } else { 130 },
            lessons: vec![format!("ref-{}", n % 3)],
            ..Trial::default()
        };
        (0..number).map(retry).collect()
    }

    #[test]
    fn the_trials_that_are_missing_are_told() {
        let more = |trials: &[Trial]| match Effect::of(trials).verdict {
            Verdict::Undecided { more } => more,
            verdict => panic!("{verdict:?}"),
        };
        assert_eq!(more(&[]), None);
        // Two of 16 (with those that are added) pass, 22.5 % would with 10 points more: v = .225 · .775 / .8 + .125 · .875 / .2 = .765, and
        // 2 v ln 40 / .01 = 564.
        assert_eq!(more(&retries(14, 14)), Some(560));
        assert!(more(&retries(300, 14)).unwrap() < 300);
        assert_eq!(more(&retries(900, 14)), None, "10 points would have shown");
    }

    #[test]
    fn few_trials_are_compared_plainly_and_many_by_weight() {
        let compared = |trials: &[Trial]| {
            let effect = Effect::of(trials);
            (effect.held_out, effect.method)
        };
        assert_eq!(compared(&retries(149, 4)), (Arm { passed: 7, trials: 30 }, Method::Aipw));
        assert_eq!(compared(&retries(145, 4)), (Arm { passed: 7, trials: 29 }, Method::Newcombe));
        // Passes are as good as failures.
        for (outcome, few) in [(true, 4), (false, 4), (true, 5), (false, 5)] {
            let mut left = few;
            let rare = |mut trial: Trial| {
                trial.passed = !outcome;
                if !trial.injected && left > 0 {
                    (trial.passed, left) = (outcome, left - 1);
                }
                trial.passed = if trial.injected { trial.tokens.is_multiple_of(2) } else { trial.passed };
                trial
            };
            let numbered = retries(300, 4).into_iter().enumerate().map(|(n, t)| Trial { tokens: n as u64, ..t });
            let trials: Vec<Trial> = numbered.map(rare).collect();
            assert_eq!(compared(&trials).1, if few < 5 { Method::Newcombe } else { Method::Aipw }, "{outcome} {few}");
        }
        let one_task: Vec<Trial> =
            retries(400, 4).into_iter().map(|trial| Trial { task: "same".to_owned(), ..trial }).collect();
        let one_task = Effect::of(&one_task);
        assert_eq!(one_task.method, Method::Newcombe);
        assert!(one_task.lift.is_some());
    }

    #[test]
    fn tasks_are_counted_not_their_trials() {
        let trial = |n: usize, task: usize| Trial {
            task: format!("{task}"),
            probability: 0.5,
            injected: n.is_multiple_of(2),
            // Lessons help half of the tasks with every trial, and harm the others.
            passed: n.is_multiple_of(2) == task.is_multiple_of(2),
            ..Trial::default()
        };
        let width = |tasks: usize| {
            let trials: Vec<Trial> = (0..400).map(|n| trial(n, n / 2 % tasks)).collect();
            Effect::of(&trials).lift.map(|lift| lift.high - lift.low).unwrap()
        };
        assert!(width(10) > 3.0 * width(200), "{} {}", width(10), width(200));
    }

    #[test]
    fn what_an_extra_pass_costs_needs_a_lift() {
        assert_eq!(Effect::of(&retries(900, 14)).tokens_per_extra_success, None);
        let helped = |n: usize, trial: Trial| Trial { passed: trial.injected && n.is_multiple_of(2), ..trial };
        let trials: Vec<Trial> = retries(900, 14).into_iter().enumerate().map(|(n, trial)| helped(n, trial)).collect();
        let effect = Effect::of(&trials);
        // 30 tokens more for half a pass.
        let cost = effect.tokens_per_extra_success.unwrap();
        assert!((cost - 60.0).abs() < 3.0, "{cost}");
        assert_eq!(effect.verdict, Verdict::Helps);
    }

    #[test]
    fn an_effect_without_practical_use_is_told_in_the_end() {
        assert_eq!(Effect::of(&retries(20_000, 14)).verdict, Verdict::NoPracticalEffect);
    }

    #[test]
    fn what_no_coin_drew_is_left_out() {
        let good = retries(40, 14);
        let mut with_bad = good.clone();
        for probability in [0.0, 1.0, -0.5, 7.0, f64::NAN, f64::INFINITY, f64::MIN_POSITIVE, 1.0 - f64::EPSILON] {
            with_bad.insert(5, Trial { probability, passed: true, tokens: u64::MAX, ..good[1].clone() });
        }
        let (all, clean) = (Effect::of(&with_bad), Effect::of(&good));
        assert_eq!((all.trials, all.ignored), (40, 8));
        assert_eq!(Effect { ignored: 0, ..all }, clean);
        assert_eq!(lesson_effects(&with_bad), lesson_effects(&good));
    }

    #[test]
    fn nothing_and_one_arm_have_no_lift() {
        for trials in [vec![], vec![retries(2, 14)[1].clone()], vec![retries(1, 14)[0].clone()]] {
            let effect = Effect::of(&trials);
            assert_eq!((effect.lift, effect.tokens_per_extra_success), (None, None));
            assert!(matches!(effect.verdict, Verdict::Undecided { .. }));
            assert!(lesson_effects(&trials).iter().all(|lesson| lesson.helps.is_finite()));
        }
    }

    #[test]
    fn the_ends_of_every_number_stay_numbers() {
        let extreme = |n: u32| Trial {
            probability: if n.is_multiple_of(2) { 0.01 } else { 0.99 },
            injected: n.is_multiple_of(2),
            passed: n.is_multiple_of(2),
            tokens: u64::MAX,
            task: n.to_string(),
            lessons: vec![String::new()],
            ..Trial::default()
        };
        let trials: Vec<Trial> = (0..20_000).map(extreme).collect();
        let text = serde_json::to_string(&(Effect::of(&trials), lesson_effects(&trials))).unwrap();
        // JSON has no infinity: it would be written as null.
        assert_eq!(text.matches("null").count(), 0, "{text}");
    }

    #[test]
    fn its_form_is_plain_json() {
        let effect = Effect::of(&retries(40, 14));
        let json = serde_json::to_value(&effect).unwrap();
        assert_eq!(json["heldOut"], serde_json::json!({ "passed": 0, "trials": 8 }));
        assert_eq!((&json["method"], &json["verdict"]["kind"]), (&"newcombe".into(), &"undecided".into()));
        assert!(
            json["verdict"]["more"].is_u64() && json["eHelps"].is_number() && json["tokensPerExtraSuccess"].is_null()
        );
        assert_eq!(serde_json::from_value::<Effect>(json).unwrap(), effect);
    }

    #[test]
    fn lessons_beyond_what_a_prompt_shows_are_not_judged() {
        let names = |number: usize| (0..number).map(|n| format!("ref-{n}")).collect::<Vec<_>>();
        let shown = |lessons: Vec<String>| lesson_effects(&[Trial { lessons, ..retries(2, 14)[1].clone() }]).len();
        assert_eq!((shown(names(MAX_LESSONS)), shown(names(MAX_LESSONS + 1))), (MAX_LESSONS, 0));
        assert_eq!(shown(vec!["same".to_owned(); 2]), 1);
    }
}
