//! The terminal: taken for the screen, and given back as it was, however the program ends.

use super::command::{Source, now};
use super::ink::Ink;
use super::keys::After;
use super::screen::Screen;
use crate::cli::Exit;
use crate::domain::SessionId;
use crate::report::night::watch::Scene;
use anyhow::Context;
use crossterm::event::{Event, EventStream};
use crossterm::{cursor, execute, terminal};
use futures_util::StreamExt;
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use std::io::{Stdout, stdout};
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::MissedTickBehavior;

/// How often it looks whether there is something new; what did not change is not sent to the terminal.
const EVERY: Duration = Duration::from_millis(500);

/// Shows the run until somebody leaves or the program is told to end.
pub(super) async fn show(mut source: Source, scene: Scene, ink: Ink) -> anyhow::Result<Exit> {
    // Asked for before the terminal is taken: from then on a signal may come.
    let mut ends = [SignalKind::terminate(), SignalKind::hangup(), SignalKind::interrupt()]
        .map(|kind| signal(kind).context("failed to listen for signals"));
    let mut taken = Taken::take().context("failed to take the terminal")?;
    let mut keys = EventStream::new();
    let mut ticks = tokio::time::interval(EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut screen = Screen::new(scene, now(), ink);
    let mut shown: Option<SessionId> = None;
    loop {
        taken.terminal.draw(|frame| screen.draw(frame)).context("failed to draw")?;
        let [terminated, hung_up, interrupted] = &mut ends;
        tokio::select! {
            () = ended(terminated) => return Ok(Exit::Interrupted),
            () = ended(hung_up) => return Ok(Exit::Interrupted),
            () = ended(interrupted) => return Ok(Exit::Interrupted),
            key = keys.next() => match key {
                Some(Ok(Event::Key(key))) => {
                    if screen.press(key) == After::Leave {
                        return Ok(Exit::Confirmed);
                    }
                }
                // The next drawing asks for the size itself.
                Some(Ok(_)) => {}
                Some(Err(error)) => return Err(error).context("failed to read keys"),
                None => return Ok(Exit::Confirmed),
            },
            _ = ticks.tick() => {
                let scene = source.scene().await?;
                if scene.is_some() {
                    shown = None;
                }
                screen.update(scene, now());
            }
        }
        if let Some(session) = screen.session().filter(|session| shown.as_ref() != Some(session)).cloned() {
            screen.show_steps(source.watch.steps(&session));
            shown = Some(session);
        } else if screen.session().is_none() {
            shown = None;
        }
    }
}

/// Ends when the signal comes; never if it could not be asked for.
async fn ended(signal: &mut anyhow::Result<tokio::signal::unix::Signal>) {
    match signal {
        Ok(signal) => drop(signal.recv().await),
        Err(_) => std::future::pending().await,
    }
}

/// The terminal while it shows the screen.
struct Taken {
    terminal: Terminal<CrosstermBackend<Stdout>>,
}

impl Taken {
    fn take() -> std::io::Result<Self> {
        terminal::enable_raw_mode()?;
        // From here on it is given back, also if the next step fails.
        give_back_on_panic();
        let given_back = GiveBack;
        execute!(stdout(), terminal::EnterAlternateScreen, cursor::Hide)?;
        let terminal = Terminal::new(CrosstermBackend::new(stdout()))?;
        std::mem::forget(given_back);
        Ok(Self { terminal })
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        give_back();
    }
}

struct GiveBack;

impl Drop for GiveBack {
    fn drop(&mut self) {
        give_back();
    }
}

/// Nobody is left to tell if this fails; the terminal may be gone.
fn give_back() {
    let _ = execute!(stdout(), terminal::LeaveAlternateScreen, cursor::Show);
    let _ = terminal::disable_raw_mode();
}

/// What a panic says would be lost on the other screen, and its lines would have no beginning.
fn give_back_on_panic() {
    let said = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        give_back();
        said(panic);
    }));
}
