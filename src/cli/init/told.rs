//! What is said about it: prose for people, one document for programs.

use super::found::{Found, quoted};
use super::proposal::{NO_CHECK, checks};
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::Path;

/// What came out.
pub(super) struct Told<'a> {
    /// The directory, as the user named it.
    pub project: &'a Path,
    /// What was found.
    pub found: &'a [Found],
    /// The text of `project.json`.
    pub proposal: &'a Value,
    /// The files that were written; none in a dry run.
    pub written: &'a [String],
    /// The coding agent that was chosen, if one is installed.
    pub agent: Option<&'a str>,
    /// All that are.
    pub installed: &'a [&'static str],
}

impl Told<'_> {
    /// One JSON document.
    pub(super) fn json(&self) -> Value {
        let one = |found: &Found| {
            json!({
                "toolchain": found.toolchain,
                "where": found.place,
                "checks": found.checks,
                "setup": found.setup,
                "carry": found.carry,
                "why": found.why,
            })
        };
        let detected: Vec<Value> = self.found.iter().map(one).collect();
        json!({ "written": self.written, "detected": detected, "project": self.proposal })
    }

    /// What was found and why, what was written, and what to type next.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        for found in self.found {
            found_text(&mut text, found);
        }
        if checks(self.found).is_empty() {
            let nothing = if self.found.is_empty() { "No known toolchain was found. " } else { "" };
            let _ = writeln!(text, "{nothing}{NO_CHECK}\n");
        }
        let _ = writeln!(text, "{}\n", self.chosen());
        if self.written.is_empty() {
            text.push_str("Nothing was written (--dry-run).\n");
            return text;
        }
        let _ = writeln!(text, "Written: {}", self.written.join(", "));
        let at = if self.project == Path::new(".") {
            String::new()
        } else {
            format!(" -C {}", quoted(&self.project.to_string_lossy()))
        };
        let _ = writeln!(
            text,
            "\nNext:\n  reflexion{at} doctor --checks\n  reflexion{at} task add 'What is to be done'{}\n  reflexion{at} run",
            self.example()
        );
        text
    }

    /// Who works, and who could.
    fn chosen(&self) -> String {
        let Some(agent) = self.agent else {
            return "Agent: repair, which is built in and only finds small mistakes: no coding agent was found on PATH.".to_owned();
        };
        let others: Vec<&str> = self.installed.iter().copied().filter(|name| *name != agent).collect();
        let others = if others.is_empty() {
            String::new()
        } else {
            format!(
                " Also installed: {}; `agents.default` names another one, or a list to fall back on.",
                others.join(", ")
            )
        };
        format!("Agent: {agent}.{others}")
    }

    /// A check for the example: a task is confirmed by the project's checks, unless there are none.
    fn example(&self) -> &'static str {
        if checks(self.found).is_empty() { " --check 'a command that must pass'" } else { "" }
    }
}

fn found_text(text: &mut String, found: &Found) {
    let _ = writeln!(text, "{} in {}", found.toolchain, found.place);
    for check in &found.checks {
        let _ = writeln!(text, "  check  {}", check.run);
    }
    for line in &found.setup {
        let _ = writeln!(text, "  setup  {line}");
    }
    for glob in &found.carry {
        let _ = writeln!(text, "  carry  {glob}");
    }
    for (name, value) in &found.env {
        let _ = writeln!(text, "  env    {name}={value}");
    }
    for why in &found.why {
        let _ = writeln!(text, "  - {why}");
    }
    text.push('\n');
}
