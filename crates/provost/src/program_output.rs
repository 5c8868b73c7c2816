//! Output of programs, printed to the person's terminal.
//!
//! A program in the sandbox has no say over the terminal of the person who reads its output:
//! it could set the clipboard (OSC 52) or the title, clear the screen, or paint a prompt. So
//! only text, tabs, line ends and colors are passed on; `provost attach` alone passes the rest.
//! Where the output is not a terminal, it is passed on unchanged.

use std::io::{self, IsTerminal as _};

use parking_lot::Mutex;
use provost_proto::kernel::OutputStream;

use crate::output::check_write_result;

/// Longer color sequences are dropped.
const MAX_COLOR_BYTES: usize = 64;

/// Sequences may be split between chunks, so each stream keeps its filter.
static STDOUT_FILTER: Mutex<ControlFilter> = Mutex::new(ControlFilter::new());
static STDERR_FILTER: Mutex<ControlFilter> = Mutex::new(ControlFilter::new());

/// Prints output of a program to the stream it came from.
pub(crate) fn print_program_output(stream: OutputStream, bytes: &[u8]) -> anyhow::Result<()> {
    let written = match stream {
        OutputStream::Stdout => {
            let mut out = io::stdout().lock();
            let is_terminal = out.is_terminal();
            write_filtered(&mut out, is_terminal, &STDOUT_FILTER, bytes)
        }
        OutputStream::Stderr => {
            let mut out = io::stderr().lock();
            let is_terminal = out.is_terminal();
            write_filtered(&mut out, is_terminal, &STDERR_FILTER, bytes)
        }
    };
    check_write_result(written)
}

fn write_filtered(
    out: &mut impl io::Write,
    is_terminal: bool,
    filter: &Mutex<ControlFilter>,
    bytes: &[u8],
) -> io::Result<()> {
    if is_terminal {
        out.write_all(&filter.lock().filter_chunk(bytes))?;
    } else {
        out.write_all(bytes)?;
    }
    out.flush()
}

/// Removes control sequences other than colors from a stream.
#[derive(Debug)]
struct ControlFilter {
    state: ControlState,
    /// The parameters of the sequence so far.
    sequence: Vec<u8>,
    /// Bytes that are missing to a character of several bytes.
    n_continuations: u8,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ControlState {
    Text,
    /// After 0xC2, which begins the C1 controls in UTF-8.
    Lead,
    /// After ESC.
    Escape,
    /// Inside of `ESC [ …`.
    Csi,
    /// Inside of a string (OSC, DCS, APC, PM, SOS), until BEL or `ESC \`.
    ControlString,
    /// After ESC inside of a string.
    ControlStringEscape,
}

impl ControlFilter {
    const fn new() -> Self {
        Self { state: ControlState::Text, sequence: Vec::new(), n_continuations: 0 }
    }

    /// The part of a chunk that may be shown.
    fn filter_chunk(&mut self, chunk: &[u8]) -> Vec<u8> {
        let mut shown = Vec::with_capacity(chunk.len());
        for &byte in chunk {
            self.state = self.next_state(byte, &mut shown);
        }
        shown
    }

    fn next_state(&mut self, byte: u8, shown: &mut Vec<u8>) -> ControlState {
        match (self.state, byte) {
            // CAN and SUB end any sequence, BEL and `ESC \` a string.
            (_, 0x18 | 0x1a)
            | (ControlState::ControlString, 0x07)
            | (ControlState::ControlStringEscape, b'\\') => ControlState::Text,
            (ControlState::ControlString, 0x1b) => ControlState::ControlStringEscape,
            (ControlState::ControlString, _) => ControlState::ControlString,
            (_, 0x1b) => ControlState::Escape,
            // Any other sequence ends the string.
            (ControlState::Escape | ControlState::ControlStringEscape, _) => self.begin(byte),
            (ControlState::Csi, _) => self.continue_csi(byte, shown),
            (ControlState::Lead, 0x80..=0x9f) => match byte {
                0x9b => self.begin(b'['),
                0x90 | 0x98 | 0x9d..=0x9f => ControlState::ControlString,
                _ => ControlState::Text,
            },
            (ControlState::Lead, 0xa0..=0xbf) => {
                shown.extend_from_slice(&[0xc2, byte]);
                ControlState::Text
            }
            (ControlState::Lead | ControlState::Text, _) => self.show_text(byte, shown),
        }
    }

    /// Shows printable bytes; a byte that continues no character could be a C1 control.
    fn show_text(&mut self, byte: u8, shown: &mut Vec<u8>) -> ControlState {
        let n_expected = std::mem::take(&mut self.n_continuations);
        match byte {
            0xc2 => return ControlState::Lead,
            0x80..=0xbf if n_expected > 0 => self.n_continuations = n_expected - 1,
            0xc3..=0xdf => self.n_continuations = 1,
            0xe0..=0xef => self.n_continuations = 2,
            0xf0..=0xf4 => self.n_continuations = 3,
            b'\t' | b'\n' | b'\r' | 0x20..=0x7e => {}
            _ => return ControlState::Text,
        }
        shown.push(byte);
        ControlState::Text
    }

    /// The state after ESC and this byte.
    fn begin(&mut self, byte: u8) -> ControlState {
        self.sequence.clear();
        match byte {
            b'[' => ControlState::Csi,
            b']' | b'P' | b'X' | b'^' | b'_' => ControlState::ControlString,
            // An intermediate byte: the final one follows.
            0x20..=0x2f => ControlState::Escape,
            _ => ControlState::Text,
        }
    }

    fn continue_csi(&mut self, byte: u8, shown: &mut Vec<u8>) -> ControlState {
        match byte {
            b'0'..=b'9' | b';' | b':' if self.sequence.len() < MAX_COLOR_BYTES => {
                self.sequence.push(byte);
                ControlState::Csi
            }
            b'm' if !self.sequence.contains(&0) => {
                shown.extend_from_slice(b"\x1b[");
                shown.append(&mut self.sequence);
                shown.push(b'm');
                ControlState::Text
            }
            0x40..=0x7e => ControlState::Text,
            _ => {
                // Private or too long: never a color.
                self.sequence.push(0);
                self.sequence.truncate(MAX_COLOR_BYTES + 1);
                ControlState::Csi
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CASES: [(&str, &str); 17] = [
        ("plain\ttext\r\n", "plain\ttext\r\n"),
        ("naïve £5 — 日本 😀", "naïve £5 — 日本 😀"),
        ("\x1b[1;31mred\x1b[0m", "\x1b[1;31mred\x1b[0m"),
        ("\x1b[38:2::1:2:3mx\x1b[m", "\x1b[38:2::1:2:3mx\x1b[m"),
        ("\x1b]52;c;aGk=\x07x", "x"),
        ("\x1b]0;title\x1b\\x", "x"),
        ("\x1b[2J\x1b[Hx", "x"),
        ("\x1b[?1049hx", "x"),
        ("\x1b[>4;2mx", "x"),
        ("\x1bPq#0\x1b\\x", "x"),
        ("\x1b_secret\x1b\\x", "x"),
        ("\x1bcx", "x"),
        ("\x1b(0x", "x"),
        ("\u{9d}52;c;aGk=\x07x", "x"),
        ("\u{9b}2Jx", "x"),
        ("a\x08\x07\x00b", "ab"),
        ("\x1b]52;c;\x1b[31mred", "\x1b[31mred"),
    ];

    #[test]
    fn only_text_and_colors_are_shown() {
        for (printed, shown) in CASES {
            let filtered = ControlFilter::new().filter_chunk(printed.as_bytes());
            assert_eq!(String::from_utf8_lossy(&filtered), shown, "{printed:?}");
        }
    }

    #[test]
    fn the_same_is_shown_wherever_the_output_is_split() {
        for (printed, shown) in CASES {
            for at in 0..printed.len() {
                let mut filter = ControlFilter::new();
                let (first, second) = printed.as_bytes().split_at(at);
                let filtered = [filter.filter_chunk(first), filter.filter_chunk(second)].concat();
                assert_eq!(String::from_utf8_lossy(&filtered), shown, "{printed:?} at {at}");
            }
        }
    }

    #[test]
    fn no_bytes_make_a_control_character_but_those_of_colors() {
        let mut filter = ControlFilter::new();
        let mut state = 1_u64;
        let noise: Vec<u8> = (0..200_000)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let bytes = b"\x1b\x9b\x9d\xc2[]0;5:mJhPq\x07\\?x\n\x18";
                bytes[usize::try_from(state >> 40).unwrap() % bytes.len()]
            })
            .collect();
        let shown = filter.filter_chunk(&noise);
        let mut rest = &shown[..];
        while let Some(at) = rest.iter().position(|byte| *byte == 0x1b) {
            let sequence = &rest[at + 1..];
            let length =
                sequence.iter().skip(1).take_while(|b| b"0123456789;:".contains(b)).count();
            assert_eq!((sequence[0], sequence[1 + length]), (b'[', b'm'));
            rest = &sequence[length..];
        }
        let is_c1 = |byte: &u8| (0x80..0xa0).contains(byte);
        assert!(!shown.iter().any(|byte| is_c1(byte) || *byte == 0x07));
    }
}
