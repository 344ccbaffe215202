//! `memory check`: what of the memory cannot be read, and what others wrote.

use super::super::output::{errln, outln};
use super::super::{Exit, project};
use super::Memory;
use super::listing::print_line;
use crate::curation::{kept_from_prompts, stays_home};
use crate::domain::Reflection;
use crate::report::plural;
use crate::runtime::{self, Adopted, Damage, KeptAttempts};
use crate::services::RecentQuery;
use serde_json::{Value, json};

/// What foreign reflections are.
const FOREIGN: &str = "foreign: reflexion did not write them here, or somebody has changed them, so they reach no prompt; `reflexion memory check --adopt` takes them over";
/// The same before the first run, which would take them over.
const NOT_YET: &str = "foreign: reflexion did not write them here. No run of yours has begun anywhere yet: the first one takes over what is in the memory then, so remove before what no prompt may hold";

/// What foreign attempts are.
const FOREIGN_ATTEMPTS: &str = "foreign: they are of another project or clone, of a version that did not note that, or somebody wrote them, so they count for nothing; `reflexion memory rebuild` makes those of runs here anew, and `reflexion memory check --adopt` takes the others over";

impl Memory {
    /// Says what is there; takes over what others wrote, and sets aside what nobody can use, where it is asked to.
    pub(super) async fn check(&self, (adopt, repair): (bool, bool), json: bool) -> anyhow::Result<Exit> {
        let project = self.settings.project();
        let damaged = runtime::memory_damage(project, repair)?;
        let adopted = if adopt { Some(runtime::adopt_memory(project)?) } else { None };
        let report = self.storage.check().await?;
        let KeptAttempts { foreign: foreign_attempts, unreadable: attempts, .. } = runtime::read_attempts(project)?;
        let (all, foreign, unreadable) = (report.reflections, report.foreign, report.unreadable);
        let stale = self.stale().await?.len();
        if json {
            let taken = adopted.unwrap_or_default();
            project::print_json(
                &json!({ "reflections": all, "foreign": foreign, "unreadable": unreadable, "stale": stale,
                    "adopted": taken.reflections, "adoptedEvents": taken.events, "adoptedAttempts": taken.attempts,
                    "foreignAttempts": foreign_attempts, "unreadableAttempts": attempts, "repaired": repair, "damaged": damaged_json(&damaged) }),
            )?;
        } else {
            damaged.iter().for_each(|damage| say_damage(damage, repair));
            if let Some(taken) = adopted {
                say_adopted(taken);
            }
            let (mut held, mut home) = (0, 0);
            let show = |page: Vec<Reflection>| {
                for one in page {
                    let why = kept_from_prompts(&one);
                    held += usize::from(why.is_some());
                    home += usize::from(why.is_none() && stays_home(&one).is_some());
                    if one.foreign || why.is_some() {
                        print_line(&one);
                    }
                    if let Some(why) = why {
                        outln!("  reaches no prompt: {why}");
                    }
                }
            };
            self.each(&RecentQuery::default(), show).await?;
            outln!(
                "{all} reflections, {foreign} of them foreign, {held} that reach no prompt and {home} that stay with their own task because of what they say, {unreadable} lines that cannot be read"
            );
            if stale > 0 {
                outln!(
                    "{} about files that were gone when the last run began: no prompt holds them until one of these is there again; `reflexion memory list --state stale` shows them",
                    plural(stale, "lesson"),
                );
            }
            if foreign_attempts > 0 {
                let (lines, file) = (plural(foreign_attempts, "line"), project.attempts_file());
                errln!("{lines} of {}: {FOREIGN_ATTEMPTS}", file.display());
            }
            if foreign > 0 {
                errln!("{}", if runtime::run_began(project)? { FOREIGN } else { NOT_YET });
            }
        }
        self.say_unreadable().await?;
        let left = if repair { 0 } else { damaged.len() };
        Ok(if foreign + unreadable + foreign_attempts + attempts + left == 0 {
            Exit::Confirmed
        } else {
            Exit::NotConfirmed
        })
    }
}

/// How many lines of which kind are the user's from now on.
fn say_adopted(Adopted { reflections, events, attempts }: Adopted) {
    let lines = plural(reflections + events + attempts, "line");
    outln!(
        "adopted {lines}: {}, which may reach prompts from now on, {} of what became of lessons, and {}, which count in `memory stats`",
        plural(reflections, "reflection"),
        plural(events, "line"),
        plural(attempts, "attempt"),
    );
}

/// At most this many lines of a file are named.
const NAMED: usize = 20;

/// What is wrong with a file's lines, and what was done about it.
fn say_damage(damage: &Damage, repaired: bool) {
    let (lines, file, aside) = (plural(damage.lines.len(), "line"), damage.file.display(), damage.aside.display());
    if repaired {
        outln!("{file}: {lines} set aside, in {aside}:");
    } else {
        outln!("{file}: {lines} that nobody can use; `reflexion memory check --repair` sets them aside, in {aside}:");
    }
    for problem in damage.lines.iter().take(NAMED) {
        outln!("  line {}: {}", problem.line, problem.message);
    }
    if damage.lines.len() > NAMED {
        outln!("  and {} more", damage.lines.len() - NAMED);
    }
}

fn damaged_json(damaged: &[Damage]) -> Value {
    let one = |damage: &Damage| {
        let lines = damage.lines.iter().map(|problem| json!({ "line": problem.line, "why": problem.message }));
        json!({ "file": damage.file, "aside": damage.aside, "lines": lines.collect::<Vec<_>>() })
    };
    damaged.iter().map(one).collect()
}
