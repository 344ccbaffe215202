//! How things look: the terminal's own sixteen colours on its own background, and never a colour alone.

use crate::report::night::TaskState;
use ratatui::style::{Color, Modifier, Style};

/// With or without colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ink {
    /// The sixteen colours of the terminal, which fit its background.
    Colours,
    /// Bold, faint and reversed only.
    Plain,
}

/// What a piece of text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tone {
    Words,
    Strong,
    Quiet,
    Good,
    Bad,
    Needs,
    Busy,
    Chosen,
}

impl Ink {
    /// No colours where `NO_COLOR` is set to anything, see <https://no-color.org>.
    pub(super) fn of_environment() -> Self {
        if std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty()) { Self::Plain } else { Self::Colours }
    }

    pub(super) fn style(self, tone: Tone) -> Style {
        let coloured = |colour: Color| match self {
            Self::Colours => Style::new().fg(colour).add_modifier(Modifier::BOLD),
            Self::Plain => Style::new().add_modifier(Modifier::BOLD),
        };
        match tone {
            Tone::Words => Style::new(),
            Tone::Strong => Style::new().add_modifier(Modifier::BOLD),
            Tone::Quiet => Style::new().add_modifier(Modifier::DIM),
            Tone::Good => coloured(Color::Green),
            Tone::Bad => coloured(Color::Red),
            // Yellow cannot be read on white.
            Tone::Needs => coloured(Color::Magenta),
            Tone::Busy => coloured(Color::Cyan),
            Tone::Chosen => Style::new().add_modifier(Modifier::REVERSED),
        }
    }
}

impl Tone {
    pub(super) fn of(state: TaskState) -> Self {
        match state {
            TaskState::Merged | TaskState::Confirmed | TaskState::Unchanged => Self::Good,
            TaskState::Failed => Self::Bad,
            TaskState::Blocked => Self::Needs,
            TaskState::Working => Self::Busy,
            TaskState::Open | TaskState::Closed => Self::Quiet,
        }
    }
}
