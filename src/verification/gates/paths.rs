//! What the name of a path says: the project's or not, text for people, what programs leave.

use super::kept_tests::is_code;
use std::path::Path;

/// Whether a path is one of the project's; where the project is not known, everything is.
pub(super) fn in_project(path: &str, dir: Option<&Path>) -> bool {
    let path = Path::new(path);
    match dir {
        Some(dir) if path.is_absolute() => path.starts_with(dir),
        Some(_) => !path.starts_with("~") && !path.starts_with(".."),
        None => true,
    }
}

/// Nothing that a test could tell: text for people, settings of editors and of git, what is below the project's `docs`.
pub(super) fn is_prose(path: &str, dir: Option<&Path>) -> bool {
    let inner = dir.and_then(|dir| Path::new(path).strip_prefix(dir).ok()?.to_str()).unwrap_or(path);
    let inner = inner.trim_start_matches("./");
    let name = inner.rsplit('/').next().unwrap_or(inner);
    let lower = name.to_ascii_lowercase();
    let (stem, extension) = lower.split_once('.').unwrap_or((&lower, ""));
    let texts = ["md", "markdown", "rst", "adoc", "mdx"].iter().any(|end| lower.ends_with(&format!(".{end}")));
    let named = matches!(
        stem,
        "codeowners"
            | "authors"
            | "contributors"
            | "notice"
            | "copying"
            | "notes"
            | "todo"
            | "readme"
            | "history"
            | "news"
            | "funding"
    ) && matches!(extension, "" | "txt" | "yml");
    let settings = matches!(
        lower.as_str(),
        ".gitignore"
            | ".gitattributes"
            | ".gitkeep"
            | ".editorconfig"
            | ".mailmap"
            | ".dockerignore"
            | ".git-blame-ignore-revs"
    );
    let mut places = inner.split('/').rev().skip(1);
    let shelf = places.any(|place| {
        matches!(
            place,
            "newsfragments"
                | "changelog.d"
                | "changes.d"
                | ".changeset"
                | ".vscode"
                | ".idea"
                | ".zed"
                | "ISSUE_TEMPLATE"
        )
    });
    let documents = inner.starts_with("docs/") || inner.starts_with("doc/");
    let picture = inner.contains("/docs/") && !is_code(name);
    texts
        || named
        || settings
        || shelf
        || documents
        || picture
        || name.starts_with("LICENSE")
        || name.starts_with("CHANGELOG")
}

/// Where commands leave what they print.
pub(super) fn is_log(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
    let (stem, extension) = name.rsplit_once('.').unwrap_or((&name, ""));
    let words = || {
        stem.split(['-', '_', '.']).any(|word| {
            matches!(
                word,
                "log"
                    | "logs"
                    | "output"
                    | "out"
                    | "report"
                    | "result"
                    | "results"
                    | "coverage"
                    | "summary"
                    | "stdout"
                    | "stderr"
            )
        })
    };
    matches!(extension, "log" | "out" | "err" | "tmp")
        || matches!(extension, "txt" | "json" | "xml" | "csv" | "html" | "") && words()
}
