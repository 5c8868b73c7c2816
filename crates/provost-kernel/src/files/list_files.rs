//! `fs.listFiles`: lists a folder.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use globset::{GlobBuilder, GlobMatcher};
use provost_core::action::{ListFiles, RelPath};
use provost_core::policy::{PathVisibility, RuleEffect};
use provost_proto::Code;
use provost_sandbox::root_dir::{FileKind, RootDir};
use serde::Serialize;

use super::dir_walker::{DirWalker, WalkEntry, WalkOptions};
use super::visibility_filter::VisibilityFilter;
use super::{EntryKind, OmittedPaths};
use crate::ActionError;

/// The result of `fs.listFiles`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ListFilesResult {
    /// The entries: a folder before its content, names in byte order.
    pub entries: Vec<ListedEntry>,
    /// Where to continue, if there is more.
    pub cursor: Option<String>,
    /// Folders that could not be read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<SkippedPath>,
    /// Paths that a rule hides; present if visibility is restricted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left_out: Option<OmittedPaths>,
}

/// One entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ListedEntry {
    /// The path relative to the project.
    pub path: String,
    /// What it is; links are not followed.
    pub kind: EntryKind,
    /// The length of a file, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// When it was last modified, in microseconds since 1970.
    pub modified: i64,
    /// Set if the name is not valid in an action, so that `path` only displays it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unusable: bool,
}

/// A folder or file that was skipped, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SkippedPath {
    /// The path relative to the project.
    pub path: String,
    /// The cause.
    pub error: String,
}

pub(super) fn run(
    root: &RootDir,
    action: &ListFiles,
    visibility: Option<&PathVisibility>,
    stop: &dyn Fn() -> bool,
) -> Result<ListFilesResult, ActionError> {
    let glob = action.glob.as_deref().map(GlobFilter::new).transpose()?;
    let folder = to_joinable_path(&action.path);
    let after = match &action.cursor {
        Some(cursor) => decode_cursor(cursor, &folder)?,
        None => PathBuf::new(),
    };
    let options = WalkOptions {
        hidden: action.hidden,
        respect_ignore: action.respect_ignore,
        depth: action.depth as usize,
    };
    let mut walk = DirWalker::new(root, &folder, options, &after, stop)
        .map_err(|error| error.with_path(&action.path))?;
    // A name is not content: only denied paths are omitted.
    let mut filter = VisibilityFilter::new(root, visibility, RuleEffect::Deny)?;
    let real = if filter.is_limited() {
        let folder = root.open_subdir(action.path.as_ref());
        filter.resolve_relative_path(
            folder.map_err(|error| ActionError::from(error).with_path(&action.path))?,
        )?
    } else {
        None
    };
    let mut listing =
        ListFilesResult { entries: Vec::new(), cursor: None, skipped: Vec::new(), left_out: None };
    let mut last = None;
    while let Some(item) = walk.next()? {
        if glob.as_ref().is_some_and(|glob| !glob.matches_path(&item.path)) {
            continue;
        }
        let inside = item.path.strip_prefix(&folder).unwrap_or(&item.path);
        let really = real.as_ref().map_or_else(|| item.path.clone(), |real| real.join(inside));
        if filter.omits_path(&item.path) || (really != item.path && filter.omits_path(&really)) {
            continue;
        }
        if listing.entries.len() == action.limit as usize {
            listing.cursor = last.map(|path: PathBuf| encode_cursor(&path));
            break;
        }
        listing.entries.push(to_listed_entry(&item));
        last = Some(item.path);
    }
    listing.skipped = walk.skipped;
    listing.left_out = filter.into_omitted();
    Ok(listing)
}

/// The folder as a path that others can be joined to.
pub(super) fn to_joinable_path(path: &RelPath) -> PathBuf {
    path.components().collect()
}

fn to_listed_entry(item: &WalkEntry) -> ListedEntry {
    let path = item.path.to_string_lossy();
    let usable = item
        .path
        .to_str()
        .is_some_and(|path| RelPath::new(path).is_ok_and(|read| read.as_str() == path));
    ListedEntry {
        kind: item.stat.kind.into(),
        size: (item.stat.kind == FileKind::File).then_some(item.stat.size),
        modified: item.stat.modified,
        path: path.into_owned(),
        unusable: !usable,
    }
}

/// A cursor is the last path that was returned: it needs no state on the server, and
/// stays valid when files come and go.
fn encode_cursor(path: &Path) -> String {
    URL_SAFE_NO_PAD.encode(path.as_os_str().as_bytes())
}

/// The path to resume after, relative to the listed folder.
fn decode_cursor(cursor: &str, folder: &Path) -> Result<PathBuf, ActionError> {
    let bad = || ActionError::new(Code::InvalidAction, "`cursor` is not from this listing");
    let bytes = URL_SAFE_NO_PAD.decode(cursor).map_err(|_| bad())?;
    let path = PathBuf::from(OsString::from_vec(bytes));
    let inside = path.strip_prefix(folder).map_err(|_| bad())?;
    if inside.as_os_str().is_empty() {
        return Err(bad());
    }
    Ok(inside.to_owned())
}

/// A glob over names, or over paths if it contains a slash.
struct GlobFilter {
    matcher: GlobMatcher,
    on_path: bool,
}

impl GlobFilter {
    fn new(glob: &str) -> Result<Self, ActionError> {
        let built = GlobBuilder::new(glob).literal_separator(true).build();
        let glob_error = |error: globset::Error| {
            ActionError::new(Code::InvalidAction, format!("`glob` is not valid: {}", error.kind()))
        };
        let matcher = built.map_err(glob_error)?.compile_matcher();
        Ok(Self { matcher, on_path: glob.contains('/') })
    }

    fn matches_path(&self, path: &Path) -> bool {
        if self.on_path {
            return self.matcher.is_match(path);
        }
        path.file_name().is_some_and(|name| self.matcher.is_match(name))
    }
}
