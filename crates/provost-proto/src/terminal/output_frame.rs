//! The frames to a client: written by the kernel, and `Ping` and some errors by the daemon.

use bytes::{Buf as _, BufMut as _, Bytes};

use super::frame::{
    DATA_HEADER_BYTES, EncodedFrame, FRAME_HEADER_BYTES, FrameError, FrameHeader, FrameKind as _,
    OutputKind, get_optional_i32, put_optional_i32,
};
use crate::kernel::ErrorInfo;

/// A frame to a client.
#[derive(Debug, Clone, PartialEq)]
pub enum TerminalOutputFrame {
    /// Output.
    Data {
        /// The offset in the output.
        offset: u64,
        /// The bytes.
        bytes: Bytes,
    },
    /// A snapshot: drawn on an empty terminal of this size, it shows the state of this one.
    Snapshot {
        /// How many bytes of output it includes.
        offset: u64,
        /// The width, in columns.
        cols: u16,
        /// The height, in rows.
        rows: u16,
        /// The bytes to draw.
        bytes: Bytes,
    },
    /// The terminal has another size from this offset on.
    Resize {
        /// The offset in the output.
        offset: u64,
        /// The width, in columns.
        cols: u16,
        /// The height, in rows.
        rows: u16,
    },
    /// The shell has ended, and so does the stream.
    Exit {
        /// The exit code, if it exited.
        exit_code: Option<i32>,
        /// The signal that ended it.
        signal: Option<i32>,
    },
    /// The title of the window, set by programs and so not trusted.
    Title(String),
    /// The bell rang.
    Bell,
    /// An error; the stream ends.
    Error(ErrorInfo),
    /// A heartbeat of the daemon; the client answers with an acknowledgment.
    Ping,
}

/// The header for `length` bytes of output, so that they need not be copied.
pub fn encode_data_header(
    offset: u64,
    length: usize,
) -> Result<[u8; DATA_HEADER_BYTES], FrameError> {
    let fixed = DATA_HEADER_BYTES - FRAME_HEADER_BYTES;
    let header = FrameHeader::new(OutputKind::Data, length.saturating_add(fixed))?;
    let mut bytes = [0; DATA_HEADER_BYTES];
    let mut rest = &mut bytes[..];
    header.write(&mut rest);
    rest.put_u64(offset);
    Ok(bytes)
}

impl TerminalOutputFrame {
    /// The header and the payload, which is not copied.
    pub fn encode(&self) -> Result<EncodedFrame, FrameError> {
        let mut fixed = Vec::with_capacity(12);
        let (kind, payload) = match self {
            Self::Data { offset, bytes } => {
                fixed.put_u64(*offset);
                (OutputKind::Data, bytes.clone())
            }
            Self::Snapshot { offset, cols, rows, bytes } => {
                fixed.put_u64(*offset);
                fixed.put_u16(*cols);
                fixed.put_u16(*rows);
                (OutputKind::Snapshot, bytes.clone())
            }
            Self::Resize { offset, cols, rows } => {
                fixed.put_u64(*offset);
                fixed.put_u16(*cols);
                fixed.put_u16(*rows);
                (OutputKind::Resize, Bytes::new())
            }
            Self::Exit { exit_code, signal } => {
                put_optional_i32(&mut fixed, *exit_code);
                put_optional_i32(&mut fixed, *signal);
                (OutputKind::Exit, Bytes::new())
            }
            Self::Title(title) => (OutputKind::Title, Bytes::copy_from_slice(title.as_bytes())),
            Self::Bell => (OutputKind::Bell, Bytes::new()),
            Self::Error(fault) => {
                let kind = OutputKind::Error;
                let text = serde_json::to_vec(fault)
                    .map_err(|_| FrameError::InvalidText { kind: kind.to_byte() })?;
                (kind, text.into())
            }
            Self::Ping => (OutputKind::Ping, Bytes::new()),
        };
        let frame = FrameHeader::new(kind, fixed.len().saturating_add(payload.len()))?;
        let mut header = Vec::with_capacity(FRAME_HEADER_BYTES + fixed.len());
        frame.write(&mut header);
        header.extend_from_slice(&fixed);
        Ok(EncodedFrame { header, payload })
    }

    /// The frames of a message, which holds whole ones only.
    pub fn decode_message(mut message: Bytes) -> Result<Vec<Self>, FrameError> {
        let mut frames = Vec::new();
        while !message.is_empty() {
            let header = FrameHeader::read_whole(&message)?.ok_or(FrameError::Truncated)?;
            let mut frame = message.split_to(header.frame_bytes());
            frame.advance(FRAME_HEADER_BYTES);
            frames.push(Self::decode_payload(header.kind, frame)?);
        }
        Ok(frames)
    }

    /// The payload has a size that its kind can have.
    fn decode_payload(kind: OutputKind, mut payload: Bytes) -> Result<Self, FrameError> {
        let invalid = FrameError::InvalidText { kind: kind.to_byte() };
        Ok(match kind {
            OutputKind::Data => Self::Data { offset: payload.get_u64(), bytes: payload },
            OutputKind::Snapshot => Self::Snapshot {
                offset: payload.get_u64(),
                cols: payload.get_u16(),
                rows: payload.get_u16(),
                bytes: payload,
            },
            OutputKind::Resize => Self::Resize {
                offset: payload.get_u64(),
                cols: payload.get_u16(),
                rows: payload.get_u16(),
            },
            OutputKind::Exit => {
                let refusal = FrameError::UnknownKind { kind: kind.to_byte(), size: payload.len() };
                Self::Exit {
                    exit_code: get_optional_i32(&mut payload, refusal.clone())?,
                    signal: get_optional_i32(&mut payload, refusal)?,
                }
            }
            OutputKind::Title => {
                Self::Title(std::str::from_utf8(&payload).map_err(|_| invalid)?.to_owned())
            }
            OutputKind::Bell => Self::Bell,
            OutputKind::Error => {
                Self::Error(serde_json::from_slice(&payload).map_err(|_| invalid)?)
            }
            OutputKind::Ping => Self::Ping,
        })
    }
}
