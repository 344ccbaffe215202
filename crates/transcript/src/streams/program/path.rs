//! Where in a record something stands.

use serde::Deserialize;

/// A JSON pointer without escapes: `/message/content`, `/errors/0`; empty for the whole.
///
/// With `^` before it, it starts at the record and not at the entry that a rule is looking at.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct Path {
    from_record: bool,
    steps: Vec<String>,
}

impl Path {
    pub fn is_of_record(&self) -> bool {
        self.from_record
    }

    pub fn steps(&self) -> &[String] {
        &self.steps
    }
}

impl TryFrom<String> for Path {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let (from_record, rest) = text.strip_prefix('^').map_or((false, text.as_str()), |rest| (true, rest));
        let steps = match rest.strip_prefix('/') {
            Some(steps) => steps.split('/').map(str::to_owned).collect(),
            None if rest.is_empty() => Vec::new(),
            None => return Err(format!("`{text}` is no path; it starts with `/`")),
        };
        Ok(Self { from_record, steps })
    }
}
