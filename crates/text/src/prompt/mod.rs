//! Everything put into a prompt: byte budgets, fences around what others wrote, the reflections' section, and the
//! questions for a reflection and for the parts of a task, together with the readers of their answers.
//!
//! Pure text in, text out. Three rules hold for every part: it has a cap, what came from outside is fenced as data, and
//! nothing is substituted into text that already holds foreign words.

mod attempt;
mod answer;
mod budget;
mod completion;
mod decompose;
mod feedback;
mod fence;
mod json;
mod judge;
mod quote;
mod readable;
mod reflect;
mod reflections;
mod reply;
mod steps;
mod template;

pub use answer::{AnswerError, Answered, AnsweredFile, Wholeness, read_answer};
pub use attempt::{
    AttemptPrompt, DESCRIPTION_BYTES, KnownRed, LastFailure, OUTPUT_BYTES, PartOrigin, go_on, known_failures,
    with_proposed,
};
pub use budget::{
    excerpt, first_bytes, has_no_width, is_invisible, last_bytes, one_line, plain, plain_diff, printable,
    printable_json, shorten, stderr_end,
};
pub use completion::{CompletionPrompt, Fixed, ShownFile};
pub use decompose::{PartsError, decompose_prompt, decompose_schema, parse_parts};
pub use feedback::{Feedback, ask_for_test, nudge, with_finding};
pub use fence::{as_compared, fence, fenced, without_fences};
pub use json::{beginning, objects};
pub use judge::*;
pub use quote::{quote_name, quote_names};
pub use readable::{readable_diff, readable_output, relative};
pub use reflect::{reflect_prompt, reflect_schema};
pub use reflections::{OthersLesson, format_recalled, format_reflections};
pub use reply::{ParseError, Reply, certainty, parse_reply};
pub use steps::AgentSteps;
pub use template::{TemplateError, fill};
