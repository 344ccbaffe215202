//! Whole paths in the text of a file, however they are spelled there.
//!
//! Which of the characters after a `/` belong to the path nobody can tell from the text: names have spaces and colons. The file system is
//! asked: the path goes on as far as there is something of that name.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Of what the system takes, of a name in a path.
const LONGEST_NAME: usize = 255;
/// The same of a whole path.
const LONGEST_PATH: usize = 4096;

/// How the home directory is written before a `/`.
const HOME: [&[u8]; 3] = [b"~", b"$HOME", b"${HOME}"];

/// Whether a path in this text leads to what is below `top`, but not below `root`. What is there not yet counts, too.
pub(super) fn lead_to(text: &[u8], top: &Path, root: &Path, home: Option<&Path>) -> bool {
    let (Ok(real_top), Ok(real_root)) = (top.canonicalize(), root.canonicalize()) else { return false };
    let leads = |path: &Path| {
        let real = path.canonicalize();
        real.is_ok_and(|real| real.starts_with(&real_top) && !real.starts_with(&real_root))
    };
    readings(text, home).iter().any(|text| names(text, top, root) || found_in(text).iter().any(|path| leads(path)))
}

/// Whether the path of a directory itself is in a text. What is below `root` is not meant.
fn names(text: &[u8], top: &Path, root: &Path) -> bool {
    let (top, root) = (top.as_os_str().as_bytes(), root.as_os_str().as_bytes());
    // A path that goes on is another one.
    let mut places = memchr::memmem::find_iter(text, top).map(|at| &text[at..]);
    places.any(|at| !at[top.len()..].first().is_some_and(|next| goes_on(*next)) && !at.starts_with(root))
}

/// What whoever uses the file may read: the text as it is, as a shell takes it, and as the address of a file.
fn readings<'a>(text: &'a [u8], home: Option<&Path>) -> Vec<Cow<'a, [u8]>> {
    let mut readings = vec![Cow::Borrowed(text)];
    if text.iter().any(|byte| QUOTING.contains(byte)) {
        readings.push(text.iter().copied().filter(|byte| !QUOTING.contains(byte)).collect());
    }
    if memchr::memchr(b'%', text).is_some() {
        readings.push(Cow::Owned(without_percent(text)));
    }
    let Some(home) = home else { return readings };
    readings.into_iter().map(|text| with_home(text, home)).collect()
}

/// What a shell takes away.
const QUOTING: &[u8] = b"\\\"'";

/// With the bytes of which only the numbers are given: `My%20Files`.
fn without_percent(text: &[u8]) -> Vec<u8> {
    let mut read = Vec::with_capacity(text.len());
    let mut rest = text;
    while let [first, after @ ..] = rest {
        let number = (*first == b'%').then(|| std::str::from_utf8(after.get(..2)?).ok()).flatten();
        let byte = number.and_then(|number| u8::from_str_radix(number, 16).ok());
        read.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { &after[2..] } else { after };
    }
    read
}

fn with_home<'a>(text: Cow<'a, [u8]>, home: &Path) -> Cow<'a, [u8]> {
    let spelled = |at: usize| HOME.into_iter().find(|word| text[at..].starts_with(word));
    let is_there = |at: &usize| {
        let before = at.checked_sub(1).map(|before| text[before]);
        let begins = before.is_none_or(|before| before != b'/' && !goes_on(before));
        let end = spelled(*at).map(|word| at + word.len());
        let goes_on = |end: usize| text.get(end).is_some_and(|next| *next != b'/' && goes_on(*next));
        (begins || text[*at] == b'$') && end.is_some_and(|end| !goes_on(end))
    };
    let places: Vec<usize> = memchr::memchr2_iter(b'~', b'$', &text).filter(is_there).collect();
    if places.is_empty() {
        return text;
    }
    let (mut read, mut done) = (Vec::with_capacity(text.len()), 0);
    for at in places {
        read.extend_from_slice(&text[done..at]);
        read.extend_from_slice(home.as_os_str().as_bytes());
        done = at + spelled(at).map_or(0, <[u8]>::len);
    }
    read.extend_from_slice(&text[done..]);
    Cow::Owned(read)
}

/// The paths that a text has, as far as they are there: from each `/` with which no name goes on, or that follows a compiler's option
/// (`-I/usr/include`).
fn found_in(text: &[u8]) -> Vec<PathBuf> {
    let begins = |at: &usize| match text[..*at] {
        [.., b'-', letter] if letter.is_ascii_alphabetic() => true,
        [.., before] => before != b'/' && !goes_on(before),
        [] => true,
    };
    memchr::memchr_iter(b'/', text).filter(begins).flat_map(|at| beginning(&text[at..])).collect()
}

/// The paths with which a line begins. Where several names of a directory are there (`p` and `p 2`), each may be meant.
fn beginning(text: &[u8]) -> Vec<PathBuf> {
    let line = text.iter().take(LONGEST_PATH).take_while(|byte| !matches!(byte, b'\n' | b'\r' | 0)).count();
    let line = &text[..line];
    let path = |end: usize| Path::new(OsStr::from_bytes(&line[..end]));
    let mut dir = 0;
    loop {
        dir += line[dir..].iter().take_while(|byte| **byte == b'/').count();
        let name = line[dir..].iter().take(LONGEST_NAME + 1).take_while(|byte| **byte != b'/').count();
        if name > 0 && line.get(dir + name) == Some(&b'/') && path(dir + name).is_dir() {
            dir += name;
            continue;
        }
        let ends = (dir + 1..=dir + name).filter(|end| line.get(*end).is_none_or(|next| !goes_on(*next)));
        let there: Vec<PathBuf> =
            ends.map(path).filter(|path| fs::symlink_metadata(path).is_ok()).map(Path::to_owned).collect();
        // A file in the directory need not be there yet.
        return if there.is_empty() { vec![path(dir).to_owned()] } else { there };
    }
}

/// Whether the name in a path surely goes on with this.
fn goes_on(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-_.+~@".contains(&byte) || !byte.is_ascii()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_path_is_found_in_any_text_and_spelling() {
        let dir = tempfile::tempdir().unwrap();
        let at = dir.path().canonicalize().unwrap();
        let (home, top, link) = (at.join("home"), at.join("files/my p"), at.join("My Files"));
        fs::create_dir_all(top.join(".venv/lib")).unwrap();
        fs::create_dir_all(top.join("src")).unwrap();
        fs::create_dir_all(at.join("files/my p 2/src")).unwrap();
        fs::create_dir_all(&home).unwrap();
        symlink(at.join("files"), &link).unwrap();
        symlink(&top, home.join("p")).unwrap();
        let leads = |text: &str| {
            let text = text.replace('@', at.to_str().unwrap());
            lead_to(text.as_bytes(), &top, &top.join(".venv"), Some(&home))
        };
        for text in [
            "@/files/my p",
            "@/My Files/my p/src\n",
            "PYTHONPATH=/a/b:@/My\\ Files/my\\ p/not/yet",
            "X=\"@/My Files\"/my' 'p/src:/usr/lib",
            "cc -I@/My Files/my p/src -I/usr/include",
            "{'m': 'file://@/My%20Files/my%20p'}",
            "P=~/p",
            "P=/usr/lib:~/p/src other",
            "P=$HOME/p",
            "P=\"${HOME}\"/p/src",
            "P=-I$HOME/p",
            "home = @/home/p/../my p/src",
        ] {
            assert!(leads(text), "{text}");
        }
        for text in [
            "@/My Files/my p/.venv/lib and more",
            "@/My Files/my p 2/src",
            "@/My Files",
            "@/home",
            "P=~/other",
            "P=a~/p:$HOMES/p:~p",
            "http://a.example/home/p",
            "../files/my p and 100% of it",
        ] {
            assert!(!leads(text), "{text}");
        }
    }
}
