//! The layout of a segment file.

use provost_proto::{Hash, Seq, Stream, UnixMicros};
use serde::{Deserialize, Serialize};

use super::super::search_index::BLOCK_EVENTS;

/// The most events of a segment: a file of some megabytes.
pub(in crate::sqlite) const SEGMENT_EVENTS: u64 = 128 * BLOCK_EVENTS;

/// A file that has reached this size gets no further block.
pub(super) const FULL_SEGMENT_BYTES: u64 = 64 * 1024 * 1024;

/// The first bytes of a file.
pub(super) const MAGIC: &[u8; 16] = b"provost-segment\n";

/// The last bytes of a file: the place of the index, its sizes, and this.
pub(super) const TRAILER_MAGIC: &[u8; 8] = b"segment1";

pub(super) const TRAILER_BYTES: usize = 3 * 8 + TRAILER_MAGIC.len();

/// The largest block or index that is decompressed: a damaged size must not exhaust memory.
pub(super) const MAX_PART_BYTES: u64 = 256 * 1024 * 1024;

/// The speed of compression against its result. Higher levels save little here.
pub(super) const COMPRESSION_LEVEL: i32 = 3;

/// A compressed part of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FilePart {
    /// Where it begins.
    pub(super) offset: u64,
    /// Its compressed size in bytes.
    pub(super) length: u64,
    /// Its size in bytes.
    pub(super) size: u64,
}

/// What is where in a segment.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct SegmentIndex {
    /// The first event.
    pub(super) first: Seq,
    /// The last event.
    pub(super) last: Seq,
    /// The hash of the last event.
    pub(super) hash: Hash,
    /// The streams of the events.
    pub(super) streams: Vec<Stream>,
    pub(super) blocks: Vec<BlockEntry>,
    pub(super) blobs: Vec<BlobEntry>,
}

/// A block of a segment.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct BlockEntry {
    pub(super) part: FilePart,
    /// The hash of the event before its first.
    pub(super) prev: Hash,
    /// The time of its first event.
    pub(super) at: UnixMicros,
    /// The streams of its events: indices into the list of the segment, in order.
    pub(super) streams: Vec<u32>,
}

/// A blob of a segment.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct BlobEntry {
    pub(super) hash: Hash,
    pub(super) part: FilePart,
}

/// The last bytes of a file.
pub(super) fn encode_trailer(index: FilePart) -> Vec<u8> {
    let numbers = [index.offset, index.length, index.size];
    let mut trailer: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
    trailer.extend_from_slice(TRAILER_MAGIC);
    trailer
}

/// Where the index is.
pub(super) fn decode_trailer(trailer: &[u8; TRAILER_BYTES]) -> Option<FilePart> {
    let numbers = trailer.strip_suffix(TRAILER_MAGIC)?;
    let (numbers, _) = numbers.as_chunks::<8>();
    match numbers.iter().map(|bytes| u64::from_le_bytes(*bytes)).collect::<Vec<_>>()[..] {
        [offset, length, size] => Some(FilePart { offset, length, size }),
        _ => None,
    }
}

/// The number of a block within its segment.
pub(super) fn block_number(first: Seq, seq: Seq) -> usize {
    usize::try_from(seq.saturating_sub(first) / BLOCK_EVENTS).unwrap_or(usize::MAX)
}
