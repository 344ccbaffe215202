//! Which agents a task is given to.

use super::size::{Sized, of_label, size, text};
use super::track_record::TrackRecord;
use crate::domain::Task;
use crate::domain::policy::{Agents, RouteHistory, WorkCategory};

/// Which agents a task is given to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// The fallback chain; never empty.
    pub agents: Vec<String>,
    /// Why these, and in this order, in words; none for what was asked for, and for the default as it stands.
    pub because: Option<String>,
}

/// The fallback chain of a task: what the call asks for, else the task's own agent, else that of the first configured
/// label which the task has, else that of its size, else that of its kind of work, else the default. With
/// [`RouteHistory::On`] those that earlier runs speak against then come after the others; nobody is left out.
///
/// The next agent of a chain works where the one before is missing, not logged in, or out of quota; an agent that was
/// asked for by name has no stand-in.
///
/// ```
/// # use reflexion::domain::{Task, policy::Agents};
/// # use reflexion::orchestrator::router::route;
/// let agents = Agents {
///     default: vec!["claude".into(), "codex".into()],
///     by_label: vec![("docs".into(), vec!["gemini".into()])],
///     ..Agents::default()
/// };
/// let task: Task = serde_json::from_str(r#"{"id":"t","title":"T","labels":["docs"]}"#)?;
/// let given = route(&agents, &task, None, &Default::default());
/// assert_eq!((given.agents, given.because), (vec!["gemini".to_owned()], Some("it has the label `docs`".to_owned())));
/// assert_eq!(route(&agents, &task, Some("codex"), &Default::default()).agents, ["codex"]);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[must_use]
pub fn route(agents: &Agents, task: &Task, asked: Option<&str>, earlier: &TrackRecord) -> Route {
    if let Some(agent) = asked {
        return Route { agents: vec![agent.to_owned()], because: None };
    }
    if let Some(agent) = &task.agent {
        return Route { agents: vec![agent.clone()], because: Some("the task names it".to_owned()) };
    }
    let by_rule = by_label(agents, task).map(|(label, chain)| (format!("it has the label `{label}`"), chain));
    let by_rule = by_rule.or_else(|| by_size(agents, task)).or_else(|| by_category(agents, task));
    let (because, chain) = by_rule.map_or((None, &agents.default), |(because, chain)| (Some(because), chain));
    let route = Route { agents: chain.clone(), because };
    match agents.history {
        RouteHistory::Off => route,
        RouteHistory::On => route.reordered(|agent| earlier.against(agent, task, agents)),
    }
}

impl Route {
    /// Puts those that something speaks against behind the others.
    fn reordered(mut self, against: impl Fn(&str) -> Option<String>) -> Self {
        let doubts: Vec<Option<String>> = self.agents.iter().map(|agent| against(agent)).collect();
        let last_trusted = doubts.iter().rposition(Option::is_none);
        let mut words: Vec<String> = self.because.take().into_iter().collect();
        let (mut first, mut later) = (Vec::new(), Vec::new());
        for (place, (agent, doubt)) in self.agents.into_iter().zip(doubts).enumerate() {
            match doubt {
                None => first.push(agent),
                Some(because) => {
                    // Where nobody behind it is trusted more it does not move.
                    if last_trusted.is_some_and(|last| place < last) {
                        words.push(format!("`{agent}` comes later, because {because}"));
                    }
                    later.push(agent);
                }
            }
        }
        first.append(&mut later);
        Self { agents: first, because: (!words.is_empty()).then(|| words.join("; ")) }
    }
}

fn by_label<'a>(agents: &'a Agents, task: &Task) -> Option<(&'a str, &'a Vec<String>)> {
    let found = agents.by_label.iter().find(|(label, _)| task.labels.contains(label));
    found.map(|(label, chain)| (label.as_str(), chain))
}

fn by_size<'a>(agents: &'a Agents, task: &Task) -> Option<(String, &'a Vec<String>)> {
    if agents.by_size.is_empty() {
        return None;
    }
    let Sized { size, because } = size(task);
    let (_, chain) = agents.by_size.iter().find(|(up_to, _)| size <= *up_to)?;
    Some((format!("its size is {} ({because})", size.as_str()), chain))
}

fn by_category<'a>(agents: &'a Agents, task: &Task) -> Option<(String, &'a Vec<String>)> {
    let routes = &agents.by_category;
    if routes.is_empty() {
        return None;
    }
    let category = category(task);
    let chosen = routes.get(&category).map(|chain| (format!("its kind of work is {}", category.as_str()), chain));
    let otherwise = || Some(("no other kind of work has an agent".to_owned(), routes.get(&WorkCategory::Default)?));
    chosen.or_else(otherwise)
}

/// What tasks have in common that are compared with each other: the label that decides who works on them, else their
/// first label that is no size, else their kind of work.
pub(super) fn kind(agents: &Agents, task: &Task) -> String {
    let own = || task.labels.iter().map(String::as_str).find(|label| of_label(label).is_none());
    match by_label(agents, task).map(|(label, _)| label).or_else(own) {
        Some(label) => format!("the label `{label}`"),
        None => format!("the kind of work {}", category(task).as_str()),
    }
}

/// What counts for a kind of work, and how much: a label says it outright, a named file shows it, a word hints at it.
struct Signs {
    category: WorkCategory,
    /// Whole words, lower case, in the singular.
    words: &'static [&'static str],
    /// Ends of file names.
    files: &'static [&'static str],
    /// Directories in the path of a file.
    directories: &'static [&'static str],
}

/// Words that only one of the kinds uses. Words that all of them use (`add`, `test`, `page`, `service`) decide nothing
/// and are not here.
const SIGNS: [Signs; 3] = [
    Signs {
        category: WorkCategory::Frontend,
        words: &[
            "frontend",
            "ui",
            "ux",
            "css",
            "html",
            "react",
            "vue",
            "svelte",
            "angular",
            "tailwind",
            "stylesheet",
            "button",
            "tooltip",
            "modal",
            "sidebar",
            "navbar",
            "dropdown",
            "layout",
            "responsive",
            "animation",
            "a11y",
            "accessibility",
            "browser",
            "viewport",
            "theme",
            "icon",
            "jsx",
            "tsx",
            "dom",
        ],
        files: &[".css", ".scss", ".sass", ".less", ".html", ".jsx", ".tsx", ".vue", ".svelte"],
        directories: &["components", "frontend", "ui", "styles", "pages", "views"],
    },
    Signs {
        category: WorkCategory::Backend,
        words: &[
            "backend",
            "server",
            "database",
            "sql",
            "postgres",
            "mysql",
            "sqlite",
            "redis",
            "endpoint",
            "api",
            "rest",
            "graphql",
            "grpc",
            "migration",
            "query",
            "queue",
            "webhook",
            "middleware",
            "orm",
            "transaction",
            "cron",
            "daemon",
            "microservice",
            "auth",
            "authentication",
            "cache",
        ],
        files: &[".sql", ".proto", ".graphql"],
        directories: &["server", "backend", "api", "db", "migrations", "handlers", "controllers"],
    },
    Signs {
        category: WorkCategory::Architecture,
        words: &[
            "architecture",
            "architectural",
            "redesign",
            "decouple",
            "modularise",
            "modularize",
            "monorepo",
            "adr",
            "rfc",
            "scalability",
            "boundary",
            "restructure",
            "abstraction",
        ],
        files: &[".puml", ".drawio"],
        directories: &["adr", "rfcs", "architecture"],
    },
];

const LABEL: u32 = 100;
const FILE: u32 = 3;
const WORD: u32 = 2;

/// What kind of work a task asks for, from its own words, labels and the files it names; the same words give the same
/// answer. [`WorkCategory::Default`] where nothing speaks for one kind more than for the others.
///
/// Words count whole (`props` has nothing to do with `ops`), and each counts once.
///
/// ```
/// # use reflexion::domain::{Task, policy::WorkCategory};
/// # use reflexion::orchestrator::router::category;
/// let task: Task = serde_json::from_str(r#"{"id":"t","title":"The dropdown flickers in src/ui/Menu.tsx"}"#)?;
/// assert_eq!(category(&task), WorkCategory::Frontend);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[must_use]
pub fn category(task: &Task) -> WorkCategory {
    let text = text(task).to_lowercase();
    let (files, words) = files_and_words(&text);
    let mut scores = SIGNS.each_ref().map(|signs| (score(signs, task, &files, &words), signs.category));
    scores.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
    match scores {
        [(0, _), ..] => WorkCategory::Default,
        [(first, _), (second, _), _] if first == second => WorkCategory::Default,
        [(_, category), ..] => category,
    }
}

fn score(signs: &Signs, task: &Task, files: &[&str], words: &[String]) -> u32 {
    let label = task.labels.iter().any(|label| {
        let label = label.to_lowercase();
        label.split(|c: char| !c.is_alphanumeric()).any(|word| signs.words.contains(&singular(word).as_str()))
    });
    let file = |file: &&&str| {
        let mut directories = file.split('/').rev().skip(1);
        signs.files.iter().any(|end| file.ends_with(end)) || directories.any(|dir| signs.directories.contains(&dir))
    };
    let named = u32::try_from(files.iter().filter(file).count()).unwrap_or(u32::MAX);
    let said = signs.words.iter().filter(|word| words.iter().any(|said| said == *word)).count();
    let said = u32::try_from(said).unwrap_or(u32::MAX);
    (if label { LABEL } else { 0 }) + named.saturating_mul(FILE) + said.saturating_mul(WORD)
}

/// The names of files in a text, which have an ending, and its other words.
pub(super) fn files_and_words(text: &str) -> (Vec<&str>, Vec<String>) {
    let (mut files, mut words) = (Vec::new(), Vec::new());
    for token in text.split_whitespace() {
        let token = token.trim_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '/' | '_' | '.'));
        let token = token.trim_end_matches(['.', ':', ',']);
        let ending = token.rsplit_once('.').is_some_and(|(stem, end)| {
            !stem.is_empty() && (1..=8).contains(&end.len()) && end.bytes().all(|b| b.is_ascii_alphanumeric())
        });
        // An address is neither.
        if token.contains("://") {
            continue;
        }
        if ending {
            if !files.contains(&token) {
                files.push(token);
            }
            continue;
        }
        words.extend(token.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(singular));
    }
    (files, words)
}

/// `endpoints` as `endpoint`, `queries` as `query`; `css` and `redis` stay.
fn singular(word: &str) -> String {
    if let Some(stem) = word.strip_suffix("ies").filter(|stem| stem.len() > 2) {
        return format!("{stem}y");
    }
    match word.strip_suffix('s') {
        Some(stem) if stem.len() > 2 && !stem.ends_with(['s', 'i', 'u']) => stem.to_owned(),
        _ => word.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::TaskSize;
    use serde_json::{Value, json};
    use std::collections::BTreeMap;

    fn task(fields: &Value) -> Task {
        let mut task = json!({"id": "t", "title": "T"});
        for (key, value) in fields.as_object().unwrap() {
            task[key] = value.clone();
        }
        serde_json::from_value(task).unwrap()
    }

    #[test]
    fn the_kind_of_work_is_in_the_tasks_own_words_labels_and_files() {
        use WorkCategory::{Architecture, Backend, Default, Frontend};
        let cases = [
            (json!({"title": "Fix the props of the list"}), Default),
            (json!({"title": "Add a test"}), Default),
            (json!({"title": "The buttons overlap on small viewports"}), Frontend),
            (json!({"title": "Mend src/styles/main.scss"}), Frontend),
            (json!({"title": "Slow queries", "description": "The orders endpoint times out."}), Backend),
            (json!({"title": "Add an index", "description": "See db/migrations/004.sql"}), Backend),
            (json!({"title": "Write an ADR on module boundaries"}), Architecture),
            (json!({"title": "Redesign", "acceptanceCriteria": "The architecture page is current."}), Architecture),
            // A label says it outright.
            (json!({"title": "The login endpoint", "labels": ["area/frontend"]}), Frontend),
            (json!({"title": "A button", "labels": ["backend"]}), Backend),
            // As much for one as for the other.
            (json!({"title": "A button for the database"}), Default),
            (json!({"title": "x", "subtasks": [{"id": "a", "title": "The modal"}]}), Frontend),
            // Words count whole and once; an address is no file.
            (json!({"title": "Uiuxcss rapid capital quiet"}), Default),
            (json!({"title": "See https://example.org/ui/index.html"}), Default),
        ];
        for (fields, expected) in cases {
            assert_eq!(category(&task(&fields)), expected, "{fields}");
        }
    }

    #[test]
    fn who_was_asked_for_comes_before_labels_then_sizes_then_kinds_of_work() {
        let chain_of = |name: &str| vec![name.to_owned()];
        let agents = Agents {
            default: chain_of("any"),
            by_label: vec![("docs".to_owned(), chain_of("writer"))],
            by_size: vec![(TaskSize::Medium, chain_of("quick"))],
            by_category: BTreeMap::from([(WorkCategory::Frontend, chain_of("painter"))]),
            ..Agents::default()
        };
        let check = |fields: &Value, asked: Option<&str>, expected: &str| {
            assert_eq!(route(&agents, &task(fields), asked, &TrackRecord::default()).agents, [expected], "{fields}");
        };
        let labelled = json!({"title": "The tooltip", "labels": ["docs"]});
        let large = |title: &str| json!({"title": title, "size": "large"});
        check(&json!({"title": "The tooltip", "labels": ["docs"], "agent": "own"}), Some("flag"), "flag");
        check(&json!({"title": "The tooltip", "labels": ["docs"], "agent": "own"}), None, "own");
        check(&labelled, None, "writer");
        check(&json!({"title": "The tooltip"}), None, "quick");
        check(&large("The tooltip"), None, "painter");
        check(&large("The database"), None, "any");
    }

    #[test]
    fn who_is_doubted_comes_after_the_others_and_is_never_left_out() {
        let check = |doubted: &[&str], expected: &str, because: Option<&str>| {
            let agents = ["a", "b", "c"].map(str::to_owned).to_vec();
            let route = Route { agents, because: Some("R".to_owned()) };
            let route = route.reordered(|agent| doubted.contains(&agent).then(|| "D".to_owned()));
            assert_eq!(route.agents.concat(), expected, "{doubted:?}");
            let moved = because.map_or(String::new(), |agent| format!("; `{agent}` comes later, because D"));
            assert_eq!(route.because, Some(format!("R{moved}")), "{doubted:?}");
        };
        check(&[], "abc", None);
        check(&["a"], "bca", Some("a"));
        check(&["b"], "acb", Some("b"));
        check(&["c"], "abc", None);
        check(&["b", "c"], "abc", None);
        check(&["a", "c"], "bac", Some("a"));
        check(&["a", "b", "c"], "abc", None);
    }

    /// `routing.jsonl`: which model a category goes to. The rest of the file is another program's YAML, its spelling of
    /// models (`provider/name`; agents here have names) and its vendors' pairs.
    #[test]
    fn the_ancestors_cases_of_routing_hold() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../shared/data/cases/routing.jsonl");
        let Ok(text) = std::fs::read_to_string(path) else {
            return eprintln!("SKIPPED: the ancestor's cases are not here ({path})");
        };
        let title = |category: &str| match category {
            "backend" => "The database is slow",
            "frontend" => "The tooltip is cut off",
            "architecture" => "Write an ADR",
            other => panic!("a task for {other}"),
        };
        let mut held = 0;
        for line in text.lines() {
            let case: Value = serde_json::from_str(line).unwrap();
            if case["input"]["op"] != "model_for_category" || !case["quirk"].is_null() {
                continue;
            }
            let config = &case["input"]["config"];
            let spec = |key: &str| {
                let spec = config["models"][key].as_str().filter(|spec| !spec.is_empty() && config["enabled"] == true);
                spec.map(|spec| vec![spec.to_owned()])
            };
            let categories = [
                (WorkCategory::Backend, "backend"),
                (WorkCategory::Architecture, "architecture"),
                (WorkCategory::Frontend, "frontend"),
                (WorkCategory::Default, "default"),
            ];
            let routes = categories.into_iter().filter_map(|(category, key)| Some((category, spec(key)?)));
            let default = vec!["default".to_owned()];
            let agents = Agents { default, by_category: routes.collect(), ..Agents::default() };
            let title = title(case["input"]["category"].as_str().unwrap());
            let model = &case["expected"]["model"];
            let expected = match (model["provider"].as_str(), model["model"].as_str()) {
                (Some(provider), Some(name)) => format!("{provider}/{name}"),
                _ => "default".to_owned(),
            };
            let given = route(&agents, &task(&json!({ "title": title })), None, &TrackRecord::default());
            assert_eq!(given.agents, [expected], "{}", case["id"]);
            held += 1;
        }
        assert_eq!(held, 6);
    }
}
