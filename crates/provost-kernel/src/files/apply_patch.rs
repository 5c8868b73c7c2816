//! `fs.applyPatch`: a unified diff over any number of files.
//!
//! First all files are read and all hunks placed, without a change; then everything
//! is written. A failure rolls back what was written.

use std::collections::HashMap;

use provost_core::action::patch::{self, FileChange, FilePatch};
use provost_core::action::{ApplyPatch, MAX_FILE_WRITE_BYTES, RelPath};
use provost_proto::Code;
use provost_sandbox::root_dir::{FileKind, RootDir, RootDirError};
use serde::Serialize;
use serde_json::{Value, json};

use super::ChangedPath;
use super::file_transaction::FileTransaction;
use super::hunk_placement::{self, HunkMismatch};
use crate::ActionError;

/// The result of `fs.applyPatch`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ApplyPatchResult {
    /// The changed paths.
    pub changed: Vec<ChangedPath>,
    /// Files that the patch did not fit, if it may be applied in part.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<ActionError>,
    /// Notes for the caller.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// How many bytes of file content are held in memory.
const MAX_PLANNED_BYTES: usize = 64 * 1024 * 1024;

pub(super) fn run(
    root: &RootDir,
    action: &ApplyPatch,
    stop: &dyn Fn() -> bool,
) -> Result<ApplyPatchResult, ActionError> {
    let files = patch::parse_patch(&action.patch)
        .map_err(|error| ActionError::new(Code::InvalidAction, error.to_string()))?;
    let mut applied =
        ApplyPatchResult { changed: Vec::new(), failed: Vec::new(), notes: Vec::new() };
    if action.atomic {
        apply_file_patches(root, &files, &mut applied, stop)?;
        return Ok(applied);
    }
    for file in &files {
        match apply_file_patches(root, std::slice::from_ref(file), &mut applied, stop) {
            Err(error) if error.code == Code::Cancelled => return Err(error),
            Err(error) => applied.failed.push(error),
            Ok(()) => {}
        }
    }
    match applied.failed.first() {
        Some(first) if applied.changed.is_empty() => Err(first.clone()),
        _ => Ok(applied),
    }
}

/// Applies the patches of all these files or none.
fn apply_file_patches(
    root: &RootDir,
    files: &[FilePatch<'_>],
    applied: &mut ApplyPatchResult,
    stop: &dyn Fn() -> bool,
) -> Result<(), ActionError> {
    let mut plan =
        PatchPlan { root, planned: HashMap::new(), held: 0, steps: Vec::new(), notes: Vec::new() };
    for file in files {
        if stop() {
            return Err(ActionError::cancelled());
        }
        plan.add_file_patch(file)?;
    }
    let mut steps = FileTransaction::new(root);
    for step in &plan.steps {
        let taken = if stop() { Err(ActionError::cancelled()) } else { step.apply_to(&mut steps) };
        if let Err(error) = taken {
            return Err(steps.roll_back(error));
        }
    }
    applied.changed.append(&mut steps.commit()?);
    applied.notes.append(&mut plan.notes);
    Ok(())
}

/// One change, with the content expected before it.
enum PatchStep {
    Create { path: RelPath, new: Vec<u8> },
    Replace { path: RelPath, old: Vec<u8>, new: Vec<u8> },
    Move { from: RelPath, to: RelPath },
    Remove { path: RelPath, old: Vec<u8> },
}

impl PatchStep {
    fn apply_to(&self, steps: &mut FileTransaction<'_>) -> Result<(), ActionError> {
        match self {
            Self::Create { path, new } => steps.create(path, new),
            Self::Replace { path, old, new } => steps.replace(path, old, new),
            Self::Move { from, to } => steps.rename(from, to),
            Self::Remove { path, old } => steps.remove(path, old),
        }
    }
}

/// The planned steps, and the content of files after them.
struct PatchPlan<'a> {
    root: &'a RootDir,
    /// Files that earlier parts of the patch change; `None` is a deleted file.
    planned: HashMap<RelPath, Option<Vec<u8>>>,
    held: usize,
    steps: Vec<PatchStep>,
    notes: Vec<String>,
}

impl PatchPlan<'_> {
    fn add_file_patch(&mut self, file: &FilePatch<'_>) -> Result<(), ActionError> {
        match &file.change {
            FileChange::Create(path) => {
                self.ensure_path_free(path)?;
                let new = self.patch_content(path, &[], file)?;
                if file.executable == Some(true) {
                    self.notes
                        .push(format!("{path} is not executable yet; `chmod +x` makes it so"));
                }
                self.steps.push(PatchStep::Create { path: path.clone(), new: new.clone() });
                self.record_planned_content(path, Some(new))
            }
            FileChange::Modify(path) => {
                let old = self.planned_content(path)?;
                let new = self.patch_content(path, &old, file)?;
                self.steps.push(PatchStep::Replace { path: path.clone(), old, new: new.clone() });
                self.record_planned_content(path, Some(new))
            }
            FileChange::Delete(path) => {
                let old = self.planned_content(path)?;
                if !self.patch_content(path, &old, file)?.is_empty() {
                    let reason = "the patch deletes the file, but there is more in it";
                    return Err(patch_conflict_error(path, reason, json!({})));
                }
                self.steps.push(PatchStep::Remove { path: path.clone(), old });
                self.record_planned_content(path, None)
            }
            FileChange::Rename { from, to } => {
                let old = self.planned_content(from)?;
                self.ensure_path_free(to)?;
                let new = self.patch_content(from, &old, file)?;
                self.steps.push(PatchStep::Move { from: from.clone(), to: to.clone() });
                if new != old {
                    self.steps.push(PatchStep::Replace { path: to.clone(), old, new: new.clone() });
                }
                self.record_planned_content(from, None)?;
                self.record_planned_content(to, Some(new))
            }
        }
    }

    fn record_planned_content(
        &mut self,
        path: &RelPath,
        content: Option<Vec<u8>>,
    ) -> Result<(), ActionError> {
        self.held += content.as_ref().map_or(0, Vec::len);
        self.planned.insert(path.clone(), content);
        if self.held > MAX_PLANNED_BYTES {
            let message =
                format!("the patch touches more than {MAX_PLANNED_BYTES} bytes of files; split it");
            return Err(ActionError::new(Code::TooLarge, message));
        }
        Ok(())
    }

    /// The content of the file after the earlier parts of the patch.
    fn planned_content(&self, path: &RelPath) -> Result<Vec<u8>, ActionError> {
        match self.planned.get(path) {
            Some(Some(content)) => return Ok(content.clone()),
            Some(None) => {
                return Err(patch_conflict_error(path, "an earlier part deletes it", json!({})));
            }
            None => {}
        }
        let on = |error: RootDirError| ActionError::from(error).with_path(path);
        let stat = match self.root.stat(path.as_ref()) {
            Err(RootDirError::NotFound) => {
                return Err(patch_conflict_error(path, "there is no such file", json!({})));
            }
            other => other.map_err(on)?,
        };
        match stat.kind {
            FileKind::File if stat.links > 1 => Err(on(RootDirError::HardLink)),
            FileKind::File => {
                self.root.read(path.as_ref(), MAX_FILE_WRITE_BYTES as u64).map_err(on)
            }
            FileKind::Directory => Err(on(RootDirError::IsDirectory)),
            FileKind::Symlink => Err(on(RootDirError::NotRegular("a symbolic link"))),
            FileKind::Other => Err(on(RootDirError::NotRegular("a pipe, socket or device"))),
        }
    }

    fn ensure_path_free(&self, path: &RelPath) -> Result<(), ActionError> {
        let taken = match self.planned.get(path) {
            Some(planned) => planned.is_some(),
            None => super::kind_at(self.root, path)?.is_some(),
        };
        if taken {
            return Err(patch_conflict_error(
                path,
                "the patch creates it, but it exists",
                json!({}),
            ));
        }
        Ok(())
    }

    fn patch_content(
        &mut self,
        path: &RelPath,
        old: &[u8],
        file: &FilePatch<'_>,
    ) -> Result<Vec<u8>, ActionError> {
        match hunk_placement::apply_hunks(old, &file.hunks) {
            Ok((new, _)) if new.len() > MAX_FILE_WRITE_BYTES => {
                let message =
                    format!("would be longer than the {MAX_FILE_WRITE_BYTES} bytes allowed");
                Err(ActionError::new(Code::TooLarge, message).with_path(path))
            }
            Ok((new, loose)) => {
                if loose {
                    let note = format!(
                        "{path}: lines around a change differ from the patch; check the result"
                    );
                    self.notes.push(note);
                }
                Ok(new)
            }
            Err((number, mismatch)) => {
                let line = file.hunks.get(number - 1).map(|hunk| hunk.start);
                let lines =
                    if let HunkMismatch::Ambiguous(lines) = &mismatch { &lines[..] } else { &[] };
                let details = json!({ "hunk": number, "line": line, "fits": lines });
                Err(patch_conflict_error(path, &format!("hunk {number}: {mismatch}"), details))
            }
        }
    }
}

fn patch_conflict_error(path: &RelPath, reason: &str, mut details: Value) -> ActionError {
    details["file"] = json!(path);
    ActionError::new(Code::PatchConflict, reason).with_path(path).with_details(details)
}
