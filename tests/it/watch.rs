//! `watch`: what it draws of a made-up night at every size, and the real program on a terminal beside a real night.

use super::made_up_night;
use super::made_up_night::Night;
use super::project::Project;
use crossterm::event::KeyCode;
use jiff::tz::TimeZone;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::style::Color;
use reflexion::cli::watch::{After, Ink, Screen};
use reflexion::domain::{JournalEntry, Life, SessionId, Timestamp, TranscriptRecord};
use reflexion::report::night::watch::{Live, Scene};
use reflexion::report::night::{Night as Told, Times, watch};
use rustix::fs::OFlags;
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::OpenptFlags;
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::fs::File;
use std::io::{Read, Write};
use std::num::NonZero;
use std::os::unix::fs::OpenOptionsExt;
use std::process::Child;
use std::sync::mpsc;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

/// Longer than anything here takes on a busy machine; only a test that would hang forever meets it.
const PATIENCE: Duration = Duration::from_secs(60);

/// What an agent's transcript may hold, the worst of it included.
fn live(at: Timestamp) -> Live {
    let mut live = Live::default();
    let items = [
        json!({"type": "message", "role": "assistant", "text": "I look at the parser \u{1b}[2J\u{1b}]0;evil\u{7} first."}),
        json!({"type": "turn", "usage": {"input": 12000, "output": 345}}),
        json!({"type": "tool_call", "id": "1", "tool": "Bash", "kind": "execute", "input": {"command": "cargo test\n\u{9b}31m"}}),
        json!({"type": "tool_result", "id": "1", "status": "failed", "exitCode": 101, "output": "red\rover\u{8}\u{8}"}),
    ];
    for (i, item) in items.into_iter().enumerate() {
        let mut record = json!({"v": 1, "at": at + Duration::from_secs(i as u64)});
        record.as_object_mut().unwrap().extend(item.as_object().unwrap().clone());
        live.take(serde_json::from_value::<TranscriptRecord>(record).unwrap());
    }
    live
}

/// The night as it stands after so many entries of its journal, a minute later.
fn scene(night: &Night, entries: usize, life: Life) -> (Scene, Times) {
    let log = night.log(entries);
    let last = log.entries.last().map_or(Timestamp::UNIX_EPOCH, |entry| entry.at);
    let lessons = night.lessons.iter().map(|lesson| (lesson.id.clone(), lesson.clone())).collect();
    let told = Told::of(&log, life).with_lessons(lessons);
    let live: HashMap<SessionId, Live> =
        watch::working_sessions(&told).map(|session| (session.clone(), live(last))).collect();
    let times = Times { zone: TimeZone::get("Europe/Berlin").unwrap(), now: last + Duration::from_secs(60) };
    (Scene::of(told, &log.entries, &live, Vec::new()), times)
}

fn screen(night: &Night, entries: usize, life: Life) -> Screen {
    let (scene, times) = scene(night, entries, life);
    Screen::new(scene, times, Ink::Colours)
}

fn drawn(screen: &mut Screen, columns: u16, rows: u16) -> Terminal<TestBackend> {
    let mut terminal = Terminal::new(TestBackend::new(columns, rows)).unwrap();
    terminal.draw(|frame| screen.draw(frame)).unwrap();
    terminal
}

fn press(screen: &mut Screen, keys: &[KeyCode]) {
    for key in keys {
        assert_eq!(screen.press((*key).into()), After::Stay, "{key:?}");
        drawn(screen, 80, 24);
    }
}

/// The number of entries until this one is the last.
fn until(night: &Night, is: impl Fn(&JournalEntry) -> bool) -> usize {
    1 + night.entries.iter().position(|entry| is(&entry.entry)).unwrap()
}

#[test]
fn a_night_that_goes_on_waits_or_is_over() {
    let night = Night::new(40, 4);
    let running = night.entries.len() / 2;
    let waiting = until(&night, |entry| matches!(entry, JournalEntry::WaitStarted { .. }));
    for (name, entries, life) in [
        ("running", running, Life::Alive),
        ("waiting", waiting, Life::Alive),
        ("dead", running, Life::Gone),
        ("ended", night.entries.len(), Life::Gone),
    ] {
        for (columns, rows) in [(80, 24), (40, 20)] {
            let terminal = drawn(&mut screen(&night, entries, life), columns, rows);
            insta::assert_snapshot!(format!("{name}_{columns}x{rows}"), terminal.backend());
        }
    }
}

#[test]
fn keys_choose_open_and_leave() {
    let night = Night::new(40, 4);
    let mut screen = screen(&night, night.entries.len() / 2, Life::Alive);
    // The task at work is chosen; three up is one with a past.
    press(&mut screen, &[KeyCode::Char('k'), KeyCode::Up, KeyCode::Up, KeyCode::Enter]);
    let session = screen.session().cloned();
    assert!(session.is_some());
    screen.show_steps(live("2026-11-21T22:00:00Z".parse().unwrap()));
    insta::assert_snapshot!("opened_80x24", drawn(&mut screen, 80, 24).backend());
    press(&mut screen, &[KeyCode::End]);
    insta::assert_snapshot!("opened_end_40x20", drawn(&mut screen, 40, 20).backend());
    press(&mut screen, &[KeyCode::Esc, KeyCode::Char('?')]);
    insta::assert_snapshot!("help_80x24", drawn(&mut screen, 80, 24).backend());
    // Any key closes the help; then each list has its turn.
    press(&mut screen, &[KeyCode::Char('x'), KeyCode::Tab, KeyCode::Tab]);
    insta::assert_snapshot!("needs_80x24", drawn(&mut screen, 80, 24).backend());
    press(&mut screen, &[KeyCode::Enter]);
    assert!(screen.session().is_some(), "a need leads to its task");
    press(&mut screen, &[KeyCode::Backspace, KeyCode::Tab, KeyCode::Enter, KeyCode::Left, KeyCode::Tab]);
    for key in [KeyCode::Esc, KeyCode::Char('q')] {
        assert_eq!(screen.press(key.into()), After::Leave, "{key:?}");
    }
    let interrupt = crossterm::event::KeyEvent::new(KeyCode::Char('c'), crossterm::event::KeyModifiers::CONTROL);
    assert_eq!(screen.press(interrupt), After::Leave);
}

/// Every view at every size, without a panic, without a control character in any cell, and without colours where none are
/// wanted.
#[test]
fn whatever_agents_write_and_however_small_it_is() {
    const WORST: &str = "\u{1b}[2J\u{1b}]0;evil\u{7}\u{202e}日本語 👩‍👩‍👧 a\u{301}\u{301} \t\r\nx\u{0}\u{9b}5m <script>";
    let night = Night::titled(20, 3, Some(WORST));
    let half = night.entries.len() / 2;
    let mut sizes: Vec<(u16, u16)> =
        (0..=42).flat_map(|columns| [0, 1, 2, 3, 5, 8, 20].map(|rows| (columns, rows))).collect();
    sizes.extend([(80, 24), (300, 100), (1, 200), (500, 2)]);
    for entries in [0, 1, 2, half, night.entries.len()] {
        let (scene, times) = scene(&night, entries, Life::Alive);
        let text = watch::text(&scene, &times);
        assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "{text:?}");
        let mut screen = Screen::new(scene, times, Ink::Plain);
        for keys in
            [&[][..], &[KeyCode::Tab], &[KeyCode::Enter, KeyCode::PageDown], &[KeyCode::Left, KeyCode::Char('?')]]
        {
            press(&mut screen, keys);
            if let Some(session) = screen.session().cloned() {
                assert!(session.as_str().starts_with("session-"));
                screen.show_steps(live(Timestamp::UNIX_EPOCH));
            }
            for (columns, rows) in &sizes {
                let terminal = drawn(&mut screen, *columns, *rows);
                for cell in &terminal.backend().buffer().content {
                    assert!(!cell.symbol().chars().any(char::is_control), "{:?}", cell.symbol());
                    assert_eq!((cell.fg, cell.bg), (Color::Reset, Color::Reset));
                }
            }
        }
    }
}

/// A terminal with a program on it.
struct OnTerminal {
    child: Child,
    keys: File,
    output: Receiver<Vec<u8>>,
    shows: vt100::Parser,
    patience: Instant,
}

impl OnTerminal {
    fn start(project: &Project, args: &[&str]) -> Self {
        let master = rustix::pty::openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        rustix::pty::grantpt(&master).unwrap();
        rustix::pty::unlockpt(&master).unwrap();
        tcsetwinsize(&master, Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
        let name = rustix::pty::ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
        // Where the tests lead a session, it would become theirs, and end them when it is closed.
        let no_terminal_of_ours = OFlags::NOCTTY.bits().cast_signed();
        let terminal = File::options().read(true).write(true).custom_flags(no_terminal_of_ours).open(name).unwrap();
        let child = project
            .command(args)
            .env("TERM", "xterm-256color")
            .env_remove("NO_COLOR")
            .stdin(terminal.try_clone().unwrap())
            .stdout(terminal.try_clone().unwrap())
            .stderr(terminal)
            .spawn()
            .unwrap();
        let [rows, columns] = [24, 80].map(|size| NonZero::new(size).unwrap());
        let mut reading = File::from(master);
        let keys = reading.try_clone().unwrap();
        let (send, output) = mpsc::channel();
        // Ends when nobody has the terminal open any more.
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(n @ 1..) = reading.read(&mut bytes) {
                if send.send(bytes[..n].to_vec()).is_err() {
                    return;
                }
            }
        });
        Self { child, keys, output, shows: vt100::Parser::new(rows, columns, 0), patience: Instant::now() + PATIENCE }
    }

    /// Takes what comes next; says whether the program is still there.
    fn goes_on(&mut self) -> bool {
        let left = self.patience.saturating_duration_since(Instant::now());
        match self.output.recv_timeout(left) {
            Ok(bytes) => {
                assert!(!bytes.windows(2).any(|pair| pair == b"\x1b]"), "nobody sets the window's title");
                self.shows.process(&bytes);
                true
            }
            Err(mpsc::RecvTimeoutError::Disconnected) => false,
            Err(mpsc::RecvTimeoutError::Timeout) => {
                // A test that fails leaves nothing running.
                let _ = self.child.kill();
                panic!("it took too long; the terminal shows\n{}", self.shows.screen().contents());
            }
        }
    }

    /// Waits until the terminal shows these words.
    fn sees(&mut self, words: &str) {
        while !self.shows.screen().contents().contains(words) {
            assert!(self.goes_on(), "no `{words}` on\n{}", self.shows.screen().contents());
        }
    }

    fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
    }

    /// Waits for the end; gives the exit code after looking at what the terminal was left like.
    fn ends(mut self) -> Option<i32> {
        assert!(self.shows.screen().alternate_screen() && self.shows.screen().hide_cursor());
        while self.goes_on() {}
        let left = self.shows.screen();
        assert!(!left.alternate_screen(), "the other screen is left");
        assert!(!left.hide_cursor(), "the cursor is shown");
        let modes = tcgetattr(&self.keys).unwrap().local_modes;
        assert!(modes.contains(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG), "{modes:?}");
        self.child.wait().unwrap().code()
    }
}

/// An agent that works until the test lets it go on.
const HELD: &str = "echo begun > $OUT/begun; while [ ! -e $OUT/go ]; do sleep 0.05; done; echo right > answer.txt";

#[test]
fn a_real_night_is_watched_from_another_terminal() {
    let project = Project::new(HELD);
    project.tasks(&[json!({
        "id": "a", "title": "Mend \u{1b}]0;evil\u{7}the answer",
        "checks": [{"name": "answer", "run": "grep -qx right answer.txt"}]
    })]);
    let night = project.start(&["overnight"]);
    project.await_told("begun");
    let mut watch = OnTerminal::start(&project, &["watch"]);
    for words in ["running since", "At work", "Mend the answer", "attempt 1, sh"] {
        watch.sees(words);
    }
    watch.press("q");
    assert_eq!(watch.ends(), Some(0));
    // Ended by a signal, while a task is open; the night goes on.
    let mut watch = OnTerminal::start(&project, &["watch"]);
    watch.sees("At work");
    watch.press("\r");
    watch.sees("Attempt 1 by sh");
    kill_process(Pid::from_child(&watch.child), Signal::TERM).unwrap();
    assert_eq!(watch.ends(), Some(130));
    let now: Value = serde_json::from_str(&project.run(&["watch", "--json"]).exits(0).stdout).unwrap();
    assert_eq!((&now["state"], &now["workers"][0]["task"]), (&json!("running"), &json!("a")));
    // The end is seen, and stays on the screen until somebody leaves.
    let mut watch = OnTerminal::start(&project, &["watch"]);
    watch.sees("running since");
    project.write("../out/go", "");
    watch.sees("over, today");
    night.end().exits(0);
    watch.press("\u{3}");
    assert_eq!(watch.ends(), Some(0));
    // In a pipe, and after the fact.
    let lines = project.run(&["watch"]).exits(0).stdout.clone();
    assert!(lines.contains("[a] attempt 1: confirmed") && lines.ends_with("Nothing needs you.\n"), "{lines}");
    let once = project.run(&["watch", "--once"]).exits(0).stdout.clone();
    assert!(once.contains("✓ a merged  Mend the answer"), "{once}");
    assert!(!(lines + &once).contains('\u{1b}'));
}

#[test]
fn a_pipe_gets_a_line_for_each_thing_that_happens() {
    let project = Project::new(HELD);
    let night = project.start(&["overnight"]);
    project.await_told("begun");
    let mut watch = project.command(&["watch"]).stdout(std::process::Stdio::piped()).spawn().unwrap();
    let mut first = [0; 4];
    watch.stdout.as_mut().unwrap().read_exact(&mut first).unwrap();
    // It has begun to watch; what comes now it sees happen.
    project.write("../out/go", "");
    let output = watch.wait_with_output().unwrap();
    night.end().exits(0);
    let text = String::from_utf8(output.stdout).unwrap();
    for part in [": running since", "[a] attempt 1: sh works", "[a] attempt 1: confirmed", "[a] merged as", ": over,"] {
        assert_eq!(text.matches(part).count(), 1, "{part}: {text}");
    }
    assert!(output.status.success());
}

#[test]
fn a_run_that_is_not_there_is_wrong_usage() {
    let project = Project::new("true");
    let said = project.run(&["watch"]).exits(2).stderr.clone();
    assert!(said.contains("there is no run yet"), "{said}");
    project.write(&format!(".reflection/runs/{}/journal.jsonl", made_up_night::run()), Night::new(3, 1).journal());
    let said = project.run(&["watch", "2027"]).exits(2).stderr.clone();
    assert!(said.contains("there is no run `2027`"), "{said}");
    project.run(&["watch", "2026", "--once"]).exits(0);
}
