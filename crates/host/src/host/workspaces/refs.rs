//! Reading refs without starting git, where they are files.
//!
//! A night asks many thousand times whether an agent moved one. Written are refs by git alone. What is not plainly a file with
//! an object's id - a symbolic ref, another way to store refs (reftable) - is git's business too.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// What refs say.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Read<T> {
    Known(T),
    /// Git has to be asked.
    AskGit,
}

/// What a ref, given by its full name, stands on; nothing if it is not there.
///
/// The single file first: git writes `packed-refs` before it removes what it has packed.
pub(super) fn one(git_dir: &Path, name: &str) -> Read<Option<String>> {
    if !are_files(git_dir) || !is_plain(name) {
        return Read::AskGit;
    }
    match fs::read(git_dir.join(name)) {
        Ok(bytes) => match object(&bytes) {
            Some(id) => Read::Known(Some(id)),
            None => Read::AskGit,
        },
        Err(error) if is_absence(&error) => match packed(git_dir) {
            Ok(refs) => Read::Known(lines(&refs).find(|(found, _)| *found == name).map(|(_, id)| id.to_owned())),
            Err(_) => Read::AskGit,
        },
        Err(_) => Read::AskGit,
    }
}

/// All refs below `prefixes` (`refs/heads`), by name; those that begin with `but_not` are left out.
pub(super) fn below(git_dir: &Path, prefixes: &[&str], but_not: Option<&str>) -> Read<BTreeMap<String, String>> {
    if !are_files(git_dir) {
        return Read::AskGit;
    }
    let left_out = |name: &str| but_not.is_some_and(|left_out| name.starts_with(left_out));
    let mut found = BTreeMap::new();
    for prefix in prefixes {
        let skipped = but_not.map(|left_out| git_dir.join(left_out.trim_end_matches('/')));
        let files = files(&git_dir.join(prefix.trim_end_matches('/')), skipped.as_deref());
        for path in files {
            let Some(name) = path.strip_prefix(git_dir).ok().and_then(Path::to_str) else { return Read::AskGit };
            if left_out(name) {
                continue;
            }
            match fs::read(&path) {
                Ok(bytes) => match object(&bytes) {
                    Some(id) => _ = found.insert(name.to_owned(), id),
                    None => return Read::AskGit,
                },
                // Packed or deleted meanwhile.
                Err(error) if is_absence(&error) => {}
                Err(_) => return Read::AskGit,
            }
        }
    }
    let Ok(packed) = packed(git_dir) else { return Read::AskGit };
    for (name, id) in lines(&packed) {
        let is_below =
            |prefix: &&str| name.strip_prefix(prefix.trim_end_matches('/')).is_some_and(|rest| rest.starts_with('/'));
        if prefixes.iter().any(is_below) && !left_out(name) {
            found.entry(name.to_owned()).or_insert_with(|| id.to_owned());
        }
    }
    Read::Known(found)
}

fn are_files(git_dir: &Path) -> bool {
    git_dir.join("refs/heads").is_dir() && !git_dir.join("reftable").exists()
}

/// A full name and nothing that git would look up in a commit or a log.
fn is_plain(name: &str) -> bool {
    name.starts_with("refs/")
        && !name.contains(['^', '~', ':', '\\', '*', '?', '['])
        && !name.contains("@{")
        && !name.contains("..")
}

fn is_absence(error: &io::Error) -> bool {
    use io::ErrorKind::{IsADirectory, NotADirectory, NotFound};
    matches!(error.kind(), NotFound | NotADirectory | IsADirectory)
}

/// Locks are no refs; links are followed as git does.
fn files(dir: &Path, skipped: Option<&Path>) -> Vec<PathBuf> {
    // A ref of this very name is not below it.
    let walk = walkdir::WalkDir::new(dir).min_depth(1).follow_links(true).into_iter();
    walk.filter_entry(|entry| Some(entry.path()) != skipped)
        .flatten()
        .filter(|entry| entry.file_type().is_file() && !entry.path().as_os_str().as_encoded_bytes().ends_with(b".lock"))
        .map(walkdir::DirEntry::into_path)
        .collect()
}

fn packed(git_dir: &Path) -> io::Result<String> {
    match fs::read_to_string(git_dir.join("packed-refs")) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        read => read,
    }
}

/// `id name`, without the header and what annotated tags stand for.
fn lines(packed: &str) -> impl Iterator<Item = (&str, &str)> {
    packed.lines().filter(|line| !line.starts_with(['#', '^'])).filter_map(|line| {
        let (id, name) = line.split_once(' ')?;
        Some((name, id))
    })
}

fn object(bytes: &[u8]) -> Option<String> {
    let id = bytes.trim_ascii_end();
    let is_id = matches!(id.len(), 40 | 64) && id.iter().all(u8::is_ascii_hexdigit);
    is_id.then(|| String::from_utf8_lossy(id).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    fn git(dir: &Path, args: &[&str]) -> String {
        let who = ["-c", "user.name=u", "-c", "user.email=u@example.org"];
        let out = Command::new("git").args(who).args(args).current_dir(dir).output().unwrap();
        assert!(out.status.success(), "{args:?}: {}", String::from_utf8_lossy(&out.stderr));
        String::from_utf8_lossy(&out.stdout).trim().to_owned()
    }

    /// What git says, and what is read.
    fn check(dir: &Path, prefixes: &[&str]) {
        let list = git(dir, &[&["for-each-ref", "--format=%(refname) %(objectname)"], prefixes].concat());
        let told = list.lines().filter_map(|line| line.split_once(' ')).map(|(n, id)| (n.to_owned(), id.to_owned()));
        let told: BTreeMap<_, _> = told.collect();
        let git_dir = dir.join(".git");
        for name in told.keys().map(String::as_str).chain(["refs/heads/none", "refs/heads/a", "refs/heads/main/x"]) {
            assert_eq!(one(&git_dir, name), Read::Known(told.get(name).cloned()), "{name}");
        }
        assert_eq!(below(&git_dir, prefixes, None), Read::Known(told));
    }

    #[test]
    fn refs_are_read_as_git_reads_them() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path();
        git(dir, &["init", "-q", "-b", "main"]);
        git(dir, &["commit", "-q", "--allow-empty", "-m", "1"]);
        for name in ["a/b", "a/c", "z"] {
            git(dir, &["branch", name]);
        }
        git(dir, &["tag", "-a", "-m", "annotated", "v1"]);
        git(dir, &["tag", "light"]);
        check(dir, &["refs/heads", "refs/tags"]);
        git(dir, &["pack-refs", "--all"]);
        check(dir, &["refs/heads", "refs/tags"]);
        git(dir, &["commit", "-q", "--allow-empty", "-m", "2"]);
        git(dir, &["branch", "-f", "a/c", "HEAD"]);
        git(dir, &["branch", "-D", "z"]);
        fs::write(dir.join(".git/refs/heads/a/d.lock"), "").unwrap();
        check(dir, &["refs/heads", "refs/tags"]);
        check(dir, &["refs/heads/a"]);
        let git_dir = dir.join(".git");
        match below(&git_dir, &["refs/heads"], Some("refs/heads/a/")) {
            Read::Known(refs) => assert_eq!(refs.into_keys().collect::<Vec<_>>(), ["refs/heads/main"]),
            Read::AskGit => panic!("these are plain files"),
        }
        for prefix in ["refs/heads/main/", "refs/heads/a/c/", "refs/heads/none/"] {
            assert_eq!(below(&git_dir, &[prefix], None), Read::Known(BTreeMap::new()), "{prefix}");
        }
        for name in ["HEAD", "main", "refs/heads/main^{commit}", "refs/heads/main@{1}", "refs/heads/main~1"] {
            assert_eq!(one(&git_dir, name), Read::AskGit, "{name}");
        }
        git(dir, &["symbolic-ref", "refs/heads/sym", "refs/heads/main"]);
        assert_eq!(one(&git_dir, "refs/heads/sym"), Read::AskGit);
        assert_eq!(below(&git_dir, &["refs/heads"], None), Read::AskGit);
        assert_eq!(one(&dir.join("nothing"), "refs/heads/main"), Read::AskGit);
    }
}
