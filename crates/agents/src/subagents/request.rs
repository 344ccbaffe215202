//! What every agent's program is told, whatever its kind.

use crate::files::Place;
use crate::services::{AgentRequest, Mode, SubagentError};
use std::collections::BTreeMap;
use std::io;

/// The environment of an agent's program: the request's, under the agent's own, under what the runtime itself says.
pub(super) fn environment(request: &AgentRequest, own: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let mut env = request.env.clone();
    env.extend(own.clone());
    let said = [
        ("REFLEXION_RUN_ID", request.run.to_string()),
        ("REFLEXION_TASK_ID", request.task.to_string()),
        ("REFLEXION_SUBTASK_ID", request.subtask.to_string()),
        ("REFLEXION_ATTEMPT", request.attempt.to_string()),
        ("REFLEXION_SESSION_ID", request.session.to_string()),
        ("REFLEXION_PROMPT_FILE", request.prompt_file.display().to_string()),
    ];
    if request.mode == Mode::ReadOnly {
        // Whoever only answers has no work that its hooks could record.
        env.insert("REFLECTION_MODE".to_owned(), "off".to_owned());
    }
    env.extend(said.map(|(name, value)| (name.to_owned(), value)));
    env
}

/// Writes the prompt's file, which whoever only asks has written already.
///
/// # Errors
/// [`SubagentError::Failed`] with the file.
pub(super) async fn write_prompt(agent: &str, request: &AgentRequest) -> Result<(), SubagentError> {
    if request.mode == Mode::ReadOnly {
        return Ok(());
    }
    let file = &request.prompt_file;
    let (place, prompt) = (Place::within(file, ".reflection"), request.prompt.clone());
    let written = tokio::task::spawn_blocking(move || place.replace_soon(prompt.as_bytes())).await;
    written.map_err(io::Error::other).flatten().map_err(|error| SubagentError::Failed {
        agent: agent.to_owned(),
        message: format!("the prompt could not be written to {}: {error}", file.display()),
    })
}
