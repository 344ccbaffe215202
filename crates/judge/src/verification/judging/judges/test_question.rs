//! A question to judges in tests.

use crate::domain::SessionId;
use crate::services::{JudgeQuestion, JudgeRole, OpenQuestion};

pub(in crate::verification::judging) const YES: &str = r#"{"complete": true, "severity": "NONE", "feedback": "", "missing": [], "next_actions": [], "requires_human_action": false}"#;

pub(in crate::verification::judging) fn question() -> JudgeQuestion {
    JudgeQuestion {
        v: 1,
        role: JudgeRole::Judge,
        session: SessionId::new("ses-1".to_owned()),
        task: "Fix the cart".to_owned(),
        actions: vec!["$ ./t → exit status 0".to_owned()],
        diff: "+ fixed".to_owned(),
        response: "All green.".to_owned(),
        reasons: Vec::new(),
        instructions: String::new(),
    }
}

pub(in crate::verification::judging) fn open() -> OpenQuestion {
    OpenQuestion { prompt: "Why?".to_owned(), schema: serde_json::json!({ "type": "object" }) }
}
