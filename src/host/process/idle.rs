//! Whether programs work or only wait.

use super::table::Process;
use std::time::Duration;

/// Returns when the programs of a process group have used no processor time for this long: they wait for something that does
/// not come, such as the other end of a pipe. Never returns where there is no process table, or nobody in the group.
///
/// Looks ten times in that period. One that waits for a disk counts as at work, because the kernel does not let it be ended.
pub(in crate::host) async fn until_idle(group: u32, period: Duration) {
    let pause = period / 10;
    let mut before = None;
    let mut same = Duration::ZERO;
    loop {
        tokio::time::sleep(pause).await;
        let now = processor_time(group.cast_signed());
        same = if now.is_some() && now == before { same + pause } else { Duration::ZERO };
        before = now;
        if same >= period {
            return;
        }
    }
}

/// In the kernel's ticks; nothing if somebody waits for a disk, or nobody is there.
fn processor_time(group: i32) -> Option<u64> {
    let members = Process::ours().into_iter().filter(|process| process.group == group);
    members.map(|process| process.processor_time()).reduce(|a, b| Some(a? + b?)).flatten()
}

#[cfg(test)]
mod tests {
    use super::super::start_child;
    use super::*;
    use std::process::Stdio;
    use tokio::process::Command;

    #[tokio::test]
    async fn who_waits_is_idle_and_who_works_is_not() {
        const PERIOD: Duration = Duration::from_millis(500);
        let start = |script: &str| {
            let mut shell = Command::new("sh");
            start_child(|| shell.args(["-c", script]).stdin(Stdio::piped()).process_group(0).spawn()).unwrap()
        };
        let mut waits = start("read line");
        let mut works = start("sh -c 'while :; do :; done'; :");
        tokio::select! {
            () = until_idle(waits.id().unwrap(), PERIOD) => {}
            () = until_idle(works.id().unwrap(), PERIOD) => panic!("it works"),
        }
        waits.kill().await.unwrap();
        let group = rustix::process::Pid::from_raw(works.id().unwrap().cast_signed()).unwrap();
        rustix::process::kill_process_group(group, rustix::process::Signal::KILL).unwrap();
        works.wait().await.unwrap();
    }
}
