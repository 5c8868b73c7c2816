//! What one process printed lately, for reports, and the ports it named.

use parking_lot::Mutex;
use std::collections::VecDeque;

use provost_core::runtime::{ansi, local_address};
use provost_proto::limits::{MAX_CRASH_LINE_BYTES, MAX_CRASH_LINES};
use tokio::sync::Notify;

/// How much of a build is looked through for errors.
pub(super) const BUILD_TAIL_BYTES: usize = 2 * 1024 * 1024;

/// How much of a dev server is kept for its crash.
pub(super) const DEV_TAIL_BYTES: usize = MAX_CRASH_LINES * 512;

/// A piece larger than this is a flood, in which nobody looks for addresses.
const MAX_SCANNED_BYTES: usize = 64 * 1024;

/// Ports that were named, at most.
const MAX_PRINTED_PORTS: usize = 32;

/// What a process said.
#[derive(Debug)]
pub(in crate::host) struct TreeOutputTail {
    limit: usize,
    said: Mutex<TreeOutputTailState>,
    /// A port was named.
    pub(in crate::host) hint: Notify,
}

#[derive(Debug, Default)]
struct TreeOutputTailState {
    tail: VecDeque<u8>,
    /// The beginning of a line that has not ended.
    line: Vec<u8>,
    ports: Vec<u16>,
}

impl TreeOutputTail {
    pub(in crate::host) fn new(limit: usize) -> Self {
        Self { limit, said: Mutex::default(), hint: Notify::new() }
    }

    /// Takes what was printed.
    pub(super) fn record_output(&self, bytes: &[u8]) {
        let mut said = self.said.lock();
        said.tail.extend(bytes);
        let over = said.tail.len().saturating_sub(self.limit);
        said.tail.drain(..over);
        let named = said.ports.len();
        if bytes.len() < MAX_SCANNED_BYTES && named < MAX_PRINTED_PORTS {
            said.scan_for_ports(bytes);
        }
        if said.ports.len() > named {
            drop(said);
            self.hint.notify_one();
        }
    }

    /// The ports that were named, the first first.
    pub(in crate::host) fn printed_ports(&self) -> Vec<u16> {
        self.said.lock().ports.clone()
    }

    /// What was printed last.
    pub(super) fn tail_text(&self) -> String {
        let mut said = self.said.lock();
        String::from_utf8_lossy(said.tail.make_contiguous()).into_owned()
    }

    /// The last lines, without escape codes.
    pub(super) fn last_lines(&self) -> Vec<String> {
        let text = self.tail_text();
        let plain = ansi::strip_ansi(&text);
        let lines: Vec<&str> = plain.lines().collect();
        let skipped = lines.len().saturating_sub(MAX_CRASH_LINES);
        lines.into_iter().skip(skipped).map(truncate_line).collect()
    }
}

impl TreeOutputTailState {
    /// Only whole lines are looked at: a port that is cut in two is another port.
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
        let heard = TreeOutputTail::new(DEV_TAIL_BYTES);
        heard.record_output(b"  Local: http://localhost:51");
        assert!(heard.printed_ports().is_empty());
        heard.record_output(b"73/\nalso http://127.0.0.1:8080\n");
        heard.record_output(b"again http://localhost:5173/\n");
        assert_eq!(heard.printed_ports(), [5173, 8080]);
    }

    #[test]
    fn the_last_lines_are_kept_and_their_colors_are_not() {
        let heard = TreeOutputTail::new(DEV_TAIL_BYTES);
        for n in 0..1000 {
            heard.record_output(format!("\u{1b}[31mline {n}\u{1b}[0m\n").as_bytes());
        }
        let lines = heard.last_lines();
        assert_eq!(lines.len(), MAX_CRASH_LINES);
        assert_eq!(lines.last().unwrap(), "line 999");
    }
}
