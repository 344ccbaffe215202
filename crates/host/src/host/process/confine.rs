//! Which programs run in a sandbox, and what they may write to there.
//!
//! Whatever works in a workspace - agents, checks, setup - is confined with everything it starts, and so is whoever is only
//! asked, in a directory of its own; what the runtime does itself is not. There is no falling back: a program that cannot be
//! confined is not started.

use super::mark::project_key;
use crate::domain::policy::{Project, Sandbox};
use crate::files::{Root, gone};
use crate::host::workspaces::{TRIED, WORKTREES, cache_of, state_dir};
use crate::services::{Command, Sandboxed};
use crate::toolchain;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// Devices that programs write to as a matter of course.
const DEVICES: [&str; 9] = [
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
    "/dev/ptmx",
    "/dev/pts",
    "/dev/shm",
];
/// What agents keep in the home directory. No file that a shell, git or an editor of the user reads as a program.
const OF_AGENTS: [&str; 9] = [
    ".claude",
    ".claude.json",
    ".codex",
    ".config/opencode",
    ".gemini",
    ".qwen",
    ".pi",
    ".local/share/opencode",
    ".local/state/opencode",
];

/// Where whoever may write to no other place of the project has a directory, below its state.
const OF_READERS: &str = "temp";

/// The sandbox of a project.
#[derive(Debug, Clone)]
pub(super) struct Confine {
    sandbox: Sandbox,
    project: PathBuf,
    state: PathBuf,
    rooms: PathBuf,
}

/// How one program is confined.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Confined {
    /// It may write below these places only; `TMPDIR`, if it must be another.
    Landlock { write: Vec<PathBuf>, temp: Option<PathBuf> },
    /// It is started by this program.
    Prefix(Vec<String>),
}

/// Where a program works, as a sandbox sees it.
struct Place {
    /// The workspace, or the directory of whoever is only asked.
    top: PathBuf,
    /// Its build caches; who is only asked has none.
    cache: Option<PathBuf>,
    /// For temporary files, where the system's own directory holds the user's project.
    temp: PathBuf,
}

/// Where programs in the sandbox may write beside their workspaces, of those places that this program knows: what stands there may be theirs.
#[must_use]
pub fn given_in_sandbox(project: &Project, sandbox: &Sandbox) -> Vec<PathBuf> {
    let confine = Confine::new(project, sandbox.clone());
    let home = std::env::home_dir().unwrap_or_default();
    let more = match sandbox {
        Sandbox::Landlock { write } => write.as_slice(),
        Sandbox::None | Sandbox::Command { .. } => &[],
    };
    let named = more.iter().map(|path| confine.named(path, &home));
    confine.given().into_iter().chain(named).chain([project.rooms.clone()]).collect()
}

impl Confine {
    pub(super) fn new(project: &Project, sandbox: Sandbox) -> Self {
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        Self { sandbox, project: real(&project.root), state: project.state_dir(), rooms: project.rooms.clone() }
    }

    /// How a command is confined, if it is.
    pub(super) fn of(&self, command: &Command) -> io::Result<Option<Confined>> {
        let walled = command.sandboxed == Sandboxed::Walled;
        if self.sandbox == Sandbox::None && !walled {
            return Ok(None);
        }
        let place = match (self.workspace(&command.dir), command.sandboxed) {
            (_, Sandboxed::ReadOnly) => self.nowhere()?,
            (Some(place), _) => place,
            (None, _) if self.is_room_of_nobody(&command.dir) => return Err(gone()),
            (None, Sandboxed::InWorkspaces) => return Ok(None),
            (None, Sandboxed::Always | Sandboxed::Walled) => self.elsewhere(&command.dir)?,
        };
        if let Some(cache) = &place.cache {
            state_dir(&self.state)?.make_below(cache)?;
        }
        match &self.sandbox {
            Sandbox::None | Sandbox::Landlock { .. } if walled => self.walled(&place).map(Some),
            Sandbox::None => Ok(None),
            Sandbox::Landlock { write } => self.landlock(&place, write).map(Some),
            Sandbox::Command { argv } => Ok(Some(Confined::Prefix(self.prefix(&place, argv)))),
        }
    }

    /// The workspace or clean room that a directory is in.
    fn workspace(&self, dir: &Path) -> Option<Place> {
        let rooms = project_key(&self.state).map(|own| self.rooms.join(own));
        [self.state.join(WORKTREES)].into_iter().chain(rooms).find_map(|all| Self::workspace_in(&all, dir))
    }

    /// Whether it is a clean room, and not one of the machine state as it is now: that was put away in the middle of a run. A project may
    /// lie in a clean room itself, of one that tests it.
    fn is_room_of_nobody(&self, dir: &Path) -> bool {
        let real = self.rooms.canonicalize().ok();
        [Some(&self.rooms), real.as_ref()]
            .into_iter()
            .flatten()
            .any(|rooms| dir.starts_with(rooms) && !self.project.starts_with(rooms))
    }

    /// The same, if it is one of these: `<run>/<slot>`.
    fn workspace_in(all: &Path, dir: &Path) -> Option<Place> {
        let real = all.canonicalize().ok();
        let below = dir.strip_prefix(all).ok().or_else(|| dir.strip_prefix(real.as_ref()?).ok())?;
        let mut names = below.components();
        let (run, slot) = (names.next()?, names.next()?);
        let top = all.join(run).join(slot);
        // The place in which a sandbox is tried builds nothing.
        let is_tried = run.as_os_str() == TRIED;
        Some(Place {
            cache: (!is_tried).then(|| cache_of(&slot.as_os_str().to_string_lossy())),
            temp: all.join(run).join(".private").join(slot).join("tmp"),
            top,
        })
    }

    /// A directory that is no workspace, of somebody who is asked there.
    fn elsewhere(&self, dir: &Path) -> io::Result<Place> {
        if self.holds(dir) {
            return Err(io::Error::other("your own checkout is in this directory, and nobody is let into that"));
        }
        let top = dir.canonicalize()?;
        Ok(Place { cache: None, temp: top.join(".tmp"), top })
    }

    /// A directory of those who have none to write to.
    fn nowhere(&self) -> io::Result<Place> {
        let state = state_dir(&self.state)?;
        state.make_private(Path::new(OF_READERS))?;
        let top = state.path().join(OF_READERS);
        Ok(Place { cache: None, temp: top.join(".tmp"), top })
    }

    /// The git directory of the user's repository, or the runtime's own of a project without one.
    fn git_dir(&self) -> PathBuf {
        git_dir_of(&self.project).unwrap_or_else(|| self.state.join("repository.git"))
    }

    /// The build caches of a place; of whoever has none, nothing more than its own directory.
    fn cache(&self, place: &Place) -> PathBuf {
        place.cache.as_ref().map_or_else(|| place.top.clone(), |cache| self.state.join(cache))
    }

    /// The room, and what can be had again.
    fn walled(&self, place: &Place) -> io::Result<Confined> {
        empty(&place.temp)?;
        let mut write = vec![place.top.clone(), self.cache(place), place.temp.clone()];
        write.extend(DEVICES.iter().map(PathBuf::from).filter(|path| path.exists()));
        write.extend(self.of_home(toolchain::home_fetched()));
        Ok(Confined::Landlock { write, temp: Some(place.temp.clone()) })
    }

    /// These places of the home directory, as far as they may be given away.
    fn of_home(&self, names: &[impl AsRef<Path>]) -> Vec<PathBuf> {
        let home = std::env::home_dir().unwrap_or_default();
        // What a link in the home directory leads to in the checkout (dotfiles, kept there) is the user's work.
        let leads_in = |path: &PathBuf| self.is_within(path) && !self.is_within(&home);
        let is_given = |path: &PathBuf| path.exists() && !self.holds(path) && !leads_in(path);
        names.iter().map(|name| home.join(name)).filter(is_given).collect()
    }

    /// What everybody in the sandbox is given beside a workspace: places for temporary files, devices, caches, and what agents keep.
    fn given(&self) -> Vec<PathBuf> {
        let system = [std::env::temp_dir(), "/tmp".into(), "/var/tmp".into()];
        let system = system.into_iter().filter(|path| !self.is_within(path));
        let devices = DEVICES.iter().map(PathBuf::from);
        let mut given: Vec<PathBuf> = system.chain(devices).filter(|path| path.exists() && !self.holds(path)).collect();
        given.extend(self.of_home(toolchain::home_caches()).into_iter().chain(self.of_home(&OF_AGENTS)));
        given
    }

    fn landlock(&self, place: &Place, more: &[PathBuf]) -> io::Result<Confined> {
        let mut write = vec![place.top.clone(), self.cache(place)];
        write.extend(self.given());
        let home = std::env::home_dir().unwrap_or_default();
        for path in more {
            let path = self.named(path, &home);
            if !path.exists() {
                return Err(io::Error::other(format!("`sandbox.write` names {}, which is not there", path.display())));
            }
            if self.holds(&path) {
                let what = "has your own checkout, or the clean rooms, in it";
                return Err(io::Error::other(format!("`sandbox.write` names {}, which {what}", path.display())));
            }
            write.push(path);
        }
        let system = std::env::temp_dir();
        let temp = (self.holds(&system) || self.is_within(&system)).then(|| place.temp.clone());
        if let Some(temp) = &temp {
            fs::create_dir_all(temp)?;
            write.push(temp.clone());
        }
        Ok(Confined::Landlock { write, temp })
    }

    /// A place that has the user's files, their repository or clean rooms in it is not given away.
    fn holds(&self, path: &Path) -> bool {
        let Ok(real) = path.canonicalize() else { return false };
        let rooms = self.rooms.canonicalize().ok();
        let is_of_rooms = rooms.as_ref().is_some_and(|rooms| real.starts_with(rooms));
        let mut all = rooms.into_iter().chain(git_dir_of(&self.project)).chain([self.project.clone()]);
        is_of_rooms || all.any(|dir| dir.starts_with(&real))
    }

    /// Whether a place lies in the user's checkout or its git directory.
    fn is_within(&self, path: &Path) -> bool {
        let top = self.project.ancestors().find(|dir| dir.join(".git").exists()).unwrap_or(&self.project);
        let Ok(real) = path.canonicalize() else { return false };
        real.starts_with(top) || git_dir_of(&self.project).is_some_and(|dir| real.starts_with(dir))
    }

    /// `~/` is the home directory; anything else that is not absolute is meant from the project.
    fn named(&self, path: &Path, home: &Path) -> PathBuf {
        path.strip_prefix("~").map_or_else(|_| self.project.join(path), |rest| home.join(rest))
    }

    fn prefix(&self, place: &Place, argv: &[String]) -> Vec<String> {
        let home = std::env::home_dir().unwrap_or_default();
        let values = [
            ("{workspace}", place.top.as_path()),
            ("{git}", &self.git_dir()),
            ("{cache}", &self.cache(place)),
            ("{project}", &self.project),
            ("{home}", &home),
        ];
        let filled = |word: &String| {
            values.iter().fold(word.clone(), |word, (name, path)| word.replace(name, &path.to_string_lossy()))
        };
        argv.iter().map(filled).collect()
    }
}

/// Makes a directory anew: what one program that nobody wrote has left there is nothing to the next one.
fn empty(dir: &Path) -> io::Result<()> {
    let (Some(above), Some(name)) = (dir.parent(), dir.file_name()) else { return Ok(()) };
    fs::create_dir_all(above)?;
    let (above, name) = (Root::open(above)?, Path::new(name));
    above.remove(name)?;
    above.make_private(name).map(drop)
}

/// The git directory of the repository that a directory is in, shared by its worktrees.
pub(in crate::host) fn git_dir_of(dir: &Path) -> Option<PathBuf> {
    let found = dir.ancestors().map(|above| above.join(".git")).find(|path| path.exists())?;
    if found.is_dir() {
        return found.canonicalize().ok();
    }
    let text = fs::read_to_string(&found).ok()?;
    let own = found.parent()?.join(text.strip_prefix("gitdir: ")?.trim_end());
    let common = fs::read_to_string(own.join("commondir")).unwrap_or_else(|_| ".".to_owned());
    own.join(common.trim_end()).canonicalize().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn project(root: &Path) -> Project {
        Project {
            name: "p".to_owned(),
            root: root.to_owned(),
            settings: "project.json",
            tasks: root.join("tasks.jsonl"),
            rooms: root.join("rooms"),
        }
    }

    /// A repository with a worktree `t` of run `r`, as far as files show it.
    fn repository() -> (tempfile::TempDir, PathBuf, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let (top, admin) = (root.join(".reflection/worktrees/r/t"), root.join(".git/worktrees/t"));
        for dir in [&top, &admin] {
            fs::create_dir_all(dir).unwrap();
        }
        fs::write(top.join(".git"), format!("gitdir: {}\n", admin.display())).unwrap();
        fs::write(admin.join("gitdir"), format!("{}\n", top.join(".git").display())).unwrap();
        (dir, root, top)
    }

    #[test]
    fn only_what_works_in_a_workspace_is_confined() {
        let (_dir, root, top) = repository();
        let confine = Confine::new(&project(&root), Sandbox::Command { argv: vec!["box {workspace}".to_owned()] });
        let of = |dir: &Path| confine.of(&Command::new(["true"], dir)).unwrap();
        let expected = Some(Confined::Prefix(vec![format!("box {}", top.display())]));
        assert_eq!(of(&top), expected);
        assert_eq!(of(&top.join("below/it")), expected);
        assert_eq!(of(&root), None);
        assert_eq!(of(&root.join(".reflection/worktrees/r")), None);
        assert_eq!(Confine::new(&project(&root), Sandbox::None).of(&Command::new(["true"], &top)).unwrap(), None);
    }

    #[test]
    fn what_steers_tools_is_given_to_nobody() {
        let caches = toolchain::home_caches().iter().chain(toolchain::home_fetched()).map(String::as_str);
        let given: Vec<&str> = caches.chain(OF_AGENTS).collect();
        assert!(given.contains(&".cargo/registry") && given.contains(&".cache/pip"));
        for steers in crate::host::home::below_home() {
            let is_in = |place: &&&str| steers.starts_with(place) || Path::new(place).starts_with(&steers);
            assert_eq!(given.iter().find(is_in), None, "{}", steers.display());
        }
    }

    #[test]
    fn who_is_asked_is_confined_wherever_that_is() {
        let (_dir, root, top) = repository();
        let asked = tempfile::tempdir().unwrap();
        let asked = asked.path().canonicalize().unwrap();
        let of = |dir: &Path, sandbox: Sandbox| {
            let command = Command { sandboxed: Sandboxed::Always, ..Command::new(["true"], dir) };
            Confine::new(&project(&root), sandbox).of(&command).map_err(|error| error.to_string())
        };
        let prefix = || Sandbox::Command { argv: vec!["{workspace}".to_owned()] };
        let named = |dir: &Path| Ok(Some(Confined::Prefix(vec![dir.display().to_string()])));
        assert_eq!(of(&top, prefix()), named(&top));
        assert_eq!(of(&asked, prefix()), named(&asked));
        assert_eq!(of(&asked, Sandbox::None), Ok(None));
        assert!(of(&root, prefix()).is_err_and(|error| error.contains("your own checkout")));
        let Ok(Some(Confined::Landlock { write, temp })) = of(&asked, Sandbox::Landlock { write: Vec::new() }) else {
            panic!("not confined");
        };
        assert!(write.contains(&asked), "{write:?}");
        // Nothing of the project: who is asked builds and commits nothing.
        assert_eq!(write.iter().find(|place| place.starts_with(&root)), None);
        assert!(!write.iter().any(|place| root.starts_with(place)), "{write:?}");
        assert_eq!(temp, Some(asked.join(".tmp")));
    }

    #[test]
    fn what_works_in_a_clean_room_is_confined_to_it() {
        let (_dir, root, _) = repository();
        let project = project(&root);
        let all = project.rooms.join(project_key(&project.state_dir()).unwrap());
        let room = all.join("r/room-1");
        fs::create_dir_all(room.join("below")).unwrap();
        let confine = Confine::new(&project, Sandbox::Landlock { write: Vec::new() });
        let Some(Confined::Landlock { write, temp }) = confine.of(&Command::new(["true"], room.join("below"))).unwrap()
        else {
            panic!("not confined");
        };
        assert!(write.contains(&room) && !write.iter().any(|place| all.starts_with(place)), "{write:?}");
        assert_eq!(temp, Some(all.join("r/.private/room-1/tmp")));
        // Nothing runs in those of another project.
        let other = project.rooms.join("0123456789abcdef/r/room-1");
        assert!(confine.of(&Command::new(["true"], other)).is_err());
        let given = Confine::new(&project, Sandbox::Landlock { write: vec![all] });
        let error = given.of(&Command::new(["true"], &room)).unwrap_err();
        assert!(error.to_string().contains("clean rooms"), "{error}");
        // Somebody puts the machine state away in the middle of a run: nothing is made in its place.
        fs::rename(root.join(".reflection"), root.join("put-away")).unwrap();
        let error = confine.of(&Command::new(["true"], room.join("below"))).unwrap_err();
        assert!(error.to_string().contains("is gone, which was there"), "{error}");
        assert!(!root.join(".reflection").exists());
    }

    #[test]
    fn a_workspace_is_given_its_own_files_and_caches_and_nobody_elses() {
        let (_dir, root, _) = repository();
        for (place, cache) in [("slot-1", "slot-1"), ("slot-1.2", "slot-1"), ("room-3", "room-3")] {
            let dir = root.join(".reflection/worktrees/r").join(place);
            fs::create_dir_all(&dir).unwrap();
            let confine = Confine::new(&project(&root), Sandbox::Landlock { write: Vec::new() });
            let Some(Confined::Landlock { write, .. }) = confine.of(&Command::new(["true"], &dir)).unwrap() else {
                panic!("not confined");
            };
            let mut own: Vec<&PathBuf> = write.iter().filter(|path| path.starts_with(&root)).collect();
            own.retain(|path| !path.ends_with("tmp"));
            assert_eq!(own, [&dir, &root.join(".reflection/cache").join(cache)]);
        }
    }

    #[test]
    fn what_nobody_wrote_is_walled_in_whatever_the_project_has() {
        let (_dir, root, top) = repository();
        let of = |sandbox: Sandbox| {
            let command = Command { sandboxed: Sandboxed::Walled, ..Command::new(["true"], &top) };
            Confine::new(&project(&root), sandbox).of(&command).unwrap().unwrap()
        };
        let more = Sandbox::Landlock { write: vec![root.join("out")] };
        for sandbox in [Sandbox::None, more] {
            let Confined::Landlock { write, temp } = of(sandbox) else { panic!("not walled") };
            let temp = temp.expect("a directory of its own");
            assert!(write.contains(&top) && write.contains(&temp), "{write:?}");
            let system = [PathBuf::from("/tmp"), std::env::temp_dir(), root.join("out")];
            assert!(!write.iter().any(|place| system.contains(place)), "{write:?}");
        }
        // A program that makes a sandbox of its own cannot do so inside of the kernel's.
        let boxed = of(Sandbox::Command { argv: vec!["box".to_owned()] });
        assert_eq!(boxed, Confined::Prefix(vec!["box".to_owned()]));
    }

    #[test]
    fn what_leads_into_the_checkout_lies_in_it() {
        let (dir, root, _) = repository();
        let (home, below) = (tempfile::tempdir().unwrap(), root.join("below"));
        fs::create_dir(&below).unwrap();
        let link = home.path().join(".claude");
        std::os::unix::fs::symlink(&below, &link).unwrap();
        // The project may be a directory of the checkout.
        let confine = Confine::new(&project(&root.join("below")), Sandbox::Landlock { write: Vec::new() });
        for (path, expected) in
            [(link.as_path(), true), (&root.join(".git"), true), (dir.path(), true), (home.path(), false)]
        {
            assert_eq!(confine.is_within(path), expected, "{path:?}");
        }
    }

    #[test]
    fn a_place_that_holds_the_project_is_not_given_away() {
        let (dir, root, top) = repository();
        let write = |more: &str| {
            let confine = Confine::new(&project(&root), Sandbox::Landlock { write: vec![PathBuf::from(more)] });
            match confine.of(&Command::new(["true"], &top)).map_err(|error| error.to_string())? {
                Some(Confined::Landlock { write, temp }) => Ok((write, temp)),
                other => panic!("{other:?}"),
            }
        };
        fs::create_dir(root.join("out")).unwrap();
        let (places, temp) = write("out").unwrap();
        assert!(places.contains(&root.join("out")));
        assert!(!places.iter().any(|place| place.starts_with(root.join(".git"))));
        // The project is in the directory for temporary files here.
        assert!(!places.iter().any(|place| root.starts_with(place)), "{places:?}");
        assert_eq!(temp, Some(root.join(".reflection/worktrees/r/.private/t/tmp")));
        for (place, words) in [(".", "checkout"), ("/", "checkout"), ("nowhere", "not there"), (".git", "checkout")] {
            let error: Result<_, String> = write(place);
            assert!(error.as_ref().is_err_and(|error| error.contains(words)), "{place}: {error:?}");
        }
        drop(dir);
    }
}
