//! The names in the project's folder, to skip protected paths that cannot exist.
//!
//! Hundreds of paths are protected, and few exist: reading the folder once costs less than
//! to open each of them. A path that is created after this is not held, as one that is
//! created after the mounts were made; what the run leaves there is found when it has ended.

use std::collections::HashSet;
use std::ffi::CStr;
use std::os::fd::AsFd;

use rustix::fs::Dir;

use super::spawn_plan::SelfBindMount;

/// Above this, the paths themselves are tried.
const MAX_NAMES: usize = 1024;

/// `None` if every path may exist.
pub(in crate::confine) struct ProjectNames(Option<HashSet<Vec<u8>>>);

impl ProjectNames {
    pub(in crate::confine) fn read(project: impl AsFd) -> Self {
        let read = || {
            let mut names = HashSet::new();
            for entry in Dir::read_from(project).ok()? {
                let name = entry.ok()?.file_name().to_bytes().to_ascii_lowercase();
                // A file system that ignores case may find more under a name than its ASCII
                // letters in both cases.
                if !name.is_ascii() || names.len() == MAX_NAMES {
                    return None;
                }
                names.insert(name);
            }
            Some(names)
        };
        Self(read())
    }

    /// Those of the paths whose first component is there.
    pub(in crate::confine) fn filter_existing<'a>(
        &self,
        pins: &'a [SelfBindMount],
    ) -> Vec<&'a SelfBindMount> {
        pins.iter().filter(|pin| self.may_contain(&pin.path)).collect()
    }

    fn may_contain(&self, path: &CStr) -> bool {
        let Some(names) = &self.0 else { return true };
        let first = path.to_bytes().split(|byte| *byte == b'/').next().unwrap_or_default();
        names.contains(&first.to_ascii_lowercase())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;
    use crate::confine::plan::prepared_policy::build_self_binds;

    fn list_kept(names: &[&str], pins: &[&str]) -> Vec<String> {
        let dir = tempfile::tempdir().unwrap();
        for name in names {
            fs::create_dir(dir.path().join(name)).unwrap();
        }
        let pins = build_self_binds(pins.iter().map(Path::new)).unwrap();
        let project = fs::File::open(dir.path()).unwrap();
        let kept = ProjectNames::read(&project).filter_existing(&pins);
        kept.iter().map(|pin| pin.path.to_str().unwrap().to_owned()).collect()
    }

    #[test]
    fn only_paths_whose_first_component_exists_are_kept() {
        let pins = [".git/config", ".npmrc", "sub/.git/hooks", ".vscode"];
        assert_eq!(list_kept(&[], &pins), [""; 0]);
        assert_eq!(list_kept(&[".git", "git"], &pins), [".git", ".git/config"]);
        assert_eq!(list_kept(&["sub"], &pins), ["sub", "sub/.git", "sub/.git/hooks"]);
        // A file system may ignore case.
        assert_eq!(list_kept(&[".VSCode"], &pins), [".vscode"]);
    }

    #[test]
    fn all_paths_are_kept_where_a_name_may_stand_for_another() {
        let pins = [".git", ".npmrc"];
        assert_eq!(list_kept(&["\u{212a}"], &pins), pins);
        let many: Vec<_> = (0..=MAX_NAMES).map(|number| format!("f{number}")).collect();
        let many: Vec<_> = many.iter().map(String::as_str).collect();
        assert_eq!(list_kept(&many, &pins), pins);
        assert_eq!(list_kept(&many[..10], &pins), [""; 0]);
    }
}
