//! Guides such as AGENTS.md: files that tell a model how to work in a project.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use provost_core::session::instructions::{
    GUIDE_FILE_NAMES, GuideFile, MAX_GUIDE_BYTES, ancestor_folders,
};
use provost_proto::Project;
use provost_sandbox::root_dir::{FileKind, RootDir};

use super::Sessions;
use crate::GatewayError;

/// How many folders of a project are searched for a guide.
const MAX_GUIDE_FOLDERS: usize = 200;

impl Sessions {
    /// The guides of the project folder, of the folders in it, and of the folders above the
    /// touched files.
    pub async fn load_guides(
        &self,
        project: &Project,
        touched: &[String],
    ) -> Result<Vec<GuideFile>, GatewayError> {
        let (folder, ancestors) = (PathBuf::from(&project.path), ancestor_folders(touched));
        let read = tokio::task::spawn_blocking(move || read_guides(&folder, ancestors)).await;
        let mut guides = read.map_err(|_| GatewayError::Stopping)?;
        for guide in &mut guides {
            self.log.redactor().redact_string(&mut guide.text);
        }
        Ok(guides)
    }
}

fn read_guides(folder: &Path, ancestors: BTreeSet<String>) -> Vec<GuideFile> {
    let Ok(root) = RootDir::open(folder) else { return Vec::new() };
    let mut folders = ancestors;
    folders.insert(String::new());
    if let Ok(listing) = root.list(Path::new("."), MAX_GUIDE_FOLDERS) {
        let inner =
            listing.entries.into_iter().filter(|entry| entry.stat.kind == FileKind::Directory);
        let names = inner.filter_map(|entry| entry.name.into_string().ok());
        folders.extend(names.filter(|name| !name.starts_with('.')).map(|name| format!("{name}/")));
    }
    folders.iter().filter_map(|folder| read_folder_guide(&root, folder)).collect()
}

/// The first guide in a folder. Files that are not text, or too long, are skipped.
fn read_folder_guide(root: &RootDir, folder: &str) -> Option<GuideFile> {
    GUIDE_FILE_NAMES.iter().find_map(|name| {
        let file = format!("{folder}{name}");
        let bytes = root.read(Path::new(&file), MAX_GUIDE_BYTES as u64).ok()?;
        Some(GuideFile { text: String::from_utf8(bytes).ok()?, file })
    })
}
