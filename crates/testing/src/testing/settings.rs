//! Settings as plain values.

use crate::domain::{COMMON_SETTINGS, policy};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The settings of an empty file, in a project directory that does not exist, with one agent named `scripted`.
/// Change what the test is about by hand.
#[must_use]
pub fn fixed_settings() -> policy::Values {
    let root = PathBuf::from("/nonexistent/project");
    policy::Values {
        project: policy::Project {
            name: "test".to_owned(),
            settings: COMMON_SETTINGS,
            tasks: root.join("tasks.jsonl"),
            rooms: root.join("rooms"),
            root,
        },
        run: policy::Run {
            max_attempts: 3,
            jobs: 1,
            retry_start: policy::RetryStart::Auto,
            limit_wait: policy::LimitWait::On,
            decompose: policy::Decompose::Off,
            decomposer: policy::Decomposer::Nobody,
            checks: Vec::new(),
            protect: Vec::new(),
            tests: Vec::new(),
            budgets: policy::Budgets::default(),
            keep_awake: policy::KeepAwake::default(),
            stayed_green: policy::StayedGreen::default(),
            proving: policy::Proving::default(),
            healer: policy::Healer::default(),
        },
        reflexion: policy::Reflexion { hold_out: false, ..policy::Reflexion::default() },
        agents: policy::Agents {
            default: vec!["scripted".to_owned()],
            by_label: Vec::new(),
            by_size: Vec::new(),
            by_category: BTreeMap::new(),
            history: policy::RouteHistory::Off,
            escalation: policy::Escalation::default(),
            named: BTreeMap::new(),
        },
        workspace: policy::Workspace {
            setup: None,
            carry: Vec::new(),
            carry_limit_bytes: 2048 << 20,
            min_free_bytes: 0,
            max_change_bytes: 256 << 20,
            transcripts_bytes: 1 << 30,
            env: BTreeMap::new(),
        },
        environment: policy::Environment::default(),
        verification: policy::Verification::default(),
        risk: policy::Risk::default(),
        notify: Vec::new(),
        redaction_rules: None,
        toolchains: Vec::new(),
        named: Vec::new(),
    }
}
