//! `fs.listFiles`: the names in a folder.

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

/// What `fs.listFiles` answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ListFilesResult {
    /// The entries: folders before what is in them, names by their bytes.
    pub entries: Vec<ListedEntry>,
    /// Where to go on, if there is more.
    pub cursor: Option<String>,
    /// Folders that could not be looked into.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<SkippedPath>,
    /// What is not listed because a rule denies it; there if rules limit the listing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left_out: Option<OmittedPaths>,
}

/// One entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ListedEntry {
    /// The path from the project.
    pub path: String,
    /// What it is; links are not followed.
    pub kind: EntryKind,
    /// The length of a file, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// When it was last changed, in microseconds since 1970.
    pub modified: i64,
    /// Set if the name is one that no action takes, so that `path` only shows it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unusable: bool,
}

/// A folder or file that was left out, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SkippedPath {
    /// The path from the project.
    pub path: String,
    /// What was in the way.
    pub error: String,
}

pub(super) fn run(
    root: &RootDir,
    action: &ListFiles,
    sight: Option<&PathVisibility>,
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
    // A name is no content: only what is denied is left out.
    let mut eyes = VisibilityFilter::new(root, sight, RuleEffect::Deny)?;
    let real = if eyes.is_limited() {
        let folder = root.open_subdir(action.path.as_ref());
        eyes.relative_path_of(
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
        if eyes.omits_path(&item.path) || (really != item.path && eyes.omits_path(&really)) {
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
    listing.left_out = eyes.into_omitted();
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

/// A cursor is the last path that was given out: what comes after it is known
/// without anything being kept, and stays right when files come and go.
fn encode_cursor(path: &Path) -> String {
    URL_SAFE_NO_PAD.encode(path.as_os_str().as_bytes())
}

/// The path behind which to go on, from the listed folder.
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

/// A glob over names, or over paths if it has a slash.
struct GlobFilter {
    matcher: GlobMatcher,
    on_path: bool,
}

impl GlobFilter {
    fn new(glob: &str) -> Result<Self, ActionError> {
        let built = GlobBuilder::new(glob).literal_separator(true).build();
        let glob_error = |error: globset::Error| {
            ActionError::new(
                Code::InvalidAction,
                format!("`glob` cannot be read: {}", error.kind()),
            )
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
