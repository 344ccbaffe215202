//! One simple command of a command line.

/// One simple command, found behind `cd x &&`, environment prefixes, pipes, subshells, `sh -c` and runners (`npx`, `uv run`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// Program and arguments, unquoted, without environment prefixes and wrappers (`env`, `sudo`, `time`, `timeout 5`).
    pub words: Vec<String>,
    /// What it is for.
    pub kind: CommandKind,
    /// It changes files: redirections, heredocs, `sed -i`, `git apply`, formatters, package managers.
    pub writes: bool,
    /// Its own exit status is that of the whole line; not so before `;`, `|` (without pipefail) or `||`.
    pub decides_exit: bool,
}

/// What a command is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandKind {
    /// Runs tests.
    Test,
    /// Builds or compiles.
    Build,
    /// Checks style.
    Lint,
    /// Checks types.
    Typecheck,
    /// Rewrites style.
    Format,
    /// Pushes; to where, as far as the words say.
    Push(PushTarget),
    /// Opens or changes a pull request.
    PullRequest,
    /// Asks how CI stands.
    Ci,
    /// Anything else.
    Other,
}

/// Where a push goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PushTarget {
    /// The branches that are pushed to on the remote; empty: the current branch's own.
    pub branches: Vec<String>,
    /// With force.
    pub forced: bool,
    /// `--dry-run`: nothing is pushed.
    pub dry_run: bool,
}

/// The simple commands of a command line, in order. A line that no shell could read gives what could be read of it.
#[must_use]
pub fn runs(_line: &str) -> Vec<Run> {
    Vec::new()
}
