//! The risk of a change: the heaviest of its surfaces, and why.

use super::surface::Surface;
use super::threshold::RiskThreshold;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// So many files are named in a reason, and so much of each.
const NAMED: usize = 3;
const NAME_CHARS: usize = 80;

/// How risky a change is: a floor, computed from the names of its files and from nothing that anybody says.
///
/// Not to need review never means to be right.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Risk {
    /// Somebody should look at it: the score is at least the threshold.
    pub needs_review: bool,
    /// The weight of the heaviest surface, 0 to 1.
    #[schemars(range(min = 0, max = 1))]
    pub score: f64,
    /// The heaviest surface that the change touches.
    pub surface: Surface,
    /// For people: which files, and what they touch.
    pub reason: String,
}

impl Risk {
    /// The risk of a change of these files; of a renamed file both names count, so give both.
    ///
    /// The order of the files and their number do not matter, and another file never makes it less.
    ///
    /// ```
    /// # use reflexion_core::domain::{Risk, RiskThreshold, Surface};
    /// let risk = Risk::of(["README.md", "db/migrations/0007.sql"], RiskThreshold::default());
    /// assert_eq!((risk.surface, risk.score, risk.needs_review), (Surface::Data, 0.9, true));
    /// assert_eq!(risk.reason, "data: db/migrations/0007.sql");
    /// ```
    #[must_use]
    pub fn of<P: AsRef<str>>(files: impl IntoIterator<Item = P>, threshold: RiskThreshold) -> Self {
        let mut surface = Surface::None;
        let mut touched: BTreeSet<String> = BTreeSet::new();
        for file in files {
            let file = file.as_ref();
            let here = Surface::of_path(file);
            if here > surface {
                touched.clear();
                surface = here;
            }
            if here == surface {
                touched.insert(file.to_owned());
            }
        }
        let score = surface.weight();
        Self { needs_review: score >= threshold.value(), score, surface, reason: reason(surface, &touched) }
    }

    /// The same, to be looked at whatever the files' names say.
    #[must_use]
    pub fn to_review(self, because: &str) -> Self {
        // Files that the words name already are not named again.
        let (what, files) = self.reason.split_once(": ").unwrap_or((&self.reason, ""));
        let named = files.split(", ").all(|file| because.contains(file));
        let reason = if named { what } else { &self.reason };
        Self { needs_review: true, reason: format!("{because} ({reason})"), ..self }
    }
}

/// The surface and the first files that touch it.
fn reason(surface: Surface, touched: &BTreeSet<String>) -> String {
    if touched.is_empty() {
        return "nothing was changed".to_owned();
    }
    let named: Vec<String> = touched.iter().take(NAMED).map(|file| shown(file)).collect();
    let more = touched.len() - named.len();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let what = if surface == Surface::None { "no risky surface" } else { surface.as_str() };
    format!("{what}: {}{more}", named.join(", "))
}

/// A path for people: its end where it is long, and nothing that moves a cursor.
fn shown(file: &str) -> String {
    let chars: Vec<char> = file.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
    match chars.len().checked_sub(NAME_CHARS) {
        Some(left_out) if left_out > 0 => format!("…{}", chars[left_out + 1..].iter().collect::<String>()),
        _ => chars.into_iter().collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(files: &[&str]) -> Risk {
        Risk::of(files, RiskThreshold::default())
    }

    #[test]
    fn the_heaviest_file_decides() {
        let check = |files: &[&str], surface, needs_review, reason: &str| {
            let risk = of(files);
            assert_eq!((risk.surface, risk.needs_review, risk.reason.as_str()), (surface, needs_review, reason));
            assert!((risk.score - surface.weight()).abs() < f64::EPSILON);
        };
        check(&[], Surface::None, false, "nothing was changed");
        check(&["src/sum.rs"], Surface::None, false, "no risky surface: src/sum.rs");
        check(&["docs/a.md", "src/App.tsx"], Surface::Ui, false, "ui: src/App.tsx");
        check(&["Cargo.toml", "src/sum.rs"], Surface::Build, true, "build: Cargo.toml");
        check(&["b.sql", "a.sql", "b.sql"], Surface::Data, true, "data: a.sql, b.sql");
        check(
            &["login.rs", "jwt.rs", "acl.rs", "sso.rs"],
            Surface::Auth,
            true,
            "auth: acl.rs, jwt.rs, login.rs and 1 more",
        );
        // A file that was an entry to the house and is now called something else.
        check(&["src/login.rs", "src/hello.rs"], Surface::Auth, true, "auth: src/login.rs");
    }

    #[test]
    fn the_threshold_itself_needs_review() {
        let needs = |threshold: &str, file| Risk::of([file], threshold.parse().unwrap()).needs_review;
        assert!(needs("0.6", "Cargo.toml") && !needs("0.61", "Cargo.toml"));
        assert!(needs("1", "login.rs") && !needs("1", "a.sql"));
        assert!(needs("0", "sum.rs"));
    }

    #[test]
    fn reasons_are_short_and_harmless() {
        let long = format!("{}/login\u{1b}[2J.rs", "x".repeat(4000));
        let risk = of(&[&long, "日本語/".repeat(500).as_str(), "a/auth.rs"]);
        assert!(risk.reason.chars().count() < 300, "{}", risk.reason);
        assert!(risk.reason.ends_with("/login\u{fffd}[2J.rs"), "{}", risk.reason);
        assert!(!risk.reason.contains('\u{1b}'));
    }

    fn path() -> impl Strategy<Value = String> {
        let known = prop::sample::select(vec![
            "README.md",
            "src/auth/mod.rs",
            "a.sql",
            "Dockerfile",
            "Cargo.toml",
            "App.tsx",
            "a_test.go",
            "sum.rs",
            "docs/login.html",
            "LogIn.java",
            "user.model.ts",
            ".env",
        ]);
        prop_oneof![known.prop_map(str::to_owned), ".{0,40}", "([a-zA-Z_.-]{0,8}/){0,4}[a-zA-Z_.-]{0,12}"]
    }

    proptest! {
        #[test]
        fn order_and_repetition_never_matter(files in prop::collection::vec(path(), 0..8)) {
            let mut turned = files.clone();
            turned.reverse();
            turned.extend(files.clone());
            prop_assert_eq!(
                Risk::of(&files, RiskThreshold::default()),
                Risk::of(&turned, RiskThreshold::default())
            );
        }

        #[test]
        fn another_file_never_makes_it_less(files in prop::collection::vec(path(), 0..8), another in path()) {
            let before = Risk::of(&files, RiskThreshold::default());
            let after = Risk::of(files.iter().chain([&another]), RiskThreshold::default());
            prop_assert!(after.score >= before.score && after.needs_review >= before.needs_review);
        }

        #[test]
        fn separators_are_one(path in path()) {
            prop_assert_eq!(Surface::of_path(&path), Surface::of_path(&path.replace('/', "\\")));
        }
    }
}
