//! Moves older events into segment files: when a person says so, and by the settings.

use std::sync::Arc;
use std::time::Duration;

use provost_proto::{Actor, ArchiveLogResult, LogCursor, LogSegment, LogSegmentList, UnixMicros};
use provost_store::{ArchiveOutcome, ArchiveRequest};

use crate::event_log::EventLog;
use crate::{GatewayError, LogArchiveSettings, Operator};

/// How often the settings are applied.
const ARCHIVE_INTERVAL: Duration = Duration::from_hours(1);

/// Fewer events than this wait for the next time: the settings must not make many small files.
const MIN_SEGMENT_EVENTS: u64 = 8192;

/// Archives the log.
#[derive(Debug)]
pub struct LogArchive {
    log: Arc<EventLog>,
    settings: LogArchiveSettings,
}

impl LogArchive {
    pub(crate) fn new(log: Arc<EventLog>, settings: LogArchiveSettings) -> Self {
        Self { log, settings }
    }

    /// Archives the events before a time.
    pub async fn archive_before(
        &self,
        by: &Operator,
        before: UnixMicros,
    ) -> Result<ArchiveLogResult, GatewayError> {
        if before > self.log.now() {
            let why = "is in the future; events are archived up to now at most".to_owned();
            return Err(GatewayError::InvalidField { field: "before", why });
        }
        let request = ArchiveRequest::none(by.principal(), by.actor().clone());
        let request = ArchiveRequest { before, ..request };
        let ArchiveOutcome { segments, left } = self.log.store().archive_log(request).await?;
        Ok(ArchiveLogResult { segments, left, log_bytes: self.log.store().size_bytes() })
    }

    /// The segment files.
    pub async fn list_segments(&self) -> Result<LogSegmentList, GatewayError> {
        let segments = self.log.store().list_segments().await?;
        let archived = segments.last().map_or(LogCursor::START, LogSegment::end);
        let log_events = self.log.store().head().events_since(archived);
        let log_bytes = self.log.store().size_bytes();
        Ok(LogSegmentList { segments, log_events, log_bytes })
    }

    /// Completes what a previous daemon began, then applies the settings now and then.
    pub async fn run_archive_loop(self: Arc<Self>) {
        loop {
            match self.log.store().archive_log(self.build_request()).await {
                Ok(outcome) => {
                    for segment in outcome.segments {
                        let (first, last) = (segment.first, segment.last);
                        tracing::info!(first, last, file = segment.file, "events were archived");
                    }
                }
                Err(error) => tracing::warn!(%error, "the log could not be archived"),
            }
            tokio::time::sleep(ARCHIVE_INTERVAL).await;
        }
    }

    fn build_request(&self) -> ArchiveRequest {
        let now = self.log.now();
        let before = self.settings.max_age.and_then(|age| {
            let age = UnixMicros::try_from(age.as_micros()).unwrap_or(UnixMicros::MAX);
            now.checked_sub(age)
        });
        ArchiveRequest {
            before: before.unwrap_or(0),
            max_log_bytes: self.settings.max_log_bytes,
            min_events: MIN_SEGMENT_EVENTS,
            ..ArchiveRequest::none(self.log.owner().principal.clone(), Actor::Daemon)
        }
    }
}
