//! What it costs to say whether lessons help: `cargo bench -p reflexion-memory --bench effect`.
//!
//! 100,000 retries of 20,000 tasks in 300 strata, of which four in five show two of 5,000 lessons. Wanted: both together under 1 s.

use criterion::Criterion;
use reflexion_memory::effect::{Effect, Trial, lesson_effects};
use std::hint::black_box;

const TRIALS: u64 = 100_000;
const TASKS: u64 = 20_000;
const CLASSES: u64 = 100;
const LESSONS: u64 = 5_000;

fn main() {
    let mut criterion = Criterion::default().sample_size(10).configure_from_args();
    let trials: Vec<Trial> = (0..TRIALS).map(trial).collect();
    criterion.bench_function("effect of 100,000 retries", |bencher| {
        bencher.iter(|| black_box(Effect::of(black_box(&trials))));
    });
    criterion.bench_function("effects of 5,000 lessons in 100,000 retries", |bencher| {
        bencher.iter(|| black_box(lesson_effects(black_box(&trials))));
    });
    criterion.final_summary();
}

/// A retry whose every part is mixed from its number.
fn trial(number: u64) -> Trial {
    let part = |salt: u64, below: u64| mixed(number ^ (salt << 32)) % below;
    let class = part(1, CLASSES);
    let injected = part(2, 5) != 0;
    let of_class = |salt: u64| format!("ref-{:08}", part(salt, LESSONS / CLASSES) * CLASSES + class);
    Trial {
        task: format!("task-{:06}", part(3, TASKS)),
        stratum: format!("attempt {}, class-{class:03}, fresh", 2 + part(4, 3)),
        class: format!("class-{class:03}"),
        probability: 0.8,
        injected,
        passed: part(5, 100) < if injected { 20 } else { 17 },
        tokens: 20_000 + part(6, 40_000),
        lessons: if injected { vec![of_class(7), of_class(8)] } else { Vec::new() },
    }
}

/// The last step of `SplitMix64`.
fn mixed(number: u64) -> u64 {
    let bits = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}
