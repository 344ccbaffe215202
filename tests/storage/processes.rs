//! Several processes on one file, and processes that are stopped.

use super::{all, block_on, line, of, recent, reflection};
use reflexion::domain::Timestamp;
use reflexion::services::{Storage, StorageError};
use reflexion::storage::JsonlStorage;
use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Lines};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

/// A file size limit stands for a disk that fills up in the middle of a write.
#[test]
fn a_write_that_stops_halfway_leaves_nothing_behind() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("m.jsonl");
    let first = line(&reflection("first", "s", 1));
    fs::write(&path, &first).unwrap();
    let script = "trap '' XFSZ; ulimit -f 4; exec \"$0\" \"$@\"";
    // Its output goes through a pipe: this test's own may be a file, and the limit would hold for that too.
    let output = Command::new("sh")
        .args(["-c", script])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "processes::child_process", "--nocapture"])
        .env(ROLE, "overflow")
        .env(FILE, &path)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let small = line(&reflection("small", "s", 1));
    assert_eq!(fs::read_to_string(&path).unwrap(), first + &small);
}

const ROLE: &str = "STORAGE_TEST_ROLE";
const FILE: &str = "STORAGE_TEST_FILE";
const NAME: &str = "STORAGE_TEST_NAME";
const APPENDS: usize = 150;

/// What the other processes of these tests do; run as a test of its own it does nothing.
#[test]
fn child_process() {
    let Ok(role) = std::env::var(ROLE) else {
        return;
    };
    let store = JsonlStorage::open(std::env::var(FILE).unwrap());
    let name = std::env::var(NAME).unwrap_or_default();
    println!("ready");
    block_on(async {
        match role.as_str() {
            "append" => {
                for n in 0..APPENDS {
                    // Old ones are there to be pruned, so that files are replaced all the time.
                    let old = reflection(&format!("old-{name}-{n}"), &name, 1);
                    let new = reflection(&format!("{name}-{n}"), &name, 100);
                    store.append(&[old, new]).await.unwrap();
                }
            }
            "prune" => loop {
                store.prune(Timestamp::from_second(50).unwrap(), &BTreeSet::new()).await.unwrap();
            },
            "overflow" => {
                let mut big = reflection("big", "s", 1);
                big.analysis = "x".repeat(100_000);
                let refused = store.append(&[reflection("x", "s", 1), big]).await;
                assert!(matches!(refused, Err(StorageError::Io { .. })), "{refused:?}");
                assert_eq!(recent(&store, &of("s")).await, ["first"]);
                store.append(&[reflection("small", "s", 1)]).await.unwrap();
            }
            other => panic!("unknown role {other}"),
        }
    });
}

/// A child that is ended when the test is over, however it ends.
struct Running {
    child: Child,
    /// Held open, because a child that prints into a closed pipe fails.
    _stdout: Lines<BufReader<ChildStdout>>,
}

impl Running {
    fn start(role: &str, file: &Path, name: &str) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "processes::child_process", "--nocapture"])
            .env(ROLE, role)
            .env(FILE, file)
            .env(NAME, name)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap().contains("ready")));
        Self { child, _stdout: lines }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn processes_append_while_others_prune_and_nothing_is_lost() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("memory/reflections.jsonl");
    let pruners = ["", ""].map(|name| Running::start("prune", &path, name));
    let mut writers = ["w1", "w2", "w3"].map(|name| Running::start("append", &path, name));
    for writer in &mut writers {
        assert!(writer.child.wait().unwrap().success());
    }
    drop(pruners);
    let found = block_on(all(&path));
    for writer in ["w1", "w2", "w3"] {
        let prefix = format!("{writer}-");
        let own: Vec<_> = found.iter().filter(|id| id.starts_with(&prefix)).collect();
        let expected: Vec<_> = (0..APPENDS).rev().map(|n| format!("{writer}-{n}")).collect();
        assert_eq!(own, expected.iter().collect::<Vec<_>>());
    }
    let report = block_on(JsonlStorage::open(&path).check()).unwrap();
    assert_eq!(report.unreadable, 0, "{report:?}");
}

#[test]
fn a_prune_killed_in_the_middle_leaves_the_old_or_the_new_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("m.jsonl");
    let text = |created: &dyn Fn(usize) -> i64| -> String {
        let record = |n: usize| line(&reflection(&n.to_string(), "s", created(n)));
        (0..20_000).filter(|n| created(*n) > 0).map(record).collect()
    };
    let old = text(&|n| if n % 2 == 0 { 1 } else { 99 });
    let new = text(&|n| if n % 2 == 0 { 0 } else { 99 });
    let in_the_making = || -> Vec<PathBuf> {
        let files = fs::read_dir(dir.path()).unwrap().map(|f| f.unwrap().path());
        files.filter(|f| *f != path).collect()
    };
    for _ in 0..5 {
        fs::write(&path, &old).unwrap();
        let prune = Running::start("prune", &path, "");
        while in_the_making().is_empty() && fs::metadata(&path).unwrap().len() == old.len() as u64 {
            std::thread::yield_now();
        }
        drop(prune);
        let left = fs::read_to_string(&path).unwrap();
        assert!(left == old || left == new, "{} bytes are left", left.len());
    }
    fs::write(&path, &old).unwrap();
    let store = JsonlStorage::open(&path);
    block_on(store.prune(Timestamp::from_second(50).unwrap(), &BTreeSet::new())).unwrap();
    assert!(fs::read_to_string(&path).unwrap() == new);
    assert_eq!(in_the_making(), [""; 0].map(PathBuf::from));
}
