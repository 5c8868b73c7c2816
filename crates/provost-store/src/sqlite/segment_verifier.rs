//! Verifies segments: the files, their events, and what the database says about them.

use provost_core::hash_chain;
use provost_proto::{LogSegment, Stream, StreamVersion};

use super::log_verifier::LogVerifier;
use crate::StoreError;

impl LogVerifier<'_> {
    /// The error in the event after the last good one, if that is in a segment. All files that
    /// are missing or were changed are named at the first of them.
    pub(super) fn verify_segments(&mut self) -> Result<Option<String>, StoreError> {
        let segments = self.log.list_segments()?;
        let bad_file = |row: &LogSegment| {
            let why = self.log.segments.check_digest(row).err()?;
            let LogSegment { first, last, file, .. } = row;
            Some((*first, format!("the segment {file} with the events {first} to {last} {why}")))
        };
        let bad_files: Vec<_> = segments.iter().filter_map(bad_file).collect();
        for row in &segments {
            if bad_files.first().is_some_and(|(first, _)| *first == row.first) {
                self.begin_event();
                let named: Vec<_> = bad_files.iter().map(|(_, text)| text.as_str()).collect();
                return Ok(Some(named.join("; and ")));
            }
            if let Err(why) = self.verify_segment(row) {
                return Ok(Some(format!("{why}; it is in the segment {}", row.file)));
            }
        }
        self.compare_stream_versions()?;
        Ok(None)
    }

    fn verify_segment(&mut self, row: &LogSegment) -> Result<(), String> {
        if (row.first, row.prev) != (self.seq + 1, self.hash) {
            return Err("its segment does not follow the one before".to_owned());
        }
        while self.seq < row.last {
            let block = self.log.segments.read_block_of(row, self.seq + 1);
            let block = block.map_err(|error| error.to_string())?;
            while self.seq < block.last() {
                self.begin_event();
                let (stream, record) = block.get(self.seq + 1).ok_or("it cannot be read")?;
                let hash = hash_chain::hash_record(&self.hash, record);
                self.verify_event(hash, &stream.to_string(), record)?;
            }
        }
        if self.hash != row.hash {
            return Err("the events of its segment do not match their hashes".to_owned());
        }
        Ok(())
    }

    /// Compares the versions that streams reached in segments with the table.
    fn compare_stream_versions(&mut self) -> Result<(), StoreError> {
        if self.seq == 0 {
            return Ok(());
        }
        let mut all = self.log.db.prepare("SELECT name, archived FROM streams")?;
        let mut rows = all.query([])?;
        while let Some(row) = rows.next()? {
            let name: String = row.get(0)?;
            let version: StreamVersion = row.get(1)?;
            let stream = name.parse::<Stream>().ok();
            let reached = stream.and_then(|stream| self.versions.get(&stream).copied());
            if version != reached.unwrap_or(0) {
                self.segment_error = Some(format!("the version of {name} in segments was changed"));
            }
        }
        Ok(())
    }

    /// Compares the table of segments with the events that record them.
    pub(super) fn compare_recorded_segments(&mut self) -> Result<(), StoreError> {
        let segments = self.log.list_segments()?;
        let n_segments = segments.len().max(self.recorded_segments.len());
        let is_other = |at: &usize| segments.get(*at) != self.recorded_segments.get(*at);
        if let Some(at) = (0..n_segments).find(is_other) {
            let row = segments.get(at).or_else(|| self.recorded_segments.get(at));
            let file = row.map(|row| row.file.clone()).unwrap_or_default();
            self.segment_error =
                Some(format!("the segment {file} is not listed as the log recorded it"));
        }
        Ok(())
    }
}
