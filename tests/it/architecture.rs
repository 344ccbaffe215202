//! The import table of `docs/ARCHITECTURE.md` is law: the code is checked against it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

type Table = BTreeMap<String, BTreeSet<String>>;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Rows of the form ``| `name` | `a`, `b` | … |`` under a heading.
fn rows(heading: &str) -> Vec<(String, Vec<BTreeSet<String>>)> {
    let text = fs::read_to_string(root().join("docs/ARCHITECTURE.md")).unwrap();
    let section = text.split(&format!("\n## {heading}\n")).nth(1).expect("the document has the table");
    let words = |cell: &str| cell.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>();
    let rows = section.split("\n## ").next().unwrap().lines().filter(|line| line.starts_with("| `")).map(|line| {
        let mut cells = line.trim_matches('|').split('|').map(words);
        (cells.next().unwrap()[0].clone(), cells.map(|words| words.into_iter().collect()).collect())
    });
    rows.collect()
}

/// Each module with those that it may import.
fn table() -> Table {
    rows("Who may import whom").into_iter().map(|(module, cells)| (module, cells[0].clone())).collect()
}

fn files_below(dir: &Path, found: &mut Vec<PathBuf>) {
    all_files_below(dir, found);
    found.retain(|path| path.extension().is_some_and(|e| e == "rs"));
}

fn all_files_below(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all_files_below(&path, found);
        } else {
            found.push(path);
        }
    }
}

/// Where sources lie: `src` of each crate in `crates/`, and the program's own.
fn source_dirs() -> Vec<PathBuf> {
    let crates = fs::read_dir(root().join("crates")).unwrap().map(|entry| entry.unwrap().path().join("src"));
    let mut dirs: Vec<PathBuf> = crates.collect();
    dirs.sort();
    dirs.push(root().join("src"));
    dirs
}

/// One source file of the product.
pub struct Source {
    /// The module that it belongs to, whichever crate holds that.
    module: String,
    /// Where it lies below `src` of its crate, so that a module may move to another: `host/git.rs`, `cli/args/mod.rs`.
    pub place: String,
    path: PathBuf,
}

impl Source {
    pub fn text(&self) -> String {
        spelled_out(&fs::read_to_string(&self.path).unwrap())
    }
}

/// A source with each item of a grouped import by its whole path, all of a group on its first line: `use a::{b, c};` is `use a::b; use a::c;`.
fn spelled_out(source: &str) -> String {
    let mut spelled = String::new();
    let mut rest = source;
    while let Some((at, open)) = next_group(rest) {
        let Some(close) = rest[open..].find("};") else { break };
        let (before, group) = (&rest[..at], &rest[open + 1..open + close]);
        let start = before.rfind('\n').map_or(0, |end| end + 1);
        let path = rest[start..open].trim_start();
        assert!(
            !group.contains('{'),
            "`{path}{{{group}}}`: one level of braces, so that the imports can be read as text"
        );
        spelled.push_str(&rest[..start]);
        let items = group.split(',').map(str::trim).filter(|item| !item.is_empty());
        spelled.push_str(&items.map(|item| format!("{path}{item};")).collect::<Vec<_>>().join(" "));
        spelled.push_str(&"\n".repeat(group.matches('\n').count()));
        rest = &rest[open + close + 2..];
    }
    spelled + rest
}

/// Where the next grouped import has its `use` and its brace.
fn next_group(source: &str) -> Option<(usize, usize)> {
    let mut from = 0;
    while let Some(open) = source[from..].find("::{").map(|at| from + at + 2) {
        let start = source[..open].rfind('\n').map_or(0, |end| end + 1);
        let line = &source[start..open];
        let code = line.trim_start();
        if let Some(at) = code.find("use ").filter(|at| *at == 0 || code.starts_with("pub")) {
            return Some((start + line.len() - code.len() + at, open));
        }
        from = open;
    }
    None
}

#[test]
fn a_grouped_import_is_read_as_its_items() {
    let source = "use std::fs;\npub(super) use a::b::{\n    self,\n    C,\n};\nuse crate::{d, e};\nlet x = f::{};\n";
    let spelled = spelled_out(source);
    assert_eq!(
        spelled,
        "use std::fs;\npub(super) use a::b::self; pub(super) use a::b::C;\n\n\n\nuse crate::d; use crate::e;\nlet x = f::{};\n"
    );
}

/// Every source file of the program and of its crates.
pub fn sources() -> Vec<Source> {
    let mut found = Vec::new();
    for src in source_dirs() {
        let mut files = Vec::new();
        files_below(&src, &mut files);
        for path in files {
            let relative = path.strip_prefix(&src).unwrap();
            let module = relative.iter().next().unwrap().to_string_lossy().trim_end_matches(".rs").to_owned();
            found.push(Source { module, place: relative.display().to_string(), path });
        }
    }
    found
}

/// The text before the tests at the end of a file.
pub fn without_tests(text: &str) -> &str {
    text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default()
}

/// Every `(importing module, imported module, file:line)` of the code; comments and doc comments do not import.
///
/// Modules of other crates are imported as those of the own one are: the root of the crate (`lib.rs`) takes them in.
fn imports() -> Vec<(String, String, String)> {
    let others: Vec<String> = source_dirs().iter().map(|src| format!("reflexion_{}::", crate_of(src))).collect();
    let mut found = Vec::new();
    for source in sources() {
        // What only tests import makes no cycle in the product.
        for (number, line) in without_tests(&source.text()).lines().enumerate() {
            let code = line.split("//").next().unwrap_or_default();
            let place = format!("{}:{}", source.place, number + 1);
            assert!(
                source.module == "lib" || !others.iter().any(|other| code.contains(other)),
                "{place}: write `crate::module`, and take the module in in `lib.rs`"
            );
            for part in code.split("crate::").skip(1) {
                let name: String = part.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
                assert!(!name.is_empty(), "{place}: no name stands behind `crate::`");
                // A macro of the crate's root (`crate::layers!`) is no module.
                if name.starts_with(|c: char| c.is_lowercase()) && !part[name.len()..].starts_with('!') {
                    found.push((source.module.clone(), name, place.clone()));
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
fn every_module_is_in_the_table_and_the_program_offers_it() {
    let facade = fs::read_to_string(root().join("src/lib.rs")).unwrap();
    let mut modules = BTreeSet::new();
    for src in source_dirs() {
        let lib = fs::read_to_string(src.join("lib.rs")).unwrap();
        let declared = lib.lines().filter_map(|line| line.strip_prefix("pub mod ")?.strip_suffix(';'));
        for module in declared {
            assert!(modules.insert(module.to_owned()), "two crates have a module `{module}`");
            let offered = [format!("pub mod {module};"), format!("pub use reflexion_{}::{module};", crate_of(&src))];
            assert!(facade.lines().any(|line| offered.contains(&line.to_owned())), "src/lib.rs needs `{}`", offered[1]);
        }
    }
    assert_eq!(modules, table().into_keys().collect());
}

#[test]
fn the_crates_are_those_of_the_document() {
    let mut found = Vec::new();
    for src in source_dirs().iter().filter(|src| **src != root().join("src")) {
        let lib = fs::read_to_string(src.join("lib.rs")).unwrap();
        let modules = lib.lines().filter_map(|line| Some(line.strip_prefix("pub mod ")?.strip_suffix(';')?.to_owned()));
        let manifest = fs::read_to_string(src.with_file_name("Cargo.toml")).unwrap();
        let product = manifest.split("[dev-dependencies]").next().unwrap();
        let uses = product.lines().filter_map(|line| line.strip_prefix("reflexion-"));
        let uses = uses.map(|rest| rest.split(['.', ' ']).next().unwrap().to_owned());
        found.push((crate_of(src), vec![modules.collect(), uses.collect()]));
    }
    let mut documented = rows("The crates");
    documented.sort();
    assert_eq!(found, documented);
}

#[test]
fn whoever_wants_the_memory_alone_builds_nothing_that_talks() {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["tree", "--offline", "--package", "reflexion-memory", "--edges", "normal", "--prefix", "none"]);
    let tree = cargo.current_dir(root()).output().unwrap();
    assert!(tree.status.success(), "{}", String::from_utf8_lossy(&tree.stderr));
    let tree = String::from_utf8(tree.stdout).unwrap();
    let packages: BTreeSet<&str> = tree.lines().filter_map(|line| line.split(' ').next()).collect();
    let ours: Vec<&str> = packages.iter().copied().filter(|name| name.starts_with("reflexion")).collect();
    let few = ["core", "files", "layer", "memory", "text", "toolchain"].map(|name| format!("reflexion-{name}"));
    assert_eq!(ours, few);
    // Clients of HTTP, what draws on a terminal, agents' protocols, the command line.
    let heavy =
        ["reqwest", "hyper", "rustls", "genai", "ratatui", "crossterm", "indicatif", "agent-client-protocol", "clap"];
    let found: Vec<&str> = heavy.into_iter().filter(|name| packages.contains(name)).collect();
    assert!(found.is_empty(), "the memory needs {found:?}");
}

/// What a crate takes from `config/` while it is compiled lies in its own directory, behind a link: what is published has it, too.
/// The crates of others that are built, each with its features.
fn built(args: &[&str]) -> BTreeMap<String, BTreeSet<String>> {
    let mut cargo = Command::new(env!("CARGO"));
    let tree = cargo.args(["tree", "--offline", "--prefix", "none", "--format", "{p}|{f}"]).args(args);
    let tree = tree.current_dir(root()).output().unwrap();
    assert!(tree.status.success(), "{}", String::from_utf8_lossy(&tree.stderr));
    let mut built = BTreeMap::<String, BTreeSet<String>>::new();
    let tree = String::from_utf8(tree.stdout).unwrap();
    let others = tree.lines().filter(|line| !line.starts_with("reflexion"));
    for (name, features) in others.filter_map(|line| line.split_once('|')) {
        built.entry(name.to_owned()).or_default().insert(features.trim_end_matches(" (*)").to_owned());
    }
    built
}

#[test]
fn what_cargo_run_has_built_cargo_test_does_not_build_again() {
    let run = built(&["--package", "reflexion", "--edges", "normal,build"]);
    let test = built(&["--edges", "normal,build,dev"]);
    // `bstr` is built in a second, and nothing of ours sets its features.
    let again = run.iter().filter(|(name, features)| !name.starts_with("bstr ") && test.get(*name) != Some(features));
    let again: Vec<_> = again.map(|(name, features)| format!("{name}: {features:?}, {:?}", test.get(name))).collect();
    assert!(again.is_empty(), "set these features in the root Cargo.toml as tests have them: {again:#?}");
}

#[test]
fn a_package_holds_all_that_is_compiled_into_it() {
    for source in sources() {
        let text = source.text();
        for included in without_tests(&text).split("include_str!(").skip(1) {
            let argument = included.split(';').next().unwrap_or_default();
            // `src/runtime/mod.rs` is two directories below that of its crate.
            let depth =
                if argument.contains("CARGO_MANIFEST_DIR") { 0 } else { Path::new(&source.place).iter().count() };
            let up = argument.matches("../").count();
            assert!(up <= depth, "{}: what is included must be in the package", source.path.display());
        }
    }
    for src in source_dirs() {
        let script = fs::read_to_string(src.with_file_name("build.rs")).unwrap_or_default();
        assert!(!script.contains("../"), "{}: what its build reads must be in the package", src.display());
    }
    for src in source_dirs().iter().filter(|src| src.with_file_name("config").is_dir()) {
        let mut cargo = Command::new(env!("CARGO"));
        cargo
            .args(["package", "--list", "--no-verify", "--allow-dirty", "--offline"])
            .current_dir(src.parent().unwrap());
        let listed = cargo.output().unwrap();
        assert!(listed.status.success(), "{}", String::from_utf8_lossy(&listed.stderr));
        let listed = String::from_utf8(listed.stdout).unwrap();
        let listed: BTreeSet<&str> = listed.lines().collect();
        let mut files = Vec::new();
        all_files_below(&src.with_file_name("config"), &mut files);
        for file in files {
            let name = file.strip_prefix(src.parent().unwrap()).unwrap().to_str().unwrap();
            assert!(listed.contains(name), "the package of {} has no {name}", crate_of(src));
        }
    }
}

/// The name of the directory of a crate, by that of its sources.
fn crate_of(src: &Path) -> String {
    src.parent().unwrap().file_name().unwrap().to_string_lossy().into_owned()
}

#[test]
fn only_host_starts_processes_and_reads_the_clock() {
    let banned = ["std::process::Command", "tokio::process", "SystemTime::now", "Instant::now", "Timestamp::now"];
    // The clock of tokio's paused time is one that tests decide about.
    let clocks = ["host/", "testing/clock.rs"];
    for source in sources().iter().filter(|source| !clocks.iter().any(|place| source.place.starts_with(place))) {
        let text = source.text();
        // Tests may start what they test.
        let code = without_tests(&text);
        for word in banned {
            assert!(!code.contains(word), "{} uses {word}; ask a port instead", source.path.display());
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

/// Files of other modules than `files` that may do so, each with its reason: `file: reason`, one a line.
const EXCEPTIONS: &str = include_str!("file_effects.txt");

#[test]
fn files_are_changed_by_the_module_for_that_alone() {
    let mut found = BTreeSet::new();
    for source in sources() {
        let (place, text) = (source.place.clone(), source.text());
        if place.starts_with("files/") || place.contains("tests/") || place.ends_with("tests.rs") {
            continue;
        }
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

/// Arms of `match` that stand for whatever is not named: `_`, `_ if …` or a bare name, alone or as an alternative.
fn is_wildcard(pattern: &str) -> bool {
    let pattern = pattern.split(" if ").next().unwrap_or_default();
    pattern.split('|').map(str::trim).any(|word| {
        word == "_" || (!word.is_empty() && word.chars().all(|c| c.is_lowercase() || c.is_ascii_digit() || c == '_'))
    })
}

/// The line numbers of `match`es over `names` that have an arm for whatever they do not name. Code is read as rustfmt leaves it: an arm
/// begins a line, one brace deeper than its `match`.
fn matches_with_wildcards(code: &str, names: &[&str]) -> Vec<usize> {
    struct Open {
        line: usize,
        depth: usize,
        over: bool,
        wildcard: bool,
    }
    let (mut depth, mut open, mut found): (usize, Vec<Open>, Vec<usize>) = (0, Vec::new(), Vec::new());
    for (number, line) in code.lines().enumerate() {
        // Texts may hold braces; in this code no text that does goes over a line.
        let texts: String = line.split('"').step_by(2).collect();
        let line = texts.split("//").next().unwrap_or_default().trim();
        if let Some(inner) = open.last_mut().filter(|inner| inner.depth + 1 == depth) {
            let pattern = line.split("=>").next().unwrap_or_default();
            inner.over |= names.iter().any(|name| pattern.contains(name));
            inner.wildcard |= line.contains("=>") && is_wildcard(pattern);
        }
        if line.ends_with('{') && line.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == "match") {
            open.push(Open { line: number + 1, depth, over: false, wildcard: false });
        }
        depth = (depth + line.matches('{').count()).saturating_sub(line.matches('}').count());
        while open.last().is_some_and(|inner| depth <= inner.depth) {
            let closed = open.pop().expect("it was there a moment ago");
            if closed.over && closed.wildcard {
                found.push(closed.line);
            }
        }
    }
    found
}

/// What an entry of the journal, or an event, means is said wherever one is taken: a new one compiles nowhere before that is decided.
/// Whoever asks for one kind only writes `if let`.
#[test]
fn no_entry_and_no_event_is_dropped_by_an_arm_for_the_rest() {
    let names = ["JournalEntry::", "EventKind::"];
    let of = |code: &str| matches_with_wildcards(code, &names);
    let all = "match entry {\n    JournalEntry::RunEnded { .. } => {}\n    other => {}\n}\n";
    assert_eq!(of(all), [1]);
    assert!(of(&all.replace("other", "JournalEntry::A")).is_empty());
    assert_eq!(
        of(
            "let a = match (x, &kind) {\n    (0, Some(EventKind::Doing { .. })) => match y {\n        _ => 1,\n    },\n    _ if z => 2,\n};\n"
        ),
        [1]
    );
    let mut wrong = Vec::new();
    for source in sources() {
        let lines = of(without_tests(&source.text()));
        wrong.extend(lines.into_iter().map(|line| format!("{}:{line}", source.path.display())));
    }
    assert!(wrong.is_empty(), "these leave out what they do not name: {wrong:?}");
}
