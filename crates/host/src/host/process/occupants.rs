//! Who stands in a directory, or holds a file of it open.

use super::table::Process;
use std::path::Path;

/// Whether a process other than this one works below the directory, or one that we started has something below it open.
///
/// Processes of other users cannot be looked into, and nothing that we started is theirs.
pub(in crate::host) fn is_occupied(dir: &Path) -> bool {
    // The kernel names them without links.
    let Ok(dir) = dir.canonicalize() else { return false };
    let me = rustix::process::getpid().as_raw_pid();
    let pids = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let mut pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok()).filter(|pid| *pid != me);
    let works_there = |pid| std::fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd.starts_with(&dir));
    let ours = Process::ours();
    pids.any(works_there) || ours.iter().any(|process| process.pid != me && has_open(process.pid, &dir))
}

fn has_open(pid: i32, dir: &Path) -> bool {
    let files = std::fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    files.filter_map(|file| std::fs::read_link(file.path()).ok()).any(|path| path.starts_with(dir))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn whoever_stands_there_or_has_a_file_open_is_seen() {
        let dir = tempfile::tempdir().unwrap();
        let check = |command: &mut Command, expected: bool| {
            let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
            // It has come to its program when it says something.
            let mut line = String::new();
            std::io::BufRead::read_line(&mut std::io::BufReader::new(child.stdout.as_mut().unwrap()), &mut line)
                .unwrap();
            assert_eq!(is_occupied(dir.path()), expected, "{command:?}");
            drop(child.stdin.take());
            child.wait().unwrap();
        };
        let shell = |line: &str| {
            let mut command = Command::new("sh");
            command.args(["-c", line]).current_dir("/");
            command
        };
        check(shell("echo; read x").current_dir(dir.path()), true);
        check(shell("exec 7> \"$F\"; echo; read x").env("F", dir.path().join("f")), true);
        check(&mut shell("echo; read x"), false);
        assert!(!is_occupied(dir.path()));
    }
}
