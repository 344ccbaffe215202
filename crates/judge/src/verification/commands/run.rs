//! One simple command of a command line.

/// One simple command, found behind `cd x &&`, environment prefixes, pipes, subshells, `sh -c` and runners (`npx`, `uv run`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// Program and arguments, unquoted, without environment prefixes and wrappers (`env`, `sudo`, `time`, `timeout 5`).
    /// A runner (`npx jest`) stays; variables and substitutions stay as they are written.
    pub words: Vec<String>,
    /// What it is for.
    pub kind: CommandKind,
    /// It is work on files: redirections, heredocs, `sed -i`, `git apply`, `git commit`, formatters, package managers. For
    /// telling work from looking around; whether earlier checks still hold is said by `edits`.
    pub writes: bool,
    /// Whether the contents of the project's own files are another after it.
    pub edits: Edits,
    /// What the line gives to the environment of `git`, as `NAME=value`; of others it is not kept.
    pub env: Vec<String>,
    /// The files it writes, moves or removes, as far as the words say and as they are written there.
    pub files: Vec<String>,
    /// If the line's exit status is zero, so was its own; not so before `;`, `|` (without pipefail) or `||`.
    pub decides_exit: bool,
    /// If the line's exit status is not zero, it did not pass; not so before something else that can fail:
    /// `npm test && git push` may have failed in either.
    pub takes_blame: bool,
}

/// Whether a command changes the contents of the project's own files, so that what checks said before it is out of date.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Edits {
    /// No: it reads, builds, commits, or writes outside the project (`/tmp`, `/dev/null`).
    #[default]
    No,
    /// Perhaps: a formatter, `git pull`, a package manager, a script with a call that writes.
    Perhaps,
    /// Yes: a redirection into a file, `sed -i`, `git checkout -- FILE`.
    Yes,
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

impl CommandKind {
    /// It looks at code without being meant to change it: a test, build, lint or type check.
    #[must_use]
    pub fn checks(&self) -> bool {
        matches!(self, Self::Test | Self::Build | Self::Lint | Self::Typecheck)
    }
}

/// Where a push goes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PushTarget {
    /// The remote, a name or an address; none where the words leave it to git.
    pub remote: Option<String>,
    /// The branches that are pushed to on the remote, without `refs/heads/`; empty: the current branch's own. `*` is all of
    /// them, other refs stand in full (`refs/tags/v1`), and what only a shell could know as it is written (`$BRANCH`).
    pub branches: Vec<String>,
    /// With force.
    pub forced: bool,
    /// `--dry-run`: nothing is pushed.
    pub dry_run: bool,
}
