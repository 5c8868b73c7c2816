//! The frame of the terminal's stream: its header, its kinds and their sizes.
//!
//! A frame is a length (u32, big endian), a kind (one byte) and a payload of that length. It is
//! the same on the kernel's socket and in a message of the WebSocket, so that the daemon forwards
//! frames without looking beyond their headers.

use bytes::{Buf as _, BufMut as _, Bytes};

use crate::limits::{MAX_TERMINAL_FRAME_BYTES, MAX_TERMINAL_INPUT_BYTES};

/// The WebSocket subprotocol: the version of these frames towards clients. A client that does not
/// offer it, such as a page from before an upgrade, is refused instead of misunderstood.
pub const TERMINAL_SUBPROTOCOL: &str = "provost.terminal.1";

/// The size of length and kind.
pub const FRAME_HEADER_BYTES: usize = 5;

/// The size of everything before the bytes of an output frame.
pub const DATA_HEADER_BYTES: usize = FRAME_HEADER_BYTES + OFFSET_BYTES;

/// The size of an offset.
const OFFSET_BYTES: usize = 8;

/// The size of an offset, a width and a height.
const PLACED_SIZE_BYTES: usize = OFFSET_BYTES + SIZE_BYTES;

/// The size of a width and a height.
const SIZE_BYTES: usize = 4;

/// The size of an exit code and a signal, each with a byte that tells whether it is present.
const EXIT_BYTES: usize = 10;

/// The kinds of frames in one direction.
pub trait FrameKind: Copy {
    /// The longest payload.
    const MAX_PAYLOAD_BYTES: usize;

    /// The kind with this byte.
    fn from_byte(byte: u8) -> Option<Self>;

    /// The byte of this kind.
    fn to_byte(self) -> u8;

    /// Whether a payload of this kind can have this size.
    fn accepts_size(self, size: usize) -> bool;
}

/// The kinds of frames to a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputKind {
    /// An offset, and output.
    Data,
    /// An offset, a width, a height, and the bytes that draw the screen.
    Snapshot,
    /// An offset, a width and a height.
    Resize,
    /// An exit code and a signal.
    Exit,
    /// A title, in UTF-8.
    Title,
    /// Nothing.
    Bell,
    /// An error, in JSON.
    Error,
    /// Nothing. Written by the daemon, never by a kernel.
    Ping,
}

impl OutputKind {
    /// All of them, with their names in the web UI.
    pub const ALL: [(Self, &str); 8] = [
        (Self::Data, "data"),
        (Self::Snapshot, "snapshot"),
        (Self::Resize, "resize"),
        (Self::Exit, "exit"),
        (Self::Title, "title"),
        (Self::Bell, "bell"),
        (Self::Error, "error"),
        (Self::Ping, "ping"),
    ];
}

impl FrameKind for OutputKind {
    const MAX_PAYLOAD_BYTES: usize = MAX_TERMINAL_FRAME_BYTES;

    fn from_byte(byte: u8) -> Option<Self> {
        Self::ALL.into_iter().map(|(kind, _)| kind).find(|kind| kind.to_byte() == byte)
    }

    fn to_byte(self) -> u8 {
        match self {
            Self::Data => 16,
            Self::Snapshot => 17,
            Self::Resize => 18,
            Self::Exit => 19,
            Self::Title => 20,
            Self::Bell => 21,
            Self::Error => 22,
            Self::Ping => 23,
        }
    }

    fn accepts_size(self, size: usize) -> bool {
        match self {
            Self::Data => size >= OFFSET_BYTES,
            Self::Snapshot => size >= PLACED_SIZE_BYTES,
            Self::Resize => size == PLACED_SIZE_BYTES,
            Self::Exit => size == EXIT_BYTES,
            Self::Title | Self::Error => true,
            Self::Bell | Self::Ping => size == 0,
        }
    }
}

/// The kinds of frames from a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InputKind {
    /// Typed bytes.
    Input,
    /// A width and a height.
    Resize,
    /// An offset.
    Ack,
}

impl InputKind {
    /// All of them, with their names in the web UI.
    pub const ALL: [(Self, &str); 3] =
        [(Self::Input, "input"), (Self::Resize, "resize"), (Self::Ack, "ack")];
}

impl FrameKind for InputKind {
    const MAX_PAYLOAD_BYTES: usize = MAX_TERMINAL_INPUT_BYTES;

    fn from_byte(byte: u8) -> Option<Self> {
        Self::ALL.into_iter().map(|(kind, _)| kind).find(|kind| kind.to_byte() == byte)
    }

    fn to_byte(self) -> u8 {
        match self {
            Self::Input => 32,
            Self::Resize => 33,
            Self::Ack => 34,
        }
    }

    fn accepts_size(self, size: usize) -> bool {
        match self {
            Self::Input => true,
            Self::Resize => size == SIZE_BYTES,
            Self::Ack => size == OFFSET_BYTES,
        }
    }
}

/// Why bytes are not a valid frame, or a frame cannot be sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// Too large.
    #[error("a frame of {size} bytes is too large; the limit is {limit}")]
    TooLarge {
        /// The size of its payload in bytes.
        size: usize,
        /// The limit in bytes.
        limit: usize,
    },
    /// Unknown kind, or a size that its kind cannot have.
    #[error("a frame of kind {kind} with {size} bytes is not valid")]
    UnknownKind {
        /// Its kind.
        kind: u8,
        /// The size of its payload in bytes.
        size: usize,
    },
    /// Not valid UTF-8 or JSON.
    #[error("a frame of kind {kind} contains invalid text")]
    InvalidText {
        /// Its kind.
        kind: u8,
    },
    /// A message ends within a frame.
    #[error("a message ends within a frame")]
    Truncated,
}

/// The header of a frame: all that the daemon reads of what it forwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FrameHeader<K> {
    pub(super) kind: K,
    /// The size of the payload.
    pub(super) payload_bytes: usize,
}

impl<K: FrameKind> FrameHeader<K> {
    /// The header of a frame that may be sent.
    pub(super) fn new(kind: K, payload_bytes: usize) -> Result<Self, FrameError> {
        if payload_bytes > K::MAX_PAYLOAD_BYTES {
            return Err(FrameError::TooLarge { size: payload_bytes, limit: K::MAX_PAYLOAD_BYTES });
        }
        if !kind.accepts_size(payload_bytes) {
            return Err(FrameError::UnknownKind { kind: kind.to_byte(), size: payload_bytes });
        }
        Ok(Self { kind, payload_bytes })
    }

    /// Reads the header at the beginning of these bytes; `None` if it is not complete yet. What
    /// is too large or unknown is refused before its payload arrives.
    pub(super) fn read(bytes: &[u8]) -> Result<Option<Self>, FrameError> {
        let Some(&[a, b, c, d, byte]) = bytes.first_chunk::<FRAME_HEADER_BYTES>() else {
            return Ok(None);
        };
        let size = usize::try_from(u32::from_be_bytes([a, b, c, d])).unwrap_or(usize::MAX);
        let kind = K::from_byte(byte).ok_or(FrameError::UnknownKind { kind: byte, size })?;
        Self::new(kind, size).map(Some)
    }

    /// Reads the header of a frame that these bytes hold to its end; `None` if they do not.
    pub(super) fn read_whole(bytes: &[u8]) -> Result<Option<Self>, FrameError> {
        Ok(Self::read(bytes)?.filter(|header| bytes.len() >= header.frame_bytes()))
    }

    /// The size of the whole frame.
    pub(super) fn frame_bytes(self) -> usize {
        FRAME_HEADER_BYTES + self.payload_bytes
    }

    /// Appends the header.
    pub(super) fn write(self, bytes: &mut impl bytes::BufMut) {
        // The limit of a payload is far below this.
        bytes.put_u32(u32::try_from(self.payload_bytes).unwrap_or(u32::MAX));
        bytes.put_u8(self.kind.to_byte());
    }
}

/// A frame of which the payload is not copied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EncodedFrame {
    /// Everything before the payload.
    pub header: Vec<u8>,
    /// The payload, without its part of fixed size.
    pub payload: Bytes,
}

impl EncodedFrame {
    /// The whole frame.
    pub fn into_bytes(self) -> Bytes {
        let mut bytes = self.header;
        bytes.extend_from_slice(&self.payload);
        bytes.into()
    }
}

pub(super) fn put_optional_i32(bytes: &mut Vec<u8>, number: Option<i32>) {
    bytes.put_u8(u8::from(number.is_some()));
    bytes.put_i32(number.unwrap_or(0));
}

/// Refuses what [`put_optional_i32`] does not write.
pub(super) fn get_optional_i32(
    bytes: &mut Bytes,
    refusal: FrameError,
) -> Result<Option<i32>, FrameError> {
    match (bytes.get_u8(), bytes.get_i32()) {
        (0, 0) => Ok(None),
        (1, number) => Ok(Some(number)),
        _ => Err(refusal),
    }
}
