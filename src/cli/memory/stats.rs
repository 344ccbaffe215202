//! `memory stats` and `memory rebuild`: whether lessons help, and the record that says so.

use super::super::output::{errln, out, outln};
use super::super::{Exit, project};
use crate::domain::policy::Project;
use crate::report::{EffectShown, plural};
use crate::runtime;
use crate::services::Settings;
use serde_json::json;

/// Says whether lessons help, as far as retries whose lessons were held out tell.
pub(super) fn stats(settings: &dyn Settings, json: bool) -> anyhow::Result<Exit> {
    let kept = runtime::read_attempts(settings.project())?;
    let shown = EffectShown::of(&kept.attempts);
    if json {
        project::print_json(&shown)?;
    } else {
        out!("{shown}");
        if !settings.reflexion().hold_out {
            outln!("No more lessons are held out: `reflexion.holdout` (or REFLEXION_HOLDOUT) is off.");
        }
    }
    if kept.foreign > 0 {
        let file = settings.project().attempts_file();
        errln!(
            "warning: {} of {} not written here, and not counted; `reflexion memory check` says more",
            plural(kept.foreign, "line"),
            file.display()
        );
    }
    if kept.unreadable > 0 {
        let file = settings.project().attempts_file();
        errln!("warning: {} of {} cannot be read and are kept:", plural(kept.unreadable, "line"), file.display());
        for problem in &kept.problems {
            errln!("  line {}: {}", problem.line, problem.message);
        }
    }
    Ok(Exit::Confirmed)
}

/// Writes the record of attempts anew.
pub(super) fn rebuild(of: &Project, json: bool) -> anyhow::Result<Exit> {
    let runtime::Rebuilt { attempts, set_aside } = runtime::rebuild_attempts(of)?;
    let file = of.attempts_file();
    if json {
        project::print_json(&json!({ "attempts": attempts, "setAside": set_aside }))?;
    } else {
        outln!("{}: {} from the journals of the runs", file.display(), plural(attempts, "ended attempt"));
    }
    for line in set_aside {
        errln!("warning: line {line} of {} was too long to be read, and stands in {0}.damaged now", file.display());
    }
    Ok(Exit::Confirmed)
}
