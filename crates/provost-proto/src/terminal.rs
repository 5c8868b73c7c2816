//! The terminal's stream, between kernel, daemon and client.
//!
//! On a connection of its own to the kernel's socket, after `hello` and
//! `terminal`, both ends speak frames: a length (u32, big endian), a kind (one
//! byte), a head of fixed size and the rest, as [`TerminalOutputFrame`] and
//! [`TerminalInputFrame`] say. The WebSocket carries the bytes as binary messages and
//! everything else as the JSON of [`ServerMessage`] and [`ClientMessage`].

mod frame;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

pub use frame::{
    DATA_HEADER_BYTES, FRAME_HEADER_BYTES, FrameError, TerminalInputFrame, TerminalOutputFrame,
    encode_data_header,
};

use crate::Code;

/// What the kernel answers to `terminal`, before the stream begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TerminalAttachResponse {
    /// The process id of the shell.
    pub pid: u32,
    /// The width.
    pub cols: u16,
    /// The height.
    pub rows: u16,
    /// The oldest byte that is still kept.
    pub oldest: u64,
    /// How many bytes there are by now.
    pub end: u64,
}

/// What the daemon says to a client in text messages of the WebSocket.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub enum ServerMessage {
    /// The next binary message is not output but what to draw on an empty
    /// terminal of this size, so that it looks as after `offset` bytes.
    Snapshot {
        /// The bytes of output that are in it; the binary message says the same.
        #[cfg_attr(feature = "ts", ts(type = "number"))]
        offset: u64,
        /// The width.
        cols: u16,
        /// The height.
        rows: u16,
        /// How many bytes it has.
        #[cfg_attr(feature = "ts", ts(type = "number"))]
        bytes: u64,
    },
    /// The terminal has another size from this byte on.
    Resize {
        /// How many bytes came before.
        #[cfg_attr(feature = "ts", ts(type = "number"))]
        offset: u64,
        /// The width.
        cols: u16,
        /// The height.
        rows: u16,
    },
    /// The shell has ended.
    Exit {
        /// The exit code, if it ended by itself.
        exit_code: Option<i32>,
        /// The signal, if that ended it.
        signal: Option<i32>,
    },
    /// The title of the window.
    Title {
        /// The title; text of programs, not to be trusted.
        title: String,
    },
    /// The bell rang.
    Bell,
    /// Something is wrong; the connection ends.
    Error {
        /// For programs.
        code: Code,
        /// For people.
        message: String,
    },
    /// Are you there?
    Ping,
}

/// What a client says to the daemon in text messages of the WebSocket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    tag = "type",
    rename_all = "camelCase",
    rename_all_fields = "camelCase",
    deny_unknown_fields
)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub enum ClientMessage {
    /// My window has this size.
    Resize {
        /// The width.
        cols: u16,
        /// The height.
        rows: u16,
    },
    /// I have drawn all before this byte.
    Ack {
        /// How many bytes.
        #[cfg_attr(feature = "ts", ts(type = "number"))]
        offset: u64,
    },
    /// I am here.
    Pong {},
}

/// The answer of `POST /api/projects/{p}/terminal/ticket`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TerminalTicket {
    /// Good for one connection, and for
    /// [`TICKET_SECONDS`](crate::limits::TICKET_SECONDS).
    pub ticket: String,
}
