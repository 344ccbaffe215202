//! Mistakes in new code: do its tests notice them? Nobody wrote such a program, so it is run where it can write to nothing but its room.

use super::Runs;
use super::Walls;
use super::Within;
use super::contradiction_alone;
use super::outcome::Outcome;
use super::parts::Parts;
use crate::domain::Mutants;
use crate::domain::Proof;
use crate::domain::policy;
use crate::orchestrator::judge::Judgement;
use crate::orchestrator::results::no_success;
use crate::orchestrator::review;
use crate::orchestrator::task::TaskRunError;
use crate::prompt::one_line;
use crate::prompt::shorten;
use crate::services::Diff;
use crate::toolchain;

/// A line of a file with another one in its place.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Mistake {
    file: String,
    /// From 1.
    number: usize,
    is: String,
    becomes: String,
}

impl Mistake {
    /// `src/a.py:3: `return a - b` for `return a + b``.
    fn words(&self) -> String {
        let shown = |text: &str| shorten(&one_line(text.trim()), 100).replace('`', "'");
        let Self { file, number, is, becomes } = self;
        format!("{}:{number}: `{}` for `{}`", shown(file), shown(becomes), shown(is))
    }
}

/// Those in guards are made last.
const GUARDS: usize = 1000;

/// How many mistakes are made at most.
const MUTANTS: u32 = 2;

/// Mistakes in the added lines of code, those first that tests notice most surely.
fn mistakes(diff: &str, is_code: impl Fn(&str) -> bool) -> Vec<Mistake> {
    let mut found: Vec<(usize, Mistake)> = Vec::new();
    let mut lines = review::added_lines(diff).peekable();
    while let Some((file, number, is)) = lines.next() {
        if !toolchain::is_code(file) || !is_code(file) {
            continue;
        }
        if let Some(toolchain::Mutant { rank, line }) = toolchain::mutant(file, is) {
            // A condition behind which the code gives up: whatever calls it breaks, and no test has to assert anything.
            let guards = toolchain::gives_up(file, is)
                || lines.peek().is_some_and(|(of, next, line)| {
                    (*of, *next) == (file, number + 1) && toolchain::gives_up(file, line)
                });
            let rank = if guards { rank + GUARDS } else { rank };
            let (file, is) = (file.to_owned(), is.to_owned());
            found.push((rank, Mistake { file, number, is, becomes: line }));
        }
    }
    found.sort_by_key(|(rank, _)| *rank);
    found.into_iter().map(|(_, mistake)| mistake).collect()
}

/// Said where a new test fails without the change as an empty one would.
const NO_ASSERTION: &str = "without the rest of the change, no new test fails by what it asserts";

impl Runs<'_> {
    /// New tests fail without the new code only because it is not there, as an empty test would: do they notice a mistake in it?
    pub(super) async fn of_new_code(&mut self, parts: &Parts, diff: &Diff) -> Result<Judgement, TaskRunError> {
        let proving = self.task.context.services.settings.run().proving;
        if proving.mutants == policy::Mutants::Off {
            return Ok(self.proven(Proof::StayedGreen, NO_ASSERTION));
        }
        let (mut tried, mut broke, mut survived) = (Mutants::default(), false, Vec::new());
        let is_code = |file: &str| !parts.tests.iter().chain(&parts.settings).any(|test| test == file);
        let mistakes = mistakes(&diff.text, is_code);
        let mut why_none = if mistakes.is_empty() {
            "no line of the new code lends itself to a mistake"
        } else {
            "its runs are used up"
        }
        .to_owned();
        for mistake in mistakes {
            // One may take a run with the new tests, one with the old, and both again; the first red one is compared with the whole change.
            let most = if matches!(self.walls, Walls::Unknown) { 5 } else { 4 };
            if matches!(self.walls, Walls::Fail(_))
                || self.counted.runs + most > proving.max_runs
                || tried.survived + tried.killed == MUTANTS
            {
                break;
            }
            let killed = match self.kills(parts, &mistake).await? {
                Ok(Some(killed)) => killed,
                // Something breaks with it, which says nothing of what the tests assert.
                Ok(None) => {
                    broke = true;
                    continue;
                }
                Err(because) => {
                    why_none = because;
                    continue;
                }
            };
            *(if killed { &mut tried.killed } else { &mut tried.survived }) += 1;
            self.counted.mutants = Some(tried);
            if killed {
                let what = format!("its new tests notice a mistake in the new code ({})", mistake.words());
                return Ok(self.proven(Proof::NewTest, &what));
            }
            survived.push(mistake.words());
        }
        Ok(self.proven(
            Proof::StayedGreen,
            &match tried.survived {
                0 if broke => {
                    format!("{NO_ASSERTION}; with a mistake in the new code they break, and none by what it asserts")
                }
                0 => format!("{NO_ASSERTION}, and whether they notice a mistake was not tried: {why_none}"),
                _ => format!("{NO_ASSERTION}, and none notices a mistake in the new code ({})", survived.join("; ")),
            },
        ))
    }

    /// Whether a new test fails with a mistake, by what it asserts, where the old ones do not; none if it only breaks; or why it cannot be
    /// made.
    async fn kills(&mut self, parts: &Parts, mistake: &Mistake) -> Result<Result<Option<bool>, String>, TaskRunError> {
        let workspace = &self.prepared.workspace;
        let (tree, Mistake { file, number, is, becomes }) = (&self.confirmed.change.tree, mistake);
        let no_code = || Ok(Err("no line of the new code lends itself to a mistake".to_owned()));
        let Some(text) = workspace.text(tree, file).await? else { return no_code() };
        if let Some(word) = toolchain::effect(file, &text) {
            let (file, word) = (one_line(file), one_line(&word));
            return Ok(Err(format!(
                "{} may start programs or ask servers (`{}`)",
                shorten(&file, 120),
                shorten(&word, 60)
            )));
        }
        let Some(text) = toolchain::with_line(file, &text, *number, (is, becomes)) else { return no_code() };
        let tree = workspace.with_texts(tree, &[(file.clone(), text)]).await?;
        let with_new = self.twice(&tree, no_success, Within::Walls).await?;
        if let Err(because) = self.walls_hold(&with_new).await? {
            return Ok(Err(because));
        }
        if !with_new.asserts_beyond(&Outcome::default(), parts) {
            return Ok(Ok((!with_new.is_red).then_some(false)));
        }
        let tree = workspace.blend(&tree, &workspace.base(), &parts.with_settings()).await?;
        let with_old = self.twice(&tree, contradiction_alone, Within::Walls).await?;
        Ok(Ok(Some(with_new.asserts_beyond(&with_old, parts))))
    }
}
