//! Streams of our own (`tests/fixtures/streams/`), so that every ending is tested without recordings too.

use super::Play;
use super::play;
use crate::services::CommandEnd;
use std::fs;
use std::path::PathBuf;
