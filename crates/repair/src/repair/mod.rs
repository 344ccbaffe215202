//! `repair`: a small program-repair agent that searches, without a model, a network or an account.
//!
//! It is no AI. It is there so that anyone can watch the whole loop at once: an attempt fails, a reflection is written, the
//! next attempt reads it and does something else – and with `--no-reflexion` the same agent has no memory and fails to learn.
//! It does repair small real bugs, by generate-and-validate search as `GenProg` (Le Goues et al., TSE 2012) and PAR do it, one
//! edit an attempt, with the runtime's checks as the validation:
//!
//! 1. `briefing` cuts the prompt into task, check output, and what the reflections say was tried;
//! 2. `files` reads the sources; `source`, `outline` and the lexers find functions, constants and tests in them;
//! 3. `edits` lists every small edit; `rule` says how likely its kind is;
//! 4. `evidence` and `suspicion` say where the fault may be, `naturalness` and `oddity` how much
//!    better the code looks afterwards;
//! 5. `rank` puts them in order; `agent` makes the first one that is not in the list of `tried` ones.
//!
//! Everything it knows of earlier attempts comes from its prompt; the same prompt and files always give the same edit.

mod agent;
mod briefing;
mod edits;
mod edits_of_calls;
mod edits_of_statements;
mod evidence;
mod files;
mod lex_braces;
mod lex_python;
mod naturalness;
mod oddity;
mod outline;
mod rank;
mod rule;
mod source;
mod suspicion;
mod token;
mod tried;

pub use agent::Repair;
