//! The manifests of toolchains, and which packages a workspace has.

use super::RepositorySignals;
use super::signals::Package;
use crate::toolchain::{manager_of, managers, projects};
use globset::Glob;
use serde_json::Value;

/// Notes what a package's manifests say.
pub(super) fn look(package: &Package, signals: &mut RepositorySignals) {
    for finder in [cargo, node, python, by_table, cmake, make] {
        finder(package, signals);
    }
}

/// The workspaces' members, as paths from the root.
pub(super) fn members(root: &Package) -> Vec<String> {
    let mut globs = Vec::new();
    if let Some(manifest) = root.text("Cargo.toml").and_then(|text| toml::from_str::<toml::Table>(&text).ok()) {
        let listed = manifest.get("workspace").and_then(|table| table.get("members")).and_then(toml::Value::as_array);
        globs.extend(listed.into_iter().flatten().filter_map(|glob| glob.as_str().map(str::to_owned)));
    }
    for file in ["package.json", "lerna.json"] {
        let Some(manifest) = json(root, file) else { continue };
        let listed = [&manifest["workspaces"], &manifest["workspaces"]["packages"], &manifest["packages"]];
        globs.extend(
            listed.iter().filter_map(|list| list.as_array()).flatten().filter_map(|g| g.as_str().map(str::to_owned)),
        );
    }
    globs.extend(root.text("pnpm-workspace.yaml").map(|text| yaml_list(&text, "packages")).unwrap_or_default());
    globs.extend(root.text("go.work").map(|text| go_uses(&text)).unwrap_or_default());
    if let Some(manifest) = root.text("pyproject.toml").and_then(|text| toml::from_str::<toml::Table>(&text).ok()) {
        let uv = manifest
            .get("tool")
            .and_then(|t| t.get("uv"))
            .and_then(|t| t.get("workspace"))
            .and_then(|t| t.get("members"));
        globs.extend(
            uv.and_then(toml::Value::as_array).into_iter().flatten().filter_map(|g| g.as_str().map(str::to_owned)),
        );
    }
    if globs.is_empty() && (root.has("nx.json") || root.has("turbo.json") || root.has("lerna.json")) {
        globs.extend(["packages/*", "apps/*", "libs/*"].map(str::to_owned));
    }
    globs.truncate(100);
    globs.iter().flat_map(|glob| expand(root, glob)).collect()
}

/// The directories that a glob of a workspace names; `**` goes two levels down.
fn expand(root: &Package, glob: &str) -> Vec<String> {
    let glob = glob.trim_start_matches("./").trim_end_matches('/');
    if glob.is_empty()
        || glob == "."
        || glob.starts_with('!')
        || glob.starts_with('/')
        || glob.split('/').any(|p| p == "..")
    {
        return Vec::new();
    }
    if !glob.contains(['*', '?', '[', '{']) {
        return if root.has_dir(glob) { vec![glob.to_owned()] } else { Vec::new() };
    }
    let fixed: Vec<&str> = glob.split('/').take_while(|part| !part.contains(['*', '?', '[', '{'])).collect();
    let levels = (glob.split('/').count() - fixed.len()).min(3) + usize::from(glob.contains("**"));
    let Ok(matcher) = Glob::new(glob).map(|glob| glob.compile_matcher()) else { return Vec::new() };
    let mut level = vec![fixed.join("/")];
    let mut found = Vec::new();
    for _ in 0..levels.min(3) {
        let mut next = Vec::new();
        for dir in level.iter().take(200) {
            for (name, is_dir) in root.entries(dir, 500) {
                if is_dir {
                    next.push(if dir.is_empty() { name } else { format!("{dir}/{name}") });
                }
            }
        }
        found.extend(next.iter().filter(|path| matcher.is_match(path)).cloned());
        level = next;
    }
    found
}

fn json(package: &Package, file: &str) -> Option<Value> {
    serde_json::from_str(&package.text(file)?).ok()
}

/// `packages:` and the items below it; enough of YAML for `pnpm-workspace.yaml`.
fn yaml_list(text: &str, key: &str) -> Vec<String> {
    let mut lines = text.lines().skip_while(|line| line.split(':').next().map(str::trim) != Some(key)).skip(1);
    let items = lines.by_ref().map_while(|line| {
        let line = line.split(" #").next().unwrap_or(line).trim();
        if line.is_empty() || line.starts_with('#') { Some(None) } else { line.strip_prefix('-').map(Some) }
    });
    items.flatten().map(|item| item.trim().trim_matches(['"', '\'']).to_owned()).collect()
}

/// `use ./a` and `use ( ./a … )`.
fn go_uses(text: &str) -> Vec<String> {
    let mut within = false;
    let mut found = Vec::new();
    for line in text.lines().map(|line| line.split("//").next().unwrap_or(line).trim()) {
        match (within, line.strip_prefix("use")) {
            (false, Some(rest)) if rest.trim() == "(" => within = true,
            (false, Some(rest)) => found.push(rest.trim().to_owned()),
            (true, _) if line == ")" => within = false,
            (true, _) if !line.is_empty() => found.push(line.to_owned()),
            _ => {}
        }
    }
    found
}

fn cargo(package: &Package, signals: &mut RepositorySignals) {
    // Members are tested from the root.
    if !package.place.is_empty() && signals.found_in.iter().any(|file| file == "Cargo.toml") {
        if package.has("Cargo.toml") {
            signals.found(package.name("Cargo.toml"));
        }
        return;
    }
    let Some(manifest) = package.text("Cargo.toml").and_then(|text| toml::from_str::<toml::Table>(&text).ok()) else {
        return;
    };
    let workspace = if manifest.contains_key("workspace") { " --workspace" } else { "" };
    signals.test(package.line(&format!("cargo test{workspace}")));
    signals.build(package.line(&format!("cargo build{workspace}")));
    signals.found(package.name("Cargo.toml"));
}

/// The program that manages a Node package: its lockfile, the project's, `packageManager`, npm.
fn manager(package: &Package, manifest: &Value) -> &'static str {
    let root = package.root();
    let locked = |package: &Package| manager_of(|name| package.has(name), |name| package.text(name));
    let known = |declared: &str| {
        let name = declared.split('@').next().unwrap_or_default();
        managers().iter().find(|manager| manager.name == name).map(|manager| manager.name.as_str())
    };
    let of_root = || json(&root, "package.json")?["packageManager"].as_str().and_then(known);
    let manager = locked(package).or_else(|| locked(&root)).map(|(manager, _)| manager.name.as_str());
    manager
        .or_else(|| manifest["packageManager"].as_str().and_then(known))
        .or_else(of_root)
        .or_else(|| root.has("pnpm-workspace.yaml").then_some("pnpm"))
        .unwrap_or("npm")
}

fn node(package: &Package, signals: &mut RepositorySignals) {
    let Some(manifest) = json(package, "package.json") else { return };
    let manager = manager(package, &manifest);
    let mut found = false;
    let script = |name: &str| manifest["scripts"][name].as_str().filter(|line| !line.trim().is_empty());
    for name in ["test", "test:ci", "test:unit", "test:all", "test:e2e", "test:integration", "tests"] {
        // What `npm init` writes where there are no tests.
        let Some(_) = script(name).filter(|line| !line.contains("no test specified")) else { continue };
        let line = if name == "test" && manager != "bun" {
            format!("{manager} test")
        } else {
            format!("{manager} run {name}")
        };
        signals.test(package.line(&line));
        found = true;
    }
    for name in ["build", "build:prod", "compile"] {
        if script(name).is_some() {
            signals.build(package.line(&format!("{manager} run {name}")));
            found = true;
        }
    }
    if found {
        signals.found(package.name("package.json"));
    }
}

fn python(package: &Package, signals: &mut RepositorySignals) {
    let pyproject = package.text("pyproject.toml");
    let table = pyproject.as_deref().and_then(|text| toml::from_str::<toml::Table>(text).ok());
    let tool =
        |name: &str| table.as_ref().and_then(|table| table.get("tool")).and_then(|tool| tool.get(name)).is_some();
    let setup = package.text("setup.cfg").unwrap_or_default();
    let tox = package.text("tox.ini").unwrap_or_default();
    let mut say = |line: &str, file: &str| {
        signals.test(package.line(line));
        signals.found(package.name(file));
    };
    if tool("pytest") {
        say("pytest", "pyproject.toml");
    } else if package.has("pytest.ini") {
        say("pytest", "pytest.ini");
    } else if setup.contains("[tool:pytest]") {
        say("pytest", "setup.cfg");
    } else if tox.contains("[pytest]") {
        say("pytest", "tox.ini");
    }
    if tox.contains("[tox]") || tox.contains("[testenv") {
        say("tox", "tox.ini");
    } else if tool("tox") {
        say("tox", "pyproject.toml");
    }
    if package.has("noxfile.py") {
        say("nox", "noxfile.py");
    }
    if package.has("manage.py") {
        say("python manage.py test", "manage.py");
    }
    let is_python =
        pyproject.is_some() || package.has("setup.py") || !setup.is_empty() || package.has("requirements.txt");
    let files = |dir: &str| package.entries(dir, 2_000).into_iter().any(|(name, _)| is_test_file(&name));
    let dir = ["tests", "test"].into_iter().find(|dir| files(dir));
    if dir.is_some() || is_python && files("") {
        let pytest = pyproject.as_deref().is_some_and(|text| text.contains("pytest"))
            || package.has("conftest.py")
            || dir.is_some_and(|dir| package.has(&format!("{dir}/conftest.py")));
        if signals.tests.is_empty() || pytest {
            signals.test(package.line(if pytest || dir.is_some() { "pytest" } else { "python -m unittest" }));
        }
        signals.found(package.name(dir.unwrap_or("test_*.py")));
    }
    if table.as_ref().is_some_and(|table| table.contains_key("build-system")) {
        // A build of a Python package is no step of changing it; only where something is compiled.
        let text = pyproject.as_deref().unwrap_or_default();
        if ["maturin", "scikit-build", "meson-python", "setuptools-rust"].iter().any(|backend| text.contains(backend)) {
            signals.build(package.line("pip install -e ."));
            signals.found(package.name("pyproject.toml"));
        }
    }
}

fn is_test_file(name: &str) -> bool {
    name.strip_suffix(".py").is_some_and(|stem| stem.starts_with("test_") || stem.ends_with("_test") || stem == "tests")
}

/// Projects whose manifest alone says how they are tested and built.
fn by_table(package: &Package, signals: &mut RepositorySignals) {
    let names = package.names();
    for project in projects() {
        let Some(file) = project.file_in(&names) else { continue };
        // One above tests this one as well.
        let is_covered = || signals.found_in.iter().any(|above| project.file_in(std::slice::from_ref(above)).is_some());
        if project.covers_below && !package.place.is_empty() && is_covered() {
            continue;
        }
        signals.test(package.line(&project.line(&project.test, &names)));
        if let Some(build) = &project.build {
            signals.build(package.line(&project.line(build, &names)));
        }
        signals.found(package.name(file));
    }
}

fn cmake(package: &Package, signals: &mut RepositorySignals) {
    let Some(text) = package.text("CMakeLists.txt") else { return };
    let lower = text.to_lowercase();
    if lower.contains("enable_testing") || lower.contains("add_test") || lower.contains("include(ctest)") {
        signals.test(package.line("ctest --test-dir build"));
    }
    if lower.contains("add_executable") || lower.contains("add_library") || lower.contains("project(") {
        signals.build(package.line("cmake --build build"));
    }
    signals.found(package.name("CMakeLists.txt"));
}

fn make(package: &Package, signals: &mut RepositorySignals) {
    for (files, program) in
        [(&["GNUmakefile", "makefile", "Makefile"][..], "make"), (&["justfile", "Justfile", ".justfile"], "just")]
    {
        let Some((file, text)) = files.iter().find_map(|file| Some((file, package.text(file)?))) else { continue };
        let targets: Vec<&str> = text.lines().filter_map(target).flatten().collect();
        let has = |names: &[&'static str]| names.iter().find(|name| targets.contains(name)).copied();
        if let Some(target) = has(&["test", "tests", "check"]) {
            signals.test(package.line(&format!("{program} {target}")));
            signals.found(package.name(file));
        }
        if let Some(target) = has(&["build", "all", "compile"]) {
            signals.build(package.line(&format!("{program} {target}")));
            signals.found(package.name(file));
        }
    }
}

/// The targets of a rule's first line.
fn target(line: &str) -> Option<Vec<&str>> {
    if line.starts_with(['\t', ' ', '#', '.']) {
        return None;
    }
    let (names, rest) = line.split_once(':')?;
    let names: Vec<&str> = names.split_whitespace().collect();
    (!rest.starts_with('=') && !names.contains(&"=") && !line.contains(":=")).then_some(names)
}
