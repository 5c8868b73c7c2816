//! The last bytes that a terminal printed, each with its place since the beginning.

use std::collections::VecDeque;

use provost_proto::limits::TERMINAL_RING_BYTES;

/// Memory is taken in pieces of this size, so that a quiet terminal takes little.
const SEGMENT: usize = 64 * 1024;

/// The last [`TERMINAL_RING`] bytes of a stream.
#[derive(Debug)]
pub(super) struct OutputRing {
    /// All but the last are full.
    segments: VecDeque<Vec<u8>>,
    /// Where the first segment begins.
    start: u64,
    end: u64,
}

impl OutputRing {
    /// An empty one, whose first byte has this place.
    pub(super) fn new(start: u64) -> Self {
        Self { segments: VecDeque::new(), start, end: start }
    }

    /// The oldest byte that is kept.
    pub(super) fn oldest(&self) -> u64 {
        self.start
    }

    /// Where the next byte goes.
    pub(super) fn end(&self) -> u64 {
        self.end
    }

    /// Adds bytes; the oldest make room.
    pub(super) fn push(&mut self, mut bytes: &[u8]) {
        self.end += to_offset(bytes.len());
        while !bytes.is_empty() {
            if self.segments.back().is_none_or(|last| last.len() == SEGMENT) {
                let segment = self.take_segment();
                self.segments.push_back(segment);
            }
            let Some(last) = self.segments.back_mut() else { return };
            let (now, later) = bytes.split_at(bytes.len().min(SEGMENT - last.len()));
            last.extend_from_slice(now);
            bytes = later;
        }
    }

    /// A segment: the oldest, if there are enough.
    fn take_segment(&mut self) -> Vec<u8> {
        if self.segments.len() < TERMINAL_RING_BYTES / SEGMENT {
            return Vec::with_capacity(SEGMENT);
        }
        self.start += to_offset(SEGMENT);
        let mut oldest = self.segments.pop_front().unwrap_or_default();
        oldest.clear();
        oldest
    }

    /// Adds to `into` the bytes from this place on, up to `most` of them; tells
    /// how many those were. None if they are not kept any more, or not there yet.
    pub(super) fn read(&self, from: u64, most: usize, into: &mut Vec<u8>) -> Option<usize> {
        if from < self.start || from > self.end {
            return None;
        }
        let mut skip = usize::try_from(from - self.start).ok()?;
        let mut left = most.min(usize::try_from(self.end - from).ok()?);
        let n_read = left;
        for segment in self.segments.iter().skip(skip / SEGMENT) {
            skip %= SEGMENT;
            let piece = segment.get(skip..).unwrap_or_default();
            let piece = &piece[..piece.len().min(left)];
            into.extend_from_slice(piece);
            left -= piece.len();
            skip = 0;
            if left == 0 {
                break;
            }
        }
        Some(n_read)
    }
}

/// A length as a distance between places.
pub(super) fn to_offset(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The byte at a place.
    fn byte(place: u64) -> u8 {
        u8::try_from(place % 251).unwrap()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(12))]
        #[test]
        fn any_place_that_is_kept_reads_what_was_pushed_there(
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
            prop_assert!(ring.oldest() == start || kept > to_offset(TERMINAL_RING_BYTES - SEGMENT));
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss,
                reason = "some place between the two")]
            let from = ring.oldest() + (kept as f64 * at) as u64;
            let mut read = b"before".to_vec();
            let n_read = ring.read(from, most, &mut read).unwrap();
            prop_assert_eq!(to_offset(n_read), to_offset(most).min(ring.end() - from));
            prop_assert_eq!(read.len(), 6 + n_read);
            prop_assert!(read[6..].iter().zip(from..).all(|(read, place)| *read == byte(place)));
            prop_assert_eq!(ring.read(ring.end() + 1, 1, &mut read), None);
            if ring.oldest() > 0 {
                prop_assert_eq!(ring.read(ring.oldest() - 1, 1, &mut read), None);
            }
        }
    }
}
