//! Terminal modes, as the sequences that set and reset them.

use alacritty_terminal::term::TermMode;

use super::handler::ScreenHandler;

/// Writes the modes that differ from a new terminal.
pub(super) fn write_modes(handler: &ScreenHandler, out: &mut Vec<u8>) {
    let mode = handler.term.mode();
    let on: [(TermMode, &[u8]); 10] = [
        (TermMode::APP_CURSOR, b"\x1b[?1h"),
        (TermMode::APP_KEYPAD, b"\x1b="),
        (TermMode::BRACKETED_PASTE, b"\x1b[?2004h"),
        (TermMode::MOUSE_REPORT_CLICK, b"\x1b[?1000h"),
        (TermMode::MOUSE_DRAG, b"\x1b[?1002h"),
        (TermMode::MOUSE_MOTION, b"\x1b[?1003h"),
        (TermMode::UTF8_MOUSE, b"\x1b[?1005h"),
        (TermMode::SGR_MOUSE, b"\x1b[?1006h"),
        (TermMode::FOCUS_IN_OUT, b"\x1b[?1004h"),
        (TermMode::INSERT, b"\x1b[4h"),
    ];
    for (flag, sequence) in on {
        if mode.contains(flag) {
            out.extend_from_slice(sequence);
        }
    }
    let off: [(TermMode, &[u8]); 3] = [
        (TermMode::LINE_WRAP, b"\x1b[?7l"),
        (TermMode::SHOW_CURSOR, b"\x1b[?25l"),
        (TermMode::ALTERNATE_SCROLL, b"\x1b[?1007l"),
    ];
    for (flag, sequence) in off {
        if !mode.contains(flag) {
            out.extend_from_slice(sequence);
        }
    }
    if mode.contains(TermMode::LINE_FEED_NEW_LINE) {
        out.extend_from_slice(b"\x1b[20h");
    }
}
