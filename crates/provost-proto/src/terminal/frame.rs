//! The frames of the terminal's stream as bytes.
//!
//! Reading never panics, allocates nothing for what is too large, and takes
//! frames in pieces as they arrive.

use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};

use crate::kernel::Fault;
use crate::limits::{TERMINAL_FRAME, TERMINAL_INPUT};

/// The length and the kind.
pub const HEAD: usize = 5;

/// All that stands before the bytes of some output.
pub const DATA_HEAD: usize = HEAD + 8;

const DATA: u8 = 16;
const SNAPSHOT: u8 = 17;
const RESIZED: u8 = 18;
const EXIT: u8 = 19;
const TITLE: u8 = 20;
const BELL: u8 = 21;
const ERROR: u8 = 22;
const INPUT: u8 = 32;
const RESIZE: u8 = 33;
const ACK: u8 = 34;

/// What the kernel sends.
#[derive(Debug, Clone, PartialEq)]
pub enum FromTerminal {
    /// Output.
    Data {
        /// How many bytes came before.
        offset: u64,
        /// The bytes.
        bytes: Bytes,
    },
    /// What to draw on an empty terminal so that it looks as this one.
    Snapshot {
        /// How many bytes of output are in it.
        offset: u64,
        /// The width.
        cols: u16,
        /// The height.
        rows: u16,
        /// What to draw.
        bytes: Bytes,
    },
    /// The terminal has another size.
    Resize {
        /// How many bytes came before.
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
    Title(String),
    /// The bell rang.
    Bell,
    /// Something is wrong, and the stream ends.
    Error(Fault),
}

/// What a client sends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToTerminal {
    /// Keys.
    Input(Bytes),
    /// The size of the client's window.
    Resize {
        /// The width.
        cols: u16,
        /// The height.
        rows: u16,
    },
    /// The client has drawn all before this byte.
    Ack {
        /// How many bytes.
        offset: u64,
    },
}

/// Bytes that are no frame, or a frame that cannot be sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadFrame {
    /// Longer than any may be.
    #[error("a frame of {size} bytes is too large; {limit} is the most")]
    TooLarge {
        /// Its length.
        size: usize,
        /// The longest.
        limit: usize,
    },
    /// Of a kind that this end does not take, or shorter than its kind is.
    #[error("a frame of the kind {kind} with {size} bytes is not understood")]
    Unknown {
        /// Its kind.
        kind: u8,
        /// Its length.
        size: usize,
    },
    /// A text that is none.
    #[error("a frame of the kind {kind} holds no text that can be read")]
    Text {
        /// Its kind.
        kind: u8,
    },
}

/// What stands before `length` bytes of output, so that they need not be copied.
pub fn data_head(offset: u64, length: usize) -> Result<[u8; DATA_HEAD], BadFrame> {
    let mut bytes = [0; DATA_HEAD];
    let mut rest = &mut bytes[..];
    rest.put_u32(checked(length.saturating_add(8), TERMINAL_FRAME)?);
    rest.put_u8(DATA);
    rest.put_u64(offset);
    Ok(bytes)
}

impl FromTerminal {
    /// The bytes of the frame; the payload is not copied but stands apart.
    pub fn encode(&self) -> Result<(Vec<u8>, Bytes), BadFrame> {
        let mut fixed = Vec::with_capacity(HEAD + 12);
        let (kind, payload) = match self {
            Self::Data { offset, bytes } => {
                return Ok((data_head(*offset, bytes.len())?.to_vec(), bytes.clone()));
            }
            Self::Snapshot { offset, cols, rows, bytes } => {
                fixed.put_u64(*offset);
                fixed.put_u16(*cols);
                fixed.put_u16(*rows);
                (SNAPSHOT, bytes.clone())
            }
            Self::Resize { offset, cols, rows } => {
                fixed.put_u64(*offset);
                fixed.put_u16(*cols);
                fixed.put_u16(*rows);
                (RESIZED, Bytes::new())
            }
            Self::Exit { exit_code, signal } => {
                put_optional(&mut fixed, *exit_code);
                put_optional(&mut fixed, *signal);
                (EXIT, Bytes::new())
            }
            Self::Title(title) => (TITLE, Bytes::copy_from_slice(title.as_bytes())),
            Self::Bell => (BELL, Bytes::new()),
            Self::Error(fault) => {
                let text = serde_json::to_vec(fault).map_err(|_| BadFrame::Text { kind: ERROR })?;
                (ERROR, text.into())
            }
        };
        Ok((framed(kind, &fixed, payload.len(), TERMINAL_FRAME)?, payload))
    }

    /// Takes the next frame from the buffer; none if it is not all there yet.
    pub fn decode(buffer: &mut BytesMut) -> Result<Option<Self>, BadFrame> {
        let Some((kind, mut payload)) = next(buffer, TERMINAL_FRAME)? else { return Ok(None) };
        let size = payload.len();
        Ok(Some(match (kind, size) {
            (DATA, 8..) => Self::Data { offset: payload.get_u64(), bytes: payload },
            (SNAPSHOT, 12..) => {
                let (offset, cols, rows) =
                    (payload.get_u64(), payload.get_u16(), payload.get_u16());
                Self::Snapshot { offset, cols, rows, bytes: payload }
            }
            (RESIZED, 12) => {
                let (offset, cols, rows) =
                    (payload.get_u64(), payload.get_u16(), payload.get_u16());
                Self::Resize { offset, cols, rows }
            }
            (EXIT, 10) => {
                let unknown = BadFrame::Unknown { kind, size };
                let exit_code = get_optional(&mut payload, unknown.clone())?;
                let signal = get_optional(&mut payload, unknown)?;
                Self::Exit { exit_code, signal }
            }
            (TITLE, _) => {
                let text = std::str::from_utf8(&payload).map_err(|_| BadFrame::Text { kind })?;
                Self::Title(text.to_owned())
            }
            (BELL, 0) => Self::Bell,
            (ERROR, _) => {
                let fault = serde_json::from_slice(&payload);
                Self::Error(fault.map_err(|_| BadFrame::Text { kind })?)
            }
            _ => return Err(BadFrame::Unknown { kind, size }),
        }))
    }
}

impl ToTerminal {
    /// The bytes of the frame.
    pub fn encode(&self) -> Result<Vec<u8>, BadFrame> {
        let mut fixed = Vec::with_capacity(8);
        let (kind, payload) = match self {
            Self::Input(bytes) => (INPUT, &bytes[..]),
            Self::Resize { cols, rows } => {
                fixed.put_u16(*cols);
                fixed.put_u16(*rows);
                (RESIZE, &[][..])
            }
            Self::Ack { offset } => {
                fixed.put_u64(*offset);
                (ACK, &[][..])
            }
        };
        let mut bytes = framed(kind, &fixed, payload.len(), TERMINAL_INPUT)?;
        bytes.extend_from_slice(payload);
        Ok(bytes)
    }

    /// Takes the next frame from the buffer; none if it is not all there yet.
    pub fn decode(buffer: &mut BytesMut) -> Result<Option<Self>, BadFrame> {
        let Some((kind, mut payload)) = next(buffer, TERMINAL_INPUT)? else { return Ok(None) };
        let size = payload.len();
        Ok(Some(match (kind, size) {
            (INPUT, _) => Self::Input(payload),
            (RESIZE, 4) => Self::Resize { cols: payload.get_u16(), rows: payload.get_u16() },
            (ACK, 8) => Self::Ack { offset: payload.get_u64() },
            _ => return Err(BadFrame::Unknown { kind, size }),
        }))
    }
}

fn checked(size: usize, limit: usize) -> Result<u32, BadFrame> {
    let fits = u32::try_from(size).ok().filter(|_| size <= limit);
    fits.ok_or(BadFrame::TooLarge { size, limit })
}

/// The head and the fixed part of a frame whose payload follows.
fn framed(kind: u8, fixed: &[u8], payload: usize, limit: usize) -> Result<Vec<u8>, BadFrame> {
    let length = checked(fixed.len().saturating_add(payload), limit)?;
    let mut bytes = Vec::with_capacity(HEAD + fixed.len());
    bytes.put_u32(length);
    bytes.put_u8(kind);
    bytes.put_slice(fixed);
    Ok(bytes)
}

fn next(buffer: &mut BytesMut, limit: usize) -> Result<Option<(u8, Bytes)>, BadFrame> {
    let Some(&[a, b, c, d, kind]) = buffer.first_chunk::<HEAD>() else { return Ok(None) };
    let size = usize::try_from(u32::from_be_bytes([a, b, c, d])).unwrap_or(usize::MAX);
    if size > limit {
        return Err(BadFrame::TooLarge { size, limit });
    }
    if buffer.len() < HEAD + size {
        return Ok(None);
    }
    buffer.advance(HEAD);
    Ok(Some((kind, buffer.split_to(size).freeze())))
}

fn put_optional(bytes: &mut Vec<u8>, number: Option<i32>) {
    bytes.put_u8(u8::from(number.is_some()));
    bytes.put_i32(number.unwrap_or(0));
}

/// Refuses what was not written by [`put_optional`].
fn get_optional(bytes: &mut Bytes, refusal: BadFrame) -> Result<Option<i32>, BadFrame> {
    match (bytes.get_u8(), bytes.get_i32()) {
        (0, 0) => Ok(None),
        (1, number) => Ok(Some(number)),
        _ => Err(refusal),
    }
}
