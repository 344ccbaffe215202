//! What the files with a project's settings are called.

/// The name that wins, from the project's directory.
pub const OWN_SETTINGS: &str = "reflexion.json";
/// The usual name, which other tools give their files too.
pub const COMMON_SETTINGS: &str = "project.json";
/// What several projects may share; the project's own file has the last word.
pub const SHARED_SETTINGS: &str = "config/reflexion.json";

/// All of them.
pub const SETTINGS_FILES: [&str; 3] = [OWN_SETTINGS, COMMON_SETTINGS, SHARED_SETTINGS];
