//! What a Python project declares to need.

use super::package::Package;
use toml::{Table, Value};

/// Extras and groups that are for working on the project.
const FOR_TESTS: [&str; 6] = ["test", "tests", "testing", "dev", "develop", "development"];

/// Where pytest is declared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Pytest {
    /// Nothing names it.
    Nowhere,
    /// A requirement like any other: installed with the project or its requirements files.
    Plain,
    /// In poetry's own table of a development group, which only poetry installs.
    Poetry,
    /// An optional dependency.
    Extra(String),
    /// A dependency group.
    Group(String),
}

/// Whether pip can install the project itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Build {
    /// It says nothing of how it is built.
    None,
    /// It can.
    Plain,
    /// It can, and the build of setuptools or poetry knows dependencies that stand nowhere else.
    WithDependencies,
}

/// The declarations of one project.
#[derive(Debug, Clone)]
pub(super) struct Declared {
    /// Requirements files, those for tests and development included.
    pub files: Vec<String>,
    /// Where pytest is declared.
    pub pytest: Pytest,
    /// `pyproject.toml` has a table for pytest.
    pub pytest_configured: bool,
    /// Such a table says where imports come from, so a `src/` needs no installation.
    has_python_path: bool,
    project: Vec<String>,
    extras: Vec<(String, Vec<String>)>,
    groups: Vec<(String, Vec<String>)>,
    build: Build,
}

impl Declared {
    /// Reads `pyproject.toml` and requirements files.
    ///
    /// # Errors
    /// What is wrong with `pyproject.toml`, in words.
    pub(super) fn read(package: &Package) -> Result<Self, String> {
        let text = package.text("pyproject.toml").unwrap_or_default();
        let manifest: Table = toml::from_str(&text).map_err(|e| e.message().to_owned())?;
        let manifest = Value::Table(manifest);
        let pytest_table = at(&manifest, &["tool", "pytest"]);
        let mut declared = Self {
            files: requirements_files(package),
            pytest: Pytest::Nowhere,
            pytest_configured: pytest_table.is_some(),
            has_python_path: pytest_table
                .is_some_and(|t| t.get("pythonpath").is_some() || at(t, &["ini_options", "pythonpath"]).is_some()),
            project: at(&manifest, &["project", "dependencies"]).map(texts).unwrap_or_default(),
            extras: lists(at(&manifest, &["project", "optional-dependencies"])),
            groups: groups(at(&manifest, &["dependency-groups"])),
            build: build(package, &manifest),
        };
        declared.pytest = declared.where_is_pytest(package, &manifest);
        Ok(declared)
    }

    fn where_is_pytest(&self, package: &Package, manifest: &Value) -> Pytest {
        let in_file = |file: &String| {
            let text = package.text(file).unwrap_or_default();
            text.lines().any(is_pytest)
        };
        if self.project.iter().any(|r| is_pytest(r)) || self.files.iter().any(in_file) {
            return Pytest::Plain;
        }
        let named = |(_, list): &&(String, Vec<String>)| list.iter().any(|r| is_pytest(r));
        if let Some((name, _)) = self.groups.iter().find(named) {
            return Pytest::Group(name.clone());
        }
        match self.extras.iter().find(named) {
            Some((name, _)) => Pytest::Extra(name.clone()),
            None if poetry_has_pytest(manifest) => Pytest::Poetry,
            None => Pytest::Nowhere,
        }
    }

    /// Arguments of `pip install`; none if nothing has to be installed.
    pub(super) fn to_install(&self, package: &Package) -> Vec<String> {
        let mut words: Vec<String> = self.files.iter().flat_map(|file| ["-r".to_owned(), file.clone()]).collect();
        let for_tests = |name: &str| FOR_TESTS.contains(&name);
        let extras: Vec<&str> = self
            .extras
            .iter()
            .map(|(name, _)| name.as_str())
            .filter(|name| for_tests(name) || self.pytest == Pytest::Extra((*name).to_owned()))
            .collect();
        // Flat packages are importable from the working directory; sources in `src/` are not.
        let unreachable = package.has("src") && !self.has_python_path;
        let needed = self.build == Build::WithDependencies;
        if self.build != Build::None && (needed || !self.project.is_empty() || !extras.is_empty() || unreachable) {
            let extras = if extras.is_empty() { String::new() } else { format!("[{}]", extras.join(",")) };
            words.extend(["-e".to_owned(), format!(".{extras}")]);
        } else {
            words.extend(self.project.iter().cloned());
            let chosen = self.extras.iter().filter(|(name, _)| extras.contains(&name.as_str()));
            words.extend(chosen.flat_map(|(_, list)| list.iter().cloned()));
        }
        // Older versions of pip cannot install a group by its name.
        let chosen =
            self.groups.iter().filter(|(name, _)| for_tests(name) || self.pytest == Pytest::Group(name.clone()));
        for requirement in chosen.flat_map(|(_, list)| list) {
            if !words.contains(requirement) {
                words.push(requirement.clone());
            }
        }
        words
    }
}

fn requirements_files(package: &Package) -> Vec<String> {
    let wanted = |name: &str| {
        let Some(stem) = name.strip_suffix(".txt") else { return false };
        let words: Vec<&str> = stem.split(['-', '_', '.']).collect();
        match words.as_slice() {
            ["requirements"] => true,
            ["requirements", of] | [of, "requirements"] => FOR_TESTS.contains(of),
            _ => false,
        }
    };
    let mut files = package.files(wanted);
    let nested = FOR_TESTS.iter().map(|of| format!("requirements/{of}.txt")).filter(|file| package.has(file));
    files.extend(nested);
    files
}

/// Whether a requirement (`pytest-asyncio>=0.23 ; python_version > "3.8"`) is pytest or a plugin of it, which needs it.
fn is_pytest(requirement: &str) -> bool {
    let name = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let name: String = requirement.trim().chars().take_while(|c| name(*c)).collect();
    let name = name.to_ascii_lowercase();
    name == "pytest" || name.starts_with("pytest-") || name.starts_with("pytest_")
}

fn build(package: &Package, manifest: &Value) -> Build {
    if manifest.get("build-system").is_none() && !package.has("setup.py") {
        return Build::None;
    }
    let names = |file: &str| package.text(file).is_some_and(|text| text.contains("install_requires"));
    let dynamic = at(manifest, &["project", "dynamic"]).map(texts).unwrap_or_default();
    let poetry = at(manifest, &["tool", "poetry", "dependencies"]).is_some();
    if poetry || dynamic.iter().any(|key| key == "dependencies") || names("setup.py") || names("setup.cfg") {
        Build::WithDependencies
    } else {
        Build::Plain
    }
}

fn poetry_has_pytest(manifest: &Value) -> bool {
    let Some(poetry) = at(manifest, &["tool", "poetry"]) else { return false };
    let groups = poetry.get("group").and_then(Value::as_table);
    let groups = groups.into_iter().flat_map(|table| table.values());
    let tables = [poetry.get("dependencies"), poetry.get("dev-dependencies")];
    let tables = tables.into_iter().flatten().chain(groups.filter_map(|group| group.get("dependencies")));
    tables.filter_map(Value::as_table).any(|table| table.keys().any(|key| is_pytest(key)))
}

fn at<'a>(value: &'a Value, path: &[&str]) -> Option<&'a Value> {
    path.iter().try_fold(value, |value, key| value.get(key))
}

fn texts(list: &Value) -> Vec<String> {
    list.as_array().into_iter().flatten().filter_map(|item| item.as_str().map(str::to_owned)).collect()
}

fn lists(table: Option<&Value>) -> Vec<(String, Vec<String>)> {
    let table = table.and_then(Value::as_table).into_iter().flatten();
    table.map(|(name, list)| (name.clone(), texts(list))).collect()
}

/// Groups with those they include (`{include-group = "test"}`) resolved one level deep, which is how they are used.
fn groups(table: Option<&Value>) -> Vec<(String, Vec<String>)> {
    let plain = lists(table);
    let resolve = |(name, list): &(String, Vec<String>)| {
        let items = table.and_then(|t| t.get(name)).and_then(Value::as_array).into_iter().flatten();
        let included = items.filter_map(|item| item.get("include-group")?.as_str());
        let included = included.filter_map(|name| plain.iter().find(|(n, _)| n == name));
        let all = list.iter().chain(included.flat_map(|(_, list)| list));
        (name.clone(), all.cloned().collect())
    };
    plain.iter().map(resolve).collect()
}
