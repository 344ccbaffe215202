//! What the name of a path says: the project's or not, text for people, what programs leave.

use crate::toolchain::is_code;
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

/// Where commands leave what they print. Pages and data are that only at the top, in temporary places and among reports:
/// elsewhere they belong to the program.
pub(super) fn is_log(path: &str, dir: Option<&Path>) -> bool {
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
    match extension {
        "log" | "out" | "err" | "tmp" => true,
        "txt" | "" => words(),
        "json" | "xml" | "csv" | "html" => words() && is_for_reports(path, dir),
        _ => false,
    }
}

/// Whether a file lies where reports are left.
fn is_for_reports(path: &str, dir: Option<&Path>) -> bool {
    const REPORTS: [&str; 18] = [
        "report",
        "reports",
        "coverage",
        "htmlcov",
        "log",
        "logs",
        "out",
        "output",
        "outputs",
        "result",
        "results",
        "test-results",
        "test-reports",
        "artifacts",
        "target",
        "build",
        "tmp",
        "temp",
    ];
    const SOURCES: [&str; 8] = ["src", "lib", "app", "apps", "templates", "public", "static", "config"];
    let inner = dir.and_then(|dir| Path::new(path).strip_prefix(dir).ok()?.to_str()).unwrap_or(path);
    let place = inner.trim_start_matches("./").rsplit_once('/').map_or("", |(place, _)| place);
    if place.is_empty() || ["/tmp", "/var/tmp", "/private/tmp"].iter().any(|root| Path::new(place).starts_with(root)) {
        return true;
    }
    let lies_in = |names: &[&str]| place.split('/').any(|part| names.contains(&part));
    lies_in(&REPORTS) && !lies_in(&SOURCES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_and_data_of_the_program_are_no_logs() {
        let check = |path: &str, expected: bool| {
            assert_eq!(is_log(path, Some(Path::new("/home/app/project"))), expected, "{path}");
        };
        for path in [
            "out.log",
            "size-report.txt",
            "report.json",
            "./coverage.xml",
            "/home/app/project/results.csv",
            "/tmp/src/output.json",
            "target/report.html",
            "coverage/summary.html",
            "web/test-results/results.xml",
        ] {
            check(path, true);
        }
        for path in [
            "web/templates/summary.html",
            "src/config/output.json",
            "app/reports/summary.html",
            "/home/app/project/web/output.json",
            "fixtures/result.csv",
            "notes.json",
        ] {
            check(path, false);
        }
    }
}
