//! The last bytes of a terminal's output, addressed by their offset.

use std::collections::VecDeque;

use provost_proto::limits::TERMINAL_RING_BYTES;

/// Memory is allocated in segments, so that a quiet terminal needs little.
const SEGMENT_BYTES: usize = 64 * 1024;

/// The last [`TERMINAL_RING_BYTES`] bytes of a stream.
#[derive(Debug)]
pub(super) struct OutputRing {
    /// All but the last are full.
    segments: VecDeque<Vec<u8>>,
    /// The offset of the first segment.
    start: u64,
    end: u64,
}

impl OutputRing {
    /// An empty ring whose first byte has this offset.
    pub(super) fn new(start: u64) -> Self {
        Self { segments: VecDeque::new(), start, end: start }
    }

    /// The offset of the oldest byte that is kept.
    pub(super) fn oldest(&self) -> u64 {
        self.start
    }

    /// The offset of the next byte.
    pub(super) fn end(&self) -> u64 {
        self.end
    }

    /// Appends bytes; overwrites the oldest.
    pub(super) fn push(&mut self, mut bytes: &[u8]) {
        self.end += to_offset(bytes.len());
        while !bytes.is_empty() {
            if self.segments.back().is_none_or(|last| last.len() == SEGMENT_BYTES) {
                let segment = self.take_segment();
                self.segments.push_back(segment);
            }
            let Some(last) = self.segments.back_mut() else { return };
            let (fits, remainder) = bytes.split_at(bytes.len().min(SEGMENT_BYTES - last.len()));
            last.extend_from_slice(fits);
            bytes = remainder;
        }
    }

    /// A new segment, or the oldest if the ring is full.
    fn take_segment(&mut self) -> Vec<u8> {
        if self.segments.len() < TERMINAL_RING_BYTES / SEGMENT_BYTES {
            return Vec::with_capacity(SEGMENT_BYTES);
        }
        self.start += to_offset(SEGMENT_BYTES);
        let mut oldest = self.segments.pop_front().unwrap_or_default();
        oldest.clear();
        oldest
    }

    /// Appends to `into` the bytes from an offset on, up to `most`; returns how many.
    /// `None` if they are no longer kept, or not printed yet.
    pub(super) fn read(&self, from: u64, most: usize, into: &mut Vec<u8>) -> Option<usize> {
        if from < self.start || from > self.end {
            return None;
        }
        let mut skip = usize::try_from(from - self.start).ok()?;
        let mut remaining = most.min(usize::try_from(self.end - from).ok()?);
        let n_read = remaining;
        for segment in self.segments.iter().skip(skip / SEGMENT_BYTES) {
            skip %= SEGMENT_BYTES;
            let piece = segment.get(skip..).unwrap_or_default();
            let piece = &piece[..piece.len().min(remaining)];
            into.extend_from_slice(piece);
            remaining -= piece.len();
            skip = 0;
            if remaining == 0 {
                break;
            }
        }
        Some(n_read)
    }
}

/// A length as a distance between offsets.
pub(super) fn to_offset(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The byte at an offset.
    fn byte(offset: u64) -> u8 {
        u8::try_from(offset % 251).unwrap()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(12))]
        #[test]
        fn any_offset_that_is_kept_reads_what_was_pushed_there(
            start in 0..1_000_000_u64,
            sizes in prop::collection::vec(0..3_000_000_usize, 0..8),
            at in 0.0..1.0_f64,
            most in 0..200_000_usize,
        ) {
            let mut ring = OutputRing::new(start);
            for size in sizes {
                let from = ring.end();
                let bytes: Vec<_> = (from..from + to_offset(size)).map(byte).collect();
                ring.push(&bytes);
            }
            let kept = ring.end() - ring.oldest();
            prop_assert!(kept <= to_offset(TERMINAL_RING_BYTES));
            prop_assert!(ring.oldest() == start || kept > to_offset(TERMINAL_RING_BYTES - SEGMENT_BYTES));
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss,
                reason = "an offset between the two")]
            let from = ring.oldest() + (kept as f64 * at) as u64;
            let mut read = b"before".to_vec();
            let n_read = ring.read(from, most, &mut read).unwrap();
            prop_assert_eq!(to_offset(n_read), to_offset(most).min(ring.end() - from));
            prop_assert_eq!(read.len(), 6 + n_read);
            prop_assert!(read[6..].iter().zip(from..).all(|(read, offset)| *read == byte(offset)));
            prop_assert_eq!(ring.read(ring.end() + 1, 1, &mut read), None);
            if ring.oldest() > 0 {
                prop_assert_eq!(ring.read(ring.oldest() - 1, 1, &mut read), None);
            }
        }
    }
}
