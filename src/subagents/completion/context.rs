//! Which files the model sees.

use super::apply::Protected;
use crate::prompt::Fixed;
use crate::prompt::ShownFile;
use crate::prompt::first_bytes;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use walkdir::DirEntry;
use walkdir::WalkDir;

/// Of one file so much is shown: some six thousand tokens, which is more than a model can give back whole.
const FILE_BYTES: usize = 24 * 1024;
/// Of all files together so much is shown: with the attempt's own prompt some 20,000 tokens, which fits the smallest
/// window that models for programming are run with today (32,768).
const ALL_BYTES: usize = 64 * 1024;
/// Where the prompt names no file, only small ones are shown: they are likelier to be sources than data.
const SMALL_BYTES: u64 = 8 * 1024;
/// So many paths are listed where the prompt names none.
const LISTED: usize = 200;
/// So many files are looked at; a larger project's prompt has to name what it is about.
const WALKED: usize = 20_000;
/// Directories of others' files, beside hidden ones.
const IGNORED: [&str; 9] =
    ["target", "node_modules", "venv", "__pycache__", "memory", "vendor", "site-packages", "dist", "build"];

/// What the model sees of the workspace.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Context {
    /// The files, in the order of their importance.
    pub files: Vec<ShownFile>,
    /// Further paths; only where the prompt names no file.
    pub others: Vec<String>,
    /// The one file that the task itself names and that may be changed, if it is one.
    pub asked: Option<String>,
}

/// Chooses the files that the prompt names, in its order; if it names none, the small sources there are.
pub(super) fn choose(dir: &Path, prompt: &str, protected: &Protected) -> Context {
    let all = walk(dir);
    let named = named_in(dir, prompt, &all);
    let mut context = Context::default();
    let mut room = ALL_BYTES;
    // What stands before the checks is the task in its owner's words.
    let task = prompt.split("\n## Checks\n").next().unwrap_or(prompt);
    let mut asked = named_in(dir, task, &all).into_iter().filter(|path| !protected.has(path));
    context.asked = asked.next().filter(|_| asked.next().is_none());
    if named.is_empty() {
        context.others = all.iter().take(LISTED).cloned().collect();
        let small = |path: &&String| fs::metadata(dir.join(path)).is_ok_and(|m| m.len() <= SMALL_BYTES);
        let shown = all.iter().filter(small).filter_map(|path| show(dir, path, protected, &mut room));
        context.files = shown.collect();
        context.others.retain(|path| !context.files.iter().any(|file| file.path == *path));
    } else {
        context.files = named.iter().filter_map(|path| show(dir, path, protected, &mut room)).collect();
    }
    context
}

/// A text file as it is shown, within what room is left; none for other files.
fn show(dir: &Path, path: &str, protected: &Protected, room: &mut usize) -> Option<ShownFile> {
    let text = fs::read_to_string(dir.join(path)).ok().filter(|text| !text.contains('\0'))?;
    let shown = first_bytes(&text, FILE_BYTES.min(*room));
    if shown.is_empty() && !text.is_empty() {
        return None;
    }
    *room -= shown.len();
    let fixed = if shown.len() < text.len() {
        Some(Fixed::Cut)
    } else if protected.has(path) {
        Some(Fixed::Protected)
    } else {
        None
    };
    Some(ShownFile { path: path.to_owned(), text: shown.to_owned(), fixed })
}

/// Every file of the project, shallow ones first. Links are not followed.
fn walk(dir: &Path) -> Vec<String> {
    let mut paths: Vec<String> = WalkDir::new(dir)
        .sort_by_file_name()
        .into_iter()
        .filter_entry(|entry| entry.depth() == 0 || !is_ignored(entry))
        .filter_map(Result::ok)
        .filter(|entry| entry.file_type().is_file())
        .take(WALKED)
        .filter_map(|entry| Some(entry.path().strip_prefix(dir).ok()?.to_str()?.to_owned()))
        .collect();
    paths.sort_by_key(|path| path.matches('/').count());
    paths
}

fn is_ignored(entry: &DirEntry) -> bool {
    let name = entry.file_name().to_str();
    name.is_none_or(|name| name.starts_with('.') || entry.file_type().is_dir() && IGNORED.contains(&name))
}

/// The files that a text names, each once, in its order: by path, by absolute path, or by a file name that only one file
/// has.
fn named_in(dir: &Path, text: &str, all: &[String]) -> Vec<String> {
    let in_path = |c: char| c.is_alphanumeric() || "/._-+@".contains(c);
    let mut seen = BTreeSet::new();
    text.split(|c| !in_path(c))
        .filter(|word| word.contains(['.', '/']))
        .filter_map(|word| find(dir, word.trim_end_matches(['.', '/']), all))
        .filter(|path| seen.insert(path.clone()))
        .collect()
}

fn find(dir: &Path, word: &str, all: &[String]) -> Option<String> {
    let relative = Path::new(word).strip_prefix(dir).ok().and_then(Path::to_str).unwrap_or(word);
    let relative = relative.trim_start_matches("./");
    if let Some(path) = all.iter().find(|path| *path == relative) {
        return Some(path.clone());
    }
    let mut same = all.iter().filter(|path| path.rsplit('/').next() == Some(relative));
    same.next().filter(|_| same.next().is_none()).cloned()
}
