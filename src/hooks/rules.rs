//! By whose rules a stop is judged: the project's own settings lie where the agent works.

use super::Hook;
use super::session::Session;
use crate::domain::{COMMON_SETTINGS, OWN_SETTINGS, SETTINGS_FILES, SHARED_SETTINGS};
use crate::files::open_named;
use sha2::{Digest, Sha256};
use std::io::{ErrorKind, Read};
use std::path::Path;

/// What a session that began before [`OWN_SETTINGS`] was a name knows of; that one counts where it is there.
const FILES: [&str; 2] = [COMMON_SETTINGS, SHARED_SETTINGS];

/// Settings are some pages; more is not read into memory.
const FILE_BYTES: u64 = 1 << 20;

/// Whether the settings of a session's project may say how its stops are judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rules {
    /// They are as they were when the session began, or there were none and are none.
    Kept,
    /// They are not: the agent may have eased its own rules.
    Changed,
    /// There are some, and no hook saw them when the session began.
    Unseen,
}

impl Rules {
    /// Why the built-in settings are used instead; none if they are not.
    #[must_use]
    pub fn because(self) -> Option<String> {
        match self {
            Self::Kept => None,
            Self::Changed => Some(format!(
                "the project's settings ({}) changed since the session began, so the built-in ones are used",
                SETTINGS_FILES.join(", ")
            )),
            Self::Unseen => Some(
                "no `session-start --verify` hook saw the project's settings when the session began, so the built-in ones are used; \
                 `reflexion hook install AGENT --verify` installs it"
                    .to_owned(),
            ),
        }
    }
}

/// Whether the project's settings are those that the session began with.
#[must_use]
pub fn rules(hook: &Hook<'_>) -> Rules {
    let kept = hook.payload.session.as_deref().map(|session| hook.files().session(session)).unwrap_or_default();
    compare(&kept, hook.top())
}

/// As [`rules`], for a session that is known.
pub(super) fn compare(kept: &Session, top: &Path) -> Rules {
    let now = noted(top);
    match &kept.rules {
        Some(then) if now.as_ref() == Some(then) => Rules::Kept,
        Some(_) => Rules::Changed,
        None if SETTINGS_FILES.iter().all(|file| top.join(file).symlink_metadata().is_err()) => Rules::Kept,
        None => Rules::Unseen,
    }
}

/// What tells settings from others; none if a file cannot be read, which is never the same as anything.
pub(super) fn noted(top: &Path) -> Option<String> {
    let mut hash = Sha256::new();
    let own = top.join(OWN_SETTINGS).symlink_metadata().is_ok().then_some(OWN_SETTINGS);
    for file in FILES.into_iter().chain(own) {
        let path = top.join(file);
        match open_named(&path) {
            Ok(file) => {
                let mut text = Vec::new();
                file.take(FILE_BYTES + 1).read_to_end(&mut text).ok().filter(|bytes| *bytes as u64 <= FILE_BYTES)?;
                hash.update([1]);
                hash.update(Sha256::digest(&text));
            }
            Err(error) if error.kind() == ErrorKind::NotFound => hash.update([0]),
            Err(_) => return None,
        }
    }
    Some(format!("{:x}", hash.finalize()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn settings_count_only_as_they_were() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path();
        let seen = |rules: Option<String>| compare(&Session { rules, ..Session::default() }, top);
        let nothing = noted(top);
        assert_eq!((seen(None), seen(nothing.clone())), (Rules::Kept, Rules::Kept));
        fs::write(top.join("project.json"), "{}").unwrap();
        assert_eq!((seen(None), seen(nothing.clone())), (Rules::Unseen, Rules::Changed));
        let begun = noted(top);
        assert_eq!(seen(begun.clone()), Rules::Kept);
        fs::create_dir(top.join("config")).unwrap();
        fs::write(top.join("config/reflexion.json"), "{}").unwrap();
        assert_eq!(seen(begun.clone()), Rules::Changed, "the shared file counts too");
        fs::remove_file(top.join("config/reflexion.json")).unwrap();
        fs::remove_file(top.join("project.json")).unwrap();
        assert_eq!(seen(begun.clone()), Rules::Changed);
        fs::create_dir(top.join("project.json")).unwrap();
        assert_eq!((noted(top), seen(begun)), (None, Rules::Changed));
    }
}
