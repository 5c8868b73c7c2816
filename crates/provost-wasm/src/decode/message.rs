//! What the daemon says to a store.

use provost_proto::notebook::{NotebookDocument, NotebookEvent, ResumePoint};
use provost_proto::{Code, IdempotencyKey, NotebookId, RuntimeSessionId, StreamVersion};
use serde_json::{Error, Value};

use super::fact::read_fact;
use super::fields::{DecodeJson, JsonFields, mismatch};

/// What the daemon says to a store.
#[derive(Debug)]
pub(crate) enum StoreMessage {
    /// A part of a snapshot.
    Snapshot {
        notebook: NotebookId,
        at: ResumePoint,
        part: u32,
        last: bool,
        documents: Vec<NotebookDocument>,
    },
    /// Consecutive events.
    Events { notebook: NotebookId, events: Vec<NotebookEvent> },
    /// There are no more events for now.
    Live { notebook: NotebookId },
    /// Commands were applied.
    Accepted { id: IdempotencyKey, version: StreamVersion },
    /// Commands were refused.
    Refused { id: IdempotencyKey, code: Code, error: String, index: u32, version: StreamVersion },
    /// A lease was renewed.
    LeaseRenewed { session: RuntimeSessionId, valid_ms: u32 },
    /// A session is over.
    Fenced { session: RuntimeSessionId, why: String },
    /// Something that is not for the store.
    Other,
}

impl DecodeJson for NotebookEvent {
    fn read(value: Value) -> Result<Self, Error> {
        let mut fields = JsonFields::new(value)?;
        let kind: String = fields.read("kind")?;
        Ok(Self {
            version: fields.read("version")?,
            at: fields.read("at")?,
            principal: fields.read("principal")?,
            actor: fields.read("actor")?,
            command: fields.read("command")?,
            hash: fields.read("hash")?,
            fact: read_fact(&kind, fields.take("body"))?,
        })
    }
}

impl DecodeJson for Code {
    fn read(value: Value) -> Result<Self, Error> {
        let text = value.as_str().unwrap_or_default();
        let code = Self::ALL.iter().find(|code| code.as_str() == text);
        code.copied().ok_or_else(|| mismatch("an error code"))
    }
}

/// Reads a message. One of an unknown type is for somebody else.
pub(crate) fn read_message(value: Value) -> Result<StoreMessage, Error> {
    let mut fields = JsonFields::new(value)?;
    let message_type: String = fields.read("type")?;
    Ok(match message_type.as_str() {
        "snapshot" => StoreMessage::Snapshot {
            notebook: fields.read("notebook")?,
            at: fields.read("at")?,
            part: fields.read("part")?,
            last: fields.read("last")?,
            documents: fields.read("documents")?,
        },
        "events" => StoreMessage::Events {
            notebook: fields.read("notebook")?,
            events: fields.read("events")?,
        },
        "live" => StoreMessage::Live { notebook: fields.read("notebook")? },
        "accepted" => {
            StoreMessage::Accepted { id: fields.read("id")?, version: fields.read("version")? }
        }
        "refused" => StoreMessage::Refused {
            id: fields.read("id")?,
            code: fields.read("code")?,
            error: fields.read("error")?,
            index: fields.read("index")?,
            version: fields.read("version")?,
        },
        "leaseRenewed" => StoreMessage::LeaseRenewed {
            session: fields.read("session")?,
            valid_ms: fields.read("valid_ms")?,
        },
        "fenced" => {
            StoreMessage::Fenced { session: fields.read("session")?, why: fields.read("why")? }
        }
        _ => StoreMessage::Other,
    })
}
