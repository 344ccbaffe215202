//! The files in the home directory that a file of settings names: what a shell sources, a program that stands in for another one.

use super::list::{PATTERNS, entries, matcher};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

/// How the home directory is written before a `/`.
const HOME: [&[u8]; 4] = [b"~", b"$HOME", b"${HOME}", b"${user.home}"];
/// Where a name ends that stands in no quotes.
const ENDS: &[u8] = b" \t\r\n\"'`;|&()<>,=[]{}\\";

/// The paths below the home directory that stand in a text. Of `*` in the last name, those that are there.
pub(super) fn of(text: &[u8], home: &Path) -> Vec<PathBuf> {
    // A program's own words are none of the user's.
    if text.contains(&0) {
        return Vec::new();
    }
    let whole = home.as_os_str().as_bytes();
    let starts = HOME.iter().copied().chain((whole.len() > 1).then_some(whole));
    let found = starts.flat_map(|start| {
        let begin = [start, b"/"].concat();
        let at: Vec<usize> = memchr::memmem::find_iter(text, &begin).collect();
        at.into_iter().filter_map(move |at| below(text, at, at + begin.len()))
    });
    found.filter(|below| counts(below)).flat_map(|below| expanded(home, &below)).collect()
}

/// What stands behind the home directory; up to the quote, if one is before it.
fn below(text: &[u8], at: usize, from: usize) -> Option<PathBuf> {
    let before = at.checked_sub(1).map(|before| text[before]);
    if before.is_some_and(|before| before.is_ascii_alphanumeric() || b"/._-".contains(&before)) {
        return None;
    }
    if !is_read_or_run(&text[..at]) {
        return None;
    }
    let ends = |byte: &u8| match before {
        Some(quote @ (b'"' | b'\'')) => *byte == quote || *byte == b'\n',
        _ => ENDS.contains(byte),
    };
    let rest = &text[from..];
    let name = &rest[..rest.iter().position(ends).unwrap_or(rest.len())];
    (!name.is_empty()).then(|| PathBuf::from(OsStr::from_bytes(name)))
}

/// Whether what stands behind a text is run or sourced there, or is somebody's setting. An argument of a program (`vim ~/notes.md`), or what it
/// writes (`> ~/.last_dir`), is not.
fn is_read_or_run(text: &[u8]) -> bool {
    /// Words behind which a command stands, or a file that is sourced.
    const BEFORE: [&[u8]; 14] = [
        b".", b"source", b"sh", b"bash", b"zsh", b"exec", b"eval", b"command", b"then", b"do", b"else", b"in", b"!",
        b"{",
    ];
    let text = text.strip_suffix(b"\"").or_else(|| text.strip_suffix(b"'")).unwrap_or(text);
    let trimmed = text.trim_ascii_end();
    let Some(last) = trimmed.last() else { return true };
    let is_new_line = text[trimmed.len()..].contains(&b'\n');
    let word = trimmed.rsplit(|byte| byte.is_ascii_whitespace() || b";&|(".contains(byte)).next().unwrap_or_default();
    is_new_line || b"=:;&|(`".contains(last) || BEFORE.contains(&word)
}

fn counts(below: &Path) -> bool {
    below.components().all(|part| match part {
        Component::Normal(name) => !PATTERNS.not_named.is_match(name),
        Component::CurDir => true,
        Component::ParentDir | Component::RootDir | Component::Prefix(_) => false,
    })
}

fn expanded(home: &Path, below: &Path) -> Vec<PathBuf> {
    let path = home.join(below);
    let any = below.file_name().and_then(|name| matcher(name.to_str()?));
    match (any, path.parent()) {
        (Some(any), Some(dir)) => entries(dir, &any),
        _ => vec![path],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn paths_below_the_home_directory_are_found_however_it_is_written() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path();
        fs::create_dir(home.join("rc.d")).unwrap();
        fs::write(home.join("rc.d/one"), "").unwrap();
        let text = format!(
            ". ~/a/env.sh\n[ -f \"$HOME/my dir/x\" ] && source ${{HOME}}/b\nfor f in ~/rc.d/*; do . $f; done\n\
             script-shell={}/opt/sh\nexport X=${{user.home}}/c.properties:~/d\nHISTFILE=~/.bash_history foo~/no ~/../up ~/\n\
             cd() {{ builtin cd \"$@\" && pwd > ~/.last_dir; }}\nalias n='vim ~/notes.md'\n",
            home.display()
        );
        let mut found = of(text.as_bytes(), home);
        found.sort();
        let expected = ["a/env.sh", "b", "c.properties:~/d", "d", "opt/sh", "rc.d/one"];
        assert_eq!(found, expected.map(|below| home.join(below)));
        assert!(of(b"\x7fELF\0~/a", home).is_empty());
    }
}
