//! The events of one block.

use std::sync::OnceLock;

use provost_core::hash_chain;
use provost_proto::{Hash, Seq, Stream};

use crate::RecordedEvent;

/// The bytes of an entry: the number of its stream, and the length of its record.
const ENTRY_BYTES: usize = 8;

/// A block that was decompressed.
#[derive(Debug)]
pub(in crate::sqlite) struct EventBlock {
    first: Seq,
    /// The hash before the first event.
    prev: Hash,
    /// The hash of the last event.
    hash: Hash,
    bytes: Vec<u8>,
    /// The stream of each event, and where its record ends.
    entries: Vec<(Stream, usize)>,
    /// Where the first record begins.
    begin: usize,
    /// The hashes of the events, once somebody asked; `None` if they do not lead to the last one.
    hashes: OnceLock<Option<Vec<Hash>>>,
}

/// Collects the events of a block.
#[derive(Debug, Default)]
pub(super) struct BlockBuilder {
    entries: Vec<u8>,
    records: Vec<u8>,
}

impl BlockBuilder {
    pub(super) fn push(&mut self, stream: u32, record: &[u8]) {
        self.entries.extend_from_slice(&stream.to_le_bytes());
        let length = u32::try_from(record.len()).unwrap_or(u32::MAX);
        self.entries.extend_from_slice(&length.to_le_bytes());
        self.records.extend_from_slice(record);
    }

    /// The bytes of the block; begins a new one.
    pub(super) fn take(&mut self) -> Vec<u8> {
        let n_events = u32::try_from(self.entries.len() / ENTRY_BYTES).unwrap_or(u32::MAX);
        let mut bytes = Vec::with_capacity(4 + self.entries.len() + self.records.len());
        bytes.extend_from_slice(&n_events.to_le_bytes());
        bytes.append(&mut self.entries);
        bytes.append(&mut self.records);
        bytes
    }
}

impl EventBlock {
    /// Reads what a [`BlockBuilder`] made; `None` if it is something else.
    pub(super) fn decode(
        bytes: Vec<u8>,
        first: Seq,
        prev: Hash,
        hash: Hash,
        streams: &[Stream],
    ) -> Option<Self> {
        let (count, rest) = bytes.split_first_chunk::<4>()?;
        let count = usize::try_from(u32::from_le_bytes(*count)).ok()?;
        let (listed, _) = rest.split_at_checked(count.checked_mul(ENTRY_BYTES)?)?;
        let begin = 4 + listed.len();
        let mut end = begin;
        let mut entries = Vec::with_capacity(count);
        let (numbers, _) = listed.as_chunks::<4>();
        for pair in numbers.chunks_exact(2) {
            let [stream, length] = pair else { return None };
            let stream = usize::try_from(u32::from_le_bytes(*stream)).ok()?;
            end = end.checked_add(usize::try_from(u32::from_le_bytes(*length)).ok()?)?;
            entries.push((*streams.get(stream)?, end));
        }
        (end == bytes.len()).then_some(())?;
        Some(Self { first, prev, hash, bytes, entries, begin, hashes: OnceLock::new() })
    }

    pub(in crate::sqlite) fn len(&self) -> usize {
        self.entries.len()
    }

    /// The bytes in memory.
    pub(super) fn size(&self) -> usize {
        self.bytes.len() + self.entries.len() * size_of::<(Stream, usize)>()
    }

    /// Its last event.
    pub(in crate::sqlite) fn last(&self) -> Seq {
        self.first + u64::try_from(self.len()).unwrap_or(0) - 1
    }

    fn position(&self, seq: Seq) -> Option<usize> {
        usize::try_from(seq.checked_sub(self.first)?).ok()
    }

    /// The stream and the record of an event.
    pub(in crate::sqlite) fn get(&self, seq: Seq) -> Option<(Stream, &[u8])> {
        let at = self.position(seq)?;
        let &(stream, end) = self.entries.get(at)?;
        let begin = match at.checked_sub(1) {
            Some(before) => self.entries.get(before)?.1,
            None => self.begin,
        };
        Some((stream, self.bytes.get(begin..end)?))
    }

    /// The hash of an event; `None` if the block is not what was written.
    pub(in crate::sqlite) fn hash(&self, seq: Seq) -> Option<Hash> {
        let hashes = self.hashes.get_or_init(|| {
            let mut hashes = Vec::with_capacity(self.len());
            let mut prev = self.prev;
            for seq in self.first..=self.last() {
                prev = hash_chain::hash_record(&prev, self.get(seq)?.1);
                hashes.push(prev);
            }
            (prev == self.hash).then_some(hashes)
        });
        hashes.as_ref()?.get(self.position(seq)?).copied()
    }

    /// An event; `None` if the block is not what was written.
    pub(in crate::sqlite) fn event(&self, seq: Seq) -> Option<RecordedEvent> {
        let (stream, record) = self.get(seq)?;
        let hash = self.hash(seq)?;
        let prev = if seq == self.first { self.prev } else { self.hash(seq - 1)? };
        Some(RecordedEvent::new(seq, stream, prev, hash, record.to_vec()))
    }
}
