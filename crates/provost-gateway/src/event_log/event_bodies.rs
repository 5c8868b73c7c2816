//! What a reader gets of bodies and output that are stored as blobs.
//!
//! The log refers to them by hash. Only the store and the verification need such a reference:
//! a reader gets the content, or how much was left out.

use provost_proto::kernel::OutputData;
use provost_proto::{AuditPage, BlobRef, Event, EventBodies, limits};
use provost_store::StoreError;
use serde_json::{Value, json};

use super::EventLog;
use crate::GatewayError;

impl EventLog {
    /// An event with this of its body.
    pub async fn with_body(
        &self,
        event: Event,
        bodies: EventBodies,
    ) -> Result<Event, GatewayError> {
        match bodies {
            EventBodies::Stored => Ok(event),
            EventBodies::Whole => self.hydrate_event(event).await,
            EventBodies::Short => Ok(shorten_event(event)),
        }
    }

    /// A page with this of its bodies. With whole bodies it has fewer events if they are large,
    /// but at least one.
    pub async fn with_bodies(
        &self,
        page: AuditPage,
        bodies: EventBodies,
    ) -> Result<AuditPage, GatewayError> {
        let AuditPage { events, next } = page;
        let (mut kept, mut bytes) = (Vec::with_capacity(events.len()), 0_u64);
        for event in events {
            bytes = bytes.saturating_add(blob_size(&event));
            if bodies == EventBodies::Whole
                && bytes > limits::MAX_WHOLE_BODIES_BYTES
                && let Some(last) = kept.last().map(Event::cursor)
            {
                return Ok(AuditPage { events: kept, next: Some(last) });
            }
            kept.push(self.with_body(event, bodies).await?);
        }
        Ok(AuditPage { events: kept, next })
    }

    /// The event with everything put back that is stored as a blob, as redacted as it is there.
    async fn hydrate_event(&self, mut event: Event) -> Result<Event, GatewayError> {
        if let Some(BlobRef { hash, .. }) = body_blob(&event) {
            let bytes = self.store().get_blob(hash).await?;
            if let Some(body) = bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()) {
                event.body = body;
            }
        }
        if let Some(BlobRef { hash, .. }) = output_blob(&event)
            && let Some(bytes) = self.store().get_blob(hash).await?
            && let Some(data) = event.body.pointer_mut(OUTPUT_DATA)
        {
            *data = serde_json::to_value(OutputData::from(bytes))
                .map_err(|error| StoreError::NotCanonical(error.to_string()))?;
        }
        Ok(event)
    }
}

/// Where the body of an event has its output.
const OUTPUT_DATA: &str = "/output/data";

fn body_blob(event: &Event) -> Option<BlobRef> {
    serde_json::from_value(event.body.clone()).ok()
}

fn output_blob(event: &Event) -> Option<BlobRef> {
    let blob = event.body.pointer(OUTPUT_DATA)?.get("blob")?;
    serde_json::from_value(blob.clone()).ok()
}

/// How many bytes of an event are stored as a blob.
fn blob_size(event: &Event) -> u64 {
    body_blob(event).or_else(|| output_blob(event)).map_or(0, |blob| blob.size)
}

/// The event with the size in place of what is stored as a blob.
fn shorten_event(mut event: Event) -> Event {
    let omitted = |BlobRef { size, .. }: BlobRef| -> Value { json!({ "omitted": size }) };
    if let Some(blob) = body_blob(&event) {
        event.body = omitted(blob);
    } else if let Some(blob) = output_blob(&event)
        && let Some(data) = event.body.pointer_mut(OUTPUT_DATA)
    {
        *data = omitted(blob);
    }
    event
}

#[cfg(test)]
mod tests {
    use provost_proto::{Fact, LogCursor};
    use provost_store::EventScope;

    use super::*;
    use crate::GatewayConfig;
    use crate::test_support::open_log;

    /// A log with these facts, and a page with all of its events.
    async fn log_with(facts: Vec<Fact>) -> (EventLog, AuditPage, tempfile::TempDir) {
        let folder = tempfile::tempdir().unwrap();
        let log = open_log(folder.path(), &GatewayConfig::default()).await;
        for fact in facts {
            log.record_daemon_event(fact).await.unwrap();
        }
        let page = log.store().read_events(EventScope::All, LogCursor::START, 99).await.unwrap();
        let events = page.events.iter().map(|event| event.decode_event().unwrap()).collect();
        (log, AuditPage { events, next: None }, folder)
    }

    fn stopped(n_bytes: usize) -> Fact {
        Fact::DaemonStopped { reason: "x".repeat(n_bytes) }
    }

    fn printed(n_bytes: usize) -> Fact {
        let id = uuid::Uuid::new_v4();
        let output = json!({
            "stream": "stdout", "offset": 0, "dropped": 0, "data": { "text": "y".repeat(n_bytes) },
        });
        let body = json!({ "action": id, "project": id, "report": 1, "output": output });
        Fact::from_kind_and_body("ACTION_OUTPUT", &body).unwrap()
    }

    #[tokio::test]
    async fn what_is_stored_as_a_blob_is_put_back_or_its_size_is_sent() {
        let facts = vec![stopped(10), stopped(9000), printed(10), printed(9000)];
        let (log, page, _folder) = log_with(facts.clone()).await;
        let stored = log.with_bodies(page.clone(), EventBodies::Stored).await.unwrap();
        assert_eq!(stored, page, "as it was hashed");
        let whole = log.with_bodies(page.clone(), EventBodies::Whole).await.unwrap();
        let read: Vec<_> = whole.events.iter().filter_map(Event::fact).collect();
        assert_eq!(read, facts);
        let short = log.with_bodies(page, EventBodies::Short).await.unwrap().events;
        assert_eq!(short[0].fact().as_ref(), Some(&facts[0]));
        assert!(short[1].body["omitted"].as_u64() > Some(9000), "{:?}", short[1]);
        assert_eq!(short[2].fact().as_ref(), Some(&facts[2]));
        assert_eq!(short[3].body["output"]["data"], json!({ "omitted": 9000 }));
        assert!(!serde_json::to_string(&short).unwrap().contains("$blob"));
    }

    #[tokio::test]
    async fn a_page_of_large_bodies_is_shorter_and_says_where_to_continue() {
        let (log, page, _folder) = log_with(vec![stopped(5 << 20); 3]).await;
        let all = page.events.clone();
        let mut rest = page;
        for event in &all {
            let part = log.with_bodies(rest.clone(), EventBodies::Whole).await.unwrap();
            assert_eq!(part.events.len(), 1, "each is too large for a second one");
            assert_eq!(part.events[0].id, event.id);
            let is_last = event.id == all[all.len() - 1].id;
            assert_eq!(part.next, (!is_last).then(|| event.cursor()));
            rest.events.remove(0);
        }
    }
}
