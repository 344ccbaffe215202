//! Projects whose manifest alone says how they are tested, as the tables of tool chains know them.

use super::found::Found;
use super::package::Package;
use crate::toolchain::Project;

/// What a project of this kind asks for.
pub(super) fn find(package: &Package, project: &'static Project) -> Option<Found> {
    let names = package.files(|_| true);
    project.file_in(&names)?;
    let mut found = Found::new(&project.name);
    found.check(&project.name, project.line(&project.test, &names));
    found.because(project.why.clone());
    if let Some(setup) = &project.setup {
        found.setup.push(setup.clone());
    }
    Some(found)
}
