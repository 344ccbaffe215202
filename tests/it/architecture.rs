//! The import table of `docs/ARCHITECTURE.md` is law: the code is checked against it.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::path::PathBuf;

type Table = BTreeMap<String, BTreeSet<String>>;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Rows of the form ``| `module` | `a`, `b` |`` under the heading about imports.
fn table() -> Table {
    let text = fs::read_to_string(root().join("docs/ARCHITECTURE.md")).unwrap();
    let section = text.split("## Who may import whom").nth(1).expect("the document has the table");
    let words = |cell: &str| cell.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>();
    section
        .split("\n## ")
        .next()
        .unwrap()
        .lines()
        .filter(|line| line.starts_with("| `"))
        .map(|line| {
            let cells: Vec<&str> = line.trim_matches('|').split('|').collect();
            (words(cells[0])[0].clone(), words(cells[1]).into_iter().collect())
        })
        .collect()
}

fn sources(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
}

/// The text before the tests at the end of a file.
fn without_tests(text: &str) -> &str {
    text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default()
}

/// Every `(importing module, imported module, file:line)` of the code; comments and doc comments do not import.
fn imports() -> Vec<(String, String, String)> {
    let src = root().join("src");
    let mut files = Vec::new();
    sources(&src, &mut files);
    let mut found = Vec::new();
    for file in files {
        let relative = file.strip_prefix(&src).unwrap();
        let module = relative.iter().next().unwrap().to_string_lossy().trim_end_matches(".rs").to_owned();
        let text = fs::read_to_string(&file).unwrap();
        // What only tests import makes no cycle in the product.
        for (number, line) in without_tests(&text).lines().enumerate() {
            let code = line.split("//").next().unwrap_or_default();
            for part in code.split("crate::").skip(1) {
                let name: String = part.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
                let place = format!("{}:{}", relative.display(), number + 1);
                assert!(
                    !name.is_empty(),
                    "{place}: one `use crate::module` per line, so that the imports can be read as text"
                );
                // A macro of the crate's root (`crate::layers!`) is no module.
                if name.starts_with(|c: char| c.is_lowercase()) && !part[name.len()..].starts_with('!') {
                    found.push((module.clone(), name, place));
                }
            }
        }
    }
    found
}

#[test]
fn the_table_has_no_cycle() {
    let mut left = table();
    while let Some(free) =
        left.iter().find(|(_, needs)| needs.iter().all(|n| !left.contains_key(n))).map(|(m, _)| m.clone())
    {
        left.remove(&free);
    }
    assert!(left.is_empty(), "these modules import each other: {:?}", left.keys().collect::<Vec<_>>());
}

#[test]
fn modules_import_only_what_the_table_allows() {
    let table = table();
    let not_modules = ["lib", "main", "layers", "service"];
    let mut wrong = Vec::new();
    for (module, imported, place) in imports() {
        if module == imported || not_modules.contains(&module.as_str()) || not_modules.contains(&imported.as_str()) {
            continue;
        }
        let allowed = table.get(&module).unwrap_or_else(|| panic!("module `{module}` is not in the table"));
        if !allowed.contains(&imported) {
            wrong.push(format!("{place}: {module} -> {imported} is not in the table"));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn every_module_of_the_library_is_in_the_table() {
    let lib = fs::read_to_string(root().join("src/lib.rs")).unwrap();
    let modules: BTreeSet<String> =
        lib.lines().filter_map(|l| l.strip_prefix("pub mod ")?.strip_suffix(';').map(str::to_owned)).collect();
    assert_eq!(modules, table().into_keys().collect());
}

#[test]
fn only_host_starts_processes_and_reads_the_clock() {
    let mut files = Vec::new();
    sources(&root().join("src"), &mut files);
    let banned = ["std::process::Command", "tokio::process", "SystemTime::now", "Instant::now", "Timestamp::now"];
    // The clock of tokio's paused time is one that tests decide about.
    let clocks = ["/src/host/", "/src/testing/clock.rs"];
    for file in files.iter().filter(|file| !clocks.iter().any(|place| file.to_string_lossy().contains(place))) {
        let text = fs::read_to_string(file).unwrap();
        // Tests may start what they test.
        let code = without_tests(&text);
        for word in banned {
            assert!(!code.contains(word), "{} uses {word}; ask a port instead", file.display());
        }
    }
}

/// What writes, copies, links, renames, chmods or removes, or hands out what does.
const FILE_EFFECTS: [&str; 17] = [
    "fs::write",
    "fs::remove_",
    "fs::rename",
    "fs::create_dir",
    "fs::copy",
    "fs::set_permissions",
    "fs::hard_link",
    "fs::symlink(",
    "unix::fs::symlink;",
    "tokio::fs",
    "tempfile::",
    "NamedTempFile",
    "OpenOptions",
    "DirBuilder",
    "File::create",
    "File::options",
    "cap_std",
];

/// Files outside of `src/files` that may do so, each with its reason: `file: reason`, one a line.
const EXCEPTIONS: &str = include_str!("file_effects.txt");

#[test]
fn files_are_changed_by_the_module_for_that_alone() {
    let src = root().join("src");
    let mut files = Vec::new();
    sources(&src, &mut files);
    let mut found = BTreeSet::new();
    for file in files {
        let place = file.strip_prefix(&src).unwrap().display().to_string();
        if place.starts_with("files/") || place.contains("tests/") || place.ends_with("tests.rs") {
            continue;
        }
        let text = fs::read_to_string(&file).unwrap();
        let product = text.split("\n#[cfg(test)]\nmod ").next().unwrap().split("\n#[cfg(all(test").next().unwrap();
        let code = product.lines().map(|line| line.split("//").next().unwrap_or_default());
        if code.into_iter().any(|line| FILE_EFFECTS.iter().any(|effect| line.contains(effect))) {
            found.insert(place);
        }
    }
    let excepted = EXCEPTIONS.lines().map(|line| {
        let (file, reason) = line.split_once(": ").unwrap_or_else(|| panic!("`{line}` gives no reason"));
        assert!(reason.split(' ').count() > 4, "`{line}` gives no reason");
        file.to_owned()
    });
    let excepted: BTreeSet<String> = excepted.collect();
    let wrong: Vec<_> = found.difference(&excepted).collect();
    assert!(wrong.is_empty(), "these change files; let `crate::files` do it, through no link: {wrong:?}");
    let gone: Vec<_> = excepted.difference(&found).collect();
    assert!(gone.is_empty(), "these change no files any more, and need no exception: {gone:?}");
}
