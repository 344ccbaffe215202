//! A failed attempt to begin a test with.

use crate::domain::{
    CheckCommand, Ending, FailedCheck, FailureContext, FailureType, Output, SessionId, Signature, SubtaskId, TaskId,
};

/// Attempt 1 on `cart`: `./verify.sh` exits with 3 and says why.
pub(crate) fn test_failure() -> FailureContext {
    FailureContext {
        v: 1,
        id: "fail-1".to_owned(),
        session_id: SessionId::new("ses-1"),
        task_id: TaskId::new("cart").expect("a fine id"),
        subtask_id: SubtaskId::new("cart").expect("a fine id"),
        subtask_description: "Make the cart add up".to_owned(),
        acceptance_criteria: "the check passes".to_owned(),
        attempt_number: 1,
        failure_type: FailureType::FalseDone,
        ending: Ending::Finished,
        ran: Vec::new(),
        todo: Vec::new(),
        refuted_by: None,
        check: Some(FailedCheck {
            name: "verify".to_owned(),
            run: CheckCommand::Shell("./verify.sh".to_owned()),
            exit_status: Some(3),
            signal: None,
            timed_out: false,
        }),
        output: Output::whole("expected 3, got 4\n"),
        signature: Signature {
            tool: "shell".to_owned(),
            exit_status: Some(3),
            message: Some("expected <n>, got <n>".to_owned()),
            fingerprint: "v1:0123456789abcdef".to_owned(),
            ..Signature::default()
        },
        flaky: Vec::new(),
        known_failures: Vec::new(),
        files_left: Vec::new(),
        files_changed: vec!["cart.py".to_owned()],
        diff_hash: "d1".to_owned(),
        diff: String::new(),
        steps: Vec::new(),
        steps_left_out: 0,
        agent_message: "All done.".to_owned(),
        previous_reflections: Vec::new(),
        followed: Vec::new(),
        passed: None,
        created_at: "2026-01-02T03:04:05Z".parse().expect("a fine time"),
    }
}
