//! Which blocks of the log cannot hold a text, so that a search skips them.
//!
//! A block is 512 events. Its signature is a set of bits, one for each sequence of four bytes that
//! occurs in its events, in lower case. A text whose sequences are not all in the set does not
//! occur in the block. The signatures are in a file beside the log, in the order of the blocks,
//! each after the hash of the last event of its block: since hashes are chained, the last one shows
//! whether the file belongs to this log. The file is derived: without it, or without its end,
//! searches read more events. A thread of its own writes it, so that appends do not wait for it.

use std::fs::{File, OpenOptions};
use std::io;
use std::ops::RangeInclusive;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use provost_proto::Seq;

use super::log_reader::LogReader;
use super::schema;
use super::segment::SegmentSet;
use crate::event_query::{EventMatcher, to_lower};
use crate::{EventScope, StoreError};

/// How many events share a signature.
pub(super) const BLOCK_EVENTS: u64 = 512;

/// The size of a signature: with the about 40,000 different sequences of a block, one bit in seven
/// is set.
const SIGNATURE_BYTES: usize = 32 * 1024;

const HASH_BYTES: usize = 32;
const ENTRY_BYTES: usize = HASH_BYTES + SIGNATURE_BYTES;

/// How many bytes form a sequence.
const SEQUENCE_BYTES: usize = 4;

/// The signatures of the log's blocks.
#[derive(Debug)]
pub(super) struct SearchIndex {
    signatures: Arc<BlockSignatures>,
    /// `None` only while it is being dropped.
    wake: Option<SyncSender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// The file, and how many blocks it covers.
#[derive(Debug)]
pub(super) struct BlockSignatures {
    file: Option<File>,
    n_blocks: AtomicU64,
}

impl SearchIndex {
    /// Opens the file beside the log, and starts the thread that continues it.
    pub(super) fn start(log: &Path, segments: Arc<SegmentSet>) -> Result<Self, StoreError> {
        let mut path = log.as_os_str().to_owned();
        path.push("-search");
        let path = PathBuf::from(path);
        let options = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(&path);
        // A search works without the file.
        let file = options
            .inspect_err(|error| tracing::warn!(%error, "searches of the log are slow"))
            .ok();
        let signatures = Arc::new(BlockSignatures { file, n_blocks: AtomicU64::new(0) });
        let (wake, woken): (SyncSender<()>, Receiver<()>) = sync_channel(1);
        let (log, shared) = (log.to_owned(), Arc::clone(&signatures));
        let work = move || {
            let mut checked = false;
            while woken.recv().is_ok() {
                if let Err(error) =
                    extend_signatures(&log, &segments, &shared, &mut checked, &woken)
                {
                    tracing::warn!(%error, "the log's search file could not be continued");
                }
            }
        };
        let thread = thread::Builder::new()
            .name("log-search".to_owned())
            .spawn(work)
            .map_err(|error| StoreError::io("the log's thread", &error))?;
        let index = Self { signatures, wake: Some(wake), thread: Some(thread) };
        index.wake_up();
        Ok(index)
    }

    /// Continues the file, if that is not being done.
    pub(super) fn wake_up(&self) {
        if let Some(wake) = &self.wake {
            // If the thread is busy, it continues to the end of the log anyway.
            let _is_busy = wake.try_send(()).is_err();
        }
    }

    /// How many blocks have a signature.
    pub(super) fn n_blocks(&self) -> u64 {
        self.signatures.n_blocks()
    }

    pub(super) fn signatures(&self) -> Arc<BlockSignatures> {
        Arc::clone(&self.signatures)
    }
}

impl Drop for SearchIndex {
    fn drop(&mut self) {
        self.wake = None;
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the thread that indexes the log ended with a panic");
        }
    }
}

impl BlockSignatures {
    /// How many blocks have a signature, from the first one on.
    pub(super) fn n_blocks(&self) -> u64 {
        self.n_blocks.load(Ordering::Acquire)
    }

    /// Whether a block may hold an event that matches.
    pub(super) fn may_match(&self, block: u64, query: &SignatureQuery) -> bool {
        if block >= self.n_blocks() || query.is_empty() {
            return true;
        }
        let has = |bits: &Vec<u32>| bits.iter().all(|bit| self.has_bit(block, *bit));
        query.all.iter().all(has) && query.lists.iter().all(|list| list.iter().any(has))
    }

    /// Whether a bit is set; true if that cannot be read, so that nothing is missed.
    fn has_bit(&self, block: u64, bit: u32) -> bool {
        let Some(file) = &self.file else { return true };
        let mut byte = [0];
        let at = block * ENTRY_BYTES as u64 + HASH_BYTES as u64 + u64::from(bit / 8);
        file.read_exact_at(&mut byte, at).is_err() || byte[0] & (1 << (bit % 8)) != 0
    }
}

/// The bits that a block with a matching event has.
#[derive(Debug, Default)]
pub(super) struct SignatureQuery {
    all: Vec<Vec<u32>>,
    lists: Vec<Vec<Vec<u32>>>,
}

impl SignatureQuery {
    pub(super) fn new(matcher: &EventMatcher) -> Self {
        let (all, lists) = matcher.required_texts();
        let bits = |text: &[u8]| {
            // A few sequences tell as much as all of them.
            let text = to_lower(text);
            let all: Vec<_> = text.windows(SEQUENCE_BYTES).map(sequence_bit).collect();
            let step = all.len().div_ceil(12).max(1);
            all.into_iter().step_by(step).collect::<Vec<_>>()
        };
        Self {
            all: all.into_iter().map(bits).collect(),
            lists: lists.into_iter().map(|list| list.into_iter().map(bits).collect()).collect(),
        }
    }

    fn is_empty(&self) -> bool {
        self.all.is_empty() && self.lists.is_empty()
    }
}

fn sequence_bit(sequence: &[u8]) -> u32 {
    let word = sequence.iter().fold(0_u32, |word, byte| word << 8 | u32::from(*byte));
    word.wrapping_mul(2_654_435_761) >> (32 - (SIGNATURE_BYTES * 8).ilog2())
}

fn add_text(signature: &mut [u8], text: &[u8]) {
    for sequence in to_lower(text).windows(SEQUENCE_BYTES) {
        let bit = sequence_bit(sequence);
        if let Some(byte) = signature.get_mut(usize::try_from(bit / 8).unwrap_or(usize::MAX)) {
            *byte |= 1 << (bit % 8);
        }
    }
}

/// Adds the signatures of all blocks that are complete.
fn extend_signatures(
    log: &Path,
    segments: &SegmentSet,
    signatures: &BlockSignatures,
    checked: &mut bool,
    woken: &Receiver<()>,
) -> Result<(), StoreError> {
    let Some(file) = &signatures.file else { return Ok(()) };
    let io_error = |error: io::Error| StoreError::io("the log's search file", &error);
    let mut db = schema::open_read_only(log)?;
    if !*checked {
        let step = db.transaction()?;
        let n_blocks = count_valid_blocks(LogReader::new(&step, segments), file)?;
        signatures.n_blocks.store(n_blocks, Ordering::Release);
        *checked = true;
    }
    loop {
        let block = signatures.n_blocks();
        let step = db.transaction()?;
        let entry = build_entry(LogReader::new(&step, segments), block)?;
        step.finish()?;
        let Some(entry) = entry else { return Ok(()) };
        file.write_all_at(&entry, block * ENTRY_BYTES as u64).map_err(io_error)?;
        signatures.n_blocks.store(block + 1, Ordering::Release);
        // The log is being closed.
        if let Err(std::sync::mpsc::TryRecvError::Disconnected) = woken.try_recv() {
            return Ok(());
        }
    }
}

/// How many blocks of the file are of this log: all, or none if the last one is of another.
fn count_valid_blocks(log: LogReader<'_>, file: &File) -> Result<u64, StoreError> {
    let io_error = |error: io::Error| StoreError::io("the log's search file", &error);
    let n_blocks = file.metadata().map_err(io_error)?.len() / ENTRY_BYTES as u64;
    let Some(last) = n_blocks.checked_sub(1) else { return Ok(0) };
    let mut hash = [0; HASH_BYTES];
    file.read_exact_at(&mut hash, last * ENTRY_BYTES as u64).map_err(io_error)?;
    if log.read_hash(n_blocks * BLOCK_EVENTS)?.as_deref() == Some(hash.as_slice()) {
        return Ok(n_blocks);
    }
    file.set_len(0).map_err(io_error)?;
    Ok(0)
}

/// The hash and signature of a block; `None` if it is not complete.
fn build_entry(log: LogReader<'_>, block: u64) -> Result<Option<Vec<u8>>, StoreError> {
    let range = block_range(block);
    let mut entry = vec![0; ENTRY_BYTES];
    let (head, signature) = entry.split_at_mut(HASH_BYTES);
    let mut n_events = 0;
    let mut add_record = |record: &[u8]| {
        n_events += 1;
        add_text(signature, record);
        if let Some(bytes) = log.read_body_blob(record)? {
            add_text(signature, &bytes);
        }
        Ok::<_, StoreError>(true)
    };
    if *range.end() <= log.last_archived()? {
        log.visit_block(EventScope::All, &range, false, |event| add_record(event.record))?;
    } else {
        let mut find = log.db.prepare_cached(
            "SELECT record FROM events WHERE seq >= ?1 AND seq <= ?2 ORDER BY seq",
        )?;
        let mut rows = find.query([range.start(), range.end()])?;
        while let Some(row) = rows.next()? {
            add_record(row.get_ref(0)?.as_blob().unwrap_or_default())?;
        }
    }
    let hash = log.read_hash(*range.end())?;
    if let Some(hash) = hash.filter(|hash| n_events == BLOCK_EVENTS && hash.len() == HASH_BYTES) {
        head.copy_from_slice(&hash);
        return Ok(Some(entry));
    }
    Ok(None)
}

/// The events of a block.
pub(super) fn block_range(block: u64) -> RangeInclusive<Seq> {
    block * BLOCK_EVENTS + 1..=(block + 1) * BLOCK_EVENTS
}

/// The last event of the block that holds this one.
pub(super) fn block_end(seq: Seq) -> Seq {
    *block_range(seq.saturating_sub(1) / BLOCK_EVENTS).end()
}
