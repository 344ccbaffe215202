//! What a watcher looks at: the scene, the list that the keys go to, and what is chosen and opened.

use super::ink::Ink;
use crate::domain::{SessionId, TaskId};
use crate::report::night::watch::{Live, Scene};
use crate::report::night::{TaskState, Times};

/// The whole screen, without the terminal it is on.
pub struct Screen {
    pub(super) scene: Scene,
    pub(super) times: Times,
    pub(super) ink: Ink,
    pub(super) list: List,
    /// What is chosen in each list; none as long as nobody chose, then it follows the run.
    pub(super) chosen: [Option<usize>; 4],
    pub(super) opened: Option<Opened>,
    pub(super) help: bool,
}

/// The lists that the keys go to, in the order of Tab.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum List {
    Tasks,
    Newest,
    Needs,
    Workers,
}

impl List {
    pub(super) const ALL: [Self; 4] = [Self::Tasks, Self::Newest, Self::Needs, Self::Workers];
}

/// A task that is looked at closely.
pub(super) struct Opened {
    pub task: TaskId,
    /// Lines above the first one that is shown; none while the end is followed.
    pub scroll: Option<usize>,
    /// What its newest agent run did.
    pub live: Live,
    /// How far it can be scrolled, and by how much at a time, as it was drawn last.
    pub furthest: usize,
    pub page: usize,
}

impl Screen {
    /// A screen with the list of tasks in front.
    #[must_use]
    pub fn new(scene: Scene, times: Times, ink: Ink) -> Self {
        Self { scene, times, ink, list: List::Tasks, chosen: [None; 4], opened: None, help: false }
    }

    /// Time has passed, and perhaps there is something new to see.
    pub fn update(&mut self, scene: Option<Scene>, times: Times) {
        if let Some(scene) = scene {
            self.scene = scene;
        }
        self.times = times;
    }

    /// The agent run whose steps the opened task shows, if one is opened: its newest.
    #[must_use]
    pub fn session(&self) -> Option<&SessionId> {
        let night = &self.scene.night;
        let last = night.tasks[self.opened_place()?].attempts.last()?;
        Some(&night.attempts[*last].session)
    }

    /// The steps of [`Screen::session`].
    pub fn show_steps(&mut self, live: Live) {
        if let Some(opened) = &mut self.opened {
            opened.live = live;
        }
    }

    pub(super) fn opened_place(&self) -> Option<usize> {
        let opened = self.opened.as_ref()?;
        self.scene.night.tasks.iter().position(|task| task.id == opened.task)
    }

    pub(super) fn length(&self, list: List) -> usize {
        match list {
            List::Tasks => self.scene.night.tasks.len(),
            List::Newest => self.scene.recent.len(),
            List::Needs => self.scene.night.needs.len(),
            List::Workers => self.scene.workers.len(),
        }
    }

    /// The chosen place of a list: what somebody chose, else the first task at work, the newest line, the first of the others.
    pub(super) fn chosen(&self, list: List) -> usize {
        let last = self.length(list).saturating_sub(1);
        let follows = || match list {
            List::Tasks => {
                let first = |state: TaskState| self.scene.night.tasks.iter().position(|task| task.state == state);
                first(TaskState::Working).or_else(|| first(TaskState::Open)).unwrap_or(0)
            }
            List::Newest => last,
            List::Needs | List::Workers => 0,
        };
        self.chosen[list as usize].unwrap_or_else(follows).min(last)
    }

    /// The task of what is chosen, as a place in the night's tasks.
    pub(super) fn chosen_task(&self) -> Option<usize> {
        let place = self.chosen(self.list);
        let night = &self.scene.night;
        match self.list {
            List::Tasks => (place < night.tasks.len()).then_some(place),
            List::Newest => {
                let task = self.scene.recent.get(place)?.task.as_ref()?;
                night.tasks.iter().position(|known| known.id == *task)
            }
            List::Needs => night.needs.get(place)?.tasks.first().copied(),
            List::Workers => Some(self.scene.workers.get(place)?.place),
        }
    }
}
