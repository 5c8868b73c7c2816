//! The recent output of a process tree, for reports, and the ports it printed.

use parking_lot::Mutex;
use std::collections::VecDeque;

use provost_core::runtime::{ansi, local_address};
use provost_proto::limits::{MAX_CRASH_LINE_BYTES, MAX_CRASH_LINES};
use tokio::sync::Notify;

/// How much output of a build is searched for errors, in bytes.
pub(super) const BUILD_TAIL_BYTES: usize = 2 * 1024 * 1024;

/// How much output of a dev server is kept for a crash report, in bytes.
pub(super) const DEV_TAIL_BYTES: usize = MAX_CRASH_LINES * 512;

/// Larger pieces are not searched for addresses.
const MAX_SCANNED_BYTES: usize = 64 * 1024;

/// How many printed ports are kept.
const MAX_PRINTED_PORTS: usize = 32;

/// The recent output of a process tree.
#[derive(Debug)]
pub(in crate::host) struct TreeOutputTail {
    limit: usize,
    state: Mutex<TreeOutputTailState>,
    /// Notified when a port was printed.
    pub(in crate::host) port_printed: Notify,
}

#[derive(Debug, Default)]
struct TreeOutputTailState {
    tail: VecDeque<u8>,
    /// The beginning of an incomplete line.
    line: Vec<u8>,
    ports: Vec<u16>,
}

impl TreeOutputTail {
    pub(in crate::host) fn new(limit: usize) -> Self {
        Self { limit, state: Mutex::default(), port_printed: Notify::new() }
    }

    /// Adds output.
    pub(super) fn record_output(&self, bytes: &[u8]) {
        let mut state = self.state.lock();
        state.tail.extend(bytes);
        let over = state.tail.len().saturating_sub(self.limit);
        state.tail.drain(..over);
        let n_ports = state.ports.len();
        if bytes.len() < MAX_SCANNED_BYTES && n_ports < MAX_PRINTED_PORTS {
            state.scan_for_ports(bytes);
        }
        if state.ports.len() > n_ports {
            drop(state);
            self.port_printed.notify_one();
        }
    }

    /// The printed ports, in order.
    pub(in crate::host) fn printed_ports(&self) -> Vec<u16> {
        self.state.lock().ports.clone()
    }

    /// The recent output as text.
    pub(super) fn tail_text(&self) -> String {
        let mut state = self.state.lock();
        String::from_utf8_lossy(state.tail.make_contiguous()).into_owned()
    }

    /// The last lines, without escape sequences.
    pub(super) fn last_lines(&self) -> Vec<String> {
        let text = self.tail_text();
        let plain = ansi::strip_ansi(&text);
        let lines: Vec<&str> = plain.lines().collect();
        let skipped = lines.len().saturating_sub(MAX_CRASH_LINES);
        lines.into_iter().skip(skipped).map(truncate_line).collect()
    }
}

impl TreeOutputTailState {
    /// Searches complete lines only: half of a port number is another port.
    fn scan_for_ports(&mut self, bytes: &[u8]) {
        let Some(end) = bytes.iter().rposition(|byte| *byte == b'\n') else {
            if self.line.len() < MAX_SCANNED_BYTES {
                self.line.extend_from_slice(bytes);
            }
            return;
        };
        let (whole, rest) = bytes.split_at(end + 1);
        self.line.extend_from_slice(whole);
        let lines = std::mem::replace(&mut self.line, rest.to_vec());
        for line in String::from_utf8_lossy(&lines).lines() {
            for found in local_address::find_local_addresses(line) {
                if !self.ports.contains(&found.port) {
                    self.ports.push(found.port);
                }
            }
        }
        self.ports.truncate(MAX_PRINTED_PORTS);
    }
}

fn truncate_line(line: &str) -> String {
    let mut end = line.len().min(MAX_CRASH_LINE_BYTES);
    while !line.is_char_boundary(end) {
        end -= 1;
    }
    line[..end].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_read_from_whole_lines_however_they_are_cut() {
        let tail = TreeOutputTail::new(DEV_TAIL_BYTES);
        tail.record_output(b"  Local: http://localhost:51");
        assert!(tail.printed_ports().is_empty());
        tail.record_output(b"73/\nalso http://127.0.0.1:8080\n");
        tail.record_output(b"again http://localhost:5173/\n");
        assert_eq!(tail.printed_ports(), [5173, 8080]);
    }

    #[test]
    fn the_last_lines_are_kept_and_their_colors_are_not() {
        let tail = TreeOutputTail::new(DEV_TAIL_BYTES);
        for n in 0..1000 {
            tail.record_output(format!("\u{1b}[31mline {n}\u{1b}[0m\n").as_bytes());
        }
        let lines = tail.last_lines();
        assert_eq!(lines.len(), MAX_CRASH_LINES);
        assert_eq!(lines.last().unwrap(), "line 999");
    }
}
