//! Real programs, real signals.

use super::HostRunner;
use crate::domain::CheckCommand;
use crate::services::{
    Command, CommandEnd, CommandError, CommandOutput, CommandRunner, Flow, OutputReader, Sandboxed, Watch,
};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

fn shell(line: &str) -> Command {
    let mut command = Command::new(["sh"], "/");
    command.program = CheckCommand::Shell(line.to_owned());
    command.timeout = Duration::from_secs(60);
    command
}

async fn run(command: Command) -> CommandOutput {
    HostRunner::new().run(command).await.unwrap()
}

#[tokio::test]
async fn a_program_inherits_no_open_file() {
    let file = tempfile::NamedTempFile::new().unwrap();
    // As one that whoever started us has handed on.
    rustix::io::fcntl_setfd(&file, rustix::io::FdFlags::empty()).unwrap();
    let number = std::os::fd::AsRawFd::as_raw_fd(&file);
    let command = Command { timeout: Duration::from_secs(60), ..Command::new(["ls", "-l", "/proc/self/fd"], "/") };
    let output = run(command).await;
    let listed = output.stdout.text();
    assert!(listed.contains("pipe:") && !listed.contains(file.path().to_str().unwrap()), "{number}: {listed}");
}

/// The processes whose command line contains the text.
fn running(text: &str) -> Vec<String> {
    std::fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok())
        .map(|line| String::from_utf8_lossy(&line).replace('\0', " "))
        .filter(|line| line.contains(text))
        .collect()
}

fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let started = Instant::now();
    while !condition() {
        assert!(started.elapsed() < Duration::from_secs(20), "never: {what}");
        std::thread::yield_now();
    }
}

/// A number of seconds that no other test sleeps, to recognise the process by.
fn unique() -> String {
    let n = uuid::Uuid::now_v7().as_u128() % 1_000_000_000;
    format!("1{n:09}.{}", std::process::id())
}

/// Zombie children of this process in foreign sessions.
fn orphaned_zombies() -> Vec<String> {
    let me = std::process::id().to_string();
    std::fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(|entry| std::fs::read_to_string(entry.path().join("stat")).ok())
        .filter(|stat| {
            let fields: Vec<&str> = stat[stat.rfind(')').unwrap() + 1..].split_whitespace().collect();
            fields[0] == "Z" && fields[1] == me && fields[3] == stat.split(' ').next().unwrap()
        })
        .collect()
}

#[tokio::test]
async fn a_line_goes_verbatim_to_the_shell_and_argv_does_not() {
    let output = run(shell(r#"printf '%s' "$((1+1))"; printf err >&2; exit 3"#)).await;
    assert_eq!(output.end, CommandEnd::Exited(3));
    assert_eq!((output.stdout.text(), output.stderr.text()), ("2".into(), "err".into()));
    assert_eq!(output.combined.bytes, 4);
    let output = run(Command::new(["printf", "%s", "`id` $HOME"], "/")).await;
    assert_eq!(output.stdout.head, "`id` $HOME");
    let output = run(shell("kill -9 $$")).await;
    assert_eq!(output.end, CommandEnd::Signaled(9));
}

#[tokio::test]
async fn what_leaves_the_group_is_ended_at_the_time_limit() {
    let n = unique();
    let mut command = shell(&format!(
        "trap '' TERM; setsid sleep {n} & (sleep {n} &); (setsid sh -c 'sleep {n} & sleep {n}' &); \
         env -i setsid sleep {n} & sleep {n}; sleep {n}"
    ));
    command.timeout = Duration::from_millis(300);
    let output = run(command).await;
    assert_eq!(output.end, CommandEnd::TimedOut);
    assert_eq!(running(&n), Vec::<String>::new());
}

#[tokio::test]
async fn nothing_is_left_after_a_normal_exit_and_a_held_pipe_does_not_hang() {
    let n = unique();
    let output =
        run(shell(&format!("setsid sleep {n} & sleep {n} & (setsid sh -c 'sleep {n} & sleep {n}' &) ; echo done")))
            .await;
    assert_eq!(output.end, CommandEnd::Exited(0));
    assert_eq!(output.stdout.head, "done\n");
    assert!(output.duration < Duration::from_secs(30));
    assert_eq!(running(&n), Vec::<String>::new());
}

#[tokio::test]
async fn a_daemon_that_clears_its_environment_is_remembered_by_descent() {
    let n = unique();
    // It is seen as a grandchild, then its parent goes away.
    let output = run(shell(&format!("env -i setsid sh -c 'sleep {n} & sleep 1.2' & sleep 1.5; true"))).await;
    assert_eq!(output.end, CommandEnd::Exited(0));
    assert_eq!(running(&n), Vec::<String>::new());
}

/// Runs a test of this file again in a process of its own, where no other test's programs run: true there.
fn alone(test: &str) -> bool {
    const ALONE: &str = "REFLEXION_TEST_ALONE";
    if std::env::var_os(ALONE).is_some() {
        return true;
    }
    let test = format!("host::process::tests::{test}");
    let mut alone = std::process::Command::new(std::env::current_exe().unwrap());
    let output = alone.args(["--exact", &test, "--nocapture"]).env(ALONE, "1").output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&said));
    false
}

/// Leaves a daemon that nothing can be told of: no mark, no group, no session, no parent.
fn lost_daemons(n: &str) -> String {
    format!(
        "(env -i setsid sh -c 'cd /; sleep {n} & sleep {n}' &); (env -i bash -c 'set -m; cd /; sleep {n} &' &); \
         until [ $(pgrep -cf '^sleep {n}') = 3 ]; do :; done"
    )
}

#[test]
fn a_daemon_that_nobody_can_claim_is_ended_with_the_first_that_ends_and_nothing_else_is() {
    if !alone("a_daemon_that_nobody_can_claim_is_ended_with_the_first_that_ends_and_nothing_else_is") {
        return;
    }
    let inherited = unique();
    let mut before = std::process::Command::new("setsid");
    // Who waits for the end of what this test prints must not wait for it.
    before.args(["sleep", &inherited]).stdout(Stdio::null()).stderr(Stdio::null());
    let _before = EndedWithTest(before.spawn().unwrap());
    until("inherited", || running(&inherited) == [format!("sleep {inherited} ")]);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        for _ in 0..10 {
            let [n, m] = [unique(), unique()];
            // A child, an orphan with its mark, one in its group, and one below a parent without a mark, which dies.
            let line = format!(
                "setsid sleep {m} & (setsid sleep {m} &); (env -i sleep {m} &); env -i setsid sh -c 'sleep {m}; :' & \
                 until [ $(pgrep -cf '^sleep {m}') = 4 ]; do :; done; \
                 echo ready; read line; kill -9 $!; wait $!; echo lost; read line; :"
            );
            let (send, stdin) = tokio::sync::mpsc::unbounded_channel();
            let seen = Arc::new(Mutex::new(String::new()));
            let reader = Box::new(Reads { until: "never", flow: Flow::Stop, seen: Arc::clone(&seen) });
            let watch = Watch { reader, stdin: Some(stdin), idle: None, linger: Duration::ZERO };
            let other = tokio::spawn(async move { HostRunner::new().run_watched(shell(&line), watch).await.unwrap() });
            let says = async |word: &'static str| {
                let seen = Arc::clone(&seen);
                let said = move || until(word, || seen.lock().unwrap().contains(word));
                tokio::task::spawn_blocking(said).await.unwrap();
            };
            says("ready").await;
            assert!(run(shell(&lost_daemons(&n))).await.success());
            assert_eq!(running(&n), Vec::<String>::new());
            let sleeping = || running(&m).into_iter().filter(|line| line.starts_with("sleep")).count();
            assert_eq!(sleeping(), 4);
            // It has been seen below the other program, and has lost what could be said of it since.
            send.send(b"\n".to_vec()).unwrap();
            says("lost").await;
            assert!(run(shell("true")).await.success());
            assert_eq!((sleeping(), running(&inherited).len()), (4, 1));
            send.send(b"\n".to_vec()).unwrap();
            assert!(other.await.unwrap().success());
            assert_eq!(running(&m), Vec::<String>::new());
        }
    });
}

/// A process that embeds the runtime may start the program as well, and that may be killed.
#[test]
fn what_another_runtime_left_behind_is_not_ended_with_a_program_of_this_one() {
    let test = "what_another_runtime_left_behind_is_not_ended_with_a_program_of_this_one";
    if !alone(test) {
        return;
    }
    let [n, m] = [unique(), unique()];
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        assert!(run(shell("true")).await.success());
        for (mark, n) in [(format!("a@p.{}.1", std::process::id()), &n), ("a".to_owned(), &m)] {
            let mut killed = std::process::Command::new("sh");
            killed.args(["-c", &format!("setsid sleep {n} & until pgrep -f '^sleep {n}'; do :; done")]);
            assert!(killed.env("REFLEXION_MARK", mark).stdout(Stdio::null()).status().unwrap().success());
        }
        assert!(run(shell("true")).await.success());
        assert_eq!((running(&n).len(), running(&m).len()), (1, 0));
    });
    std::process::Command::new("pkill").args(["-f", &format!("^sleep {n}")]).status().unwrap();
}

struct EndedWithTest(std::process::Child);

impl Drop for EndedWithTest {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test]
async fn output_of_helpers_that_the_program_does_not_wait_for_is_read() {
    let output = run(Command::new(["bash", "-c", "exec > >(cat; echo tail); echo body"], "/")).await;
    assert_eq!(output.stdout.head, "body\ntail\n");
}

#[tokio::test]
async fn cancellation_ends_it_and_one_that_came_before_starts_nothing() {
    let n = unique();
    let command = shell(&format!("sleep {n} & setsid sleep {n}"));
    let cancel = command.cancel.clone();
    let task = tokio::spawn(run(command));
    let m = n.clone();
    tokio::task::spawn_blocking(move || until("started", || running(&m).len() >= 3)).await.unwrap();
    cancel.cancel();
    assert_eq!(task.await.unwrap().end, CommandEnd::Cancelled);
    assert_eq!(running(&n), Vec::<String>::new());

    let dir = tempfile::tempdir().unwrap();
    let mut command = Command::new(["touch", "x"], dir.path());
    command.cancel = cancel;
    assert_eq!(run(command).await.end, CommandEnd::Cancelled);
    assert!(!dir.path().join("x").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn dropping_the_future_ends_everything() {
    let n = unique();
    let task = tokio::spawn(run(shell(&format!("setsid sleep {n} & sleep {n}"))));
    until("started", || running(&n).len() >= 3);
    task.abort();
    until("ended", || running(&n).is_empty());
}

#[tokio::test]
async fn much_output_is_counted_and_not_kept() {
    let mut command = shell("yes 0123456789 | head -c 100000000; head -c 1000000 /dev/urandom >&2");
    command.keep_bytes = 1000;
    let output = run(command).await;
    assert_eq!(output.end, CommandEnd::Exited(0));
    assert_eq!(output.stdout.bytes, 100_000_000);
    assert_eq!((output.stdout.head.len(), output.stdout.tail.len()), (1000, 1000));
    assert_eq!(output.stderr.bytes, 1_000_000);
    assert_eq!(output.combined.bytes, 101_000_000);
}

#[tokio::test]
async fn a_prompt_that_nobody_reads_is_no_error_and_one_that_is_read_arrives() {
    let mut command = shell("exit 0");
    command.stdin = vec![b'x'; 1 << 20];
    assert!(run(command).await.success());
    // It writes as much as it reads: whoever does one after the other stands still.
    let mut command = Command::new(["cat"], "/");
    command.stdin = vec![b'x'; 1 << 20];
    assert_eq!(run(command).await.stdout.bytes, 1 << 20);
    let output = run(Command::new(["cat"], "/")).await;
    assert!(output.success(), "stdin is closed: {output:?}");
}

#[tokio::test]
async fn what_cannot_be_started_says_why() {
    let dir = tempfile::tempdir().unwrap();
    let script = |name: &str, text: &str, mode| {
        let path = dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let plain = script("plain", "x", 0o644);
    let lost = script("lost", "#!/nowhere/at/all\n", 0o755);
    let big = "x".repeat(3 << 20);
    let error = async |argv: Vec<&str>, cwd: &Path| {
        let result = HostRunner::new().run(Command::new(argv, cwd)).await;
        result.unwrap_err()
    };
    let here = dir.path();
    let missing = error(vec!["no-such-program-here"], here).await;
    assert!(matches!(&missing, CommandError::NotFound { program } if program == "no-such-program-here"));
    for (argv, cwd, words) in [
        (vec!["true"], Path::new("/no/such/dir"), "no such directory"),
        (vec![plain.as_str()], here, "denied"),
        (vec![lost.as_str()], here, "interpreter"),
        (vec!["true", big.as_str()], here, "on stdin or in a file"),
        (vec![], here, "empty"),
    ] {
        let error = error(argv, cwd).await;
        assert!(matches!(error, CommandError::Start { .. }), "{error:?}");
        assert!(error.to_string().contains(words), "{error}");
    }
}

#[tokio::test]
async fn the_environment_is_inherited_denied_and_added_to() {
    let mut command = shell("echo \"$A|${HOME-unset}|${REFLEXION_MARK:+marked}\"");
    command.env = [("A".to_owned(), "1".to_owned())].into();
    command.env_deny = vec!["HOM?".to_owned()];
    assert_eq!(run(command).await.stdout.head, "1|unset|marked\n");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_at_once_do_not_touch_each_other() {
    let runs = (0..64).map(|i| {
        tokio::spawn(async move {
            let n = unique();
            // Half of them end while the other half still needs its own background process.
            let wait = if i % 2 == 0 { "0" } else { "0.6" };
            let output =
                run(shell(&format!("setsid sleep {n} & bg=$!; sleep {wait}; sleep 0.1; kill -0 $bg && echo alive{i}")))
                    .await;
            assert_eq!(output.stdout.head, format!("alive{i}\n"), "{output:?}");
            assert_eq!(running(&n), Vec::<String>::new());
        })
    });
    for run in runs.collect::<Vec<_>>() {
        run.await.unwrap();
    }
}

#[tokio::test]
async fn adopted_orphans_do_not_pile_up_as_zombies() {
    for _ in 0..3 {
        assert!(run(shell("(setsid true &); (setsid sleep 0.05 &); sleep 0.2")).await.success());
    }
    // Another test's orphan may just be on its way.
    until("reaped", || orphaned_zombies().is_empty());
}

/// Says `flow` once it has read `until`, and keeps what it read.
struct Reads {
    until: &'static str,
    flow: Flow,
    seen: Arc<Mutex<String>>,
}

impl OutputReader for Reads {
    fn read(&mut self, piece: &[u8]) -> Flow {
        let mut seen = self.seen.lock().unwrap();
        seen.push_str(&String::from_utf8_lossy(piece));
        if seen.contains(self.until) { self.flow } else { Flow::Continue }
    }
}

async fn watched(line: &str, until: &'static str, flow: Flow, idle: Option<Duration>) -> (CommandOutput, String) {
    let seen = Arc::new(Mutex::new(String::new()));
    let reader = Box::new(Reads { until, flow, seen: Arc::clone(&seen) });
    let watch = Watch { reader, stdin: None, idle, linger: Duration::from_millis(100) };
    let output = HostRunner::new().run_watched(shell(line), watch).await.unwrap();
    let seen = seen.lock().unwrap().clone();
    (output, seen)
}

#[tokio::test]
async fn a_reader_gets_all_of_stdout_and_stderr_is_kept() {
    let (output, seen) = watched("echo out; echo err >&2; exit 4", "never", Flow::Stop, None).await;
    assert_eq!((output.end, seen.as_str()), (CommandEnd::Exited(4), "out\n"));
    assert_eq!((output.stdout.text(), output.stderr.text()), (String::new(), "err\n".to_owned()));
}

#[tokio::test]
async fn a_program_that_prints_its_result_and_never_exits_is_ended_with_its_children() {
    let n = unique();
    let line = format!("trap '' TERM; setsid sleep {n} & echo result; sleep {n}; sleep {n}");
    let (output, seen) = watched(&line, "result", Flow::Done, None).await;
    assert_eq!((output.end, seen.as_str()), (CommandEnd::Stopped, "result\n"));
    assert_eq!(running(&n), Vec::<String>::new());
    // One that goes on to exit by itself is waited for, and its status counts.
    let (output, _) = watched("echo result; exit 1", "result", Flow::Done, None).await;
    assert_eq!(output.end, CommandEnd::Exited(1));
}

#[tokio::test]
async fn a_reader_can_stop_a_program_at_once() {
    let n = unique();
    let (output, _) = watched(&format!("echo enough; setsid sleep {n}; sleep {n}"), "enough", Flow::Stop, None).await;
    assert_eq!(output.end, CommandEnd::Stopped);
    assert_eq!(running(&n), Vec::<String>::new());
}

#[tokio::test]
async fn silence_is_a_hang_and_stderr_is_a_sign_of_life() {
    let n = unique();
    let idle = Some(Duration::from_millis(400));
    let (output, _) = watched(&format!("echo on; sleep {n}"), "never", Flow::Stop, idle).await;
    assert_eq!(output.end, CommandEnd::Idle);
    assert_eq!(running(&n), Vec::<String>::new());
    let lively = "for i in 1 2 3 4 5 6 7 8 9 10; do echo . >&2; sleep 0.1; done";
    let (output, _) = watched(lively, "never", Flow::Stop, idle).await;
    assert_eq!(output.end, CommandEnd::Exited(0));
}

#[tokio::test]
async fn a_conversation_over_stdin_goes_on_until_the_sender_is_dropped() {
    let (send, stdin) = tokio::sync::mpsc::unbounded_channel();
    send.send(b"second\n".to_vec()).unwrap();
    let seen = Arc::new(Mutex::new(String::new()));
    let reader = Box::new(Reads { until: "never", flow: Flow::Stop, seen: Arc::clone(&seen) });
    let watch = Watch { reader, stdin: Some(stdin), idle: None, linger: Duration::ZERO };
    let command = Command { stdin: b"first\n".to_vec(), ..shell("cat; echo closed") };
    let running = tokio::spawn(async move { HostRunner::new().run_watched(command, watch).await.unwrap() });
    send.send(b"third\n".to_vec()).unwrap();
    drop(send);
    assert_eq!(running.await.unwrap().end, CommandEnd::Exited(0));
    assert_eq!(*seen.lock().unwrap(), "first\nsecond\nthird\nclosed\n");
}

/// A container that is entered from outside: the session's leader is not in its pid namespace.
#[test]
fn what_a_program_started_is_ended_where_the_session_is_led_from_outside_the_pid_namespace() {
    let enter = ["--user", "--map-root-user", "--pid", "--fork", "--mount-proc"];
    let unshare = |args: &[&str]| {
        let output = std::process::Command::new("unshare").args(enter).args(args).output();
        output.ok().filter(|output| output.status.success())
    };
    if unshare(&["true"]).is_none() {
        eprintln!("SKIPPED: this system does not let a pid namespace be made");
        return;
    }
    let me = std::env::current_exe().unwrap();
    let test = "host::process::tests::nothing_is_left_after_a_normal_exit_and_a_held_pipe_does_not_hang";
    assert!(unshare(&[me.to_str().unwrap(), "--exact", test]).is_some(), "it fails in a pid namespace of its own");
}

#[tokio::test]
async fn what_nobody_wrote_is_ended_where_it_takes_too_much_memory() {
    // It keeps what it reads, until it is at its end.
    let line = "head -c 400000000 /dev/zero | tail -c 300000000 | sleep 600";
    let command = |sandboxed| Command { sandboxed, timeout: Duration::from_secs(60), ..shell(line) };
    let most = 64 << 20;
    let runner = HostRunner::new().with_memory(super::memory::Limits::of_at_least(most));
    let output = runner.run(command(Sandboxed::Walled)).await.unwrap();
    assert_eq!(output.end, CommandEnd::TookMemory { most });
    assert_eq!(output.end.failure().as_deref(), Some("took more than 64 MiB of memory"));
}
