//! Which lessons go into a prompt.

use super::index::{Index, Match, SIMILAR_LINES, SIMILAR_WORDS, Same};
use super::key::{CommonTests, Fingerprinted as _};
use super::lesson::{Lesson, Project};
use crate::curation::{Order, State, contradict, orders};
use crate::domain::{FailureKey, Fit, LeftOut, Reflection, Source};
use std::cmp::Ordering;

/// A first attempt sees a lesson only if it was measured to help with this probability,
const FIRST_HELPS: f64 = 0.9;
/// if the task names so much of what its failure is known by,
const FIRST_NAMED: f64 = 0.5;
/// and so many words of it.
const FIRST_WORDS: usize = 2;
/// What stands around a lesson in a prompt: its heading and the labels of its lines.
const HEADING_TOKENS: usize = 24;
/// So many near misses are explained.
const NEAR_MISSES: usize = 5;

/// What lessons are wanted for.
#[derive(Debug, Clone, Default)]
pub struct Query {
    /// The task.
    pub task: String,
    /// Its part; the same as the task where it has none.
    pub subtask: String,
    /// How the last attempt failed; none before the first.
    pub failure: Option<FailureKey>,
    /// Title and description of the task.
    pub task_text: String,
}

/// How much may be chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Tokens for lessons of other tasks together, as [`estimated_tokens`] counts them; those of the task itself are cut to the prompt's budget.
    pub tokens: usize,
    /// Lessons of the task itself.
    pub own: usize,
    /// Lessons of other tasks and other projects together.
    pub foreign: usize,
}

impl Default for Limits {
    /// One of each and 400 tokens: where it was tried with more (`ReasoningBank`, `SkillsBench`), each further lesson made it worse.
    fn default() -> Self {
        Self { tokens: 400, own: 1, foreign: 1 }
    }
}

/// What was chosen, in the order of the prompt, and what was near and left out. Both may be empty.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Chosen {
    /// Chosen lessons.
    pub fits: Vec<Fit>,
    /// Lessons of the task, and similar ones, that were not chosen; never all the others.
    pub left_out: Vec<LeftOut>,
}

/// About how many tokens a lesson takes in a prompt: a quarter of its ASCII characters, as English and code have about four to a token
/// ([OpenAI's rule of thumb](https://help.openai.com/en/articles/4936856)), one for each other character, and 24 for what stands around it.
///
/// ```
/// # use reflexion_core::domain::Reflection;
/// # let line = r#"{"id":"r","sessionId":"s","taskId":"t","subtaskId":"t","attemptNumber":1,"category":"root_cause",
/// #   "analysis":"the sum starts at one","suggestion":"start at zero","createdAt":"2026-01-02T03:04:05Z"}"#;
/// let reflection: Reflection = serde_json::from_str(line)?;
/// assert_eq!(reflexion_memory::recall::estimated_tokens(&reflection), 33);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[must_use]
pub fn estimated_tokens(reflection: &Reflection) -> usize {
    let tried = reflection.already_tried.as_ref();
    let texts = [&reflection.analysis, &reflection.suggestion].into_iter().chain(&reflection.action_items).chain(tried);
    let (mut ascii, mut others) = (0, 0);
    for text in texts {
        let of_text = text.bytes().filter(u8::is_ascii).count();
        ascii += of_text + 1;
        others += text.chars().count() - of_text;
    }
    HEADING_TOKENS + ascii / 4 + others
}

impl Index<'_> {
    /// Chooses lessons for an attempt.
    ///
    /// Own ones first: the latest of the subtask, then of the task. Then those about the same or a similar failure in other tasks of this project, then in other
    /// projects. Nearness only lets a lesson in; among those let in the one comes first that was measured to help, then the same failure before a similar
    /// one, then the nearer, then the newer. Before a first attempt nothing has failed: only a lesson that proved itself and whose tests, files or codes
    /// the task names is let in. Of two that contradict one another the first stays.
    ///
    /// The same lessons, query and limits give the same answer.
    #[must_use]
    pub fn recall(&self, query: &Query, limits: &Limits) -> Chosen {
        let mut choice = Choice {
            lessons: self.lessons,
            common: self.common_tests(),
            limits,
            tokens: 0,
            taken: Vec::new(),
            chosen: Chosen::default(),
        };
        for (doc, why) in self.own(query) {
            choice.offer(doc, (Source::Own, 1.0, why));
        }
        for other in self.of_others(query, &mut choice.chosen.left_out) {
            choice.offer(other.doc, (other.source, other.score, other.why));
        }
        choice.chosen
    }

    /// Lessons of the task: of the subtask first, the newest first.
    fn own(&self, query: &Query) -> Vec<(usize, String)> {
        let mine = |doc: &usize| self.lessons[*doc].project == Project::Own;
        let mut own: Vec<usize> = self.of_task(&query.task).filter(mine).collect();
        own.sort_by_key(|doc| (self.lessons[*doc].reflection.subtask_id != query.subtask, std::cmp::Reverse(*doc)));
        let why = |doc: usize| {
            let reflection = &self.lessons[doc].reflection;
            let of = if reflection.subtask_id == query.subtask { "this part" } else { "another part" };
            (doc, format!("it is of {of} of the task, attempt {}", reflection.attempt_number))
        };
        own.into_iter().map(why).collect()
    }

    /// Lessons of other tasks that are let in, the best first.
    fn of_others(&self, query: &Query, left_out: &mut Vec<LeftOut>) -> Vec<Candidate> {
        let other = |doc: usize| {
            let lesson = &self.lessons[doc];
            is_of_another(lesson, query) && kept_from_others(lesson).is_none()
        };
        let mut let_in = match &query.failure {
            Some(failure) => self.failed_alike(failure, other, left_out),
            None => self.named_by(&query.task_text, other),
        };
        let_in.sort_by(|a, b| a.order(b, self.lessons));
        let_in
    }

    fn failed_alike(
        &self,
        failure: &FailureKey,
        may: impl Fn(usize) -> bool,
        left_out: &mut Vec<LeftOut>,
    ) -> Vec<Candidate> {
        // What works with one tool need not with another, and of another project nothing else is known to be alike.
        let may = |doc: usize| {
            let lesson = &self.lessons[doc];
            may(doc) && (lesson.project == Project::Own || lesson.failure.tool == failure.tool)
        };
        // Nor is a failure that is only similar there.
        let is_near =
            |one: &Match| one.same.is_some() || (one.is_similar() && self.lessons[one.lesson].project == Project::Own);
        let (near, far): (Vec<Match>, Vec<Match>) = self.like(failure, may).into_iter().partition(is_near);
        let misses = far.iter().take(NEAR_MISSES).filter(|far| far.score() > 0.0);
        left_out.extend(misses.map(|far| self.too_far(far)));
        near.iter().map(|near| Candidate::like(near, &self.lessons[near.lesson])).collect()
    }

    fn named_by(&self, text: &str, may: impl Fn(usize) -> bool) -> Vec<Candidate> {
        let proved = |doc: usize| may(doc) && is_proved(&self.lessons[doc]);
        let named = self.named_in(text, proved).into_iter();
        let enough = named.filter(|(_, share, words)| *share >= FIRST_NAMED && words.len() >= FIRST_WORDS);
        enough.map(|(doc, share, words)| Candidate::named(doc, share, &words, &self.lessons[doc])).collect()
    }

    fn too_far(&self, far: &Match) -> LeftOut {
        let lesson = &self.lessons[far.lesson];
        LeftOut { lesson: lesson.reflection.id.clone(), why: not_near(far, lesson) }
    }

    /// Why a lesson was not even near to being chosen: for what [`Index::recall`] has neither chosen nor left out, in the order in which it looks.
    ///
    /// `like` is how like its failure is to the query's, as [`Index::like`] says it.
    #[must_use]
    pub fn why_not(&self, query: &Query, lesson: usize, like: Option<&Match>) -> String {
        let Some(lesson) = self.lessons.get(lesson) else { return "there is no such lesson".to_owned() };
        if !is_of_another(lesson, query) {
            return "it is of this task".to_owned();
        }
        if let Some(why) = kept_from_others(lesson) {
            return why;
        }
        let Some(failure) = &query.failure else { return not_named(lesson) };
        if lesson.project != Project::Own && lesson.failure.tool != failure.tool {
            return format!("it is of another project and about {}, not {}", lesson.failure.tool, failure.tool);
        }
        match like {
            Some(like) if like.score() > 0.0 && !(like.is_similar() && lesson.project == Project::Own) => {
                not_near(like, lesson)
            }
            Some(like) if like.is_similar() => "others are nearer".to_owned(),
            _ => "its failure has no line and no word in common with this one".to_owned(),
        }
    }
}

fn not_near(far: &Match, lesson: &Lesson) -> String {
    let Match { lines, words, .. } = far;
    if lesson.project != Project::Own {
        return "it is of another project, and its failure is not the same".to_owned();
    }
    format!(
        "its failure is not near enough: {:.0} % of the error lines (wanted: {:.0}), {:.0} % of the words (wanted: {:.0})",
        lines * 100.0,
        SIMILAR_LINES * 100.0,
        words * 100.0,
        SIMILAR_WORDS * 100.0
    )
}

/// Why a lesson that other tasks may see is shown to none before something has failed there.
fn not_named(lesson: &Lesson) -> String {
    let wanted = FIRST_HELPS * 100.0;
    match lesson.helps {
        _ if is_proved(lesson) => "the task does not name what it is about".to_owned(),
        Some(helps) if lesson.state == State::Active => format!(
            "before something has failed, only what helps with a probability of {wanted:.0} % is shown; it does with {:.0} %",
            helps * 100.0
        ),
        _ => format!(
            "before something has failed, only what was measured to help is shown; it is not measured enough ({})",
            lesson.state.as_str()
        ),
    }
}

/// Whether it was measured to help, so that a first attempt may see it.
fn is_proved(lesson: &Lesson) -> bool {
    lesson.state == State::Active && lesson.helps.is_some_and(|helps| helps >= FIRST_HELPS)
}

fn is_of_another(lesson: &Lesson, query: &Query) -> bool {
    lesson.reflection.task_id != query.task || lesson.project != Project::Own
}

/// Why no other task may see a lesson; none where one may.
fn kept_from_others(lesson: &Lesson) -> Option<String> {
    let far_enough = matches!(lesson.state, State::Probation | State::Active);
    if far_enough && !lesson.reflection.foreign {
        return None;
    }
    let home = lesson.state.is_live() && !lesson.reflection.foreign;
    Some(if home { format!("only its own task sees it ({})", lesson.state.as_str()) } else { apart(lesson) })
}

/// A lesson of another task that is let in.
struct Candidate {
    doc: usize,
    source: Source,
    score: f64,
    why: String,
}

impl Candidate {
    fn like(near: &Match, lesson: &Lesson) -> Self {
        let what = match near.same {
            Some(Same::Structure) => "the same failure: equal tool, code, tests and place".to_owned(),
            Some(Same::Lines) => "the same failure: every error line is equal".to_owned(),
            None => {
                let words: Vec<String> = near.shared.iter().map(|word| format!("`{word}`")).collect();
                let (lines, score) = (near.lines * 100.0, near.words * 100.0);
                format!(
                    "a similar failure: {lines:.0} % of the error lines, {score:.0} % of the words ({})",
                    words.join(", ")
                )
            }
        };
        let score = if near.same.is_some() { 1.0 } else { near.lines.max(near.words) };
        let source = match lesson.project {
            Project::Other(_) => Source::Promoted,
            Project::Own if near.same.is_some() => Source::Same,
            Project::Own => Source::Similar,
        };
        Self { doc: near.lesson, source, score, why: format!("{what}{}", whence(lesson)) }
    }

    fn named(doc: usize, share: f64, words: &[String], lesson: &Lesson) -> Self {
        let words: Vec<String> = words.iter().take(4).map(|word| format!("`{word}`")).collect();
        let why = format!("the task names what it is about ({}){}", words.join(", "), whence(lesson));
        Self { doc, source: Source::Named, score: share, why }
    }

    fn order(&self, other: &Self, lessons: &[Lesson]) -> Ordering {
        let (a, b) = (&lessons[self.doc], &lessons[other.doc]);
        // This project's own before another one's.
        let home = (a.project != Project::Own).cmp(&(b.project != Project::Own));
        // What was never measured stands between what helps and what harms.
        let helps = b.helps.unwrap_or(0.5).total_cmp(&a.helps.unwrap_or(0.5));
        // The same failure has the score 1.
        let near = other.score.total_cmp(&self.score);
        home.then(helps).then(near).then(b.seen.cmp(&a.seen)).then(other.doc.cmp(&self.doc))
    }
}

/// Where a lesson comes from, and what was measured of it.
fn whence(lesson: &Lesson) -> String {
    let task = &lesson.reflection.task_id;
    let from = match &lesson.project {
        Project::Own => format!(", in the task {task}"),
        Project::Other(name) if name.is_empty() => ", in another project".to_owned(),
        Project::Other(name) => format!(", in the project {name}"),
    };
    let helps = lesson.helps.map_or_else(
        || "not measured yet".to_owned(),
        |helps| format!("helps with a probability of {:.0} %", helps * 100.0),
    );
    format!("{from}; {helps}")
}

/// What has been chosen so far.
struct Choice<'a> {
    lessons: &'a [Lesson],
    common: &'a CommonTests,
    limits: &'a Limits,
    tokens: usize,
    taken: Vec<(usize, Source)>,
    chosen: Chosen,
}

impl Choice<'_> {
    fn offer(&mut self, doc: usize, (source, score, why): (Source, f64, String)) {
        let Lesson { reflection: Reflection { id, task_id, .. }, project, .. } = &self.lessons[doc];
        let lesson = id.clone();
        if let Some(why) = self.against(doc, source) {
            self.chosen.left_out.push(LeftOut { lesson, why });
            return;
        }
        if source != Source::Own {
            self.tokens += estimated_tokens(&self.lessons[doc].reflection);
        }
        self.taken.push((doc, source));
        let project = match project {
            Project::Own => None,
            Project::Other(name) => Some(name.clone()),
        };
        self.chosen.fits.push(Fit { lesson, task: task_id.clone(), project, source, score, why });
    }

    /// What speaks against a lesson, in the order in which a person would ask.
    fn against(&self, doc: usize, source: Source) -> Option<String> {
        let lesson = &self.lessons[doc];
        let own = source == Source::Own;
        if !(lesson.state.is_live() || own && lesson.at_home) || lesson.reflection.foreign {
            return Some(apart(lesson));
        }
        if let Some((first, _)) =
            self.taken.iter().find(|(taken, _)| opposed(&self.lessons[*taken], lesson, self.common))
        {
            return Some(format!(
                "it says the opposite of {}, which stands before it",
                self.lessons[*first].reflection.id
            ));
        }
        let (taken, most) = (
            self.taken.iter().filter(|taken| (taken.1 == Source::Own) == own).count(),
            if own { self.limits.own } else { self.limits.foreign },
        );
        if taken >= most {
            let which = if own { "of this task" } else { "of other tasks" };
            return Some(format!("{most} {which} stand before it"));
        }
        let (needed, left) = (estimated_tokens(&lesson.reflection), self.limits.tokens.saturating_sub(self.tokens));
        (needed > left && !own).then(|| format!("it takes about {needed} tokens, and {left} are left"))
    }
}

fn apart(lesson: &Lesson) -> String {
    match lesson.state {
        _ if lesson.reflection.foreign => "nobody here has adopted it",
        State::Stale => "what it is about is gone",
        State::Quarantined => "it is set apart",
        _ => "it is over",
    }
    .to_owned()
}

/// Whether two lessons about one failure tell to do opposite things.
fn opposed(a: &Lesson, b: &Lesson, common: &CommonTests) -> bool {
    let task = a.reflection.task_id == b.reflection.task_id && a.project == b.project;
    let signature = a.reflection.signature.is_some() && a.reflection.signature == b.reflection.signature;
    let (a_lines, a_parts) = (a.failure.sorted_lines(), a.failure.structure(common));
    let lines = a_lines.is_some() && a_lines == b.failure.sorted_lines();
    let parts = a_parts.is_some() && a_parts == b.failure.structure(common);
    (task || signature || lines || parts) && contradict(&advice(&a.reflection), &advice(&b.reflection))
}

fn advice(reflection: &Reflection) -> Vec<Order> {
    std::iter::once(&reflection.suggestion).chain(&reflection.action_items).flat_map(|text| orders(text)).collect()
}
