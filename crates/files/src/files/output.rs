//! What a person named to be written to.

use super::root::Root;
use super::stream::STREAM;
use super::way::open_way;
use rustix::fs::{Access, AtFlags, Mode, OFlags};
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

/// What [`open_output`] opened.
#[derive(Debug)]
pub enum Output {
    /// A regular file, to be read, and written at its end.
    File(File),
    /// Nothing yet: a regular file can be made there.
    Absent(Absent),
    /// A pipe, a terminal or another device, or what the process was started with: only to be written to.
    Stream(File),
}

/// Where a regular file can be made.
#[derive(Debug)]
pub struct Absent {
    dir: Root,
    name: PathBuf,
}

impl Absent {
    /// Makes the file, to be read, and written at its end. One that was made there meanwhile is opened as it is.
    ///
    /// # Errors
    /// If it cannot be made, or something else stands there by now.
    pub fn make(&self) -> io::Result<File> {
        self.dir.append_to(&self.name)
    }
}

/// Opens what a person named to be written to: a regular file, which is never cut off, a pipe that somebody reads from, or a character
/// device such as `/dev/null`. Where nothing is, nothing is made yet.
///
/// No link is followed in the last name of the path, and on the way to it as [`open_way`] says: what stands below `of_others` cannot lead
/// the writing elsewhere. `/dev/fd/3`, `/dev/stderr` and the like name what the process was started with.
///
/// ```
/// use reflexion_files::files::{Output, open_output};
/// # let dir = tempfile::tempdir()?;
/// let clone = dir.path().canonicalize()?;
/// let of_others = [clone.clone()];
/// let Output::Absent(lines) = open_output(&clone.join("lines"), &of_others)? else { panic!("it is there") };
/// lines.make()?;
/// assert!(matches!(open_output(&clone.join("lines"), &of_others)?, Output::File(_)));
/// assert!(matches!(open_output("/dev/null".as_ref(), &of_others)?, Output::Stream(_)));
/// std::os::unix::fs::symlink("lines", clone.join("link"))?;
/// assert!(open_output(&clone.join("link"), &of_others).is_err());
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
/// A [`Refused`](super::Refused) if a link, a directory, a socket or a disk stands there; [`nobody_reads`] knows the error of a pipe without a reader; others are the
/// system's, also if the directory is not there.
pub fn open_output(path: &Path, of_others: &[PathBuf]) -> io::Result<Output> {
    let path = std::path::absolute(path)?;
    if is_of_process(&path) {
        return of_process(&path).map(Output::Stream);
    }
    let ends_with_a_name = !path.as_os_str().as_bytes().ends_with(b"/");
    let (Some(dir), Some(name), true) = (path.parent(), path.file_name(), ends_with_a_name) else {
        return Err(io::Error::new(io::ErrorKind::IsADirectory, format!("`{}` names a directory", path.display())));
    };
    let (root, name) = (open_way(dir, of_others)?, Path::new(name));
    match root.kind_of(name) {
        Ok(kind) if !kind.is_file() => root.open_stream(name).map(Output::Stream),
        Ok(_) => root.append_to(name).map(Output::File),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let may_make = Access::WRITE_OK | Access::EXEC_OK;
            rustix::fs::accessat(root.dir(), ".", may_make, AtFlags::EACCESS)?;
            Ok(Output::Absent(Absent { dir: root, name: name.to_owned() }))
        }
        Err(error) => Err(error),
    }
}

/// Whether [`open_output`] failed only because nobody reads from the pipe yet.
#[must_use]
pub fn nobody_reads(error: &io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::NXIO.raw_os_error())
}

/// Whether a path names, by its own words, what the process was started with.
fn is_of_process(path: &Path) -> bool {
    let names: Vec<&OsStr> = path.iter().skip(1).collect();
    let text: Vec<&str> = names.iter().filter_map(|name| name.to_str()).collect();
    let number = |name: &str| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit());
    match text[..] {
        ["dev", "stdout" | "stderr"] => true,
        ["dev", "fd", name] | ["proc", "self", "fd", name] => number(name),
        _ => false,
    }
}

/// What the process was started with. A socket cannot be opened anew.
fn of_process(path: &Path) -> io::Result<File> {
    let kind = std::fs::metadata(path)?.file_type();
    if kind.is_socket() || kind.is_block_device() || kind.is_dir() {
        let what = if kind.is_dir() {
            "a directory"
        } else if kind.is_socket() {
            "a socket"
        } else {
            "a disk"
        };
        return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("`{}` is {what}", path.display())));
    }
    let file = rustix::fs::open(path, STREAM, Mode::empty())?;
    rustix::fs::fcntl_setfl(&file, OFlags::APPEND)?;
    Ok(File::from(file))
}
