//! The files into which a check's run writes the results of its tests.

use crate::domain::{CheckSpec, FileGlobs};
use crate::files::{Kind, Look, Root};
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;
use std::io;
use std::io::Read;
use std::path::{Path, PathBuf};

/// The limit of all of them together, in bytes: those of some hundred thousand tests.
const BYTES: u64 = 64 << 20;

/// Where a check writes its results, and what stood there before it ran: an agent's file is no result.
pub(super) struct ResultFiles {
    globs: FileGlobs,
    glob: String,
    root: Root,
    before: BTreeMap<PathBuf, Before>,
}

/// A file that stood there before the run.
struct Before {
    written: Written,
    content: Digest,
}

/// When a file was last written to, which nobody can set but the kernel, and which file it is.
type Written = ((i64, i64), u64);
/// Of a file's content.
type Digest = [u8; 32];

impl ResultFiles {
    /// Looks at what is there before the run; none where the check writes none.
    ///
    /// # Errors
    /// In words.
    pub(super) fn of(spec: &CheckSpec, dir: &Path) -> Result<Option<Self>, String> {
        let Some(glob) = &spec.results else { return Ok(None) };
        let unreadable = |error: io::Error| format!("what `{glob}` names cannot be looked at: {error}");
        let globs = FileGlobs::new(std::slice::from_ref(glob)).map_err(|error| error.to_string())?;
        let root = Root::open(dir).map_err(unreadable)?;
        let mut results = Self { globs, glob: glob.clone(), root, before: BTreeMap::new() };
        for (path, look) in results.files().map_err(unreadable)? {
            let content = results.digest(&path).map_err(unreadable)?;
            results.before.insert(path, Before { written: written(&look), content });
        }
        Ok(Some(results))
    }

    fn digest(&self, path: &Path) -> io::Result<Digest> {
        let mut hash = Sha256::new();
        io::copy(&mut self.root.open_file(path)?, &mut hash)?;
        Ok(hash.finalize().into())
    }

    /// The texts of the files that were written since, by name. One with the words that stood there before is none: whoever put it
    /// there, a run that only touches it has written nothing.
    ///
    /// # Errors
    /// In words: there are none, or one cannot be read.
    pub(super) fn read(&self) -> Result<Vec<String>, String> {
        let unreadable = |error: io::Error| format!("what `{}` names cannot be read: {error}", self.glob);
        let mut texts = Vec::new();
        let mut left = BYTES;
        for (path, look) in self.files().map_err(unreadable)? {
            let before = self.before.get(&path);
            if before.is_some_and(|before| before.written == written(&look)) {
                continue;
            }
            let mut text = String::new();
            let file = self.root.open_file(&path).map_err(unreadable)?;
            let read = file.take(left + 1).read_to_string(&mut text).map_err(unreadable)?;
            left = left
                .checked_sub(read as u64)
                .ok_or_else(|| format!("what `{}` names is larger than {BYTES} bytes", self.glob))?;
            if before.is_some_and(|before| before.content == *Sha256::digest(&text)) {
                continue;
            }
            texts.push(text);
        }
        if texts.is_empty() {
            let there = if self.before.is_empty() { "" } else { " but with what stood in it before" };
            return Err(format!("the run has written no file that `{}` names{there}", self.glob));
        }
        Ok(texts)
    }

    /// Regular files that the glob names, in order.
    fn files(&self) -> io::Result<BTreeMap<PathBuf, Look>> {
        let mut found = BTreeMap::new();
        for below in self.globs.below() {
            // Links on the way are refused, as everywhere.
            if self.root.look(below)?.is_none() {
                continue;
            }
            for entry in self.root.walk(below) {
                let (path, look) = entry?;
                let is_xml = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("xml"));
                if look.kind == Kind::File && is_xml && self.globs.has(&path) {
                    found.insert(path, look);
                }
            }
        }
        Ok(found)
    }
}

fn written(look: &Look) -> Written {
    (look.changed, look.inode)
}
