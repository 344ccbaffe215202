//! The hash by which two failures are the same.

use crate::domain::Signature;
use sha2::{Digest, Sha256};
use std::fmt::Write as _;

/// Names the rules that lead to a fingerprint; whoever changes what goes into one raises it.
const VERSION: &str = "v1";

/// So many bytes of the hash are kept: among a million failures two different ones meet with odds of 1 to 30 million.
const BYTES: usize = 8;

/// The fingerprint of a signature whose other fields are complete; `place` is what stays of its frame when lines move.
///
/// Out of time and out of memory, what was printed until then is chance: only tool and kind count.
pub(super) fn fingerprint(signature: &Signature, place: Option<&str>) -> String {
    let mut hash = Sha256::new();
    let mut part = |text: &str| {
        hash.update(text.as_bytes());
        // Cannot occur in a line of text, so no two lists of parts run together alike.
        hash.update([0x1f]);
    };
    part(&signature.tool);
    if signature.timed_out {
        part("timed out");
    } else if signature.out_of_memory {
        part("out of memory");
    } else {
        part(signature.code.as_deref().unwrap_or_default());
        part(&signature.tests.join("\n"));
        part(place.unwrap_or_default());
        part(signature.message.as_deref().unwrap_or_default());
        part(&signature.exit_status.map_or(String::new(), |status| status.to_string()));
        part(&signature.signal.map_or(String::new(), |signal| signal.to_string()));
    }
    let mut text = format!("{VERSION}:");
    for byte in &hash.finalize()[..BYTES] {
        let _ = write!(text, "{byte:02x}");
    }
    text
}
