//! `reflexion report`.

use super::args::ReportArgs;
use super::exit::UsageError;
use super::out_file::write_out;
use super::output::{errln, out, outln};
use super::{Exit, project};
use crate::domain::{RunId, policy};
use crate::files::Place;
use crate::report::night;
use crate::report::night::{Night, Times};
use crate::runtime;
use crate::runtime::{Records, Waiting};
use anyhow::Context;
use std::path::{Path, PathBuf};

pub(super) async fn report(dir: &Path, args: ReportArgs) -> anyhow::Result<Exit> {
    let Found { records, night, run_dir, times, project: of } = find(dir, args.run.as_deref()).await?;
    let night = records.with_changes(night);
    let text = match (args.html, args.md, args.json) {
        (true, ..) => night::html(&night, &times),
        (_, true, _) => night::markdown(&night, &times),
        (.., true) => serde_json::to_string_pretty(&night)? + "\n",
        _ => night::text(&night, &times),
    };
    let file = match args.out {
        Some(file) if file == Path::new("-") => None,
        Some(file) => Some((write_out(&file, &text, &of), file)),
        None => args.html.then(|| {
            let file = run_dir.join("report.html");
            // Below the project: `.reflection/runs/<run>/report.html`.
            (project::write(&Place::with_names(&file, 4), &text), file)
        }),
    };
    let Some((written, file)) = file else {
        out!("{text}");
        return Ok(Exit::Confirmed);
    };
    let shown = file.display();
    written.with_context(|| format!("{shown}: failed to write it"))?;
    outln!("{shown}");
    Ok(Exit::Confirmed)
}

/// A run, and where it is.
pub(super) struct Found {
    pub records: Records,
    pub project: policy::Project,
    pub night: Night,
    pub run_dir: PathBuf,
    pub times: Times,
}

/// The run that is meant.
pub(super) struct Chosen {
    pub records: Records,
    pub run: RunId,
}

/// The night of a project that waits for its window, and the words for that.
pub(super) struct Waits {
    pub waiting: Waiting,
    pub text: String,
    /// There is no run that could be told of beside it.
    pub alone: bool,
}

/// The night that waits, if one does and no certain run is asked for.
pub(super) async fn waits(dir: &Path, which: Option<&str>) -> anyhow::Result<Option<Waits>> {
    let records = project::records(dir).await?;
    let waiting = records.waiting().filter(|_| which.is_none());
    let clock = runtime::system_clock();
    let times = Times { zone: clock.zone(), now: clock.now() };
    Ok(waiting.map(|waiting| Waits {
        text: night::waits(waiting.pid, waiting.until, &times) + "\n",
        alone: records.runs().is_ok_and(|runs| runs.is_empty()),
        waiting,
    }))
}

/// The run that is meant: the newest, or the one whose id begins so.
pub(super) async fn choose(dir: &Path, which: Option<&str>) -> anyhow::Result<Chosen> {
    let records = project::records(dir).await?;
    let runs = records.runs().with_context(|| format!("{}/runs", records.project().state_dir().display()))?;
    let run = runtime::choose_run(&runs, which).map_err(UsageError)?.clone();
    if runtime::is_foreign_run(records.project(), &run) {
        errln!(
            "warning: the run {run} was not begun by reflexion in this directory (a clone or an archive brought it, or an older version made it): \
             what follows is what its journal says, whoever wrote that"
        );
    }
    Ok(Chosen { records, run })
}

/// What is wrong with the first line of a journal of which nothing can be read; none if there is something to tell.
pub(super) fn unreadable(night: &Night) -> Option<String> {
    if night.last_sign_at.is_some() || night.unreadable == 0 {
        return None;
    }
    let first = night.problems.first().map(|problem| format!("line {}: {}", problem.line, problem.message));
    Some(first.unwrap_or_default())
}

/// The run that is meant, read back.
pub(super) async fn find(dir: &Path, which: Option<&str>) -> anyhow::Result<Found> {
    let Chosen { records, run } = choose(dir, which).await?;
    let run_dir = records.project().run_dir(&run);
    let journal = || format!("{}: failed to read it", run_dir.join("journal.jsonl").display());
    let (night, warnings) = records.night(&run).await.with_context(journal)?;
    for warning in warnings {
        errln!("warning: {warning}");
    }
    if let Some(first) = unreadable(&night) {
        anyhow::bail!("{}; {first}", journal());
    }
    let clock = runtime::system_clock();
    Ok(Found {
        project: records.project().clone(),
        times: Times { zone: clock.zone(), now: clock.now() },
        night,
        run_dir,
        records,
    })
}
