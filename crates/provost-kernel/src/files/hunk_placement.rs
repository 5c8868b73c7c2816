//! Finds the position of a hunk in a file, and applies it.
//!
//! A hunk that fits exactly at its stated position goes there. Otherwise it must fit
//! at exactly one position: of two equal ones neither is chosen, however near. Only
//! if it fits nowhere exactly may up to two of its context lines differ; the lines
//! it removes must match exactly.

use std::borrow::Cow;

use provost_core::action::patch::{Hunk, HunkLine, LineOp};

mod fuzzy;

/// Why a hunk was not applied.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum HunkMismatch {
    /// Its lines are nowhere in the file.
    #[error("its lines are not in the file")]
    NotFound,
    /// It fits at several positions.
    #[error("it fits at lines {}; add more context lines", list(.0))]
    Ambiguous(Vec<usize>),
    /// It fits only with differing context lines, and at several positions.
    #[error("it fits nowhere exactly, and with differing context lines at several positions")]
    AmbiguousFuzzy,
    /// It states a position but has no context line.
    #[error("it has no context line that shows its position")]
    NoContext,
}

fn list(lines: &[usize]) -> String {
    lines.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// A line of the file with its line end, and whether a hunk added it.
#[derive(Debug, Clone)]
struct FileLine<'a> {
    bytes: Cow<'a, [u8]>,
    patched: bool,
}

impl FileLine<'_> {
    /// The text and the line end.
    fn split_line_ending(&self) -> (&[u8], &[u8]) {
        let end = match &*self.bytes {
            [.., b'\r', b'\n'] => 2,
            [.., b'\n'] => 1,
            _ => 0,
        };
        self.bytes.split_at(self.bytes.len() - end)
    }
}

/// How many positions an error lists.
const MAX_REPORTED_POSITIONS: usize = 20;

/// Applies hunks to a file's content; returns whether any of them fits only with
/// differing context lines, or the number of the first that does not fit, from 1.
pub(super) fn apply_hunks(
    content: &[u8],
    hunks: &[Hunk<'_>],
) -> Result<(Vec<u8>, bool), (usize, HunkMismatch)> {
    let mut rows: Vec<FileLine<'_>> = content
        .split_inclusive(|byte| *byte == b'\n')
        .map(|line| FileLine { bytes: Cow::Borrowed(line), patched: false })
        .collect();
    let mut drift = 0;
    let mut loose = false;
    for (hunk, number) in hunks.iter().zip(1..) {
        let before = rows.len();
        let with_number = |mismatch| (number, mismatch);
        match find_hunk_position(&rows, hunk, drift) {
            Ok(position) => splice_hunk(&mut rows, hunk, position),
            Err(HunkMismatch::NotFound) => {
                fuzzy::apply_fuzzy(&mut rows, hunk).map_err(with_number)?;
                loose = true;
            }
            Err(other) => return Err(with_number(other)),
        }
        drift += rows.len().cast_signed() - before.cast_signed();
    }
    let mut out = Vec::with_capacity(content.len());
    for row in &rows {
        out.extend_from_slice(&row.bytes);
    }
    Ok((out, loose))
}

/// The lines that a hunk expects in the file.
fn expected_lines<'h>(hunk: &'h Hunk<'h>) -> impl Iterator<Item = &'h HunkLine<'h>> {
    hunk.lines.iter().filter(|line| matches!(line.op, LineOp::Keep | LineOp::Remove))
}

fn find_hunk_position(
    rows: &[FileLine<'_>],
    hunk: &Hunk<'_>,
    drift: isize,
) -> Result<usize, HunkMismatch> {
    let old: Vec<_> = expected_lines(hunk).collect();
    if old.is_empty() {
        // Such a hunk states the line it comes after, and an empty file has none.
        let position = hunk.start.saturating_add_signed(drift);
        let is_valid = rows.is_empty() || (hunk.start > 0 && position <= rows.len());
        return if is_valid { Ok(position.min(rows.len())) } else { Err(HunkMismatch::NoContext) };
    }
    let mut positions = find_all_positions(rows, &old);
    let stated = hunk.start.saturating_sub(1).saturating_add_signed(drift);
    if positions.contains(&stated) {
        return Ok(stated);
    }
    match positions[..] {
        [] => Err(HunkMismatch::NotFound),
        [position] => Ok(position),
        _ => {
            positions.truncate(MAX_REPORTED_POSITIONS);
            Err(HunkMismatch::Ambiguous(positions.iter().map(|position| position + 1).collect()))
        }
    }
}

/// The text of a line without its line end.
fn line_text<'a>(line: &HunkLine<'a>) -> &'a [u8] {
    line.text.strip_suffix('\r').unwrap_or(line.text).as_bytes()
}

/// All positions of the lines, overlapping ones too. In one pass (Knuth, Morris and
/// Pratt), because trying each position in a file of equal lines takes quadratic
/// time.
fn find_all_positions(rows: &[FileLine<'_>], old: &[&HunkLine<'_>]) -> Vec<usize> {
    let mut back = vec![0; old.len()];
    let mut matched = 0;
    for at in 1..old.len() {
        while matched > 0 && line_text(old[at]) != line_text(old[matched]) {
            matched = back[matched - 1];
        }
        matched += usize::from(line_text(old[at]) == line_text(old[matched]));
        back[at] = matched;
    }
    // A line without a line feed can only be the last of the file.
    let only_at_end = old.iter().any(|line| !line.newline);
    let mut positions = Vec::new();
    matched = 0;
    for (row, number) in rows.iter().zip(1..) {
        let same =
            |line: &HunkLine<'_>| !row.patched && row.split_line_ending().0 == line_text(line);
        while matched > 0 && (matched == old.len() || !same(old[matched])) {
            matched = back[matched - 1];
        }
        matched += usize::from(same(old[matched]));
        if matched == old.len() && (number == rows.len() || !only_at_end) {
            positions.push(number - matched);
        }
    }
    positions
}

/// Replaces the expected lines by those of the hunk.
fn splice_hunk<'a>(rows: &mut Vec<FileLine<'a>>, hunk: &Hunk<'a>, position: usize) {
    let n_old = expected_lines(hunk).count();
    let window = &rows[position..position + n_old];
    let verbatim = expected_lines(hunk)
        .zip(window)
        .all(|(line, row)| line.text.ends_with('\r') == (row.split_line_ending().1 == b"\r\n"));
    let end = detect_line_ending(rows, position, n_old);
    let unended = window.last().is_some_and(|row| row.split_line_ending().1.is_empty());
    let sloppy = unended && expected_lines(hunk).all(|line| line.newline);
    let mut new = Vec::new();
    let mut at = position;
    for line in &hunk.lines {
        match line.op {
            LineOp::Keep => {
                new.push(rows[at].clone());
                at += 1;
            }
            LineOp::Remove => at += 1,
            LineOp::Add => new.push(FileLine {
                bytes: render_added_line(line, verbatim, end).into(),
                patched: true,
            }),
        }
    }
    rows.splice(position..position + n_old, new);
    repair_line_endings(rows, end, sloppy);
}

/// An added line, with the line end of the patch if that knows those of the file,
/// else with the line end of the surrounding lines.
fn render_added_line(line: &HunkLine<'_>, verbatim: bool, end: &[u8]) -> Vec<u8> {
    let text = if verbatim { line.text } else { line.text.strip_suffix('\r').unwrap_or(line.text) };
    let end: &[u8] = match (line.newline, verbatim) {
        (false, _) => b"",
        (true, true) => b"\n",
        (true, false) => end,
    };
    [text.as_bytes(), end].concat()
}

/// The line end of the surrounding lines.
fn detect_line_ending(rows: &[FileLine<'_>], position: usize, n_old: usize) -> &'static [u8] {
    let around = rows[..(position + n_old).min(rows.len())].iter().rev().chain(&rows[position..]);
    let ended = around.map(|row| row.split_line_ending().1).find(|end| !end.is_empty());
    if ended == Some(b"\r\n") { b"\r\n" } else { b"\n" }
}

/// Only the last line may lack its line end; if that of the file did and the patch
/// did not know, it still does.
fn repair_line_endings(rows: &mut [FileLine<'_>], end: &[u8], sloppy: bool) {
    let Some((last, others)) = rows.split_last_mut() else { return };
    for row in others {
        if row.split_line_ending().1.is_empty() {
            row.bytes.to_mut().extend_from_slice(end);
        }
    }
    if sloppy && last.patched {
        let length = last.split_line_ending().0.len();
        last.bytes.to_mut().truncate(length);
    }
}
