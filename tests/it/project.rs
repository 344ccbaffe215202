//! Small projects in temporary directories, and the real program run on them.

use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Longer than anything here takes on a busy machine; only a test that would hang forever meets it.
const PATIENCE: Duration = Duration::from_secs(60);

/// An agent that does right at once.
pub const RIGHT: &str = "echo right > answer.txt";
/// An agent that does wrong at first, and right at its second attempt.
pub const RIGHT_AT_TWO: &str =
    "if [ $REFLEXION_ATTEMPT = 1 ]; then echo almost > answer.txt; else echo right > answer.txt; fi";

/// A project whose task `a` wants `right` in `answer.txt`, and a directory `out` beside it for what agents tell the
/// test; they find it as `$OUT`.
pub struct Project {
    /// `project.json` is here.
    pub dir: PathBuf,
    /// `$OUT`.
    pub out: PathBuf,
    temp: tempfile::TempDir,
}

impl Project {
    /// A project in a git repository, everything committed; the agent is a shell script.
    pub fn new(agent: &str) -> Self {
        let project = Self::without_git(agent);
        project.git(&["init", "-q", "-b", "main"]);
        project.commit();
        project
    }

    /// The same files without a repository.
    pub fn without_git(agent: &str) -> Self {
        let temp = tempfile::tempdir().unwrap();
        let (dir, out, home) = (temp.path().join("project"), temp.path().join("out"), temp.path().join("home"));
        for dir in [&dir, &out, &home] {
            fs::create_dir(dir).unwrap();
        }
        fs::write(home.join(".gitconfig"), "[user]\n\tname = Ada\n\temail = ada@example.org\n").unwrap();
        let project = Self { dir, out, temp };
        project.write("answer.txt", "wrong\n");
        let agent = json!({ "type": "command", "argv": ["sh", "-c", agent] });
        // Hold-out has tests of its own; everywhere else a retry has its lessons.
        let reflexion = json!({ "holdout": false });
        let settings = json!({ "agents": { "default": "sh", "sh": agent }, "reflexion": reflexion });
        project.write("project.json", settings.to_string());
        project.tasks(&[task("a")]);
        project
    }

    pub fn write(&self, path: &str, bytes: impl AsRef<[u8]>) {
        let path = self.dir.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    pub fn read(&self, path: &str) -> Vec<u8> {
        fs::read(self.dir.join(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
    }

    /// What an agent left in `$OUT`.
    pub fn told(&self, name: &str) -> String {
        fs::read_to_string(self.out.join(name)).unwrap_or_else(|e| panic!("$OUT/{name}: {e}"))
    }

    /// Changes `project.json`, and commits that where there is git.
    pub fn config(&self, change: impl FnOnce(&mut Value)) {
        let mut config = serde_json::from_slice(&self.read("project.json")).unwrap();
        change(&mut config);
        self.write("project.json", config.to_string());
        self.commit();
    }

    /// Replaces the tasks, and commits that where there is git.
    pub fn tasks(&self, tasks: &[Value]) {
        self.write(
            "tasks.jsonl",
            tasks.iter().map(ToString::to_string).chain([String::new()]).collect::<Vec<_>>().join("\n"),
        );
        self.commit();
    }

    pub fn commit(&self) {
        if self.dir.join(".git").exists() {
            self.git(&["add", "-A"]);
            self.git(&["commit", "-q", "--allow-empty", "-m", "files"]);
        }
    }

    pub fn git(&self, args: &[&str]) -> String {
        let output = self.plain("git").args(args).output().unwrap();
        assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// A program in the project's directory, away from the machine's own settings.
    pub fn program(&self, program: &str) -> Command {
        self.plain(program)
    }

    fn plain(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        for (name, _) in std::env::vars_os() {
            let name = name.to_string_lossy();
            if name.starts_with("REFLEXION_") || name.starts_with("GIT_") {
                command.env_remove(&*name);
            }
        }
        command.current_dir(&self.dir).env("HOME", self.temp.path().join("home")).env("OUT", &self.out);
        // Trust has tests of its own.
        command.env_remove("XDG_STATE_HOME").env("REFLEXION_TRUST", "1");
        // Of projects that have settings of their own, too.
        command.env("REFLEXION_HOLDOUT", "0");
        command
    }

    /// The program, not yet started.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = self.plain(env!("CARGO_BIN_EXE_reflexion"));
        command.args(args);
        command
    }

    /// Runs the program to its end.
    pub fn run(&self, args: &[&str]) -> Ran {
        self.run_with(args, "")
    }

    /// Runs the program to its end with something on stdin.
    pub fn run_with(&self, args: &[&str], stdin: &str) -> Ran {
        Ran::of(self.command(args), stdin)
    }

    /// Starts the program, for tests that interrupt it.
    pub fn start(&self, args: &[&str]) -> Started {
        let child = self.command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        Started(Some(child))
    }

    /// Waits until an agent has written `$OUT/name`.
    pub fn await_told(&self, name: &str) {
        let started = Instant::now();
        while !self.out.join(name).exists() {
            assert!(started.elapsed() < PATIENCE, "waited in vain for $OUT/{name}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Living processes that know this project, by their environment, arguments or working directory.
    pub fn processes(&self) -> Vec<String> {
        let mine = self.temp.path().to_str().unwrap();
        let mut found = Vec::new();
        for entry in fs::read_dir("/proc").unwrap().flatten() {
            let path = entry.path();
            if !entry.file_name().to_string_lossy().bytes().all(|b| b.is_ascii_digit()) {
                continue;
            }
            let text =
                |name: &str| String::from_utf8_lossy(&fs::read(path.join(name)).unwrap_or_default()).into_owned();
            let cwd = fs::read_link(path.join("cwd")).unwrap_or_default();
            let arguments = text("cmdline");
            if cwd.starts_with(mine) || arguments.contains(mine) || text("environ").contains(mine) {
                found.push(format!("{} {}", entry.file_name().to_string_lossy(), arguments.replace('\0', " ")));
            }
        }
        found
    }

    /// Workspaces and clean rooms on disk.
    pub fn worktrees(&self) -> Vec<PathBuf> {
        let below =
            |dir: &Path| fs::read_dir(dir).into_iter().flatten().map(|entry| entry.unwrap().path()).collect::<Vec<_>>();
        let rooms = below(&self.temp.path().join("home/.local/state/reflexion/rooms"));
        let places = rooms.into_iter().chain([self.dir.join(".reflection/worktrees")]);
        let all = places.flat_map(|place| below(&place)).flat_map(|run| below(&run));
        all.filter(|path| !path.file_name().unwrap().to_string_lossy().starts_with('.')).collect()
    }
}

/// A test that fails leaves nothing running either.
impl Drop for Project {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            return;
        }
        for process in self.processes() {
            let pid = process.split(' ').next().and_then(|pid| rustix::process::Pid::from_raw(pid.parse().ok()?));
            if let Some(pid) = pid {
                let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
            }
        }
    }
}

/// A task that wants `right` in `answer.txt`.
pub fn task(id: &str) -> Value {
    task_with_check(id, "grep -qx right answer.txt")
}

pub fn task_with_check(id: &str, check: &str) -> Value {
    json!({ "id": id, "title": format!("Answer for {id}"), "checks": [{ "name": "answer", "run": check }] })
}

/// A JSON value with some keys set.
pub fn with(mut value: Value, more: Value) -> Value {
    value.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    value
}

/// A run of the program that is over.
#[derive(Debug)]
pub struct Ran {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Ran {
    pub fn of(command: Command, stdin: &str) -> Self {
        let output = assert_cmd::Command::from_std(command).write_stdin(stdin).timeout(PATIENCE).output().unwrap();
        Self::new(output)
    }

    fn new(output: std::process::Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// The exit code.
    #[track_caller]
    pub fn exits(&self, code: i32) -> &Self {
        assert_eq!(self.code, Some(code), "\n--- stdout\n{}\n--- stderr\n{}", self.stdout, self.stderr);
        self
    }

    /// Words on stderr.
    #[track_caller]
    pub fn says(&self, words: &str) -> &Self {
        assert!(self.stderr.contains(words), "no `{words}` in\n{}\n--- stdout\n{}", self.stderr, self.stdout);
        self
    }

    /// Words on stdout.
    #[track_caller]
    pub fn prints(&self, words: &str) -> &Self {
        assert!(self.stdout.contains(words), "no `{words}` in\n{}\n--- stderr\n{}", self.stdout, self.stderr);
        self
    }

    /// The one JSON document that stdout is.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|e| panic!("{e}: {}\n{}", self.stdout, self.stderr))
    }

    /// The report of a task in what `run --json` printed.
    #[track_caller]
    pub fn task(&self, id: &str) -> Value {
        let json = self.json();
        let tasks = json["tasks"].as_array().unwrap();
        tasks.iter().find(|t| t["id"] == id).unwrap_or_else(|| panic!("no task {id} in {json:#}")).clone()
    }

    /// A task's verdict in what `run --json` printed.
    #[track_caller]
    pub fn verdict(&self, id: &str) -> Value {
        self.task(id)["verdict"].clone()
    }
}

/// A run of the program that goes on; killed when dropped.
pub struct Started(Option<Child>);

impl Started {
    pub fn pid(&self) -> u32 {
        self.0.as_ref().unwrap().id()
    }

    pub fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_raw(self.pid().try_into().unwrap()).unwrap();
        rustix::process::kill_process(pid, signal).unwrap();
    }

    /// Ends it as a power failure does.
    pub fn kill(&mut self) {
        let child = self.0.as_mut().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
    }

    /// Waits for its end.
    pub fn end(mut self) -> Ran {
        Ran::new(self.0.take().unwrap().wait_with_output().unwrap())
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        if let Some(mut child) = self.0.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// The bytes of a file, and nothing where there is none.
pub fn bytes(path: &Path) -> Vec<u8> {
    fs::read(path).unwrap_or_default()
}

/// Says that it is skipped where a program is missing.
pub fn is_there(program: &str) -> bool {
    let there =
        std::process::Command::new(program).arg(if program == "go" { "version" } else { "--version" }).output().is_ok();
    if !there {
        eprintln!("SKIPPED: {program} is not installed");
    }
    there
}
