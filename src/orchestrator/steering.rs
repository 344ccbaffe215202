//! What agents may not give themselves: files that steer agents or this runtime.
//!
//! An agent that writes the next agent's instructions, adds a task or loosens a check would decide what is asked and what
//! counts. Such work may be right, and may have been the task; a person merges it, and so what no check tells from no work.

use super::machine::Input;
use super::results::names;
use super::task_run::{TaskPlan, TaskRun, TaskRunError};
use crate::domain::{CheckCommand, EventKind, JournalEntry, MergeOutcome, Needs, Proof, TaskId, policy};
use crate::prompt::as_compared;
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use serde::Deserialize;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, PoisonError};

/// `config/steering.toml`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    project: Vec<String>,
    anywhere: Vec<String>,
    pages: Vec<String>,
}

const TEXT: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/config/steering.toml"));

struct Globs {
    project: GlobSet,
    anywhere: GlobSet,
    pages: GlobSet,
}

/// The file is part of the program, and a test reads it.
static GLOBS: LazyLock<Globs> = LazyLock::new(|| {
    let file: File = toml::from_str(TEXT).unwrap_or_default();
    Globs {
        project: globs("", &file.project, as_compared),
        anywhere: globs("**/", &file.anywhere, as_compared),
        pages: globs("**/", &file.pages, str::to_owned),
    }
});

fn globs(before: &str, globs: &[String], written: fn(&str) -> String) -> GlobSet {
    let mut set = GlobSetBuilder::new();
    for glob in globs {
        let glob = written(glob);
        // In the place of a directory there may be a link.
        let above = glob.match_indices('/').map(|(at, _)| &glob[..at]).filter(|above| !above.contains('*'));
        for glob in above.chain([glob.as_str()]) {
            let glob = GlobBuilder::new(&format!("{before}{glob}")).literal_separator(true).build();
            glob.into_iter().for_each(|glob| _ = set.add(glob));
        }
    }
    set.build().unwrap_or_default()
}

/// Where a project lies.
#[derive(Debug, Clone, Copy)]
pub struct Place<'a> {
    /// The project's directory, from the repository's root.
    pub prefix: &'a Path,
    /// The task file, from the project's directory; none if it lies elsewhere.
    pub tasks: Option<&'a Path>,
    /// The project's directory.
    pub root: &'a Path,
    /// The programs beside checks that its settings name.
    pub named: &'a [CheckCommand],
}

/// Which of these files, given from the repository's root, steer agents or this runtime.
#[must_use]
pub fn steering(files: &[String], place: Place<'_>) -> Vec<String> {
    // In somebody's clone, where the file system knows no case, no forms, or no dots at the end, it is the same file.
    let compared = |path: &Path| {
        let path = as_compared(&path.to_string_lossy());
        let name =
            |name: &'_ str| if name.len() > 2 { name.trim_end_matches(['.', ' ']).to_owned() } else { name.to_owned() };
        PathBuf::from(path.split('/').map(name).collect::<Vec<_>>().join("/"))
    };
    let [prefix, root] = [place.prefix, place.root].map(compared);
    let tasks = place.tasks.map(compared);
    let words = |argv: &Vec<String>| argv.iter().map(|word| as_compared(word)).collect();
    let named = place.named.iter().map(|command| match command {
        CheckCommand::Shell(line) => CheckCommand::Shell(as_compared(line)),
        CheckCommand::Argv(argv) => CheckCommand::Argv(words(argv)),
    });
    let named: Vec<CheckCommand> = named.collect();
    let steers = |file: &&String| {
        let is_page = GLOBS.pages.is_match(file.as_str());
        let file = compared(Path::new(file.as_str()));
        let of_project = file.strip_prefix(&prefix).is_ok_and(|file| {
            let is_named = || named.iter().any(|command| names(command, file, &root));
            GLOBS.project.is_match(file) || tasks.as_deref() == Some(file) || is_named()
        });
        of_project || !is_page && GLOBS.anywhere.is_match(&file)
    };
    files.iter().filter(steers).cloned().collect()
}

impl TaskRun {
    /// Why the committed work is not the runtime's to merge, if so.
    pub(super) fn left_to_person(&self, prefix: &Path) -> Option<MergeOutcome> {
        let files = self.plan.steering(&self.progress.merges, prefix);
        let left = self.plan.context.left_to_person.lock().unwrap_or_else(PoisonError::into_inner);
        let on: Vec<TaskId> =
            self.plan.blockers().into_iter().map(|(_, id)| id).filter(|id| left.contains(id)).collect();
        let branch = self.progress.report.branch.clone()?;
        let proof = self
            .progress
            .last_judged
            .as_ref()
            .and_then(|last| last.proof)
            .filter(|proof| self.shows_too_little(*proof));
        let carried = self.progress.carried.clone();
        let steered: Vec<String> = self.work.steered.iter().cloned().collect();
        let is_left =
            !(files.is_empty() && carried.is_empty() && steered.is_empty() && on.is_empty()) || proof.is_some();
        let size = self.progress.last_judged.as_ref().and_then(|last| last.size);
        is_left.then_some(MergeOutcome::LeftToPerson { files, carried, steered, on, proof, size, branch })
    }

    /// Notes what in the home directory steers tools otherwise than when the run began.
    pub(super) async fn look_at_home(&mut self) -> Result<(), TaskRunError> {
        self.work.steered.extend(self.plan.context.services.workspaces.steered().await?);
        Ok(())
    }

    /// Whether a confirmation rests on too little for the runtime to merge what it confirms.
    fn shows_too_little(&self, proof: Proof) -> bool {
        let merged = self.plan.context.services.settings.run().stayed_green == policy::StayedGreen::Merged;
        let is_enough = proof.shows_a_difference() || (proof == Proof::StayedGreen && merged);
        // What changes nothing is nobody's to look at.
        !is_enough && !self.progress.merges.is_empty()
    }

    /// Writes down that confirmed work stays where it is, and calls a person.
    pub(super) async fn leave_to_person(&mut self, outcome: MergeOutcome) -> Result<Input, TaskRunError> {
        let why = outcome.failed().unwrap_or_default();
        let attempt = self.progress.last_judged.as_ref().map_or(0, |last| last.attempt);
        let entry = JournalEntry::MergeEnded { task: self.plan.task.id.clone(), attempt, outcome, reflection: None };
        self.plan.context.record(entry).await?;
        self.progress.report.needs = Some(Needs::Person);
        let mut left = self.plan.context.left_to_person.lock().unwrap_or_else(PoisonError::into_inner);
        left.insert(self.plan.task.id.clone());
        drop(left);
        let branch = self.progress.report.branch.clone().unwrap_or_default();
        self.plan.publish(EventKind::PersonNeeded {
            actions: vec![format!("look at {branch}, and merge it if it is right: {why}")],
        });
        Ok(Input::LeftToPerson)
    }
}

impl TaskPlan {
    /// Which of these files steer agents or this runtime.
    pub(super) fn steering(&self, files: &[String], prefix: &Path) -> Vec<String> {
        let settings = &self.context.services.settings;
        let project = settings.project();
        let named = settings.named();
        steering(
            files,
            Place { prefix, tasks: project.tasks.strip_prefix(&project.root).ok(), root: &project.root, named },
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_can_be_read() {
        let file: File = toml::from_str(TEXT).unwrap();
        for glob in file.project.iter().chain(&file.anywhere) {
            globset::Glob::new(glob).unwrap();
        }
    }

    #[test]
    fn instructions_are_known_everywhere_and_the_runtimes_own_files_in_the_project() {
        let steers = |file: &str, prefix: &str| {
            let (tasks, root) = (Some(Path::new("todo/tasks.jsonl")), Path::new("/home/ada/shop"));
            let place = Place { prefix: Path::new(prefix), tasks, root, named: &[] };
            !steering(&[file.to_owned()], place).is_empty()
        };
        for file in [
            "CLAUDE.md",
            "web/AGENTS.md",
            "a/.claude/settings.json",
            ".mcp.json",
            ".github/copilot-instructions.md",
            "project.json",
            "memory/reflections.jsonl",
            "todo/tasks.jsonl",
            "a/.claude",
            "claude.md",
            "Web/Agents.MD",
            ".Claude/Settings.json",
            "CLAUDE\u{200d}.md",
            "ＣＬＡＵＤＥ.md",
            "CLAUDE.md.",
            "Memory/reflections.jsonl",
            "Todo/Tasks.jsonl",
            ".Reflection/x",
            "Project.json",
            ".husky/pre-commit",
            "app/.vscode/tasks.json",
            "app/.vscode",
            ".github",
            ".envrc",
        ] {
            assert!(steers(file, ""), "{file}");
        }
        for file in [
            "src/claude.rs",
            "docs/AGENTS.md.txt",
            "docs/agents.md",
            "web/docs/guide/claude.md",
            "web/project.json",
            "tasks.jsonl",
            "src/memory/pool.rs",
        ] {
            assert!(!steers(file, ""), "{file}");
        }
        assert!(
            steers("app/project.json", "app") && steers("app/todo/tasks.jsonl", "app") && steers("CLAUDE.md", "app")
        );
        assert!(!steers("project.json", "app"));
    }

    #[test]
    fn what_the_settings_start_is_known_by_its_name() {
        let named = [
            r#"["python3", "-u", "tools/lesson.py", "--style=docs/style.md"]"#,
            r#"["sh", "-c", "sh ci/ask.sh > out.txt"]"#,
            r#"["/home/ada/shop/bin/judge"]"#,
            r#"["python3", "-m", "qa.notify"]"#,
            r#"["{project}/box.sh", "{workspace}"]"#,
            r#"["node", "./agent"]"#,
            r#""npm ci && sh setup.sh""#,
            r#"["python3", "gen/../gen/make.py"]"#,
            r#""sh $PWD/ci/set.sh""#,
        ]
        .map(|json| serde_json::from_str::<CheckCommand>(json).unwrap());
        let steers = |file: &str| {
            let root = Path::new("/home/ada/shop");
            !steering(&[file.to_owned()], Place { prefix: Path::new("app"), tasks: None, root, named: &named })
                .is_empty()
        };
        for file in [
            "tools/lesson.py",
            "docs/style.md",
            "ci/ask.sh",
            "bin/judge",
            "qa/notify.py",
            "box.sh",
            "agent/index.js",
            "setup.sh",
            "gen/make.py",
            "ci/set.sh",
        ] {
            assert!(steers(&format!("app/{file}")), "{file}");
            assert!(!steers(file), "{file}");
        }
        for file in ["app/out.txt", "app/tools/other.py", "app/src/lesson.py", "app/agents/index.js"] {
            assert!(!steers(file), "{file}");
        }
    }
}
