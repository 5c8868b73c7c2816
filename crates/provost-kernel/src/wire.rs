//! Frames on the socket between the daemon and a kernel.
//!
//! A length (u32, big endian), a kind (one byte), the payload: JSON, except for
//! command output, which is a header of fixed size and the raw bytes. The length is
//! checked before anything is allocated.

use std::io;

use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};
use provost_proto::kernel::{
    JsonRpcVersion, KernelReport, MAX_FRAME_BYTES, OutputChunk, OutputData, OutputStream,
    ReportPayload, RpcRequest, RpcResponse,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::io::{AsyncRead, AsyncReadExt as _};
use uuid::Uuid;

const KIND_REQUEST: u8 = 1;
const KIND_RESPONSE: u8 = 2;
const KIND_REPORT: u8 = 3;
const KIND_OUTPUT: u8 = 4;

/// Bytes of the length and the kind.
const FRAME_HEADER_BYTES: usize = 5;

/// Bytes before the data of an output frame: number, action, stream, offset, dropped.
const OUTPUT_HEADER_BYTES: usize = 8 + 16 + 1 + 8 + 8;

/// How much a read asks for, in bytes.
const READ_BUFFER_BYTES: usize = 256 * 1024;

/// Enough for most requests, in bytes.
const INITIAL_FRAME_CAPACITY: usize = 512;

/// The content of a frame.
#[derive(Debug)]
pub(crate) enum KernelFrame {
    Request(RpcRequest),
    Response(RpcResponse),
    Report(KernelReport),
}

/// Encodes a frame as header and payload; command output is not copied.
pub(crate) fn encode(frame: &KernelFrame) -> io::Result<(Vec<u8>, Bytes)> {
    match frame {
        KernelFrame::Request(request) => encode_json(KIND_REQUEST, request),
        KernelFrame::Response(response) => encode_json(KIND_RESPONSE, response),
        KernelFrame::Report(report) => match &report.what {
            ReportPayload::Output(OutputChunk {
                stream,
                offset,
                dropped,
                data: OutputData::Bytes(data),
            }) => {
                let mut bytes = encode_header(KIND_OUTPUT, OUTPUT_HEADER_BYTES + data.len())?;
                bytes.put_u64(report.number);
                bytes.put_slice(report.action.uuid().as_bytes());
                bytes.put_u8(match stream {
                    OutputStream::Stdout => 1,
                    OutputStream::Stderr => 2,
                });
                bytes.put_u64(*offset);
                bytes.put_u64(*dropped);
                Ok((bytes, data.clone()))
            }
            ReportPayload::Output(_)
            | ReportPayload::Started { .. }
            | ReportPayload::Finished(_)
            | ReportPayload::Runtime(_) => encode_json(KIND_REPORT, report),
        },
    }
}

fn encode_json(kind: u8, payload: &impl Serialize) -> io::Result<(Vec<u8>, Bytes)> {
    let payload = serde_json::to_vec(payload)?;
    Ok((encode_header(kind, payload.len())?, payload.into()))
}

fn encode_header(kind: u8, length: usize) -> io::Result<Vec<u8>> {
    let checked = u32::try_from(length).ok().filter(|_| length <= MAX_FRAME_BYTES);
    let checked = checked.ok_or_else(|| io::Error::other("the frame is too large to send"))?;
    let mut bytes = Vec::with_capacity(FRAME_HEADER_BYTES + OUTPUT_HEADER_BYTES);
    bytes.put_u32(checked);
    bytes.put_u8(kind);
    Ok(bytes)
}

/// Appends a whole frame to a buffer.
pub(crate) fn append_frame(frame: &KernelFrame, to: &mut Vec<u8>) -> io::Result<()> {
    match frame {
        KernelFrame::Request(request) => append_json(KIND_REQUEST, request, to),
        KernelFrame::Response(response) => append_json(KIND_RESPONSE, response, to),
        KernelFrame::Report(_) => {
            let (head, payload) = encode(frame)?;
            to.extend_from_slice(&head);
            to.extend_from_slice(&payload);
            Ok(())
        }
    }
}

/// Appends a successful response, without an intermediate JSON value.
pub(crate) fn append_result(id: u64, result: &impl Serialize, to: &mut Vec<u8>) -> io::Result<()> {
    #[derive(Serialize)]
    struct SuccessResponse<'a, T> {
        jsonrpc: JsonRpcVersion,
        id: u64,
        result: &'a T,
    }
    append_json(KIND_RESPONSE, &SuccessResponse { jsonrpc: JsonRpcVersion::V2, id, result }, to)
}

/// Serializes a payload in place, and fills in its length afterwards.
fn append_json(kind: u8, payload: &impl Serialize, to: &mut Vec<u8>) -> io::Result<()> {
    let begin = to.len();
    to.extend_from_slice(&[0; FRAME_HEADER_BYTES]);
    let written = serde_json::to_writer(&mut *to, payload).map_err(io::Error::from);
    let head = written.and_then(|()| encode_header(kind, to.len() - begin - FRAME_HEADER_BYTES));
    match head {
        Ok(head) => to[begin..begin + FRAME_HEADER_BYTES].copy_from_slice(&head),
        Err(error) => {
            to.truncate(begin);
            return Err(error);
        }
    }
    Ok(())
}

/// A whole frame in one buffer.
pub(crate) fn frame_to_bytes(frame: &KernelFrame) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(INITIAL_FRAME_CAPACITY);
    append_frame(frame, &mut bytes)?;
    Ok(bytes)
}

/// Reads frames. Cancelling a read loses nothing.
#[derive(Debug)]
pub(crate) struct FrameReader<R> {
    from: R,
    buffer: BytesMut,
    /// A frame that was peeked and not taken.
    peeked: Option<KernelFrame>,
}

/// A connection after its last frame.
#[derive(Debug)]
pub(crate) struct UnframedReader<R> {
    pub(crate) from: R,
    /// What was read beyond that frame.
    pub(crate) buffer: BytesMut,
}

impl<R: AsyncRead + Unpin> FrameReader<R> {
    pub(crate) fn new(from: R) -> Self {
        Self { from, buffer: BytesMut::new(), peeked: None }
    }

    /// Returns the next frame without taking it; `None` at the end of the stream.
    pub(crate) async fn peek(&mut self) -> io::Result<Option<&KernelFrame>> {
        if self.peeked.is_none() {
            self.peeked = self.next().await?;
        }
        Ok(self.peeked.as_ref())
    }

    /// For a connection that continues with another protocol. A peeked frame counts as taken.
    pub(crate) fn into_unframed(self) -> UnframedReader<R> {
        UnframedReader { from: self.from, buffer: self.buffer }
    }

    /// The next frame; `None` at the end of the stream.
    pub(crate) async fn next(&mut self) -> io::Result<Option<KernelFrame>> {
        if let Some(frame) = self.peeked.take() {
            return Ok(Some(frame));
        }
        loop {
            let missing = match self.next_length()? {
                Some(length) if self.buffer.len() >= FRAME_HEADER_BYTES + length => {
                    let mut frame = self.buffer.split_to(FRAME_HEADER_BYTES + length);
                    let kind = frame[FRAME_HEADER_BYTES - 1];
                    frame.advance(FRAME_HEADER_BYTES);
                    return decode_frame(kind, frame.freeze()).map(Some);
                }
                Some(length) => FRAME_HEADER_BYTES + length - self.buffer.len(),
                None => FRAME_HEADER_BYTES,
            };
            // Allocates only when the buffer is used up: frames in flight keep it alive.
            if self.buffer.capacity() - self.buffer.len() < missing {
                self.buffer.reserve(missing.max(READ_BUFFER_BYTES));
            }
            if self.from.read_buf(&mut self.buffer).await? == 0 {
                return match self.buffer.len() {
                    0 => Ok(None),
                    _ => Err(io::ErrorKind::UnexpectedEof.into()),
                };
            }
        }
    }

    /// Whether a whole frame has been read and not taken.
    pub(crate) fn has_buffered_frame(&self) -> bool {
        let is_whole = |length| self.buffer.len() >= FRAME_HEADER_BYTES + length;
        self.peeked.is_some() || self.next_length().is_ok_and(|length| length.is_some_and(is_whole))
    }

    /// The length of the next frame, if it has been read.
    fn next_length(&self) -> io::Result<Option<usize>> {
        let Some(&[a, b, c, d]) = self.buffer.first_chunk::<4>() else { return Ok(None) };
        let length = usize::try_from(u32::from_be_bytes([a, b, c, d])).unwrap_or(usize::MAX);
        if length > MAX_FRAME_BYTES {
            return Err(io::Error::other(format!("the frame is too large: {length} bytes")));
        }
        Ok(Some(length))
    }
}

fn decode_frame(kind: u8, mut payload: Bytes) -> io::Result<KernelFrame> {
    Ok(match kind {
        KIND_REQUEST => KernelFrame::Request(parse(&payload)?),
        KIND_RESPONSE => KernelFrame::Response(parse(&payload)?),
        KIND_REPORT => KernelFrame::Report(parse(&payload)?),
        KIND_OUTPUT if payload.len() >= OUTPUT_HEADER_BYTES => {
            let number = payload.get_u64();
            let action = Uuid::from_u128(payload.get_u128()).into();
            let stream = match payload.get_u8() {
                1 => OutputStream::Stdout,
                2 => OutputStream::Stderr,
                other => return Err(io::Error::other(format!("unknown output stream {other}"))),
            };
            let (offset, dropped) = (payload.get_u64(), payload.get_u64());
            let output = OutputChunk { stream, offset, dropped, data: payload.into() };
            KernelFrame::Report(KernelReport {
                number,
                action,
                what: ReportPayload::Output(output),
            })
        }
        other => {
            return Err(io::Error::other(format!(
                "unknown frame kind {other} ({} bytes)",
                payload.len()
            )));
        }
    })
}

fn parse<T: DeserializeOwned>(payload: &[u8]) -> io::Result<T> {
    serde_json::from_slice(payload).map_err(io::Error::other)
}

#[cfg(test)]
mod golden;

#[cfg(test)]
mod tests {
    use super::*;

    fn report(number: u64, data: &[u8]) -> KernelReport {
        let what = ReportPayload::Output(OutputChunk {
            stream: OutputStream::Stderr,
            offset: 7,
            dropped: 3,
            data: data.to_vec().into(),
        });
        KernelReport { number, action: Uuid::from_u128(9).into(), what }
    }

    async fn reports(mut frames: FrameReader<impl AsyncRead + Unpin>) -> Vec<KernelReport> {
        let mut all = Vec::new();
        while let Some(KernelFrame::Report(report)) = frames.next().await.unwrap() {
            all.push(report);
        }
        all
    }

    #[tokio::test]
    async fn output_of_any_bytes_arrives_as_it_was_sent() {
        let large = vec![b'x'; 70_000];
        let sent = [&b""[..], b"text\n", &[0xff, 0, 0x80], &large].map(|data| report(4, data));
        let mut bytes = Vec::new();
        for report in &sent {
            append_frame(&KernelFrame::Report(report.clone()), &mut bytes).unwrap();
        }
        assert_eq!(reports(FrameReader::new(&bytes[..])).await, sent);
    }

    #[tokio::test]
    async fn a_frame_that_is_cut_off_is_an_error_and_not_an_end() {
        let mut bytes = Vec::new();
        append_frame(&KernelFrame::Report(report(1, b"abc")), &mut bytes).unwrap();
        for cut in 1..bytes.len() {
            let mut frames = FrameReader::new(&bytes[..cut]);
            assert!(frames.next().await.is_err(), "cut at {cut}");
        }
        assert!(FrameReader::new(&b""[..]).next().await.unwrap().is_none());
    }

    #[tokio::test]
    async fn a_result_arrives_as_a_response_and_one_that_cannot_be_encoded_leaves_nothing() {
        let mut bytes = b"".to_vec();
        append_result(7, &serde_json::json!({ "content": "a\n\"b\"" }), &mut bytes).unwrap();
        let good = bytes.len();
        let unnamed = std::collections::BTreeMap::from([((1, 2), 3)]);
        assert!(append_result(8, &unnamed, &mut bytes).is_err());
        assert_eq!(bytes.len(), good);
        let mut frames = FrameReader::new(&bytes[..]);
        let Some(KernelFrame::Response(RpcResponse {
            id: 7,
            result: Some(result),
            error: None,
            ..
        })) = frames.next().await.unwrap()
        else {
            panic!("no response");
        };
        assert_eq!(result.to_value()["content"], "a\n\"b\"");
        assert!(frames.next().await.unwrap().is_none());
    }

    #[tokio::test]
    async fn output_without_its_head_or_of_an_unknown_stream_is_refused() {
        let mut short = encode_header(KIND_OUTPUT, 3).unwrap();
        short.extend_from_slice(b"abc");
        assert!(FrameReader::new(&short[..]).next().await.is_err());
        let mut strange = encode_header(KIND_OUTPUT, OUTPUT_HEADER_BYTES).unwrap();
        strange.extend_from_slice(&[9; OUTPUT_HEADER_BYTES]);
        assert!(FrameReader::new(&strange[..]).next().await.is_err());
    }
}
