//! Collects the matches of the searcher, and stops it.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use grep_matcher::Matcher as _;
use grep_regex::RegexMatcher;
use grep_searcher::{Searcher, Sink, SinkContext, SinkContextKind, SinkMatch};

use super::{ContextLine, SearchDeadline, SearchFilesResult, SearchMatch};

/// A file whose reads fail after the deadline, so that no file takes too long.
pub(super) struct DeadlineReader<'a> {
    pub(super) file: File,
    pub(super) clock: &'a SearchDeadline<'a>,
}

impl Read for DeadlineReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.clock.is_expired() {
            return Err(io::Error::other("stopped"));
        }
        self.file.read(buffer)
    }
}

/// How much of a line is returned, in bytes, and how much of it before the match.
const EXCERPT_BYTES: usize = 400;
const EXCERPT_BYTES_BEFORE: usize = 100;

/// Collects the matches of one file.
pub(super) struct MatchCollector<'a> {
    path: String,
    matcher: &'a RegexMatcher,
    found: &'a mut SearchFilesResult,
    limit: usize,
    /// How many matches there were before this file.
    n_before: usize,
    /// Lines before the next match.
    before: Vec<ContextLine>,
}

impl<'a> MatchCollector<'a> {
    pub(super) fn new(
        path: &Path,
        matcher: &'a RegexMatcher,
        found: &'a mut SearchFilesResult,
        limit: usize,
    ) -> Self {
        let n_before = found.matches.len();
        let path = path.to_string_lossy().into_owned();
        Self { path, matcher, found, limit, n_before, before: Vec::new() }
    }
}

impl Sink for MatchCollector<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, matched: &SinkMatch<'_>) -> io::Result<bool> {
        if self.found.matches.len() >= self.limit {
            self.found.truncated = true;
            return Ok(false);
        }
        let line = strip_line_ending(matched.bytes());
        let start = self.matcher.find(line).ok().flatten().map_or(0, |at| at.start());
        let (text, cut) = excerpt_line(line, start);
        self.found.matches.push(SearchMatch {
            path: self.path.clone(),
            line: matched.line_number().unwrap_or(0),
            column: start as u64 + 1,
            text,
            cut,
            before: std::mem::take(&mut self.before),
            after: Vec::new(),
        });
        Ok(true)
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> io::Result<bool> {
        let (text, _) = excerpt_line(strip_line_ending(context.bytes()), 0);
        let line = ContextLine { line: context.line_number().unwrap_or(0), text };
        match context.kind() {
            SinkContextKind::Before => self.before.push(line),
            SinkContextKind::After | SinkContextKind::Other => {
                if let Some(last) = self.found.matches.last_mut() {
                    last.after.push(line);
                }
            }
        }
        Ok(true)
    }

    fn binary_data(&mut self, _: &Searcher, _: u64) -> io::Result<bool> {
        // Matches before the first zero byte are not text either.
        self.found.matches.truncate(self.n_before);
        self.found.truncated = false;
        Ok(false)
    }
}

fn strip_line_ending(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// The line as text; of a long one the part around the match, with a mark.
fn excerpt_line(line: &[u8], column: usize) -> (String, bool) {
    if line.len() <= EXCERPT_BYTES {
        return (String::from_utf8_lossy(line).into_owned(), false);
    }
    let begin = floor_char_boundary(line, column.saturating_sub(EXCERPT_BYTES_BEFORE));
    let end = floor_char_boundary(line, line.len().min(begin + EXCERPT_BYTES));
    let text = String::from_utf8_lossy(&line[begin..end]);
    let marks = |cut| if cut { "…" } else { "" };
    (format!("{}{text}{}", marks(begin > 0), marks(end < line.len())), true)
}

/// The nearest character boundary at or before an offset.
fn floor_char_boundary(line: &[u8], at: usize) -> usize {
    let begins = |at: &usize| line.get(*at).is_none_or(|byte| byte & 0b1100_0000 != 0b1000_0000);
    (at.saturating_sub(3)..=at).rev().find(begins).unwrap_or(at)
}
