//! `reflexion transcript`.

use super::args::{TranscriptArgs, TranscriptCommand};
use super::exit::UsageError;
use super::output::{errln, out, outln};
use super::{Exit, project};
use crate::domain::{TranscriptHead, TranscriptItem};
use crate::layer::Svc;
use crate::report;
use crate::report::Detail;
use crate::services::{Transcript, Transcripts};
use serde_json::{Value, json};
use std::path::Path;

/// So many are named in a message.
const NAMED: usize = 8;

pub(super) async fn transcript(dir: &Path, args: TranscriptArgs) -> anyhow::Result<Exit> {
    let (layers, _) = project::layers(dir, Vec::new())?;
    let app = layers.build::<Svc<dyn Transcripts>>().await?;
    let done = match args.command {
        TranscriptCommand::List { run, json: true } => list_json(&**app, run.as_deref()),
        TranscriptCommand::List { run, json: false } => list(&**app, run.as_deref()),
        TranscriptCommand::Show { which, run, json, full } => {
            let form = match (json, full) {
                (true, _) => Form::Json,
                (false, true) => Form::Text(Detail::Full),
                (false, false) => Form::Text(Detail::Brief),
            };
            show(&**app, run.as_deref(), which.as_deref(), form)
        }
    };
    app.shutdown().await?;
    done
}

/// How a transcript is printed.
enum Form {
    Json,
    Text(Detail),
}

/// The heads, newest last, of the runs whose id begins as asked.
fn heads(transcripts: &dyn Transcripts, run: Option<&str>) -> anyhow::Result<Vec<TranscriptHead>> {
    let mut heads = transcripts.list(None)?;
    let Some(run) = run else { return Ok(heads) };
    let known = listed(heads.iter().map(|h| h.run.to_string()));
    heads.retain(|h| h.run.as_str().starts_with(run));
    if heads.is_empty() {
        return Err(UsageError(format!("--run: there is no transcript of a run `{run}`; there are {known}")).into());
    }
    Ok(heads)
}

fn list_json(transcripts: &dyn Transcripts, run: Option<&str>) -> anyhow::Result<Exit> {
    let mut rows = Vec::new();
    for head in heads(transcripts, run)? {
        rows.push(row(&head, &transcripts.read(&head.session)?));
    }
    project::print_json(&json!({ "transcripts": rows }))?;
    Ok(Exit::Confirmed)
}

fn list(transcripts: &dyn Transcripts, run: Option<&str>) -> anyhow::Result<Exit> {
    let heads = heads(transcripts, run)?;
    if heads.is_empty() {
        errln!("{NONE}");
    }
    let mut run = None;
    for head in &heads {
        if run != Some(&head.run) {
            outln!("run {}", head.run);
            run = Some(&head.run);
        }
        let row = row(head, &transcripts.read(&head.session)?);
        let what = format!("{}#{}", head.task, head.attempt);
        let ending = row["ending"]["kind"].as_str().unwrap_or("no end");
        let line = format!("  {}  {what:24} {:12} {ending:12} {:>5} records", head.session, head.agent, row["records"]);
        outln!("{line}");
    }
    Ok(Exit::Confirmed)
}

const NONE: &str = "no agent has worked here yet; `reflexion run` writes a transcript of each agent run";

/// A transcript as one entry of a list.
fn row(head: &TranscriptHead, transcript: &Transcript) -> Value {
    let end = transcript.records.iter().rev().find_map(|record| match &record.item {
        TranscriptItem::End { ending, usage, .. } => Some((record.at, ending, usage)),
        _ => None,
    });
    let mut row = json!(head);
    row["startedAt"] = json!(transcript.records.first().map(|r| r.at));
    row["endedAt"] = json!(end.map(|(at, ..)| at));
    row["ending"] = json!(end.map(|(_, ending, _)| ending));
    row["usage"] = json!(end.map(|(.., usage)| usage));
    row["records"] = transcript.records.len().into();
    row["unreadable"] = transcript.unreadable.into();
    row
}

fn show(transcripts: &dyn Transcripts, run: Option<&str>, which: Option<&str>, form: Form) -> anyhow::Result<Exit> {
    let heads = heads(transcripts, run)?;
    let head = choose(&heads, which).map_err(UsageError)?;
    let Transcript { records, unreadable } = transcripts.read(&head.session)?;
    match form {
        Form::Json => {
            project::print_json(&json!({ "head": head, "records": records, "unreadable": unreadable }))?;
        }
        Form::Text(detail) => {
            out!("{}", report::transcript(head, &records, unreadable, detail));
        }
    }
    Ok(Exit::Confirmed)
}

/// The transcript that is meant: a whole session or task before the beginning of one, a task's newest agent run before
/// its earlier ones.
fn choose<'a>(heads: &'a [TranscriptHead], which: Option<&str>) -> Result<&'a TranscriptHead, String> {
    let Some(newest) = heads.last() else { return Err(NONE.to_owned()) };
    let Some(which) = which else { return Ok(newest) };
    let (task, attempt) = match which.rsplit_once('#') {
        Some((task, number)) => {
            let number =
                number.parse::<u32>().map_err(|_| format!("`{which}`: after `#` comes an attempt's number"))?;
            (task, Some(number))
        }
        None => (which, None),
    };
    let of_attempt = |h: &&TranscriptHead| attempt.is_none_or(|n| h.attempt == n);
    let last_of_task = |task: &str| heads.iter().filter(of_attempt).rfind(|h| h.task.as_str() == task);
    let session = heads.iter().find(|h| attempt.is_none() && h.session.as_str() == which);
    if let Some(found) = session.or_else(|| last_of_task(task)) {
        return Ok(found);
    }
    let sessions = heads.iter().filter(|h| attempt.is_none() && h.session.as_str().starts_with(which));
    let mut begin: Vec<&TranscriptHead> = sessions.collect();
    let mut tasks: Vec<&str> = heads.iter().filter(of_attempt).map(|h| h.task.as_str()).collect();
    tasks.sort_unstable();
    tasks.dedup();
    let tasks = tasks.into_iter().filter(|id| id.starts_with(task));
    begin.extend(tasks.filter_map(last_of_task));
    begin.dedup();
    match begin.as_slice() {
        [one] => Ok(one),
        [] => Err(format!("there is no transcript `{which}`; there are {}", listed(heads.iter().map(name)))),
        several => Err(format!("`{which}` may be {}; say more of it", listed(several.iter().map(|h| name(h))))),
    }
}

fn name(head: &TranscriptHead) -> String {
    format!("{}#{} ({})", head.task, head.attempt, head.session)
}

/// The newest of the names, newest first.
fn listed(names: impl DoubleEndedIterator<Item = String>) -> String {
    let mut names: Vec<String> = names.rev().collect();
    names.dedup();
    let more = names.len().saturating_sub(NAMED);
    names.truncate(NAMED);
    let more = if more > 0 { format!(" and {more} older ones") } else { String::new() };
    format!("{}{more}", names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{RunId, SessionId, SubtaskId, TaskId};

    fn head(session: &str, task: &str, attempt: u32) -> TranscriptHead {
        TranscriptHead {
            run: RunId::new("r").unwrap(),
            session: SessionId::new(session),
            task: TaskId::new(task).unwrap(),
            subtask: SubtaskId::new(task).unwrap(),
            attempt,
            agent: "a".to_owned(),
        }
    }

    #[test]
    fn the_beginning_is_enough_where_it_is_unique() {
        let heads = [
            head("01aa-1", "fix", 1),
            head("01aa-2", "fix", 2),
            head("01ab-3", "fix-more", 1),
            head("01ab-4", "fix", 2),
            head("fix-more", "other", 1),
        ];
        let check = |which: Option<&str>, expected: Result<&str, &str>| match (choose(&heads, which), expected) {
            (Ok(head), Ok(session)) => assert_eq!(head.session.as_str(), session, "{which:?}"),
            (Err(message), Err(part)) => assert!(message.contains(part), "{which:?}: {message}"),
            (got, _) => panic!("{which:?}: {got:?}"),
        };
        check(None, Ok("fix-more"));
        check(Some("fix"), Ok("01ab-4"));
        check(Some("fix#1"), Ok("01aa-1"));
        check(Some("fix#2"), Ok("01ab-4"));
        check(Some("01aa-2"), Ok("01aa-2"));
        // A whole id comes before the beginning of another one, a session before a task.
        check(Some("fix-more"), Ok("fix-more"));
        check(Some("fix-m#1"), Ok("01ab-3"));
        check(Some("oth"), Ok("fix-more"));
        check(Some("01aa"), Err("`01aa` may be fix#2 (01aa-2), fix#1 (01aa-1); say more"));
        check(Some("fi"), Err("may be"));
        check(Some("fix#3"), Err("there is no transcript `fix#3`; there are other#1 (fix-more), fix#2 (01ab-4)"));
        check(Some("fix#x"), Err("after `#` comes an attempt's number"));
        check(Some("nothing"), Err("there is no transcript `nothing`"));
        assert_eq!(choose(&[], None).unwrap_err(), NONE);
    }

    #[test]
    fn a_long_list_names_the_newest() {
        let names = (1..=10).map(|i| format!("r{i}"));
        assert_eq!(listed(names), "r10, r9, r8, r7, r6, r5, r4, r3 and 2 older ones");
        assert_eq!(listed(["a", "a", "b"].map(str::to_owned).into_iter()), "b, a");
    }
}
