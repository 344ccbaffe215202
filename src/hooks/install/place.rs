//! Reading and writing the settings file itself.

use super::agent::{Installing, Left, Scope};
use crate::files::{Place, read_named};
use std::io;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// What was done to a settings file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Changed {
    /// It is written anew.
    Written,
    /// It was all ours, and is gone.
    Removed,
    /// It is as it was.
    Nothing,
}

/// A settings file could not be changed.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// Its content is not what the agent itself would understand.
    #[error("{file}:{error}; fix it first, nothing was changed", file = file.display())]
    Broken {
        /// The file.
        file: PathBuf,
        /// Where, and what.
        error: super::EditError,
    },
    /// The system refused.
    #[error("failed to {action} {file}: {error}", file = file.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// The file.
        file: PathBuf,
        /// What the system says.
        error: io::Error,
    },
}

impl Installing {
    /// Puts the hooks into the agent's settings file.
    ///
    /// # Errors
    /// [`InstallError`]; the file is as it was then.
    pub fn put(&self) -> Result<Changed, InstallError> {
        let file = self.file_within()?;
        let old = read(&file)?;
        match self.install(old.as_deref()).map_err(|error| InstallError::Broken { file: file.clone(), error })? {
            Some(new) => replace(&file, &new).map(|()| Changed::Written),
            None => Ok(Changed::Nothing),
        }
    }

    /// The settings file. A project's may be a link, but not out of the project: who clones one has not put it there.
    fn file_within(&self) -> Result<PathBuf, InstallError> {
        let file = self.file();
        if let Scope::Project(project) = &self.scope {
            let wrong = |error| InstallError::Io { action: "find", file: file.clone(), error };
            let leads_to = place(&file).map_err(wrong)?;
            let real = leads_to.ancestors().find_map(|dir| dir.canonicalize().ok());
            if !real.is_some_and(|real| project.canonicalize().is_ok_and(|project| real.starts_with(project))) {
                let why = format!("it leads out of the project, to {}: remove that link", leads_to.display());
                return Err(wrong(io::Error::other(why)));
            }
        }
        Ok(file)
    }

    /// Whether a hook that judges is installed, as far as the file can be read.
    #[must_use]
    pub fn is_gated(&self) -> bool {
        read(&self.file()).ok().flatten().is_some_and(|text| Self::has_gate(&text))
    }

    /// Whether hooks that give lessons are installed, as far as the file can be read.
    #[must_use]
    pub fn has_learned(&self) -> bool {
        read(&self.file()).ok().flatten().is_some_and(|text| Self::has_lessons(&text))
    }

    /// Takes them out; a file that we made and that holds nothing else is removed.
    ///
    /// # Errors
    /// [`InstallError`]; the file is as it was then.
    pub fn take_out(&self) -> Result<Changed, InstallError> {
        let file = self.file_within()?;
        let Some(old) = read(&file)? else { return Ok(Changed::Nothing) };
        match self.uninstall(&old).map_err(|error| InstallError::Broken { file: file.clone(), error })? {
            Left::Same => Ok(Changed::Nothing),
            Left::Text(new) => replace(&file, &new).map(|()| Changed::Written),
            // A link is somebody's arrangement: what it leads to is emptied, and both stay.
            Left::Nothing if file.is_symlink() => replace(&file, "{}\n").map(|()| Changed::Written),
            Left::Nothing => {
                let removed = Place::with_names(&file, 1).remove();
                removed.map_err(|error| InstallError::Io { action: "remove", file, error })?;
                Ok(Changed::Removed)
            }
        }
    }
}

fn read(file: &Path) -> Result<Option<String>, InstallError> {
    match read_named(file) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(InstallError::Io { action: "read", file: file.to_owned(), error }),
    }
}

/// Replaces the whole file, or what it links to, with the permissions that it has.
fn replace(file: &Path, text: &str) -> Result<(), InstallError> {
    let written = place(file).and_then(|place| Place::with_names(&place, 1).replace(text.as_bytes()));
    written.map_err(|error| InstallError::Io { action: "write", file: file.to_owned(), error })
}

/// Where a file is, behind its links; the last of them may lead to where nothing is yet.
fn place(file: &Path) -> io::Result<PathBuf> {
    if file.exists() {
        return file.canonicalize();
    }
    let mut place = file.to_owned();
    // As many as Linux follows.
    for _ in 0..40 {
        if !place.is_symlink() {
            return Ok(place);
        }
        let to = std::fs::read_link(&place)?;
        place = place.parent().unwrap_or(Path::new(".")).join(to);
    }
    Err(io::Error::other("its links lead round in a circle"))
}

#[cfg(test)]
mod tests {
    use super::super::{HookAgent, Learn, Scope, Verify};
    use super::*;
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    fn installing(agent: HookAgent, dir: &Path) -> Installing {
        Installing {
            agent,
            scope: Scope::Project(dir.to_owned()),
            program: "reflexion".to_owned(),
            verify: Verify::Off,
            learn: Learn::Off,
        }
    }

    #[test]
    fn twice_is_once_and_out_leaves_nothing() {
        for agent in [HookAgent::Claude, HookAgent::Codex, HookAgent::Gemini, HookAgent::OpenCode] {
            let dir = tempfile::tempdir().unwrap();
            let one = installing(agent, dir.path());
            assert_eq!(one.put().unwrap(), Changed::Written);
            let text = std::fs::read_to_string(one.file()).unwrap();
            assert!(text.contains("session-start") && text.contains(agent.as_str()), "{text}");
            assert_eq!(one.put().unwrap(), Changed::Nothing);
            assert_eq!(one.take_out().unwrap(), Changed::Removed);
            assert_eq!(one.take_out().unwrap(), Changed::Nothing);
            assert!(!one.file().exists());
        }
    }

    #[test]
    fn a_file_that_was_there_before_stays() {
        for old in ["{}\n", "{\"hooks\": {}}", ""] {
            let dir = tempfile::tempdir().unwrap();
            let one = installing(HookAgent::Codex, dir.path());
            std::fs::create_dir(dir.path().join(".codex")).unwrap();
            std::fs::write(one.file(), old).unwrap();
            one.put().unwrap();
            assert_eq!(one.take_out().unwrap(), Changed::Written);
            assert_eq!(std::fs::read_to_string(one.file()).unwrap().trim(), "{}", "{old}");
        }
        let dir = tempfile::tempdir().unwrap();
        let one = installing(HookAgent::Claude, dir.path());
        let gate = Installing { verify: Verify::On, ..one.clone() };
        assert!(!one.is_gated());
        gate.put().unwrap();
        assert!(one.is_gated());
        one.put().unwrap();
        assert!(!one.is_gated());
        assert_eq!(one.take_out().unwrap(), Changed::Removed);
    }

    #[test]
    fn hooks_that_give_lessons_come_and_go_as_a_whole() {
        for agent in [HookAgent::Claude, HookAgent::Codex, HookAgent::Gemini, HookAgent::OpenCode] {
            let dir = tempfile::tempdir().unwrap();
            let plain = installing(agent, dir.path());
            let learns = Installing { learn: Learn::On, ..plain.clone() };
            assert_eq!(learns.put().unwrap(), Changed::Written);
            assert!(learns.has_learned());
            assert_eq!(learns.put().unwrap(), Changed::Nothing);
            assert_eq!(plain.put().unwrap(), Changed::Written);
            let text = std::fs::read_to_string(plain.file()).unwrap();
            assert!(!plain.has_learned() && !text.contains("--learn") && !text.contains("matcher"), "{text}");
            learns.put().unwrap();
            assert_eq!(plain.take_out().unwrap(), Changed::Removed, "{agent:?}");
            // Beside hooks of somebody else.
            if agent == HookAgent::Claude {
                let mine = r#"{"hooks": {"PostToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "mine"}]}]}}"#;
                std::fs::create_dir_all(plain.file().parent().unwrap()).unwrap();
                std::fs::write(plain.file(), mine).unwrap();
                learns.put().unwrap();
                assert_eq!(plain.take_out().unwrap(), Changed::Written);
                assert!(std::fs::read_to_string(plain.file()).unwrap().contains("\"command\": \"mine\""));
            }
        }
    }

    #[test]
    fn links_and_permissions_stay() {
        let dir = tempfile::tempdir().unwrap();
        let real = dir.path().join("dotfiles.json");
        std::fs::write(&real, "{\"a\": 1}\n").unwrap();
        std::fs::set_permissions(&real, Permissions::from_mode(0o640)).unwrap();
        let one = installing(HookAgent::Claude, dir.path());
        std::fs::create_dir(dir.path().join(".claude")).unwrap();
        std::os::unix::fs::symlink(&real, one.file()).unwrap();
        one.put().unwrap();
        assert!(one.file().is_symlink());
        assert_eq!(real.metadata().unwrap().permissions().mode() & 0o777, 0o640);
        assert!(std::fs::read_to_string(&real).unwrap().contains("reflexion hook stop"));
        one.take_out().unwrap();
        assert_eq!(std::fs::read_to_string(&real).unwrap().split_whitespace().collect::<String>(), "{\"a\":1}");
    }

    #[test]
    fn a_link_to_nothing_yet_stays_a_link_and_no_umask_takes_permissions() {
        let dir = tempfile::tempdir().unwrap();
        let one = installing(HookAgent::Claude, dir.path());
        std::fs::create_dir(dir.path().join(".claude")).unwrap();
        std::os::unix::fs::symlink("../dotfiles/claude.json", one.file()).unwrap();
        one.put().unwrap();
        let real = dir.path().join("dotfiles/claude.json");
        assert!(one.file().is_symlink() && real.is_file());
        std::fs::set_permissions(&real, Permissions::from_mode(0o666)).unwrap();
        one.take_out().unwrap();
        assert_eq!(real.metadata().unwrap().permissions().mode() & 0o777, 0o666);
    }

    #[test]
    fn a_link_out_of_the_project_is_not_written_through() {
        let dir = tempfile::tempdir().unwrap();
        let (clone, home) = (dir.path().join("clone"), dir.path().join("home"));
        for made in [&clone, &home] {
            std::fs::create_dir(made).unwrap();
        }
        std::fs::write(home.join("settings.json"), "{}").unwrap();
        let one = installing(HookAgent::Claude, &clone);
        let refused = || {
            let error = one.put().unwrap_err().to_string();
            assert!(error.contains("leads out of the project") && error.contains("remove that link"), "{error}");
            assert!(one.take_out().is_err());
        };
        // A directory, then a file that is there, and one that is not.
        std::os::unix::fs::symlink(&home, clone.join(".claude")).unwrap();
        refused();
        std::fs::remove_file(clone.join(".claude")).unwrap();
        std::fs::create_dir(clone.join(".claude")).unwrap();
        for name in ["settings.json", "new.json"] {
            std::os::unix::fs::symlink(home.join(name), one.file()).unwrap();
            refused();
            std::fs::remove_file(one.file()).unwrap();
        }
        assert_eq!(std::fs::read_to_string(home.join("settings.json")).unwrap(), "{}");
        assert!(!home.join("new.json").exists());
    }

    #[test]
    fn a_broken_file_is_named_and_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let one = installing(HookAgent::Gemini, dir.path());
        std::fs::create_dir(dir.path().join(".gemini")).unwrap();
        std::fs::write(one.file(), "{\n  \"a\": 1,,\n}").unwrap();
        for error in [one.put().unwrap_err(), one.take_out().unwrap_err()] {
            assert!(error.to_string().contains(".gemini/settings.json:2:"), "{error}");
        }
        assert_eq!(std::fs::read_to_string(one.file()).unwrap(), "{\n  \"a\": 1,,\n}");
        let plugin = installing(HookAgent::OpenCode, dir.path());
        std::fs::create_dir_all(plugin.file().parent().unwrap()).unwrap();
        std::fs::write(plugin.file(), "export const Mine = 1\n").unwrap();
        assert!(plugin.put().unwrap_err().to_string().contains("somebody else's"));
        assert_eq!(plugin.take_out().unwrap(), Changed::Nothing);
    }
}
