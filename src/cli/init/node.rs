//! Node packages: the lockfile says which program manages them, `scripts` says what can be checked.

use super::found::Found;
use super::package::Package;
use crate::toolchain;
use crate::toolchain::{Manager, managers};
use serde_json::Value;

/// Scripts that judge, in the order they are run: tests often need what `build` writes.
const SCRIPTS: [&str; 5] = ["build", "test", "lint", "typecheck", "type-check"];

/// The command line of a script.
fn run(manager: &Manager, script: &str) -> String {
    match &manager.test {
        Some(test) if script == "test" => test.clone(),
        _ => format!("{} run {script}", manager.name),
    }
}

/// The manager of a package's lockfile, with the lockfile.
fn lockfile(package: &Package) -> Option<(&'static Manager, &'static str)> {
    toolchain::manager_of(|name| package.has(name), |name| package.text(name))
}

/// The manager of the lockfile at the project's root, which also serves the packages below it that have none.
pub(super) fn manager_of(root: &Package) -> Option<&'static Manager> {
    lockfile(root).map(|(manager, _)| manager)
}

/// The manager that `packageManager` names, as `corepack` reads it: `pnpm@9.1.0`.
fn declared(manifest: &Value) -> Option<&'static Manager> {
    let (name, version) = manifest["packageManager"].as_str()?.split_once('@')?;
    let of_name = || managers().iter().filter(|manager| manager.name == name);
    let is_of_version =
        |manager: &&Manager| manager.version.as_ref().is_some_and(|begins| version.starts_with(begins.as_str()));
    of_name().find(is_of_version).or_else(|| of_name().find(|manager| manager.version.is_none()))
}

/// npm, which comes with Node.
fn npm() -> Option<&'static Manager> {
    managers().iter().find(|manager| manager.name == "npm")
}

/// What a `package.json` asks for. `above` is the manager of the project's own lockfile.
pub(super) fn find(package: &Package, above: Option<&'static Manager>) -> Option<Found> {
    let text = package.text("package.json")?;
    let manifest: Value = match serde_json::from_str(text.trim_start_matches('\u{feff}')) {
        Ok(manifest) => manifest,
        Err(error) => {
            let mut found = Found::new("npm");
            found.because(format!("package.json cannot be read, so there is no check: {error}"));
            return Some(found);
        }
    };
    let locked = lockfile(package);
    let manager = locked.map(|(m, _)| m).or(above).or_else(|| declared(&manifest)).or_else(npm)?;
    let node = Node { package, manifest, manager, lockfile: locked.map(|(_, file)| file) };
    let mut found = Found::new(&manager.name);
    node.scripts(&mut found);
    if node.lockfile.is_none() && above.is_some() {
        found.because("Installed together with the project above, whose lockfile it shares.");
    } else {
        node.install(&mut found);
    }
    Some(found)
}

/// Why a script cannot be a check, if so.
fn unfit(script: &str) -> Option<&'static str> {
    if script.contains("no test specified") {
        return Some("it is what `npm init` writes when there are no tests");
    }
    let words: Vec<&str> = script.split_whitespace().collect();
    let has = |word: &str| words.contains(&word);
    if has("--watch") || has("--watchAll") || has("nodemon") || script.contains("ng test") && !has("--watch=false") {
        return Some("it watches files and never ends");
    }
    if has("--fix") || has("--write") {
        return Some("it changes files and so hides what it finds");
    }
    None
}

/// A package and what manages it.
struct Node<'a> {
    package: &'a Package,
    manifest: Value,
    manager: &'static Manager,
    lockfile: Option<&'static str>,
}

impl Node<'_> {
    fn scripts(&self, found: &mut Found) {
        let manager = self.manager;
        for name in SCRIPTS {
            let Some(script) = self.manifest["scripts"][name].as_str() else { continue };
            if let Some(because) = unfit(script) {
                found.because(format!("The script `{name}` is no check: {because} (`{script}`)."));
                continue;
            }
            // Create React App watches unless it is told that nobody is there.
            let quiet = if script.contains("react-scripts test") { "CI=true " } else { "" };
            found.check(&format!("{} {name}", manager.name), format!("{quiet}{}", run(manager, name)));
        }
        let scripts = SCRIPTS.join(", ");
        found.because(if found.checks.is_empty() {
            format!("package.json has no script that can judge ({scripts}), so there is no check.")
        } else {
            format!("Scripts of package.json that judge ({scripts}) are checks, in this order: tests may need a build.")
        });
    }

    /// Setup from a lockfile, else what is there already, else whatever fits today.
    fn install(&self, found: &mut Found) {
        if !self.has_dependencies() {
            found.because("package.json has no dependencies, so there is no setup.");
            return;
        }
        if self.lockfile.is_none() && self.package.has("node_modules") {
            found.carry.push("node_modules".to_owned());
            found.because(
                "carry: there is no lockfile to install from, so your node_modules is copied into workspaces; with a \
                 lockfile, installing would be exact and usually faster.",
            );
            return;
        }
        if let Some(file) = self.lockfile {
            found.setup.push(self.manager.install.clone());
            found.because(format!(
                "setup: {file} says exactly what to install, so node_modules is installed anew and not carried."
            ));
        } else {
            found.setup.push(self.manager.install_unlocked.clone());
            found.because("setup: there is no lockfile, so what is installed may differ from day to day; commit one.");
        }
    }

    fn has_dependencies(&self) -> bool {
        let lists = ["dependencies", "devDependencies", "optionalDependencies", "workspaces"];
        lists.iter().any(|list| match &self.manifest[*list] {
            Value::Object(map) => !map.is_empty(),
            Value::Array(items) => !items.is_empty(),
            _ => false,
        })
    }
}
