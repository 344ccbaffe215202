//! Arguments in, runtime calls, an exit code out.
//!
//! `--json` prints one JSON document on stdout and nothing else; everything for people goes to stderr there, and
//! progress always does. Exit codes stand in [`Exit`].

mod analyze;
mod apply;
mod args;
mod base_checks;
mod completions;
mod config;
mod doctor;
mod eval;
mod events;
mod exit;
mod hook;
mod init;
mod interrupt;
mod judge;
mod memory;
mod notify;
mod out_file;
mod output;
mod parts;
mod overnight;
mod progress;
mod project;
mod question;
mod reference;
mod report;
mod risk;
mod run;
mod status;
mod task;
mod task_checks;
mod transcript;
mod trust;
pub mod watch;
mod within_run;

pub use exit::Exit;
pub use reference::reference;

use crate::layer::Layers;
use args::{Args, Command};
use clap::Parser;
use output::errln;
use std::ffi::OsString;
use std::process::ExitCode;
use tokio::signal::unix::{SignalKind, signal};
use tracing_subscriber::EnvFilter;

/// The runtime's signals, timers and output need about ten; whatever it does next, some more.
const FEWEST_FILES: u64 = 32;

/// The program: parses the process's arguments, does what they ask, and gives the exit code.
#[must_use]
pub fn main() -> ExitCode {
    crate::runtime::is_the_program();
    run_with(std::env::args_os())
}

/// The program with services of your own in the place of some: every command reads and writes through them.
///
/// ```no_run
/// use reflexion::layer::Svc;
/// use reflexion::services::Storage;
/// use reflexion::storage::InMemoryStorage;
///
/// fn main() -> std::process::ExitCode {
///     reflexion::cli::main_with(|layers| layers.with(Svc::<dyn Storage>::new(InMemoryStorage::default())))
/// }
/// ```
///
/// The task file stays where it is: what a person trusts of a project is bound to it.
#[must_use]
pub fn main_with(change: impl Fn(Layers) -> Layers + Send + Sync + 'static) -> ExitCode {
    project::bring(change);
    main()
}

fn run_with(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let args: Vec<OsString> = args.into_iter().collect();
    let is_hook = hook::is_call(&args);
    if is_hook && hook::is_off(&args) {
        return Exit::Confirmed.into();
    }
    let args = match Args::try_parse_from(args) {
        Ok(args) => args,
        Err(error) if is_hook => return hook::misused(&error),
        Err(error) => {
            // `--help` and `--version` come this way too; they go to stdout and are no error.
            let wrong = error.use_stderr();
            let _ = error.print();
            return if wrong { Exit::Usage.into() } else { Exit::Confirmed.into() };
        }
    };
    if let Some(exit) = hook::at_once(&args) {
        return exit.into();
    }
    start_logging();
    // Below that not even the runtime's own signals have theirs, and what it says of it is no message.
    let files = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    if let Some(files) = files.filter(|files| *files < FEWEST_FILES) {
        errln!(
            "error: only {files} files may be open at a time here, and {FEWEST_FILES} are needed: raise that (`ulimit -n 1024`)"
        );
        return Exit::Environment.into();
    }
    let runtime = match tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            errln!("error: failed to start the runtime: {error}");
            return Exit::Environment.into();
        }
    };
    // A write beyond a limit on the size of files (`ulimit -f`) is an error like any other, and not the program's end. What it
    // starts is not affected: a handler is not inherited.
    let too_large = SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw());
    let exit = runtime.block_on(async {
        let _handled = signal(too_large);
        dispatch(args).await
    });
    // A blocking read that nobody waits for any more must not keep the program from ending.
    runtime.shutdown_background();
    match (exit, output::lost()) {
        (Ok(_), Some(because)) => {
            errln!("error: failed to write to stdout: {because}");
            Exit::Environment.into()
        }
        (Ok(exit), None) => exit.into(),
        (Err(error), _) => {
            errln!("error: {error:#}");
            Exit::of(&error).into()
        }
    }
}

async fn dispatch(args: Args) -> anyhow::Result<Exit> {
    let project = match &args.command {
        // These are about the directory itself.
        Command::Init(_) | Command::Hook(_) | Command::Risk(_) | Command::Completions(_) => args.project,
        _ => crate::config::around(&args.project),
    };
    within_run::ensure_not(&args.command, &project)?;
    match args.command {
        Command::Init(init) => {
            let exit = init::init(&project, &init)?;
            if !init.dry_run {
                trust::wrote_project(&project).await;
            }
            Ok(exit)
        }
        Command::Trust(args) => trust::trust(&project, args).await,
        Command::Run(run) => run::run(&project, run).await,
        Command::Overnight(args) => overnight::overnight(&project, args).await,
        Command::Report(args) => report::report(&project, args).await,
        Command::Status(args) => status::status(&project, args).await,
        Command::Watch(args) => watch::watch(&project, args).await,
        Command::Apply(apply) => apply::apply(&project, apply).await,
        Command::Task(task) => task::task(&project, task).await,
        Command::Transcript(args) => transcript::transcript(&project, args).await,
        Command::Judge(args) => judge::judge(&project, args).await,
        Command::Risk(args) => risk::risk(&project, args).await,
        Command::Memory(memory) => memory::memory(&project, memory).await,
        Command::Analyze(args) => analyze::analyze(&project, args).await,
        Command::Eval(args) => eval::eval(&project, args).await,
        Command::Config(config) => config::config(&project, config),
        Command::Doctor(doctor) => doctor::doctor(&project, &doctor).await,
        Command::Notify(args) => notify::notify(&project, args).await,
        Command::Hook(args) => hook::hook(&project, args),
        Command::Completions(completions) => Ok(completions::completions(&completions)),
    }
}

/// Logs go to stderr, warnings and worse; `REFLEXION_LOG=debug` shows more (the syntax of `RUST_LOG`).
fn start_logging() {
    let filter =
        EnvFilter::try_from_env("REFLEXION_LOG").unwrap_or_else(|_| EnvFilter::new("warn,agent_client_protocol=error"));
    let _ = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(|| output::Log)
        .fmt_fields(output::log_fields())
        .with_ansi(std::io::IsTerminal::is_terminal(&std::io::stderr()))
        .log_internal_errors(false)
        .without_time()
        .try_init();
}
