//! What becomes of lessons that are too old.

use super::service::ReflectionServiceLive;
use crate::curation::{MOST_EXPIRED, Worth, days_before, expired, known, worth_keeping};
use crate::domain::{Reflection, ReflectionId};
use crate::services::{PruneQuery, PruneReport, Pruned, RecentQuery, ReflectionError, StorageError};
use std::collections::{BTreeMap, BTreeSet};

/// Removes what is too old, but nothing that somebody or its effect speaks for.
pub(super) async fn prune(service: &ReflectionServiceLive, query: &PruneQuery) -> Result<Pruned, ReflectionError> {
    let days = service.settings.retention_days;
    let older_than = query.older_than.unwrap_or_else(|| days_before(service.clock.now(), days));
    let worth = worth(service).await?;
    let mut pruned = Pruned::default();
    let (mut all, mut removed) = (0, 0);
    each(service, |one| {
        all += 1;
        if one.created_at < older_than {
            match worth.get(&one.id) {
                Some(Worth::Pinned) => pruned.pinned += 1,
                Some(Worth::Useful) => pruned.useful += 1,
                Some(Worth::Promoted) => pruned.promoted += 1,
                None => removed += 1,
            }
        }
    })
    .await?;
    let would = PruneReport { removed, kept: all - removed, unreadable: 0 };
    let keep: BTreeSet<ReflectionId> = worth.into_keys().collect();
    let report = if query.dry_run { would } else { service.storage.prune(older_than, &keep).await? };
    Ok(Pruned { report, ..pruned })
}

/// Ends lessons that are too old, as lines that a person may take back; how many.
pub(super) async fn expire(service: &ReflectionServiceLive) -> Result<usize, ReflectionError> {
    let record = service.lessons.read().await?.whole()?;
    let (days, now) = (service.settings.retention_days, service.clock.now());
    let (older_than, is_known) = (days_before(now, days), known(&record));
    let (mut lessons, mut unknown) = (Vec::new(), 0);
    each(service, |one| {
        let is_old = one.created_at < older_than && unknown < MOST_EXPIRED;
        if !one.foreign && (is_known(one) || is_old) {
            unknown += usize::from(!is_known(one));
            lessons.push(one.clone());
        }
    })
    .await?;
    lessons.reverse();
    let events = expired(&lessons, &record, days, now);
    if !events.is_empty() {
        service.lessons.append(&events).await?;
    }
    Ok(events.len())
}

/// The lessons that stay however old they are. Only those are held in memory of which something is known.
async fn worth(service: &ReflectionServiceLive) -> Result<BTreeMap<ReflectionId, Worth>, ReflectionError> {
    let record = service.lessons.read().await?.whole()?;
    let is_known = known(&record);
    let mut lessons = Vec::new();
    each(service, |one| {
        if !one.foreign && is_known(one) {
            lessons.push(one.clone());
        }
    })
    .await?;
    lessons.reverse();
    Ok(worth_keeping(&lessons, &record))
}

/// Looks at every lesson, the last appended first, page by page.
async fn each(service: &ReflectionServiceLive, mut look: impl FnMut(&Reflection)) -> Result<(), StorageError> {
    let mut before = None;
    loop {
        let page = service.storage.page(&RecentQuery::default(), before).await?;
        page.reflections.iter().for_each(&mut look);
        before = page.next;
        if before.is_none() {
            return Ok(());
        }
    }
}
