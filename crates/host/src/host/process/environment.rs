//! What a program gets to see of the caller's environment.

use super::mark::MARK;
use crate::services::Command;
use globset::{GlobBuilder, GlobSetBuilder};
use std::collections::BTreeMap;
use std::ffi::OsString;

/// Variables that point git at one particular repository (`git rev-parse --local-env-vars`): set when we are called
/// from a hook, they would send an agent's commits into the user's repository and index.
const GIT_LOCAL: [&str; 11] = [
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_DIR",
    "GIT_GRAFT_FILE",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_INTERNAL_SUPER_PREFIX",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
    "GIT_SHALLOW_FILE",
    "GIT_WORK_TREE",
];

/// Variables by which a shell reads a line otherwise than it is written: `cd app` would go to another directory of that name, words would end
/// elsewhere, and patterns and options would mean something else. What the user's programs are (`PATH`, exported functions) and what they do
/// (`ENV`, `BASH_ENV`, which `sh -c` does not read) stays.
pub(in crate::host) const OF_SHELL: [&str; 5] = ["BASHOPTS", "CDPATH", "GLOBIGNORE", "IFS", "SHELLOPTS"];

/// Inherited variables without the denied ones, then where the program runs (`PWD`), the command's own, and the mark.
///
/// The mark of an outer `reflexion` is kept in front of ours, so that it still finds what we start.
pub(super) fn environment(command: &Command, mark: &str) -> Result<BTreeMap<OsString, OsString>, globset::Error> {
    let mut denied = GlobSetBuilder::new();
    for glob in &command.env_deny {
        denied.add(GlobBuilder::new(glob).build()?);
    }
    let denied = denied.build()?;
    let is_dropped = |name: &OsString| GIT_LOCAL.iter().chain(&OF_SHELL).any(|dropped| name == *dropped);
    let mut env: BTreeMap<OsString, OsString> =
        std::env::vars_os().filter(|(name, _)| !denied.is_match(name) && !is_dropped(name)).collect();
    // Some programs (OpenCode) take the shell's word for where they are, and would work in the user's own checkout.
    env.insert("PWD".into(), command.dir.clone().into());
    for (name, value) in &command.env {
        env.insert(name.into(), value.into());
    }
    let outer = std::env::var(MARK).map_or(String::new(), |outer| format!("{outer}:"));
    env.insert(MARK.into(), format!("{outer}{mark}").into());
    Ok(env)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn denied_variables_are_gone_and_own_ones_win() {
        let mut command = Command::new(["true"], "/workspace");
        command.env_deny = vec!["PATH".to_owned(), "HO*".to_owned()];
        command.env = [("HOME".to_owned(), "/nowhere".to_owned())].into();
        let env = environment(&command, "m1").unwrap();
        assert!(!env.contains_key(&OsString::from("PATH")));
        assert_eq!(env[&OsString::from("HOME")], "/nowhere");
        assert_eq!(env[&OsString::from("PWD")], "/workspace");
        assert!(env[&OsString::from(MARK)].to_string_lossy().ends_with("m1"));
    }

    #[test]
    fn whatever_leads_a_shell_elsewhere_is_gone_unless_the_command_has_it() {
        // Variables of the test's own process cannot be set safely, so that a child asks.
        const ASKS: &str = "REFLEXION_TEST_OF_SHELL";
        let mut command = Command::new(["true"], "/workspace");
        if std::env::var_os(ASKS).is_some() {
            let env = environment(&command, "m").unwrap();
            assert!(
                OF_SHELL.iter().all(|name| !env.contains_key(&OsString::from(name)))
                    && env.contains_key(&OsString::from(ASKS))
            );
            command.env = [("CDPATH".to_owned(), "/own".to_owned())].into();
            assert_eq!(environment(&command, "m").unwrap()[&OsString::from("CDPATH")], "/own");
            return;
        }
        let mut child = std::process::Command::new(std::env::current_exe().unwrap());
        child.args([
            "--exact",
            "host::process::environment::tests::whatever_leads_a_shell_elsewhere_is_gone_unless_the_command_has_it",
        ]);
        child.env(ASKS, "1").envs(OF_SHELL.map(|name| (name, "/home/me/src")));
        let output = child.output().unwrap();
        assert!(output.status.success() && String::from_utf8_lossy(&output.stdout).contains("1 passed"), "{output:?}");
    }

    #[test]
    fn a_broken_glob_is_an_error() {
        let mut command = Command::new(["true"], ".");
        command.env_deny = vec!["[".to_owned()];
        assert!(environment(&command, "m").is_err());
    }
}
