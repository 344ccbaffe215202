//! The places of a run that are worked in: for each worker one for agents and a clean room for checks, for one task after another.

use super::shared::Shared;
use super::slot::Slot;
use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

/// What a place is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Role {
    /// An agent works there.
    Work,
    /// Checks run there, and nothing else.
    Room,
}

impl Role {
    /// For people.
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Work => "workspace",
            Self::Room => "clean room",
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Work => "slot",
            Self::Room => "room",
        }
    }
}

/// A place among those that are open at the same time.
pub(super) struct Number {
    shared: Arc<Shared>,
    role: Role,
    place: usize,
}

impl Number {
    /// The lowest free one, so that a later place finds warm build caches.
    pub(super) fn take(shared: &Arc<Shared>, role: Role) -> Self {
        let mut taken = shared.slots.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let number = (1..).find(|n| !taken.contains(&(role, *n))).unwrap_or_default();
        taken.insert((role, number));
        Self { shared: Arc::clone(shared), role, place: number }
    }

    pub(super) fn role(&self) -> Role {
        self.role
    }

    /// `slot-1`, `room-1`, and `slot-1.2` where the first one was thrown away: no name is used twice, because somebody may
    /// still know the old path.
    pub(super) fn name(&self) -> String {
        let mut made = self.shared.slots.made.lock().unwrap_or_else(PoisonError::into_inner);
        let times = made.entry((self.role, self.place)).or_default();
        *times += 1;
        let name = format!("{}-{}", self.role.word(), self.place);
        let name = if *times == 1 { name } else { format!("{name}.{times}") };
        self.shared.slots.standing.lock().unwrap_or_else(PoisonError::into_inner).insert(name.clone());
        name
    }

    /// The place of this name was removed.
    pub(super) fn is_gone(&self, name: &str) {
        self.shared.slots.standing.lock().unwrap_or_else(PoisonError::into_inner).remove(name);
    }
}

impl Drop for Number {
    fn drop(&mut self) {
        let mut taken = self.shared.slots.taken.lock().unwrap_or_else(PoisonError::into_inner);
        taken.remove(&(self.role, self.place));
    }
}

/// The slots of a run. There are never more of a role than workspaces were open at the same time.
#[derive(Default)]
pub(super) struct Slots {
    taken: Mutex<BTreeSet<(Role, usize)>>,
    made: Mutex<HashMap<(Role, usize), usize>>,
    /// The names of all places that are there.
    standing: Mutex<BTreeSet<String>>,
    free: Mutex<Vec<(Role, Slot)>>,
    /// One room at a time is at the kept build caches.
    pub(super) kept_cache: Arc<Mutex<()>>,
}

impl Slots {
    /// The one that was given back last: what is in it is warmest.
    pub(super) fn take(&self, role: Role) -> Option<Slot> {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let last = free.iter().rposition(|(of, _)| *of == role)?;
        Some(free.remove(last).1)
    }

    /// Any of them.
    pub(super) fn take_any(&self) -> Option<Slot> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner).pop().map(|(_, slot)| slot)
    }

    /// Whether no place but the one that was just taken is worked in.
    pub(super) fn is_alone(&self, role: Role) -> bool {
        let free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let free = free.iter().filter(|(of, _)| *of == role).count();
        let taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        taken.iter().filter(|(of, _)| *of == role).count() == free + 1
    }

    /// Whether a place has this name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.standing.lock().unwrap_or_else(PoisonError::into_inner).contains(name)
    }

    pub(super) fn give_back(&self, role: Role, slot: Slot) {
        self.free.lock().unwrap_or_else(PoisonError::into_inner).push((role, slot));
    }
}
