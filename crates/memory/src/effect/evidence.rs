//! Evidence that may be looked at after every trial, and a decision as soon as there is enough of it.
//!
//! A bet on each trial, at odds that would be fair if injection changed nothing: whoever bets against a true claim rarely gets rich. Starting
//! with 1, the chance ever to hold 1/a is at most a (Ville's inequality), so that one may look every morning and stop at will. Each side gets
//! half of the 5 %. Waudby-Smith and Ramdas, "Estimating means of bounded random variables by betting", JRSS B 86 (2024).

use super::trial::Trial;

/// Both sides together are wrong at most this often.
pub(super) const ALPHA: f64 = 0.05;
/// What a side must hold for a decision: 2 / alpha.
pub(super) const ENOUGH: f64 = 2.0 / ALPHA;
/// An effect of less than 3 points is of no practical use: it is not worth the tokens.
pub(super) const PRACTICAL: f64 = 0.03;
/// Values are cut here, so that they remain numbers in JSON.
const MOST: f64 = 1e300;

/// The value whose logarithm this is, cut at [`MOST`].
pub(super) fn e_value(logarithm: f64) -> f64 {
    logarithm.exp().min(MOST)
}

/// Bets on both sides of one claim: that injection changes the rate of passes by `effect`.
#[derive(Debug, Clone, Copy, Default)]
struct Claim {
    effect: f64,
    trials: f64,
    sum: f64,
    squares: f64,
    above: Stake,
    below: Stake,
}

/// What a side holds, as a logarithm.
#[derive(Debug, Clone, Copy, Default)]
struct Stake {
    now: f64,
    highest: f64,
}

impl Stake {
    fn multiply(&mut self, by: f64) {
        self.now += by.ln();
        self.highest = self.highest.max(self.now);
    }
}

impl Claim {
    fn that_effect_is(effect: f64) -> Self {
        Self { effect, ..Self::default() }
    }

    /// Bets by what was seen before, as Kelly would (mean over mean square), at most half of what `bound`, the largest change, could lose.
    fn bet(&mut self, change: f64, bound: f64) {
        let most = 0.5 / (bound + self.effect.abs());
        let mean = if self.trials > 0.0 { self.sum / self.trials } else { 0.0 };
        let share = mean / ((self.squares + 1.0) / (self.trials + 1.0));
        let rest = change - self.effect;
        self.above.multiply(1.0 + share.clamp(0.0, most) * rest);
        self.below.multiply(1.0 - (-share).clamp(0.0, most) * rest);
        self.trials += 1.0;
        self.sum += rest;
        self.squares += rest * rest;
    }
}

/// What the trials so far, in the order of time, say about injection.
#[derive(Debug)]
pub(super) struct Evidence {
    passed: f64,
    trials: f64,
    none: Claim,
    little_good: Claim,
    little_harm: Claim,
}

impl Default for Evidence {
    fn default() -> Self {
        Self {
            passed: 0.0,
            trials: 0.0,
            none: Claim::default(),
            little_good: Claim::that_effect_is(PRACTICAL),
            little_harm: Claim::that_effect_is(-PRACTICAL),
        }
    }
}

impl Evidence {
    pub(super) fn count(&mut self, trial: &Trial) {
        let usual = (self.passed + 0.5) / (self.trials + 2.0);
        let (with, without) = (1.0 / trial.probability, 1.0 / (1.0 - trial.probability));
        let weight = if trial.injected { with } else { -without };
        let change = (trial.outcome() - usual) * weight;
        let bound = with.max(without) * usual.max(1.0 - usual);
        for claim in [&mut self.none, &mut self.little_good, &mut self.little_harm] {
            claim.bet(change, bound);
        }
        self.passed += trial.outcome();
        self.trials += 1.0;
    }

    /// The most that the side "it helps" ever held.
    pub(super) fn helps(&self) -> f64 {
        e_value(self.none.above.highest)
    }

    /// The most that the side "it hurts" ever held.
    pub(super) fn hurts(&self) -> f64 {
        e_value(self.none.below.highest)
    }

    /// Whether the effect is shown to be smaller than [`PRACTICAL`] on both sides.
    pub(super) fn shows_no_practical_effect(&self) -> bool {
        let shown = |stake: Stake| e_value(stake.highest) >= ENOUGH;
        shown(self.little_good.below) && shown(self.little_harm.above)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trial(injected: bool, passed: bool) -> Trial {
        Trial { probability: 0.5, injected, passed, ..Trial::default() }
    }

    /// What a side begins with.
    fn nothing(held: f64) -> bool {
        (held - 1.0).abs() < 1e-12
    }

    /// Worked out by hand. First trial: no bet. Second: usual 1.5/3 = 0.5, change -0.5 · -2 = 1 at a share of 1.5 / ((2.25 + 1)/2) = 0.923, cut at
    /// 0.5 / (2 · 0.5) = 0.5; so 1 becomes 1.5.
    #[test]
    fn bets_follow_what_was_seen() {
        let mut evidence = Evidence::default();
        evidence.count(&trial(true, true));
        assert!(nothing(evidence.helps()) && nothing(evidence.hurts()));
        evidence.count(&trial(false, false));
        assert!((evidence.helps() - 1.5).abs() < 1e-12, "{}", evidence.helps());
        assert!(nothing(evidence.hurts()));
    }

    #[test]
    fn each_side_hears_its_own() {
        let (mut good, mut bad) = (Evidence::default(), Evidence::default());
        for n in 0..40 {
            good.count(&trial(n % 2 == 0, n % 2 == 0));
            bad.count(&trial(n % 2 == 0, n % 2 == 1));
        }
        assert!(good.helps() > 1000.0 && nothing(good.hurts()), "{good:?}");
        assert!(bad.hurts() > 1000.0 && nothing(bad.helps()), "{bad:?}");
        assert!(!good.shows_no_practical_effect() && !bad.shows_no_practical_effect());
    }

    /// From the formulas of Waudby-Smith and Ramdas written down once more in Python: 60 trials, one in five held out.
    #[test]
    fn a_longer_record_has_the_evidence_that_was_worked_out_elsewhere() {
        let mut evidence = Evidence::default();
        for k in 0..60_u32 {
            let passed = matches!((k * k + k / 3) % 7, 1 | 2);
            evidence.count(&Trial { probability: 0.8, ..trial(!k.is_multiple_of(5), passed) });
        }
        assert!((evidence.helps() - 6.426_752_213_609).abs() < 1e-9, "{}", evidence.helps());
        assert!(nothing(evidence.hurts()));
    }

    #[test]
    fn what_was_shown_once_stays_shown() {
        let mut evidence = Evidence::default();
        for n in 0..40 {
            evidence.count(&trial(n % 2 == 0, n % 2 == 0));
        }
        let shown = evidence.helps();
        for n in 0..10 {
            evidence.count(&trial(n % 2 == 0, n % 2 == 1));
        }
        assert!(evidence.helps() >= shown, "{shown} {}", evidence.helps());
    }
}
