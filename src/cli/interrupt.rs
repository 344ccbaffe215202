//! What Ctrl-C, a closed terminal and a polite kill mean.

use tokio::signal::unix::SignalKind;
use tokio::signal::unix::signal;
use tokio_util::sync::CancellationToken;

/// Cancels on SIGINT, SIGTERM or SIGHUP, so that agents and checks are ended with all they started.
///
/// That takes a few seconds at most (TERM, grace, KILL), so a further signal only says so: ending at once would leave
/// them running.
pub(super) async fn cancel_on_signal(cancel: CancellationToken) {
    let signals = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()].map(signal);
    let [Ok(mut interrupt), Ok(mut terminate), Ok(mut hangup)] = signals else {
        tracing::warn!("signals cannot be listened for; an interruption will leave agents running");
        return;
    };
    let mut said = "interrupted: stopping agents and checks";
    loop {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hangup.recv() => {}
        }
        // Nobody may be left to read it.
        let _ = std::io::Write::write_all(&mut std::io::stderr(), format!("\n{said}\n").as_bytes());
        cancel.cancel();
        said = "still stopping them, a few seconds at most";
    }
}
