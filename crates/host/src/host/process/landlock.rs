//! Landlock: the kernel keeps a program and all that it starts from writing anywhere but to named places.
//!
//! Source: <https://docs.kernel.org/userspace-api/landlock.html>. A thread restricts itself and then starts the program, which
//! inherits that; the runtime's other threads stay as they were.

use std::io;
use std::path::PathBuf;
use tokio::process::{Child, Command};

/// Starts a program that may write below these places only, and, where the kernel knows how (Linux 6.12), may send signals to
/// nothing outside, and reach no socket there that has no path.
pub(super) fn spawn(command: &mut Command, write: &[PathBuf]) -> io::Result<Child> {
    let runtime = tokio::runtime::Handle::current();
    std::thread::scope(|scope| {
        let started = scope.spawn(|| {
            let _inside = runtime.enter();
            restrict(write)?;
            command.spawn()
        });
        started.join().unwrap_or_else(|_| Err(io::Error::other("the thread that starts it has failed")))
    })
}

#[cfg(target_os = "linux")]
fn restrict(write: &[PathBuf]) -> io::Result<()> {
    use landlock::{ABI, AccessFs, PathBeneath, PathFd, RulesetCreatedAttr, RulesetStatus};
    let words = |what: &dyn std::fmt::Display| {
        io::Error::other(format!(
            "Landlock cannot be used here ({what}); it needs Linux 6.2 or newer with `landlock` among its security modules"
        ))
    };
    let access = AccessFs::from_write(ABI::V3);
    let mut ruleset = ruleset(access).map_err(|error| words(&error))?;
    for path in write {
        let wrong = |what: &dyn std::fmt::Display| io::Error::other(format!("{}: {what}", path.display()));
        // Nobody has to make devices.
        let in_dir = access & !(AccessFs::MakeChar | AccessFs::MakeBlock);
        let allowed = if path.is_dir() { in_dir } else { access & AccessFs::from_file(ABI::V3) };
        let opened = PathFd::new(path).map_err(|error| wrong(&error))?;
        ruleset = ruleset.add_rule(PathBeneath::new(opened, allowed)).map_err(|error| wrong(&error))?;
    }
    let status = ruleset.restrict_self().map_err(|error| words(&error))?;
    match status.ruleset {
        RulesetStatus::FullyEnforced => Ok(()),
        RulesetStatus::PartiallyEnforced | RulesetStatus::NotEnforced => Err(words(&"not all of it is enforced")),
    }
}

/// Everything that writes is handled, or it is an error. Signals and sockets without a path are handled where the kernel can.
#[cfg(target_os = "linux")]
fn ruleset(access: landlock::BitFlags<landlock::AccessFs>) -> Result<landlock::RulesetCreated, landlock::RulesetError> {
    use landlock::{CompatLevel, Compatible, Ruleset, RulesetAttr, Scope};
    let files = || Ruleset::default().set_compatibility(CompatLevel::HardRequirement).handle_access(access);
    match files()?.scope(Scope::Signal | Scope::AbstractUnixSocket) {
        Ok(with_signals) => with_signals.create(),
        Err(_) => files()?.create(),
    }
}

#[cfg(not(target_os = "linux"))]
fn restrict(_: &[PathBuf]) -> io::Result<()> {
    Err(io::Error::other("Landlock is a part of Linux; this is another system"))
}
