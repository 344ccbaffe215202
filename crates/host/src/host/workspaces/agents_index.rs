//! Reading which files and submodules an agent's index names, without giving it to git.
//!
//! The file is the agent's: its checksum proves nothing, and a git that reads a forged one may end up anywhere. Only names are
//! taken from it, and at which commits submodules are; each is looked at like any other path that an agent made up.

use std::ffi::OsStr;
use std::fmt::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// An index of more bytes than this is not read: one with 100,000 files has some 10 MB.
pub(super) const MOST_BYTES: u64 = 64 << 20;
/// Names of more bytes than this are not believed, and neither is more of all of them together.
const MOST_OF_NAME: usize = 4096;
const MOST_OF_NAMES: usize = 256 << 20;

/// What an index has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Named {
    pub(super) path: PathBuf,
    /// Of a submodule.
    pub(super) commit: Option<String>,
}

/// What is in an index of version 2, 3 or 4 [gitformat-index(5)], as far as it can be read. `id` is the length of an object's
/// name in bytes.
pub(super) fn names(index: &[u8], id: usize) -> Vec<Named> {
    let mut names = Vec::new();
    let mut entries = Entries { rest: index.get(12..).unwrap_or_default(), version: 0, id, name: Vec::new(), all: 0 };
    let (Some(b"DIRC"), Some(version), Some(count)) = (index.get(..4), number(index, 4), number(index, 8)) else {
        return names;
    };
    entries.version = version;
    for _ in 0..count {
        match entries.next() {
            Some(named) => names.push(named),
            None => break,
        }
    }
    names
}

struct Entries<'a> {
    rest: &'a [u8],
    version: u32,
    id: usize,
    /// The name of the last entry; version 4 says only how the next one differs.
    name: Vec<u8>,
    all: usize,
}

impl Entries<'_> {
    fn next(&mut self) -> Option<Named> {
        /// Bit 14 of the flags: two more bytes of them follow.
        const EXTENDED: u8 = 0x40;
        /// The mode of a submodule.
        const SUBMODULE: u32 = 0o160_000;
        let flags = 40 + self.id;
        let is_submodule = number(self.rest, 24)? == SUBMODULE;
        let commit = is_submodule.then(|| self.rest.get(40..flags)).flatten().map(hex);
        let is_extended = self.rest.get(flags)? & EXTENDED != 0;
        let head = flags + if is_extended { 4 } else { 2 };
        let mut at = head;
        if self.version == 4 {
            let (cut, used) = offset(self.rest.get(at..)?)?;
            at += used;
            self.name.truncate(self.name.len().checked_sub(cut)?);
        } else {
            self.name.clear();
        }
        let name = self.rest.get(at..)?;
        let length = memchr::memchr(0, name)?;
        self.name.extend_from_slice(&name[..length]);
        self.all += self.name.len();
        if self.name.len() > MOST_OF_NAME || self.all > MOST_OF_NAMES {
            return None;
        }
        // Before version 4, an entry is padded with one to eight NULs to a multiple of eight bytes.
        let end = if self.version == 4 { at + length + 1 } else { (at + length) / 8 * 8 + 8 };
        self.rest = self.rest.get(end..)?;
        Some(Named { path: PathBuf::from(OsStr::from_bytes(&self.name)), commit })
    }
}

fn hex(id: &[u8]) -> String {
    id.iter().fold(String::new(), |mut text, byte| {
        // Writing to a text never fails.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// A number as packs have it for offsets [gitformat-pack(5)], and how many bytes it takes.
fn offset(bytes: &[u8]) -> Option<(usize, usize)> {
    let mut value = 0_usize;
    for (used, byte) in bytes.iter().enumerate().take(5) {
        value = (value << 7) | usize::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            return Some((value, used + 1));
        }
        value += 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;
    use std::process::Command;

    fn git(dir: &Path, args: &[&str]) {
        assert!(Command::new("git").args(args).current_dir(dir).status().unwrap().success(), "{args:?}");
    }

    #[test]
    fn what_git_has_written_is_read() {
        for (version, format) in [("2", "sha1"), ("4", "sha1"), ("2", "sha256")] {
            let dir = tempfile::tempdir().unwrap();
            let format_option = format!("--object-format={format}");
            git(dir.path(), &["init", "-q", &format_option]);
            let mut expected: Vec<PathBuf> = (0..40).map(|n| format!("dir/{}/name{n}", "x".repeat(n)).into()).collect();
            expected.push("new".into());
            for path in &expected {
                let full = dir.path().join(path);
                std::fs::create_dir_all(full.parent().unwrap()).unwrap();
                std::fs::write(full, "").unwrap();
            }
            git(dir.path(), &["add", "dir"]);
            // Version 3 has more flags.
            git(dir.path(), &["add", "-N", "new"]);
            let commit = "0123456789abcdef".repeat(4)[..if format == "sha1" { 40 } else { 64 }].to_owned();
            git(dir.path(), &["update-index", "--add", "--cacheinfo", &format!("160000,{commit},dir/sub")]);
            git(dir.path(), &["update-index", "--index-version", version]);
            let index = std::fs::read(dir.path().join(".git/index")).unwrap();
            let found = names(&index, if format == "sha1" { 20 } else { 32 });
            let mut expected: Vec<Named> = expected.into_iter().map(|path| Named { path, commit: None }).collect();
            expected.push(Named { path: "dir/sub".into(), commit: Some(commit) });
            expected.sort_by(|a, b| a.path.as_os_str().cmp(b.path.as_os_str()));
            assert_eq!(found, expected, "version {version}, {format}");
        }
    }

    #[test]
    fn no_bytes_break_it() {
        let dir = tempfile::tempdir().unwrap();
        git(dir.path(), &["init", "-q"]);
        std::fs::write(dir.path().join("a"), "").unwrap();
        git(dir.path(), &["add", "a"]);
        let index = std::fs::read(dir.path().join(".git/index")).unwrap();
        for at in 0..index.len() {
            for byte in [0, 0x40, 0x80, 0xff] {
                let mut forged = index.clone();
                forged[at] = byte;
                names(&forged, 20);
                names(&forged[..at], 20);
            }
        }
        assert!(names(b"DIRC\0\0\0\x04\xff\xff\xff\xff", 20).is_empty());
    }
}
