//! Removing old lessons by hand.

use super::search::with_lessons;
use crate::domain::policy;
use crate::services::{Lessons, PruneQuery, Pruned, ReflectionError, ReflectionService, Storage};
use std::sync::Arc;

/// As [`ReflectionService::prune`] of a run does it; nothing is started, and no generator is needed.
///
/// # Errors
/// As there.
pub async fn prune_lessons(
    stores: (Arc<dyn Storage>, Arc<dyn Lessons>),
    settings: &policy::Reflexion,
    query: &PruneQuery,
) -> Result<Pruned, ReflectionError> {
    with_lessons(stores, settings).prune(query).await
}
