//! What keys do.

use super::screen::{List, Opened, Screen};
use crate::report::night::watch::Live;
use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

/// So many rows for `PageUp` and `PageDown` in a list.
const PAGE: usize = 10;

/// What a key leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum After {
    /// The screen is drawn again.
    Stay,
    /// The program ends.
    Leave,
}

/// Where to.
#[derive(Clone, Copy)]
enum Move {
    By(isize),
    First,
    Last,
}

impl Screen {
    /// A key was pressed.
    pub fn press(&mut self, key: KeyEvent) -> After {
        if key.kind == KeyEventKind::Release {
            return After::Stay;
        }
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('c') if control => return After::Leave,
            KeyCode::Char('q') => return After::Leave,
            KeyCode::Esc if !self.help && self.opened.is_none() => return After::Leave,
            _ if self.help => self.help = false,
            KeyCode::Char('?') => self.help = true,
            KeyCode::Esc | KeyCode::Left | KeyCode::Backspace | KeyCode::Char('h') => self.opened = None,
            KeyCode::Enter | KeyCode::Right | KeyCode::Char('l') => self.open(),
            KeyCode::Tab => self.turn(1),
            KeyCode::BackTab => self.turn(List::ALL.len() - 1),
            code => {
                if let Some(step) = self.step(code) {
                    self.go(step);
                }
            }
        }
        After::Stay
    }

    fn step(&self, code: KeyCode) -> Option<Move> {
        let page = self.opened.as_ref().map_or(PAGE, |opened| opened.page).cast_signed();
        Some(match code {
            KeyCode::Up | KeyCode::Char('k') => Move::By(-1),
            KeyCode::Down | KeyCode::Char('j') => Move::By(1),
            KeyCode::PageUp => Move::By(-page),
            KeyCode::PageDown | KeyCode::Char(' ') => Move::By(page),
            KeyCode::Home | KeyCode::Char('g') => Move::First,
            KeyCode::End | KeyCode::Char('G') => Move::Last,
            _ => return None,
        })
    }

    fn go(&mut self, step: Move) {
        if let Some(opened) = &mut self.opened {
            let now = opened.scroll.unwrap_or(opened.furthest);
            let then = match step {
                Move::By(lines) => now.saturating_add_signed(lines),
                Move::First => 0,
                Move::Last => opened.furthest,
            };
            opened.scroll = (then < opened.furthest).then_some(then);
            return;
        }
        let last = self.length(self.list).saturating_sub(1);
        let then = match step {
            Move::By(rows) => self.chosen(self.list).saturating_add_signed(rows).min(last),
            Move::First => 0,
            Move::Last => last,
        };
        self.chosen[self.list as usize] = Some(then);
    }

    /// The next list, past those with nothing in them.
    fn turn(&mut self, by: usize) {
        if self.opened.is_some() {
            return;
        }
        let lists = (1..=List::ALL.len()).map(|n| List::ALL[(self.list as usize + n * by) % List::ALL.len()]);
        self.list = lists.into_iter().find(|list| self.length(*list) > 0).unwrap_or(self.list);
    }

    fn open(&mut self) {
        if self.opened.is_some() {
            return;
        }
        let Some(task) = self.chosen_task().map(|place| self.scene.night.tasks[place].id.clone()) else { return };
        self.opened = Some(Opened { task, scroll: Some(0), live: Live::default(), furthest: 0, page: PAGE });
    }
}
