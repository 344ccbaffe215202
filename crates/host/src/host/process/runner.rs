//! Starting, feeding, watching and ending one program.

use super::capture::Capture;
use super::confine::{Confine, Confined};
use super::environment::environment;
use super::family::Family;
use super::landlock;
use super::mark::new_mark;
use super::memory;
use super::running::{Entry, adopt_orphans, start_child};
use crate::domain::{CheckCommand, policy};
use crate::services::{
    Command, CommandEnd, CommandError, CommandOutput, CommandRunner, Flow, OutputReader, Sandboxed, Watch,
};
use async_trait::async_trait;
use futures_util::future::{Either, select};
use process_wrap::tokio::{CommandWrap, CommandWrapper as _, ProcessSession};
use rustix::process::{Pid, Signal};
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::JoinHandle;

/// Between TERM and KILL: enough to write a file and exit, short beside any time limit.
const GRACE: Duration = Duration::from_millis(500);
/// After the program's own end, output of helpers it did not wait for (`> >(tee log)`) may still arrive for so long.
const LINGER: Duration = Duration::from_millis(500);
/// After everything was killed the pipes end at once, unless a process escaped with one; then we stop reading.
const DRAIN: Duration = Duration::from_secs(1);
/// The first look at the family; each later one waits twice as long, up to [`LOOK_AT_MOST`]. A look costs 1-2 ms.
const LOOK_FIRST: Duration = Duration::from_millis(100);
/// The same where memory is limited: a list may grow by 100 MB and more in a second.
const LOOK_AT_MEMORY: Duration = Duration::from_millis(200);
/// See [`LOOK_FIRST`].
const LOOK_AT_MOST: Duration = Duration::from_secs(5);
/// A program that was just written may be "busy" while another thread's fork still holds it open; it passes at once.
const BUSY_RETRIES: u32 = 20;

/// Starts a program in a sandbox that another program makes, or says with the first word that it cannot be seen there: whoever
/// makes the sandbox would say so in words of its own, with a status that could be the program's.
const INSIDE: &str = r#"hidden=$1; shift
case $1 in */*) [ -x "$1" ] ;; *) found=$(command -v -- "$1") ;; esac || { echo "$hidden" >&2; exit 127; }
exec "$@""#;

/// Runs programs of this machine; see [`CommandRunner`].
///
/// Every program gets its own process group, a unique `REFLEXION_MARK` in its environment, and none of the variables
/// that point git at a particular repository (`GIT_DIR`, …). When it ends, its group and all its descendants are ended.
///
/// A descendant that leaves the group *and* clears its environment *and* loses its parent between two looks at the process
/// table belongs to nobody that can be named. This process adopts it, and whichever program ends next ends it: so while
/// several programs run, such a daemon may be ended before the one that started it. What another program can claim - by its
/// mark, its group, or because it was seen below it - is left to that. One that gives itself another program's mark or
/// group lives as long as that program, and one in this process's own group is left alone; where this process is a container's
/// first one, or is itself killed, such a daemon escapes.
///
/// So whoever uses this starts no process groups and no sessions in the same process by other means. Children that it had
/// before the first runner was made are left alone, and so is what another runtime has started, if it was killed below this process.
///
/// Linux only: on other systems only the process group is ended.
#[derive(Debug, Clone)]
pub struct HostRunner {
    state_dir: Option<PathBuf>,
    confine: Option<Confine>,
    memory: memory::Limits,
}

impl HostRunner {
    /// A runner; makes this process the sub-reaper of its descendants.
    #[must_use]
    pub fn new() -> Self {
        adopt_orphans();
        Self { state_dir: None, confine: None, memory: memory::Limits::default() }
    }

    /// A runner for the project with this state directory (`.reflection`), once that is there: if this process is
    /// killed, the project's next run finds what it left running, in whatever directory that works.
    #[must_use]
    pub fn of_project(state_dir: PathBuf) -> Self {
        adopt_orphans();
        Self { state_dir: Some(state_dir), confine: None, memory: memory::Limits::default() }
    }

    /// The same, and what works in a workspace of the project is started in its sandbox, or not at all.
    #[must_use]
    pub fn confined(self, project: &policy::Project, sandbox: policy::Sandbox) -> Self {
        Self { confine: Some(Confine::new(project, sandbox)), ..self }
    }

    #[cfg(test)]
    pub(super) fn with_memory(self, memory: memory::Limits) -> Self {
        Self { memory, ..self }
    }

    fn start(&self, stdin: Option<UnboundedReceiver<Vec<u8>>>) -> Start<'_> {
        Start {
            stdin,
            mark: new_mark(self.state_dir.as_deref()),
            confine: self.confine.as_ref(),
            hidden: uuid::Uuid::now_v7().simple().to_string(),
        }
    }
}

impl Default for HostRunner {
    fn default() -> Self {
        Self::new()
    }
}

#[async_trait]
impl CommandRunner for HostRunner {
    async fn run(&self, command: Command) -> Result<CommandOutput, CommandError> {
        let pump = Pump::new(command.keep_bytes);
        let memory = (command.sandboxed == Sandboxed::Walled).then(|| self.memory.of(&command.program));
        let limits = Limits { idle: None, linger: Duration::ZERO, memory, seen: Some(&self.memory) };
        run(command, pump, limits, self.start(None)).await
    }

    async fn run_watched(&self, command: Command, watch: Watch) -> Result<CommandOutput, CommandError> {
        let Watch { reader, stdin, idle, linger } = watch;
        let pump = Pump { reader: Some(reader), ..Pump::new(command.keep_bytes) };
        run(command, pump, Limits { idle, linger, memory: None, seen: None }, self.start(stdin)).await
    }
}

/// What a program is started with beside its command.
struct Start<'a> {
    /// What is written to it later.
    stdin: Option<UnboundedReceiver<Vec<u8>>>,
    /// See [`new_mark`].
    mark: String,
    /// What it runs in.
    confine: Option<&'a Confine>,
    /// What a sandbox that hides the program says; the program itself does not know it. See [`INSIDE`].
    hidden: String,
}

/// Limits that only some programs have.
struct Limits<'a> {
    idle: Option<Duration>,
    linger: Duration,
    /// How much it and what it started may hold, in bytes.
    memory: Option<u64>,
    /// Where what others hold is remembered.
    seen: Option<&'a memory::Limits>,
}

async fn run(
    command: Command,
    mut pump: Pump,
    limits: Limits<'_>,
    start: Start<'_>,
) -> Result<CommandOutput, CommandError> {
    let started = Instant::now();
    if command.cancel.is_cancelled() {
        return Ok(pump.finish(CommandEnd::Cancelled, started.elapsed()));
    }
    let hidden = start.hidden.clone();
    let mut running = Running::start(&command, &mut pump, start).await?;
    let lost = |source| CommandError::Wait { program: program_name(&command.program), source };
    let end = running.watch(&command, &limits, &mut pump).await.map_err(lost)?;
    running.finish(&end, &mut pump).await.map_err(lost)?;
    let output = pump.finish(end, started.elapsed());
    if end == CommandEnd::Exited(127) && output.stderr.text().trim_end().ends_with(&hidden) {
        return Err(not_seen(&command));
    }
    Ok(output)
}

/// A program that is not to be seen in a sandbox may be nowhere else either.
fn not_seen(command: &Command) -> CommandError {
    let program = program_name(&command.program);
    if program.contains('/') && !command.dir.join(&program).exists() {
        return CommandError::NotFound { program };
    }
    CommandError::Hidden { program }
}

/// A started program.
struct Running {
    child: Child,
    /// None only while a look at the process table runs on another thread.
    family: Option<Family>,
    feeder: JoinHandle<()>,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.feeder.abort();
    }
}

impl Running {
    async fn start(command: &Command, pump: &mut Pump, start: Start<'_>) -> Result<Self, CommandError> {
        let entry = Entry::new(start.mark.clone(), !command.starts_nobody);
        let mut child = spawn(command, &start).await?;
        let pid = child.id().and_then(|id| Pid::from_raw(id.try_into().ok()?));
        let Some(pid) = pid else {
            return Err(CommandError::Wait {
                program: program_name(&command.program),
                source: io::Error::other("it has no process id"),
            });
        };
        pump.stdout = child.stdout.take();
        pump.stderr = child.stderr.take();
        let feeder = tokio::spawn(feed(child.stdin.take(), command.stdin.clone(), start.stdin));
        Ok(Self { child, family: Some(Family::new(pid, entry)), feeder })
    }

    /// Reads output until the program ends, or has to be ended.
    async fn watch(&mut self, command: &Command, limits: &Limits<'_>, pump: &mut Pump) -> io::Result<CommandEnd> {
        let limit = tokio::time::sleep(command.timeout);
        tokio::pin!(limit);
        let idle = tokio::time::sleep(limits.idle.unwrap_or_default());
        tokio::pin!(idle);
        let linger = tokio::time::sleep(limits.linger);
        tokio::pin!(linger);
        let mut done = false;
        let mut pause = LOOK_FIRST;
        let look = tokio::time::sleep(pause);
        tokio::pin!(look);
        loop {
            tokio::select! {
                () = command.cancel.cancelled() => return Ok(CommandEnd::Cancelled),
                () = &mut limit => return Ok(CommandEnd::TimedOut),
                status = self.child.wait() => return Ok(own_end(status?)),
                () = &mut idle, if limits.idle.is_some() => return Ok(CommandEnd::Idle),
                () = &mut linger, if done => return Ok(CommandEnd::Stopped),
                flow = pump.read(), if pump.is_open() => {
                    match flow {
                        Flow::Continue => {}
                        Flow::Done if done => {}
                        Flow::Done => {
                            done = true;
                            linger.as_mut().reset(tokio::time::Instant::now() + limits.linger);
                        }
                        Flow::Stop => return Ok(CommandEnd::Stopped),
                    }
                    if let Some(limit) = limits.idle {
                        idle.as_mut().reset(tokio::time::Instant::now() + limit);
                    }
                }
                () = &mut look => {
                    let held = self.with_family(|family| family.look()).await.unwrap_or_default();
                    match (limits.memory, limits.seen) {
                        (Some(most), _) if held.now > most => return Ok(CommandEnd::TookMemory { most }),
                        (None, Some(seen)) => seen.saw(&command.program, held.most),
                        (Some(_) | None, _) => {}
                    }
                    pause = (pause * 2).min(if limits.memory.is_some() { LOOK_AT_MEMORY } else { LOOK_AT_MOST });
                    look.as_mut().reset(tokio::time::Instant::now() + pause);
                }
            }
        }
    }

    /// Leaves nothing running, and reads what is left in the pipes.
    async fn finish(&mut self, end: &CommandEnd, pump: &mut Pump) -> io::Result<()> {
        match end {
            CommandEnd::Exited(_) | CommandEnd::Signaled(_) => {
                let _ = tokio::time::timeout(LINGER, pump.read_all()).await;
            }
            CommandEnd::TimedOut
            | CommandEnd::Cancelled
            | CommandEnd::Idle
            | CommandEnd::Stopped
            | CommandEnd::TookMemory { .. } => {
                // What a program prints because it is ended is not what it had to say.
                pump.reader = None;
                self.with_family(|family| {
                    family.look();
                    family.signal(Signal::TERM);
                })
                .await;
                let ended = async {
                    tokio::select! {
                        status = self.child.wait() => status,
                        never = pump.read_forever() => match never {},
                    }
                };
                let _ = tokio::time::timeout(GRACE, ended).await;
                self.with_family(|family| family.signal(Signal::KILL)).await;
                self.child.wait().await?;
            }
        }
        self.with_family(Family::end).await;
        let _ = tokio::time::timeout(DRAIN, pump.read_all()).await;
        Ok(())
    }

    /// Reading the process table blocks for milliseconds, so it happens on a thread for that. If this future is
    /// dropped meanwhile, the family is dropped on that thread, which ends it.
    async fn with_family<T: Send + 'static>(
        &mut self,
        work: impl FnOnce(&mut Family) -> T + Send + 'static,
    ) -> Option<T> {
        let mut family = self.family.take()?;
        let done = tokio::task::spawn_blocking(move || {
            let found = work(&mut family);
            (family, found)
        });
        let (family, found) = done.await.ok()?;
        self.family = Some(family);
        Some(found)
    }
}

/// Reads both streams in the order of arrival.
struct Pump {
    stdout: Option<ChildStdout>,
    stderr: Option<ChildStderr>,
    buffers: Box<[[u8; 32 * 1024]; 2]>,
    out: Capture,
    err: Capture,
    both: Capture,
    /// Whose turn it is.
    next: Stream,
    /// Gets stdout in place of the captures.
    reader: Option<Box<dyn OutputReader>>,
}

#[derive(Debug, Clone, Copy)]
enum Stream {
    Out,
    Err,
}

impl Pump {
    fn new(keep: usize) -> Self {
        Self {
            stdout: None,
            stderr: None,
            buffers: Box::new([[0; 32 * 1024]; 2]),
            out: Capture::new(keep),
            err: Capture::new(keep),
            both: Capture::new(keep),
            next: Stream::Out,
            reader: None,
        }
    }

    fn is_open(&self) -> bool {
        self.stdout.is_some() || self.stderr.is_some()
    }

    /// One piece of either stream; nothing is lost if it is dropped while it waits.
    ///
    /// If both have something, they take turns, stdout first: so neither starves, and a program that printed the same
    /// twice is kept the same twice, as far as that can be known from two pipes.
    async fn read(&mut self) -> Flow {
        let (stream, n) = self.read_either().await;
        let [out, err] = &*self.buffers;
        let (capture, bytes, next) = match stream {
            Stream::Out => (&mut self.out, &out[..n], Stream::Err),
            Stream::Err => (&mut self.err, &err[..n], Stream::Out),
        };
        self.next = next;
        if let (Stream::Out, Some(reader)) = (stream, &mut self.reader) {
            return reader.read(bytes);
        }
        capture.push(bytes);
        self.both.push(bytes);
        Flow::Continue
    }

    async fn read_either(&mut self) -> (Stream, usize) {
        let [out, err] = &mut *self.buffers;
        let from_out = std::pin::pin!(read_some(&mut self.stdout, out));
        let from_err = std::pin::pin!(read_some(&mut self.stderr, err));
        match self.next {
            Stream::Out => match select(from_out, from_err).await {
                Either::Left((n, _)) => (Stream::Out, n),
                Either::Right((n, _)) => (Stream::Err, n),
            },
            Stream::Err => match select(from_err, from_out).await {
                Either::Left((n, _)) => (Stream::Err, n),
                Either::Right((n, _)) => (Stream::Out, n),
            },
        }
    }

    async fn read_all(&mut self) {
        while self.is_open() {
            self.read().await;
        }
    }

    async fn read_forever(&mut self) -> std::convert::Infallible {
        self.read_all().await;
        std::future::pending().await
    }

    fn finish(self, end: CommandEnd, duration: Duration) -> CommandOutput {
        CommandOutput {
            end,
            stdout: self.out.finish(),
            stderr: self.err.finish(),
            combined: self.both.finish(),
            duration,
        }
    }
}

/// Reads a piece; at the end, or after an error, the stream is closed. A closed stream is never ready.
async fn read_some<R: tokio::io::AsyncRead + Unpin>(stream: &mut Option<R>, buffer: &mut [u8]) -> usize {
    let Some(reader) = stream else {
        return std::future::pending().await;
    };
    let n = reader.read(buffer).await.unwrap_or(0);
    if n == 0 {
        *stream = None;
    }
    n
}

/// Writes and closes stdin. A program that closed it, or never reads it, is its own business.
async fn feed(stdin: Option<ChildStdin>, bytes: Vec<u8>, more: Option<UnboundedReceiver<Vec<u8>>>) {
    let Some(mut stdin) = stdin else { return };
    if stdin.write_all(&bytes).await.is_err() {
        return;
    }
    if let Some(mut more) = more {
        while let Some(bytes) = more.recv().await {
            if stdin.write_all(&bytes).await.is_err() || stdin.flush().await.is_err() {
                return;
            }
        }
    }
    let _ = stdin.shutdown().await;
}

async fn spawn(command: &Command, start: &Start<'_>) -> Result<Child, CommandError> {
    let refused =
        |source| CommandError::Start { program: program_name(&command.program), dir: command.dir.clone(), source };
    let mut env = environment(command, &start.mark)
        .map_err(|error| refused(io::Error::new(io::ErrorKind::InvalidInput, error)))?;
    let (program, args) = match &command.program {
        CheckCommand::Shell(line) => ("sh", vec!["-c", line.as_str()]),
        CheckCommand::Argv(argv) => {
            let mut words = argv.iter().map(String::as_str);
            let program = words.next().unwrap_or_default();
            (program, words.collect())
        }
    };
    if program.is_empty() {
        let why = "the command is empty";
        return Err(refused(io::Error::new(io::ErrorKind::InvalidInput, why)));
    }
    let confined = start.confine.map_or(Ok(None), |confine| confine.of(command)).map_err(refused)?;
    let mut words: Vec<&str> = std::iter::once(program).chain(args).collect();
    if let Some(Confined::Prefix(prefix)) = &confined {
        // Whoever starts it would say so in its own words, and with a status that could be the program's.
        if !program.contains('/') && !is_on(env.get(OsStr::new("PATH")), &command.dir, program) {
            return Err(CommandError::NotFound { program: program.to_owned() });
        }
        let inside = ["sh", "-c", INSIDE, "sh", start.hidden.as_str()];
        words = prefix.iter().map(String::as_str).chain(inside).chain(words).collect();
    }
    let program = words[0];
    if let Some(Confined::Landlock { temp: Some(temp), .. }) = &confined {
        env.insert("TMPDIR".into(), temp.into());
    }
    let mut process = tokio::process::Command::new(program);
    process
        .args(&words[1..])
        .current_dir(&command.dir)
        .env_clear()
        .envs(&env)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    // A session of its own has a group of its own, and no controlling terminal: `/dev/tty` is nobody's.
    ProcessSession
        .pre_spawn(&mut process, &CommandWrap::from(tokio::process::Command::new(program)))
        .map_err(refused)?;
    let mut tries = 0;
    loop {
        let spawned = start_child(|| match &confined {
            Some(Confined::Landlock { write, .. }) => landlock::spawn(&mut process, write),
            Some(Confined::Prefix(_)) | None => process.spawn(),
        });
        match spawned {
            Ok(child) => return Ok(child),
            Err(error) if error.kind() == io::ErrorKind::ExecutableFileBusy && tries < BUSY_RETRIES => {
                tries += 1;
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            Err(error) => return Err(start_error(command, program, error)),
        }
    }
}

/// Says which of the several things that the same system error can mean it was.
fn start_error(command: &Command, program: &str, error: io::Error) -> CommandError {
    let refused =
        |source| CommandError::Start { program: program_name(&command.program), dir: command.dir.clone(), source };
    match error.kind() {
        io::ErrorKind::NotFound if !command.dir.is_dir() => {
            refused(io::Error::new(io::ErrorKind::NotFound, "there is no such directory"))
        }
        io::ErrorKind::NotFound if program.contains('/') && command.dir.join(program).exists() => {
            refused(io::Error::new(io::ErrorKind::NotFound, "the interpreter that it names does not exist"))
        }
        io::ErrorKind::NotFound => CommandError::NotFound { program: program.to_owned() },
        // A directory on PATH that may not be searched is reported instead of a program that is nowhere.
        io::ErrorKind::PermissionDenied if !program.contains('/') && !is_on_path(program) => {
            CommandError::NotFound { program: program.to_owned() }
        }
        io::ErrorKind::ArgumentListTooLong => {
            let args = match &command.program {
                CheckCommand::Shell(line) => line.len(),
                CheckCommand::Argv(argv) => argv.iter().map(String::len).sum(),
            };
            let env: usize = command.env.iter().map(|(k, v)| k.len() + v.len()).sum();
            refused(io::Error::new(
                io::ErrorKind::ArgumentListTooLong,
                format!(
                    "its arguments ({args} bytes) and environment ({env} bytes beside the inherited) are more than \
                     the system allows; hand long texts over on stdin or in a file"
                ),
            ))
        }
        _ => refused(error),
    }
}

fn is_on_path(program: &str) -> bool {
    is_on(std::env::var_os("PATH").as_ref(), Path::new("."), program)
}

/// Whether a program is on this PATH; what is not absolute there is meant from where it is started.
fn is_on(path: Option<&OsString>, dir: &Path, program: &str) -> bool {
    path.is_some_and(|path| std::env::split_paths(path).any(|place| dir.join(place).join(program).is_file()))
}

fn program_name(program: &CheckCommand) -> String {
    match program {
        CheckCommand::Shell(_) => "sh".to_owned(),
        CheckCommand::Argv(argv) => argv.first().cloned().unwrap_or_default(),
    }
}

fn own_end(status: ExitStatus) -> CommandEnd {
    match (status.code(), status.signal()) {
        (Some(code), _) => CommandEnd::Exited(code),
        (None, signal) => CommandEnd::Signaled(signal.unwrap_or_default()),
    }
}
