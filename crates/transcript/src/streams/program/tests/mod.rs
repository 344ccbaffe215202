//! Streams played into the adapter: recorded ones, our own, and bad ones.

mod bad;
mod own;
mod recorded;

use super::conclusion::Conclusion;
use super::description::describe;
use super::fold::{Fold, FoldParams};
use super::lines::Lines;
use crate::domain::{Timestamp, TranscriptItem, Usage};
use crate::services::{AgentWatch, Clock, CommandEnd, Flow};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What came of a played stream.
struct Played {
    conclusion: Conclusion,
    fold: Fold,
    steps: Vec<(TranscriptItem, Option<String>)>,
    /// What the last line asked the runner for.
    flow: Flow,
}

/// How a stream is played.
#[derive(Default, Clone, Copy)]
struct Play {
    max_turns: Option<u32>,
    max_cost_usd: Option<f64>,
    earlier: Usage,
}

impl Play {
    fn of(self, agent: &str, stream: &[u8], end: CommandEnd, stderr: &str) -> Played {
        let watch = Arc::new(Steps::default());
        let description = describe(agent).expect("it is described");
        let mut fold = Fold::new(FoldParams {
            description,
            watch: Arc::<Steps>::clone(&watch),
            clock: Arc::new(Standing),
            model: None,
            max_turns: self.max_turns,
            max_cost_usd: self.max_cost_usd,
            earlier: self.earlier,
        });
        let mut lines = Lines::default();
        let mut flow = Flow::Continue;
        for piece in stream.chunks(32 * 1024) {
            lines.feed(piece, |line| flow = fold.line(line));
        }
        lines.finish(|line| flow = fold.line(line));
        let conclusion = fold.conclude(end, stderr);
        let steps = watch.0.lock().unwrap().clone();
        Played { conclusion, fold, steps, flow }
    }
}

fn play(agent: &str, stream: &str, end: CommandEnd) -> Played {
    Play::default().of(agent, stream.as_bytes(), end, "")
}

impl Played {
    /// The ending's word, with the seconds until a limit resets.
    fn ending(&self) -> String {
        use crate::domain::Ending;
        match &self.conclusion {
            Conclusion::Ended { ending: Ending::RateLimited { resets_at: Some(at) }, .. } => {
                format!("rate_limited in {} s", at.as_second() - Standing.now().as_second())
            }
            Conclusion::Ended { ending, .. } => ending.as_str().to_owned(),
            Conclusion::NoConversation => "no such conversation".to_owned(),
            Conclusion::NotStarted(_) => "not started".to_owned(),
        }
    }
}

#[derive(Default)]
struct Steps(Mutex<Vec<(TranscriptItem, Option<String>)>>);

impl AgentWatch for Steps {
    fn step(&self, item: TranscriptItem, parent: Option<String>) {
        self.0.lock().unwrap().push((item, parent));
    }
}

/// It is 2026-01-01T00:00:00Z.
struct Standing;

#[async_trait::async_trait]
impl Clock for Standing {
    fn now(&self) -> Timestamp {
        Timestamp::from_second(1_767_225_600).unwrap()
    }

    fn elapsed(&self) -> Duration {
        Duration::ZERO
    }

    async fn sleep(&self, _: Duration) {}

    fn new_id(&self) -> String {
        "1".to_owned()
    }
}

#[test]
fn every_description_can_be_read() {
    for agent in super::AGENTS {
        let description = describe(agent).expect("it is described");
        assert!(!description.version.tried.is_empty(), "{agent}");
        for words in &description.errors.words {
            words.say.regex();
        }
        assert!(description.checked.parse::<jiff::civil::Date>().is_ok(), "{agent}");
    }
}
