//! The terminal's stream, between kernel, daemon and client.
//!
//! On a connection of its own to the kernel's socket, after `hello` and `terminal`, both sides
//! send frames: a length (u32, big endian), a kind (one byte), a header of fixed size and the
//! payload; see [`TerminalOutputFrame`] and [`TerminalInputFrame`]. The WebSocket carries output
//! and input as binary messages and everything else as JSON, [`ServerMessage`] and
//! [`ClientMessage`].

mod frame;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

pub use frame::{
    DATA_HEADER_BYTES, FRAME_HEADER_BYTES, FrameError, TerminalInputFrame, TerminalOutputFrame,
    encode_data_header,
};

use crate::Code;

/// The response of the kernel to `terminal`, before the stream begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TerminalAttachResponse {
    /// The process id of the shell.
    pub pid: u32,
    /// The width, in columns.
    pub cols: u16,
    /// The height, in rows.
    pub rows: u16,
    /// The offset of the oldest byte that is still kept.
    pub oldest: u64,
    /// How many bytes were printed so far.
    pub end: u64,
}

/// A text message of the daemon to a client of the WebSocket.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub enum ServerMessage {
    /// The next binary message is not output but a snapshot: drawn on an empty terminal of this
    /// size, it shows the state after `offset` bytes.
    Snapshot {
        /// How many bytes of output it includes; the binary message has the same number.
        #[cfg_attr(feature = "ts", ts(type = "number"))]
        offset: u64,
        /// The width, in columns.
        cols: u16,
        /// The height, in rows.
        rows: u16,
        /// Its size in bytes.
        #[cfg_attr(feature = "ts", ts(type = "number"))]
        bytes: u64,
    },
    /// The terminal has another size from this offset on.
    Resize {
        /// The offset in the output.
        #[cfg_attr(feature = "ts", ts(type = "number"))]
        offset: u64,
        /// The width, in columns.
        cols: u16,
        /// The height, in rows.
        rows: u16,
    },
    /// The shell has ended.
    Exit {
        /// The exit code, if it exited.
        exit_code: Option<i32>,
        /// The signal that ended it.
        signal: Option<i32>,
    },
    /// The title of the window.
    Title {
        /// The title, set by programs and so not trusted.
        title: String,
    },
    /// The bell rang.
    Bell,
    /// An error; the connection ends.
    Error {
        /// The error code.
        code: Code,
        /// The message for people.
        message: String,
    },
    /// A heartbeat; the client answers with `pong`.
    Ping,
}

/// A text message of a client to the daemon on the WebSocket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    tag = "type",
    rename_all = "camelCase",
    rename_all_fields = "camelCase",
    deny_unknown_fields
)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub enum ClientMessage {
    /// The size of the client's window.
    Resize {
        /// The width, in columns.
        cols: u16,
        /// The height, in rows.
        rows: u16,
    },
    /// The client has drawn everything before this offset.
    Ack {
        /// The offset in the output.
        #[cfg_attr(feature = "ts", ts(type = "number"))]
        offset: u64,
    },
    /// The answer to `ping`.
    Pong {},
}

/// The response of `POST /api/projects/{p}/terminal/ticket`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TerminalTicket {
    /// Valid for one connection, and for [`TICKET_SECONDS`](crate::limits::TICKET_SECONDS).
    pub ticket: String,
}
