//! The runtime's own repository of a project, `.reflection/repository.git`.
//!
//! All that git does in a workspace it does from here: settings, attributes and patterns of what is ignored were taken over from
//! the user's repository when the run began, the index of each workspace is a file beside it, and no `.git` that an agent can
//! reach is ever asked. It borrows the objects of the user's repository and keeps those of recorded trees, whether they are
//! confirmed or not, so that no `git gc` of the user's loses one.

use super::layout::{Layout, blocking, io_error};
use super::settings::{Settings, sections};
use crate::files::{Kind, Root};
use crate::host::git::Git;
use crate::services::WorkspaceError;
use sha2::{Digest, Sha256};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// How the names of objects are made, as `extensions.objectFormat` has it.
const SHA1: &str = "sha1";

/// Whether git looks at permissions.
pub(super) const FILE_MODE: &str = "core.filemode";
pub(super) const IGNORE_CASE: &str = "core.ignorecase";

/// Where filters keep keys in a git directory: programs of the user's, which look for them where git says that it is.
const OF_FILTERS: [&str; 1] = ["git-crypt"];

/// What of the user's repository decides about files, frozen.
#[derive(Debug, Clone, Default)]
pub(super) struct Frozen {
    settings: Settings,
    /// `sha1` or `sha256`.
    format: String,
    /// Where its objects are; none: there is no repository of the user's.
    objects: Option<PathBuf>,
    /// `info/exclude`, the user's file of ignored names, `info/attributes`, the user's file of attributes, `shallow`.
    exclude: Vec<u8>,
    excludes_file: Vec<u8>,
    attributes: Vec<u8>,
    attributes_file: Vec<u8>,
    pub(super) shallow: Option<Vec<u8>>,
}

impl Frozen {
    /// Of the user's repository with this shared git directory, asked by `git`.
    pub(super) async fn of_user(git: &Git, git_dir: &Path) -> Result<Self, WorkspaceError> {
        let all = Settings::parse(&git.call(["config", "--list", "--includes", "-z"]).ok().await?);
        let format = git.call(["rev-parse", "--show-object-format"]).line().await?;
        // Without the list, nothing but what is known to be of use is taken over.
        let known = git.call(["help", "--config"]).run().await?.stdout;
        let dir = git_dir.to_owned();
        blocking(move || {
            let mut settings = all.of_files(&sections(&known));
            if settings.get("lfs.storage").is_none_or(|storage| Path::new(storage).is_relative()) {
                let storage = dir.join(settings.get("lfs.storage").unwrap_or("lfs"));
                settings.set("lfs.storage", storage.display().to_string());
            }
            let of_user = |key: &str, name: &str| {
                let path = all.get(key).map_or_else(|| config_home().join("git").join(name), expanded);
                regular(&path).unwrap_or_default()
            };
            let own = |name: &str| regular(&dir.join(name));
            Ok(Self {
                format,
                exclude: own("info/exclude").unwrap_or_default(),
                excludes_file: of_user("core.excludesfile", "ignore"),
                attributes: own("info/attributes").unwrap_or_default(),
                attributes_file: of_user("core.attributesfile", "attributes"),
                shallow: own("shallow"),
                objects: Some(dir.join("objects")),
                settings,
            })
        })
        .await
    }

    /// Of a project without a repository: byte for byte, no line ending is converted and no filter runs.
    pub(super) fn plain() -> Self {
        Self {
            format: SHA1.to_owned(),
            attributes: b"* -text -eol -filter -ident -working-tree-encoding\n".to_vec(),
            ..Self::default()
        }
    }

    /// Whether the user's git looks at no permissions of files, be it that their file system has none.
    pub(super) fn ignores_modes(&self) -> bool {
        let is_no = |value: &str| ["false", "no", "off", "0", ""].contains(&value.to_ascii_lowercase().as_str());
        self.settings.get(FILE_MODE).is_some_and(is_no)
    }

    /// Writes `info/exclude` and `info/attributes` of a repository.
    pub(super) fn lay_info(&self, git_dir: &Root) -> std::io::Result<()> {
        git_dir.put(Path::new("info/exclude"), &self.exclude)?;
        git_dir.put(Path::new("info/attributes"), &self.attributes)
    }

    /// The first lines of a repository's configuration.
    pub(super) fn heading(&self, bare: bool) -> String {
        let version = u8::from(self.format != SHA1);
        let mut text = format!("[core]\n\trepositoryformatversion = {version}\n\tbare = {bare}\n");
        if self.format != SHA1 {
            text.push_str(&format!("[extensions]\n\tobjectformat = {}\n", self.format));
        }
        text
    }
}

/// The directories that make a repository one.
pub(super) fn lay_dirs(git_dir: &Root) -> std::io::Result<()> {
    for dir in ["objects/info", "objects/pack", "refs/heads", "refs/tags", "info"] {
        git_dir.make_below(Path::new(dir))?;
    }
    Ok(())
}

/// `objects/info/alternates` [gitrepository-layout(5)]: a line each.
pub(super) fn alternates(objects: &Path) -> Vec<u8> {
    [objects.as_os_str().as_bytes(), b"\n"].concat()
}

/// Makes the repository, or brings its settings up to date.
pub(super) fn lay(layout: &Layout, frozen: &Frozen) -> Result<(), WorkspaceError> {
    let dir = layout.store();
    let write = || {
        let state = layout.files()?;
        let name = Path::new(Layout::STORE);
        let heading = frozen.heading(true);
        // Objects of one format cannot be named in the other.
        let old = state.read(&name.join("config")).unwrap_or_default();
        let is_of_its_kind = old.is_empty() || old.starts_with(heading.as_bytes());
        let known = layout.known_stores()?;
        // A link is no directory to be emptied, and is refused below.
        let is_there = state.look(name)?.is_some_and(|look| look.kind == Kind::Dir);
        let is_ours = is_there && is_known(&state, &known)?;
        if is_there && !(is_ours && is_of_its_kind) {
            state.remove(name)?;
        }
        let store = state.make_below(name)?;
        // Files of the user's that nobody else may read are among what is recorded.
        store.set_mode(Path::new(""), 0o700)?;
        lay_dirs(&store)?;
        let mut settings = frozen.settings.clone();
        settings.set("core.excludesfile", dir.join("excludes").display().to_string());
        settings.set("core.attributesfile", dir.join("attributes").display().to_string());
        settings.set("gc.auto", "0");
        // Names that some system takes for `.git`: a commit with one is refused wherever it arrives.
        settings.set("core.protecthfs", "true");
        settings.set("core.protectntfs", "true");
        // What a user is warned of before a commit must not keep a change from being recorded.
        settings.set("core.safecrlf", "false");
        store.put(Path::new("excludes"), &frozen.excludes_file)?;
        // What an agent has made a program is one, whatever the user's git looks at in their checkout.
        if frozen.ignores_modes() && has_modes(&store, Path::new("excludes"))? {
            settings.set(FILE_MODE, "true");
        }
        // Nor is a file lost whose name changes by its case alone, if the checkout comes from a file system that does not tell them apart.
        let ignores_case = store.look(Path::new("EXCLUDES"))?.is_some();
        settings.set(IGNORE_CASE, ignores_case.to_string());
        store.put(Path::new("attributes"), &frozen.attributes_file)?;
        frozen.lay_info(&store)?;
        let borrowed = Path::new("objects/info/alternates");
        match &frozen.objects {
            Some(objects) => {
                let all: Vec<Vec<u8>> = chain(objects).iter().map(|objects| alternates(objects)).collect();
                store.put(borrowed, &all.concat())?;
            }
            None => store.remove(borrowed)?,
        }
        match &frozen.shallow {
            Some(shallow) => store.put(Path::new("shallow"), shallow)?,
            None => store.remove(Path::new("shallow"))?,
        }
        for name in OF_FILTERS {
            let name = Path::new(name);
            let users = frozen.objects.as_ref().and_then(|objects| Some(objects.parent()?.join(name)));
            store.remove(name)?;
            if let Some(users) = users.filter(|users| users.is_dir()) {
                store.link(name, &users)?;
            }
        }
        // Credentials in URLs are nobody else's business, as in the user's own file.
        store.put(Path::new("config"), (heading + &settings.render()).as_bytes())?;
        store.set_mode(Path::new("config"), 0o600)?;
        store.put(Path::new("HEAD"), b"ref: refs/heads/none\n")?;
        if is_ours && is_of_its_kind { Ok(()) } else { make_known(&store, &known) }
    };
    write().map_err(io_error("write", &dir))
}

/// In the repository, the id by which it is known in the user's state directory.
const ID: &str = "reflexion-id";

/// Whether the runtime made the repository here, or brought it along: what a clone or an archive has in its place may hold other files under the
/// names of the user's, and settings of its own.
fn is_known(state: &Root, known: &Root) -> std::io::Result<bool> {
    let Ok(id) = state.read(&Path::new(Layout::STORE).join(ID)) else { return Ok(false) };
    Ok(known.look(&known_as(&id))?.is_some())
}

/// Makes it known: first where it is known, so that nobody's id is ever known by its own word.
fn make_known(store: &Root, known: &Root) -> std::io::Result<()> {
    let mut random = [0_u8; 32];
    getrandom::fill(&mut random).map_err(|error| std::io::Error::other(format!("there is no randomness: {error}")))?;
    let id = format!("{:x}", Sha256::digest(random));
    known.put(&known_as(id.as_bytes()), b"")?;
    store.put(Path::new(ID), id.as_bytes())
}

/// Who can read the names of all has nobody's id.
fn known_as(id: &[u8]) -> PathBuf {
    PathBuf::from(format!("{:x}", Sha256::digest(id)))
}

/// Whether the file system keeps permissions, as git finds out when it makes a repository.
fn has_modes(files: &Root, file: &Path) -> std::io::Result<bool> {
    for mode in [0o700, 0o600] {
        let is_set = files.set_mode(file, mode).is_ok();
        if !is_set || files.look(file)?.is_none_or(|look| look.mode & 0o100 != mode & 0o100) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The objects of a repository and those that it borrows itself. Git follows no more than five steps, and there are two before
/// these, so they are named one beside the other.
fn chain(objects: &Path) -> Vec<PathBuf> {
    let mut all = vec![objects.to_owned()];
    let mut next = 0;
    while let Some(dir) = all.get(next).cloned() {
        next += 1;
        let borrowed = regular(&dir.join("info/alternates")).unwrap_or_default();
        let lines = borrowed.split(|byte| *byte == b'\n').filter(|line| !line.is_empty() && line[0] != b'#');
        for line in lines {
            let path = dir.join(std::ffi::OsStr::from_bytes(line));
            if !all.contains(&path) && all.len() < 64 {
                all.push(path);
            }
        }
    }
    all
}

fn config_home() -> PathBuf {
    let home = || std::env::home_dir().unwrap_or_default().join(".config");
    std::env::var_os("XDG_CONFIG_HOME").filter(|dir| !dir.is_empty()).map_or_else(home, PathBuf::from)
}

/// A path of git's configuration; `~user` is not known here and names nothing.
fn expanded(path: &str) -> PathBuf {
    match path.strip_prefix("~/") {
        Some(rest) => std::env::home_dir().unwrap_or_default().join(rest),
        None => PathBuf::from(path),
    }
}

/// The content of a file of the user's, if it is one: nobody waits for a pipe.
fn regular(path: &Path) -> Option<Vec<u8>> {
    fs::metadata(path).ok()?.is_file().then(|| fs::read(path).ok())?
}
