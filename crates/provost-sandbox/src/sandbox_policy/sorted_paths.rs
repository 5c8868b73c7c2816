//! Finds the paths around another one without comparing all of them.

use std::path::{Path, PathBuf};

/// Paths in order of their components, so that what is below a path follows it.
#[derive(Clone, Debug, Default)]
pub(crate) struct SortedPaths(Vec<PathBuf>);

impl SortedPaths {
    pub(crate) fn new(paths: impl IntoIterator<Item = PathBuf>) -> Self {
        let mut all: Vec<_> = paths.into_iter().collect();
        all.sort();
        all.dedup();
        Self(all)
    }

    pub(crate) fn contains(&self, path: &Path) -> bool {
        self.0.binary_search_by(|other| (**other).cmp(path)).is_ok()
    }

    /// Those below a path, without the path itself.
    pub(crate) fn below<'a>(&'a self, path: &'a Path) -> impl Iterator<Item = &'a Path> {
        let first = self.0.partition_point(|other| **other <= *path);
        let later = self.0.get(first..).unwrap_or_default();
        later.iter().map(PathBuf::as_path).take_while(move |other| other.starts_with(path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_same_paths_are_found_as_by_comparing_all(
            all in prop::collection::vec("(/[ab.-]{1,2}){1,4}", 0..12),
            path in "(/[ab.-]{1,2}){1,3}",
        ) {
            let path = Path::new(&path);
            let mut all: Vec<_> = all.iter().map(PathBuf::from).collect();
            let sorted = SortedPaths::new(all.clone());
            all.sort();
            all.dedup();
            prop_assert_eq!(sorted.contains(path), all.iter().any(|other| other == path));
            let below = all.iter().filter(|other| other.starts_with(path) && *other != path);
            let below: Vec<&Path> = below.map(PathBuf::as_path).collect();
            prop_assert_eq!(sorted.below(path).collect::<Vec<_>>(), below);
        }
    }
}
