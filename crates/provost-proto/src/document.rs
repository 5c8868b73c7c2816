//! The documents that a page is sent, and how they change: `GET /api/documents`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use crate::{
    ActionId, Actor, Approval, Event, Hash, IdempotencyKey, LogCursor, ProjectId, UnixMicros,
};

/// A document of a view, and what became of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DocumentChange {
    /// The name of the view.
    pub view: String,
    /// The document in the view.
    pub key: Uuid,
    /// The position in the log that the document includes.
    #[serde(rename = "seq")]
    #[cfg_attr(feature = "openapi", schema(value_type = crate::Seq))]
    pub up_to: LogCursor,
    /// The change.
    #[serde(flatten)]
    pub content: DocumentContent,
}

/// What became of a document.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum DocumentContent {
    /// The whole document; `null` if it is not part of what the page is sent any more.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Object>))]
    Document(Option<Value>),
    /// What to append to the document that the client has.
    Append(Vec<DocumentAppend>),
}

/// Text at the end of a document that is being streamed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DocumentAppend {
    /// What the text belongs to.
    pub kind: AppendedPart,
    /// The index of the tool call; 0 for other parts.
    pub part: u32,
    /// The name of the tool, if it became known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "ts", ts(optional))]
    pub tool: Option<String>,
    /// The text.
    pub text: String,
}

/// What appended text belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum AppendedPart {
    /// The text of a draft.
    Text,
    /// The reasoning of a draft.
    Reasoning,
    /// The arguments of a tool call of a draft.
    Tool,
    /// What a command prints.
    Output,
}

/// The data of `event: snapshot`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DocumentSnapshot {
    /// A part of the documents.
    pub documents: Vec<DocumentChange>,
}

/// The data of `event: changes`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DocumentChanges {
    /// The documents that changed, each once.
    pub changes: Vec<DocumentChange>,
    /// The idempotency keys of the commands whose events are included.
    pub commands: Vec<IdempotencyKey>,
}

/// The data of `event: live`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DocumentsLive {
    /// The position that everything up to here was sent for.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub cursor: DocumentCursor,
}

/// An approval in the size of a list: long parts of its prompt are cut.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ApprovalDocument {
    /// The approval.
    #[serde(flatten)]
    pub approval: Approval,
    /// Whether something was cut; `GET /api/approvals/{id}` returns the whole.
    pub truncated: bool,
}

/// What agents typed into a project's terminal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AgentInputLog {
    /// The project.
    pub project: ProjectId,
    /// The last texts that were typed, the oldest first.
    pub typed: Vec<TypedInput>,
}

/// A text that an agent typed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TypedInput {
    /// The action.
    pub action: ActionId,
    /// The agent.
    pub actor: Actor,
    /// The role of the agent.
    pub role: Option<String>,
    /// The beginning of the text.
    pub text: String,
    /// When it was requested.
    #[cfg_attr(feature = "ts", ts(type = "number"))]
    pub at: UnixMicros,
}

/// A page of the log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct EventsPage {
    /// The events, newest first; oldest first if `after` was given.
    pub events: Vec<Event>,
    /// The value of `before` or `after` for the next page; `null` at the end. There may be more
    /// events even if this page is not full.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<crate::Seq>))]
    pub next: Option<LogCursor>,
    /// The end of the log when the page was read: follow from here.
    #[cfg_attr(feature = "openapi", schema(value_type = crate::Seq))]
    pub head: LogCursor,
}

/// Where a client of documents is in the log: an event, the beginning of its hash, and a
/// fingerprint of which documents the client asked for.
///
/// The hash shows that a restored backup went on differently; the fingerprint, that the client
/// has other documents than it asks for now. In both cases it must start anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct DocumentCursor {
    /// The event; the start of the log before the first one.
    pub at: LogCursor,
    /// The first four bytes of the hash of the event.
    pub hash: u32,
    /// The documents that the client asked for.
    pub selection: u32,
}

impl DocumentCursor {
    /// The beginning of a hash, as far as a cursor holds it.
    pub fn hash_prefix(hash: &Hash) -> u32 {
        let [a, b, c, d, ..] = *hash.as_bytes();
        u32::from_be_bytes([a, b, c, d])
    }
}

impl fmt::Display for DocumentCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{:08x}-{:08x}", self.at, self.hash, self.selection)
    }
}

/// The text is not a cursor of documents.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a cursor of documents: send the last `id` as it was received")]
pub struct ParseDocumentCursorError(String);

impl FromStr for DocumentCursor {
    type Err = ParseDocumentCursorError;

    fn from_str(text: &str) -> Result<Self, ParseDocumentCursorError> {
        let parse = || {
            let mut parts = text.split('-');
            let at = parts.next()?.parse().ok()?;
            let mut next_u32 = || {
                let part = parts.next().filter(|part| part.len() == 8)?;
                u32::from_str_radix(part, 16).ok()
            };
            let (hash, selection) = (next_u32()?, next_u32()?);
            parts.next().is_none().then_some(Self { at, hash, selection })
        };
        parse().ok_or_else(|| ParseDocumentCursorError(text.to_owned()))
    }
}

impl Serialize for DocumentCursor {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for DocumentCursor {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_cursor_is_read_back_as_it_was_written() {
        let at = LogCursor::from_seq(123_456);
        let cursor = DocumentCursor { at, hash: 0x9f3a_77c0, selection: 7 };
        assert_eq!(cursor.to_string(), "123456-9f3a77c0-00000007");
        assert_eq!(cursor.to_string().parse(), Ok(cursor));
        for text in ["", "1", "1-2", "1-00000002", "x-00000001-00000002", "1-00000001-00000002-3"] {
            let error = text.parse::<DocumentCursor>().unwrap_err().to_string();
            assert!(error.contains("send the last `id`"), "{text}: {error}");
        }
    }

    #[test]
    fn a_change_is_a_document_nothing_or_an_addition() {
        let key = Uuid::nil();
        let (view, up_to) = ("drafts".to_owned(), LogCursor::from_seq(7));
        let change = |content| DocumentChange { view: view.clone(), key, up_to, content };
        let append = DocumentAppend {
            kind: AppendedPart::Tool,
            part: 1,
            tool: Some("fs.readFile".to_owned()),
            text: "{".to_owned(),
        };
        for (content, wire) in [
            (DocumentContent::Document(Some(json!({"a": 1}))), json!({"document": {"a": 1}})),
            (DocumentContent::Document(None), json!({"document": null})),
            (
                DocumentContent::Append(vec![append]),
                json!({"append": [{"kind": "tool", "part": 1, "tool": "fs.readFile", "text": "{"}]}),
            ),
        ] {
            let mut expected = json!({"view": "drafts", "key": key, "seq": 7});
            expected.as_object_mut().unwrap().extend(wire.as_object().unwrap().clone());
            let change = change(content);
            assert_eq!(serde_json::to_value(&change).unwrap(), expected);
            assert_eq!(serde_json::from_value::<DocumentChange>(expected).unwrap(), change);
        }
    }
}
