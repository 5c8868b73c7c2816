//! Segment files: older events, compressed, outside of the database.
//!
//! A segment holds whole blocks of [`BLOCK_EVENTS`] events and the blobs that these refer to.
//! It is written once and never changed. The table `segments` says which files there are; an
//! event up to the last one of the last segment is read from its file, whether or not its row is
//! still in the database, so that nobody sees an event twice or misses one while rows are being
//! removed.
//!
//! ```text
//! magic │ block │ its blobs │ block │ its blobs │ … │ index │ trailer
//! ```
//!
//! Blocks, blobs and the index are compressed one by one, so that a reader decompresses only what
//! it needs. A block has no hashes: they follow from the records and from the hash before the
//! block, which is in the index. So whoever reads a block verifies it.

mod event_block;
mod format;
mod recent_map;
mod segment_file;
mod segment_set;
mod segment_table;
mod segment_writer;

pub(super) use event_block::EventBlock;
pub(super) use format::SEGMENT_EVENTS;
pub(super) use segment_file::SegmentFile;
pub(super) use segment_set::SegmentSet;
pub(super) use segment_table::{
    find_segment_at_time, find_segment_of, has_segments, insert_segment, last_archived,
    last_segment, list_segments,
};
pub(super) use segment_writer::{FinishedSegment, SegmentWriter};
