//! The frames of a client to the kernel.

use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};

use super::frame::{FRAME_HEADER_BYTES, FrameError, FrameHeader, InputKind};

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

impl TerminalInputFrame {
    /// The bytes of the frame.
    pub fn encode(&self) -> Result<Bytes, FrameError> {
        let mut fixed = Vec::with_capacity(8);
        let (kind, payload) = match self {
            Self::Input(bytes) => (InputKind::Input, &bytes[..]),
            Self::Resize { cols, rows } => {
                fixed.put_u16(*cols);
                fixed.put_u16(*rows);
                (InputKind::Resize, &fixed[..])
            }
            Self::Ack { offset } => {
                fixed.put_u64(*offset);
                (InputKind::Ack, &fixed[..])
            }
        };
        let header = FrameHeader::new(kind, payload.len())?;
        let mut bytes = BytesMut::with_capacity(header.frame_bytes());
        header.write(&mut bytes);
        bytes.extend_from_slice(payload);
        Ok(bytes.freeze())
    }

    /// Takes the next frame from the buffer; `None` if it is not complete yet.
    pub fn decode(buffer: &mut BytesMut) -> Result<Option<Self>, FrameError> {
        let Some(header) = FrameHeader::read_whole(buffer)? else { return Ok(None) };
        buffer.advance(FRAME_HEADER_BYTES);
        let mut payload = buffer.split_to(header.payload_bytes).freeze();
        Ok(Some(match header.kind {
            InputKind::Input => Self::Input(payload),
            InputKind::Resize => Self::Resize { cols: payload.get_u16(), rows: payload.get_u16() },
            InputKind::Ack => Self::Ack { offset: payload.get_u64() },
        }))
    }
}
