//! Frames that the daemon forwards as they are. It reads their headers, so that what it sends
//! consists of whole frames within the limits, and looks at nothing else.

use bytes::{Bytes, BytesMut};

use super::frame::{FrameError, FrameHeader, FrameKind as _, InputKind, OutputKind};

/// Frames that wait are joined in one message up to this size; a larger one has its own.
const MAX_JOINED_BYTES: usize = 128 * 1024;

/// The last frame of a kernel's stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamEnd {
    /// The shell has ended.
    Exit,
    /// The kernel disconnects the client.
    Error,
}

/// One or more whole frames, as the kernel wrote them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForwardedOutput {
    /// The frames.
    pub bytes: Bytes,
    /// What the last of them ends the stream with, if it does.
    pub end: Option<StreamEnd>,
}

impl ForwardedOutput {
    /// Takes the whole frames at the beginning of the buffer; `None` if there is none yet. Frames
    /// before a malformed one are taken first.
    pub fn take(buffer: &mut BytesMut) -> Result<Option<Self>, FrameError> {
        let (mut size, mut end) = (0, None);
        while end.is_none() {
            match read_kernel_header(buffer.get(size..).unwrap_or_default()) {
                Ok(Some(header)) if size > 0 && size + header.frame_bytes() > MAX_JOINED_BYTES => {
                    break;
                }
                Ok(Some(header)) => {
                    size += header.frame_bytes();
                    end = stream_end(header.kind);
                }
                Ok(None) => break,
                Err(_) if size > 0 => break,
                Err(error) => return Err(error),
            }
        }
        Ok((size > 0).then(|| Self { bytes: buffer.split_to(size).freeze(), end }))
    }
}

/// The header of a whole frame that a kernel may write.
fn read_kernel_header(bytes: &[u8]) -> Result<Option<FrameHeader<OutputKind>>, FrameError> {
    let header = FrameHeader::read_whole(bytes)?;
    if header.is_some_and(|header: FrameHeader<OutputKind>| header.kind == OutputKind::Ping) {
        return Err(FrameError::UnknownKind { kind: OutputKind::Ping.to_byte(), size: 0 });
    }
    Ok(header)
}

fn stream_end(kind: OutputKind) -> Option<StreamEnd> {
    match kind {
        OutputKind::Exit => Some(StreamEnd::Exit),
        OutputKind::Error => Some(StreamEnd::Error),
        OutputKind::Data
        | OutputKind::Snapshot
        | OutputKind::Resize
        | OutputKind::Title
        | OutputKind::Bell
        | OutputKind::Ping => None,
    }
}

/// The whole frames of a message, as a client wrote them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForwardedInput(Bytes);

impl ForwardedInput {
    /// Checks the header of every frame of a message.
    pub fn from_message(message: Bytes) -> Result<Self, FrameError> {
        let mut rest = &message[..];
        while !rest.is_empty() {
            let header = FrameHeader::<InputKind>::read_whole(rest)?;
            let size = header.ok_or(FrameError::Truncated)?.frame_bytes();
            rest = rest.get(size..).unwrap_or_default();
        }
        Ok(Self(message))
    }

    /// The frames.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}
