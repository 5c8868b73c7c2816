//! A hunk whose context lines differ a little from the file.

use flickzeug::{ApplyConfig, Diff, FuzzyConfig, LineEndHandling, apply_with_config};
use provost_core::action::patch::{Hunk, LineOp};

use super::{FileLine, HunkMismatch};

/// Limit of the effort: lines of the file times lines of the hunk. Beyond it, a model
/// does better to read the file again.
const MAX_FUZZY_WORK: usize = 10_000_000;

/// Applies a hunk of which up to two context lines may be missing.
pub(super) fn apply_fuzzy(
    rows: &mut Vec<FileLine<'_>>,
    hunk: &Hunk<'_>,
) -> Result<(), HunkMismatch> {
    // Without a removed line, nothing would confirm the position.
    let removes = hunk.lines.iter().any(|line| line.op == LineOp::Remove);
    if !removes || rows.len().saturating_mul(hunk.lines.len()) > MAX_FUZZY_WORK {
        return Err(HunkMismatch::NotFound);
    }
    let text = render_hunk(hunk);
    let diff = Diff::from_str(&text).map_err(|_| HunkMismatch::NotFound)?;
    let content = join_lines(rows).ok_or(HunkMismatch::NotFound)?;
    let patched = try_apply(&content, &diff).ok_or(HunkMismatch::NotFound)?;
    let new: Vec<&str> = patched.split_inclusive('\n').collect();
    let same = |row: &FileLine<'_>, line: &&str| *row.bytes == *line.as_bytes();
    let head = rows.iter().zip(&new).take_while(|(row, line)| same(row, line)).count();
    let most = rows.len().min(new.len()) - head;
    let backwards = rows.iter().rev().zip(new.iter().rev()).take(most);
    let tail = backwards.take_while(|(row, line)| same(row, line)).count();
    let (end, new_end) = (rows.len() - tail, new.len() - tail);
    // The crate takes the nearest of several positions; we take none of them.
    let fits = |rows: &[FileLine<'_>]| {
        join_lines(rows).is_some_and(|text| try_apply(&text, &diff).is_some())
    };
    if fits(&rows[..head]) || fits(&rows[end..]) {
        return Err(HunkMismatch::AmbiguousFuzzy);
    }
    let put = new[head..new_end].iter();
    let put: Vec<_> = put
        .map(|line| FileLine { bytes: line.as_bytes().to_vec().into(), patched: true })
        .collect();
    rows.splice(head..end, put);
    Ok(())
}

fn try_apply(content: &str, diff: &Diff<'_, str>) -> Option<String> {
    let config = ApplyConfig {
        line_end_strategy: LineEndHandling::KeepOriginal,
        fuzzy_config: FuzzyConfig {
            max_fuzz: 2,
            ignore_whitespace: false,
            ignore_case: false,
            // No similarity: comparing all lines takes time that a hostile file controls,
            // and a similar line is a different line.
            similarity_threshold: 1.0,
        },
    };
    apply_with_config(content, diff, &config).ok().map(|(content, _)| content)
}

/// The file as text; `None` if it is not text.
fn join_lines(rows: &[FileLine<'_>]) -> Option<String> {
    let bytes: Vec<u8> = rows.iter().flat_map(|row| row.bytes.iter().copied()).collect();
    String::from_utf8(bytes).ok()
}

/// The hunk alone, with corrected line counts.
fn render_hunk(hunk: &Hunk<'_>) -> String {
    let count = |not: LineOp| hunk.lines.iter().filter(|line| line.op != not).count();
    let start = hunk.start.max(1);
    let mut text = format!(
        "--- a\n+++ b\n@@ -{start},{} +{start},{} @@\n",
        count(LineOp::Add),
        count(LineOp::Remove)
    );
    for line in &hunk.lines {
        text.push(match line.op {
            LineOp::Keep => ' ',
            LineOp::Remove => '-',
            LineOp::Add => '+',
        });
        text.push_str(line.text);
        text.push_str(if line.newline { "\n" } else { "\n\\ No newline at end of file\n" });
    }
    text
}
