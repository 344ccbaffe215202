//! Reflections as lines.

use super::lines::{MAX_LINE, bare, json_problem};
use super::seal::SEAL_BYTES;
use crate::domain::Reflection;
use serde::Deserialize;

/// What a line holds.
pub(super) enum Decoded {
    /// A reflection.
    Record(Box<Reflection>),
    /// Nothing.
    Blank,
    /// Something that stays as it is, and why.
    Unreadable(String),
}

/// Lines for the given reflections, or the reason why one of them could not be read back.
pub(super) fn encode(reflections: &[Reflection]) -> Result<Vec<u8>, String> {
    let mut lines = Vec::with_capacity(reflections.len() * 1024);
    for reflection in reflections {
        let start = lines.len();
        reflection.storable()?;
        jsonl::write(&mut lines, reflection).map_err(|e| e.to_string())?;
        if lines.len() - start > MAX_LINE - SEAL_BYTES {
            return Err(format!("reflection `{}` is larger than {MAX_LINE} bytes", reflection.id));
        }
    }
    Ok(lines)
}

/// Reads one line; `None` stands for a line that is too long to be read.
pub(super) fn decode(line: Option<&[u8]>) -> Decoded {
    let Some(line) = line.filter(|l| l.len() <= MAX_LINE) else {
        return Decoded::Unreadable(format!("longer than {MAX_LINE} bytes"));
    };
    let line = bare(line);
    if line.is_empty() {
        return Decoded::Blank;
    }
    if !line.starts_with(b"{") {
        return Decoded::Unreadable("not a JSON object".to_owned());
    }
    match serde_json::from_slice::<Reflection>(line) {
        Ok(reflection) if reflection.v <= Reflection::VERSION => Decoded::Record(Box::new(reflection)),
        Ok(reflection) => Decoded::Unreadable(newer(reflection.v)),
        Err(error) => Decoded::Unreadable(match serde_json::from_slice::<Versioned>(line) {
            Ok(record) if record.v > Reflection::VERSION => newer(record.v),
            _ => json_problem(&error),
        }),
    }
}

/// All that is known of a record of a future version.
#[derive(Deserialize)]
struct Versioned {
    #[serde(default)]
    v: u32,
}

/// Why a record of a future version is not read.
pub(super) fn newer(v: u32) -> String {
    format!("format version {v} is newer than this program's {}", Reflection::VERSION)
}
