//! On real files.

use super::{Kind, MAX_DEPTH, Place, Refused, Root, open_named, read_named};
use rustix::fs::{CWD, FileType, Mode};
use rustix::thread::CapabilitySet;
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::{fs, io};
use tempfile::TempDir;

/// A root `here` with a directory `there` beside it, which must stay as it is.
struct Case {
    dir: TempDir,
    root: Root,
    before: Vec<(PathBuf, u32, Vec<u8>)>,
}

impl Case {
    fn new() -> Self {
        Self::below(tempfile::tempdir().unwrap())
    }

    /// Where many directories are made and removed fast, if there is such a place.
    fn in_memory() -> Self {
        Self::below(tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap())
    }

    fn below(dir: TempDir) -> Self {
        fs::create_dir_all(dir.path().join("there/deep/er")).unwrap();
        for name in ["there/file", "there/deep/file", "there/deep/er/file"] {
            fs::write(dir.path().join(name), "theirs").unwrap();
        }
        let root = Root::make(&dir.path().join("here")).unwrap();
        let before = contents(&dir.path().join("there"));
        Self { dir, root, before }
    }

    fn here(&self, path: &str) -> PathBuf {
        self.dir.path().join("here").join(path)
    }

    fn there(&self, path: &str) -> PathBuf {
        self.dir.path().join("there").join(path)
    }
}

impl Drop for Case {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            assert_eq!(contents(&self.there("")), self.before, "something was done behind a link");
        }
    }
}

fn contents(dir: &Path) -> Vec<(PathBuf, u32, Vec<u8>)> {
    let mut found: Vec<_> = walkdir(dir);
    found.sort();
    found
}

fn walkdir(dir: &Path) -> Vec<(PathBuf, u32, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let data = path.symlink_metadata().unwrap();
        let bytes = if data.is_file() { fs::read(&path).unwrap() } else { Vec::new() };
        if data.is_dir() {
            found.extend(walkdir(&path));
        }
        found.push((path, data.mode(), bytes));
    }
    found
}

fn path(text: &str) -> &Path {
    Path::new(text)
}

fn refused<T: std::fmt::Debug>(result: io::Result<T>) -> Refused {
    let error = result.expect_err("it is refused");
    Refused::of(&error).unwrap_or_else(|| panic!("no refusal but {error}")).clone()
}

/// Every effect on one path, by its name.
fn effects(root: &Root, at: &Path) -> Vec<(&'static str, io::Result<()>)> {
    fs::write(root.path().join("source"), "ours").unwrap();
    vec![
        ("read", root.read(at).map(drop)),
        ("open_file", root.open_file(at).map(drop)),
        ("append_to", root.append_to(at).and_then(|mut file| file.write_all(b"ours"))),
        ("set_mode", root.set_mode(at, 0o777)),
        ("replace", root.replace(at, b"ours")),
        ("copy", root.copy(at, root, path("source"))),
        ("copy from", root.copy(path("copied"), root, at)),
        ("rename", root.rename(at, path("renamed"))),
        ("rename to", root.rename(path("source"), at)),
        ("link", root.link(at, path("anywhere"))),
        ("target", root.target(at).map(drop)),
        ("list", root.list(at).map(drop)),
        ("below", root.below(at).map(drop)),
        ("make_below", root.make_below(at).map(drop)),
    ]
}

#[test]
fn a_link_before_the_last_name_is_refused_by_every_effect() {
    // The link, and what is asked for: behind the link as the first and as a middle name, to a directory and to nothing.
    let cases = [("link", "link/file"), ("link", "link/deep/er/file"), ("a/b", "a/b/deep/new"), ("a/b/c", "a/b/c/er")];
    for (link, asked) in cases {
        // Also one that leads to its neighbour, and so nowhere outside.
        for target in ["there", "nowhere", "neighbour"] {
            let case = Case::new();
            let beside = case.here(link).parent().unwrap().to_owned();
            fs::create_dir_all(beside.join("neighbour/deep/er")).unwrap();
            fs::write(beside.join("neighbour/file"), "ours").unwrap();
            let there = case.dir.path().join(target);
            symlink(if target == "neighbour" { path(target) } else { &there }, case.here(link)).unwrap();
            for (effect, result) in effects(&case.root, path(asked)) {
                let refused = refused(result);
                assert_eq!((refused.path, refused.found), (case.here(link), "a symbolic link"), "{effect} {asked}");
            }
            assert!(case.root.look(path(asked)).unwrap().is_none());
            case.root.remove(path(asked)).unwrap();
            assert!(case.here(link).is_symlink());
        }
    }
}

#[test]
fn a_link_as_the_last_name_is_never_followed() {
    // Also those that lead to their neighbours, and so nowhere outside.
    for target in ["there/file", "there/deep", "nowhere", "neighbour", "neighbours"] {
        let case = Case::new();
        fs::write(case.here("neighbour"), "ours").unwrap();
        fs::create_dir(case.here("neighbours")).unwrap();
        let there = case.dir.path().join(target);
        let to = if target.starts_with("neigh") { path(target) } else { &there };
        let again = || {
            case.root.remove(path("link")).unwrap();
            symlink(to, case.here("link")).unwrap();
        };
        again();
        let link = path("link");
        assert_eq!(refused(case.root.read(link)).path, case.here("link"));
        refused(case.root.open_file(link));
        refused(case.root.append_to(link));
        refused(case.root.set_mode(link, 0o777));
        refused(case.root.list(link));
        refused(case.root.below(link));
        refused(case.root.make_below(link));
        refused(case.root.copy(path("copied"), &case.root, link));
        assert_eq!(case.root.look(link).unwrap().unwrap().kind, Kind::Link);
        assert_eq!(case.root.target(link).unwrap(), to);
        assert_eq!(case.root.walk(link).count(), 1, "the link itself");
        assert_eq!(case.root.link(link, path("other")).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        case.root.replace(link, b"ours").unwrap();
        assert_eq!(fs::read(case.here("link")).unwrap(), b"ours");
        again();
        fs::write(case.here("source"), "ours").unwrap();
        case.root.copy(link, &case.root, path("source")).unwrap();
        assert!(case.here("link").symlink_metadata().unwrap().is_file());
        again();
        case.root.rename(path("source"), link).unwrap();
        assert!(case.here("link").symlink_metadata().unwrap().is_file());
        again();
        case.root.remove(link).unwrap();
        assert!(!case.here("link").is_symlink());
        assert!(!case.dir.path().join("nowhere").exists());
    }
}

#[test]
fn a_tree_is_walked_and_removed_without_what_its_links_point_to() {
    let case = Case::new();
    fs::create_dir_all(case.here("tree/b/c")).unwrap();
    symlink(case.there(""), case.here("tree/a")).unwrap();
    symlink("../../..", case.here("tree/b/up")).unwrap();
    fs::write(case.here("tree/b/c/file"), "ours").unwrap();
    let found: Vec<_> = case.root.walk(path("tree")).map(|e| e.unwrap().0).collect();
    assert_eq!(found, ["tree", "tree/a", "tree/b", "tree/b/c", "tree/b/c/file", "tree/b/up"].map(PathBuf::from));
    let mut walk = case.root.walk(path(""));
    let mut found = Vec::new();
    while let Some(entry) = walk.next() {
        let (at, _) = entry.unwrap();
        if at == path("tree/b") {
            walk.skip_below();
        }
        found.push(at);
    }
    assert_eq!(found, ["", "tree", "tree/a", "tree/b"].map(PathBuf::from));
    case.root.remove(path("tree")).unwrap();
    assert_eq!(case.root.list(path(".")).unwrap(), []);
}

#[test]
fn what_is_no_file_is_refused_at_once_and_says_what_it_is() {
    let case = Case::new();
    rustix::fs::mknodat(CWD, case.here("pipe"), FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
    let _socket = UnixListener::bind(case.here("socket")).unwrap();
    fs::create_dir(case.here("directory")).unwrap();
    for (name, what) in [("pipe", "a pipe"), ("socket", "a socket"), ("directory", "a directory")] {
        let at = path(name);
        assert_eq!(refused(case.root.read(at)).found, what);
        assert_eq!(refused(case.root.append_to(at)).found, what);
        assert_eq!(refused(case.root.copy(path("copied"), &case.root, at)).found, what);
        if name != "directory" {
            assert_eq!(refused(case.root.set_mode(at, 0o777)).found, what);
            assert_eq!(refused(case.root.list(at)).found, what);
            assert_eq!(refused(case.root.make_below(&at.join("x"))).found, what);
            assert_eq!(case.root.look(at).unwrap().unwrap().kind, Kind::Other);
            case.root.replace(at, b"ours").unwrap();
            assert_eq!(case.root.read(at).unwrap(), b"ours");
        }
    }
    assert_eq!(refused(case.root.replace(path("directory"), b"ours")).found, "a directory");
    assert_eq!(case.root.list(path("")).unwrap().len(), 3, "no temporary file is left");
    let message = case.root.read(path("directory")).unwrap_err().to_string();
    let shown = case.here("directory").display().to_string();
    assert_eq!(message, format!("`{shown}` is a directory where a file belongs: move it away"));
}

#[test]
fn a_link_is_named_with_what_to_do() {
    let case = Case::new();
    symlink(case.there(""), case.here("a")).unwrap();
    let message = case.root.append_to(path("a/file")).unwrap_err().to_string();
    let shown = case.here("a").display().to_string();
    assert_eq!(
        message,
        format!(
            "`{shown}` is a symbolic link where a directory belongs, and no link is followed here: remove the link, or \
             put a directory in its place"
        )
    );
}

#[test]
fn paths_that_leave_the_root_are_refused() {
    let case = Case::new();
    let absolute = case.there("file");
    for asked in [path("../there/file"), path("a/../../there/file"), path(".."), &absolute] {
        for (effect, result) in effects(&case.root, asked) {
            let message = result.expect_err(effect).to_string();
            assert!(message.contains("is no path below"), "{effect}: {message}");
        }
        assert!(case.root.look(asked).is_err());
        assert!(case.root.remove(asked).is_err());
        assert!(case.root.walk(asked).next().unwrap().is_err());
    }
    assert!(case.root.remove(path("")).is_err(), "the root itself");
}

#[test]
fn the_root_may_be_reached_through_a_link() {
    let case = Case::new();
    symlink(case.here(""), case.dir.path().join("door")).unwrap();
    let root = Root::make(&case.dir.path().join("door")).unwrap();
    root.replace(path("a/b"), b"ours").unwrap();
    assert_eq!(fs::read(case.here("a/b")).unwrap(), b"ours");
    assert_eq!(root.below(path("a")).unwrap().read(path("b")).unwrap(), b"ours");
}

#[test]
fn files_are_written_whole_and_keep_their_permissions() {
    let case = Case::new();
    case.root.replace(path("new/file"), b"one").unwrap();
    case.root.set_mode(path("new/file"), 0o640).unwrap();
    case.root.replace(path("new/file"), b"two").unwrap();
    let look = case.root.look(path("new/file")).unwrap().unwrap();
    assert_eq!((look.kind, look.mode, look.len, look.links), (Kind::File, 0o640, 3, 1));
    case.root.copy(path("copy"), &case.root, path("new/file")).unwrap();
    let copy = case.root.look(path("copy")).unwrap().unwrap();
    assert_eq!((copy.mode, copy.len, copy.modified), (0o640, 3, look.modified));
    drop(case.root.begin(path("new/file")).unwrap());
    case.root.append_to(path("new/file")).unwrap().write_all(b" three").unwrap();
    assert_eq!(case.root.read(path("new/file")).unwrap(), b"two three");
    case.root.rename(path("new/file"), path("other/file")).unwrap();
    assert_eq!(case.root.list(path("new")).unwrap(), []);
    assert_eq!(case.root.look(path("new/file/below")).unwrap().map(|look| look.kind), None);
}

#[test]
fn what_a_killed_writer_left_goes_with_the_next_one_and_a_living_one_is_left_alone() {
    let case = Case::new();
    for left in 0..3 {
        fs::write(case.here(&format!(".reflexion-replacing-{left}.tmp")), "half").unwrap();
    }
    let mut living = case.root.begin(path("a")).unwrap();
    living.write_all(b"a").unwrap();
    case.root.replace(path("b"), b"b").unwrap();
    living.finish().unwrap();
    assert_eq!(case.root.list(path("")).unwrap(), [("a".into(), Kind::File), ("b".into(), Kind::File)]);
    assert_eq!(case.root.read(path("a")).unwrap(), b"a");
}

#[test]
fn what_no_writer_made_stays_whatever_it_is_called() {
    let case = Case::new();
    fs::write(case.here(".replacing-0.tmp"), "a person's").unwrap();
    std::os::unix::fs::symlink("elsewhere", case.here(".reflexion-replacing-0.tmp")).unwrap();
    fs::create_dir(case.here(".reflexion-replacing-1.tmp")).unwrap();
    case.root.replace(path("a"), b"a").unwrap();
    let names: Vec<_> = case.root.list(path("")).unwrap().into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, [".reflexion-replacing-0.tmp", ".reflexion-replacing-1.tmp", ".replacing-0.tmp", "a"]);
}

#[test]
fn a_private_directory_is_nobody_elses_from_its_first_moment() {
    let case = Case::new();
    assert!(case.root.make_private(path("p")).unwrap());
    assert_eq!(case.root.look(path("p")).unwrap().unwrap().mode, 0o700);
    case.root.set_mode(path("p"), 0o750).unwrap();
    assert!(!case.root.make_private(path("p")).unwrap());
    assert_eq!(case.root.look(path("p")).unwrap().unwrap().mode, 0o750);
    fs::write(case.here("file"), "").unwrap();
    std::os::unix::fs::symlink("p", case.here("link")).unwrap();
    for taken in ["file", "link"] {
        assert!(case.root.make_private(path(taken)).is_err(), "{taken}");
    }
}

#[test]
fn many_writers_of_one_file_leave_one_whole_content() {
    let case = Case::new();
    std::thread::scope(|scope| {
        for writer in 0..8u8 {
            let root = case.root.clone();
            scope.spawn(move || {
                for _ in 0..20 {
                    root.replace(path("file"), &vec![b'a' + writer; 5_000]).unwrap();
                }
            });
        }
    });
    let bytes = case.root.read(path("file")).unwrap();
    assert!(bytes.len() == 5_000 && bytes.iter().all(|b| *b == bytes[0]));
    assert_eq!(case.root.list(path("")).unwrap().len(), 1);
}

/// Makes so many directories in one another.
fn nest(root: &Root, levels: usize) {
    root.make_below(path("deep")).unwrap();
    let mut at = root.dir().open_dir("deep").unwrap();
    for _ in 1..levels {
        at.create_dir("d").unwrap();
        at = at.open_dir("d").unwrap();
    }
    at.write("file", "at the bottom").unwrap();
}

#[test]
fn sixty_thousand_directories_in_one_another_are_removed_with_a_small_stack() {
    let case = Case::in_memory();
    nest(&case.root, 60_000);
    let root = case.root.clone();
    let small = std::thread::Builder::new().stack_size(128 * 1024);
    small.spawn(move || root.remove(path("deep")).unwrap()).unwrap().join().unwrap();
    assert_eq!(case.root.list(path("")).unwrap(), []);
}

#[test]
fn a_walk_ends_at_the_depth_that_a_path_can_have_and_names_it() {
    let case = Case::in_memory();
    nest(&case.root, MAX_DEPTH + 100);
    fs::write(case.here("last"), "").unwrap();
    let (found, errors): (Vec<_>, Vec<_>) = case.root.walk(path("")).partition(Result::is_ok);
    assert_eq!(found.len(), 1 + MAX_DEPTH + 1, "the root, the directories and the file beside them");
    assert_eq!(found.last().unwrap().as_ref().unwrap().0, path("last"));
    let message = errors[0].as_ref().unwrap_err().to_string();
    assert!(errors.len() == 1 && message.contains("here/deep/d/d") && message.contains("2048"), "{message}");
    assert!(message.len() < 500);
}

#[test]
fn a_walk_comes_back_from_deep_directories_to_their_neighbours() {
    let case = Case::new();
    let mut names = vec![String::new()];
    let mut at = String::from("x");
    for _ in 0..20 {
        fs::create_dir_all(case.here(&format!("{at}/y/z"))).unwrap();
        fs::write(case.here(&format!("{at}/file")), "").unwrap();
        names.extend([at.clone(), format!("{at}/file"), format!("{at}/y"), format!("{at}/y/z")]);
        at += "/x";
    }
    names.sort();
    let mut found: Vec<_> = case.root.walk(path("")).map(|e| e.unwrap().0.to_string_lossy().into_owned()).collect();
    found.sort();
    assert_eq!(found, names);
}

/// Runs as somebody whom permissions hold back, also where the tests run as root.
fn without_privileges(work: impl FnOnce() + Send) {
    std::thread::scope(|scope| {
        let run = || {
            let mut sets = rustix::thread::capabilities(None).unwrap();
            sets.effective -= CapabilitySet::DAC_OVERRIDE | CapabilitySet::DAC_READ_SEARCH;
            rustix::thread::set_capabilities(None, sets).unwrap();
            work();
        };
        scope.spawn(run).join().unwrap();
    });
}

#[test]
fn closed_directories_of_ours_are_removed() {
    let case = Case::new();
    for name in ["t/a/b/c/d/e/f/g/h/i", "t/j/k"] {
        fs::create_dir_all(case.here(name)).unwrap();
        fs::write(case.here(name).join("file"), "").unwrap();
    }
    symlink(case.there(""), case.here("t/j/link")).unwrap();
    let closed =
        ["t/a/b/c/d/e/f/g/h/i", "t/a/b/c/d/e/f/g/h", "t/a/b/c/d/e/f/g", "t/a/b/c/d", "t/a", "t/j/k", "t/j", "t"];
    for name in closed {
        fs::set_permissions(case.here(name), fs::Permissions::from_mode(0o000)).unwrap();
    }
    without_privileges(|| {
        assert!(fs::read_dir(case.here("t")).is_err(), "the test means something");
        let error = case.root.walk(path("t")).nth(1).unwrap().unwrap_err();
        assert!(error.to_string().contains("here/t"), "{error}");
        case.root.remove(path("t")).unwrap();
    });
    assert_eq!(case.root.list(path("")).unwrap(), []);
}

#[test]
fn permissions_of_what_may_not_be_opened_are_set() {
    let case = Case::new();
    fs::write(case.here("file"), "").unwrap();
    fs::set_permissions(case.here("file"), fs::Permissions::from_mode(0o000)).unwrap();
    without_privileges(|| {
        case.root.set_mode(path("file"), 0o751).unwrap();
        case.root.set_mode(path(""), 0o710).unwrap();
    });
    assert_eq!(case.root.look(path("file")).unwrap().unwrap().mode, 0o751);
    assert_eq!(case.root.look(path("")).unwrap().unwrap().mode, 0o710);
}

#[test]
fn a_file_is_created_only_where_nothing_is() {
    let case = Case::new();
    assert!(case.root.create(path("a/new"), b"one").unwrap());
    assert!(!case.root.create(path("a/new"), b"two").unwrap());
    symlink(case.dir.path().join("nowhere"), case.here("link")).unwrap();
    assert!(!case.root.create(path("link"), b"two").unwrap());
    assert_eq!(case.root.read(path("a/new")).unwrap(), b"one");
    assert_eq!(case.root.list(path("a")).unwrap().len(), 1, "no temporary file is left");
}

#[test]
fn a_place_is_below_a_root_that_a_link_may_lead_to_and_that_need_not_be_there() {
    let case = Case::new();
    let place = Place::new(case.here("project"), "state/file");
    assert!(place.look().unwrap().is_none());
    assert_eq!(place.open_file().unwrap_err().kind(), io::ErrorKind::NotFound);
    assert_eq!(Place::with_names(&case.here("project"), 1).list().unwrap(), []);
    place.remove().unwrap();
    place.append_to().unwrap().write_all(b"ours").unwrap();
    symlink("project", case.here("door")).unwrap();
    assert_eq!(Place::new(case.here("door"), "state/file").read().unwrap(), b"ours");
    assert_eq!(Place::with_names(&case.here("door/state/file"), 2), Place::new(case.here("door"), "state/file"));
    let through = Place::with_names(&case.here("door/state/file"), 3);
    for result in [through.look().map(drop), through.open_file().map(drop), through.replace(b"theirs")] {
        assert_eq!(refused(result).path, case.here("door"));
    }
    assert_eq!(Place::with_names(path("file"), 2).path(), path("file"));
}

#[test]
fn what_a_person_names_is_read_through_links_and_a_pipe_makes_nobody_wait() {
    let case = Case::new();
    symlink(case.there("file"), case.here("link")).unwrap();
    symlink("link", case.here("again")).unwrap();
    assert_eq!(read_named(&case.here("again")).unwrap(), "theirs");
    assert_eq!(open_named(&case.here("none")).unwrap_err().kind(), io::ErrorKind::NotFound);
    rustix::fs::mknodat(CWD, case.here("pipe"), FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
    symlink("pipe", case.here("to-pipe")).unwrap();
    assert_eq!(refused(open_named(&case.here("to-pipe"))).found, "a pipe");
}
