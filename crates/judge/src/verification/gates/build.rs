//! `build`: a build after the last change, and its exit status; a type check that failed is a broken build.

use super::facts::View;
use super::finding::{Finding, Todo};
use super::timeline::{Ran, may_run_tests, runs_tests};
use super::went::Went;
use crate::verification::commands::CommandKind;

const GATE: &str = "build";

pub(super) fn build(view: &View<'_>) -> Finding {
    let required = view.facts.required;
    if let Some(check) = view.runtime.covers(&CommandKind::Build) {
        let name = &check.spec.name;
        return if check.passed() {
            Finding::passed(GATE, format!("the runtime's check `{name}` is green"))
        } else {
            Finding::not_run(GATE, format!("the runtime's check `{name}` decides it: see `runtime_checks`"))
        };
    }
    if required.build.is_none() && required.change.is_none() {
        return Finding::not_run(GATE, view.not_required("build"));
    }
    let at = view.timeline.last_change().map(|c| c.at);
    let is_build = |step: &super::timeline::Step<'_>, i: usize| step.runs[i].kind == CommandKind::Build;
    let started = |ran: &Ran<'_>| !matches!(ran.went, Went::NotStarted(_));
    let after_change = |ran: &Ran<'_>| at.is_none_or(|at| ran.at > at);
    let is_types = |step: &super::timeline::Step<'_>, i: usize| step.runs[i].kind == CommandKind::Typecheck;
    if let Some(types) = view.timeline.ran(is_types).filter(|ran| started(ran) && after_change(ran)).last()
        && matches!(types.went, Went::Failed(_))
    {
        return judged(view, &types);
    }
    let last = view.timeline.ran(is_build).filter(started).last();
    if let Some(last) = last.as_ref().filter(|ran| after_change(ran)) {
        return judged(view, last);
    }
    let Some(why) = &required.build else {
        return Finding::not_run(GATE, "it is not required, and none ran after the last change");
    };
    if view.timeline.is_empty() {
        return Finding::not_run(GATE, "no tool call is recorded");
    }
    let tested = view.timeline.ran(runs_tests).filter(|ran| at.is_none_or(|at| ran.at > at)).last();
    if let Some(test) = tested.filter(builds_too) {
        return match test.went {
            Went::Passed(_) => Finding::passed(GATE, format!("{} builds what it tests", test.shown())),
            _ => Finding::not_run(
                GATE,
                format!("{} builds what it tests, and did not pass for all that is known", test.shown()),
            ),
        };
    }
    let after = |number: u64| at.is_none_or(|at| number > at.0);
    let unseen = view.timeline.dark_after(at).is_some()
        || view.timeline.steps.iter().any(|s| after(s.action.number) && s.runs.iter().any(may_run_tests));
    if unseen {
        return Finding::not_run(GATE, "something ran after the last change that may have built it");
    }
    let evidence = match last {
        Some(last) => format!("{} ran before the last change", last.shown()),
        None => format!("no build is among the {} recorded tool calls", view.timeline.steps.len()),
    };
    let action = match view.facts.signals.builds.first() {
        Some(command) => format!("Run `{command}` now, after your last change, and fix what fails."),
        None => "Build the project now, after your last change, and fix what fails.".to_owned(),
    };
    Finding::failed(
        GATE,
        format!("{evidence}; a build is required: {why}"),
        Todo::high("A build after the last change", action),
    )
}

fn judged(view: &View<'_>, last: &Ran<'_>) -> Finding {
    let first_change = view.timeline.changes.first().map(|c| c.at);
    let red_before = view
        .timeline
        .ran(|step, i| step.runs[i].kind == last.run.kind)
        .any(|ran| first_change.is_some_and(|at| ran.at < at) && matches!(ran.went, Went::Failed(_)));
    match &last.went {
        Went::Failed(how) if red_before && view.facts.required.build.is_none() && !view.facts.required.broken_build => {
            Finding::not_run(GATE, format!("{} failed ({how}), as it did before the first change", last.shown()))
        }
        Went::Failed(how) => Finding::failed(
            GATE,
            format!("the last run of {} failed: {how}", last.shown()),
            Todo::high(
                format!(
                    "{} failing: {how}",
                    if last.run.kind == CommandKind::Build { "A build" } else { "A type check" }
                ),
                format!("Fix what {} reports, then run it again.", last.shown()),
            ),
        ),
        Went::Passed(how) => Finding::passed(GATE, format!("{}: {how}", last.shown())),
        Went::Unknown(because) | Went::NotStarted(because) | Went::Empty(because) | Went::Idle(because) => {
            Finding::not_run(GATE, format!("{}: {because}", last.shown()))
        }
    }
}

/// Test commands of compiled languages build first.
fn builds_too(test: &Ran<'_>) -> bool {
    const BUILDERS: [&str; 9] = ["cargo", "go", "mvn", "mvnw", "gradle", "gradlew", "dotnet", "swift", "sbt"];
    let program = test.run.words.first().map_or("", |w| w.rsplit('/').next().unwrap_or_default());
    BUILDERS.contains(&program)
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{Turn, coding, turn};
    use super::*;

    fn built() -> Turn {
        let mut turn = coding();
        turn.required.build = Some("the task asks for it".to_owned());
        turn.signals.builds = vec!["cargo build".to_owned()];
        turn
    }

    #[test]
    fn a_required_build_ran_after_the_last_change_and_passed() {
        built().edit("a.rs").ran("cargo build", 0, "").passes(GATE, "exit status 0");
        built().edit("a.rs").ran("cargo build", 101, "").fails(GATE, "exit status 101");
        built().ran("cargo build", 0, "").edit("a.rs").fails(GATE, "before the last change");
        built().edit("a.rs").ran("cargo test", 0, "").passes(GATE, "builds what it tests");
        built().edit("a.rs").bash("go test ./...").is_silent(GATE, "builds what it tests");
        built().edit("a.rs").bash("npm run build").is_silent(GATE, "not recorded");
        let todo = built().edit("a.rs").fails(GATE, "no build is among").todo.unwrap();
        assert!(todo.action.contains("`cargo build`"));
    }

    #[test]
    fn a_broken_build_is_broken_whether_it_was_required_or_not() {
        coding().edit("a.ts").ran("npm run build", 2, "error TS2322").fails(GATE, "exit status 2");
        coding()
            .ran("npm run build", 2, "")
            .edit("a.ts")
            .ran("npm run build", 2, "")
            .is_silent(GATE, "as it did before");
        coding().edit("a.ts").ran("npx tsc --noEmit", 2, "error TS2322").fails(GATE, "exit status 2");
        coding().edit("a.ts").ran("npx tsc --noEmit", 0, "").is_silent(GATE, "none ran after");
        coding().edit("a.ts").is_silent(GATE, "not required");
        turn("x").ran("npm run build", 2, "").is_silent(GATE, "not required");
    }
}
