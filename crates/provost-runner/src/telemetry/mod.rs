//! What sessions do, told to a collector of OpenTelemetry.
//!
//! ```text
//!   log ──▶ Tail ──▶ Trace (facts to spans) ──▶ Collector (OTLP/HTTP, JSON)
//! ```
//!
//! It follows the log like any client, so that it costs a turn nothing, cannot slow
//! it, and needs no queue: one that is behind has a place in the log and no more. The
//! ids of spans are made of those of the log, and their times are the log's. See
//! `docs/adr/0011-telemetry-is-told-from-the-log.md`.

mod gen_ai_conventions;
mod otlp;
mod session_tracer;
mod span;
mod span_builder;

use std::sync::Arc;
use std::time::Duration;

use provost_proto::{Seq, Stream};
use provost_store::{EventScope, LogTail, StoreError, hydrate_fact};
use tokio::time::{Instant, timeout};

pub use otlp::CollectorError;

use crate::session::Runner;
use otlp::OtlpCollector;
use session_tracer::{SessionTracer, TracedAgent};

/// How many spans are sent at once, at most.
const MAX_BATCH_SPANS: usize = 256;

/// How long a span waits for others.
const MAX_BATCH_DELAY: Duration = Duration::from_millis(500);

/// How long the last spans may take when the daemon ends.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(2);

/// Whether what was said is told.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ContentCapture {
    /// Names, times, counts and codes only.
    #[default]
    Omitted,
    /// Also messages, arguments and results.
    Included,
}

/// Where spans are sent, and what is in them.
#[derive(Debug, Clone)]
pub struct TelemetrySettings {
    /// The address of the collector, without `/v1/traces`.
    pub endpoint: String,
    /// Headers for it, such as a key.
    pub headers: Vec<(String, String)>,
    /// Whether what was said is told.
    pub contents: ContentCapture,
}

/// The way from the log to a collector.
#[derive(Debug)]
pub struct TelemetryExporter {
    runner: Arc<Runner>,
    collector: OtlpCollector,
    trace: SessionTracer,
    tail: LogTail,
    batch: Vec<span::Span>,
}

impl TelemetryExporter {
    /// From behind a place in the log on.
    pub fn new(
        runner: &Arc<Runner>,
        settings: &TelemetrySettings,
        after: Seq,
    ) -> Result<Self, CollectorError> {
        let store = Arc::clone(runner.gateway().store());
        Ok(Self {
            runner: Arc::clone(runner),
            collector: OtlpCollector::new(settings)?,
            trace: SessionTracer::new(settings.contents),
            tail: LogTail::new(store, EventScope::All, after),
            batch: Vec::new(),
        })
    }

    /// Tells what happens until `closing` ends, and then what is left.
    pub async fn run(mut self, closing: impl Future<Output = ()>) {
        tokio::pin!(closing);
        tokio::select! {
            ended = self.follow_log() => {
                if let Err(error) = ended {
                    tracing::error!(%error, "the log cannot be followed; no more is told of sessions");
                }
                return;
            }
            () = &mut closing => {}
        }
        if timeout(SHUTDOWN_TIMEOUT, self.flush_remaining()).await.is_err() {
            tracing::warn!("the collector of telemetry is slow; the last spans are lost");
        }
    }

    async fn follow_log(&mut self) -> Result<(), StoreError> {
        let mut oldest: Option<Instant> = None;
        loop {
            let due =
                oldest.map_or(MAX_BATCH_DELAY, |at| MAX_BATCH_DELAY.saturating_sub(at.elapsed()));
            match timeout(due, self.tail.next()).await {
                Ok(events) => self.process_events(events?).await?,
                Err(_) if self.batch.is_empty() => continue,
                Err(_) => self.collector.send_batch(&mut self.batch).await,
            }
            let is_due = oldest.is_some_and(|at| at.elapsed() >= MAX_BATCH_DELAY);
            if self.batch.len() >= MAX_BATCH_SPANS || is_due {
                self.collector.send_batch(&mut self.batch).await;
            }
            oldest = if self.batch.is_empty() { None } else { oldest.or(Some(Instant::now())) };
        }
    }

    /// What is in the log and was not told yet.
    async fn flush_remaining(&mut self) {
        while let Ok(events) = self.tail.next_available().await {
            if events.is_empty() || self.process_events(events).await.is_err() {
                break;
            }
        }
        self.collector.send_batch(&mut self.batch).await;
    }

    async fn process_events(
        &mut self,
        events: Vec<Arc<provost_store::RecordedEvent>>,
    ) -> Result<(), StoreError> {
        for recorded in events {
            let Stream::Session(session) = recorded.stream else { continue };
            let event = recorded.decode_event()?;
            if !session_tracer::TRACED_EVENT_KINDS.contains(&event.kind.as_str()) {
                continue;
            }
            let Some(fact) = hydrate_fact(&**self.runner.gateway().store(), &event).await? else {
                continue;
            };
            if !self.trace.has_session(session) {
                // A turn that began before, or begins now: who it is stands in the view.
                let Ok(view) = self.runner.load_session(session).await else { continue };
                self.trace.add_session(session, TracedAgent::from(&view));
            }
            self.batch.extend(self.trace.process_fact(session, event.at, fact));
        }
        Ok(())
    }
}
