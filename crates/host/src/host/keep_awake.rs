//! Keeping the machine awake with the system's own program for it.

use crate::prompt::stderr_end;
use crate::services::{Awake, Command, CommandError, CommandRunner, Flow, KeepAwake, NotAwake, OutputReader, Watch};
use async_trait::async_trait;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

/// systemd and macOS answer within milliseconds; one that asks a person for a password does not answer at all.
const ANSWERS: Duration = Duration::from_secs(10);
/// What `cat` is to say back.
const WORD: &[u8] = b"held\n";
/// No night is longer.
const LONGEST: Duration = Duration::from_secs(90 * 24 * 3600);

/// `systemd-inhibit` on Linux, `caffeinate` on macOS, each around a `cat`.
///
/// Both hold for as long as the program lives that they were given. `cat` lives as long as its stdin, whose other end is only in
/// this process: when that dies, by `kill -9` too, `cat` reads the end, and nothing is held any more. And what `cat` says
/// back proves that it was started, which both do only after the system has agreed.
pub struct HostKeepAwake {
    runner: Arc<dyn CommandRunner>,
    /// Where programs are looked for; none: on the caller's PATH.
    path: Option<String>,
}

impl HostKeepAwake {
    /// Starts the system's program with this runner.
    #[must_use]
    pub fn new(runner: Arc<dyn CommandRunner>) -> Self {
        Self { runner, path: None }
    }
}

/// The system's program, and how it is told to run `cat`.
fn argv() -> Option<&'static [&'static str]> {
    if cfg!(target_os = "macos") {
        // Not when idle, and on mains power not when the lid of a clamshell with a screen is closed.
        Some(&["caffeinate", "-i", "-s", "cat"])
    } else if cfg!(target_os = "linux") {
        Some(&[
            "systemd-inhibit",
            "--what=sleep:idle",
            "--mode=block",
            "--who=reflexion",
            "--why=a night of work goes on",
            "cat",
        ])
    } else {
        None
    }
}

#[async_trait]
impl KeepAwake for HostKeepAwake {
    async fn hold(&self) -> Result<Awake, NotAwake> {
        let argv = argv().ok_or_else(|| NotAwake("nothing is known on this system that could do it".to_owned()))?;
        let (stdin, written) = mpsc::unbounded_channel();
        let (heard, hears) = oneshot::channel();
        let cancel = CancellationToken::new();
        let command = Command {
            env: self.path.iter().map(|path| ("PATH".to_owned(), path.clone())).collect(),
            timeout: LONGEST,
            cancel: cancel.clone(),
            // Beside `cat`.
            starts_nobody: true,
            ..Command::new(argv.iter().copied(), "/")
        };
        let reader = Box::new(Heard { said: Vec::new(), heard: Some(heard) });
        let watch = Watch { reader, stdin: Some(written), idle: None, linger: Duration::ZERO };
        let runner = Arc::clone(&self.runner);
        let mut runs = tokio::spawn(async move { runner.run_watched(command, watch).await });
        let ended = cancel.drop_guard();
        let _ = stdin.send(WORD.to_vec());
        tokio::select! {
            biased;
            Ok(()) = hears => Ok(Awake::new(argv[0], Box::new((stdin, ended)))),
            ended = &mut runs => Err(NotAwake(match ended {
                Ok(Ok(output)) => {
                    let how = output.end.failure().unwrap_or_else(|| "ended at once".to_owned());
                    format!("`{}` {how}{}", argv[0], stderr_end(&output.stderr.text()))
                }
                Ok(Err(error @ CommandError::NotFound { .. })) => error.to_string(),
                Ok(Err(error)) => error.to_string(),
                Err(error) => format!("`{}` could not be waited for: {error}", argv[0]),
            })),
            () = tokio::time::sleep(ANSWERS) => {
                Err(NotAwake(format!("`{}` did not answer within {} s", argv[0], ANSWERS.as_secs())))
            }
        }
    }
}

/// Says once that `cat` has said the word back.
struct Heard {
    said: Vec<u8>,
    heard: Option<oneshot::Sender<()>>,
}

impl OutputReader for Heard {
    fn read(&mut self, piece: &[u8]) -> Flow {
        // Only the beginning is looked at, whatever the program goes on to say.
        self.said.extend(piece.iter().take(WORD.len() - self.said.len()));
        if self.said == WORD
            && let Some(heard) = self.heard.take()
        {
            let _ = heard.send(());
        }
        Flow::Continue
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use crate::host::HostRunner;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;

    /// Holds with a stand-in for the system's program in front of everything else on PATH.
    async fn held(dir: &Path, script: Option<&str>) -> Result<Awake, NotAwake> {
        let bin = dir.join("bin");
        fs::create_dir_all(&bin).unwrap();
        if let Some(script) = script {
            let program = bin.join("systemd-inhibit");
            fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
            fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        }
        // `cat` and `sh` are needed, and the machine's own `systemd-inhibit` is not.
        for needed in ["cat", "sh", "sleep"] {
            let there = ["/bin", "/usr/bin"].map(|dir| Path::new(dir).join(needed));
            let there = there.iter().find(|program| program.exists()).unwrap();
            let _ = std::os::unix::fs::symlink(there, bin.join(needed));
        }
        let runner = Arc::new(HostRunner::new());
        HostKeepAwake { runner, path: Some(bin.display().to_string()) }.hold().await
    }

    #[tokio::test]
    async fn it_holds_until_it_is_dropped() {
        let dir = tempfile::tempdir().unwrap();
        let (asked, pid) = (dir.path().join("asked"), dir.path().join("pid"));
        // As the real one: the options first, then the program that it is held for.
        let script = format!(
            "echo \"$@\" > {}; echo $$ > {}; while [ \"$1\" != cat ]; do shift; done; \"$@\"",
            asked.display(),
            pid.display()
        );
        let awake = held(dir.path(), Some(&script)).await.unwrap();
        assert_eq!(awake.how(), "systemd-inhibit");
        assert!(fs::read_to_string(&asked).unwrap().starts_with("--what=sleep:idle --mode=block"));
        let process = Path::new("/proc").join(fs::read_to_string(&pid).unwrap().trim());
        assert!(process.exists(), "it is held");
        drop(awake);
        let gone = async {
            while process.exists() {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(60), gone).await.unwrap();
    }

    #[tokio::test]
    async fn what_is_missing_is_said() {
        let check = async |script: Option<&str>, words: &str| {
            let dir = tempfile::tempdir().unwrap();
            let said = held(dir.path(), script).await.err().unwrap().to_string();
            assert!(said.contains(words), "{said}");
        };
        check(None, "program `systemd-inhibit` was not found on PATH").await;
        let refused = "echo 'Failed to inhibit: Access denied' >&2; exit 1";
        check(Some(refused), "exited with status 1; its stderr ends: Failed to inhibit: Access denied").await;
        check(Some("exit 0"), "`systemd-inhibit` ended at once").await;
    }
}
