//! Sinks of events: the log, lines of JSON, and several at once.

use crate::domain::{About, Event, EventKind, JournalEntry};
use crate::prompt::printable_json;
use crate::redaction::Redactor;
use crate::report::line;
use crate::services::EventSink;
use std::io;
use std::io::Write;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::Duration;

/// Writes every event to the log: warnings as warnings, the rest as information.
#[derive(Debug, Clone, Copy, Default)]
pub struct TracedEvents;

impl EventSink for TracedEvents {
    fn publish(&self, event: Event) {
        match (&event.kind, line(&event)) {
            (
                EventKind::Warning { .. }
                | EventKind::Tampered { .. }
                | EventKind::Recorded(JournalEntry::RepositoryChanged { .. }),
                Some(line),
            ) => tracing::warn!("{line}"),
            (_, Some(line)) => tracing::info!("{line}"),
            (_, None) => {}
        }
    }
}

/// Any number of sinks in the place of one: each gets every event, in their order.
///
/// ```
/// # use reflexion::domain::Event;
/// # use reflexion::layer::Svc;
/// # use reflexion::runtime;
/// # use reflexion::runtime::EventSinks;
/// # use reflexion::services::EventSink;
/// # use std::sync::Arc;
/// struct Mine;
///
/// impl EventSink for Mine {
///     fn publish(&self, event: Event) {
///         println!("{}", serde_json::to_string(&event).unwrap_or_default());
///     }
/// }
///
/// // Beside the log, which is there already.
/// let layers = runtime::live().wrap::<dyn EventSink>(|log| {
///     Svc::new(EventSinks::new([log.into_arc(), Arc::new(Mine)]))
/// });
/// ```
pub struct EventSinks(Vec<Arc<dyn EventSink>>);

impl EventSinks {
    /// Puts them together.
    pub fn new(sinks: impl IntoIterator<Item = Arc<dyn EventSink>>) -> Self {
        Self(sinks.into_iter().collect())
    }
}

impl EventSink for EventSinks {
    fn publish(&self, event: Event) {
        for sink in &self.0 {
            sink.publish(event.clone());
        }
    }
}

/// With so many lines waiting for a slow reader, what nobody writes down is left out; entries of the journal never are.
const WAITING: usize = 10_000;

/// Writes each event as one line of JSON, without secrets, in their order and on a thread of its own: a reader that is slow, or gone, holds
/// no run up.
pub struct EventLines {
    lines: Mutex<Option<Sender<Event>>>,
    waiting: Arc<AtomicUsize>,
    left_out: Arc<AtomicUsize>,
    ended: Mutex<Receiver<io::Result<()>>>,
}

impl EventLines {
    /// Writes to `to`, one write for a line.
    ///
    /// # Errors
    /// If the system gives no thread.
    pub fn new(to: impl Write + Send + 'static) -> io::Result<Self> {
        let (sender, lines) = mpsc::channel();
        let (end, ended) = mpsc::channel();
        let (waiting, left_out) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let writer = Writer { to, waiting: Arc::clone(&waiting), left_out: Arc::clone(&left_out) };
        std::thread::Builder::new().name("events".to_owned()).spawn(move || end.send(writer.write(&lines)))?;
        Ok(Self { lines: Mutex::new(Some(sender)), waiting, left_out, ended: Mutex::new(ended) })
    }

    /// Takes no more events, and waits until the others are written, but not longer than `bound`.
    ///
    /// # Errors
    /// Why not all of them were.
    pub fn finish(&self, bound: Duration) -> io::Result<()> {
        drop(self.lines.lock().unwrap_or_else(PoisonError::into_inner).take());
        let ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        let slow = || io::Error::new(io::ErrorKind::TimedOut, format!("nobody took the last of them for {bound:?}"));
        ended.recv_timeout(bound).map_err(|_| slow())?
    }
}

impl EventSink for EventLines {
    fn publish(&self, event: Event) {
        let is_entry = event.entry().is_some();
        if !is_entry && self.waiting.load(Ordering::Relaxed) >= WAITING {
            self.left_out.fetch_add(1, Ordering::Relaxed);
            return;
        }
        if let Some(lines) = self.lines.lock().unwrap_or_else(PoisonError::into_inner).as_ref() {
            self.waiting.fetch_add(1, Ordering::Relaxed);
            // Where nobody writes any more, `finish` says why.
            let _ = lines.send(event);
        }
    }
}

struct Writer<W> {
    to: W,
    waiting: Arc<AtomicUsize>,
    left_out: Arc<AtomicUsize>,
}

impl<W: Write> Writer<W> {
    fn write(mut self, lines: &Receiver<Event>) -> io::Result<()> {
        while let Ok(event) = lines.recv() {
            self.waiting.fetch_sub(1, Ordering::Relaxed);
            let left_out = self.left_out.swap(0, Ordering::Relaxed);
            if left_out > 0 {
                let message = format!("{left_out} events are not here, because they were read too slowly");
                let (at, about) = (event.at, About::run(&event.about.run));
                self.line(&Event { at, about, kind: EventKind::Warning { message } })?;
            }
            self.line(&event)?;
        }
        self.to.flush()
    }

    fn line(&mut self, event: &Event) -> io::Result<()> {
        let line = serde_json::to_vec(event)?;
        let line = Redactor::of_process().redact_json(&line);
        // It may be a terminal that gets them.
        let mut line = printable_json(&String::from_utf8_lossy(&line)).into_owned();
        line.push('\n');
        self.to.write_all(line.as_bytes())?;
        self.to.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{LessonsOver, RunId, Timestamp};

    /// Takes nothing before it is let go, and keeps what it takes.
    struct Slow(Receiver<()>, Arc<Mutex<Vec<u8>>>);

    impl Write for Slow {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            // Let go for good once the other end is gone.
            let _ = self.0.recv();
            self.1.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn event(kind: EventKind) -> Event {
        Event { at: Timestamp::UNIX_EPOCH, about: About::run(&RunId::new("r").unwrap()), kind }
    }

    #[test]
    fn a_slow_reader_holds_nothing_up_and_misses_no_entry() {
        let (go, wait) = mpsc::channel();
        let written = Arc::new(Mutex::new(Vec::new()));
        let lines = EventLines::new(Slow(wait, Arc::clone(&written))).unwrap();
        for _ in 0..2 * WAITING {
            lines.publish(event(EventKind::Doing { what: "this".to_owned() }));
        }
        let entry = JournalEntry::RunEnded {
            interrupted: false,
            stopped: None,
            ahead: Vec::new(),
            conflicts: Vec::new(),
            lessons: LessonsOver::default(),
        };
        lines.publish(event(EventKind::Recorded(entry)));
        assert!(lines.finish(Duration::from_millis(1)).is_err(), "it is still reading");
        drop(go);
        lines.finish(Duration::from_secs(60)).unwrap();
        let written = String::from_utf8(written.lock().unwrap().clone()).unwrap();
        let events: Vec<Event> = written.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert!(events.len() <= WAITING + 3, "{}", events.len());
        let left_out = |event: &Event| matches!(&event.kind, EventKind::Warning { message } if message.contains("events are not here"));
        assert!(events.iter().any(left_out));
        assert_eq!(events.iter().filter(|event| event.entry().is_some()).count(), 1);
    }

    #[test]
    fn what_cannot_be_written_is_said_at_the_end() {
        struct Full;
        impl Write for Full {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::Error::from(io::ErrorKind::StorageFull))
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let lines = EventLines::new(Full).unwrap();
        lines.publish(event(EventKind::Doing { what: "this".to_owned() }));
        let error = lines.finish(Duration::from_secs(60)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        lines.publish(event(EventKind::Doing { what: "that".to_owned() }));
    }
}
