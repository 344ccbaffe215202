//! Go modules.

use super::found::Found;
use super::package::Package;

/// What a `go.mod` asks for; the modules of a `go.work` are found below it.
pub(super) fn find(package: &Package) -> Option<Found> {
    if !package.has("go.mod") {
        return None;
    }
    let mut found = Found::new("go");
    found.check("go test", "go test ./...");
    found.because("go.mod: `go test ./...` builds, vets and tests every package; Go's own caches make setup needless.");
    Some(found)
}
