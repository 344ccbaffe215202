//! Which agents a task is given to.

use crate::domain::Task;
use crate::domain::policy::Agents;
use crate::domain::policy::WorkCategory;

/// The fallback chain of a task: what the call asks for, else the task's own agent, else that of the first configured
/// label which the task has, else that of its kind of work, else the default. Never empty.
///
/// The next agent of a chain works where the one before is missing, not logged in, or out of quota; an agent that was
/// asked for by name has no stand-in.
///
/// ```
/// # use reflexion::domain::{Task, policy::Agents};
/// # use reflexion::orchestrator::router::chain;
/// let agents = Agents {
///     default: vec!["claude".into(), "codex".into()],
///     by_label: vec![("docs".into(), vec!["gemini".into()])],
///     ..Agents::default()
/// };
/// let task: Task = serde_json::from_str(r#"{"id":"t","title":"T","labels":["docs"]}"#)?;
/// assert_eq!(chain(&agents, &task, None), ["gemini"]);
/// assert_eq!(chain(&agents, &task, Some("codex")), ["codex"]);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[must_use]
pub fn chain(agents: &Agents, task: &Task, asked: Option<&str>) -> Vec<String> {
    if let Some(agent) = asked.or(task.agent.as_deref()) {
        return vec![agent.to_owned()];
    }
    let labelled = agents.by_label.iter().find(|(label, _)| task.labels.contains(label)).map(|(_, chain)| chain);
    let routed = || {
        let routes = &agents.by_category;
        if routes.is_empty() {
            return None;
        }
        routes.get(&category(task)).or_else(|| routes.get(&WorkCategory::Default))
    };
    labelled.or_else(routed).unwrap_or(&agents.default).clone()
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
    let parts = task.subtasks.iter().flat_map(|part| [part.title.as_str(), part.description.as_str()]);
    let own = [task.title.as_str(), task.description.as_str(), task.acceptance_criteria.as_str()];
    let text = own.into_iter().chain(parts).collect::<Vec<_>>().join("\n").to_lowercase();
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
fn files_and_words(text: &str) -> (Vec<&str>, Vec<String>) {
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
    use serde_json::Value;
    use serde_json::json;
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
        use WorkCategory::Architecture;
        use WorkCategory::Backend;
        use WorkCategory::Default;
        use WorkCategory::Frontend;
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
    fn who_was_asked_for_comes_before_labels_and_labels_before_the_kind_of_work() {
        let chain_of = |name: &str| vec![name.to_owned()];
        let agents = Agents {
            default: chain_of("any"),
            by_label: vec![("docs".to_owned(), chain_of("writer"))],
            by_category: BTreeMap::from([(WorkCategory::Frontend, chain_of("painter"))]),
            ..Agents::default()
        };
        let check = |fields: &Value, asked: Option<&str>, expected: &str| {
            assert_eq!(chain(&agents, &task(fields), asked), [expected], "{fields}");
        };
        let labelled = json!({"title": "The tooltip", "labels": ["docs"]});
        check(&json!({"title": "The tooltip", "labels": ["docs"], "agent": "own"}), Some("flag"), "flag");
        check(&json!({"title": "The tooltip", "labels": ["docs"], "agent": "own"}), None, "own");
        check(&labelled, None, "writer");
        check(&json!({"title": "The tooltip"}), None, "painter");
        check(&json!({"title": "The database"}), None, "any");
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
            assert_eq!(chain(&agents, &task(&json!({ "title": title })), None), [expected], "{}", case["id"]);
            held += 1;
        }
        assert_eq!(held, 6);
    }
}
