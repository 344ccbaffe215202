//! A person's editor, which has the terminal while it works.

use signal_hook::consts::{SIGINT, SIGQUIT};
use signal_hook::flag::register_conditional_default;
use std::io;
use std::io::IsTerminal as _;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

/// Whether Ctrl-C and Ctrl-\ end this process; nothing before the first editor, from when on handlers stand.
static ENDS: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// For so long after the editor's end a signal may be one that was meant for it.
const STILL_COMES: Duration = Duration::from_millis(100);

/// Opens a file in an editor and waits until that has ended: `program` with `arguments` and the file behind them, started without a shell, in the directory that
/// the caller is in. It has the terminal, if there is one; without one it reads nothing, because what stands on stdin is not meant for it. Until it has ended,
/// Ctrl-C and Ctrl-\ are the editor's alone.
///
/// # Errors
/// If it cannot be started. How it ended is not looked at.
pub fn edit(program: &Path, arguments: &[String], file: &Path) -> io::Result<ExitStatus> {
    let stdin = if io::stdin().is_terminal() { Stdio::inherit() } else { Stdio::null() };
    let _held = HeldBack::begin()?;
    // What it prints is no answer of ours, which may be read by a program.
    Command::new(program).args(arguments).arg(file).stdin(stdin).stdout(terminal_of(io::stdout())).status()
}

/// While it lives, SIGINT and SIGQUIT do not end this process; before and after, they do.
struct HeldBack(Arc<AtomicBool>);

impl HeldBack {
    fn begin() -> io::Result<Self> {
        let ends = if let Some(ends) = ENDS.get() {
            Arc::clone(ends)
        } else {
            let ends = Arc::new(AtomicBool::new(true));
            // Handlers, because a signal that is ignored would be ignored by the editor as well.
            for signal in [SIGINT, SIGQUIT] {
                register_conditional_default(signal, Arc::clone(&ends))?;
            }
            Arc::clone(ENDS.get_or_init(|| ends))
        };
        ends.store(false, Ordering::SeqCst);
        Ok(Self(ends))
    }
}

impl Drop for HeldBack {
    fn drop(&mut self) {
        // Ctrl-C that ended the editor was sent to this process too, and may come to another of its threads only now.
        thread::sleep(STILL_COMES);
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Stdout where a person looks at it, else stderr.
fn terminal_of(stdout: io::Stdout) -> Stdio {
    if stdout.is_terminal() { Stdio::inherit() } else { Stdio::from(io::stderr()) }
}
