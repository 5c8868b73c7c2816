//! Reports that the daemon has not acknowledged, spooled to files.
//!
//! The spool is bounded: when it is full, writers wait until the daemon has
//! acknowledged some, and so do commands that print. Nothing is dropped.

use parking_lot::Mutex;
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, IoSlice};
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;

use provost_proto::ActionId;
use provost_proto::kernel::{KernelReport, ReportNumber, ReportPayload};
use tokio::sync::{Notify, watch};

use crate::wire::{self, KernelFrame};

/// The limit of all segments together, in bytes.
const MAX_SPOOL_BYTES: u64 = 64 * 1024 * 1024;

/// The size after which a new segment is started, in bytes.
const SEGMENT_BYTES: u64 = 4 * 1024 * 1024;

#[derive(Debug)]
pub(crate) struct ReportSpool {
    folder: PathBuf,
    state: Mutex<SpoolState>,
    /// The number of the newest report.
    newest: watch::Sender<ReportNumber>,
    space: Notify,
}

#[derive(Debug, Default)]
struct SpoolState {
    segments: VecDeque<SpoolSegment>,
    last: ReportNumber,
    bytes: u64,
    /// The file of an acknowledged segment. Overwriting it is cheaper than freeing its
    /// pages and allocating new ones.
    spare: Option<File>,
}

/// One file, and the position of each report in it.
#[derive(Debug)]
struct SpoolSegment {
    file: File,
    first: ReportNumber,
    frames: Vec<(u64, usize)>,
    size: u64,
}

impl SpoolSegment {
    fn last_number(&self) -> ReportNumber {
        self.first + u64::try_from(self.frames.len()).unwrap_or(0)
    }
}

impl ReportSpool {
    pub(crate) fn new(folder: PathBuf) -> Self {
        let (newest, _) = watch::channel(0);
        Self { folder, state: Mutex::default(), newest, space: Notify::new() }
    }

    /// Watches the number of the newest report.
    pub(crate) fn subscribe_newest(&self) -> watch::Receiver<ReportNumber> {
        self.newest.subscribe()
    }

    /// Appends a report and returns its number; waits while the spool is full.
    pub(crate) async fn push(
        &self,
        action: ActionId,
        what: ReportPayload,
    ) -> io::Result<ReportNumber> {
        let mut report = KernelReport { number: 0, action, what };
        loop {
            let space = self.space.notified();
            match self.try_push(report)? {
                Ok(number) => return Ok(number),
                Err(returned) => report = returned,
            }
            space.await;
        }
    }

    /// Appends a report, or returns it if the spool is full.
    fn try_push(&self, mut report: KernelReport) -> io::Result<Result<ReportNumber, KernelReport>> {
        let mut state = self.state.lock();
        if state.bytes > MAX_SPOOL_BYTES {
            return Ok(Err(report));
        }
        report.number = state.last + 1;
        let number = report.number;
        let (head, payload) = wire::encode(&KernelFrame::Report(report))?;
        let length = head.len() + payload.len();
        let size = u64::try_from(length).unwrap_or(0);
        if state.segments.back().is_none_or(|segment| segment.size >= SEGMENT_BYTES) {
            let file = state.spare.take().map_or_else(|| self.create_segment_file(), Ok)?;
            state.segments.push_back(SpoolSegment {
                file,
                first: number - 1,
                frames: Vec::new(),
                size: 0,
            });
        }
        if let Some(segment) = state.segments.back_mut() {
            write_header_and_payload(&segment.file, &head, &payload, segment.size)?;
            segment.frames.push((segment.size, length));
            segment.size += size;
        }
        state.last = number;
        state.bytes += size;
        drop(state);
        self.newest.send_replace(number);
        Ok(Ok(number))
    }

    /// An unlinked file, so that none is left behind.
    fn create_segment_file(&self) -> io::Result<File> {
        let path = self.folder.join("spool");
        let file =
            File::options().read(true).write(true).create(true).truncate(true).open(&path)?;
        std::fs::remove_file(path)?;
        Ok(file)
    }

    /// Reads the frames after a report into the buffer, about `enough` bytes, and returns
    /// them with the number of the last; empty if there are none.
    pub(crate) fn read_after<'a>(
        &self,
        number: ReportNumber,
        enough: usize,
        buffer: &'a mut Vec<u8>,
    ) -> io::Result<(&'a [u8], ReportNumber)> {
        let state = self.state.lock();
        let Some(segment) = state.segments.iter().find(|segment| segment.last_number() > number)
        else {
            return Ok((&[], number));
        };
        // Frames are contiguous, so one read gets them all.
        let skip = usize::try_from(number.saturating_sub(segment.first)).unwrap_or(usize::MAX);
        let wanted = segment.frames.iter().skip(skip);
        let (mut size, mut last) = (0, number.max(segment.first));
        for &(_, length) in wanted.clone() {
            if size >= enough {
                break;
            }
            size += length;
            last += 1;
        }
        let from = wanted.clone().next().map_or(0, |&(offset, _)| offset);
        if buffer.len() < size {
            buffer.resize(size, 0);
        }
        let bytes = &mut buffer[..size];
        segment.file.read_exact_at(bytes, from)?;
        Ok((bytes, last))
    }

    /// Removes the segments whose reports are all acknowledged.
    pub(crate) fn acknowledge(&self, up_to: ReportNumber) {
        let mut state = self.state.lock();
        while state.segments.front().is_some_and(|segment| segment.last_number() <= up_to) {
            if let Some(segment) = state.segments.pop_front() {
                state.bytes -= segment.size;
                state.spare = Some(segment.file);
            }
        }
        drop(state);
        self.space.notify_waiters();
    }
}

/// Writes header and payload with one system call, unless it is cut short.
fn write_header_and_payload(file: &File, head: &[u8], payload: &[u8], at: u64) -> io::Result<()> {
    let parts = [IoSlice::new(head), IoSlice::new(payload)];
    let n = rustix::io::retry_on_intr(|| rustix::io::pwritev(file, &parts, at))?;
    let offset = |n: usize| at + u64::try_from(n).unwrap_or(0);
    file.write_all_at(head.get(n..).unwrap_or_default(), offset(n))?;
    let rest = payload.get(n.saturating_sub(head.len())..).unwrap_or_default();
    file.write_all_at(rest, offset(n.max(head.len())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::FrameReader;
    use provost_proto::kernel::{OutputChunk, OutputStream};
    use std::time::Duration;
    use tokio::time::timeout;

    fn output(n: u64, size: usize) -> ReportPayload {
        let data = vec![b'x'; size].into();
        ReportPayload::Output(OutputChunk {
            stream: OutputStream::Stdout,
            offset: n,
            dropped: 0,
            data,
        })
    }

    async fn numbers(spool: &ReportSpool, after: ReportNumber) -> Vec<ReportNumber> {
        let (mut numbers, mut last, mut buffer) = (Vec::new(), after, Vec::new());
        loop {
            let (bytes, up_to) = spool.read_after(last, 50_000, &mut buffer).unwrap();
            let mut frames = FrameReader::new(bytes);
            while let Some(KernelFrame::Report(report)) = frames.next().await.unwrap() {
                numbers.push(report.number);
            }
            if up_to == last {
                return numbers;
            }
            last = up_to;
        }
    }

    fn action() -> ActionId {
        uuid::Uuid::from_u128(1).into()
    }

    #[tokio::test]
    async fn any_cursor_reads_on_without_a_gap_or_a_duplicate() {
        let folder = tempfile::tempdir().unwrap();
        let spool = ReportSpool::new(folder.path().to_owned());
        for n in 0..1000 {
            spool.push(action(), output(n, 20_000)).await.unwrap();
        }
        for after in [0, 1, 200, 201, 999, 1000] {
            let expected: Vec<_> = (after + 1..=1000).collect();
            assert_eq!(numbers(&spool, after).await, expected, "after {after}");
        }
        spool.acknowledge(500);
        assert_eq!(numbers(&spool, 500).await, (501..=1000).collect::<Vec<_>>());
        assert!(std::fs::read_dir(folder.path()).unwrap().next().is_none(), "a file is left");
    }

    #[tokio::test]
    async fn a_full_spool_makes_its_writer_wait_and_drops_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let spool = ReportSpool::new(folder.path().to_owned());
        let big = 1024 * 1024;
        let mut n = 0;
        while timeout(Duration::from_millis(20), spool.push(action(), output(n, big))).await.is_ok()
        {
            n += 1;
        }
        assert!((60..=70).contains(&n), "{n} MiB fitted");
        spool.acknowledge(n / 2);
        timeout(Duration::from_mins(1), spool.push(action(), output(n, big)))
            .await
            .unwrap()
            .unwrap();
        assert_eq!(numbers(&spool, n / 2).await.last(), Some(&(n + 1)));
    }
}
