//! The parser of unified diffs.

use super::{BadPatch, FileChange, FilePatch, Hunk, HunkLine, LineOp, file_name};
use crate::action::RelPath;

/// The lines of a patch and the current position.
pub(super) struct PatchReader<'a> {
    lines: Vec<&'a str>,
    at: usize,
}

/// What the lines before the hunks say about a file.
#[derive(Default)]
struct FileHeader {
    /// The line at which it begins.
    line: usize,
    git_name: Option<String>,
    /// `---` and `+++`; the inner `None` is `/dev/null`.
    names: Option<(Option<String>, Option<String>)>,
    rename: (Option<String>, Option<String>),
    created: bool,
    deleted: bool,
    executable: Option<bool>,
}

impl<'a> PatchReader<'a> {
    pub(super) fn new(patch: &'a str) -> Self {
        Self { lines: patch.split_terminator('\n').collect(), at: 0 }
    }

    pub(super) fn files(mut self) -> Result<Vec<FilePatch<'a>>, BadPatch> {
        let mut files = Vec::new();
        while let Some(line) = self.peek() {
            if line.starts_with("diff --git ") || self.at_names() {
                let header = self.header()?;
                let hunks = self.hunks()?;
                files.push(header.into_file_patch(hunks)?);
            } else if line.starts_with("@@ ") {
                return Err(self.error_here("a hunk before the `---` and `+++` of its file"));
            } else {
                // Text before and between files: a commit message, `Index:`.
                self.at += 1;
            }
        }
        if files.is_empty() {
            self.at = 0;
            let why =
                "there is no file in it; a unified diff begins with `--- a/FILE` and `+++ b/FILE`";
            return Err(self.error_here(why));
        }
        Ok(files)
    }

    fn peek(&self) -> Option<&'a str> {
        self.lines.get(self.at).copied()
    }

    fn error_here(&self, why: impl Into<String>) -> BadPatch {
        BadPatch { line: self.at + 1, why: why.into() }
    }

    /// Whether `---` and `+++` are next.
    fn at_names(&self) -> bool {
        let starts =
            |at: usize, sign| self.lines.get(at).is_some_and(|line| line.starts_with(sign));
        starts(self.at, "--- ") && starts(self.at + 1, "+++ ")
    }

    /// Whether something other than lines of a hunk begins here. `---` and `+++` alone may be
    /// removed and added lines; before a hunk they are names.
    fn at_end_of_hunk(&self) -> bool {
        self.peek().is_none_or(|line| line.starts_with("@@ ") || line.starts_with("diff --git "))
            || self.at_names() && self.lines.get(self.at + 2).is_some_and(|l| l.starts_with("@@ "))
    }

    fn header(&mut self) -> Result<FileHeader, BadPatch> {
        let mut header = FileHeader { line: self.at + 1, ..FileHeader::default() };
        if let Some(names) = self.peek().and_then(|line| line.strip_prefix("diff --git ")) {
            header.git_name = file_name::parse_git_diff_line(names);
            self.at += 1;
            while let Some(line) = self.peek() {
                if line.starts_with("diff --git ") || line.starts_with("@@ ") || self.at_names() {
                    break;
                }
                if !self.read_git_header(line.trim_end_matches('\r'), &mut header)? {
                    break;
                }
                self.at += 1;
            }
        }
        if self.at_names() {
            let old = self.name("--- ")?;
            let new = self.name("+++ ")?;
            header.names = Some((old, new));
        }
        Ok(header)
    }

    fn name(&mut self, sign: &str) -> Result<Option<String>, BadPatch> {
        let text = self.peek().and_then(|line| line.strip_prefix(sign)).unwrap_or_default();
        let name = file_name::parse_file_name(text).map_err(|why| self.error_here(why))?;
        self.at += 1;
        Ok(name.map(std::borrow::Cow::into_owned))
    }

    /// Reads one of git's own header lines; false if it is none.
    fn read_git_header(&self, line: &str, header: &mut FileHeader) -> Result<bool, BadPatch> {
        let own = |text| match file_name::parse_file_name(text) {
            Ok(name) => Ok(name.map(std::borrow::Cow::into_owned)),
            Err(why) => Err(self.error_here(why)),
        };
        let known = ["index ", "similarity index ", "dissimilarity index ", "old mode "];
        if let Some(mode) = line.strip_prefix("new file mode ") {
            header.created = true;
            header.executable = Some(self.mode(mode)?);
        } else if let Some(mode) = line.strip_prefix("deleted file mode ") {
            header.deleted = true;
            self.mode(mode)?;
        } else if let Some(mode) = line.strip_prefix("new mode ") {
            header.executable = Some(self.mode(mode)?);
        } else if let Some(name) = line.strip_prefix("rename from ") {
            header.rename.0 = own(name)?;
        } else if let Some(name) = line.strip_prefix("rename to ") {
            header.rename.1 = own(name)?;
        } else if line.starts_with("copy ") {
            return Err(self.error_here("copies are not supported; create the file instead"));
        } else if line.starts_with("Binary files ") || line.starts_with("GIT binary patch") {
            return Err(self.error_here("binary patches are not supported; write the file instead"));
        } else if !known.iter().any(|prefix| line.starts_with(prefix)) {
            return Ok(false);
        }
        Ok(true)
    }

    fn mode(&self, mode: &str) -> Result<bool, BadPatch> {
        match mode.trim() {
            "100644" | "100664" | "100600" => Ok(false),
            "100755" => Ok(true),
            "120000" => Err(self.error_here("symbolic links cannot be patched")),
            "160000" => Err(self.error_here("submodules cannot be patched")),
            _ => Err(self.error_here("this mode is not one of a regular file")),
        }
    }

    fn hunks(&mut self) -> Result<Vec<Hunk<'a>>, BadPatch> {
        let mut hunks = Vec::new();
        while let Some(line) = self.peek().filter(|line| line.starts_with("@@ ")) {
            let ranges = ranges(line).ok_or_else(|| {
                self.error_here("a hunk begins with `@@ -LINE,COUNT +LINE,COUNT @@`")
            })?;
            self.at += 1;
            let begin = self.at;
            let lines = if let Some(lines) = self.read_counted_lines(ranges.old, ranges.new) {
                lines
            } else {
                self.at = begin;
                self.read_uncounted_lines()?
            };
            if lines.iter().all(|line| line.op == LineOp::Keep) {
                self.at = begin - 1;
                return Err(self.error_here("this hunk changes nothing"));
            }
            hunks.push(Hunk { start: ranges.start, lines });
        }
        Ok(hunks)
    }

    /// The lines as the header counts them, if that fits.
    fn read_counted_lines(&mut self, mut old: usize, mut new: usize) -> Option<Vec<HunkLine<'a>>> {
        let mut lines: Vec<HunkLine<'a>> = Vec::new();
        while old > 0 || new > 0 {
            let line = read_line(self.peek()?)?;
            match line.op {
                LineOp::Keep => (old, new) = (old.checked_sub(1)?, new.checked_sub(1)?),
                LineOp::Remove => old = old.checked_sub(1)?,
                LineOp::Add => new = new.checked_sub(1)?,
            }
            lines.push(line);
            self.at += 1;
            self.read_newline_marker(&mut lines);
        }
        // Another line that could belong to the hunk means that it was miscounted.
        let over = self.at_end_of_hunk()
            || self.peek().is_some_and(|line| !line.starts_with([' ', '+', '-', '\\']));
        // git's mail format ends with `-- ` and a version.
        (over || self.peek().is_some_and(|line| line.trim_end() == "--")).then_some(lines)
    }

    /// The lines up to the next part.
    fn read_uncounted_lines(&mut self) -> Result<Vec<HunkLine<'a>>, BadPatch> {
        let mut lines = Vec::new();
        let mut n_lines = 0;
        while !self.at_end_of_hunk() {
            let text = self.peek().unwrap_or_default();
            let why = "a line of a hunk begins with a space, `+`, `-` or `\\`";
            lines.push(read_line(text).ok_or_else(|| self.error_here(why))?);
            self.at += 1;
            self.read_newline_marker(&mut lines);
            if !text.trim_end_matches('\r').is_empty() {
                n_lines = lines.len();
            }
        }
        // Empty lines at the end separate two parts of the patch.
        lines.truncate(n_lines);
        Ok(lines)
    }

    /// `\ No newline at end of file` refers to the previous line.
    fn read_newline_marker(&mut self, lines: &mut [HunkLine<'a>]) {
        if self.peek().is_some_and(|line| line.starts_with('\\')) {
            self.at += 1;
            if let Some(last) = lines.last_mut() {
                last.newline = false;
            }
        }
    }
}

fn read_line(line: &str) -> Option<HunkLine<'_>> {
    let (op, text) = match line.as_bytes().first() {
        // Editors strip the space of an empty context line.
        None => (LineOp::Keep, line),
        Some(b'\r') if line.len() == 1 => (LineOp::Keep, line),
        Some(b' ') => (LineOp::Keep, &line[1..]),
        Some(b'-') => (LineOp::Remove, &line[1..]),
        Some(b'+') => (LineOp::Add, &line[1..]),
        Some(_) => return None,
    };
    Some(HunkLine { op, text, newline: true })
}

struct HunkRanges {
    start: usize,
    old: usize,
    new: usize,
}

/// `@@ -start,count +start,count @@`; a missing count is 1.
fn ranges(line: &str) -> Option<HunkRanges> {
    let mut words = line.split_ascii_whitespace().skip(1);
    let range = |word: &str, sign| {
        let (start, count) = word.strip_prefix(sign)?.split_once(',').unwrap_or((&word[1..], "1"));
        Some((start.parse::<usize>().ok()?, count.parse::<usize>().ok()?))
    };
    let (start, old) = range(words.next()?, '-')?;
    let (_, new) = range(words.next()?, '+')?;
    words.next()?.starts_with("@@").then_some(HunkRanges { start, old, new })
}

impl FileHeader {
    fn into_file_patch(self, hunks: Vec<Hunk<'_>>) -> Result<FilePatch<'_>, BadPatch> {
        let line = self.line;
        let bad = |why: String| BadPatch { line, why };
        let path = |name: &str| match RelPath::new(name) {
            Ok(path) if path.is_root() => Err(bad("a name is missing".to_owned())),
            Ok(path) => Ok(path),
            Err(error) => Err(bad(error.to_string())),
        };
        let change = match (&self.rename, &self.names, &self.git_name) {
            ((Some(from), Some(to)), _, _) => {
                FileChange::Rename { from: path(from)?, to: path(to)? }
            }
            (_, Some((old, new)), _) => {
                match file_name::strip_diff_prefixes(old.as_deref(), new.as_deref()) {
                    (None, Some(new)) => FileChange::Create(path(new)?),
                    (Some(old), None) => FileChange::Delete(path(old)?),
                    (Some(old), Some(_)) if self.deleted => FileChange::Delete(path(old)?),
                    (Some(_), Some(new)) if self.created => FileChange::Create(path(new)?),
                    (Some(old), Some(new)) if old == new => FileChange::Modify(path(old)?),
                    (Some(old), Some(new)) => {
                        FileChange::Rename { from: path(old)?, to: path(new)? }
                    }
                    (None, None) => return Err(bad("both names are /dev/null".to_owned())),
                }
            }
            (_, None, Some(name)) if self.created => FileChange::Create(path(name)?),
            (_, None, Some(name)) if self.deleted => FileChange::Delete(path(name)?),
            (_, None, Some(name)) => FileChange::Modify(path(name)?),
            (_, None, None) => return Err(bad("the file has no name".to_owned())),
        };
        match (&change, hunks.is_empty()) {
            (FileChange::Modify(_), true) => Err(bad("nothing changes in this file".to_owned())),
            _ => Ok(FilePatch { change, executable: self.executable, hunks }),
        }
    }
}
