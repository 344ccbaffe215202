//! Which projects there are, and how they are tested, built and installed.

use super::file::{Manager, Project};
use super::table::table;
use globset::Glob;

/// The kinds of projects that the table knows.
#[must_use]
pub fn projects() -> &'static [Project] {
    &table().projects
}

impl Project {
    /// The file that makes a directory such a project, of the names in it.
    ///
    /// ```
    /// # use reflexion_toolchain::toolchain::projects;
    /// let names = ["README.md".to_owned(), "go.mod".to_owned()];
    /// let go = projects().iter().find(|project| project.file_in(&names).is_some()).expect("it is a Go module");
    /// assert_eq!(go.test, "go test ./...");
    /// ```
    #[must_use]
    pub fn file_in<'n>(&self, names: &'n [String]) -> Option<&'n str> {
        let of_glob = |glob: &String| {
            let is_plain = !glob.contains(['*', '?', '[', '{']);
            let glob = Glob::new(glob).ok()?.compile_matcher();
            names.iter().find(|name| if is_plain { *name == glob.glob().glob() } else { glob.is_match(name) })
        };
        self.files.iter().find_map(of_glob).map(String::as_str)
    }

    /// Its command line `test` or `build`, with the project's own program where that is among the names.
    #[must_use]
    pub fn line(&self, command: &str, names: &[String]) -> String {
        let own = self.own_program.as_ref().filter(|own| names.contains(own));
        match (own, command.split_once(' ')) {
            (Some(own), Some((_, rest))) => format!("./{own} {rest}"),
            _ => command.to_owned(),
        }
    }
}

/// The programs that install packages of Node and run scripts.
#[must_use]
pub fn managers() -> &'static [Manager] {
    &table().managers
}

/// The manager of a directory's lockfile, with that file: `has` says whether a file is there, `text` what is in it.
pub fn manager_of(
    has: impl Fn(&str) -> bool,
    text: impl Fn(&str) -> Option<String>,
) -> Option<(&'static Manager, &'static str)> {
    let is_it = |manager: &Manager, lockfile: &str| {
        let is_told = manager.beside.is_some() || manager.says.is_some();
        let is_beside = || manager.beside.as_ref().is_some_and(|beside| has(beside));
        let says = || manager.says.as_ref().is_some_and(|word| text(lockfile).is_some_and(|text| text.contains(word)));
        has(lockfile) && (!is_told || is_beside() || says())
    };
    let locks = |manager: &'static Manager| {
        let lockfile = manager.lockfiles.iter().find(|lockfile| is_it(manager, lockfile))?;
        Some((manager, lockfile.as_str()))
    };
    managers().iter().find_map(locks)
}
