//! `fs.writeFile`: writes a whole file, or appends to it.

use std::borrow::Cow;

use provost_core::action::{MAX_FILE_WRITE_BYTES, WriteFile, WriteMode};
use provost_proto::{Code, Hash};
use provost_sandbox::root_dir::{FileWriteMode, RootDir, RootDirError};
use serde::Serialize;

use super::{ChangeKind, ChangedPath, create_parent_dirs, hash_content, kind_at};
use crate::ActionError;

/// The result of `fs.writeFile`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WriteFileResult {
    /// The new size of the file, in bytes.
    pub size: u64,
    /// The hash of the whole file; `None` if it is too large to read.
    pub hash: Option<Hash>,
    /// Whether there was no file before.
    pub created: bool,
    /// The file, and the folders that were created for it.
    pub changed: Vec<ChangedPath>,
}

/// The largest file that is read to compare or hash it, in bytes.
const MAX_HASHED_BYTES: u64 = MAX_FILE_WRITE_BYTES as u64;

pub(super) fn run(root: &RootDir, action: &WriteFile) -> Result<WriteFileResult, ActionError> {
    let path = &action.path;
    let bytes = action
        .bytes()
        .map_err(|error| ActionError::new(Code::InvalidAction, format!("`content` {error}")))?;
    let made = match action.mode {
        WriteMode::Overwrite | WriteMode::Append if action.expect_hash.is_some() => Vec::new(),
        WriteMode::Overwrite | WriteMode::Create | WriteMode::Append => {
            create_parent_dirs(root, path)?
        }
    };
    let created = kind_at(root, path)?.is_none();
    let (size, hash) = match action.expect_hash {
        Some(expected) => write_if_hash_matches(root, action, &bytes, expected),
        None => write_content(root, action, &bytes),
    }
    .map_err(|error: ActionError| error.with_path(path))?;
    let mut changed: Vec<_> =
        made.iter().map(|folder| ChangedPath::new(folder, ChangeKind::Created)).collect();
    let kind = if created { ChangeKind::Created } else { ChangeKind::Modified };
    changed.push(ChangedPath::new(path, kind));
    Ok(WriteFileResult { size, hash, created, changed })
}

type WriteOutcome = Result<(u64, Option<Hash>), ActionError>;

fn write_content(root: &RootDir, action: &WriteFile, bytes: &[u8]) -> WriteOutcome {
    let mode = match action.mode {
        WriteMode::Overwrite => FileWriteMode::Overwrite,
        WriteMode::Create => FileWriteMode::Create,
        WriteMode::Append => FileWriteMode::Append,
    };
    root.write(action.path.as_ref(), bytes, mode)?;
    match action.mode {
        WriteMode::Overwrite | WriteMode::Create => {
            Ok((bytes.len() as u64, Some(hash_content(bytes))))
        }
        WriteMode::Append => match root.read(action.path.as_ref(), MAX_HASHED_BYTES) {
            Ok(whole) => Ok((whole.len() as u64, Some(hash_content(&whole)))),
            Err(RootDirError::TooLarge { size, .. }) => Ok((size, None)),
            Err(error) => Err(error.into()),
        },
    }
}

/// Writes only if the file has the expected content.
fn write_if_hash_matches(
    root: &RootDir,
    action: &WriteFile,
    bytes: &[u8],
    expected: Hash,
) -> WriteOutcome {
    let mut written = (0, None);
    root.edit(action.path.as_ref(), MAX_HASHED_BYTES, |present| {
        let present = check_expected_hash(present, Some(expected))?;
        let content: Cow<'_, [u8]> = match action.mode {
            WriteMode::Append => Cow::Owned([present, bytes].concat()),
            WriteMode::Overwrite | WriteMode::Create => Cow::Borrowed(bytes),
        };
        written = (content.len() as u64, Some(hash_content(&content)));
        Ok::<_, ActionError>(content.into_owned())
    })?;
    Ok(written)
}

/// The content, if there is one and it has the expected hash.
pub(super) fn check_expected_hash(
    present: Option<&[u8]>,
    expected: Option<Hash>,
) -> Result<&[u8], ActionError> {
    let actual = present.map(hash_content);
    match (present, expected) {
        (Some(present), None) => Ok(present),
        (Some(present), Some(expected)) if actual == Some(expected) => Ok(present),
        (Some(_), Some(_)) => {
            let message = "the file has changed since it was read; read it again";
            let details = serde_json::json!({ "hash": actual });
            Err(ActionError::new(Code::Conflict, message).with_details(details))
        }
        (None, Some(_)) => {
            let message = "the file is gone since it was read";
            Err(ActionError::new(Code::Conflict, message))
        }
        (None, None) => Err(ActionError::new(Code::NotFound, "no such file or folder")),
    }
}
