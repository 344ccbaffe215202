//! Text that grows while an agent speaks, within a limit.

/// At most so many bytes of one message are kept.
const LIMIT: usize = 256 * 1024;

/// The beginning of a text that is told in pieces; what is left out is counted.
#[derive(Debug, Default)]
pub(super) struct Capped {
    text: String,
    missing: usize,
}

impl Capped {
    /// Adds a piece.
    pub fn push(&mut self, piece: &str) {
        let room = LIMIT.saturating_sub(self.text.len());
        let fits = if self.missing > 0 { "" } else { crate::prompt::first_bytes(piece, room) };
        self.text.push_str(fits);
        self.missing += piece.len() - fits.len();
    }

    /// The text, and begins anew.
    pub fn take(&mut self) -> String {
        let Self { mut text, missing } = std::mem::take(self);
        if missing > 0 {
            text.push_str(&format!("\n[{missing} more bytes]"));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_counted() {
        let mut text = Capped::default();
        text.push("ab");
        assert_eq!(text.take(), "ab");
        text.push(&"x".repeat(LIMIT - 1));
        text.push("éé");
        text.push("y");
        let text = text.take();
        assert_eq!(text[LIMIT - 1..], *"\n[5 more bytes]");
    }
}
