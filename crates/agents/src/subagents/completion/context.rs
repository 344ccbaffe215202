//! Which files the model sees.

use super::apply::PathError;
use crate::domain::FileGlobs;
use crate::files::{Kind, Place, Root};
use crate::prompt::{Fixed, ShownFile, first_bytes};
use std::collections::BTreeSet;
use std::path::Path;

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
/// Directories of others' files, beside hidden ones: what is in them is shown where the prompt names it by its path.
const IGNORED: [&str; 8] =
    ["target", "node_modules", "venv", "__pycache__", "vendor", "site-packages", "dist", "build"];
/// Where this program keeps its memory, below the root only.
const MEMORY: &str = "memory";
/// Never shown, wherever it stands and whoever names it: what is git's and this program's, and where keys are kept.
const NEVER: [&str; 3] = [".git", ".reflection", ".env"];

/// What the model sees of the workspace.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Context {
    /// The files, in the order of their importance.
    pub files: Vec<ShownFile>,
    /// Further paths, where the prompt names no file that the task can be about.
    pub others: Vec<String>,
    /// The one file that the task itself names and that may be changed, if it is one.
    pub asked: Option<String>,
}

impl Context {
    /// Why an answer may not replace a file that is there: what the model did not see, it would lose.
    pub fn refuses(&self, path: &str) -> Option<PathError> {
        match self.files.iter().find(|file| file.path == path) {
            None => Some(PathError::Unseen(path.to_owned())),
            Some(file) => (file.fixed == Some(Fixed::Cut)).then(|| PathError::Cut(path.to_owned())),
        }
    }
}

/// Chooses the files that the prompt names, in its order. Where none of them can be what the task is about (tests,
/// protected files, and what the checks name are there to be read), the small files of the project follow.
pub(super) fn choose(dir: &Path, prompt: &str, protected: &FileGlobs) -> Context {
    let all = walk(dir);
    let (task, checks) = parts(prompt);
    let own = named_in(dir, task, &all);
    // Libraries that only a failure's trace names come last: they are not what the task is about.
    let (named, libraries): (Vec<_>, Vec<_>) =
        named_in(dir, prompt, &all).into_iter().partition(|path| all.contains(path) || own.contains(path));
    let mut asked = own.into_iter().filter(|path| !protected.has(path));
    let asked = asked.next().filter(|_| asked.next().is_none());
    let judges = named_in(dir, checks, &all);
    let to_read = |path: &String| protected.has(path) || judges.contains(path) || is_test(path);
    let mut room = ALL_BYTES;
    let mut files: Vec<_> = named.iter().filter_map(|path| show(dir, path, protected, &mut room)).collect();
    let mut others = Vec::new();
    if asked.is_none() && named.iter().all(to_read) {
        let rest = || all.iter().filter(|path| !named.contains(path));
        let small = |path: &&String| {
            Place::new(dir, path).look().is_ok_and(|look| look.is_some_and(|look| look.len <= SMALL_BYTES))
        };
        files.extend(rest().filter(small).filter_map(|path| show(dir, path, protected, &mut room)));
        let unseen = |path: &&String| !files.iter().any(|file| file.path == **path);
        others = rest().filter(unseen).take(LISTED).cloned().collect();
    }
    files.extend(libraries.iter().filter_map(|path| show(dir, path, protected, &mut room)));
    Context { files, others, asked }
}

/// The task in its owner's words, which stands before the checks, and the list of the checks.
fn parts(prompt: &str) -> (&str, &str) {
    let (task, rest) = prompt.split_once("\n## Checks\n").unwrap_or((prompt, ""));
    (task, rest.split("\n## ").next().unwrap_or_default())
}

/// A file that says what is wanted rather than doing it.
fn is_test(path: &str) -> bool {
    let word = |word: &str| matches!(word.to_ascii_lowercase().as_str(), "test" | "tests" | "spec" | "specs");
    path.split(|c: char| !c.is_ascii_alphanumeric()).any(word)
}

/// A text file as it is shown, within what room is left; none for other files.
fn show(dir: &Path, path: &str, protected: &FileGlobs, room: &mut usize) -> Option<ShownFile> {
    let text = String::from_utf8(Place::new(dir, path).read().ok()?).ok().filter(|text| !text.contains('\0'))?;
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
    let Ok(root) = Root::open(dir) else { return Vec::new() };
    let mut paths = Vec::new();
    let mut walk = root.walk(Path::new(""));
    while paths.len() < WALKED
        && let Some(entry) = walk.next()
    {
        let Ok((path, look)) = entry else { continue };
        let ignored = is_ignored(&path, look.kind);
        if ignored && look.kind == Kind::Dir {
            walk.skip_below();
        }
        if !ignored && look.kind == Kind::File {
            paths.extend(path.to_str().map(str::to_owned));
        }
    }
    paths.sort_by_key(|path| path.matches('/').count());
    paths
}

fn is_ignored(path: &Path, kind: Kind) -> bool {
    let Some(name) = path.file_name() else { return false };
    let ignored = |name: &str| IGNORED.contains(&name) || path == Path::new(MEMORY);
    name.to_str().is_none_or(|name| name.starts_with('.') || kind == Kind::Dir && ignored(name))
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
    if is_below_ignored(dir, relative) {
        return Some(relative.to_owned());
    }
    let mut same = all.iter().filter(|path| path.rsplit('/').next() == Some(relative));
    same.next().filter(|_| same.next().is_none()).cloned()
}

/// Whether a path leads to a file that [`walk`] passes by and that may be shown: without a link, and none of [`NEVER`].
fn is_below_ignored(dir: &Path, relative: &str) -> bool {
    let parts: Vec<&str> = relative.split('/').collect();
    let never = |part: &&str| matches!(*part, "" | "." | "..") || NEVER.iter().any(|n| n.eq_ignore_ascii_case(part));
    if parts.iter().any(never) || parts.first().is_some_and(|first| first.eq_ignore_ascii_case(MEMORY)) {
        return false;
    }
    Place::new(dir, relative).look().is_ok_and(|look| look.is_some_and(|look| look.kind == Kind::File))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn project(files: &[(&str, &str)]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for (path, text) in files {
            fs::create_dir_all(dir.path().join(path).parent().unwrap()).unwrap();
            fs::write(dir.path().join(path), text).unwrap();
        }
        dir
    }

    fn paths(context: &Context) -> Vec<&str> {
        context.files.iter().map(|file| file.path.as_str()).collect()
    }

    #[test]
    fn the_named_files_are_shown_in_the_order_of_their_names() {
        let dir =
            project(&[("src/a.py", "a"), ("b.py", "b"), ("lib/deep/only.rs", "o"), ("x/same.py", ""), ("same.py", "")]);
        let prompt = format!(
            "Fix ./b.py (see only.rs). Also mentioned: same.py, missing.py, e.g. 1.2.\n\n## Checks\n\n- t: `python3 t.py`\n\n\
             File \"{}/src/a.py\", line 3, in b.py:7",
            dir.path().display()
        );
        let context = choose(dir.path(), &prompt, &FileGlobs::default());
        assert_eq!(paths(&context), ["b.py", "lib/deep/only.rs", "same.py", "src/a.py"]);
        assert_eq!((context.asked, context.others.len()), (None, 0), "the task itself names three");
    }

    #[test]
    fn the_one_file_of_the_task_is_known_as_such() {
        let check = |prompt: &str, protect: &[&str], expected: Option<&str>| {
            let dir = project(&[("a.py", "a"), ("test_a.py", "t"), ("c.py", "c")]);
            let protect: Vec<_> = protect.iter().map(|glob| (*glob).to_owned()).collect();
            let context = choose(dir.path(), prompt, &FileGlobs::new(&protect).unwrap());
            assert_eq!(context.asked.as_deref(), expected, "{prompt}");
        };
        check("Write a.py.\n\n## Checks\n\n- t: `pytest test_a.py`", &[], Some("a.py"));
        check("Write a.py so that test_a.py passes", &[], None);
        check("Write a.py so that test_a.py passes", &["test_*"], Some("a.py"));
        check("Make it work", &[], None);
    }

    #[test]
    fn without_a_name_small_files_are_shown_and_the_others_listed() {
        let big = "x".repeat(SMALL_BYTES as usize + 1);
        let dir = project(&[
            ("a.py", "a"),
            ("sub/b.py", "b"),
            ("big.csv", &big),
            (".env", "SECRET=1"),
            (".git/config", "g"),
            ("node_modules/m.js", "m"),
            ("memory/reflections.jsonl", "r"),
        ]);
        fs::write(dir.path().join("binary.bin"), [0xff, 0, 1]).unwrap();
        let context = choose(dir.path(), "Make it work", &FileGlobs::default());
        assert_eq!(paths(&context), ["a.py", "sub/b.py"]);
        assert_eq!(context.others, ["big.csv", "binary.bin"]);
    }

    #[test]
    fn where_only_tests_are_named_the_small_files_follow() {
        let check = |prompt: &str, expected: &[&str]| {
            let dir = project(&[("calc.py", "c"), ("other.py", "o"), ("tests/test_calc.py", "t"), ("verify.py", "v")]);
            assert_eq!(paths(&choose(dir.path(), prompt, &FileGlobs::default())), expected, "{prompt}");
        };
        let checks = "\n\n## Checks\n\n- t: `python3 verify.py`\n\n## Last failure\n\n";
        check(
            &format!("Mend half.{checks}File \"tests/test_calc.py\", line 3"),
            &["verify.py", "tests/test_calc.py", "calc.py", "other.py"],
        );
        check(&format!("Mend half.{checks}File \"calc.py\", line 3"), &["verify.py", "calc.py"]);
        check(&format!("Mend verify.py.{checks}"), &["verify.py"]);
    }

    #[test]
    fn a_long_file_is_cut_and_all_together_have_a_budget() {
        let long = "ä".repeat(FILE_BYTES);
        let files: Vec<_> = (0..4).map(|n| (format!("f{n}.py"), long.clone())).collect();
        let files: Vec<_> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        let dir = project(&files);
        let context = choose(dir.path(), "f0.py f1.py f2.py f3.py", &FileGlobs::default());
        assert_eq!(context.files.iter().map(|file| file.text.len()).sum::<usize>(), ALL_BYTES);
        assert_eq!(paths(&context), ["f0.py", "f1.py", "f2.py"]);
        assert_eq!(context.refuses("f0.py"), Some(PathError::Cut("f0.py".to_owned())));
        assert_eq!(context.refuses("f3.py"), Some(PathError::Unseen("f3.py".to_owned())), "it did not fit");
    }

    #[test]
    fn a_file_in_an_ignored_directory_is_shown_where_its_path_is_named() {
        let files = [
            "a.py",
            "build/gen.py",
            "src/memory/pool.py",
            "memory/x.json",
            ".github/ci.yml",
            ".git/config",
            "sub/.reflection/y.md",
            ".env",
            "venv/lib.py",
        ];
        let dir = project(&files.map(|path| (path, "x")));
        let check = |prompt: &str, expected: &[&str]| {
            assert_eq!(paths(&choose(dir.path(), prompt, &FileGlobs::default())), expected, "{prompt}");
        };
        check("build/gen.py and gen.py", &["build/gen.py"]);
        check("Mend pool.py, .github/ci.yml", &["src/memory/pool.py", ".github/ci.yml"]);
        check("a.py memory/x.json .git/config .GIT/config sub/.reflection/y.md .env build/../.env", &["a.py"]);
        let failure = format!("\n## Checks\n\n## Last failure\n\n{}/venv/lib.py:3", dir.path().display());
        check(&format!("Mend it{failure}"), &["a.py", "src/memory/pool.py", "venv/lib.py"]);
    }

    #[test]
    fn nothing_is_shown_through_a_link() {
        let dir = project(&[("a.py", "a")]);
        let outside = project(&[("secret.py", "s")]);
        std::os::unix::fs::symlink(outside.path(), dir.path().join("linked")).unwrap();
        std::os::unix::fs::symlink(outside.path().join("secret.py"), dir.path().join("secret.py")).unwrap();
        let context = choose(dir.path(), "a.py secret.py linked/secret.py ../x /etc/passwd", &FileGlobs::default());
        assert_eq!(paths(&context), ["a.py"]);
    }
}
