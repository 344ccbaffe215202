//! The files of the workspace: which are read, and how one is written.

use super::source::Source;
use super::token::Language;
use crate::files::{Kind, Place, Root};
use std::io;
use std::path::Path;

/// Directories that hold no sources of the project itself.
const IGNORED: [&str; 18] = [
    ".git",
    ".hg",
    ".svn",
    "target",
    "node_modules",
    ".venv",
    "venv",
    "__pycache__",
    ".reflection",
    "memory",
    "vendor",
    "vendored",
    "third_party",
    "site-packages",
    "dist",
    "build",
    ".tox",
    ".eggs",
];
/// Larger files are generated.
const MAX_FILE: u64 = 1_000_000;
/// More sources than this are not read, so that an attempt stays a matter of seconds.
const MAX_TOTAL: usize = 20_000_000;

/// Every source file below a directory, in the order of their paths. Links are not followed; what cannot be read is left out.
pub(super) fn sources(dir: &Path) -> Vec<Source> {
    let Ok(root) = Root::open(dir) else { return Vec::new() };
    let mut total = 0;
    let mut found = Vec::new();
    let mut walk = root.walk(Path::new(""));
    while let Some(entry) = walk.next() {
        let Ok((path, look)) = entry else { continue };
        if look.kind == Kind::Dir && is_ignored(&path) {
            walk.skip_below();
        }
        if look.kind == Kind::File && look.len <= MAX_FILE {
            found.extend(source(&root, &path, &mut total));
        }
    }
    found
}

fn source(root: &Root, path: &Path, total: &mut usize) -> Option<Source> {
    let name = path.to_str()?.replace('\\', "/");
    let language = Language::of(&name)?;
    let text = String::from_utf8(root.read(path).ok()?).ok()?;
    *total += text.len();
    (*total <= MAX_TOTAL && !text.contains('\0')).then(|| Source::new(name, text, language))
}

fn is_ignored(dir: &Path) -> bool {
    let Some(name) = dir.file_name() else { return false };
    name.to_str().is_none_or(|name| IGNORED.contains(&name) || name.starts_with('.') && name.len() > 1)
}

/// Puts a new text in the place of a file at once, with the permissions it had.
///
/// The path comes from [`sources`]; should one of its directories have become a link since, nothing is written.
pub(super) fn replace(dir: &Path, path: &str, text: &str) -> io::Result<()> {
    let place = Place::new(dir, path);
    // Whoever put a link in its place meanwhile is told, and nothing is written over the link.
    drop(place.open_file()?);
    place.replace_soon(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    fn write(dir: &Path, path: &str, text: &str) {
        fs::create_dir_all(dir.join(path).parent().unwrap()).unwrap();
        fs::write(dir.join(path), text).unwrap();
    }

    #[test]
    fn only_the_projects_own_sources_are_read() {
        let dir = tempfile::tempdir().unwrap();
        for path in ["b.py", "a/x.rs", "node_modules/x.js", ".git/x.py", "memory/x.py", "README.md", "vendor/x.go"] {
            write(dir.path(), path, "x = 1\n");
        }
        fs::write(dir.path().join("binary.py"), b"\xff\xfe").unwrap();
        fs::write(dir.path().join("big.py"), vec![b'#'; 1_000_001]).unwrap();
        let outside = tempfile::tempdir().unwrap();
        write(outside.path(), "o.py", "x = 1\n");
        std::os::unix::fs::symlink(outside.path(), dir.path().join("linked")).unwrap();
        std::os::unix::fs::symlink(outside.path().join("o.py"), dir.path().join("o.py")).unwrap();
        let paths: Vec<_> = sources(dir.path()).into_iter().map(|s| s.path).collect();
        assert_eq!(paths, ["a/x.rs", "b.py"]);
    }

    #[test]
    fn a_file_keeps_its_permissions() {
        let dir = tempfile::tempdir().unwrap();
        write(dir.path(), "a/run.py", "x = 1\r\n");
        let file = dir.path().join("a/run.py");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        replace(dir.path(), "a/run.py", "x = 2\r\n").unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "x = 2\r\n");
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o755);
        assert_eq!(fs::read_dir(dir.path().join("a")).unwrap().count(), 1);
    }

    #[test]
    fn nothing_is_written_through_a_link() {
        let (dir, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        write(outside.path(), "o.py", "x = 1\n");
        std::os::unix::fs::symlink(outside.path(), dir.path().join("linked")).unwrap();
        std::os::unix::fs::symlink(outside.path().join("o.py"), dir.path().join("o.py")).unwrap();
        for path in ["linked/o.py", "o.py"] {
            assert!(replace(dir.path(), path, "x = 2\n").is_err(), "{path}");
        }
        assert_eq!(fs::read_to_string(outside.path().join("o.py")).unwrap(), "x = 1\n");
    }
}
