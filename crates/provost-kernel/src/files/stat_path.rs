//! `fs.stat`: the metadata of a path.

use provost_core::action::{RelPath, StatPath};
use provost_sandbox::root_dir::{FileKind, RootDir};
use serde::Serialize;

use crate::ActionError;

/// The kind of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A folder.
    Directory,
    /// A symbolic link.
    Symlink,
    /// A pipe, socket or device.
    Other,
}

impl From<FileKind> for EntryKind {
    fn from(kind: FileKind) -> Self {
        match kind {
            FileKind::File => Self::File,
            FileKind::Directory => Self::Directory,
            FileKind::Symlink => Self::Symlink,
            FileKind::Other => Self::Other,
        }
    }
}

/// The result of `fs.stat`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StatPathResult {
    /// The requested path.
    pub path: RelPath,
    /// What it is.
    pub kind: EntryKind,
    /// Its length in bytes.
    pub size: u64,
    /// When it was last modified, in microseconds since 1970.
    pub modified: i64,
    /// Its permission bits in octal, as `chmod` takes them.
    pub mode: String,
    /// How many hard links it has.
    pub links: u64,
    /// The target of a link, not resolved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
}

pub(super) fn run(root: &RootDir, action: &StatPath) -> Result<StatPathResult, ActionError> {
    let path = &action.path;
    let stat =
        root.stat(path.as_ref()).map_err(|error| ActionError::from(error).with_path(path))?;
    Ok(StatPathResult {
        path: path.clone(),
        kind: stat.kind.into(),
        size: stat.size,
        modified: stat.modified,
        mode: format!("{:o}", stat.mode),
        links: stat.links,
        target: stat.target.map(|text| text.to_string_lossy().into_owned()),
    })
}
