//! The timeline of a run in columns of equal time, for a screen that has characters only.

use super::super::value::{Night, NightState, SpanKind};
use super::scene::going_on;
use crate::domain::Timestamp;

/// What most of a column of a timeline was spent with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cell {
    /// What.
    pub kind: SpanKind,
    /// The task, as a place in the night's tasks.
    pub task: usize,
}

/// The timeline of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timeline {
    /// The beginning of the first column.
    pub from: Timestamp,
    /// The end of the last one.
    pub to: Timestamp,
    /// A row for each worker; nothing where it had no task.
    pub rows: Vec<Vec<Option<Cell>>>,
}

/// What the workers did, in so many columns of equal time; none if nothing is known of any time.
///
/// What goes on reaches until `now`. Linear in the number of spans.
#[must_use]
pub fn timeline(night: &Night, columns: usize, now: Timestamp) -> Option<Timeline> {
    let from = night.started_at.or_else(|| night.spans.iter().map(|span| span.start).min())?;
    let runs = night.state == NightState::Running;
    let to = night.last_sign_at.map_or(from, |last| if runs { last.max(now) } else { last });
    let ms = to.duration_since(from).as_millis().max(1) as f64;
    let column = |at: Timestamp| (at.duration_since(from).as_millis() as f64 / ms * columns as f64).max(0.0);
    let mut rows = vec![vec![(0.0, None); columns]; night.workers.len()];
    let open = night.spans.len() - going_on(night).count();
    for (i, span) in night.spans.iter().enumerate() {
        let Some(row) = rows.get_mut(span.worker) else { continue };
        let start = column(span.start);
        let end = if i >= open { columns as f64 } else { column(span.end).min(columns as f64) };
        for (place, (most, cell)) in row.iter_mut().enumerate().take(end.ceil() as usize).skip(start as usize) {
            let share = end.min(place as f64 + 1.0) - start.max(place as f64);
            if cell.is_none() || share > *most {
                (*most, *cell) = (share, Some(Cell { kind: span.kind, task: span.task }));
            }
        }
    }
    let cells = rows.into_iter().map(|row| row.into_iter().map(|(_, cell)| cell).collect()).collect();
    Some(Timeline { from, to, rows: cells })
}
