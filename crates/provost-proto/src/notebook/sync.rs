//! The messages of `GET /api/sync`, as JSON text frames.
//!
//! A client knows versions of streams only, never a position in the whole log.

use serde_json::Value;

use super::{Fence, NotebookCommand, NotebookDocument, NotebookFact};
use crate::session::{body, wire};
use crate::{
    Actor, Code, ExecutionId, Hash, IdempotencyKey, NotebookId, Principal, RuntimeSessionId,
    StreamVersion, UnixMicros,
};

body! {
    /// Where a client is in a notebook.
    #[derive(Copy, Eq)]
    pub struct ResumePoint {
        /// The version of the last event that it has.
        #[cfg_attr(feature = "ts", ts(type = "number"))]
        pub version: StreamVersion,
        /// The hash of that event: another one shows that a restored backup went on differently.
        pub hash: Hash,
    }

    /// An event of a notebook, as clients of `/api/sync` receive it.
    pub struct NotebookEvent {
        /// Its version in the stream of the notebook.
        #[cfg_attr(feature = "ts", ts(type = "number"))]
        pub version: StreamVersion,
        /// The time by the daemon's clock.
        #[cfg_attr(feature = "ts", ts(type = "number"))]
        pub at: UnixMicros,
        /// On whose authority it happened.
        pub principal: Principal,
        /// The component that acted.
        pub actor: Actor,
        /// The idempotency key of the command that caused it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "ts", ts(optional))]
        pub command: Option<IdempotencyKey>,
        /// The hash of the event.
        pub hash: Hash,
        /// The fact.
        #[serde(flatten)]
        pub fact: NotebookFact,
    }

    /// What somebody does in a notebook. It is not in the log.
    pub struct NotebookPresence {
        /// Identifies the connection.
        #[cfg_attr(feature = "ts", ts(type = "number"))]
        pub connection: u64,
        /// On whose authority.
        pub principal: Principal,
        /// The component.
        pub actor: Actor,
        /// What the client sent, such as the cell and the selection; `null` when it is gone.
        #[cfg_attr(feature = "ts", ts(type = "unknown"))]
        pub data: Value,
    }

    /// Why a command was refused.
    #[derive(Eq)]
    pub struct SyncErrorInfo {
        /// The message for people.
        pub error: String,
        /// The code.
        pub code: Code,
    }
}

wire! {
    /// Why a client gets a new snapshot.
    #[derive(Copy, Eq)]
    pub enum ResyncReason {
        /// It is too far behind.
        Behind,
        /// Its last event is not in this log.
        Diverged,
    }

    /// A message of a client.
    #[serde(tag = "type")]
    pub enum ClientSyncMessage {
        /// The first message.
        Hello {
            /// The version of the protocol.
            protocol: u32,
        },
        /// Asks for a notebook: what changed since the resume point, or a snapshot, and then
        /// every change.
        Subscribe {
            /// The notebook.
            notebook: NotebookId,
            /// Where the client is.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            #[cfg_attr(feature = "ts", ts(optional))]
            resume: Option<ResumePoint>,
        },
        /// Ends a subscription.
        Unsubscribe {
            /// The notebook.
            notebook: NotebookId,
        },
        /// Sends commands, which are applied together or not at all.
        Commands {
            /// The idempotency key: commands that are sent again have the same answer.
            id: IdempotencyKey,
            /// The notebook.
            notebook: NotebookId,
            /// The commands.
            commands: Vec<NotebookCommand>,
        },
        /// Renews the lease of a runtime session.
        RenewLease {
            /// The notebook.
            notebook: NotebookId,
            /// The session.
            session: RuntimeSessionId,
            /// Its fence.
            #[cfg_attr(feature = "ts", ts(type = "number"))]
            fence: Fence,
        },
        /// Tells the others what somebody does.
        Presence {
            /// The notebook.
            notebook: NotebookId,
            /// What to tell them, at most a kilobyte.
            #[cfg_attr(feature = "ts", ts(type = "unknown"))]
            data: Value,
        },
        /// Asks for a `pong`.
        Ping,
    }

    /// A message of the daemon.
    #[serde(tag = "type")]
    pub enum ServerSyncMessage {
        /// The answer to `hello`.
        Welcome {
            /// The version of the protocol.
            protocol: u32,
            /// The version of the daemon.
            server: String,
            /// Identifies the connection.
            #[cfg_attr(feature = "ts", ts(type = "number"))]
            connection: u64,
            /// Who the client is.
            principal: Principal,
            /// The component that it acts as.
            actor: Actor,
            /// Whether it may send commands.
            can_write: bool,
        },
        /// A part of the documents of a notebook as of a version.
        Snapshot {
            /// The notebook.
            notebook: NotebookId,
            /// The position of all parts.
            at: ResumePoint,
            /// The number of this part, from 0; the first one discards what the client had.
            part: u32,
            /// Whether it is the last one.
            last: bool,
            /// The documents.
            documents: Vec<NotebookDocument>,
            /// Why the client gets it instead of what it asked for.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            #[cfg_attr(feature = "ts", ts(optional))]
            reason: Option<ResyncReason>,
        },
        /// Consecutive events of a notebook.
        Events {
            /// The notebook.
            notebook: NotebookId,
            /// The events, the oldest first.
            events: Vec<NotebookEvent>,
        },
        /// The client has everything up to this version.
        Live {
            /// The notebook.
            notebook: NotebookId,
            /// The version.
            #[cfg_attr(feature = "ts", ts(type = "number"))]
            version: StreamVersion,
        },
        /// Commands were applied.
        Accepted {
            /// Their idempotency key.
            id: IdempotencyKey,
            /// The version of their last event; of the notebook if there was nothing to change.
            #[cfg_attr(feature = "ts", ts(type = "number"))]
            version: StreamVersion,
        },
        /// Commands were refused, and changed nothing.
        Refused {
            /// Their idempotency key.
            id: IdempotencyKey,
            /// Why.
            #[serde(flatten)]
            error: SyncErrorInfo,
            /// The index of the command that was refused.
            index: u32,
            /// The version of the notebook.
            #[cfg_attr(feature = "ts", ts(type = "number"))]
            version: StreamVersion,
        },
        /// A lease was renewed.
        LeaseRenewed {
            /// The session.
            session: RuntimeSessionId,
            /// How long it is valid, in milliseconds.
            valid_ms: u32,
        },
        /// A session is not active any more: its runtime must stop.
        Fenced {
            /// The session.
            session: RuntimeSessionId,
            /// Why, as text for people.
            why: String,
        },
        /// Input of a person, for the runtime that asked. Secret input is nowhere else.
        Input {
            /// The execution.
            execution: ExecutionId,
            /// The input.
            text: String,
        },
        /// What another client does.
        Presence {
            /// The notebook.
            notebook: NotebookId,
            /// What it does.
            presence: NotebookPresence,
        },
        /// A subscription has ended or was refused.
        Unsubscribed {
            /// The notebook.
            notebook: NotebookId,
            /// Why.
            #[serde(flatten)]
            error: SyncErrorInfo,
        },
        /// A message was not understood; the connection ends.
        Error {
            /// Why.
            #[serde(flatten)]
            error: SyncErrorInfo,
        },
        /// The answer to `ping`.
        Pong,
    }
}
