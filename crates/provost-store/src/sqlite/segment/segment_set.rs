//! The segments of a log, with what was read of them lately.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use provost_proto::{Hash, LogSegment, Seq, Stream, UnixMicros};

use super::event_block::EventBlock;
use super::recent_map::RecentMap;
use super::segment_file::{SegmentFile, SharedFile, check_digest};
use crate::StoreError;

/// The most files that stay open, with their indexes.
const MAX_OPEN_FILES: usize = 4;

/// The most bytes of blocks that stay in memory: those of the readers that are at work.
const MAX_BLOCK_BYTES: usize = 2 * 1024 * 1024;

/// Reads segment files. What it holds in memory is bounded, whatever the size of the log.
#[derive(Debug)]
pub(in crate::sqlite) struct SegmentSet {
    folder: PathBuf,
    files: Mutex<RecentMap<SegmentFile>>,
    blocks: Mutex<RecentMap<EventBlock>>,
}

impl SegmentSet {
    /// The segments of the log in this database file.
    pub(in crate::sqlite) fn new(database: &Path) -> Self {
        let mut folder = database.as_os_str().to_owned();
        folder.push("-segments");
        Self {
            folder: folder.into(),
            files: Mutex::new(RecentMap::new(MAX_OPEN_FILES)),
            blocks: Mutex::new(RecentMap::new(MAX_BLOCK_BYTES)),
        }
    }

    /// The folder of the files; it need not exist.
    pub(in crate::sqlite) fn folder(&self) -> &Path {
        &self.folder
    }

    fn open(&self, row: &LogSegment) -> Result<SharedFile, StoreError> {
        if let Some(file) = self.files.lock().get(row.first) {
            return Ok(file);
        }
        let file = Arc::new(SegmentFile::open(&self.folder, row)?);
        self.files.lock().insert(row.first, 1, Arc::clone(&file));
        Ok(file)
    }

    /// The block that holds an event of a segment.
    pub(in crate::sqlite) fn read_block_of(
        &self,
        row: &LogSegment,
        seq: Seq,
    ) -> Result<Arc<EventBlock>, StoreError> {
        let first = seq - (seq - row.first) % super::super::search_index::BLOCK_EVENTS;
        if let Some(block) = self.blocks.lock().get(first) {
            return Ok(block);
        }
        let block = Arc::new(self.open(row)?.read_block_of(seq)?);
        self.blocks.lock().insert(first, block.size(), Arc::clone(&block));
        Ok(block)
    }

    /// Whether the block of an event holds events of a stream.
    pub(in crate::sqlite) fn block_has_stream(
        &self,
        row: &LogSegment,
        seq: Seq,
        stream: Stream,
    ) -> Result<bool, StoreError> {
        self.open(row)?.block_has_stream(seq, stream)
    }

    /// The first event of the block in which the first event at or after a time is, or after
    /// which it is.
    pub(in crate::sqlite) fn block_at_time(
        &self,
        row: &LogSegment,
        at: UnixMicros,
    ) -> Result<Seq, StoreError> {
        Ok(self.open(row)?.block_at_time(at))
    }

    /// A blob of a segment.
    pub(in crate::sqlite) fn read_blob(
        &self,
        row: &LogSegment,
        hash: &Hash,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        self.open(row)?.read_blob(hash)
    }

    /// The error of an event that is not what was written.
    pub(in crate::sqlite) fn changed_error(&self, row: &LogSegment) -> StoreError {
        let path = self.folder.join(&row.file);
        let why = "was changed: its events do not match their hashes";
        super::segment_file::unreadable(&path, row.first, row.last, why)
    }

    /// Compares a file with its row; the error says what is wrong with it.
    pub(in crate::sqlite) fn check_digest(&self, row: &LogSegment) -> Result<(), String> {
        check_digest(&self.folder, row)
    }
}
