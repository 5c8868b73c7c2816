//! Reading one segment file.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use provost_core::hash_chain::{self, ContentDigester};
use provost_proto::{Hash, LogSegment, Seq, Stream, UnixMicros, limits};

use super::super::search_index::BLOCK_EVENTS;
use super::event_block::EventBlock;
use super::format::{
    BlockEntry, FilePart, MAGIC, MAX_PART_BYTES, SegmentIndex, TRAILER_BYTES, block_number,
    decode_trailer,
};
use crate::StoreError;

/// An open segment with its index.
#[derive(Debug)]
pub(in crate::sqlite) struct SegmentFile {
    file: File,
    index: SegmentIndex,
    path: PathBuf,
    /// The hash of its last event.
    hash: Hash,
}

/// An error of this segment.
pub(super) fn unreadable(path: &Path, first: Seq, last: Seq, why: impl Into<String>) -> StoreError {
    StoreError::UnreadableSegment { path: path.to_owned(), first, last, why: why.into() }
}

impl SegmentFile {
    /// Opens the file that a row of the table describes.
    pub(in crate::sqlite) fn open(folder: &Path, row: &LogSegment) -> Result<Self, StoreError> {
        let path = folder.join(&row.file);
        let error = |why: String| unreadable(&path, row.first, row.last, why);
        let file = File::open(&path).map_err(|problem| error(describe_open_error(&problem)))?;
        let index = read_index(&file).map_err(error)?;
        let n_events = u64::try_from(index.blocks.len()).unwrap_or(0) * BLOCK_EVENTS;
        let is_right = (index.first, index.last) == (row.first, row.last)
            && index.last + 1 == index.first + n_events
            && index.blocks.first().is_some_and(|block| block.prev == row.prev);
        if !is_right {
            return Err(error("its index is that of another segment".to_owned()));
        }
        Ok(Self { file, index, path, hash: row.hash })
    }

    /// The last event according to the index, and its hash, for a file that no row describes.
    pub(in crate::sqlite) fn claimed_end(path: &Path) -> Option<(Seq, Hash)> {
        let index = read_index(&File::open(path).ok()?).ok()?;
        Some((index.last, index.hash))
    }

    pub(super) fn error(&self, why: impl Into<String>) -> StoreError {
        unreadable(&self.path, self.index.first, self.index.last, why)
    }

    fn block_entry(&self, number: usize) -> Result<&BlockEntry, StoreError> {
        self.index.blocks.get(number).ok_or_else(|| self.error("a block is missing"))
    }

    /// The block that holds an event.
    pub(super) fn read_block_of(&self, seq: Seq) -> Result<EventBlock, StoreError> {
        let number = block_number(self.index.first, seq);
        let entry = self.block_entry(number)?;
        let bytes = self.read_part(entry.part, MAX_PART_BYTES)?;
        let hash = self.index.blocks.get(number + 1).map_or(self.hash, |next| next.prev);
        let first = seq - (seq - self.index.first) % BLOCK_EVENTS;
        let block = EventBlock::decode(bytes, first, entry.prev, hash, &self.index.streams);
        let block = block.ok_or_else(|| self.error("a block is not what was written"))?;
        if u64::try_from(block.len()).ok() != Some(BLOCK_EVENTS) {
            return Err(self.error("a block is not complete"));
        }
        Ok(block)
    }

    /// Whether the block of an event holds events of a stream.
    pub(super) fn block_has_stream(&self, seq: Seq, stream: Stream) -> Result<bool, StoreError> {
        let entry = self.block_entry(block_number(self.index.first, seq))?;
        let is_wanted = |number: &u32| {
            let number = usize::try_from(*number).unwrap_or(usize::MAX);
            self.index.streams.get(number) == Some(&stream)
        };
        Ok(entry.streams.iter().any(is_wanted))
    }

    /// The first event of the last block that begins before a time, or of the first block.
    pub(super) fn block_at_time(&self, at: UnixMicros) -> Seq {
        let blocks = &self.index.blocks;
        let before = blocks.partition_point(|block| block.at < at).saturating_sub(1);
        self.index.first + u64::try_from(before).unwrap_or(0) * BLOCK_EVENTS
    }

    /// The blob with a hash, if it is in this segment.
    pub(super) fn read_blob(&self, hash: &Hash) -> Result<Option<Vec<u8>>, StoreError> {
        let Some(entry) = self.index.blobs.iter().find(|entry| entry.hash == *hash) else {
            return Ok(None);
        };
        let limit = u64::try_from(limits::MAX_BLOB_BYTES).unwrap_or(u64::MAX);
        let bytes = self.read_part(entry.part, limit)?;
        if hash_chain::digest(&bytes) != *hash {
            return Err(self.error(format!("its blob {hash} was changed")));
        }
        Ok(Some(bytes))
    }

    fn read_part(&self, part: FilePart, limit: u64) -> Result<Vec<u8>, StoreError> {
        read_part(&self.file, part, limit).map_err(|why| self.error(why))
    }
}

/// Compares a file with its row. The error says what is wrong with it.
pub(super) fn check_digest(folder: &Path, row: &LogSegment) -> Result<(), String> {
    let mut file =
        File::open(folder.join(&row.file)).map_err(|problem| describe_open_error(&problem))?;
    let mut digester = DigestWriter(ContentDigester::default());
    let bytes = io::copy(&mut file, &mut digester).map_err(|error| error.to_string())?;
    if bytes != row.bytes || digester.0.finish() != row.digest {
        return Err("was changed".to_owned());
    }
    Ok(())
}

struct DigestWriter(ContentDigester);

impl io::Write for DigestWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn describe_open_error(error: &io::Error) -> String {
    if error.kind() == io::ErrorKind::NotFound {
        "is missing".to_owned()
    } else {
        format!("cannot be opened: {error}")
    }
}

fn read_index(file: &File) -> Result<SegmentIndex, String> {
    let text = |error: io::Error| error.to_string();
    let length = file.metadata().map_err(text)?.len();
    let mut magic = [0; MAGIC.len()];
    let mut trailer = [0; TRAILER_BYTES];
    let at = length.saturating_sub(u64::try_from(TRAILER_BYTES).unwrap_or(0));
    file.read_exact_at(&mut magic, 0).map_err(text)?;
    file.read_exact_at(&mut trailer, at).map_err(text)?;
    let index = decode_trailer(&trailer).filter(|_| magic == *MAGIC);
    let index = index.ok_or("it is not a segment")?;
    let bytes = read_part(file, index, MAX_PART_BYTES)?;
    serde_json::from_slice(&bytes).map_err(|error| format!("its index is not readable: {error}"))
}

fn read_part(file: &File, part: FilePart, limit: u64) -> Result<Vec<u8>, String> {
    let FilePart { offset, length, size } = part;
    if length > limit || size > limit {
        return Err("a part of it has an impossible size".to_owned());
    }
    let size_of = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
    let mut compressed = vec![0; size_of(length)];
    file.read_exact_at(&mut compressed, offset).map_err(|error| error.to_string())?;
    let bytes = zstd::bulk::decompress(&compressed, size_of(size));
    bytes.map_err(|error| format!("a part of it cannot be decompressed: {error}"))
}

/// Keeps files and blocks alive while they are used.
pub(super) type SharedFile = Arc<SegmentFile>;
