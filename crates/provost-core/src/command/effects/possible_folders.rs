//! The folders in which a line may be after `cd`.

/// The most folders that are tracked.
const MAX_POSSIBLE_FOLDERS: usize = 8;

/// The folders in which a line may be, relative to where it starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PossibleFolders(Vec<String>);

impl PossibleFolders {
    /// The folder in which every line starts.
    pub(crate) fn at_line_start() -> Self {
        Self(vec![String::new()])
    }

    /// All folders.
    pub(crate) fn to_vec(&self) -> Vec<String> {
        self.0.clone()
    }

    /// Applies `cd path` to each folder.
    pub(crate) fn change_folder(&mut self, path: &str) {
        let mut next: Vec<String> = Vec::with_capacity(self.0.len());
        for folder in &self.0 {
            let joined = join_path(folder, path);
            if !next.contains(&joined) {
                next.push(joined);
            }
        }
        self.0 = next;
    }

    /// Adds the folders of another; false if they are too many to track.
    pub(crate) fn merge(&mut self, other: &Self) -> bool {
        for folder in &other.0 {
            if !self.0.contains(folder) {
                self.0.push(folder.clone());
            }
        }
        let few = self.0.len() <= MAX_POSSIBLE_FOLDERS;
        self.0.truncate(MAX_POSSIBLE_FOLDERS);
        few
    }

    /// The paths that a relative path may mean.
    pub(crate) fn resolve_path(&self, path: &str) -> Vec<String> {
        if path.starts_with('/') {
            return vec![path.to_owned()];
        }
        self.0.iter().map(|folder| join_path(folder, path)).collect()
    }
}

fn join_path(folder: &str, path: &str) -> String {
    if folder.is_empty() || path.starts_with('/') {
        path.to_owned()
    } else {
        format!("{}/{path}", folder.trim_end_matches('/'))
    }
}
