//! Which files of a slot have not been touched since it began.

use super::ages::Ages;
use super::layout::{blocking, io_error};
use super::slot::Slot;
use crate::services::WorkspaceError;
use std::sync::Arc;

impl Slot {
    /// Remembers the ages of the files, which were just written: they are those of this tree.
    pub(super) async fn note_ages(&mut self, tree: &str) -> Result<(), WorkspaceError> {
        let (files, tree, listing) = (self.recorder.files.clone(), tree.to_owned(), self.recorder.listing().await?);
        let ages = blocking(move || Ages::of(&files, tree, &listing).map_err(io_error("look through", files.path())));
        self.ages = Arc::new(ages.await?);
        Ok(())
    }

    /// Gives files that have their first content their first age, now that they are those of this tree.
    pub(super) async fn give_ages_back(&self, tree: &str) -> Result<(), WorkspaceError> {
        let ages = Arc::clone(&self.ages);
        let others =
            if ages.tree == tree { Vec::new() } else { self.recorder.difference(&ages.tree, tree).await?.paths };
        let (files, others) = (self.recorder.files.clone(), others.into_iter().collect());
        let given = blocking(move || ages.give_back(&files, &others).map_err(io_error("date", files.path()))).await?;
        if given { self.recorder.refresh().await } else { Ok(()) }
    }
}
