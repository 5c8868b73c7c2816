//! Writing one segment file: under a temporary name, then synced, then renamed.

use std::collections::{HashMap, HashSet};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, BufWriter, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use provost_core::hash_chain::{self, ContentDigester};
use provost_proto::{Hash, LogSegment, Seq, Stream, StreamVersion, UnixMicros};

use super::event_block::BlockBuilder;
use super::format::{
    BlobEntry, BlockEntry, COMPRESSION_LEVEL, FULL_SEGMENT_BYTES, FilePart, MAGIC, SegmentIndex,
    encode_trailer,
};
use crate::StoreError;

/// The end of a temporary name.
const TEMPORARY: &str = ".tmp";

/// The end of a final name.
const SEGMENT: &str = ".segment";

/// A file that is being written.
pub(in crate::sqlite) struct SegmentWriter {
    folder: PathBuf,
    path: PathBuf,
    file: BufWriter<File>,
    compressor: zstd::bulk::Compressor<'static>,
    digester: ContentDigester,
    offset: u64,
    first: Seq,
    prev: Hash,
    first_at: UnixMicros,
    index: SegmentIndex,
    streams: HashMap<Stream, (u32, StreamVersion)>,
    blobs: HashSet<Hash>,
    block: BlockBuilder,
    block_streams: Vec<u32>,
    block_prev: Hash,
}

/// A file that is on disk under its temporary name.
#[derive(Debug)]
pub(in crate::sqlite) struct FinishedSegment {
    pub(in crate::sqlite) segment: LogSegment,
    /// The version that each stream reaches in it.
    pub(in crate::sqlite) streams: Vec<(Stream, StreamVersion)>,
    /// The blobs in it.
    pub(in crate::sqlite) blobs: Vec<Hash>,
    folder: PathBuf,
    temporary: PathBuf,
}

impl SegmentWriter {
    /// Begins a file with the event after `last`, whose hash is `prev`.
    pub(in crate::sqlite) fn create(
        folder: &Path,
        last: Seq,
        prev: Hash,
    ) -> Result<Self, StoreError> {
        let first = last + 1;
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)
            .map_err(|error| write_error(folder, &error))?;
        let path = folder.join(format!("{first:012}{TEMPORARY}"));
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&path)
            .map_err(|error| write_error(&path, &error))?;
        let compressor = zstd::bulk::Compressor::new(COMPRESSION_LEVEL)
            .map_err(|error| write_error(&path, &error))?;
        let index = SegmentIndex {
            first,
            last,
            hash: prev,
            streams: Vec::new(),
            blocks: Vec::new(),
            blobs: Vec::new(),
        };
        let mut writer = Self {
            folder: folder.to_owned(),
            path,
            file: BufWriter::with_capacity(256 * 1024, file),
            compressor,
            digester: ContentDigester::default(),
            offset: 0,
            first,
            prev,
            first_at: 0,
            index,
            streams: HashMap::new(),
            blobs: HashSet::new(),
            block: BlockBuilder::default(),
            block_streams: Vec::new(),
            block_prev: prev,
        };
        writer.write_raw(MAGIC)?;
        Ok(writer)
    }

    /// Whether this is the name of a file that is not complete.
    pub(in crate::sqlite) fn is_temporary(name: &str) -> bool {
        name.ends_with(TEMPORARY)
    }

    /// The last event so far.
    pub(in crate::sqlite) fn last(&self) -> Seq {
        self.index.last
    }

    /// Whether the file is large enough.
    pub(in crate::sqlite) fn is_full(&self) -> bool {
        self.offset >= FULL_SEGMENT_BYTES
    }

    /// Adds the next event. Its hash must be the stored one: nothing is archived that was
    /// changed.
    pub(in crate::sqlite) fn add_event(
        &mut self,
        stream: Stream,
        stored_hash: &[u8],
        record: &[u8],
    ) -> Result<(), StoreError> {
        let seq = self.index.last + 1;
        let damaged = |what: &str| StoreError::Damaged(format!("event {seq}: {what}"));
        let hash = hash_chain::hash_record(&self.index.hash, record);
        if stored_hash != hash.as_bytes() {
            return Err(damaged("its bytes do not match its hash"));
        }
        let version = read_version(record).ok_or_else(|| damaged("it has no version"))?;
        let next = u32::try_from(self.index.streams.len()).unwrap_or(u32::MAX);
        let (number, reached) = self.streams.entry(stream).or_insert((next, version));
        if *number == next {
            self.index.streams.push(stream);
        }
        *reached = version;
        let number = *number;
        if let Err(at) = self.block_streams.binary_search(&number) {
            self.block_streams.insert(at, number);
        }
        self.block.push(number, record);
        self.index.last = seq;
        self.index.hash = hash;
        Ok(())
    }

    /// Ends the block; its first event has this time.
    pub(in crate::sqlite) fn finish_block(&mut self, at: UnixMicros) -> Result<(), StoreError> {
        let bytes = self.block.take();
        let part = self.write_part(&bytes)?;
        if self.index.blocks.is_empty() {
            self.first_at = at;
        }
        let streams = std::mem::take(&mut self.block_streams);
        self.index.blocks.push(BlockEntry { part, prev: self.block_prev, at, streams });
        self.block_prev = self.index.hash;
        Ok(())
    }

    /// Whether a blob is in the file already.
    pub(in crate::sqlite) fn has_blob(&self, hash: &Hash) -> bool {
        self.blobs.contains(hash)
    }

    /// Adds a blob.
    pub(in crate::sqlite) fn add_blob(
        &mut self,
        hash: Hash,
        bytes: &[u8],
    ) -> Result<(), StoreError> {
        let part = self.write_part(bytes)?;
        self.index.blobs.push(BlobEntry { hash, part });
        self.blobs.insert(hash);
        Ok(())
    }

    /// Ends the file and syncs it; its last event has this time.
    pub(in crate::sqlite) fn finish(
        mut self,
        last_at: UnixMicros,
    ) -> Result<FinishedSegment, StoreError> {
        let index = serde_json::to_vec(&self.index)
            .map_err(|error| StoreError::NotCanonical(error.to_string()))?;
        let index = self.write_part(&index)?;
        self.write_raw(&encode_trailer(index))?;
        self.file.flush().map_err(|error| write_error(&self.path, &error))?;
        self.file.get_ref().sync_all().map_err(|error| write_error(&self.path, &error))?;
        let (first, last) = (self.first, self.index.last);
        let segment = LogSegment {
            first,
            last,
            prev: self.prev,
            hash: self.index.hash,
            first_at: self.first_at,
            last_at,
            // Another copy of the log may have other events with the same numbers.
            file: format!("{first:012}-{last:012}-{:.16}{SEGMENT}", self.index.hash.to_string()),
            digest: self.digester.finish(),
            bytes: self.offset,
        };
        let streams = self.streams.into_iter().map(|(stream, (_, version))| (stream, version));
        Ok(FinishedSegment {
            segment,
            streams: streams.collect(),
            blobs: self.index.blobs.iter().map(|entry| entry.hash).collect(),
            folder: self.folder,
            temporary: self.path,
        })
    }

    fn write_part(&mut self, bytes: &[u8]) -> Result<FilePart, StoreError> {
        let compressed =
            self.compressor.compress(bytes).map_err(|error| write_error(&self.path, &error))?;
        let length = |bytes: &[u8]| u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        let part =
            FilePart { offset: self.offset, length: length(&compressed), size: length(bytes) };
        self.write_raw(&compressed)?;
        Ok(part)
    }

    fn write_raw(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        self.file.write_all(bytes).map_err(|error| write_error(&self.path, &error))?;
        self.digester.update(bytes);
        self.offset += u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        Ok(())
    }
}

impl FinishedSegment {
    /// Gives the file its name, so that it stays after a crash.
    pub(in crate::sqlite) fn publish(&self) -> Result<(), StoreError> {
        let path = self.folder.join(&self.segment.file);
        fs::rename(&self.temporary, &path).map_err(|error| write_error(&path, &error))?;
        let sync = |folder: &Path| File::open(folder).and_then(|folder| folder.sync_all());
        sync(&self.folder).map_err(|error| write_error(&self.folder, &error))?;
        // The folder itself may be new.
        let parent = self.folder.parent().unwrap_or(&self.folder);
        sync(parent).map_err(|error| write_error(parent, &error))
    }
}

/// The version of an event: the last member of its canonical record.
fn read_version(record: &[u8]) -> Option<StreamVersion> {
    let end = record.strip_suffix(b"}")?;
    let digits = end.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    let (before, number) = end.split_at_checked(end.len().checked_sub(digits)?)?;
    before.ends_with(b",\"version\":").then_some(())?;
    std::str::from_utf8(number).ok()?.parse().ok()
}

fn write_error(path: &Path, error: &io::Error) -> StoreError {
    if error.kind() == io::ErrorKind::StorageFull {
        StoreError::NoSpace
    } else {
        StoreError::io(path, error)
    }
}
