//! Exports sessions as spans to an OpenTelemetry collector.
//!
//! ```text
//!   log ──▶ LogTail ──▶ SessionTracer (facts to spans) ──▶ OtlpCollector (OTLP/HTTP, JSON)
//! ```
//!
//! The exporter follows the log like any client: it cannot slow a turn, and needs no queue,
//! since an exporter that is behind only has an older cursor. Ids of spans are derived from
//! ids in the log, and times are those of the log. See
//! `docs/adr/0011-telemetry-from-the-event-log.md`, and for why the exporter is our own
//! `docs/adr/0015-own-otlp-exporter.md`.

mod gen_ai_conventions;
mod otlp;
mod session_tracer;
mod span;
mod span_builder;

use std::sync::Arc;
use std::time::Duration;

use provost_proto::{LogCursor, Stream};
use provost_store::{EventScope, LogTail, StoreError, hydrate_fact};
use tokio::time::{Instant, timeout};

pub use otlp::CollectorError;

use crate::session::Runner;
use otlp::OtlpCollector;
use session_tracer::{SessionTracer, TracedAgent};

/// Most spans in one request.
const MAX_BATCH_SPANS: usize = 256;

/// How long a span waits for others to share its request.
const MAX_BATCH_DELAY: Duration = Duration::from_millis(500);

/// How long sending the last spans may take at shutdown.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(2);

/// Whether spans contain the conversation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ContentCapture {
    /// Names, times, counts and codes only.
    #[default]
    Omitted,
    /// Also messages, arguments and results.
    Included,
}

/// The collector, and what spans contain.
#[derive(Debug, Clone)]
pub struct TelemetrySettings {
    /// The address of the collector, without `/v1/traces`.
    pub endpoint: String,
    /// Headers of every request, such as an API key.
    pub headers: Vec<(String, String)>,
    /// Whether spans contain the conversation.
    pub contents: ContentCapture,
}

/// Follows the log and sends spans to a collector.
#[derive(Debug)]
pub struct TelemetryExporter {
    runner: Arc<Runner>,
    collector: OtlpCollector,
    tracer: SessionTracer,
    tail: LogTail,
    batch: Vec<span::Span>,
}

impl TelemetryExporter {
    /// Creates an exporter for the events after a position in the log.
    pub fn new(
        runner: &Arc<Runner>,
        settings: &TelemetrySettings,
        after: LogCursor,
    ) -> Result<Self, CollectorError> {
        let store = Arc::clone(runner.gateway().store());
        Ok(Self {
            runner: Arc::clone(runner),
            collector: OtlpCollector::new(settings)?,
            tracer: SessionTracer::new(settings.contents),
            tail: LogTail::new(store, EventScope::All, after),
            batch: Vec::new(),
        })
    }

    /// Exports spans until `closing` completes, and then the remaining ones.
    pub async fn run(mut self, closing: impl Future<Output = ()>) {
        tokio::pin!(closing);
        tokio::select! {
            ended = self.follow_log() => {
                if let Err(error) = ended {
                    tracing::error!(%error, "cannot follow the log; telemetry export stops");
                }
                return;
            }
            () = &mut closing => {}
        }
        if timeout(SHUTDOWN_TIMEOUT, self.flush_remaining()).await.is_err() {
            tracing::warn!("the telemetry collector is too slow; the last spans are lost");
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

    /// Exports what is in the log and not exported yet.
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
            if !self.tracer.has_session(session) {
                // The first fact of this session: role, model and open turn are in its view.
                let Ok(view) = self.runner.load_session(session).await else { continue };
                self.tracer.add_session(session, TracedAgent::from(&view));
            }
            self.batch.extend(self.tracer.process_fact(session, event.at, fact));
        }
        Ok(())
    }
}
