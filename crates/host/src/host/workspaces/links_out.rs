//! Links of the base that lead out of the project: every workspace has them too.

use super::carried::blobs;
use super::recorder::outside;
use super::repository::Repository;
use crate::services::WorkspaceError;
use rustix::fs::Access;
use std::collections::BTreeMap;
use std::path::Path;

/// So many are named.
const NAMED: usize = 5;

/// That what agents write behind such links is no change of the project. One to what the user may not write to, such as the system's own
/// files, is not worth a word.
pub(super) async fn links_out(repository: &Repository, commit: &str) -> Result<Option<String>, WorkspaceError> {
    let git = repository.own();
    let listing = git.call(["ls-tree", "-r", "-z", commit]).ok().await?;
    let listing = String::from_utf8_lossy(&listing);
    // `mode type id TAB path NUL`, again and again.
    let links = listing.split('\0').filter_map(|entry| entry.strip_prefix("120000 blob ")?.split_once('\t'));
    let links: BTreeMap<&str, &str> = links.map(|(id, path)| (path, id)).collect();
    if links.is_empty() {
        return Ok(None);
    }
    let ids = links.values().fold(String::new(), |ids, id| ids + id + "\n");
    let out = git.call(["cat-file", "--batch"]).stdin(ids).ok().await?;
    let targets: BTreeMap<String, String> =
        blobs(&out).into_iter().map(|(id, target)| (id, String::from_utf8_lossy(target).into_owned())).collect();
    let leads_out = |(path, id): (&&str, &&str)| {
        let target = targets.get(*id).filter(|target| may_be_written(target))?;
        outside(path, target, |place| links.contains_key(place))
    };
    let found: Vec<String> = links.iter().filter_map(leads_out).collect();
    Ok((!found.is_empty()).then(|| said(&found)))
}

/// Whether an absolute target, or where it would be made, is the user's; of a relative one the workspace decides.
fn may_be_written(target: &str) -> bool {
    let there = Path::new(target).ancestors().find(|path| path.exists());
    !target.starts_with('/') || there.is_some_and(|there| rustix::fs::access(there, Access::WRITE_OK).is_ok())
}

fn said(found: &[String]) -> String {
    let named: Vec<String> = found.iter().take(NAMED).map(|link| format!("`{link}`")).collect();
    let more = if found.len() > NAMED { format!(" and {} more", found.len() - NAMED) } else { String::new() };
    format!(
        "the project has links that lead out of it, and workspaces have them too: {}{more}. What an agent writes there is no part of its change: it \
         stands there at once, and nothing judges it or takes it back. A sandbox (`sandbox`) keeps agents from writing there",
        named.join(", ")
    )
}
