//! Keeps the head and the tail of a command's output, and counts what is dropped
//! between them.

use std::collections::VecDeque;

use bytes::{Buf as _, Bytes};
use provost_proto::kernel::{OutputChunk, OutputStream};

/// Splits output into the head, which is sent at once, the tail, which is sent at
/// the end, and the bytes between, which are dropped.
#[derive(Debug)]
pub(in crate::host) struct HeadTailBuffer {
    head_left: usize,
    tail_limit: usize,
    tail: VecDeque<TailChunk>,
    tail_bytes: usize,
    /// Bytes printed to stdout and stderr.
    totals_by_stream: [u64; 2],
    dropped: u64,
}

#[derive(Debug)]
struct TailChunk {
    stream: OutputStream,
    offset: u64,
    data: Bytes,
}

impl HeadTailBuffer {
    /// Keeps `limit` bytes, half of them for the head.
    pub(in crate::host) fn new(limit: u64) -> Self {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        Self {
            head_left: limit.div_ceil(2),
            tail_limit: limit / 2,
            tail: VecDeque::new(),
            tail_bytes: 0,
            totals_by_stream: [0; 2],
            dropped: 0,
        }
    }

    /// Adds output; returns the part that is sent now.
    pub(in crate::host) fn push(
        &mut self,
        stream: OutputStream,
        mut data: Bytes,
    ) -> Option<OutputChunk> {
        let offset = self.totals_by_stream[stream_index(stream)];
        self.totals_by_stream[stream_index(stream)] += length(&data);
        // The head ends at a character boundary, and is never reopened.
        let fits = if data.len() <= self.head_left {
            data.len()
        } else {
            char_boundary_before(&data, self.head_left)
        };
        let rest = data.split_off(fits);
        self.head_left = if rest.is_empty() { self.head_left - fits } else { 0 };
        if !rest.is_empty() {
            let offset = offset + length(&data);
            self.push_tail(TailChunk { stream, offset, data: rest });
        }
        (!data.is_empty()).then(|| OutputChunk { stream, offset, dropped: 0, data: data.into() })
    }

    fn push_tail(&mut self, chunk: TailChunk) {
        self.tail_bytes += chunk.data.len();
        self.tail.push_back(chunk);
        while self.tail_bytes > self.tail_limit {
            let Some(front) = self.tail.front_mut() else { break };
            let over = self.tail_bytes - self.tail_limit;
            let cut = if over >= front.data.len() {
                front.data.len()
            } else {
                char_boundary_after(&front.data, over)
            };
            self.tail_bytes -= cut;
            self.dropped += u64::try_from(cut).unwrap_or(0);
            if cut == front.data.len() {
                self.tail.pop_front();
            } else {
                front.data.advance(cut);
                front.offset += u64::try_from(cut).unwrap_or(0);
            }
        }
    }

    /// The tail, to be sent when the command has ended; the first chunk says how many
    /// bytes were dropped before it.
    pub(in crate::host) fn drain_tail(&mut self) -> Vec<OutputChunk> {
        let mut dropped = self.dropped;
        let tail = std::mem::take(&mut self.tail).into_iter();
        tail.map(|TailChunk { stream, offset, data }| OutputChunk {
            stream,
            offset,
            dropped: std::mem::take(&mut dropped),
            data: data.into(),
        })
        .collect()
    }

    pub(in crate::host) fn totals(&self) -> OutputByteCounts {
        let [stdout, stderr] = self.totals_by_stream;
        OutputByteCounts { stdout, stderr, dropped: self.dropped }
    }
}

/// Bytes that were printed, and those of them that were dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::host) struct OutputByteCounts {
    pub(in crate::host) stdout: u64,
    pub(in crate::host) stderr: u64,
    pub(in crate::host) dropped: u64,
}

fn stream_index(stream: OutputStream) -> usize {
    match stream {
        OutputStream::Stdout => 0,
        OutputStream::Stderr => 1,
    }
}

fn length(data: &[u8]) -> u64 {
    u64::try_from(data.len()).unwrap_or(u64::MAX)
}

/// The last character boundary at or before `at`.
fn char_boundary_before(data: &[u8], at: usize) -> usize {
    (at.saturating_sub(3)..=at).rev().find(|&offset| is_char_boundary(data, offset)).unwrap_or(at)
}

/// The first character boundary at or after `at`.
fn char_boundary_after(data: &[u8], at: usize) -> usize {
    (at..data.len().min(at + 4)).find(|&offset| is_char_boundary(data, offset)).unwrap_or(at)
}

fn is_char_boundary(data: &[u8], at: usize) -> bool {
    data.get(at).is_none_or(|byte| byte & 0xc0 != 0x80)
}

/// How many bytes at the end are an incomplete UTF-8 character.
pub(in crate::host) fn incomplete_char_length(data: &[u8]) -> usize {
    let Some(back) = data.iter().rev().take(3).position(|byte| byte & 0xc0 == 0xc0) else {
        return 0;
    };
    let length = match data[data.len() - 1 - back] {
        0xf0..=0xf7 => 4,
        0xe0..=0xef => 3,
        _ => 2,
    };
    if back + 1 < length { back + 1 } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use provost_proto::kernel::OutputData;

    const OUT: OutputStream = OutputStream::Stdout;

    fn bytes(output: &OutputChunk) -> &[u8] {
        match &output.data {
            OutputData::Bytes(bytes) => bytes,
            OutputData::Blob(_) => panic!("a kernel has no blobs"),
        }
    }

    fn run(limit: u64, pieces: &[Vec<u8>]) -> (Vec<OutputChunk>, HeadTailBuffer) {
        let mut buffer = HeadTailBuffer::new(limit);
        let mut sent: Vec<_> =
            pieces.iter().filter_map(|piece| buffer.push(OUT, piece.clone().into())).collect();
        sent.extend(buffer.drain_tail());
        (sent, buffer)
    }

    #[test]
    fn the_head_and_the_tail_are_kept_and_the_gap_is_marked() {
        let pieces: Vec<_> = (0..100).map(|n| format!("{n:02}").into_bytes()).collect();
        let (sent, buffer) = run(20, &pieces);
        let text: Vec<_> = sent.iter().flat_map(|output| bytes(output).to_vec()).collect();
        assert_eq!(String::from_utf8(text).unwrap(), "00010203049596979899");
        let gap = sent.iter().find(|output| output.dropped > 0).unwrap();
        assert_eq!((gap.dropped, gap.offset), (180, 190));
        assert_eq!(buffer.totals(), OutputByteCounts { stdout: 200, stderr: 0, dropped: 180 });
    }

    #[test]
    fn a_character_that_is_not_all_there_waits() {
        for (text, expected) in [("a", 0), ("ä", 0), ("", 0), ("日", 0), ("😀", 0)] {
            assert_eq!(incomplete_char_length(text.as_bytes()), expected, "{text}");
        }
        for whole in ["ä", "日", "😀"] {
            for cut in 1..whole.len() {
                let bytes = [b"x", &whole.as_bytes()[..cut]].concat();
                assert_eq!(incomplete_char_length(&bytes), cut, "{whole} cut at {cut}");
            }
        }
        assert_eq!(
            incomplete_char_length(&[0x80, 0x80, 0x80, 0x80]),
            0,
            "invalid bytes are not held back"
        );
    }

    proptest! {
        #[test]
        fn nothing_is_lost_or_doubled_within_the_limit_and_never_more_than_it_is_sent(
            pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..50), 0..40),
            limit in 2..400_u64,
        ) {
            let all = pieces.concat();
            let (sent, buffer) = run(limit, &pieces);
            let mut at = 0;
            for output in &sent {
                at += output.dropped;
                prop_assert_eq!(output.offset, at);
                let start = usize::try_from(at).unwrap();
                prop_assert_eq!(bytes(output), &all[start..start + bytes(output).len()]);
                at += length(bytes(output));
            }
            let OutputByteCounts { stdout: total, dropped, .. } = buffer.totals();
            prop_assert_eq!(total, length(&all));
            let n_sent: u64 = sent.iter().map(|output| length(bytes(output))).sum();
            prop_assert!(n_sent <= limit);
            if sent.last().is_some_and(|last| last.dropped == 0 || !bytes(last).is_empty()) {
                prop_assert_eq!(n_sent + dropped, total);
            }
            if total <= limit / 2 {
                prop_assert_eq!(dropped, 0);
            }
        }
    }
}
