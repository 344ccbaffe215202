//! Which agents a task is given to.

use crate::domain::Task;
use crate::domain::policy::Agents;

/// The fallback chain of a task: what the call asks for, else the task's own agent, else that of the first configured
/// label which the task has, else the default. Never empty.
///
/// The next agent of a chain works where the one before is missing, not logged in, or out of quota; an agent that was
/// asked for by name has no stand-in.
///
/// ```
/// # use reflexion::domain::{Task, policy::Agents};
/// # use reflexion::orchestrator::router::chain;
/// let agents = Agents {
///     default: vec!["claude".into(), "codex".into()],
///     by_label: vec![("docs".into(), vec!["gemini".into()])],
///     ..Agents::default()
/// };
/// let task: Task = serde_json::from_str(r#"{"id":"t","title":"T","labels":["docs"]}"#)?;
/// assert_eq!(chain(&agents, &task, None), ["gemini"]);
/// assert_eq!(chain(&agents, &task, Some("codex")), ["codex"]);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[must_use]
pub fn chain(agents: &Agents, task: &Task, asked: Option<&str>) -> Vec<String> {
    if let Some(agent) = asked.or(task.agent.as_deref()) {
        return vec![agent.to_owned()];
    }
    let labelled = agents.by_label.iter().find(|(label, _)| task.labels.contains(label));
    labelled.map_or(&agents.default, |(_, chain)| chain).clone()
}
