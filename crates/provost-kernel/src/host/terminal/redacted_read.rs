//! What `pty.read` tells: without secrets, however they are cut up.
//!
//! Its person sees what was printed. For everybody else a secret that goes on in
//! the next line, or lies across the ends of what was asked for, is still one.

use provost_core::redact::Redactor;
use provost_proto::Code;
use serde_json::{Value, json};

use super::output_ring::to_offset;
use super::shared_pty_state::PtyExit;
use super::{PtySession, split_exit};
use crate::ActionError;

/// What was printed from this byte on.
pub(super) fn read_printed(
    live: &PtySession,
    after: u64,
    limit: u64,
    redactor: &Redactor,
) -> Value {
    let state = live.line.lock_state();
    let (oldest, end) = (state.ring.oldest(), state.ring.end());
    let running = state.ended.is_none();
    let from = after.clamp(oldest, end);
    let next = from.saturating_add(limit).min(end);
    let reach = to_offset(redactor.max_match_bytes());
    let begin = from.saturating_sub(reach).max(oldest);
    let mut around = Vec::new();
    let wanted = usize::try_from(next - begin + reach).unwrap_or(usize::MAX);
    state.ring.read(begin, wanted, &mut around);
    drop(state);
    let place = |offset: u64| usize::try_from(offset - begin).unwrap_or(usize::MAX);
    let (mut pieces, _) = redactor.redact_pieces(&around, &[place(from), place(next)]);
    let bytes = pieces.pop().unwrap_or_default();
    let redacted = around.get(place(from)..place(next)).is_some_and(|raw| raw != bytes);
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

/// What stands on the screen, and so many lines above it.
pub(super) async fn read_screen(
    live: &PtySession,
    above: u64,
    redactor: &Redactor,
) -> Result<Value, ActionError> {
    let above = usize::try_from(above).unwrap_or(usize::MAX);
    let gone = || ActionError::new(Code::PtyDead, "the terminal was closed meanwhile");
    let text = live.line.request_text(above).await.ok_or_else(gone)?;
    let (lines, n_marks) = redact_lines(&text.lines, redactor);
    let state = live.line.lock_state();
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

/// The lines without secrets, also those that go on in the next line.
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
