//! wip
use std::path::Path;
pub fn make_state_dir(p: &Path) -> std::io::Result<()> { std::fs::create_dir_all(p)?; std::fs::write(p.join(".gitignore"), "*\n") }
