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
