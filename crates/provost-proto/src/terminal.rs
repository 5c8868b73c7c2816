//! The terminal's stream, between kernel, daemon and client.
//!
//! On a connection of its own to the kernel's socket, after `hello` and `terminal`, both sides
//! send frames: a length (u32, big endian), a kind (one byte), a header of fixed size and the
//! payload; see [`TerminalOutputFrame`] and [`TerminalInputFrame`]. The WebSocket carries the
//! same frames: a binary message holds one or more of them, whole, and there are no text messages.
//! The daemon reads their headers ([`ForwardedOutput`], [`ForwardedInput`]) and forwards them
//! unchanged.

mod forwarded;
mod frame;
mod input_frame;
mod output_frame;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

pub use forwarded::{ForwardedInput, ForwardedOutput, StreamEnd};
pub use frame::{
    DATA_HEADER_BYTES, EncodedFrame, FRAME_HEADER_BYTES, FrameError, FrameKind, InputKind,
    OutputKind, TERMINAL_SUBPROTOCOL,
};
pub use input_frame::TerminalInputFrame;
pub use output_frame::{TerminalOutputFrame, encode_data_header};

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

/// The response of `POST /api/projects/{p}/terminal/ticket`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TerminalTicket {
    /// Valid for one connection, and for [`TICKET_SECONDS`](crate::limits::TICKET_SECONDS).
    pub ticket: String,
}
