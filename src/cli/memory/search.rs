//! `memory search`: which lessons fit an output.

use super::super::exit::UsageError;
use super::super::output::{errln, outln};
use super::super::{Exit, project};
use super::Memory;
use super::listing::line;
use crate::runtime::{self, FittingLesson};
use crate::services::RecentQuery;
use serde_json::{Value, json};
use std::fs::File;
use std::io::{Read, stdin};
use std::path::Path;

/// What is behind this in an output says nothing more of a failure.
const OUTPUT_BYTES: u64 = 10 * 1024 * 1024;

impl Memory {
    /// Prints the lessons whose words are most like those of a failing program's output, and by which words.
    pub(super) async fn search(&self, file: Option<&Path>, limit: usize, json: bool) -> anyhow::Result<Exit> {
        let output = output(file)?;
        let mut lessons = Vec::new();
        self.each(&RecentQuery::default(), |page| lessons.extend(page)).await?;
        // Of equal ones the newer comes first; the store gives these first.
        lessons.reverse();
        let found = runtime::fitting_lessons(lessons, &output, limit)?;
        if json {
            let lessons: Vec<Value> = found.iter().map(as_json).collect();
            project::print_json(&json!({ "lessons": lessons }))?;
        } else if found.is_empty() {
            errln!("no lesson fits this output");
        } else {
            found.iter().for_each(print);
        }
        Ok(Exit::Confirmed)
    }
}

fn print(found: &FittingLesson) {
    outln!("{:>3.0} %  {}", found.score * 100.0, line(&found.reflection));
    outln!("       both say: {}", found.shared.join(", "));
    outln!("       {}", found.reflection.suggestion);
}

fn as_json(found: &FittingLesson) -> Value {
    json!({ "score": found.score, "shared": found.shared, "reflection": found.reflection })
}

/// The end of a file, or of what is piped in.
pub(super) fn output(file: Option<&Path>) -> anyhow::Result<String> {
    let mut bytes = Vec::new();
    match file {
        None => stdin().take(OUTPUT_BYTES).read_to_end(&mut bytes)?,
        Some(path) => {
            let error = |error| {
                let path = path.display();
                UsageError(format!("{path}: {error}; name a file with what a failing command printed, or pipe it in"))
            };
            if !path.metadata().map_err(error)?.is_file() {
                let path = path.display();
                return Err(UsageError(format!("{path} is no file; name one, or pipe the output in")).into());
            }
            File::open(path).map_err(error)?.take(OUTPUT_BYTES).read_to_end(&mut bytes).map_err(error)?
        }
    };
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
