//! The binary frames of the terminal's stream.
//!
//! Decoding never panics, allocates nothing for frames that are too large, and accepts frames in
//! pieces.

use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};

use crate::kernel::ErrorInfo;
use crate::limits::{MAX_TERMINAL_FRAME_BYTES, MAX_TERMINAL_INPUT_BYTES};

/// The size of length and kind.
pub const FRAME_HEADER_BYTES: usize = 5;

/// The size of everything before the payload of an output frame.
pub const DATA_HEADER_BYTES: usize = FRAME_HEADER_BYTES + 8;

const KIND_DATA: u8 = 16;
const KIND_SNAPSHOT: u8 = 17;
const KIND_RESIZED: u8 = 18;
const KIND_EXIT: u8 = 19;
const KIND_TITLE: u8 = 20;
const KIND_BELL: u8 = 21;
const KIND_ERROR: u8 = 22;
const KIND_INPUT: u8 = 32;
const KIND_RESIZE: u8 = 33;
const KIND_ACK: u8 = 34;

/// A frame from the kernel.
#[derive(Debug, Clone, PartialEq)]
pub enum TerminalOutputFrame {
    /// Output.
    Data {
        /// The offset in the output.
        offset: u64,
        /// The bytes.
        bytes: Bytes,
    },
    /// A snapshot: drawn on an empty terminal, it shows the state of this one.
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
    /// The terminal has another size.
    Resize {
        /// The offset in the output.
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
    Title(String),
    /// The bell rang.
    Bell,
    /// An error; the stream ends.
    Error(ErrorInfo),
}

/// A frame from a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TerminalInputFrame {
    /// Input.
    Input(Bytes),
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
        offset: u64,
    },
}

/// Why bytes are not a valid frame, or a frame cannot be sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// Too large.
    #[error("a frame of {size} bytes is too large; the limit is {limit}")]
    TooLarge {
        /// Its size in bytes.
        size: usize,
        /// The limit in bytes.
        limit: usize,
    },
    /// Unknown kind, or too short for its kind.
    #[error("a frame of kind {kind} with {size} bytes is not valid")]
    UnknownKind {
        /// Its kind.
        kind: u8,
        /// Its size in bytes.
        size: usize,
    },
    /// Not valid UTF-8.
    #[error("a frame of kind {kind} contains invalid text")]
    InvalidText {
        /// Its kind.
        kind: u8,
    },
}

/// The header for `length` bytes of output, so that they need not be copied.
pub fn encode_data_header(
    offset: u64,
    length: usize,
) -> Result<[u8; DATA_HEADER_BYTES], FrameError> {
    let mut bytes = [0; DATA_HEADER_BYTES];
    let mut rest = &mut bytes[..];
    rest.put_u32(check_frame_size(length.saturating_add(8), MAX_TERMINAL_FRAME_BYTES)?);
    rest.put_u8(KIND_DATA);
    rest.put_u64(offset);
    Ok(bytes)
}

impl TerminalOutputFrame {
    /// The header and the payload, which is not copied.
    pub fn encode(&self) -> Result<(Vec<u8>, Bytes), FrameError> {
        let mut fixed = Vec::with_capacity(FRAME_HEADER_BYTES + 12);
        let (kind, payload) = match self {
            Self::Data { offset, bytes } => {
                return Ok((encode_data_header(*offset, bytes.len())?.to_vec(), bytes.clone()));
            }
            Self::Snapshot { offset, cols, rows, bytes } => {
                fixed.put_u64(*offset);
                fixed.put_u16(*cols);
                fixed.put_u16(*rows);
                (KIND_SNAPSHOT, bytes.clone())
            }
            Self::Resize { offset, cols, rows } => {
                fixed.put_u64(*offset);
                fixed.put_u16(*cols);
                fixed.put_u16(*rows);
                (KIND_RESIZED, Bytes::new())
            }
            Self::Exit { exit_code, signal } => {
                put_optional_i32(&mut fixed, *exit_code);
                put_optional_i32(&mut fixed, *signal);
                (KIND_EXIT, Bytes::new())
            }
            Self::Title(title) => (KIND_TITLE, Bytes::copy_from_slice(title.as_bytes())),
            Self::Bell => (KIND_BELL, Bytes::new()),
            Self::Error(fault) => {
                let text = serde_json::to_vec(fault)
                    .map_err(|_| FrameError::InvalidText { kind: KIND_ERROR })?;
                (KIND_ERROR, text.into())
            }
        };
        Ok((encode_frame_header(kind, &fixed, payload.len(), MAX_TERMINAL_FRAME_BYTES)?, payload))
    }

    /// Takes the next frame from the buffer; `None` if it is not complete yet.
    pub fn decode(buffer: &mut BytesMut) -> Result<Option<Self>, FrameError> {
        let Some((kind, mut payload)) = take_frame(buffer, MAX_TERMINAL_FRAME_BYTES)? else {
            return Ok(None);
        };
        let size = payload.len();
        Ok(Some(match (kind, size) {
            (KIND_DATA, 8..) => Self::Data { offset: payload.get_u64(), bytes: payload },
            (KIND_SNAPSHOT, 12..) => {
                let (offset, cols, rows) =
                    (payload.get_u64(), payload.get_u16(), payload.get_u16());
                Self::Snapshot { offset, cols, rows, bytes: payload }
            }
            (KIND_RESIZED, 12) => {
                let (offset, cols, rows) =
                    (payload.get_u64(), payload.get_u16(), payload.get_u16());
                Self::Resize { offset, cols, rows }
            }
            (KIND_EXIT, 10) => {
                let unknown = FrameError::UnknownKind { kind, size };
                let exit_code = get_optional_i32(&mut payload, unknown.clone())?;
                let signal = get_optional_i32(&mut payload, unknown)?;
                Self::Exit { exit_code, signal }
            }
            (KIND_TITLE, _) => {
                let text =
                    std::str::from_utf8(&payload).map_err(|_| FrameError::InvalidText { kind })?;
                Self::Title(text.to_owned())
            }
            (KIND_BELL, 0) => Self::Bell,
            (KIND_ERROR, _) => {
                let fault = serde_json::from_slice(&payload);
                Self::Error(fault.map_err(|_| FrameError::InvalidText { kind })?)
            }
            _ => return Err(FrameError::UnknownKind { kind, size }),
        }))
    }
}

impl TerminalInputFrame {
    /// The bytes of the frame.
    pub fn encode(&self) -> Result<Vec<u8>, FrameError> {
        let mut fixed = Vec::with_capacity(8);
        let (kind, payload) = match self {
            Self::Input(bytes) => (KIND_INPUT, &bytes[..]),
            Self::Resize { cols, rows } => {
                fixed.put_u16(*cols);
                fixed.put_u16(*rows);
                (KIND_RESIZE, &[][..])
            }
            Self::Ack { offset } => {
                fixed.put_u64(*offset);
                (KIND_ACK, &[][..])
            }
        };
        let mut bytes = encode_frame_header(kind, &fixed, payload.len(), MAX_TERMINAL_INPUT_BYTES)?;
        bytes.extend_from_slice(payload);
        Ok(bytes)
    }

    /// Takes the next frame from the buffer; `None` if it is not complete yet.
    pub fn decode(buffer: &mut BytesMut) -> Result<Option<Self>, FrameError> {
        let Some((kind, mut payload)) = take_frame(buffer, MAX_TERMINAL_INPUT_BYTES)? else {
            return Ok(None);
        };
        let size = payload.len();
        Ok(Some(match (kind, size) {
            (KIND_INPUT, _) => Self::Input(payload),
            (KIND_RESIZE, 4) => Self::Resize { cols: payload.get_u16(), rows: payload.get_u16() },
            (KIND_ACK, 8) => Self::Ack { offset: payload.get_u64() },
            _ => return Err(FrameError::UnknownKind { kind, size }),
        }))
    }
}

fn check_frame_size(size: usize, limit: usize) -> Result<u32, FrameError> {
    let fits = u32::try_from(size).ok().filter(|_| size <= limit);
    fits.ok_or(FrameError::TooLarge { size, limit })
}

/// The header and the fixed part of a frame whose payload follows.
fn encode_frame_header(
    kind: u8,
    fixed: &[u8],
    payload: usize,
    limit: usize,
) -> Result<Vec<u8>, FrameError> {
    let length = check_frame_size(fixed.len().saturating_add(payload), limit)?;
    let mut bytes = Vec::with_capacity(FRAME_HEADER_BYTES + fixed.len());
    bytes.put_u32(length);
    bytes.put_u8(kind);
    bytes.put_slice(fixed);
    Ok(bytes)
}

fn take_frame(buffer: &mut BytesMut, limit: usize) -> Result<Option<(u8, Bytes)>, FrameError> {
    let Some(&[a, b, c, d, kind]) = buffer.first_chunk::<FRAME_HEADER_BYTES>() else {
        return Ok(None);
    };
    let size = usize::try_from(u32::from_be_bytes([a, b, c, d])).unwrap_or(usize::MAX);
    if size > limit {
        return Err(FrameError::TooLarge { size, limit });
    }
    if buffer.len() < FRAME_HEADER_BYTES + size {
        return Ok(None);
    }
    buffer.advance(FRAME_HEADER_BYTES);
    Ok(Some((kind, buffer.split_to(size).freeze())))
}

fn put_optional_i32(bytes: &mut Vec<u8>, number: Option<i32>) {
    bytes.put_u8(u8::from(number.is_some()));
    bytes.put_i32(number.unwrap_or(0));
}

/// Refuses what [`put_optional_i32`] does not write.
fn get_optional_i32(bytes: &mut Bytes, refusal: FrameError) -> Result<Option<i32>, FrameError> {
    match (bytes.get_u8(), bytes.get_i32()) {
        (0, 0) => Ok(None),
        (1, number) => Ok(Some(number)),
        _ => Err(refusal),
    }
}
