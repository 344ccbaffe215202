//! `reflexion trust`, and what other commands ask of it before they start what a project names.

use super::args::TrustArgs;
use super::output::{errln, errln_whole, outln, outln_whole};
use super::run::foreign;
use super::{Exit, project};
use crate::domain::{Task, TrustItem, TrustKind};
use crate::prompt::{one_line, printable};
use crate::report::plural;
use crate::runtime;
use crate::runtime::Trust;
use crate::services::{RunError, Tasks};
use anyhow::Context;
use serde_json::json;
use std::fmt::Write;
use std::io::IsTerminal;
use std::path::Path;

pub(super) async fn trust(dir: &Path, args: TrustArgs) -> anyhow::Result<Exit> {
    let effective = project::load(dir, Vec::new())?;
    let settings = runtime::settings_before_trust(&effective)?;
    let trust = Trust::of(&effective)?;
    if args.revoke {
        trust.revoke().await.with_context(|| format!("failed to write {}", trust.path().display()))?;
        outln!("nothing in {} is trusted any more; a run that is under way goes on", trust.dir().display());
        return Ok(Exit::Confirmed);
    }
    let list = runtime::task_file(&*settings, runtime::system_clock()).load().await?;
    for problem in &list.problems {
        let file = settings.project().tasks.display();
        errln!("warning: {file}:{}: {}", problem.line, one_line(&problem.message));
    }
    let named = trust.named(&list.tasks)?;
    let compared = Compared::of(&trust, &named)?;
    if !args.show {
        trust.give(&named).await.with_context(|| format!("failed to write {}", trust.path().display()))?;
    }
    if args.json {
        outln_whole(&serde_json::to_string_pretty(&compared.json(&trust, !args.show))?);
    } else {
        compared.print(&trust, !args.show);
        foreign(settings.project()).iter().for_each(|line| outln!("{line}"));
    }
    Ok(if args.show && !compared.missing().is_empty() { Exit::NotConfirmed } else { Exit::Confirmed })
}

/// What is named now, beside what is trusted.
struct Compared<'a> {
    /// With what was trusted at the same place before, if that was something else.
    named: Vec<(&'a TrustItem, bool, Option<TrustItem>)>,
    /// Trusted, and not named any more.
    gone: Vec<TrustItem>,
}

/// A line in which many blanks, or empty lines, push nothing out of sight.
fn without_gaps(line: &str) -> String {
    /// As many are seen as such.
    const FEW: usize = 40;
    let is_blank = |c: char| c.is_whitespace() || matches!(c, '\u{2800}' | '\u{fffd}');
    let (mut shown, mut rest) = (String::new(), line);
    while !rest.is_empty() {
        let end = rest.find(is_blank).unwrap_or(rest.len());
        let gap = rest[end..].find(|c| !is_blank(c)).map_or(rest.len(), |length| end + length);
        shown.push_str(&rest[..end]);
        match rest[end..gap].chars().count() {
            many if many > FEW => {
                let _ = write!(shown, " [{many} blanks] ");
            }
            _ => shown.push_str(&rest[end..gap]),
        }
        rest = &rest[gap..];
    }
    shown
}

impl<'a> Compared<'a> {
    fn of(trust: &Trust, named: &'a [TrustItem]) -> anyhow::Result<Self> {
        let trusted = trust.read().with_context(|| format!("failed to read {}", trust.path().display()))?;
        let mut gone = trusted.gone(named);
        let compared = named.iter().map(|item| {
            let has = trusted.has(item);
            let before = if has { None } else { gone.iter().position(|was| was.place == item.place) };
            (item, has, before.map(|i| gone.remove(i).clone()))
        });
        let named = compared.collect();
        // Runs that are not begun yet are not gone.
        let gone = gone.into_iter().filter(|item| item.kind != TrustKind::Runs).cloned().collect();
        Ok(Self { named, gone })
    }

    fn missing(&self) -> Vec<&TrustItem> {
        self.named.iter().filter(|(_, trusted, _)| !trusted).map(|(item, ..)| *item).collect()
    }

    /// One line for each: `+` is new or changed, `-` is gone.
    fn lines(&self, all: bool) -> Vec<String> {
        let width = self.named.iter().map(|(item, ..)| item.place.chars().count()).max().unwrap_or(0).min(40);
        let mut lines = Vec::new();
        for (item, trusted, was) in self.named.iter().filter(|(_, trusted, _)| all || !trusted) {
            let mark = if *trusted { ' ' } else { '+' };
            lines.push(format!("{mark} {:width$}  {}", item.place, does(item)));
            lines.extend(was.iter().map(|was| format!("  {:width$}  trusted was: {}", "", does(was))));
        }
        if all {
            lines.extend(self.gone.iter().map(|item| format!("- {:width$}  {}", item.place, does(item))));
        }
        // A line of a check may be several; nothing in it may look like an item of its own.
        lines.iter().map(|line| without_gaps(&printable(line)).replace('\n', "\n  | ")).collect()
    }

    fn question(&self, trust: &Trust) -> String {
        let dir = trust.dir().display().to_string();
        let what = if self.missing().iter().all(|item| item.kind == TrustKind::Home) {
            format!("{dir} is trusted, but not what runs have left in your home directory")
        } else {
            format!("{dir} is not trusted with all that it names")
        };
        format!("{what}:\n{}", self.lines(false).join("\n"))
    }

    fn print(&self, trust: &Trust, given: bool) {
        let dir = trust.dir().display().to_string();
        if self.named.is_empty() && self.gone.is_empty() {
            outln!("nothing in {dir} names a program, a host or a key");
            return;
        }
        self.lines(true).iter().for_each(|line| outln_whole(line));
        let new = self.missing().len();
        if given {
            outln!("trusted in {dir}: {}", plural(self.named.len(), "thing"));
            outln!("what these programs run in turn, such as the project's tests, is trusted with them");
        } else if new == 0 {
            outln!("all of it is trusted");
        } else {
            outln!("{new} of {} not trusted; `reflexion trust` trusts all of it", self.named.len());
        }
    }

    fn json(&self, trust: &Trust, given: bool) -> serde_json::Value {
        let items = self.named.iter().map(|(item, trusted, was)| {
            json!({
                "place": item.place, "kind": item.kind, "text": item.text, "rights": item.rights,
                "trusted": *trusted || given, "was": was.as_ref().map(|was| &was.text),
            })
        });
        let gone = self.gone.iter().map(|item| json!({ "place": item.place, "kind": item.kind, "text": item.text }));
        json!({
            "dir": trust.dir().display().to_string(), "file": trust.path().display().to_string(),
            "items": items.collect::<Vec<_>>(), "gone": gone.collect::<Vec<_>>(),
        })
    }
}

/// What it does, with what, and with which rights.
fn does(item: &TrustItem) -> String {
    format!("{} {}{}", item.kind, said(item), item.rights.words())
}

/// A program as it would be typed, where that is plain.
fn said(item: &TrustItem) -> String {
    let argv = (item.kind == TrustKind::Program).then(|| serde_json::from_str::<Vec<String>>(&item.text).ok());
    let is_plain =
        |word: &String| !word.is_empty() && !word.contains(|c: char| c.is_whitespace() || "'\"\\".contains(c));
    match argv.flatten().filter(|argv| argv.iter().all(is_plain)) {
        Some(argv) => argv.join(" "),
        None => item.text.clone(),
    }
}

/// Before anything is started that a project names: it is trusted, or the caller trusts it now, or a person at the terminal
/// does. `tasks` are all there are, `asked` says which of them would be worked on.
///
/// Tasks that alone are not trusted do not keep others from being worked on: a run sets them aside.
///
/// # Errors
/// [`RunError::Environment`], which says what would run and what to do.
pub(super) async fn ensure(
    trust: &Trust,
    tasks: &[Task],
    asked: impl Fn(&Task) -> bool,
    given: bool,
) -> anyhow::Result<()> {
    let worked_on: Vec<Task> = tasks.iter().filter(|task| asked(task)).cloned().collect();
    let untrusted = trust.untrusted(&worked_on).map_err(no_trust(trust))?;
    if !untrusted.settings.is_empty() || !untrusted.tasks.is_empty() {
        let named = trust.named(if given { tasks } else { &worked_on }).map_err(no_trust(trust))?;
        let compared = Compared::of(trust, &named)?;
        let new = compared.missing().len();
        if given {
            trust.give(&named).await.map_err(no_trust(trust))?;
            let dir = trust.dir().display().to_string();
            errln!("trusted in {dir}: {}; `reflexion trust --show` lists it", plural(new, "new thing"));
        } else if !is_told_to(trust, &compared).await? && !untrusted.settings.is_empty() {
            return Err(refused(trust, &compared).into());
        }
    }
    if trust.is_for_this_call() {
        // Who trusts all of it is not kept by what cannot be read.
        for item in trust.left_in_home().unwrap_or_default() {
            let line = format!("{} {}", item.place, does(&item));
            errln!("warning: {line}; REFLEXION_TRUST=1 trusts that for this call");
        }
    }
    trust.begin_with(tasks);
    // Its own rules for secrets count from now on.
    runtime::settings_from(trust.effective())?;
    Ok(())
}

/// Once a run may begin: what it leaves in `.reflection/` is the person's own.
///
/// # Errors
/// [`RunError::Environment`] if that cannot be noted.
pub(super) async fn own_runs(trust: &Trust) -> anyhow::Result<()> {
    let dir = trust.dir().join(".reflection");
    let noted = trust.own_runs().await;
    noted.map_err(|error| RunError::Environment(format!("{} cannot be made one's own: {error}", dir.display())))?;
    Ok(())
}

/// Before the checkout is written to: what acts there beside the project's files is trusted, or a person at the terminal trusts it.
///
/// # Errors
/// As [`ensure`].
pub(super) async fn ensure_beside(trust: &Trust) -> anyhow::Result<()> {
    let untrusted = trust.untrusted_beside().map_err(no_trust(trust))?;
    let compared = Compared::of(trust, &untrusted)?;
    if untrusted.is_empty() || is_told_to(trust, &compared).await? {
        Ok(())
    } else {
        Err(refused(trust, &compared).into())
    }
}

/// Before the task file is written to.
///
/// # Errors
/// [`RunError::Environment`] if it is outside of the project, and nobody trusts that.
pub(super) fn ensure_task_file(trust: &Trust) -> anyhow::Result<()> {
    let Some(item) = trust.untrusted_task_file().map_err(no_trust(trust))? else { return Ok(()) };
    let text = format!("the task file is outside of the project: {}; `reflexion trust` trusts that", item.text);
    Err(RunError::Environment(text).into())
}

fn no_trust(trust: &Trust) -> impl Fn(std::io::Error) -> RunError {
    |error| RunError::Environment(format!("what is trusted is not known: {}: {error}", trust.path().display()))
}

fn refused(trust: &Trust, compared: &Compared<'_>) -> RunError {
    let what = "look at it, then `reflexion trust` trusts it for good, and so does `--trust` with `run` and `overnight`; \
                REFLEXION_TRUST=1 does for one call";
    errln_whole(&compared.question(trust));
    RunError::Environment(format!("nothing was started: {what}"))
}

/// Asks a person at the terminal, who then trusts what is shown.
async fn is_told_to(trust: &Trust, compared: &Compared<'_>) -> Result<bool, RunError> {
    if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        return Ok(false);
    }
    errln_whole(&compared.question(trust));
    if !asks("Trust that, here and from now on? [y/N]") {
        return Ok(false);
    }
    let new: Vec<TrustItem> = compared.missing().into_iter().cloned().collect();
    trust.add(&new).await.map_err(no_trust(trust))?;
    Ok(true)
}

fn asks(question: &str) -> bool {
    errln!("{question}");
    let mut answer = String::new();
    let read = std::io::stdin().read_line(&mut answer);
    read.is_ok() && matches!(answer.trim(), "y" | "Y" | "yes" | "Yes")
}

/// What a person has just written by a command of ours is theirs. That it cannot be noted fails nothing: they are asked later.
pub(super) async fn wrote(trust: &Trust, items: &[TrustItem]) {
    if let Err(error) = trust.add(items).await {
        errln!("warning: {}: {error}; a run will ask whether this is trusted", trust.path().display());
    }
}

/// Trusts what `init` wrote.
pub(super) async fn wrote_project(dir: &Path) {
    let Ok(effective) = project::load(dir, Vec::new()) else { return };
    if let Ok(trust) = Trust::of(&effective) {
        wrote(&trust, &effective.trust_items_of_project()).await;
    }
}
