//! Filters the escape sequences that reach the current terminal.
//!
//! Removed are queries, which the project's kernel answers (a second reply would be
//! sent as input), writes to the clipboard, and switches between the main and the
//! alternate screen: everything is shown on our alternate screen, so leaving the
//! project's alternate screen needs a new snapshot.

/// Longest sequence that is kept, in bytes; the rest of a longer one is dropped.
const MAX_SEQUENCE_LEN: usize = 256 * 1024;

#[derive(Debug, Default)]
pub(super) struct EscapeSequenceFilter {
    /// An incomplete sequence.
    held: Vec<u8>,
}

impl EscapeSequenceFilter {
    /// Writes what may be drawn; returns whether a program left the alternate screen.
    pub(super) fn push(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> bool {
        let mut left = false;
        for &byte in bytes {
            if self.held.is_empty() {
                match byte {
                    0x1b => self.held.push(byte),
                    // ENQ, a query.
                    0x05 => {}
                    _ => out.push(byte),
                }
                continue;
            }
            // ESC cancels the sequence before it, except in a control string, which it may end.
            if byte == 0x1b && !is_control_string(&self.held) {
                self.held.clear();
            }
            if self.held.len() < MAX_SEQUENCE_LEN
                || byte == 0x1b
                || self.held.last() == Some(&0x1b)
                || byte == 0x07
            {
                self.held.push(byte);
            }
            match classify_sequence(&self.held) {
                EscapeSequenceState::Incomplete => {}
                EscapeSequenceState::Cancelled => self.held.clear(),
                EscapeSequenceState::Complete => {
                    left |= filter_sequence(&self.held, out);
                    self.held.clear();
                }
                // A control string was ended by the start of another sequence.
                EscapeSequenceState::Superseded => {
                    let start = self.held.len() - 2;
                    self.held.drain(..start);
                }
            }
        }
        left
    }
}

enum EscapeSequenceState {
    Incomplete,
    Complete,
    Cancelled,
    Superseded,
}

fn is_control_string(held: &[u8]) -> bool {
    matches!(held.get(1), Some(b']' | b'P' | b'X' | b'^' | b'_'))
}

fn classify_sequence(held: &[u8]) -> EscapeSequenceState {
    let last = held.last().copied().unwrap_or(0);
    if held.len() < 2 {
        return EscapeSequenceState::Incomplete;
    }
    if matches!(last, 0x18 | 0x1a) {
        return EscapeSequenceState::Cancelled;
    }
    if is_control_string(held) {
        let before = held[held.len() - 2];
        return match (before, last) {
            (0x1b, b'\\') if held.len() > 3 => EscapeSequenceState::Complete,
            (0x1b, _) if held.len() > 3 => EscapeSequenceState::Superseded,
            (_, 0x07) if held[1] == b']' => EscapeSequenceState::Complete,
            _ => EscapeSequenceState::Incomplete,
        };
    }
    let whole = match held[1] {
        b'[' => held.len() > 2 && (0x40..=0x7e).contains(&last),
        0x20..=0x2f => (0x30..=0x7e).contains(&last),
        _ => true,
    };
    if whole { EscapeSequenceState::Complete } else { EscapeSequenceState::Incomplete }
}

/// Writes a sequence if it is allowed; returns whether it leaves the alternate screen.
fn filter_sequence(sequence: &[u8], out: &mut Vec<u8>) -> bool {
    let passes = match sequence[1] {
        b'[' => return filter_csi(sequence, out),
        b']' => is_osc_allowed(&sequence[2..]),
        b'P' => !(sequence.starts_with(b"\x1bP+q") || sequence.starts_with(b"\x1bP$q")),
        b'X' | b'^' | b'_' | b'Z' => false,
        b'c' => {
            out.extend_from_slice(b"\x1b[!p\x1b[H\x1b[2J");
            false
        }
        _ => true,
    };
    if passes {
        out.extend_from_slice(sequence);
    }
    false
}

/// `ESC [ …`.
fn filter_csi(sequence: &[u8], out: &mut Vec<u8>) -> bool {
    let (last, inner) = sequence[2..].split_last().unwrap_or((&0, &[]));
    let private = inner.first().copied().filter(|byte| (0x3c..=0x3f).contains(byte));
    let passes = match last {
        b'c' | b'n' | b'x' => false,
        b'p' => !inner.contains(&b'$'),
        b'q' => private != Some(b'>'),
        b'u' => private.is_none(),
        // Only saving and restoring titles; programs must not resize or move the window.
        b't' => inner.starts_with(b"22") || inner.starts_with(b"23"),
        b'h' | b'l' if private == Some(b'?') => {
            return filter_private_modes(&inner[1..], *last, out);
        }
        _ => true,
    };
    if passes {
        out.extend_from_slice(sequence);
    }
    false
}

/// `ESC [ ? … h` and `l`, without the modes of the alternate screen.
fn filter_private_modes(inner: &[u8], last: u8, out: &mut Vec<u8>) -> bool {
    let is_screen = |mode: &&[u8]| matches!(*mode, b"47" | b"1047" | b"1048" | b"1049");
    let modes: Vec<&[u8]> = inner.split(|byte| *byte == b';').collect();
    let rest: Vec<&[u8]> = modes.iter().filter(|mode| !is_screen(mode)).copied().collect();
    if !rest.is_empty() {
        out.extend_from_slice(b"\x1b[?");
        out.extend_from_slice(&rest.join(&b';'));
        out.push(last);
    }
    let swaps = modes.iter().any(|mode| matches!(*mode, b"47" | b"1047" | b"1049"));
    if swaps && last == b'h' {
        out.extend_from_slice(b"\x1b[0m\x1b[2J");
    }
    swaps && last == b'l'
}

/// `ESC ] …`: whether it may pass.
fn is_osc_allowed(text: &[u8]) -> bool {
    let number = text.split(|byte| !byte.is_ascii_digit()).next().unwrap_or_default();
    match number {
        b"52" => false,
        b"4" | b"5" | b"10" | b"11" | b"12" | b"13" | b"14" | b"15" | b"16" | b"17" | b"18"
        | b"19" => !text.contains(&b'?'),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::EscapeSequenceFilter;

    #[test]
    fn questions_the_clipboard_and_the_other_screen_do_not_pass_however_they_are_cut() {
        for (printed, drawn, left) in [
            ("plain é\r\n", "plain é\r\n", false),
            ("\x1b[31mred\x1b[0m", "\x1b[31mred\x1b[0m", false),
            ("a\x1b[cb\x1b[>cd\x1b[6ne\x1b[?2004$pf", "abdef", false),
            ("a\x1b]11;?\x07b\x1b]11;#102030\x07c", "ab\x1b]11;#102030\x07c", false),
            ("a\x1b]52;c;aGk=\x07b\x1b]52;c;?\x1b\\c", "abc", false),
            ("\x1b]0;title\x07x\x1b]2;t\x1b\\y", "\x1b]0;title\x07x\x1b]2;t\x1b\\y", false),
            ("\x1b[?1049h\x1b[1;1Hvim", "\x1b[0m\x1b[2J\x1b[1;1Hvim", false),
            ("\x1b[?1049lback", "back", true),
            ("\x1b[?1;1049;25h", "\x1b[?1;25h\x1b[0m\x1b[2J", false),
            ("\x1b[?25l\x1b[?2004h", "\x1b[?25l\x1b[?2004h", false),
            ("\x1bP+q544e\x1b\\a\x1b_Ga=q;\x1b\\b\x1bZc\x05d", "abcd", false),
            ("\x1b[18t\x1b[22;0ta", "\x1b[22;0ta", false),
            ("\x1b[>qx\x1b[2 qy\x1b[?uz", "x\x1b[2 qyz", false),
            ("\x1bcx", "\x1b[!p\x1b[H\x1b[2Jx", false),
            ("\x1b(0q\x1b(B\x1b7\x1b8", "\x1b(0q\x1b(B\x1b7\x1b8", false),
            ("\x1b[3\x18a\x1b]0;cut\x1b[1mb", "a\x1b[1mb", false),
        ] {
            for size in [1, 2, 3, 1000] {
                let (mut filter, mut out, mut found) =
                    (EscapeSequenceFilter::default(), Vec::new(), false);
                for piece in printed.as_bytes().chunks(size) {
                    found |= filter.push(piece, &mut out);
                }
                assert_eq!(String::from_utf8_lossy(&out), drawn, "{printed:?} in {size}");
                assert_eq!(found, left, "{printed:?}");
            }
        }
    }
}
