//! What Ctrl-C, a closed terminal and a polite kill mean.

use tokio::signal::unix::SignalKind;
use tokio::signal::unix::signal;
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

/// As [`cancel_on_signal`], but the first SIGINT (Ctrl-C) only drains: what is at work comes to its end, and nothing new
/// begins. The next one, SIGTERM and SIGHUP cancel.
pub(super) async fn drain_then_cancel(drain: CancellationToken, cancel: CancellationToken) {
    // Asked before the handlers stand.
    let listens_to_hangup = !hangup_is_ignored();
    let signals = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()].map(signal);
    let [Ok(mut interrupt), Ok(mut terminate), Ok(mut hangup)] = signals else {
        tracing::warn!("signals cannot be listened for; an interruption will leave agents running");
        return;
    };
    let mut said = "interrupted: stopping agents and checks";
    loop {
        let politely = tokio::select! {
            _ = interrupt.recv() => !drain.is_cancelled(),
            _ = terminate.recv() => false,
            _ = hangup.recv() => {
                if !listens_to_hangup {
                    continue;
                }
                false
            }
        };
        if politely {
            say("nothing new begins; what is at work comes to its end (Ctrl-C once more stops it now)");
            drain.cancel();
            continue;
        }
        say(said);
        cancel.cancel();
        said = "still stopping them, a few seconds at most";
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
