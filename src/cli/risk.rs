//! `reflexion risk`.

use super::args::RiskArgs;
use super::exit::UsageError;
use super::output::{errln, out};
use super::{Exit, project};
use crate::config::ConfigError;
use crate::domain::{Risk, RiskThreshold, Surface};
use crate::services::{ChangesError, Since};
use crate::{config, report, runtime};
use serde::Serialize;
use std::cmp::Reverse;
use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Names of a million files; a longer list is no list of names.
const LIST_BYTES: u64 = 64 << 20;

/// What `--json` prints.
#[derive(Serialize)]
struct Answer {
    #[serde(flatten)]
    risk: Risk,
    files: Vec<File>,
    /// What the files differ from; null for files that were named.
    base: Option<String>,
    base_commit: Option<String>,
    threshold: RiskThreshold,
}

#[derive(Serialize)]
struct File {
    path: String,
    surface: Surface,
}

pub(super) async fn risk(dir: &Path, args: RiskArgs) -> anyhow::Result<Exit> {
    if !dir.is_dir() {
        return Err(UsageError(format!("--project: {} is no directory", dir.display())).into());
    }
    let threshold = match args.threshold {
        Some(threshold) => threshold,
        None => threshold(dir)?,
    };
    let (names, base, base_commit) = if let Some(files) = args.files {
        (given(files)?, None, None)
    } else {
        let since = args.base.map_or(Since::Branch, Since::MergeBase);
        let changed = runtime::changes().changed_files(dir, &since).await.map_err(as_usage)?;
        let names = changed.names().collect();
        let base = changed.against.unwrap_or_else(|| "HEAD".to_owned());
        if !changed.related {
            errln!("note: `{base}` and HEAD have no commit in common, so everything that differs from it is listed");
        }
        (names, Some(base), changed.base)
    };
    let risk = Risk::of(&names, threshold);
    let mut files: Vec<File> = names.into_iter().map(|path| File { surface: Surface::of_path(&path), path }).collect();
    files.sort_by(|a, b| (Reverse(a.surface), &a.path).cmp(&(Reverse(b.surface), &b.path)));
    files.dedup_by(|a, b| a.path == b.path);
    if args.json {
        project::print_json(&Answer { risk, files, base, base_commit, threshold })?;
    } else {
        let shown = report::RiskShown {
            risk: &risk,
            threshold,
            against: base.as_deref(),
            files: files.iter().map(|file| (file.surface, file.path.as_str())).collect(),
        };
        out!("{}", shown.render());
    }
    Ok(Exit::Confirmed)
}

/// The threshold of the project that `dir` lies in; of the environment alone where there is no project.
fn threshold(dir: &Path) -> anyhow::Result<RiskThreshold> {
    let dir = &config::around(dir);
    let effective = match project::load(dir, Vec::new()) {
        Err(error) if matches!(error.downcast_ref(), Some(ConfigError::Missing { .. })) => project::without_file(dir)?,
        loaded => loaded?,
    };
    Ok(effective.settings()?.risk.threshold)
}

/// The files as arguments, or on stdin.
fn given(files: Vec<OsString>) -> anyhow::Result<Vec<String>> {
    if files.iter().any(|file| file.is_empty()) {
        return Err(UsageError("--files: one of the names is empty".to_owned()).into());
    }
    let lossy = |name: &[u8]| OsStr::from_bytes(name).to_string_lossy().into_owned();
    if !files.iter().any(|file| file == "-") {
        return Ok(files.iter().map(|file| lossy(file.as_bytes())).collect());
    }
    if files.len() > 1 {
        return Err(UsageError("--files: `-` reads the names from stdin, and stands alone".to_owned()).into());
    }
    let mut list = Vec::new();
    let read = std::io::stdin().lock().take(LIST_BYTES + 1).read_to_end(&mut list);
    read.map_err(|error| UsageError(format!("stdin: {error}")))?;
    if list.len() as u64 > LIST_BYTES {
        return Err(UsageError(format!("stdin: a list of files has at most {} MiB", LIST_BYTES >> 20)).into());
    }
    Ok(names(&list).iter().map(|name| lossy(name)).collect())
}

/// The names of a list: NUL-separated (`git diff --name-only -z`) if there is a NUL in it, else one a line, where git
/// writes unusual names in double quotes.
fn names(list: &[u8]) -> Vec<Vec<u8>> {
    let with_nul = list.contains(&0);
    let separator = if with_nul { 0 } else { b'\n' };
    let names = list.split(|byte| *byte == separator);
    let names =
        names.map(|name| if with_nul { name.to_vec() } else { unquoted(name.strip_suffix(b"\r").unwrap_or(name)) });
    names.filter(|name| !name.is_empty()).collect()
}

/// A name as git quotes it, see `core.quotePath` in git-config(1); any other as it is.
fn unquoted(line: &[u8]) -> Vec<u8> {
    let Some(inner) = line.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\"")) else {
        return line.to_vec();
    };
    let (mut name, mut rest) = (Vec::new(), inner);
    while let [byte, after @ ..] = rest {
        rest = after;
        if *byte != b'\\' {
            name.push(*byte);
            continue;
        }
        match rest {
            [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', after @ ..] => {
                name.push(((a - b'0') << 6) | ((b - b'0') << 3) | (c - b'0'));
                rest = after;
            }
            [escaped, after @ ..] => {
                name.push(match escaped {
                    b'a' => 7,
                    b'b' => 8,
                    b't' => b'\t',
                    b'n' => b'\n',
                    b'v' => 11,
                    b'f' => 12,
                    b'r' => b'\r',
                    other => *other,
                });
                rest = after;
            }
            [] => {}
        }
    }
    name
}

/// What the user can mend is wrong usage.
fn as_usage(error: ChangesError) -> anyhow::Error {
    match error {
        ChangesError::NoWorkTree { .. } => {
            UsageError(format!("{error}: go to one, or name the files with --files")).into()
        }
        ChangesError::NoCommit { .. } => UsageError(format!("--base: {error}")).into(),
        ChangesError::Git(_) => error.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_as_git_writes_them() {
        let check = |list: &[u8], expected: &[&[u8]]| assert_eq!(names(list), expected, "{}", list.escape_ascii());
        check(b"", &[]);
        check(b"\n\n", &[]);
        check(b"a.rs\nb c.rs\r\n", &[b"a.rs", b"b c.rs"]);
        check(b"a\nb\0c\0", &[b"a\nb", b"c"]);
        check(b"\"a\\tb\\\"\\\\\\303\\244.rs\"\nx\"y\n", &["a\tb\"\\ä.rs".as_bytes(), b"x\"y"]);
        check(b"\"a\0", &[b"\"a"]);
        check(b"\"\\", &[b"\"\\"]);
        check(b"\"\\\"", &[]);
    }
}
