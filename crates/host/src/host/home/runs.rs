//! What runs have left in the home directory: one file for each run, below the user's state, so that every project's next run knows.
//!
//! It is written when a run begins, with what there is, and replaced when the run ends by what is another one since, or removed. Of a run that was
//! killed, whatever differs from its beginning counts. A person who trusts a change accepts it; a file that is as it was before, or is another one
//! than the run left, is nobody's question any more.

use super::change::How;
use super::trees::Stamp;
use super::{Found, HomeChange, HomeFiles, HomePlaces, change, name, short};
use crate::domain::{RunId, TrustItem, TrustKind, policy};
use crate::files::{Kind, Place};
use crate::host::lock::lock_holder;
use crate::host::process::project_key;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fmt::Write;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const VERSION: u32 = 1;

/// What runs of one user leave in the home directory.
#[derive(Debug, Clone)]
pub struct HomeRuns {
    /// `$XDG_STATE_HOME/reflexion/home`.
    dir: Place,
    project: PathBuf,
}

/// One run's file.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Kept {
    v: u32,
    run: String,
    /// The project.
    dir: PathText,
    home: PathText,
    /// When it began, in seconds since 1970.
    began: u64,
    /// [`HomeFiles::lines`] of its beginning, with the run as salt.
    files: Vec<String>,
    /// What its set-up and checks change at the base.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    own: BTreeSet<PathText>,
    /// What a person has accepted since.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    accepted: Vec<Left>,
    /// What is another one since, once the run has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    left: Option<Vec<Left>>,
}

/// A file as a run left it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Left {
    path: PathText,
    how: How,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tree: Option<PathText>,
    /// What it was before the run; none: it was not there, or is one of many in a tree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    was: Option<String>,
    /// What it is; none: it is gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    now: Option<String>,
}

/// A path, which may be no text.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(untagged)]
enum PathText {
    Text(String),
    Bytes(Vec<u8>),
}

impl From<&Path> for PathText {
    fn from(path: &Path) -> Self {
        path.to_str()
            .map_or_else(|| Self::Bytes(path.as_os_str().as_bytes().to_owned()), |text| Self::Text(text.to_owned()))
    }
}

impl PathText {
    fn path(&self) -> PathBuf {
        match self {
            Self::Text(text) => PathBuf::from(text),
            Self::Bytes(bytes) => PathBuf::from(OsString::from_vec(bytes.clone())),
        }
    }
}

impl Left {
    /// `files`: the lines of the run's beginning.
    fn of(change: &HomeChange, salt: &str, (files, home): (&[String], &Path)) -> Self {
        let called = name(&change.path, home);
        let before = files.iter().filter_map(|line| line.split_once(' ')).find(|(_, file)| *file == called);
        let was = before.map(|(digest, _)| digest.to_owned()).filter(|_| change.tree.is_none());
        let now = digest_at(&change.path, change.tree.is_some(), salt);
        Self {
            path: PathText::from(&*change.path),
            how: change.how,
            tree: change.tree.as_deref().map(PathText::from),
            was,
            now: now.filter(|_| change.how != How::Unnamed),
        }
    }

    /// Whether it is not as it was before the run: whatever became of it since may have come of what the run left. What nobody can name is so until
    /// a person accepts it.
    fn is_still_so(&self, salt: &str) -> bool {
        let now = digest_at(&self.path.path(), self.tree.is_some(), salt);
        match self.how {
            How::Unnamed => true,
            How::Added => now.is_some(),
            How::Removed => now.is_none() || self.was.is_some() && now != self.was,
            // Of a file in a tree nobody knows what it was.
            How::Changed => {
                if self.was.is_none() {
                    now.is_some()
                } else {
                    now != self.was
                }
            }
        }
    }

    fn change(&self) -> HomeChange {
        HomeChange {
            path: self.path.path(),
            how: self.how,
            tree: self.tree.as_ref().map(PathText::path),
            of_programs: false,
        }
    }
}

/// Whether these are one directory, by whatever name.
fn is_same(one: &Path, other: &Path) -> bool {
    one == other || matches!((one.canonicalize(), other.canonicalize()), (Ok(one), Ok(other)) if one == other)
}

/// What is at a path now.
fn digest_at(path: &Path, in_tree: bool, salt: &str) -> Option<String> {
    if in_tree {
        return Stamp::at(path).map(|stamp| short(&Sha256::digest(format!("{salt} {stamp:?}"))));
    }
    Found::at(path).map(|found| found.digest(salt))
}

/// Something that a run left and that a person is asked about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftInHome {
    /// For the question.
    pub item: TrustItem,
    /// The name of the run's file.
    file: OsString,
    left: Vec<Left>,
}

/// The beginning of a run.
#[derive(Debug, Clone, Default)]
pub(in crate::host) struct Beginning {
    /// [`HomeFiles::lines`] of it.
    pub lines: Vec<String>,
    /// When that was; none where an older version did not say.
    pub at: Option<SystemTime>,
    /// What set-up and checks have changed at the base since, in an earlier process.
    pub own: BTreeSet<PathBuf>,
}

impl HomeRuns {
    /// Those that this user's projects share; nothing is read or made yet.
    #[must_use]
    pub fn of(project: &policy::Project) -> Self {
        Self { dir: Place::new(project.user_state(), "home"), project: project.root.clone() }
    }

    fn file(&self, run: &RunId) -> OsString {
        let key = project_key(&self.project.join(".reflection")).unwrap_or_default();
        OsString::from(format!("{key}.{run}.json"))
    }

    /// Notes what is there when a run begins. What an earlier process of it had noted stays, but for where it ended.
    ///
    /// # Errors
    /// If it cannot be written down.
    pub(in crate::host) fn begin(
        &self,
        run: &RunId,
        places: &HomePlaces,
        beginning: Beginning,
    ) -> io::Result<Beginning> {
        let file = self.file(run);
        for other in self.files()?.iter().filter(|other| **other != file) {
            self.settle(other, places)?;
        }
        let earlier = self.read(&file)?.filter(|earlier| earlier.files == beginning.lines);
        let mut kept = earlier.unwrap_or_else(|| self.kept_of(run, places, beginning));
        kept.left = None;
        self.write(&file, &kept)?;
        let at = (kept.began > 0).then(|| UNIX_EPOCH + Duration::from_secs(kept.began));
        Ok(Beginning { lines: kept.files, at, own: kept.own.iter().map(PathText::path).collect() })
    }

    /// What set-up and checks of other projects whose runs are at work change at their base.
    ///
    /// # Errors
    /// If what is noted cannot be read.
    pub(in crate::host) fn own_of_others(&self, run: &RunId) -> io::Result<BTreeSet<PathBuf>> {
        let own = self.file(run);
        let others = self.files()?.into_iter().filter(|file| *file != own);
        let kept: Vec<Kept> = others.filter_map(|file| self.read(&file).transpose()).collect::<io::Result<_>>()?;
        Ok(kept.iter().filter(|kept| kept.lives()).flat_map(|kept| kept.own.iter().map(PathText::path)).collect())
    }

    /// Notes which files set-up and checks change at the base of a run.
    ///
    /// # Errors
    /// If it cannot be written down.
    pub(in crate::host) fn note_own(&self, run: &RunId, own: &BTreeSet<PathBuf>) -> io::Result<()> {
        let file = self.file(run);
        let Some(mut kept) = self.read(&file)? else { return Ok(()) };
        kept.own = own.iter().map(|path| PathText::from(&**path)).collect();
        self.write(&file, &kept)
    }

    /// Notes what is another one at the end of a run; the next run asks about that.
    ///
    /// # Errors
    /// If it cannot be written down.
    pub(in crate::host) fn end(&self, run: &RunId, places: &HomePlaces, changes: &[HomeChange]) -> io::Result<()> {
        let file = self.file(run);
        let kept = self.read(&file)?;
        let accepted = kept.as_ref().map(|kept| kept.accepted.clone()).unwrap_or_default();
        let files = kept.as_ref().map(|kept| kept.files.clone()).unwrap_or_default();
        let left = changes
            .iter()
            .filter(|change| !change.is_of_programs())
            .map(|change| Left::of(change, run.as_str(), (&files, places.home())));
        let left: Vec<Left> = left.filter(|left| !accepted.contains(left)).collect();
        if left.is_empty() {
            return self.dir.join(&file).remove();
        }
        let kept = kept.unwrap_or_else(|| self.kept_of(run, places, Beginning::default()));
        self.write(&file, &Kept { left: Some(left), ..kept })
    }

    fn kept_of(&self, run: &RunId, places: &HomePlaces, beginning: Beginning) -> Kept {
        let began = beginning.at.unwrap_or(UNIX_EPOCH).duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        Kept {
            v: VERSION,
            run: run.to_string(),
            dir: PathText::from(&*self.project),
            home: PathText::from(places.home()),
            began,
            files: beginning.lines,
            own: BTreeSet::new(),
            accepted: Vec::new(),
            left: None,
        }
    }

    /// What runs of this user have left that is still so; of the run that is gone on with, nothing: it compares for itself.
    ///
    /// # Errors
    /// If what is noted cannot be read.
    pub fn left(&self, places: &HomePlaces, going_on: Option<&RunId>) -> io::Result<Vec<LeftInHome>> {
        let going_on = going_on.map(|run| self.file(run));
        let mut found = Vec::new();
        let mut now = None;
        for file in self.files()?.into_iter().filter(|file| Some(file) != going_on.as_ref()) {
            let Some(kept) = self.read(&file)?.filter(|kept| is_same(&kept.home.path(), places.home())) else {
                continue;
            };
            let left = kept.still_left(|| now.get_or_insert_with(|| HomeFiles::now(places)).clone());
            let changes: Vec<HomeChange> = left.iter().map(Left::change).collect();
            for (tree, changes) in change::together(&changes) {
                let left = left.iter().filter(|left| changes.iter().any(|change| left.change() == **change)).cloned();
                let item = item(&kept, tree, &changes, places);
                found.push(LeftInHome { item, file: file.clone(), left: left.collect() });
            }
        }
        Ok(found)
    }

    /// Accepts these as the user's own.
    ///
    /// # Errors
    /// If it cannot be written down.
    pub fn accept<'a>(&self, places: &HomePlaces, accepted: impl Iterator<Item = &'a LeftInHome>) -> io::Result<()> {
        for LeftInHome { file, left, .. } in accepted {
            if let Some(mut kept) = self.read(file)? {
                kept.accepted
                    .extend(left.iter().filter(|left| !kept.accepted.contains(left)).cloned().collect::<Vec<_>>());
                self.write(file, &kept)?;
            }
            self.settle(file, places)?;
        }
        Ok(())
    }

    /// Of a run that lives no more, what is so still: what is another one later was not its doing.
    fn settle(&self, file: &OsString, places: &HomePlaces) -> io::Result<()> {
        let is_settled = |kept: &Kept| kept.lives() || !is_same(&kept.home.path(), places.home());
        let Some(kept) = self.read(file)?.filter(|kept| !is_settled(kept)) else { return Ok(()) };
        let left = kept.still_left(|| HomeFiles::now(places));
        if left.is_empty() {
            return self.dir.join(file).remove();
        }
        if kept.left.as_ref() == Some(&left) { Ok(()) } else { self.write(file, &Kept { left: Some(left), ..kept }) }
    }

    fn files(&self) -> io::Result<Vec<OsString>> {
        let files = self.dir.list()?.into_iter().filter(|(_, kind)| *kind == Kind::File).map(|(name, _)| name);
        let mut files: Vec<OsString> = files.filter(|name| name.as_bytes().ends_with(b".json")).collect();
        files.sort();
        Ok(files)
    }

    /// None: it is not there, or of a newer version.
    fn read(&self, file: &OsString) -> io::Result<Option<Kept>> {
        let place = self.dir.join(file);
        let bytes = match place.read() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            other => other?,
        };
        #[derive(Deserialize)]
        struct Version {
            v: u32,
        }
        if serde_json::from_slice(&bytes).is_ok_and(|of: Version| of.v > VERSION) {
            return Ok(None);
        }
        let kept: Kept = serde_json::from_slice(&bytes).map_err(|error| {
            io::Error::other(format!(
                "{}: {error}: look at what tools read in your home directory (docs: sandbox), and remove that file",
                place.path().display()
            ))
        })?;
        Ok(Some(kept))
    }

    fn write(&self, file: &OsString, kept: &Kept) -> io::Result<()> {
        let (place, mut bytes) = (self.dir.join(file), serde_json::to_vec(kept)?);
        bytes.push(b'\n');
        if place.create_private(&bytes)? { Ok(()) } else { place.replace(&bytes) }
    }
}

impl Kept {
    /// What is as the run left it, and not accepted.
    fn still_left(&self, now: impl FnOnce() -> HomeFiles) -> Vec<Left> {
        let left = if let Some(left) = &self.left {
            left.clone()
        } else {
            let at = (self.began > 0).then(|| UNIX_EPOCH + Duration::from_secs(self.began));
            let own = |change: &HomeChange| self.own.contains(&PathText::from(&*change.path));
            let changes = now().changes_since_lines(&self.files, &self.run, at);
            let asked = changes.iter().filter(|change| !own(change) && !change.is_of_programs());
            asked.map(|change| Left::of(change, &self.run, (&self.files, &self.home.path()))).collect()
        };
        left.into_iter().filter(|left| !self.accepted.contains(left) && left.is_still_so(&self.run)).collect()
    }

    /// Whether the run is at work.
    fn lives(&self) -> bool {
        let holder = lock_holder(&self.dir.path().join(".reflection"));
        holder.is_ok_and(|holder| holder.is_some_and(|holder| holder.run == self.run))
    }
}

/// Limit of files that one question names.
const MOST_NAMED: usize = 40;

fn item(kept: &Kept, tree: Option<&PathBuf>, changes: &[&HomeChange], places: &HomePlaces) -> TrustItem {
    let mut changes = changes.to_vec();
    changes.sort_by_key(|change| !change.runs_by_itself());
    let how = match changes[0].how {
        How::Unnamed => "other in its files".to_owned(),
        how => how.words().trim_start_matches("was ").to_owned(),
    };
    let (first, others) = (&changes[0], &changes[1..]);
    let below = |change: &HomeChange| match tree.and_then(|tree| change.path.strip_prefix(tree).ok()) {
        Some(below) => name(below, places.home()),
        None => name(&change.path, places.home()),
    };
    let named = others.iter().take(MOST_NAMED).map(|change| format!("{} {}", below(change), change.how.words()));
    let mut named = named.collect::<Vec<_>>().join(", ");
    if others.len() > MOST_NAMED {
        let _ = write!(named, ", and {} more", others.len() - MOST_NAMED);
    }
    let (more, read) = match tree.filter(|_| !others.is_empty()) {
        Some(tree) => (format!("; in {} {named}", name(tree, places.home())), "tools read them"),
        None => (String::new(), "tools read it"),
    };
    let text = format!("{how} while agents or checks ran (run {}){more}; {read}", kept.run);
    TrustItem::new(name(&first.path, places.home()), TrustKind::Home, text)
}
