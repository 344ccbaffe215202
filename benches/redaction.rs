//! How fast texts are searched for secrets, and how often ordinary words are taken for one: `cargo bench --bench redaction`.
//!
//! The texts are what this project has of tools' output (recorded failures), and its own sources and documents, or the files below the
//! directories named in `REDACTION_BENCH_DIRS` (separated by `:`). In the same run the lines of the same texts are counted: the
//! ratio says more than the MB/s of a busy machine. Every word that is taken for a secret is shown, to be looked at.

use reflexion::redaction::Redactor;
use std::borrow::Cow;
use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

/// The best round counts, the others are the machine's other work.
const ROUNDS: usize = 5;
/// So much at a time, as of a program's output.
const PIECE: usize = 64 << 10;
/// Fewer bytes are searched more often.
const BYTES: usize = 32 << 20;

fn main() {
    let dirs = std::env::var("REDACTION_BENCH_DIRS").unwrap_or_else(|_| "tests/fixtures/failures:src:docs".to_owned());
    let mut texts = Vec::new();
    dirs.split(':').for_each(|dir| collect(Path::new(dir), &mut texts));
    let (bytes, lines) = texts.iter().fold((0, 0), |(b, l), text| (b + text.len(), l + text.lines().count()));
    let redactor = Redactor::of_process();
    let mut hits = 0;
    for line in texts.iter().flat_map(|text| text.lines()) {
        if let Cow::Owned(redacted) = redactor.redact(line) {
            hits += 1;
            println!("  taken for a secret: {}", redacted.trim());
        }
    }
    println!(
        "{lines} lines, {hits} of them taken for one with a secret: {:.3} in 1,000",
        f64::from(hits) * 1000.0 / lines as f64
    );
    let pieces: Vec<&str> = texts.iter().flat_map(|text| pieces(text)).collect();
    let again = BYTES.div_ceil(bytes.max(1));
    let redacting =
        best(|| (0..again).for_each(|_| pieces.iter().for_each(|piece| drop(black_box(redactor.redact(piece))))));
    let counting = best(|| {
        (0..again).for_each(|_| {
            black_box(pieces.iter().map(|piece| piece.lines().count()).sum::<usize>());
        });
    });
    let rate = |time: Duration| (bytes * again) as f64 / 1e6 / time.as_secs_f64();
    println!(
        "{:.0} MB/s redacted, {:.0} MB/s of lines counted: {:.1} times as long",
        rate(redacting),
        rate(counting),
        redacting.as_secs_f64() / counting.as_secs_f64()
    );
}

/// Texts below a directory.
fn collect(path: &Path, texts: &mut Vec<String>) {
    if path.is_dir() {
        let mut entries: Vec<_> = std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect();
        entries.sort();
        entries.iter().for_each(|entry| collect(entry, texts));
    } else if let Ok(text) = std::fs::read_to_string(path) {
        texts.push(text);
    }
}

fn pieces(text: &str) -> Vec<&str> {
    let mut rest = text;
    let mut pieces = Vec::new();
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(rest.floor_char_boundary(PIECE.min(rest.len())));
        pieces.push(piece);
        rest = after;
    }
    pieces
}

fn best(work: impl Fn()) -> Duration {
    let round = || {
        let start = Instant::now();
        work();
        start.elapsed()
    };
    (0..ROUNDS).map(|_| round()).min().unwrap_or_default()
}
