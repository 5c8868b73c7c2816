//! Where a hunk belongs in a file, and the file with it applied.
//!
//! A hunk that fits exactly where it says goes there. Else it must fit in exactly
//! one place: of two equal places neither is taken, however near. Only when it
//! fits nowhere exactly may up to two of its surrounding lines differ; what it
//! removes must be there to the letter.

use std::borrow::Cow;

use provost_core::action::patch::{Hunk, HunkLine, LineOp};

mod fuzzy;

/// Why a hunk was not applied.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum HunkMismatch {
    /// What it expects is nowhere in the file.
    #[error("what it expects is not in the file")]
    NotFound,
    /// It fits in several places, and does not say which.
    #[error("it fits at lines {}; give more of what is around it", list(.0))]
    Ambiguous(Vec<usize>),
    /// It would only fit loosely, and in more places than one.
    #[error("it fits nowhere exactly and loosely in more than one place")]
    AmbiguousFuzzy,
    /// It names a place and nothing to recognise it by.
    #[error("it holds no line of the file to recognise its place by")]
    NoContext,
}

fn list(lines: &[usize]) -> String {
    lines.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// A line of the file with its end, and whether a hunk put it there.
#[derive(Debug, Clone)]
struct FileLine<'a> {
    bytes: Cow<'a, [u8]>,
    patched: bool,
}

impl FileLine<'_> {
    /// The text and how the line ends.
    fn split_line_ending(&self) -> (&[u8], &[u8]) {
        let end = match &*self.bytes {
            [.., b'\r', b'\n'] => 2,
            [.., b'\n'] => 1,
            _ => 0,
        };
        self.bytes.split_at(self.bytes.len() - end)
    }
}

/// How many places an error names.
const MAX_REPORTED_POSITIONS: usize = 20;

/// A file's content with hunks applied, and whether any of them fits only
/// loosely; or the number of the first that does not fit, counted from 1.
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
        let misfit = |misfit| (number, misfit);
        match find_hunk_position(&rows, hunk, drift) {
            Ok(place) => splice_hunk(&mut rows, hunk, place),
            Err(HunkMismatch::NotFound) => {
                fuzzy::apply_fuzzy(&mut rows, hunk).map_err(misfit)?;
                loose = true;
            }
            Err(other) => return Err(misfit(other)),
        }
        drift += rows.len().cast_signed() - before.cast_signed();
    }
    let mut out = Vec::with_capacity(content.len());
    for row in &rows {
        out.extend_from_slice(&row.bytes);
    }
    Ok((out, loose))
}

/// The lines a hunk expects to find.
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
        // Such a hunk names the line it comes after, and an empty file has none.
        let place = hunk.start.saturating_add_signed(drift);
        let known = rows.is_empty() || (hunk.start > 0 && place <= rows.len());
        return if known { Ok(place.min(rows.len())) } else { Err(HunkMismatch::NoContext) };
    }
    let mut places = find_all_positions(rows, &old);
    let stated = hunk.start.saturating_sub(1).saturating_add_signed(drift);
    if places.contains(&stated) {
        return Ok(stated);
    }
    match places[..] {
        [] => Err(HunkMismatch::NotFound),
        [place] => Ok(place),
        _ => {
            places.truncate(MAX_REPORTED_POSITIONS);
            Err(HunkMismatch::Ambiguous(places.iter().map(|place| place + 1).collect()))
        }
    }
}

/// A line's text without its end, as patches of either kind write it.
fn line_text<'a>(line: &HunkLine<'a>) -> &'a [u8] {
    line.text.strip_suffix('\r').unwrap_or(line.text).as_bytes()
}

/// Every place where the lines are, overlapping ones too. In one pass (Knuth,
/// Morris and Pratt), because a file of equal lines would make trying each place
/// take for ever.
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
    let mut places = Vec::new();
    matched = 0;
    for (row, number) in rows.iter().zip(1..) {
        let same =
            |line: &HunkLine<'_>| !row.patched && row.split_line_ending().0 == line_text(line);
        while matched > 0 && (matched == old.len() || !same(old[matched])) {
            matched = back[matched - 1];
        }
        matched += usize::from(same(old[matched]));
        if matched == old.len() && (number == rows.len() || !only_at_end) {
            places.push(number - matched);
        }
    }
    places
}

/// Puts the hunk in place of what it expects there.
fn splice_hunk<'a>(rows: &mut Vec<FileLine<'a>>, hunk: &Hunk<'a>, place: usize) {
    let n_old = expected_lines(hunk).count();
    let window = &rows[place..place + n_old];
    let verbatim = expected_lines(hunk)
        .zip(window)
        .all(|(line, row)| line.text.ends_with('\r') == (row.split_line_ending().1 == b"\r\n"));
    let end = detect_line_ending(rows, place, n_old);
    let unended = window.last().is_some_and(|row| row.split_line_ending().1.is_empty());
    let sloppy = unended && expected_lines(hunk).all(|line| line.newline);
    let mut new = Vec::new();
    let mut at = place;
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
    rows.splice(place..place + n_old, new);
    repair_line_endings(rows, end, sloppy);
}

/// A new line, ending as the patch says if it knows the file's ends, else as the
/// lines around it do.
fn render_added_line(line: &HunkLine<'_>, verbatim: bool, end: &[u8]) -> Vec<u8> {
    let text = if verbatim { line.text } else { line.text.strip_suffix('\r').unwrap_or(line.text) };
    let end: &[u8] = match (line.newline, verbatim) {
        (false, _) => b"",
        (true, true) => b"\n",
        (true, false) => end,
    };
    [text.as_bytes(), end].concat()
}

/// How lines end around a place.
fn detect_line_ending(rows: &[FileLine<'_>], place: usize, n_old: usize) -> &'static [u8] {
    let around = rows[..(place + n_old).min(rows.len())].iter().rev().chain(&rows[place..]);
    let ended = around.map(|row| row.split_line_ending().1).find(|end| !end.is_empty());
    if ended == Some(b"\r\n") { b"\r\n" } else { b"\n" }
}

/// Only the last line may lack its end; and if the file's did and the patch did
/// not know, it still does.
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
