//! Records with a planted truth, and whether it is found.
//!
//! Every test here runs in a small size with the others, wide enough for its few runs, and in full with `-- --ignored`, which prints what it
//! measured: `cargo test --release -p reflexion-memory effect::simulation -- --ignored --nocapture`.

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
    /// How probable injection is.
    probability: f64,
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
                let injected = random.chance(self.probability);
                let share = if injected { self.with } else { self.without };
                trials.push(Trial {
                    task: task.clone(),
                    stratum: format!("{class} {attempt}"),
                    probability: self.probability,
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
            let record = self.record(retries, &mut Random(seed * 7919 + retries as u64));
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
    World { without, with, probability }
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

#[test]
#[ignore = "full"]
fn intervals_cover_in_full() {
    for retries in [20, 50, 100, 200, 400, 1000] {
        let each = WORLDS.map(|world| world.coverage(retries, 10_000));
        let mean = each.iter().sum::<f64>() / each.len() as f64;
        println!("{retries:5} {mean:.3}: {each:.3?}");
    }
}

#[test]
#[ignore = "full"]
fn verdicts_in_full() {
    for p in [0.5, 0.8, 0.9] {
        println!("none {p}: {:?}", world(0.10, 0.10, p).verdicts(6000, 1000));
        println!("none .3 {p}: {:?}", world(0.30, 0.30, p).verdicts(6000, 1000));
        println!(".10 .20 {p}: {:?}", world(0.10, 0.20, p).verdicts(1200, 1000));
        println!(".10 .25 {p}: {:?}", world(0.10, 0.25, p).verdicts(1200, 1000));
        println!(".20 .10 {p}: {:?}", world(0.20, 0.10, p).verdicts(1200, 1000));
    }
}

/// Lessons of which some help and some harm, in ten failure classes that are more or less hard.
struct Lessons {
    /// What each lesson adds to the log-odds of a pass.
    effects: Vec<f64>,
    /// The log-odds of a pass without lessons, of each class.
    classes: Vec<f64>,
    spread: f64,
}

const LESSONS: usize = 80;
const CLASSES: usize = 10;

impl Lessons {
    /// A quarter help, 15 % harm, by 0.6; 17 % pass without lessons in the mean.
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

    /// How often a lesson with one effect is ranked above one with another, ties counting half.
    fn separated(&self, found: &[LessonEffect], [more, less]: [f64; 2], score: impl Fn(&LessonEffect) -> f64) -> (f64, f64) {
        let of = |effect: f64| -> Vec<f64> {
            found.iter().filter(|l| (self.effects[l.lesson.parse::<usize>().unwrap()] - effect).abs() < 0.01).map(&score).collect()
        };
        let (more, less) = (of(more), of(less));
        let mut won = 0.0;
        for a in &more {
            for b in &less {
                won += if a > b { 1.0 } else if a < b { 0.0 } else { 0.5 };
            }
        }
        (won, (more.len() * less.len()) as f64)
    }
}

#[test]
#[ignore = "full"]
fn lessons_in_full() {
    for spread in [0.0, 0.5, 1.0] {
      for shown in [10, 40, 100] {
        let mut sums = [[(0.0, 0.0); 5]; 2];
        let (mut cover, mut all, mut passed, mut n) = (0, 0, 0.0, 0.0);
        for seed in 0..60 {
            let mut random = Random(seed);
            let lessons = Lessons::planted(spread, &mut random);
            let record = lessons.record(shown, &mut random);
            passed += record.iter().filter(|t| !t.injected && t.passed).count() as f64;
            n += record.iter().filter(|t| !t.injected).count() as f64;
            let found = lesson_effects(&record);
            let scores: [fn(&LessonEffect) -> f64; 5] = [|l| l.passed as f64 / l.shown as f64, |l| l.passed as f64 - l.expected, |l| l.helps, |l| l.log_odds.estimate, |l| l.log_odds_helps];
            for (p, pair) in [[0.6, -0.6], [0.6, 0.0]].into_iter().enumerate() {
                for (s, score) in scores.into_iter().enumerate() {
                    let (won, pairs) = lessons.separated(&found, pair, score);
                    sums[p][s].0 += won;
                    sums[p][s].1 += pairs;
                }
            }
            for l in &found {
                all += 1;
                cover += u64::from(holds(l.log_odds, lessons.effects[l.lesson.parse::<usize>().unwrap()]));
            }
        }
        println!("spread {spread} shown {shown} base {:.3} raw/resid/beta/adj/adjhelps {:.3?} cover {:.3}", passed / n, sums.map(|s| s.map(|(w, p)| w / p)), cover as f64 / all as f64);
      }
    }
}

#[test]
#[ignore = "full"]
fn speed() {
    let mut random = Random(3);
    let lessons = Lessons::planted(1.0, &mut random);
    let record = lessons.record(1600, &mut random);
    let t = std::time::Instant::now();
    let e = Effect::of(&record);
    let a = t.elapsed();
    let l = lesson_effects(&record);
    println!("{} trials: {a:?} {:?} {:?} {}", record.len(), t.elapsed(), e.verdict, l.len());
}
