//! The output of builds and dev servers: one bounded file per project.
//!
//! A byte keeps its offset while the kernel lives. The file is a ring: the byte at
//! offset `o` is at `o % LOG_RETAINED_BYTES`, so the newest overwrite the oldest,
//! and no offset ever changes.

use parking_lot::Mutex;
use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::PathBuf;

use provost_proto::limits::{LOG_RETAINED_BYTES, MAX_LOG_PAGE_BYTES};
use provost_proto::runtime::RuntimeLogPage;

use crate::host::process::head_tail_buffer::incomplete_char_length;

/// The log of a project.
#[derive(Debug)]
pub(super) struct RuntimeLog {
    path: PathBuf,
    state: Mutex<RuntimeLogState>,
}

#[derive(Debug, Default)]
struct RuntimeLogState {
    /// Created on the first write.
    file: Option<File>,
    end: u64,
    /// Whether the last line has no newline yet.
    open_line: bool,
}

impl RuntimeLog {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path, state: Mutex::default() }
    }

    /// Appends output.
    pub(super) fn append(&self, bytes: &[u8]) -> io::Result<()> {
        let mut state = self.state.lock();
        self.write_to_ring(&mut state, bytes)
    }

    /// Appends a line of our own.
    pub(super) fn append_mark(&self, text: &str) -> io::Result<()> {
        let mut state = self.state.lock();
        let before = if state.open_line { "\n" } else { "" };
        self.write_to_ring(&mut state, format!("{before}── {text} ──\n").as_bytes())
    }

    fn write_to_ring(&self, state: &mut RuntimeLogState, bytes: &[u8]) -> io::Result<()> {
        let Some(last) = bytes.last() else { return Ok(()) };
        if state.file.is_none() {
            let mut options = File::options();
            options.read(true).write(true).create(true).truncate(true).mode(0o600);
            state.file = Some(options.open(&self.path)?);
        }
        let Some(file) = &state.file else { return Ok(()) };
        // Of more than fits, only the end is kept.
        let skipped = length(bytes).saturating_sub(LOG_RETAINED_BYTES);
        let mut at = state.end + skipped;
        let mut rest = bytes.get(to_usize(skipped)..).unwrap_or_default();
        while !rest.is_empty() {
            let position = at % LOG_RETAINED_BYTES;
            let (chunk, remainder) =
                rest.split_at(rest.len().min(to_usize(LOG_RETAINED_BYTES - position)));
            file.write_all_at(chunk, position)?;
            at += length(chunk);
            rest = remainder;
        }
        state.end = at;
        state.open_line = *last != b'\n';
        Ok(())
    }

    /// A page from an offset on. For an offset that is no longer or not yet there, the
    /// page begins at the oldest byte.
    pub(super) fn read_page(&self, after: u64, limit: u64) -> io::Result<RuntimeLogPage> {
        let state = self.state.lock();
        let end = state.end;
        let oldest = end.saturating_sub(LOG_RETAINED_BYTES);
        let mut offset = if after > end { oldest } else { after.max(oldest) };
        let page = u64::try_from(MAX_LOG_PAGE_BYTES).unwrap_or(u64::MAX);
        let wanted = limit.clamp(1, page).min(end - offset);
        let mut data = vec![0; to_usize(wanted)];
        if let Some(file) = &state.file {
            let position = offset % LOG_RETAINED_BYTES;
            let (front, back) =
                data.split_at_mut(to_usize(wanted.min(LOG_RETAINED_BYTES - position)));
            file.read_exact_at(front, position)?;
            file.read_exact_at(back, 0)?;
        }
        drop(state);
        // Pages are cut between characters, so that text stays text.
        if offset == oldest && oldest > 0 {
            let inside = data.iter().take(3).take_while(|byte| *byte & 0xc0 == 0x80).count();
            data.drain(..inside);
            offset += u64::try_from(inside).unwrap_or(0);
        }
        let cut = incomplete_char_length(&data);
        if cut < data.len() {
            data.truncate(data.len() - cut);
        }
        Ok(RuntimeLogPage { oldest, offset, next: offset + length(&data), end, data: data.into() })
    }
}

fn length(bytes: &[u8]) -> u64 {
    u64::try_from(bytes.len()).unwrap_or(u64::MAX)
}

fn to_usize(length: u64) -> usize {
    usize::try_from(length).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use provost_proto::kernel::OutputData;

    fn bytes(page: &RuntimeLogPage) -> Vec<u8> {
        match &page.data {
            OutputData::Bytes(bytes) => bytes.to_vec(),
            OutputData::Blob(_) => panic!("a kernel has no blobs"),
        }
    }

    fn read_all(log: &RuntimeLog, limit: u64) -> (u64, Vec<u8>) {
        let first = log.read_page(0, limit).unwrap();
        let (start, mut all, mut at) = (first.offset, bytes(&first), first.next);
        while at < first.end {
            let page = log.read_page(at, limit).unwrap();
            assert_eq!(page.offset, at, "no gap");
            assert!(page.next > at, "it makes progress");
            all.extend(bytes(&page));
            at = page.next;
        }
        (start, all)
    }

    #[test]
    fn the_oldest_goes_and_no_offset_changes() {
        let folder = tempfile::tempdir().unwrap();
        let log = RuntimeLog::new(folder.path().join("log"));
        assert_eq!(log.read_page(0, 10).unwrap().end, 0, "nothing was printed");
        let line = |n: u64| format!("{n:015}\n");
        let n_lines = LOG_RETAINED_BYTES / 16 + 1000;
        for n in 0..n_lines {
            log.append(line(n).as_bytes()).unwrap();
        }
        let page = log.read_page(0, 16).unwrap();
        assert_eq!((page.oldest, page.offset), (16_000, 16_000), "the first 1000 lines are gone");
        assert_eq!(bytes(&page), line(1000).as_bytes());
        assert_eq!(bytes(&log.read_page(16 * 5000, 16).unwrap()), line(5000).as_bytes());
        let (_, all) = read_all(&log, LOG_RETAINED_BYTES);
        assert!(all.ends_with(line(n_lines - 1).as_bytes()));
        assert_eq!(std::fs::metadata(folder.path().join("log")).unwrap().len(), LOG_RETAINED_BYTES);
        assert_eq!(log.read_page(u64::MAX, 16).unwrap().offset, 16_000, "another log's cursor");
    }

    #[test]
    fn a_mark_is_a_line_of_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let log = RuntimeLog::new(folder.path().join("log"));
        log.append_mark("run").unwrap();
        log.append(b"no end").unwrap();
        log.append_mark("stop").unwrap();
        let (_, all) = read_all(&log, 1000);
        assert_eq!(String::from_utf8(all).unwrap(), "── run ──\nno end\n── stop ──\n");
    }

    proptest! {
        #[test]
        fn pages_of_any_size_give_back_what_was_printed(
            texts in prop::collection::vec(".{0,40}", 0..20), limit in 4..60_u64,
        ) {
            let folder = tempfile::tempdir().unwrap();
            let log = RuntimeLog::new(folder.path().join("log"));
            for text in &texts {
                log.append(text.as_bytes()).unwrap();
            }
            let (start, all) = read_all(&log, limit);
            prop_assert_eq!((start, String::from_utf8(all).unwrap()), (0, texts.concat()));
        }
    }
}
