//! What a person trusts, in a file in their own state directory, outside of every project.

use super::append_log::AppendLog;
use super::lines::{bare, for_each_line};
use crate::domain::{Timestamp, TrustItem};
use crate::files::Place;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

const VERSION: u32 = 1;

/// What a person trusts in one directory. Nothing is kept in memory: another process may be told meanwhile.
#[derive(Debug, Clone)]
pub struct TrustFile {
    log: AppendLog,
    dir: String,
}

/// What stands in the file for one directory, by digest.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Trusted(BTreeMap<String, TrustItem>);

impl Trusted {
    /// Whether this is trusted, wherever it is named.
    #[must_use]
    pub fn has(&self, item: &TrustItem) -> bool {
        item.digests_that_cover().any(|digest| self.0.contains_key(&digest))
    }

    /// Those that are not trusted.
    #[must_use]
    pub fn missing<'a>(&self, items: &'a [TrustItem]) -> Vec<&'a TrustItem> {
        items.iter().filter(|item| !self.has(item)).collect()
    }

    /// Those that are trusted, and not among these, wherever they are named.
    #[must_use]
    pub fn gone(&self, items: &[TrustItem]) -> Vec<&TrustItem> {
        let named: BTreeSet<String> = items.iter().flat_map(TrustItem::digests_that_cover).collect();
        self.0.iter().filter(|(digest, _)| !named.contains(*digest)).map(|(_, item)| item).collect()
    }
}

/// One line: something that is trusted in a directory, or that nothing is any more.
#[derive(Debug, Serialize, Deserialize)]
struct Line {
    v: u32,
    dir: String,
    #[serde(flatten)]
    what: What,
    at: Timestamp,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
enum What {
    /// Of the item itself without secrets: what counts is the digest.
    Trusted {
        digest: String,
        #[serde(flatten)]
        item: TrustItem,
    },
    Revoked {
        revoked: bool,
    },
}

impl TrustFile {
    /// The file below the user's state directory (`$XDG_STATE_HOME/reflexion`), for the project at `dir`.
    #[must_use]
    pub fn open(state: &Path, dir: &Path) -> Self {
        Self { log: AppendLog::new(Place::new(state, "trust.jsonl")), dir: name(dir) }
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        self.log.path().to_owned()
    }

    /// What is trusted now. A line that cannot be read makes nothing trusted.
    ///
    /// # Errors
    /// If the file is there and cannot be read.
    pub fn read(&self) -> io::Result<Trusted> {
        let mut trusted = Trusted::default();
        let file = match self.log.place().open_file() {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(trusted),
            other => other?,
        };
        for_each_line(file, |line| {
            let line = line.content.map(bare).and_then(|line| serde_json::from_slice::<Line>(line).ok());
            match line.filter(|line| line.v <= VERSION && line.dir == self.dir).map(|line| line.what) {
                Some(What::Trusted { digest, item }) => {
                    trusted.0.insert(digest, item);
                }
                Some(What::Revoked { revoked: true }) => trusted = Trusted::default(),
                Some(What::Revoked { revoked: false }) | None => {}
            }
            Ok(())
        })?;
        Ok(trusted)
    }

    /// Trusts these too; durable on return.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub async fn add(&self, items: &[TrustItem], at: Timestamp) -> io::Result<()> {
        let trusted = self.read()?;
        self.append(trusted.missing(items).into_iter().map(trust), at).await
    }

    /// Trusts these and nothing else; durable on return.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub async fn replace(&self, items: &[TrustItem], at: Timestamp) -> io::Result<()> {
        let first = std::iter::once(What::Revoked { revoked: true });
        self.append(first.chain(items.iter().map(trust)), at).await
    }

    async fn append(&self, what: impl Iterator<Item = What>, at: Timestamp) -> io::Result<()> {
        let mut lines = Vec::new();
        for what in what {
            serde_json::to_writer(&mut lines, &Line { v: VERSION, dir: self.dir.clone(), what, at })?;
            lines.push(b'\n');
        }
        self.log.append(&lines).await.map_err(io::Error::other)
    }
}

fn trust(item: &TrustItem) -> What {
    What::Trusted { digest: item.digest(), item: item.clone() }
}

/// A directory's own name, without links; what is no text has a digest behind it, so that it is like no other.
fn name(dir: &Path) -> String {
    let dir = dir.canonicalize().unwrap_or_else(|_| dir.to_owned());
    match dir.to_str() {
        Some(text) => text.to_owned(),
        None => format!("{}#{:x}", dir.display(), Sha256::digest(dir.as_os_str().as_bytes())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::TrustKind;

    fn item(place: &str, text: &str) -> TrustItem {
        TrustItem::new(place, TrustKind::Shell, text)
    }

    #[tokio::test]
    async fn what_is_trusted_is_so_in_its_own_directory_until_it_is_revoked() {
        let state = tempfile::tempdir().unwrap();
        let [one, two] = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let file = TrustFile::open(state.path(), one.path());
        assert_eq!(file.read().unwrap(), Trusted::default());
        let at = Timestamp::UNIX_EPOCH;
        file.add(&[item("setup", "make"), item("checks[0]", "make test")], at).await.unwrap();
        let trusted = file.read().unwrap();
        // The same command anywhere, and no other, nor in another directory.
        assert!(trusted.has(&item("task a, check x", "make test")));
        assert!(!trusted.has(&item("setup", "make install")));
        assert!(!trusted.has(&TrustItem::new("setup", TrustKind::Program, "make")));
        assert_eq!(TrustFile::open(state.path(), two.path()).read().unwrap(), Trusted::default());
        let named = [item("elsewhere", "make"), item("setup", "make all")];
        assert_eq!(trusted.missing(&named), [&named[1]]);
        assert_eq!(trusted.gone(&named), [&item("checks[0]", "make test")]);
        // Torn by a crash, and of a newer version.
        use std::io::Write as _;
        let mut torn = std::fs::OpenOptions::new().append(true).open(file.path()).unwrap();
        write!(torn, r#"{{"v":1,"dir":"#).unwrap();
        file.replace(&[item("setup", "make all")], at).await.unwrap();
        let trusted = file.read().unwrap();
        assert!(trusted.has(&item("setup", "make all")) && !trusted.has(&item("setup", "make")));
        file.replace(&[], at).await.unwrap();
        assert_eq!(file.read().unwrap(), Trusted::default());
    }
}
