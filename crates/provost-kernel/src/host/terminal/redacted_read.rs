//! The result of `pty.read`: redacted, however secrets are split.
//!
//! A secret that is wrapped into the next line, or crosses the ends of the requested
//! range, is redacted too.

use provost_core::redact::Redactor;
use provost_proto::Code;
use serde_json::{Value, json};

use super::output_ring::to_offset;
use super::shared_pty_state::PtyExit;
use super::{PtySession, split_exit};
use crate::ActionError;

/// The output from this offset on.
pub(super) fn read_printed(
    session: &PtySession,
    after: u64,
    limit: u64,
    redactor: &Redactor,
) -> Value {
    let state = session.shared.lock_state();
    let (oldest, end) = (state.ring.oldest(), state.ring.end());
    let running = state.ended.is_none();
    let from = after.clamp(oldest, end);
    let next = from.saturating_add(limit).min(end);
    let max_match = to_offset(redactor.max_match_bytes());
    let begin = from.saturating_sub(max_match).max(oldest);
    let mut surrounding = Vec::new();
    let length = usize::try_from(next - begin + max_match).unwrap_or(usize::MAX);
    state.ring.read(begin, length, &mut surrounding);
    drop(state);
    let index = |offset: u64| usize::try_from(offset - begin).unwrap_or(usize::MAX);
    let (mut pieces, _) = redactor.redact_pieces(&surrounding, &[index(from), index(next)]);
    let bytes = pieces.pop().unwrap_or_default();
    let redacted = surrounding.get(index(from)..index(next)).is_some_and(|raw| raw != bytes);
    json!({
        "text": String::from_utf8_lossy(&bytes),
        "oldest": oldest,
        "offset": from,
        "next": next,
        "end": end,
        "running": running,
        "redacted": redacted,
    })
}

/// The screen, and `above` lines of scrollback.
pub(super) async fn read_screen(
    session: &PtySession,
    above: u64,
    redactor: &Redactor,
) -> Result<Value, ActionError> {
    let above = usize::try_from(above).unwrap_or(usize::MAX);
    let closed = || ActionError::new(Code::PtyDead, "the terminal was closed meanwhile");
    let text = session.shared.request_text(above).await.ok_or_else(closed)?;
    let (lines, n_marks) = redact_lines(&text.lines, redactor);
    let state = session.shared.lock_state();
    let (exit_code, signal) = split_exit(state.ended.and_then(|PtyExit(exit)| exit));
    Ok(json!({
        "scrollback": lines[..text.above].join("\n"),
        "screen": lines[text.above..].join("\n"),
        "cols": state.size.cols,
        "rows": state.size.rows,
        "cursor": { "row": text.cursor.0, "col": text.cursor.1, "shown": text.cursor_shown },
        "alternate": text.alternate,
        "title": redactor.redact_text(&state.title),
        "offset": state.ring.end(),
        "running": state.ended.is_none(),
        "exitCode": exit_code,
        "signal": signal,
        "redacted": n_marks,
    }))
}

/// Redacts lines, including secrets that continue in the next line.
fn redact_lines(lines: &[String], redactor: &Redactor) -> (Vec<String>, usize) {
    let whole = lines.concat();
    let ends = lines.iter().scan(0, |end, line| {
        *end += line.len();
        Some(*end)
    });
    let (pieces, n_marks) = redactor.redact_pieces(whole.as_bytes(), &ends.collect::<Vec<_>>());
    let text = |piece: Vec<u8>| String::from_utf8_lossy(&piece).into_owned();
    (pieces.into_iter().map(text).collect(), n_marks)
}
