//! In which folders a line may be, as `cd` moves it.

/// How many folders are followed.
const MAX_POSSIBLE_FOLDERS: usize = 8;

/// The folders that a line may be in, relative to where it starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PossibleFolders(Vec<String>);

impl PossibleFolders {
    /// Where every line starts.
    pub(crate) fn at_line_start() -> Self {
        Self(vec![String::new()])
    }

    /// All of them.
    pub(crate) fn to_vec(&self) -> Vec<String> {
        self.0.clone()
    }

    /// After `cd path` from any of them.
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

    /// Adds those of another; false if they are too many to follow.
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

    /// What a path may mean.
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
