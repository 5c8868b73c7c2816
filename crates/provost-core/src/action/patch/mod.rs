//! Parses a unified diff: the files that it changes, and how.
//!
//! Patches come from git, `diff` or a model. Models miscount, so the numbers in a hunk header are
//! a hint: where they do not fit, a hunk ends where the next part begins. Unsupported parts are
//! refused, never skipped: binary patches, copies, links and submodules.

mod file_name;
mod reader;

use super::RelPath;

/// The changes of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilePatch<'a> {
    /// The file, before and after.
    pub change: FileChange,
    /// Whether the patch makes the file executable; `None` if it does not say.
    pub executable: Option<bool>,
    /// The hunks, from top to bottom.
    pub hunks: Vec<Hunk<'a>>,
}

/// The file before and after a patch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileChange {
    /// A new file.
    Create(RelPath),
    /// A changed file.
    Modify(RelPath),
    /// A deleted file.
    Delete(RelPath),
    /// A renamed file.
    Rename {
        /// The old name.
        from: RelPath,
        /// The new name.
        to: RelPath,
    },
}

impl FileChange {
    /// The old path, or that of a new file.
    pub fn path(&self) -> &RelPath {
        match self {
            Self::Create(path) | Self::Modify(path) | Self::Delete(path) => path,
            Self::Rename { from, .. } => from,
        }
    }
}

/// One changed part of a file, with context lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hunk<'a> {
    /// The line at which the patch expects it, from 1; 0 is before the first.
    pub start: usize,
    /// The context, removed and added lines.
    pub lines: Vec<HunkLine<'a>>,
}

/// One line of a hunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HunkLine<'a> {
    /// Whether it is kept, removed or added.
    pub op: LineOp,
    /// Its text without the line feed; a carriage return is part of it.
    pub text: &'a str,
    /// Whether a line feed follows; only the last line of a file may lack one.
    pub newline: bool,
}

/// What a patch does with a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineOp {
    /// A context line.
    Keep,
    /// A removed line.
    Remove,
    /// An added line.
    Add,
}

/// Why a text is not a valid patch.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line} of the patch: {why}")]
pub struct BadPatch {
    /// The line, from 1.
    pub line: usize,
    /// The error.
    pub why: String,
}

/// Parses a patch. It changes at least one file.
pub fn parse_patch(patch: &str) -> Result<Vec<FilePatch<'_>>, BadPatch> {
    reader::PatchReader::new(patch).files()
}

/// All paths that the patch changes, in order.
pub fn touched_paths(files: &[FilePatch<'_>]) -> Vec<RelPath> {
    let both = |file: &FilePatch<'_>| match &file.change {
        FileChange::Create(path) | FileChange::Modify(path) | FileChange::Delete(path) => {
            vec![path.clone()]
        }
        FileChange::Rename { from, to } => vec![from.clone(), to.clone()],
    };
    files.iter().flat_map(both).collect()
}
