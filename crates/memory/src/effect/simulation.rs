//! Records with a planted truth, and whether it is found.
//!
//! Every question is asked twice: in a few runs with the other tests, between limits that are wide enough for so few, and in full with
//! `cargo test --release -p reflexion-memory effect::simulation -- --ignored --nocapture`, which prints what it measured.

use super::interval::Interval;
use super::{Effect, LessonEffect, Trial, Verdict, lesson_effects};

/// `SplitMix64` (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    /// 0 to below 1.
    fn share(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn chance(&mut self, probability: f64) -> bool {
        self.share() < probability
    }

    fn below(&mut self, number: usize) -> usize {
        (self.share() * number as f64) as usize
    }

    /// A standard normal number (Box and Muller 1958).
    fn normal(&mut self) -> f64 {
        (-2.0 * (1.0 - self.share()).ln()).sqrt() * (std::f64::consts::TAU * self.share()).cos()
    }
}

/// Retries of tasks that are more or less hard, one to three of each, in ten strata.
#[derive(Clone, Copy)]
struct World {
    /// The mean share of passes without and with lessons.
    without: f64,
    with: f64,
    /// How probable injection is in the first 200 retries, and afterwards.
    probability: f64,
    later: f64,
}

impl World {
    fn record(self, retries: usize, random: &mut Random) -> Vec<Trial> {
        let mut trials = Vec::with_capacity(retries);
        while trials.len() < retries {
            let task = format!("task-{}", trials.len());
            let class = random.below(5);
            // Both factors are 1 in the mean, so that the shares are those of the world.
            let hard = (0.5 + class as f64 / 4.0) * (0.5 + random.share());
            for attempt in 0..(1 + random.below(3)).min(retries - trials.len()) {
                let probability = if trials.len() < 200 { self.probability } else { self.later };
                let injected = random.chance(probability);
                let share = if injected { self.with } else { self.without };
                trials.push(Trial {
                    task: task.clone(),
                    stratum: format!("{class} {attempt}"),
                    probability,
                    injected,
                    passed: random.chance(share * hard),
                    ..Trial::default()
                });
            }
        }
        trials
    }

    /// The share of runs in which the interval holds the truth, of those with both arms.
    fn coverage(self, retries: usize, runs: u64) -> f64 {
        let (mut held, mut all) = (0_u64, 0_u64);
        for seed in 0..runs {
            let record = self.record(retries, &mut Random(seed * 7919 + retries as u64 + self.with.to_bits()));
            let Some(lift) = Effect::of(&record).lift else { continue };
            all += 1;
            held += u64::from(holds(lift, self.with - self.without));
        }
        held as f64 / all as f64
    }

    /// The share of runs that end with each verdict: helps, hurts.
    fn verdicts(self, retries: usize, runs: u64) -> [f64; 2] {
        let mut found = [0_u64; 2];
        for seed in 0..runs {
            match Effect::of(&self.record(retries, &mut Random(seed * 6151 + 17))).verdict {
                Verdict::Helps => found[0] += 1,
                Verdict::Hurts => found[1] += 1,
                Verdict::Undecided { .. } | Verdict::NoPracticalEffect => {}
            }
        }
        found.map(|number| number as f64 / runs as f64)
    }
}

fn holds(interval: Interval, truth: f64) -> bool {
    interval.low <= truth && truth <= interval.high
}

const fn world(without: f64, with: f64, probability: f64) -> World {
    World { without, with, probability, later: probability }
}

const WORLDS: [World; 8] = [
    world(0.10, 0.10, 0.5),
    world(0.10, 0.25, 0.5),
    world(0.17, 0.17, 0.8),
    world(0.10, 0.25, 0.8),
    world(0.10, 0.10, 0.8),
    world(0.30, 0.45, 0.8),
    world(0.20, 0.10, 0.8),
    world(0.30, 0.45, 0.9),
];

/// What the memory does: 20 % are held out until 200 retries are in, then 10 %.
const fn as_held_out(without: f64, with: f64) -> World {
    World { later: 0.9, ..world(without, with, 0.8) }
}

/// Retries of 200 nights.
const NIGHTS: usize = 200 * 30;

/// The mean coverage over the worlds, and that of each.
fn coverages(worlds: &[World], retries: usize, runs: u64) -> (f64, Vec<f64>) {
    let each: Vec<f64> = worlds.iter().map(|world| world.coverage(retries, runs)).collect();
    (each.iter().sum::<f64>() / each.len() as f64, each)
}

#[test]
fn intervals_hold_the_truth() {
    for (retries, runs) in [(20, 600), (50, 600), (200, 400), (1000, 200)] {
        let (mean, each) = coverages(&WORLDS[1..4], retries, runs);
        assert!((0.925..0.98).contains(&mean), "{retries}: {mean} {each:?}");
    }
}

#[test]
#[ignore = "80,000 records of each size"]
fn intervals_hold_the_truth_in_full() {
    for retries in [20, 50, 100, 200, 300, 400, 1000] {
        let (mean, each) = coverages(&WORLDS, retries, 10_000);
        println!("{retries} retries: {mean:.3}; {each:.3?}");
        assert!((0.93..=0.97).contains(&mean), "{retries}: {mean}");
        // Never too narrow in any world. Where a rate of 10 % meets few trials it is wider than it would have to be, so that single worlds
        // lie above 97 %: up to 99 % at 20 retries, 98 % at 200.
        assert!(each.iter().all(|coverage| (0.93..=0.995).contains(coverage)), "{retries}: {each:?}");
    }
}

#[test]
fn no_effect_is_rarely_taken_for_one_and_a_large_one_is_found() {
    let [helps, hurts] = as_held_out(0.17, 0.17).verdicts(1000, 60);
    assert!(helps + hurts <= 0.05, "{helps} {hurts}");
    let [helps, hurts] = world(0.10, 0.25, 0.8).verdicts(1200, 25);
    assert!(helps >= 0.8 && hurts <= 0.0, "{helps} {hurts}");
    let [helps, hurts] = world(0.30, 0.10, 0.8).verdicts(1200, 25);
    assert!(hurts >= 0.8 && helps <= 0.0, "{helps} {hurts}");
}

#[test]
#[ignore = "1,000 records of 6,000 retries in each of eight worlds"]
fn no_effect_is_rarely_taken_for_one_in_full() {
    for rate in [0.05, 0.10, 0.30, 0.60] {
        for world in [as_held_out(rate, rate), world(rate, rate, 0.5)] {
            let [helps, hurts] = world.verdicts(NIGHTS, 1000);
            println!("{rate:.2}, {} to {}: helps {helps:.3}, hurts {hurts:.3}", world.probability, world.later);
            assert!(helps + hurts < 0.05, "{helps} {hurts}");
        }
    }
}

#[test]
#[ignore = "1,000 records of 1,200 retries in each of twelve worlds"]
fn an_effect_is_found_in_full() {
    for probability in [0.5, 0.8, 0.9] {
        for (without, with) in [(0.10, 0.20), (0.10, 0.25), (0.30, 0.45), (0.20, 0.10)] {
            let [helps, hurts] = world(without, with, probability).verdicts(1200, 1000);
            println!("{without:.2} to {with:.2}, {probability}: helps {helps:.3}, hurts {hurts:.3}");
            let (found, wrong) = if with > without { (helps, hurts) } else { (hurts, helps) };
            assert!(wrong < 0.025, "{wrong}");
            assert!(found >= 0.8 || probability > 0.8 || with - without < 0.12, "{found}");
        }
    }
}

/// Evidence is kept from trial to trial, so that the verdict of the whole record is that of whoever looked every morning and stopped.
#[test]
fn a_verdict_stays_once_it_is_reached() {
    let record = world(0.10, 0.40, 0.8).record(600, &mut Random(5));
    let nights: Vec<Verdict> = (0..=20).map(|night| Effect::of(&record[..night * 30]).verdict).collect();
    let first =
        nights.iter().position(|verdict| *verdict == Verdict::Helps).expect("30 points are found in 600 retries");
    assert!(first > 1, "not in the first night");
    assert!(nights[first..].iter().all(|verdict| *verdict == Verdict::Helps), "{nights:?}");
}

/// Lessons of which some help and some harm, in ten failure classes that are more or less hard.
struct Lessons {
    /// What each lesson adds to the log-odds of a pass.
    effects: Vec<f64>,
    /// The log-odds of a pass without lessons, of each class.
    classes: Vec<f64>,
    /// How much classes differ, and tasks half as much, as a standard deviation of log-odds.
    spread: f64,
}

const LESSONS: usize = 80;
const CLASSES: usize = 10;

impl Lessons {
    /// A quarter help, 15 % harm, by 0.6. Without lessons 15, 17 and 20 % pass in the mean, at a spread of 0, 0.5 and 1.
    fn planted(spread: f64, random: &mut Random) -> Self {
        let effects = (0..LESSONS).map(|_| match random.share() {
            share if share < 0.25 => 0.6,
            share if share < 0.40 => -0.6,
            _ => 0.0,
        });
        let effects = effects.collect();
        let classes = (0..CLASSES).map(|_| -1.75 + spread * random.normal()).collect();
        Self { effects, classes, spread }
    }

    /// Retries until each lesson was shown this often: two lessons of the failure's class, each left out of 15 % of prompts.
    fn record(&self, shown: u64, random: &mut Random) -> Vec<Trial> {
        let mut left = vec![shown; LESSONS];
        let mut trials = Vec::new();
        while left.iter().any(|left| *left > 0) {
            let class = random.below(CLASSES);
            let attempt = random.below(3);
            let mut odds = self.classes[class] - 0.4 * attempt as f64 + 0.4 + self.spread * 0.5 * random.normal();
            let injected = random.chance(0.8);
            let mut lessons = Vec::new();
            if injected {
                let mut of_class: Vec<usize> = (class..LESSONS).step_by(CLASSES).filter(|l| left[*l] > 0).collect();
                while lessons.len() < 2 && !of_class.is_empty() {
                    let lesson = of_class.swap_remove(random.below(of_class.len()));
                    lessons.push(lesson);
                }
                lessons.retain(|_| random.chance(0.85));
                if lessons.is_empty() {
                    continue;
                }
            }
            for lesson in &lessons {
                left[*lesson] -= 1;
                odds += self.effects[*lesson];
            }
            trials.push(Trial {
                task: format!("task-{}", trials.len()),
                stratum: format!("{class} {attempt}"),
                class: format!("{class}"),
                probability: 0.8,
                injected,
                passed: random.chance(1.0 / (1.0 + (-odds).exp())),
                tokens: 0,
                lessons: lessons.iter().map(|lesson| format!("{lesson:02}")).collect(),
            });
        }
        trials
    }

    fn effect(&self, lesson: &LessonEffect) -> f64 {
        self.effects[lesson.lesson.parse::<usize>().expect("a number")]
    }

    /// How many lessons with one effect are ranked above one with another, a tie counting half, and of how many pairs.
    fn separated(
        &self,
        found: &[LessonEffect],
        [more, less]: [f64; 2],
        score: impl Fn(&LessonEffect) -> f64,
    ) -> (f64, f64) {
        let of = |effect: f64| -> Vec<f64> {
            found.iter().filter(|lesson| (self.effect(lesson) - effect).abs() < 0.01).map(&score).collect()
        };
        let (more, less) = (of(more), of(less));
        let mut won = 0.0;
        for a in &more {
            for b in &less {
                won += f64::from(u8::from(a > b) + u8::from(a >= b)) / 2.0;
            }
        }
        (won, (more.len() * less.len()) as f64)
    }
}

/// How each way to rank lessons separates helpful from harmful ones: passes beyond the expected, the class's belief, and the adjusted one; then
/// how often the adjusted interval holds the truth.
fn separation(spread: f64, shown: u64, runs: u64, pair: [f64; 2]) -> ([f64; 3], f64) {
    let mut sums = [(0.0, 0.0); 3];
    let (mut held, mut all) = (0.0, 0.0);
    for seed in 0..runs {
        let mut random = Random(seed);
        let lessons = Lessons::planted(spread, &mut random);
        let found = lesson_effects(&lessons.record(shown, &mut random));
        let ways: [fn(&LessonEffect) -> f64; 3] = [|l| l.passed as f64 - l.expected, |l| l.helps, |l| l.log_odds_helps];
        for (sum, way) in sums.iter_mut().zip(ways) {
            let (won, pairs) = lessons.separated(&found, pair, way);
            *sum = (sum.0 + won, sum.1 + pairs);
        }
        held += found.iter().filter(|lesson| holds(lesson.log_odds, lessons.effect(lesson))).count() as f64;
        all += found.len() as f64;
    }
    (sums.map(|(won, pairs)| won / pairs), held / all)
}

/// The information bound: a lesson alone in its prompts at a known rate of 17 % passes 27 or 10 of 100 times; forty attempts of each separate
/// them with 0.977. Neighbours, classes and strata that have to be learned cost the rest.
#[test]
fn helpful_lessons_are_ranked_above_harmful_ones() {
    let ([_, class, adjusted], held) = separation(0.5, 40, 3, [0.6, -0.6]);
    assert!(class > 0.85, "{class}");
    assert!(adjusted >= 0.9, "{adjusted}");
    assert!(held > 0.93, "{held}");
}

#[test]
#[ignore = "100 records of 80 lessons in each of nine worlds"]
fn helpful_lessons_are_ranked_above_harmful_ones_in_full() {
    println!("classes differ by, shown: separated by passes beyond expected, class, adjusted; adjusted interval holds");
    for spread in [0.0, 0.5, 1.0] {
        for shown in [10, 40, 100] {
            let ([residual, class, adjusted], held) = separation(spread, shown, 100, [0.6, -0.6]);
            let ([.., from_neutral], _) = separation(spread, shown, 100, [0.6, 0.0]);
            println!(
                "{spread:.1} {shown:3}: {residual:.3} {class:.3} {adjusted:.3} (helpful from neutral {from_neutral:.3}); {held:.3}"
            );
            assert!(adjusted >= 0.9 || shown < 40, "{adjusted}");
            assert!(held >= 0.94, "{held}");
        }
    }
}
