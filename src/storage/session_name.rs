//! Names of files that belong to a session.

use crate::domain::SessionId;
use sha2::Digest;
use sha2::Sha256;

/// The whole id of a session as a part of a file's name. Sessions of the runtime are UUIDs; an id from elsewhere that is
/// no plain file name is hashed, and stands as it is in the file.
pub(super) fn session_name(session: &SessionId) -> String {
    let id = session.as_str();
    let plain = (1..=128).contains(&id.len())
        && !id.starts_with('.')
        && id.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b));
    if plain { id.to_owned() } else { format!("h-{:x}", Sha256::digest(id.as_bytes())) }
}
