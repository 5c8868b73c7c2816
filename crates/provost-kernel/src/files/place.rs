//! Where a hunk belongs in a file, and the file with it applied.
//!
//! A hunk that fits exactly where it says goes there. Else it must fit in exactly
//! one place: of two equal places neither is taken, however near. Only when it
//! fits nowhere exactly may up to two of its surrounding lines differ; what it
//! removes must be there to the letter.

use std::borrow::Cow;

use provost_core::action::patch::{Hunk, HunkLine, LineOp};

mod loose;

/// Why a hunk was not applied.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Misfit {
    /// What it expects is nowhere in the file.
    #[error("what it expects is not in the file")]
    Nowhere,
    /// It fits in several places, and does not say which.
    #[error("it fits at lines {}; give more of what is around it", list(.0))]
    Anywhere(Vec<usize>),
    /// It would only fit loosely, and in more places than one.
    #[error("it fits nowhere exactly and loosely in more than one place")]
    Loosely,
    /// It names a place and nothing to recognise it by.
    #[error("it holds no line of the file to recognise its place by")]
    NoContext,
}

fn list(lines: &[usize]) -> String {
    lines.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// A line of the file with its end, and whether a hunk put it there.
#[derive(Debug, Clone)]
struct Row<'a> {
    bytes: Cow<'a, [u8]>,
    patched: bool,
}

impl Row<'_> {
    /// The text and how the line ends.
    fn split(&self) -> (&[u8], &[u8]) {
        let end = match &*self.bytes {
            [.., b'\r', b'\n'] => 2,
            [.., b'\n'] => 1,
            _ => 0,
        };
        self.bytes.split_at(self.bytes.len() - end)
    }
}

/// How many places an error names.
const NAMED: usize = 20;

/// A file's content with hunks applied, and whether any of them fits only
/// loosely; or the number of the first that does not fit, counted from 1.
pub(super) fn apply(
    content: &[u8],
    hunks: &[Hunk<'_>],
) -> Result<(Vec<u8>, bool), (usize, Misfit)> {
    let mut rows: Vec<Row<'_>> = content
        .split_inclusive(|byte| *byte == b'\n')
        .map(|line| Row { bytes: Cow::Borrowed(line), patched: false })
        .collect();
    let mut drift = 0;
    let mut loose = false;
    for (hunk, number) in hunks.iter().zip(1..) {
        let before = rows.len();
        let misfit = |misfit| (number, misfit);
        match find(&rows, hunk, drift) {
            Ok(place) => splice(&mut rows, hunk, place),
            Err(Misfit::Nowhere) => {
                loose::apply(&mut rows, hunk).map_err(misfit)?;
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
fn expected<'h>(hunk: &'h Hunk<'h>) -> impl Iterator<Item = &'h HunkLine<'h>> {
    hunk.lines.iter().filter(|line| matches!(line.op, LineOp::Keep | LineOp::Remove))
}

fn find(rows: &[Row<'_>], hunk: &Hunk<'_>, drift: isize) -> Result<usize, Misfit> {
    let old: Vec<_> = expected(hunk).collect();
    if old.is_empty() {
        // Such a hunk names the line it comes after, and an empty file has none.
        let place = hunk.start.saturating_add_signed(drift);
        let known = rows.is_empty() || (hunk.start > 0 && place <= rows.len());
        return if known { Ok(place.min(rows.len())) } else { Err(Misfit::NoContext) };
    }
    let mut places = all_places(rows, &old);
    let stated = hunk.start.saturating_sub(1).saturating_add_signed(drift);
    if places.contains(&stated) {
        return Ok(stated);
    }
    match places[..] {
        [] => Err(Misfit::Nowhere),
        [place] => Ok(place),
        _ => {
            places.truncate(NAMED);
            Err(Misfit::Anywhere(places.iter().map(|place| place + 1).collect()))
        }
    }
}

/// A line's text without its end, as patches of either kind write it.
fn text<'a>(line: &HunkLine<'a>) -> &'a [u8] {
    line.text.strip_suffix('\r').unwrap_or(line.text).as_bytes()
}

/// Every place where the lines are, overlapping ones too. In one pass (Knuth,
/// Morris and Pratt), because a file of equal lines would make trying each place
/// take for ever.
fn all_places(rows: &[Row<'_>], old: &[&HunkLine<'_>]) -> Vec<usize> {
    let mut back = vec![0; old.len()];
    let mut matched = 0;
    for at in 1..old.len() {
        while matched > 0 && text(old[at]) != text(old[matched]) {
            matched = back[matched - 1];
        }
        matched += usize::from(text(old[at]) == text(old[matched]));
        back[at] = matched;
    }
    // A line without a line feed can only be the last of the file.
    let only_at_end = old.iter().any(|line| !line.newline);
    let mut places = Vec::new();
    matched = 0;
    for (row, number) in rows.iter().zip(1..) {
        let same = |line: &HunkLine<'_>| !row.patched && row.split().0 == text(line);
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
fn splice<'a>(rows: &mut Vec<Row<'a>>, hunk: &Hunk<'a>, place: usize) {
    let n_old = expected(hunk).count();
    let window = &rows[place..place + n_old];
    let verbatim = expected(hunk)
        .zip(window)
        .all(|(line, row)| line.text.ends_with('\r') == (row.split().1 == b"\r\n"));
    let end = end_of_line(rows, place, n_old);
    let unended = window.last().is_some_and(|row| row.split().1.is_empty());
    let sloppy = unended && expected(hunk).all(|line| line.newline);
    let mut new = Vec::new();
    let mut at = place;
    for line in &hunk.lines {
        match line.op {
            LineOp::Keep => {
                new.push(rows[at].clone());
                at += 1;
            }
            LineOp::Remove => at += 1,
            LineOp::Add => {
                new.push(Row { bytes: added(line, verbatim, end).into(), patched: true })
            }
        }
    }
    rows.splice(place..place + n_old, new);
    mend_ends(rows, end, sloppy);
}

/// A new line, ending as the patch says if it knows the file's ends, else as the
/// lines around it do.
fn added(line: &HunkLine<'_>, verbatim: bool, end: &[u8]) -> Vec<u8> {
    let text = if verbatim { line.text } else { line.text.strip_suffix('\r').unwrap_or(line.text) };
    let end: &[u8] = match (line.newline, verbatim) {
        (false, _) => b"",
        (true, true) => b"\n",
        (true, false) => end,
    };
    [text.as_bytes(), end].concat()
}

/// How lines end around a place.
fn end_of_line(rows: &[Row<'_>], place: usize, n_old: usize) -> &'static [u8] {
    let around = rows[..(place + n_old).min(rows.len())].iter().rev().chain(&rows[place..]);
    let ended = around.map(|row| row.split().1).find(|end| !end.is_empty());
    if ended == Some(b"\r\n") { b"\r\n" } else { b"\n" }
}

/// Only the last line may lack its end; and if the file's did and the patch did
/// not know, it still does.
fn mend_ends(rows: &mut [Row<'_>], end: &[u8], sloppy: bool) {
    let Some((last, others)) = rows.split_last_mut() else { return };
    for row in others {
        if row.split().1.is_empty() {
            row.bytes.to_mut().extend_from_slice(end);
        }
    }
    if sloppy && last.patched {
        let length = last.split().0.len();
        last.bytes.to_mut().truncate(length);
    }
}
