//! The experiments, and what would end the idea behind each; written down before any data was seen.

/// An experiment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Experiment {
    /// P1: does an agent's confidence tell right work from wrong?
    Calibration,
    /// P2: which gate would have caught what had to be repaired soon after?
    GitHistory,
    /// P3: how often does anything say afterwards whether finished work was right?
    BoardHistory,
}

impl Experiment {
    /// The question.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Calibration => "Calibration (P1): does confidence tell right work from wrong?",
            Self::GitHistory => "Git history (P2): which gate would have caught what was repaired soon after?",
            Self::BoardHistory => "Board history (P3): does anything say afterwards whether finished work was right?",
        }
    }

    /// What ends the idea, decided before any data was seen.
    #[must_use]
    pub fn kill_condition(self) -> &'static str {
        match self {
            Self::Calibration => {
                "AUC <= 0.60, or the observations with confidence >= 0.8 are right at most 5 points more often than all"
            }
            Self::GitHistory => {
                "fewer than 5 % of the repairs soon after a change are such that only self-reflection would have caught \
                 what was wrong, not CI and not review"
            }
            Self::BoardHistory => {
                "fewer than 20 % of the finished tasks have a machine-detectable right/wrong signal within 30 days"
            }
        }
    }

    /// What the question and the condition look like, before anything is read.
    #[must_use]
    pub fn heading(self) -> String {
        format!("# {}\n\nKill condition, written down beforehand: {}.\n", self.title(), self.kill_condition())
    }
}
