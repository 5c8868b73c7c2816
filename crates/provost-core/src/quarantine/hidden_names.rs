//! Names that begin with a dot: an allow list.
//!
//! Programs take their settings from such files, and nobody knows all programs. So a name counts
//! as a setting unless it is listed here. *Harmless* is a name that no program executes, and from
//! which none loads a command, by looking at the project or by building it in place of the
//! project's own build. The configurations of the build itself, which includes linters and
//! formatters, are harmless in this sense: the project says what its build runs.

mod harmless_names;

use self::harmless_names::{BEGINNINGS, FILE_ENDS, FILES, OUTPUT_FOLDERS, PROJECT_FOLDERS};
use super::build_files::is_build_file;
use super::env_files::is_env_file;
use crate::action::RelPath;
use crate::action::protected_paths::{is_conditional_path, is_package_directory};

/// Why a file is set aside whose name is not known.
pub const UNKNOWN_HIDDEN_NAME: &str =
    "its name begins with a dot and is not known to be harmless: programs may run what it says";

/// Where an entry of a project lies, which decides what counts as a setting there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TreePlace {
    /// Among the project's own files: known settings, and names with a dot that are not known.
    Project,
    /// In what tools wrote: known settings.
    Output,
    /// Among packages of others: nothing.
    Packages,
    /// In a folder with an unknown name: everything.
    Hidden,
}

impl TreePlace {
    /// What a folder of this name in this place holds, if it is not a known setting.
    #[must_use]
    pub fn enter_folder(self, name: &str) -> Self {
        match self {
            Self::Hidden | Self::Packages => self,
            Self::Project | Self::Output if is_package_directory(name) => Self::Packages,
            Self::Output => Self::Output,
            Self::Project if is_output_folder(name) => Self::Output,
            Self::Project if is_unknown_folder(name) => Self::Hidden,
            Self::Project => Self::Project,
        }
    }

    /// Whether a file or link of this name in this place is a setting of a program that nobody
    /// thought of.
    pub fn has_unknown_setting(self, name: &str) -> bool {
        match self {
            Self::Hidden => true,
            Self::Project => is_unknown_file(name),
            Self::Output | Self::Packages => false,
        }
    }
}

fn is_output_folder(name: &str) -> bool {
    OUTPUT_FOLDERS.contains(&name)
        || name.starts_with('.') && name.ends_with("cache")
        || BEGINNINGS.iter().any(|start| name.starts_with(start))
}

fn is_unknown_folder(name: &str) -> bool {
    name.starts_with('.') && !PROJECT_FOLDERS.contains(&name)
}

fn is_unknown_file(name: &str) -> bool {
    name.starts_with('.')
        && !FILES.contains(&name)
        && !FILE_ENDS.iter().any(|end| name.ends_with(end))
        && !BEGINNINGS.iter().any(|start| name.starts_with(start))
        && !is_env_file(name)
        && !is_build_file(name)
        && !is_conditional_path(name)
}

/// Why changing a path needs an approval because of a name that is not known, if it does.
pub fn unknown_name_reason(path: &RelPath) -> Option<&'static str> {
    let mut place = TreePlace::Project;
    let mut names = path.components().peekable();
    while let Some(name) = names.next() {
        let below = place.enter_folder(name);
        let is_unknown = match names.peek() {
            Some(_) => below == TreePlace::Hidden,
            // It may become a file or a folder.
            None => below == TreePlace::Hidden && place.has_unknown_setting(name),
        };
        if is_unknown {
            return Some(UNKNOWN_HIDDEN_NAME);
        }
        place = below;
    }
    None
}

#[cfg(test)]
mod tests;
