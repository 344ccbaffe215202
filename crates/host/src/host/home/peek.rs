//! Reading the beginning of a file that may be anything.

use crate::files::open_named;
use std::io::Read;
use std::path::Path;

/// So many first bytes of a regular file, through whatever links lead to it; none if it cannot be read.
pub(super) fn first_bytes(path: &Path, most: u64) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    open_named(path).ok()?.take(most).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}
