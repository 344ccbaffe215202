//! No more than three files import each other in a circle: whoever reads a file must not have to read the whole room.
//!
//! Sources are read as text, as `rustfmt` leaves them. An import leads to the file that defines the name, through whatever re-exports it; a
//! `pub use` itself is no import, so a `mod.rs` that only hands names on ties nothing.

use crate::architecture::{Source, sources, without_tests};
use regex::Regex;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::LazyLock;

/// A file, as its module's path: `["host", "workspaces", "slot"]`.
type Module = Vec<String>;

static USE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?m)^\s*(pub(?:\([^)]*\))? )?use ((?:\w+::)*(?:\w+|\*))(?: as (\w+))?;").unwrap());
static INLINE: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\b(?:crate|super|self)(?:::\w+)+").unwrap());
static ITEM: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?m)^(?:pub(?:\([^)]*\))? )?(?:const |async |unsafe )*(?:fn|struct|enum|trait|type|const|static|macro_rules!) (\w+)").unwrap()
});
static TESTS: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"#\[cfg\([^\n]*test[^\n]*\)\]\n(?:pub(?:\([^)]*\))? )?mod (\w+);").unwrap());

/// What a file takes from elsewhere under a name.
struct Import {
    path: Vec<String>,
    name: String,
    /// It hands it on.
    is_public: bool,
}

#[derive(Default)]
struct House {
    imports: BTreeMap<Module, Vec<Import>>,
    items: BTreeMap<Module, BTreeSet<String>>,
}

fn parts(path: &str) -> Vec<String> {
    path.split("::").map(str::to_owned).collect()
}

/// The module's path of a source file; none of the roots of crates.
fn module(source: &Source) -> Option<Module> {
    let place = Path::new(&source.place).with_extension("");
    let mut module: Module = place.iter().map(|part| part.to_string_lossy().into_owned()).collect();
    if module.last().is_some_and(|last| last == "mod") {
        module.pop();
    }
    (module != ["lib"] && module != ["main"]).then_some(module)
}

fn without_comments(text: &str) -> String {
    text.lines().map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

impl House {
    fn read(sources: &[Source]) -> Self {
        let mut house = Self::default();
        let mut of_tests = BTreeSet::new();
        for source in sources {
            let Some(module) = module(source) else { continue };
            let text = source.text();
            let text = without_tests(&text);
            of_tests.extend(TESTS.captures_iter(text).map(|test| [&module[..], &[test[1].to_owned()]].concat()));
            // The items of a group stand on one line.
            let code = without_comments(text).replace("; use ", ";\nuse ").replace("; pub", ";\npub");
            let mut imports: Vec<Import> = USE
                .captures_iter(&code)
                .map(|import| {
                    let path = parts(import[2].trim_end_matches("::self"));
                    let name =
                        import.get(3).map_or_else(|| path[path.len() - 1].clone(), |name| name.as_str().to_owned());
                    Import { path, name, is_public: import.get(1).is_some() }
                })
                .collect();
            let others = USE.replace_all(&code, "");
            let inline = INLINE.find_iter(&others).map(|path| parts(path.as_str()));
            imports.extend(inline.map(|path| Import { path, name: String::new(), is_public: false }));
            house.items.insert(module.clone(), ITEM.captures_iter(&code).map(|item| item[1].to_owned()).collect());
            house.imports.insert(module, imports);
        }
        let is_test = |module: &Module| (1..=module.len()).any(|end| of_tests.contains(&module[..end]));
        house.imports.retain(|module, _| !is_test(module));
        house.items.retain(|module, _| !is_test(module));
        house
    }

    /// The file that defines what a path names, as it is written in a file. None: another crate's, or the root's.
    fn file_of(&self, at: &Module, path: &[String], depth: usize) -> Option<Module> {
        let (mut here, mut rest) = match path.first()?.as_str() {
            "crate" => (Module::new(), &path[1..]),
            "self" => (at.clone(), &path[1..]),
            "super" => (at.clone(), path),
            first if self.items.contains_key(&[&at[..], &[first.to_owned()]].concat()) => (at.clone(), path),
            first => {
                let import = self.imports[at].iter().find(|import| import.name == first && import.path != path)?;
                let path = [&import.path[..], &path[1..]].concat();
                return if depth > 0 { self.file_of(at, &path, depth - 1) } else { None };
            }
        };
        while rest.first().is_some_and(|part| part == "super") {
            here.pop();
            rest = &rest[1..];
        }
        for (i, part) in rest.iter().enumerate() {
            let below = [&here[..], std::slice::from_ref(part)].concat();
            if self.items.contains_key(&below) {
                here = below;
                continue;
            }
            let known = self.items.get(&here)?;
            if known.contains(part) || depth == 0 {
                return Some(here);
            }
            let handed_on = self.imports[&here].iter().find(|import| import.name == *part);
            let from = handed_on
                .and_then(|import| self.file_of(&here, &[&import.path[..], &rest[i + 1..]].concat(), depth - 1));
            return Some(from.unwrap_or(here));
        }
        self.items.contains_key(&here).then_some(here)
    }

    /// What each file imports.
    fn arrows(&self) -> BTreeMap<&Module, BTreeSet<Module>> {
        let arrows = self.imports.iter().map(|(module, imports)| {
            let files = imports
                .iter()
                .filter(|import| !import.is_public)
                .filter_map(|import| self.file_of(module, &import.path, 8));
            (module, files.filter(|file| file != module).collect())
        });
        arrows.collect()
    }
}

/// All that can be reached from a file.
fn reached<'m>(arrows: &'m BTreeMap<&Module, BTreeSet<Module>>, from: &'m Module) -> BTreeSet<&'m Module> {
    let (mut seen, mut next) = (BTreeSet::new(), vec![from]);
    while let Some(file) = next.pop() {
        for to in &arrows[file] {
            if seen.insert(to) {
                next.push(to);
            }
        }
    }
    seen
}

/// The files that import each other in circles, by circle.
fn circles(house: &House) -> Vec<Vec<String>> {
    let arrows = house.arrows();
    let reached: BTreeMap<&Module, BTreeSet<&Module>> =
        arrows.keys().map(|file| (*file, reached(&arrows, file))).collect();
    let mut found = BTreeSet::new();
    for (file, to) in &reached {
        let circle: Vec<String> =
            to.iter().filter(|other| reached[*other].contains(file)).map(|m| m.join("/")).collect();
        if circle.len() > 1 {
            found.insert(circle);
        }
    }
    found.into_iter().collect()
}

#[test]
fn at_most_three_files_import_each_other() {
    let found = circles(&House::read(&sources()));
    assert!(found.len() > 10, "hardly any circle of two files is found: imports are no longer read");
    let large: Vec<String> = found.iter().filter(|circle| circle.len() > 3).map(|circle| circle.join(", ")).collect();
    assert!(
        large.is_empty(),
        "these import each other; move what they share into a file below them:\n{}",
        large.join("\n")
    );
}
