//! What recall costs: `cargo bench -p reflexion-memory --bench recall`, `RECALL_BENCH_LESSONS` for another number than 100,000.
//!
//! Writes a file of so many lessons into a temporary directory and prints, in one run and as CPU time: how long `grep -c` takes for that file, how long a process
//! takes to read it, how long the index takes to be built, the first answer and the later ones. The failures are made by a seeded generator: half of them
//! are one of 2,000 that come again, in other words; the others share words, files and kinds of errors, but no line.

use reflexion_core::domain::{Category, FailureKey, FailureKind, Reflection, ReflectionId, SessionId, Timestamp};
use reflexion_memory::curation::State;
use reflexion_memory::recall::{Index, Lesson, Limits, Project, Query};
use std::fs;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::Command;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

const LESSONS: &str = "RECALL_BENCH_LESSONS";
const QUERIES: usize = 400;

/// `SplitMix64`.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % bound as u64) as usize
    }

    /// A word of a project: few are frequent and many are rare.
    fn word(&mut self) -> String {
        const STEMS: [&str; 24] = [
            "parse", "date", "pool", "cart", "user", "token", "queue", "index", "cache", "graph", "node", "render",
            "total", "price", "order", "session", "config", "reader", "writer", "buffer", "stream", "router", "schema",
            "filter",
        ];
        let rank = self.below(3_000).min(self.below(3_000));
        format!(
            "{}_{}{}",
            STEMS[rank % 24],
            STEMS[(rank / 24) % 24],
            if rank > 576 { (rank / 576).to_string() } else { String::new() }
        )
    }
}

fn failure(random: &mut Random) -> FailureKey {
    const ERRORS: [&str; 8] =
        ["TypeError", "ValueError", "KeyError", "AssertionError", "E0308", "E0502", "TS2322", "IndexError"];
    let (error, tool) = (ERRORS[random.below(8)], ["pytest", "cargo", "tsc", "jest"][random.below(4)]);
    let (file, function) = (random.word(), random.word());
    let tests = (0..=random.below(3)).map(|_| format!("tests/test_{file}.py::test_{}", random.word())).collect();
    let mut lines = vec![format!("{error}: expected `{}` of `{function}`, found `{}`", random.word(), random.word())];
    for _ in 0..3 + random.below(5) {
        lines.push(format!(
            "src/{file}.py:<n>: error in {function}: cannot {} the {} of {}",
            random.word(),
            random.word(),
            random.word()
        ));
    }
    FailureKey {
        tool: tool.to_owned(),
        kind: FailureKind::Tests,
        code: Some(error.to_owned()),
        tests,
        exceptions: vec![error.to_owned()],
        frames: vec![format!("src/{file}.py in {function}")],
        lines,
    }
}

fn lessons(count: usize) -> Vec<Lesson> {
    let mut random = Random(7);
    let known: Vec<FailureKey> = (0..2_000).map(|_| failure(&mut random)).collect();
    (0..count)
        .map(|n| {
            let failure = if n % 2 == 0 {
                let mut again = known[random.below(known.len())].clone();
                again.lines.push(format!("error: {} failed", random.word()));
                again
            } else {
                failure(&mut random)
            };
            let reflection = Reflection {
                id: ReflectionId::new(format!("ref-{n:08}")),
                session_id: SessionId::new(format!("session-{n:08}")),
                task_id: format!("task-{:06}", n / 3),
                subtask_id: format!("task-{:06}", n / 3),
                attempt_number: 1,
                category: Category::RootCause,
                analysis: "The parser was given the file twice, and the second time it was empty. ".repeat(2),
                suggestion: "Read the file once, keep the tokens, and let both callers use them.".to_owned(),
                action_items: Vec::new(),
                confidence: 0.5,
                created_at: Timestamp::UNIX_EPOCH,
                v: 1,
                origin: None,
                already_tried: None,
                signature: None,
                failure: None,
                replaces: None,
                files: Vec::new(),
                foreign: false,
            };
            Lesson {
                reflection,
                failure,
                state: State::Probation,
                at_home: true,
                project: Project::Own,
                helps: None,
                seen: 1,
            }
        })
        .collect()
}

/// CPU time of this thread, because the machine may have other work; what a second one does for the index is not in it.
fn timed<T>(of: impl FnOnce() -> T) -> (T, Duration) {
    let start = cpu();
    let value = of();
    (value, cpu().saturating_sub(start))
}

/// CPU time of this thread, or what the clock says where the system does not tell it.
fn cpu() -> Duration {
    let told = fs::read_to_string("/proc/thread-self/schedstat").ok();
    let spent = told.and_then(|told| told.split(' ').next()?.parse().ok());
    spent.map_or_else(|| START.elapsed(), Duration::from_nanos)
}

static START: LazyLock<Instant> = LazyLock::new(Instant::now);

/// CPU time of a `grep`, the mean of ten, as the system tells it in steps of 10 ms.
fn grep_cpu(path: &Path) -> Duration {
    let spent = || -> f64 {
        let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
        // `cutime` and `cstime`, fields 16 and 17 of proc(5).
        stat.rsplit(')')
            .next()
            .unwrap_or_default()
            .split(' ')
            .skip(14)
            .take(2)
            .filter_map(|f| f.parse::<f64>().ok())
            .sum()
    };
    let before = spent();
    for _ in 0..10 {
        // Into a pipe: `grep` stops at the first hit when its output goes nowhere.
        Command::new("grep").args(["-c", "ref-none"]).arg(path).env("LC_ALL", "C").output().expect("grep");
    }
    Duration::from_secs_f64((spent() - before) / 1000.0)
}

fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}

fn main() {
    let count = std::env::var(LESSONS).map_or(100_000, |number| number.parse().expect("a number of lessons"));
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("lessons.jsonl");
    let mut file = BufWriter::new(fs::File::create(&path).expect("a file"));
    for lesson in lessons(count) {
        serde_json::to_writer(&mut file, &(lesson.reflection, lesson.failure)).expect("JSON");
        file.write_all(b"\n").expect("write");
    }
    file.flush().expect("write");
    let grepped = grep_cpu(&path);
    let (text, read) = timed(|| fs::read_to_string(&path).expect("the file"));
    let (lessons, parsed) = timed(|| text.lines().map(lesson_of).collect::<Vec<_>>());
    let (index, first) = timed(|| Index::of(&lessons));
    let built = (0..5).map(|_| timed(|| drop(Index::of(&lessons))).1).min().unwrap_or_default();
    println!("{count} lessons, {} MB; in ms CPU: grep -c {:.0}", text.len() / 1_000_000, ms(grepped));
    println!(
        "read {:.0} ms, parsed {:.0} ms; index built {:.0} ms the first time, {:.0} ms at best",
        ms(read),
        ms(parsed),
        ms(first),
        ms(built)
    );
    ask(&index, &lessons);
}

fn lesson_of(line: &str) -> Lesson {
    let (reflection, failure) = serde_json::from_str(line).expect("a lesson");
    Lesson { reflection, failure, state: State::Probation, at_home: true, project: Project::Own, helps: None, seen: 1 }
}

fn ask(index: &Index<'_>, lessons: &[Lesson]) {
    let mut random = Random(11);
    let mut queries = Vec::new();
    for n in 0..QUERIES {
        let known = &lessons[random.below(lessons.len())];
        let failure = if n % 2 == 0 { known.failure.clone() } else { failure(&mut random) };
        let task = if n % 4 == 0 { known.reflection.task_id.clone() } else { "new".to_owned() };
        queries.push(Query { subtask: task.clone(), task, failure: Some(failure), task_text: String::new() });
    }
    let mut took: Vec<Duration> = Vec::new();
    let mut chosen = 0;
    for query in &queries {
        // The system tells CPU time in steps that are too long for one answer: the best of three by the clock.
        let once = || {
            let start = Instant::now();
            let recall = index.recall(query, &Limits::default());
            (start.elapsed(), recall.fits.len())
        };
        let (time, found) = (0..3).map(|_| once()).min().unwrap_or_default();
        chosen += usize::from(found > 0);
        took.push(time);
    }
    took.sort();
    println!(
        "recall, by the clock: median {:.2} ms, 99 of 100 below {:.2} ms, slowest {:.2} ms; {chosen} of {QUERIES} have an answer",
        ms(took[QUERIES / 2]),
        ms(took[QUERIES * 99 / 100]),
        ms(took[QUERIES - 1]),
    );
}
