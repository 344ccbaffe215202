//! What remembering costs: `cargo bench --bench memory`.
//!
//! Prints, in one run: what it takes to know a failure by a log of 10 MB, how long a repeated `recent` takes, how many syncs 64 waiting writers need, and what it costs that lessons show who wrote
//! them: `recent` of a new process over 200,000 signed ones (`MEMORY_BENCH_SIGNED` for another number) against as many unsigned ones, as a ratio.
//!
//! `MEMORY_BENCH_RECORDS=1000000 cargo bench --bench memory -- cold` also writes a file of so many reflections of about
//! 1.3 kB into a temporary directory and compares a search by a new process with `LC_ALL=C grep -c ID FILE`, in CPU
//! time. Wanted: at most 1/20 for the newest three of a subtask, at most 1.5 for an id that is not there, below 64 MB.

use criterion::Criterion;
use reflexion::domain::{Category, Reflection, ReflectionId, SessionId, TaskId, Timestamp, policy};
use reflexion::recall::failure_key;
use reflexion::runtime::failed_output;
use reflexion::services::{RecentQuery, Storage};
use reflexion::storage::{JsonlStorage, Seals};
use std::fs;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;

/// Names file and subtask for the process that searches once and says what it took.
const COLD: &str = "MEMORY_BENCH_COLD";
const RECORDS: &str = "MEMORY_BENCH_RECORDS";
const SIGNED: &str = "MEMORY_BENCH_SIGNED";
const LOG_BYTES: usize = 10_000_000;
/// One subtask's ten reflections are spread over so many records.
const SUBTASKS: usize = 100_000;

fn main() {
    if let Ok(query) = std::env::var(COLD) {
        return search_once(&query);
    }
    let mut criterion = Criterion::default().configure_from_args();
    warm(&mut criterion);
    long_log();
    group_commit();
    let signed_ones = std::env::var(SIGNED).map_or(200_000, |number| number.parse().expect("a number of records"));
    signed(signed_ones);
    if let Ok(records) = std::env::var(RECORDS) {
        cold(records.parse().expect("a number of records"));
    }
    criterion.final_summary();
}

fn reflection(n: usize, subtask: String) -> Reflection {
    Reflection {
        id: ReflectionId::new(format!("ref-{n:08}")),
        session_id: SessionId::new(format!("session-{n:08}")),
        task_id: format!("task-{:06}", n % (SUBTASKS / 10)),
        subtask_id: subtask,
        attempt_number: 1,
        category: Category::RootCause,
        analysis: "The check failed because the parser was given the file twice. ".repeat(7),
        suggestion: "Read the file once, keep the tokens, and let both callers use them. ".repeat(6),
        action_items: vec!["Look at the callers of the parser first. ".repeat(3); 2],
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
    }
}

fn newest(subtask: &str) -> RecentQuery {
    RecentQuery { subtask: Some(subtask.to_owned()), limit: Some(3), ..RecentQuery::default() }
}

fn warm(criterion: &mut Criterion) {
    let runtime = Runtime::new().expect("a runtime");
    let dir = tempfile::tempdir().expect("a directory");
    let store = JsonlStorage::open(dir.path().join("reflections.jsonl"));
    let records: Vec<_> = (0..10_000).map(|n| reflection(n, format!("sub-{}", n % 1000))).collect();
    runtime.block_on(store.append(&records)).expect("append");
    for (name, subtask) in [("newest three", "sub-7"), ("absent", "sub-none")] {
        let query = newest(subtask);
        criterion.bench_function(&format!("recent again, {name}"), |bencher| {
            bencher.iter(|| runtime.block_on(store.recent(&query)).expect("recent"));
        });
    }
    let query = newest("sub-none");
    criterion.bench_function("recent after an append of 1.3 kB by another", |bencher| {
        let line = serde_json::to_string(&records[0]).expect("JSON") + "\n";
        let path = dir.path().join("reflections.jsonl");
        let mut other = fs::OpenOptions::new().append(true).open(path).expect("the file");
        bencher.iter_custom(|rounds| {
            let mut spent = std::time::Duration::ZERO;
            for _ in 0..rounds {
                other.write_all(line.as_bytes()).expect("write");
                let start = Instant::now();
                runtime.block_on(store.recent(&query)).expect("recent");
                spent += start.elapsed();
            }
            spent
        });
    });
}

/// What it takes to know a failure by a log of 10 MB, beside a search for one word in it.
fn long_log() {
    let (mut log, mut n) = (String::with_capacity(LOG_BYTES + 200), 0);
    while log.len() < LOG_BYTES {
        let line = format!("2026-11-29T10:00:{:02}Z INFO step {n} of build: compiled src/mod_{}.rs\n", n % 60, n % 400);
        log.push_str(&line);
        n += 1;
    }
    log.push_str("thread 'pool::evicts' panicked at src/pool.rs:12:5:\nassertion failed\ntest result: FAILED. 200 passed; 1 failed\n");
    let file = tempfile::NamedTempFile::new().expect("a file");
    fs::write(file.path(), &log).expect("write");
    let task = TaskId::new("t").expect("a task");
    let start = Instant::now();
    let failure = failed_output(task, 1, log);
    let key = failure_key(&failure.signature, &failure.output.text());
    let took = start.elapsed();
    assert!(!key.is_empty());
    let start = Instant::now();
    let grep = Command::new("grep").args(["-c", "FAILED"]).arg(file.path()).output().expect("grep");
    println!("signature and key of a log of 10 MB: {took:.1?} (wanted: 100 ms); grep: {:.1?}", start.elapsed());
    assert!(grep.status.success());
}

fn group_commit() {
    const WRITERS: usize = 64;
    const EACH: usize = 200;
    let runtime = Runtime::new().expect("a runtime");
    let dir = tempfile::tempdir().expect("a directory");
    let store = JsonlStorage::open(dir.path().join("reflections.jsonl"));
    let (start, cpu) = (Instant::now(), own_cpu_ms());
    runtime.block_on(async {
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let store = store.clone();
                tokio::spawn(async move {
                    for n in 0..EACH {
                        let record = reflection(n, format!("sub-{writer}"));
                        store.append(&[record]).await.expect("append");
                    }
                })
            })
            .collect();
        for writer in writers {
            writer.await.expect("a writer");
        }
    });
    #[expect(clippy::cast_precision_loss, reason = "small numbers")]
    let (records, syncs) = ((WRITERS * EACH) as f64, store.syncs() as f64);
    println!(
        "{WRITERS} writers: {:.1} records per sync (wanted: 16 or more), {:.0} durable appends/s, {:.0} us CPU each",
        records / syncs,
        records / start.elapsed().as_secs_f64(),
        (own_cpu_ms() - cpu) * 1000.0 / records,
    );
}

/// What a keyed digest for each line costs whoever reads.
fn signed(records: usize) {
    const AT_A_TIME: usize = 10_000;
    let runtime = Runtime::new().expect("a runtime");
    let dir = tempfile::tempdir().expect("a directory");
    let (root, rooms) = (dir.path().join("project"), dir.path().join("state/rooms"));
    fs::create_dir(&root).expect("a directory");
    let tasks = root.join("tasks.jsonl");
    let project = policy::Project { name: "p".to_owned(), root, settings: "project.json", tasks, rooms };
    let unsigned_file = dir.path().join("unsigned/reflections.jsonl");
    // A new value each time: what was read before is remembered.
    let signed = || JsonlStorage::of(&project, Seals::of(&project));
    let unsigned = || JsonlStorage::open(&unsigned_file);
    Seals::of(&project).begin().expect("a first run");
    for first in (0..records).step_by(AT_A_TIME) {
        let some = first..(first + AT_A_TIME).min(records);
        let some: Vec<_> = some.map(|n| reflection(n, format!("sub-{}", n % 1000))).collect();
        for store in [signed(), unsigned()] {
            runtime.block_on(store.append(&some)).expect("append");
        }
    }
    let took = |store: JsonlStorage, query: &RecentQuery, wanted: usize| {
        let start = Instant::now();
        assert_eq!(runtime.block_on(store.recent(query)).expect("recent").len(), wanted);
        start.elapsed()
    };
    let own_only = |query: RecentQuery| RecentQuery { own_only: true, ..query };
    println!("{records} records");
    for (name, query, found) in [
        ("recall, newest three", own_only(newest("sub-7")), 3.min(records / 1000)),
        ("recall, absent", own_only(newest("sub-none")), 0),
        ("list", RecentQuery::default(), records),
    ] {
        // By turns, so that both meet the same machine; the fastest of each is what it takes.
        let mut fastest = [Duration::MAX; 2];
        for _ in 0..5 {
            for (fastest, store) in fastest.iter_mut().zip([signed(), unsigned()]) {
                *fastest = took(store, &query, found).min(*fastest);
            }
        }
        let [signed, unsigned] = fastest.map(|fastest| fastest.as_secs_f64() * 1000.0);
        println!("{name}: signed {signed:.1} ms, unsigned {unsigned:.1} ms; ratio {:.2}", signed / unsigned);
    }
}

fn cold(records: usize) {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("reflections.jsonl");
    write_file(&path, records);
    let size = fs::metadata(&path).expect("the file").len();
    println!("{records} records, {} MB", size / 1_000_000);
    for (name, subtask, wanted) in [
        ("newest three, close to the end", "sub-last", "at most 0.05"),
        ("newest three, every 100,000th record", "sub-000777", "nothing: a third of the file is read"),
        ("absent", "sub-none", "at most 1.5"),
    ] {
        let grep = grep_cpu_ms(&path, subtask);
        let search = Command::new(std::env::current_exe().expect("this program"))
            .env(COLD, format!("{}:{subtask}", path.display()))
            .output()
            .expect("a search");
        let words = String::from_utf8_lossy(&search.stdout).into_owned();
        let cpu: f64 = words.split(' ').next().and_then(|ms| ms.parse().ok()).unwrap_or(f64::NAN);
        println!(
            "{name}: ms CPU, found, peak kB: {words}; grep {grep:.0} ms; ratio {:.4} (wanted: {wanted})",
            cpu / grep
        );
    }
}

fn write_file(path: &Path, records: usize) {
    let mut file = BufWriter::new(fs::File::create(path).expect("a file"));
    for n in 0..records {
        let last = n >= records.saturating_sub(1000) && n % 300 == 0;
        let subtask = if last { "sub-last".to_owned() } else { format!("sub-{:06}", n % SUBTASKS) };
        serde_json::to_writer(&mut file, &reflection(n, subtask)).expect("JSON");
        file.write_all(b"\n").expect("write");
    }
    file.flush().expect("write");
}

/// The other process: one search, then what it took in all, from its start.
fn search_once(query: &str) {
    let (path, subtask) = query.rsplit_once(':').expect("FILE:SUBTASK");
    let runtime = Runtime::new().expect("a runtime");
    let found = runtime.block_on(JsonlStorage::open(path).recent(&newest(subtask))).expect("recent");
    let status = fs::read_to_string("/proc/self/status").expect("/proc");
    let peak = status.lines().find_map(|l| l.strip_prefix("VmHWM:"));
    let peak = peak.and_then(|kb| kb.split_whitespace().next()).unwrap_or("?");
    print!("{:.1} {} {peak}", own_cpu_ms(), found.len());
}

/// CPU time of every thread of this process.
fn own_cpu_ms() -> f64 {
    let tasks = fs::read_dir("/proc/self/task").expect("/proc");
    let spent = |task: fs::DirEntry| -> Option<f64> {
        let stat = fs::read_to_string(task.path().join("schedstat")).ok()?;
        stat.split(' ').next()?.parse().ok()
    };
    tasks.flatten().filter_map(spent).sum::<f64>() / 1e6
}

/// CPU time of `grep`, the mean of five runs, because the system tells it in steps of 10 ms.
fn grep_cpu_ms(path: &Path, id: &str) -> f64 {
    let spent = || -> f64 {
        let stat = fs::read_to_string("/proc/self/stat").expect("/proc");
        let fields: Vec<_> = stat.rsplit(')').next().unwrap_or_default().split(' ').collect();
        // `cutime` and `cstime`, fields 16 and 17 of proc(5), in steps of 10 ms.
        fields[14..16].iter().filter_map(|f| f.parse::<f64>().ok()).sum::<f64>() * 10.0
    };
    let before = spent();
    for _ in 0..5 {
        Command::new("grep")
            .args(["-c", id])
            .arg(path)
            .env("LC_ALL", "C")
            // Into a pipe: `grep` stops at the first hit when its output goes nowhere.
            .output()
            .expect("grep");
    }
    (spent() - before) / 5.0
}
