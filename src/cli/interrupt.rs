//! What Ctrl-C, a closed terminal and a polite kill mean.

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// Cancels on SIGINT, SIGTERM or SIGHUP, so that agents and checks are ended with all they started.
///
/// That takes a few seconds at most (TERM, grace, KILL), so a further signal only says so: ending at once would leave
/// them running.
pub(super) async fn cancel_on_signal(cancel: CancellationToken) {
    // Whoever waits for nothing is drained already.
    let drain = CancellationToken::new();
    drain.cancel();
    drain_then_cancel(drain, cancel).await;
}

/// As [`cancel_on_signal`], for what says itself whether it was still in time.
pub(super) async fn cancel_quietly(cancel: CancellationToken) {
    if let Some(mut signals) = Signals::listen() {
        signals.next().await;
        // Further ones have no effect: the handlers stay, and nothing ends the program in the middle of what it cannot give up.
        cancel.cancel();
    }
}

/// As [`cancel_on_signal`], but the first SIGINT (Ctrl-C) only drains: what is at work comes to its end, and nothing new
/// begins. The next one, SIGTERM and SIGHUP cancel.
pub(super) async fn drain_then_cancel(drain: CancellationToken, cancel: CancellationToken) {
    let Some(mut signals) = Signals::listen() else { return };
    let mut said = "interrupted: stopping agents and checks";
    loop {
        if signals.next().await == SignalKind::interrupt() && !drain.is_cancelled() {
            say("nothing new begins; what is at work comes to its end (Ctrl-C once more stops it now)");
            drain.cancel();
            continue;
        }
        say(said);
        cancel.cancel();
        said = "still stopping them, a few seconds at most";
    }
}

/// The signals by which people and systems end a program.
struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
    /// Not where the program was started with `nohup`.
    hangup_counts: bool,
}

impl Signals {
    fn listen() -> Option<Self> {
        // Asked before the handlers stand.
        let hangup_counts = !hangup_is_ignored();
        let signals = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()].map(signal);
        let [Ok(interrupt), Ok(terminate), Ok(hangup)] = signals else {
            tracing::warn!("signals cannot be listened for; an interruption will leave what was started running");
            return None;
        };
        Some(Self { interrupt, terminate, hangup, hangup_counts })
    }

    async fn next(&mut self) -> SignalKind {
        tokio::select! {
            _ = self.interrupt.recv() => SignalKind::interrupt(),
            _ = self.terminate.recv() => SignalKind::terminate(),
            _ = self.hangup.recv(), if self.hangup_counts => SignalKind::hangup(),
        }
    }
}

/// Whether the program was started with `nohup`, which must outlive its terminal. Where `/proc` is not there, nobody knows.
fn hangup_is_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    // The mask has a bit per signal, from 1 on; SIGHUP is 1.
    ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 1 == 1)
}

fn say(words: &str) {
    // Nobody may be left to read it.
    let _ = std::io::Write::write_all(&mut std::io::stderr(), format!("\n{words}\n").as_bytes());
}
