//! The risk of a change, for people.

use crate::domain::{Risk, RiskThreshold, Surface};
use std::fmt::Write as _;

/// So many files are listed.
const LISTED: usize = 50;

/// A risk, with what it comes from.
#[derive(Debug, Clone)]
pub struct RiskShown<'r> {
    /// The risk.
    pub risk: &'r Risk,
    /// From which score on somebody should look.
    pub threshold: RiskThreshold,
    /// What the files were compared with, if with anything.
    pub against: Option<&'r str>,
    /// The files, the heaviest first.
    pub files: Vec<(Surface, &'r str)>,
}

impl RiskShown<'_> {
    /// A line for the whole, and one for every file.
    #[must_use]
    pub fn render(&self) -> String {
        let Risk { needs_review, score, surface, .. } = self.risk;
        let needs = if *needs_review { "needs review" } else { "needs no review" };
        let against = self.against.map(|base| format!(", against {base}")).unwrap_or_default();
        let mut text = format!("{needs}: {surface} {score} (threshold {}{against})\n", self.threshold);
        for (surface, file) in self.files.iter().take(LISTED) {
            let what = if file.ends_with('/') { " (a repository of its own)" } else { "" };
            let _ = writeln!(text, "  {surface:5} {}{what}", file.escape_debug());
        }
        match self.files.len().saturating_sub(LISTED) {
            0 => {}
            more => text.push_str(&format!("  and {more} more\n")),
        }
        if self.files.is_empty() {
            text.push_str("  nothing was changed\n");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_for_the_whole_and_one_for_every_file() {
        let threshold = RiskThreshold::default();
        let risk = Risk::of(["a.md", "src/auth.rs"], threshold);
        let files = vec![(Surface::Auth, "src/auth.rs"), (Surface::Docs, "a.md")];
        let shown = RiskShown { risk: &risk, threshold, against: Some("origin/main"), files };
        assert_eq!(
            shown.render(),
            "needs review: auth 1 (threshold 0.5, against origin/main)\n  auth  src/auth.rs\n  docs  a.md\n"
        );
        let risk = Risk::of::<&str>([], threshold);
        let inner = RiskShown { risk: &risk, threshold, against: None, files: vec![(Surface::Build, "in/")] };
        assert!(inner.render().ends_with("  build in/ (a repository of its own)\n"), "{}", inner.render());
        let nothing = RiskShown { risk: &risk, threshold, against: None, files: Vec::new() };
        assert_eq!(nothing.render(), "needs no review: none 0 (threshold 0.5)\n  nothing was changed\n");
        let many = RiskShown { files: vec![(Surface::None, "a"); 60], ..nothing };
        assert!(many.render().ends_with("  none  a\n  and 10 more\n"), "{}", many.render());
    }
}
