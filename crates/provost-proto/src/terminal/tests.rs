//! Property tests: frames decode to what was encoded, and any bytes are handled.

use bytes::{Bytes, BytesMut};
use proptest::prelude::*;

use super::{
    ForwardedInput, ForwardedOutput, FrameError, StreamEnd, TerminalInputFrame,
    TerminalOutputFrame, encode_data_header,
};
use crate::Code;
use crate::kernel::ErrorInfo;
use crate::limits::{MAX_TERMINAL_FRAME_BYTES, MAX_TERMINAL_INPUT_BYTES};

fn any_bytes() -> impl Strategy<Value = Bytes> {
    prop::collection::vec(any::<u8>(), 0..300).prop_map(Bytes::from)
}

fn any_from() -> impl Strategy<Value = TerminalOutputFrame> {
    prop_oneof![
        (any::<u64>(), any_bytes())
            .prop_map(|(offset, bytes)| TerminalOutputFrame::Data { offset, bytes }),
        (any::<u64>(), any::<u16>(), any::<u16>(), any_bytes()).prop_map(
            |(offset, cols, rows, bytes)| TerminalOutputFrame::Snapshot {
                offset,
                cols,
                rows,
                bytes
            }
        ),
        (any::<u64>(), any::<u16>(), any::<u16>())
            .prop_map(|(offset, cols, rows)| TerminalOutputFrame::Resize { offset, cols, rows }),
        (any::<Option<i32>>(), any::<Option<i32>>())
            .prop_map(|(exit_code, signal)| TerminalOutputFrame::Exit { exit_code, signal }),
        ".{0,40}".prop_map(TerminalOutputFrame::Title),
        Just(TerminalOutputFrame::Bell),
        ".{0,40}".prop_map(|message| TerminalOutputFrame::Error(ErrorInfo {
            code: Code::PtyDead,
            message,
            details: None
        })),
    ]
}

fn any_to() -> impl Strategy<Value = TerminalInputFrame> {
    prop_oneof![
        any_bytes().prop_map(TerminalInputFrame::Input),
        (any::<u16>(), any::<u16>())
            .prop_map(|(cols, rows)| TerminalInputFrame::Resize { cols, rows }),
        any::<u64>().prop_map(|offset| TerminalInputFrame::Ack { offset }),
    ]
}

/// Decodes all frames of bytes that arrive in pieces of this size.
fn in_pieces<T>(
    bytes: &[u8],
    size: usize,
    decode: impl Fn(&mut BytesMut) -> Result<Option<T>, FrameError>,
) -> Result<Vec<T>, FrameError> {
    let (mut buffer, mut frames) = (BytesMut::new(), Vec::new());
    for piece in bytes.chunks(size) {
        buffer.extend_from_slice(piece);
        while let Some(frame) = decode(&mut buffer)? {
            frames.push(frame);
        }
    }
    Ok(frames)
}

/// The frames that the daemon forwards of bytes that arrive in pieces of this size.
fn forwarded(bytes: &[u8], size: usize) -> Result<Vec<ForwardedOutput>, FrameError> {
    in_pieces(bytes, size, ForwardedOutput::take)
}

/// What a client reads in messages.
fn decode_all(messages: &[ForwardedOutput]) -> Result<Vec<TerminalOutputFrame>, FrameError> {
    let frames =
        messages.iter().map(|sent| TerminalOutputFrame::decode_message(sent.bytes.clone()));
    Ok(frames.collect::<Result<Vec<_>, _>>()?.concat())
}

fn encode_all(frames: &[TerminalOutputFrame]) -> Vec<u8> {
    frames.iter().flat_map(|frame| frame.encode().unwrap().into_bytes()).collect()
}

fn ends_stream(frame: &TerminalOutputFrame) -> bool {
    matches!(frame, TerminalOutputFrame::Exit { .. } | TerminalOutputFrame::Error(_))
}

proptest! {
    #[test]
    fn what_a_kernel_writes_is_forwarded_byte_by_byte_and_read_by_the_client(
        sent in prop::collection::vec(any_from(), 0..8), size in 1_usize..64,
    ) {
        let bytes = encode_all(&sent);
        let messages = forwarded(&bytes, size).unwrap();
        let passed: Vec<u8> = messages.iter().flat_map(|message| message.bytes.clone()).collect();
        prop_assert_eq!(passed, bytes);
        for message in &messages {
            let frames = TerminalOutputFrame::decode_message(message.bytes.clone()).unwrap();
            let last = frames.last().unwrap();
            prop_assert_eq!(message.end.is_some(), ends_stream(last));
            prop_assert!(!frames[..frames.len() - 1].iter().any(ends_stream));
        }
        prop_assert_eq!(decode_all(&messages).unwrap(), sent);
    }

    #[test]
    fn what_a_client_sends_reads_back_in_pieces_of_any_size(
        sent in prop::collection::vec(any_to(), 0..8), size in 1_usize..64,
    ) {
        let bytes: Vec<u8> = sent.iter().flat_map(|frame| frame.encode().unwrap()).collect();
        let message = ForwardedInput::from_message(bytes.clone().into()).unwrap();
        prop_assert_eq!(message.bytes(), &bytes[..]);
        prop_assert_eq!(in_pieces(&bytes, size, TerminalInputFrame::decode).unwrap(), sent);
    }

    #[test]
    fn no_bytes_make_a_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        drop(forwarded(&bytes, 7));
        drop(in_pieces(&bytes, 7, TerminalInputFrame::decode));
        drop(TerminalOutputFrame::decode_message(bytes.clone().into()));
        drop(ForwardedInput::from_message(bytes.into()));
    }

    #[test]
    fn no_payload_of_any_kind_makes_a_reader_panic(
        kind in 14_u8..36, payload in prop::collection::vec(any::<u8>(), 0..40),
    ) {
        let mut bytes = u32::try_from(payload.len()).unwrap().to_be_bytes().to_vec();
        bytes.push(kind);
        bytes.extend_from_slice(&payload);
        drop(forwarded(&bytes, 9));
        drop(TerminalOutputFrame::decode_message(bytes.clone().into()));
        // The daemon forwards exactly what the kernel understands.
        let understood = in_pieces(&bytes, 9, TerminalInputFrame::decode);
        let checked = ForwardedInput::from_message(bytes.into());
        prop_assert_eq!(understood.map(|_| ()), checked.map(|_| ()));
    }

    #[test]
    fn a_message_that_ends_within_a_frame_is_refused(
        first in any_to(), last in any_to(), output in any_from(), missing in 1_usize..20,
    ) {
        let last = last.encode().unwrap();
        let cut = last.len().saturating_sub(missing).max(1);
        let message = [&first.encode().unwrap()[..], &last[..cut]].concat();
        prop_assert_eq!(ForwardedInput::from_message(message.into()), Err(FrameError::Truncated));
        let output = output.encode().unwrap().into_bytes();
        let cut = output.slice(..output.len().saturating_sub(missing).max(1));
        prop_assert_eq!(TerminalOutputFrame::decode_message(cut), Err(FrameError::Truncated));
    }
}

#[test]
fn what_is_too_large_is_refused_before_it_is_read_or_sent() {
    let limit = MAX_TERMINAL_INPUT_BYTES;
    let size = limit + 1;
    let long = TerminalInputFrame::Input(vec![b'x'; size].into());
    let refusal = FrameError::TooLarge { size, limit };
    assert_eq!(long.encode(), Err(refusal.clone()));
    let mut head = BytesMut::from(&u32::try_from(size).unwrap().to_be_bytes()[..]);
    head.extend_from_slice(&[32]);
    assert_eq!(TerminalInputFrame::decode(&mut head), Err(refusal.clone()));
    assert_eq!(ForwardedInput::from_message(head.freeze()), Err(refusal));
    assert!(encode_data_header(0, MAX_TERMINAL_FRAME_BYTES - 8).is_ok());
    assert!(encode_data_header(0, MAX_TERMINAL_FRAME_BYTES - 7).is_err());
    assert!(encode_data_header(0, usize::MAX).is_err());
    let mut head = BytesMut::from(&[0xff, 0xff, 0xff, 0xff, 16][..]);
    let refusal = ForwardedOutput::take(&mut head).unwrap_err();
    let limit = MAX_TERMINAL_FRAME_BYTES;
    assert_eq!(refusal, FrameError::TooLarge { size: 0xffff_ffff, limit });
}

#[test]
fn frames_that_wait_are_joined_up_to_a_size_and_a_larger_one_is_alone() {
    let frame = |length| TerminalOutputFrame::Data { offset: 1, bytes: vec![b'x'; length].into() };
    let frames = [frame(100_000), frame(10_000), frame(30_000), frame(500_000), frame(1)];
    let messages = forwarded(&encode_all(&frames), usize::MAX).unwrap();
    let sizes: Vec<_> = messages.iter().map(|message| message.bytes.len()).collect();
    assert_eq!(sizes, [110_026, 30_013, 500_013, 14]);
}

#[test]
fn frames_before_a_malformed_one_are_forwarded_and_none_after_the_end() {
    let bell = TerminalOutputFrame::Bell;
    let mut buffer = BytesMut::from(&encode_all(&[bell.clone(), bell.clone()])[..]);
    buffer.extend_from_slice(&[0, 0, 0, 0, 99]);
    let first = ForwardedOutput::take(&mut buffer).unwrap().unwrap();
    assert_eq!(
        first,
        ForwardedOutput { bytes: encode_all(&[bell.clone(), bell]).into(), end: None }
    );
    assert!(ForwardedOutput::take(&mut buffer).is_err());
    let exit = TerminalOutputFrame::Exit { exit_code: Some(0), signal: None };
    let mut buffer = BytesMut::from(&encode_all(&[exit, TerminalOutputFrame::Bell])[..]);
    let last = ForwardedOutput::take(&mut buffer).unwrap().unwrap();
    assert_eq!((last.end, last.bytes.len()), (Some(StreamEnd::Exit), 15));
}

#[test]
fn only_the_daemon_sends_a_ping() {
    let ping = TerminalOutputFrame::Ping.encode().unwrap().into_bytes();
    let read = TerminalOutputFrame::decode_message(ping.clone()).unwrap();
    assert_eq!(read, [TerminalOutputFrame::Ping]);
    let refusal = ForwardedOutput::take(&mut BytesMut::from(&ping[..])).unwrap_err();
    assert_eq!(refusal, FrameError::UnknownKind { kind: 23, size: 0 });
}

#[test]
fn a_frame_that_goes_the_other_way_is_not_understood() {
    let ack = TerminalInputFrame::Ack { offset: 1 }.encode().unwrap();
    let error = ForwardedOutput::take(&mut BytesMut::from(&ack[..])).unwrap_err();
    assert_eq!(error.to_string(), "a frame of kind 34 with 8 bytes is not valid");
    let bell = TerminalOutputFrame::Bell.encode().unwrap().into_bytes();
    let error = ForwardedInput::from_message(bell).unwrap_err();
    assert_eq!(error.to_string(), "a frame of kind 21 with 0 bytes is not valid");
}
