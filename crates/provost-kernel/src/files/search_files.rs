//! `fs.searchFiles`: lines that match.
//!
//! Files are opened beneath the root and handed to ripgrep's searcher open.
//! Hidden and ignored files are left out, unless the path names them: a search
//! through a project should not bring up its secrets.

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

use self::sink::{Collector, Watched};
use super::ignored::rooted;
use super::list_files::folder;
use super::sight::Eyes;
use super::walk::{Options, Walk};
use super::{LeftOut, Skipped};
use crate::ActionError;

/// What `fs.searchFiles` answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Found {
    /// The matching lines, file by file in the order of a listing.
    pub matches: Vec<Match>,
    /// How many files were searched.
    pub files: u64,
    /// Whether there may be more matches than these.
    pub truncated: bool,
    /// Whether time ran out before all files were searched.
    pub timed_out: bool,
    /// Files and folders that could not be searched.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<Skipped>,
    /// Files that were not searched because a rule denies reading them, or asks;
    /// there if rules limit the search.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left_out: Option<LeftOut>,
}

/// One matching line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Match {
    /// The file, from the project.
    pub path: String,
    /// The line's number, counted from 1.
    pub line: u64,
    /// Where in the line the match begins, in bytes, counted from 1.
    pub column: u64,
    /// The line; a long one is cut around the match.
    pub text: String,
    /// Whether `text` is cut; `…` stands where something is missing.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
    /// Lines before it that were not given with another match.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub before: Vec<SearchedLine>,
    /// Lines after it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<SearchedLine>,
}

/// A line beside a match.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SearchedLine {
    /// The line's number, counted from 1.
    pub line: u64,
    /// The line; a long one is cut.
    pub text: String,
}

/// How long a search may take.
const TIME: Duration = Duration::from_secs(20);
/// The longest line that is searched, in bytes.
const LINE: usize = 32 * 1024 * 1024;
/// The largest compiled pattern, in bytes.
const COMPILED: usize = 10 * 1024 * 1024;
/// How deep a search goes; deeper than any path can be.
const DEPTH: usize = 2048;
/// How many files that could not be searched are named.
const SKIPPED: usize = 100;

pub(super) fn run(
    root: &RootDir,
    action: &SearchFiles,
    sight: Option<&PathVisibility>,
    stop: &dyn Fn() -> bool,
) -> Result<Found, ActionError> {
    let eyes = Eyes::new(root, sight, RuleEffect::Ask)?;
    run_until(root, action, eyes, Clock { deadline: Instant::now() + TIME, stop })
}

/// Searches until a moment; what was found by then is the answer.
fn run_until(
    root: &RootDir,
    action: &SearchFiles,
    eyes: Eyes<'_>,
    clock: Clock<'_>,
) -> Result<Found, ActionError> {
    let mut search = Search {
        root,
        matcher: matcher(action)?,
        globs: globs(action)?,
        searcher: searcher(action),
        limit: action.limit as usize,
        clock,
        eyes,
        found: Found {
            matches: Vec::new(),
            files: 0,
            truncated: false,
            timed_out: false,
            skipped: Vec::new(),
            left_out: None,
        },
    };
    let top = folder(&action.path);
    let is_file = !action.path.is_root()
        && root
            .stat(action.path.as_ref())
            .map_err(|error| ActionError::from(error).on(&action.path))?
            .kind
            != FileKind::Directory;
    // What a link leads to is known only when it is opened.
    if !(is_file && search.is_searched_alone(&top)?) {
        search.folder(&top).map_err(|error| error.on(&action.path))?;
    }
    Ok(Found { left_out: search.eyes.left_out(), ..search.found })
}

/// When to end.
pub(super) struct Clock<'a> {
    deadline: Instant,
    stop: &'a dyn Fn() -> bool,
}

impl Clock<'_> {
    pub(super) fn is_over(&self) -> bool {
        (self.stop)() || Instant::now() >= self.deadline
    }
}

struct Search<'a> {
    root: &'a RootDir,
    matcher: RegexMatcher,
    globs: Override,
    searcher: Searcher,
    limit: usize,
    clock: Clock<'a>,
    eyes: Eyes<'a>,
    found: Found,
}

impl Search<'_> {
    /// A single file, which is searched whatever its name is.
    fn is_searched_alone(&mut self, path: &Path) -> Result<bool, ActionError> {
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
        self.file(path)?;
        Ok(true)
    }

    fn folder(&mut self, top: &Path) -> Result<(), ActionError> {
        let options = Options { hidden: false, respect_ignore: true, depth: DEPTH };
        let stop = self.clock.stop;
        let mut walk = Walk::new(self.root, top, options, Path::new(""), stop)?;
        while let Some(item) = walk.next()? {
            if Instant::now() >= self.clock.deadline {
                self.found.timed_out = true;
            }
            if self.found.timed_out || self.found.truncated {
                break;
            }
            let is_folder = item.stat.kind == FileKind::Directory;
            if self.globs.matched(rooted(&item.path), is_folder).is_ignore() {
                walk.prune();
                continue;
            }
            if item.stat.kind == FileKind::File {
                self.file(&item.path)?;
            }
        }
        self.found.truncated |= self.found.timed_out;
        self.found.skipped.append(&mut walk.skipped);
        Ok(())
    }

    fn file(&mut self, path: &Path) -> Result<(), ActionError> {
        let opened = match self.root.open_read(path) {
            Ok(opened) => opened,
            // Gone, or no file any more, since the folder was read.
            Err(RootDirError::NotFound | RootDirError::NotRegular(_)) => return Ok(()),
            Err(error) => {
                self.skip(path, ActionError::from(error).message);
                return Ok(());
            }
        };
        if self.eyes.leaves_out_open(path, &opened.file)? {
            return Ok(());
        }
        self.found.files += 1;
        let mut collector = Collector::new(path, &self.matcher, &mut self.found, self.limit);
        let reader = Watched { file: opened.file, clock: &self.clock };
        let searched = self.searcher.search_reader(&self.matcher, reader, &mut collector);
        if (self.clock.stop)() {
            return Err(ActionError::cancelled());
        }
        if let Err(error) = searched {
            if self.clock.is_over() {
                self.found.timed_out = true;
            } else {
                self.skip(path, error.to_string());
            }
        }
        Ok(())
    }

    fn skip(&mut self, path: &Path, error: String) {
        if self.found.skipped.len() < SKIPPED {
            let path = path.to_string_lossy().into_owned();
            self.found.skipped.push(Skipped { path, error });
        }
    }
}

fn matcher(action: &SearchFiles) -> Result<RegexMatcher, ActionError> {
    let mut builder = RegexMatcherBuilder::new();
    builder.multi_line(true).crlf(true).size_limit(COMPILED).fixed_strings(action.literal);
    builder.build(&action.pattern).map_err(|error| {
        let message = format!("`pattern` cannot be searched for, line by line: {error}");
        ActionError::new(Code::InvalidAction, message)
    })
}

fn searcher(action: &SearchFiles) -> Searcher {
    SearcherBuilder::new()
        .line_terminator(LineTerminator::crlf())
        .line_number(true)
        .before_context(action.context as usize)
        .after_context(action.context as usize)
        .binary_detection(BinaryDetection::quit(0))
        .heap_limit(Some(LINE))
        .build()
}

fn globs(action: &SearchFiles) -> Result<Override, ActionError> {
    let mut builder = OverrideBuilder::new("/");
    let bad = |error: ignore::Error| {
        ActionError::new(Code::InvalidAction, format!("`globs` cannot be read: {error}"))
    };
    for glob in &action.globs {
        builder.add(glob).map_err(bad)?;
    }
    builder.build().map_err(bad)
}

#[cfg(test)]
mod tests;
