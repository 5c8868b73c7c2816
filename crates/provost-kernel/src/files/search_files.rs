//! `fs.searchFiles`: finds matching lines.
//!
//! Files are opened inside the root and given to ripgrep's searcher as descriptors.
//! Hidden and ignored files are skipped, unless the path names them: a search of a
//! project should not show its secrets.

mod sink;

use std::path::Path;
use std::time::{Duration, Instant};

use grep_matcher::LineTerminator;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder};
use ignore::overrides::{Override, OverrideBuilder};
use provost_core::action::SearchFiles;
use provost_core::policy::{PathVisibility, RuleEffect};
use provost_proto::Code;
use provost_sandbox::root_dir::{FileKind, RootDir, RootDirError};
use serde::Serialize;

use self::sink::{DeadlineReader, MatchCollector};
use super::dir_walker::{DirWalker, WalkOptions};
use super::ignore_rules::to_rooted_path;
use super::list_files::to_joinable_path;
use super::visibility_filter::VisibilityFilter;
use super::{OmittedPaths, SkippedPath};
use crate::ActionError;

/// The result of `fs.searchFiles`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SearchFilesResult {
    /// The matching lines, file by file in the order of a listing.
    pub matches: Vec<SearchMatch>,
    /// How many files were searched.
    pub files: u64,
    /// Whether there may be more matches than these.
    pub truncated: bool,
    /// Whether time ran out before all files were searched.
    pub timed_out: bool,
    /// Files and folders that could not be searched.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<SkippedPath>,
    /// Files that were not searched because a rule denies reading them, or asks; present
    /// if visibility is restricted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left_out: Option<OmittedPaths>,
}

/// One matching line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SearchMatch {
    /// The path relative to the project.
    pub path: String,
    /// The line's number, counted from 1.
    pub line: u64,
    /// The byte offset of the match in the line, from 1.
    pub column: u64,
    /// The line; a long one is cut around the match.
    pub text: String,
    /// Whether `text` is cut; `…` marks the gap.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
    /// Context lines before it, without those of another match.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub before: Vec<ContextLine>,
    /// Context lines after it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<ContextLine>,
}

/// A context line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ContextLine {
    /// The line's number, counted from 1.
    pub line: u64,
    /// The line; a long one is cut.
    pub text: String,
}

/// How long a search may take.
const SEARCH_TIMEOUT: Duration = Duration::from_secs(20);
/// The longest line that is searched, in bytes.
const MAX_LINE_BYTES: usize = 32 * 1024 * 1024;
/// The largest compiled pattern, in bytes.
const MAX_COMPILED_PATTERN_BYTES: usize = 10 * 1024 * 1024;
/// The depth of a search; no path is deeper.
const DEPTH: usize = 2048;
/// How many files that could not be searched are reported.
const MAX_SKIPPED_FILES: usize = 100;

pub(super) fn run(
    root: &RootDir,
    action: &SearchFiles,
    visibility: Option<&PathVisibility>,
    stop: &dyn Fn() -> bool,
) -> Result<SearchFilesResult, ActionError> {
    let filter = VisibilityFilter::new(root, visibility, RuleEffect::Ask)?;
    run_until(
        root,
        action,
        filter,
        SearchDeadline { deadline: Instant::now() + SEARCH_TIMEOUT, stop },
    )
}

/// Searches until the deadline, and returns what was found by then.
fn run_until(
    root: &RootDir,
    action: &SearchFiles,
    filter: VisibilityFilter<'_>,
    clock: SearchDeadline<'_>,
) -> Result<SearchFilesResult, ActionError> {
    let mut search = FileSearch {
        root,
        matcher: build_matcher(action)?,
        globs: build_globs(action)?,
        searcher: build_searcher(action),
        limit: action.limit as usize,
        clock,
        filter,
        found: SearchFilesResult {
            matches: Vec::new(),
            files: 0,
            truncated: false,
            timed_out: false,
            skipped: Vec::new(),
            left_out: None,
        },
    };
    let top = to_joinable_path(&action.path);
    let is_file = !action.path.is_root()
        && root
            .stat(action.path.as_ref())
            .map_err(|error| ActionError::from(error).with_path(&action.path))?
            .kind
            != FileKind::Directory;
    // The target of a link is known only when it is opened.
    if !(is_file && search.search_single_file(&top)?) {
        search.search_dir(&top).map_err(|error| error.with_path(&action.path))?;
    }
    Ok(SearchFilesResult { left_out: search.filter.into_omitted(), ..search.found })
}

/// The end of a search.
pub(super) struct SearchDeadline<'a> {
    deadline: Instant,
    stop: &'a dyn Fn() -> bool,
}

impl SearchDeadline<'_> {
    pub(super) fn is_expired(&self) -> bool {
        (self.stop)() || Instant::now() >= self.deadline
    }
}

struct FileSearch<'a> {
    root: &'a RootDir,
    matcher: RegexMatcher,
    globs: Override,
    searcher: Searcher,
    limit: usize,
    clock: SearchDeadline<'a>,
    filter: VisibilityFilter<'a>,
    found: SearchFilesResult,
}

impl FileSearch<'_> {
    /// Searches a single file, whatever its name.
    fn search_single_file(&mut self, path: &Path) -> Result<bool, ActionError> {
        match self.root.open_read(path) {
            Err(RootDirError::IsDirectory) => return Ok(false),
            Err(error) => {
                let error = ActionError::from(error);
                return Err(ActionError {
                    message: format!("{}: {error}", path.display()),
                    ..error
                });
            }
            Ok(_) => {}
        }
        self.search_file(path)?;
        Ok(true)
    }

    fn search_dir(&mut self, top: &Path) -> Result<(), ActionError> {
        let options = WalkOptions { hidden: false, respect_ignore: true, depth: DEPTH };
        let stop = self.clock.stop;
        let mut walk = DirWalker::new(self.root, top, options, Path::new(""), stop)?;
        while let Some(item) = walk.next()? {
            if Instant::now() >= self.clock.deadline {
                self.found.timed_out = true;
            }
            if self.found.timed_out || self.found.truncated {
                break;
            }
            let is_folder = item.stat.kind == FileKind::Directory;
            if self.globs.matched(to_rooted_path(&item.path), is_folder).is_ignore() {
                walk.prune();
                continue;
            }
            if item.stat.kind == FileKind::File {
                self.search_file(&item.path)?;
            }
        }
        self.found.truncated |= self.found.timed_out;
        self.found.skipped.append(&mut walk.skipped);
        Ok(())
    }

    fn search_file(&mut self, path: &Path) -> Result<(), ActionError> {
        let opened = match self.root.open_read(path) {
            Ok(opened) => opened,
            // Removed or replaced since the folder was read.
            Err(RootDirError::NotFound | RootDirError::NotRegular(_)) => return Ok(()),
            Err(error) => {
                self.record_skipped(path, ActionError::from(error).message);
                return Ok(());
            }
        };
        if self.filter.omits_open_file(path, &opened.file)? {
            return Ok(());
        }
        self.found.files += 1;
        let mut collector = MatchCollector::new(path, &self.matcher, &mut self.found, self.limit);
        let reader = DeadlineReader { file: opened.file, clock: &self.clock };
        let searched = self.searcher.search_reader(&self.matcher, reader, &mut collector);
        if (self.clock.stop)() {
            return Err(ActionError::cancelled());
        }
        if let Err(error) = searched {
            if self.clock.is_expired() {
                self.found.timed_out = true;
            } else {
                self.record_skipped(path, error.to_string());
            }
        }
        Ok(())
    }

    fn record_skipped(&mut self, path: &Path, error: String) {
        if self.found.skipped.len() < MAX_SKIPPED_FILES {
            let path = path.to_string_lossy().into_owned();
            self.found.skipped.push(SkippedPath { path, error });
        }
    }
}

fn build_matcher(action: &SearchFiles) -> Result<RegexMatcher, ActionError> {
    let mut builder = RegexMatcherBuilder::new();
    builder
        .multi_line(true)
        .crlf(true)
        .size_limit(MAX_COMPILED_PATTERN_BYTES)
        .fixed_strings(action.literal);
    builder.build(&action.pattern).map_err(|error| {
        let message = format!("`pattern` is not valid for a search by line: {error}");
        ActionError::new(Code::InvalidAction, message)
    })
}

fn build_searcher(action: &SearchFiles) -> Searcher {
    SearcherBuilder::new()
        .line_terminator(LineTerminator::crlf())
        .line_number(true)
        .before_context(action.context as usize)
        .after_context(action.context as usize)
        .binary_detection(BinaryDetection::quit(0))
        .heap_limit(Some(MAX_LINE_BYTES))
        .build()
}

fn build_globs(action: &SearchFiles) -> Result<Override, ActionError> {
    let mut builder = OverrideBuilder::new("/");
    let bad = |error: ignore::Error| {
        ActionError::new(Code::InvalidAction, format!("`globs` is not valid: {error}"))
    };
    for glob in &action.globs {
        builder.add(glob).map_err(bad)?;
    }
    builder.build().map_err(bad)
}

#[cfg(test)]
mod tests;
