//! Evidence gates: deterministic, three-valued, and never an average.

use super::context::RepositorySignals;
use super::context::Requirements;
use crate::domain::GateReport;
use crate::services::RemoteState;
use crate::services::TurnEvidence;

/// What the gates look at.
#[derive(Debug, Clone, Copy)]
pub struct Facts<'a> {
    /// The turn.
    pub turn: &'a TurnEvidence,
    /// What must be there.
    pub required: &'a Requirements,
    /// How the project is tested and built.
    pub signals: &'a RepositorySignals,
    /// What the remote says, if somebody asked.
    pub remote: Option<&'a RemoteState>,
}

/// Every gate's answer, in a fixed order.
#[must_use]
pub fn gates(_facts: &Facts<'_>) -> Vec<GateReport> {
    Vec::new()
}
