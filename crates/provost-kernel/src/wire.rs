//! Frames on the socket between the daemon and a kernel.
//!
//! A length (u32, big endian), a kind (one byte), the payload: JSON. The length
//! is checked before anything is allocated.

use std::io;

use provost_proto::kernel::{Answer, FRAME, Question, Report};
use serde::de::DeserializeOwned;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

const QUESTION: u8 = 1;
const ANSWER: u8 = 2;
const REPORT: u8 = 3;

/// What can stand in a frame.
#[derive(Debug)]
pub(crate) enum Frame {
    Question(Question),
    Answer(Answer),
    Report(Report),
}

/// The bytes of a frame.
pub(crate) fn encode(frame: &Frame) -> io::Result<Vec<u8>> {
    let (kind, payload) = match frame {
        Frame::Question(question) => (QUESTION, serde_json::to_vec(question)?),
        Frame::Answer(answer) => (ANSWER, serde_json::to_vec(answer)?),
        Frame::Report(report) => (REPORT, serde_json::to_vec(report)?),
    };
    let length = u32::try_from(payload.len()).ok().filter(|_| payload.len() <= FRAME);
    let length = length.ok_or_else(|| io::Error::other("a frame is too large to be sent"))?;
    let mut bytes = Vec::with_capacity(payload.len() + 5);
    bytes.extend_from_slice(&length.to_be_bytes());
    bytes.push(kind);
    bytes.extend_from_slice(&payload);
    Ok(bytes)
}

/// Writes a frame.
pub(crate) async fn write(to: &mut (impl AsyncWrite + Unpin), frame: &Frame) -> io::Result<()> {
    to.write_all(&encode(frame)?).await
}

/// Reads a frame; `None` at the end.
pub(crate) async fn read(from: &mut (impl AsyncRead + Unpin)) -> io::Result<Option<Frame>> {
    let mut head = [0; 5];
    match from.read_exact(&mut head).await {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        other => other?,
    };
    let [a, b, c, d, kind] = head;
    let length = usize::try_from(u32::from_be_bytes([a, b, c, d])).unwrap_or(usize::MAX);
    if length > FRAME {
        return Err(io::Error::other(format!("a frame of {length} bytes is too large")));
    }
    let mut payload = vec![0; length];
    from.read_exact(&mut payload).await?;
    Ok(Some(match kind {
        QUESTION => Frame::Question(parse(&payload)?),
        ANSWER => Frame::Answer(parse(&payload)?),
        REPORT => Frame::Report(parse(&payload)?),
        other => return Err(io::Error::other(format!("a frame of the unknown kind {other}"))),
    }))
}

fn parse<T: DeserializeOwned>(payload: &[u8]) -> io::Result<T> {
    serde_json::from_slice(payload).map_err(io::Error::other)
}
