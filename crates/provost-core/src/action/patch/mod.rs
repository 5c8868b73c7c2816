//! A unified diff, read: which files it touches and what it changes in each.
//!
//! Written by git, `diff` or a model. Models miscount, so the numbers in a hunk's
//! header are a hint: where they do not fit, a hunk ends where the next part
//! begins. What is not understood is refused, never skipped: binary patches,
//! copies, links and submodules.

mod file_name;
mod reader;

use super::RelPath;

/// What a patch does to one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilePatch<'a> {
    /// Which file, before and after.
    pub change: FileChange,
    /// Whether the patch wants the file to be executable; `None` if it says nothing.
    pub executable: Option<bool>,
    /// What changes in it, from top to bottom.
    pub hunks: Vec<Hunk<'a>>,
}

/// Which file a patch is about, before and after.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileChange {
    /// A new file.
    Create(RelPath),
    /// A file that stays where it is.
    Modify(RelPath),
    /// A file that goes.
    Delete(RelPath),
    /// A file that gets another name.
    Rename {
        /// The old name.
        from: RelPath,
        /// The new name.
        to: RelPath,
    },
}

impl FileChange {
    /// The file's name before, or the new one's.
    pub fn path(&self) -> &RelPath {
        match self {
            Self::Create(path) | Self::Modify(path) | Self::Delete(path) => path,
            Self::Rename { from, .. } => from,
        }
    }
}

/// One place in a file, with its surroundings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hunk<'a> {
    /// The line where the patch says it is, counted from 1; 0 before the first.
    pub start: usize,
    /// What is there and what comes instead.
    pub lines: Vec<HunkLine<'a>>,
}

/// One line of a hunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HunkLine<'a> {
    /// What happens to it.
    pub op: LineOp,
    /// Its text, without the line feed; a carriage return is part of it.
    pub text: &'a str,
    /// Whether a line feed follows; only the last line of a file may lack one.
    pub newline: bool,
}

/// What a patch does with a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineOp {
    /// It is there and stays.
    Keep,
    /// It is there and goes.
    Remove,
    /// It comes.
    Add,
}

/// Why a text is not a patch.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line} of the patch: {why}")]
pub struct BadPatch {
    /// The line, counted from 1.
    pub line: usize,
    /// What is wrong with it.
    pub why: String,
}

/// Reads a patch. It touches at least one file.
pub fn parse_patch(patch: &str) -> Result<Vec<FilePatch<'_>>, BadPatch> {
    reader::PatchReader::new(patch).files()
}

/// Every path the patch touches, in order.
pub fn touched_paths(files: &[FilePatch<'_>]) -> Vec<RelPath> {
    let both = |file: &FilePatch<'_>| match &file.change {
        FileChange::Create(path) | FileChange::Modify(path) | FileChange::Delete(path) => {
            vec![path.clone()]
        }
        FileChange::Rename { from, to } => vec![from.clone(), to.clone()],
    };
    files.iter().flat_map(both).collect()
}
