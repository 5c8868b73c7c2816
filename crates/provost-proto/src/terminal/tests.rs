//! Property tests: frames decode to what was encoded, and any bytes are handled.

use bytes::{Bytes, BytesMut};
use proptest::prelude::*;

use super::frame::{FrameError, TerminalInputFrame, TerminalOutputFrame, encode_data_header};
use super::{ClientMessage, ServerMessage};
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

proptest! {
    #[test]
    fn what_a_terminal_sends_reads_back_in_pieces_of_any_size(
        sent in prop::collection::vec(any_from(), 0..8), size in 1_usize..64,
    ) {
        let mut bytes = Vec::new();
        for frame in &sent {
            let (head, payload) = frame.encode().unwrap();
            bytes.extend_from_slice(&head);
            bytes.extend_from_slice(&payload);
        }
        prop_assert_eq!(in_pieces(&bytes, size, TerminalOutputFrame::decode).unwrap(), sent);
    }

    #[test]
    fn what_a_client_sends_reads_back_in_pieces_of_any_size(
        sent in prop::collection::vec(any_to(), 0..8), size in 1_usize..64,
    ) {
        let bytes: Vec<u8> = sent.iter().flat_map(|frame| frame.encode().unwrap()).collect();
        prop_assert_eq!(in_pieces(&bytes, size, TerminalInputFrame::decode).unwrap(), sent);
    }

    #[test]
    fn no_bytes_make_the_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        drop(in_pieces(&bytes, 7, TerminalOutputFrame::decode));
        drop(in_pieces(&bytes, 7, TerminalInputFrame::decode));
    }

    #[test]
    fn no_payload_of_any_kind_makes_the_reader_panic(
        kind in 14_u8..36, payload in prop::collection::vec(any::<u8>(), 0..40),
    ) {
        let mut bytes = u32::try_from(payload.len()).unwrap().to_be_bytes().to_vec();
        bytes.push(kind);
        bytes.extend_from_slice(&payload);
        drop(in_pieces(&bytes, 9, TerminalOutputFrame::decode));
        drop(in_pieces(&bytes, 9, TerminalInputFrame::decode));
    }
}

#[test]
fn what_is_too_large_is_refused_before_it_is_read_or_sent() {
    let limit = MAX_TERMINAL_INPUT_BYTES;
    let size = limit + 1;
    let long = TerminalInputFrame::Input(vec![b'x'; size].into());
    assert_eq!(long.encode(), Err(FrameError::TooLarge { size, limit }));
    let mut head = BytesMut::from(&u32::try_from(size).unwrap().to_be_bytes()[..]);
    head.extend_from_slice(&[32]);
    assert_eq!(TerminalInputFrame::decode(&mut head), Err(FrameError::TooLarge { size, limit }));
    assert!(encode_data_header(0, MAX_TERMINAL_FRAME_BYTES - 8).is_ok());
    assert!(encode_data_header(0, MAX_TERMINAL_FRAME_BYTES - 7).is_err());
    assert!(encode_data_header(0, usize::MAX).is_err());
}

#[test]
fn a_frame_that_goes_the_other_way_is_not_understood() {
    let mut bytes = BytesMut::from(&TerminalInputFrame::Ack { offset: 1 }.encode().unwrap()[..]);
    let error = TerminalOutputFrame::decode(&mut bytes).unwrap_err();
    assert_eq!(error.to_string(), "a frame of kind 34 with 8 bytes is not valid");
}

#[test]
fn the_messages_of_the_websocket_are_these() {
    let snapshot = ServerMessage::Snapshot { offset: 7, cols: 80, rows: 24, bytes: 3 };
    let exit = ServerMessage::Exit { exit_code: None, signal: Some(9) };
    let error = ServerMessage::Error { code: Code::PtyDead, message: "gone".to_owned() };
    for (message, json) in [
        (snapshot, r#"{"type":"snapshot","offset":7,"cols":80,"rows":24,"bytes":3}"#),
        (exit, r#"{"type":"exit","exitCode":null,"signal":9}"#),
        (error, r#"{"type":"error","code":"PTY_DEAD","message":"gone"}"#),
        (ServerMessage::Bell, r#"{"type":"bell"}"#),
        (ServerMessage::Ping, r#"{"type":"ping"}"#),
    ] {
        assert_eq!(serde_json::to_string(&message).unwrap(), json);
        assert_eq!(serde_json::from_str::<ServerMessage>(json).unwrap(), message);
    }
    for (message, json) in [
        (ClientMessage::Resize { cols: 80, rows: 24 }, r#"{"type":"resize","cols":80,"rows":24}"#),
        (ClientMessage::Ack { offset: 7 }, r#"{"type":"ack","offset":7}"#),
        (ClientMessage::Pong {}, r#"{"type":"pong"}"#),
    ] {
        assert_eq!(serde_json::from_str::<ClientMessage>(json).unwrap(), message);
    }
    for wrong in ["{}", r#"{"type":"ack"}"#, r#"{"type":"ack","offset":-1}"#, r#"{"type":"x"}"#] {
        assert!(serde_json::from_str::<ClientMessage>(wrong).is_err(), "{wrong}");
    }
}
