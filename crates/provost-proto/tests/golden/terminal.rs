//! The terminal's stream: frames on the kernel's socket, messages on the WebSocket.

use std::fmt::Write as _;

use bytes::{Bytes, BytesMut};
use expect_test::expect_file;
use provost_proto::Code;
use provost_proto::terminal::{
    ClientMessage, ServerMessage, TerminalInputFrame, TerminalOutputFrame, encode_data_header,
};

use crate::Golden;
use crate::samples::{faults, text};

fn from_kernel() -> Vec<TerminalOutputFrame> {
    let bytes = Bytes::from_static(b"\x1b[31mred\xff");
    let mut frames = vec![
        TerminalOutputFrame::Data { offset: 7, bytes: bytes.clone() },
        TerminalOutputFrame::Snapshot { offset: 7, cols: 80, rows: 24, bytes },
        TerminalOutputFrame::Resize { offset: 7, cols: 120, rows: 40 },
        TerminalOutputFrame::Exit { exit_code: Some(1), signal: None },
        TerminalOutputFrame::Exit { exit_code: None, signal: Some(9) },
        TerminalOutputFrame::Title(text("vim \u{e4}")),
        TerminalOutputFrame::Bell,
    ];
    frames.extend(faults().into_iter().map(TerminalOutputFrame::Error));
    crate::assert_every_variant!(
        frames,
        TerminalOutputFrame { Data, Snapshot, Resize, Exit, Title, Bell, Error }
    );
    frames
}

fn to_kernel() -> Vec<TerminalInputFrame> {
    let frames = vec![
        TerminalInputFrame::Input(Bytes::from_static(b"ls\r\xff")),
        TerminalInputFrame::Resize { cols: 120, rows: 40 },
        TerminalInputFrame::Ack { offset: 7 },
    ];
    crate::assert_every_variant!(frames, TerminalInputFrame { Input, Resize, Ack });
    frames
}

fn to_client() -> Vec<ServerMessage> {
    let messages = vec![
        ServerMessage::Snapshot { offset: 7, cols: 80, rows: 24, bytes: 3 },
        ServerMessage::Resize { offset: 7, cols: 120, rows: 40 },
        ServerMessage::Exit { exit_code: Some(1), signal: None },
        ServerMessage::Exit { exit_code: None, signal: Some(9) },
        ServerMessage::Title { title: text("vim \u{e4}") },
        ServerMessage::Bell,
        ServerMessage::Error { code: Code::PtyDead, message: text("the shell has ended") },
        ServerMessage::Ping,
    ];
    crate::assert_every_variant!(
        messages,
        ServerMessage { Snapshot, Resize, Exit, Title, Bell, Error, Ping }
    );
    messages
}

fn from_client() -> Vec<ClientMessage> {
    let messages = vec![
        ClientMessage::Resize { cols: 120, rows: 40 },
        ClientMessage::Ack { offset: 7 },
        ClientMessage::Pong {},
    ];
    crate::assert_every_variant!(messages, ClientMessage { Resize, Ack, Pong });
    messages
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut hex, byte| {
        write!(hex, "{byte:02x}").unwrap();
        hex
    })
}

#[test]
fn messages_of_the_websocket_keep_their_fields() {
    let mut golden = Golden::default();
    golden.section("to the client", &to_client());
    golden.section("from the client", &from_client());
    golden.check(&expect_file!["files/terminal_messages.txt"]);
}

#[test]
fn frames_of_the_terminal_keep_their_bytes() {
    let mut golden = Golden::default();
    golden.heading("from the kernel");
    for frame in from_kernel() {
        let (head, payload) = frame.encode().unwrap();
        let bytes = [&head[..], &payload[..]].concat();
        golden.line(&hex(&bytes));
        let decoded = TerminalOutputFrame::decode(&mut BytesMut::from(&bytes[..])).unwrap();
        assert_eq!(decoded, Some(frame));
    }
    golden.heading("to the kernel");
    for frame in to_kernel() {
        let bytes = frame.encode().unwrap();
        golden.line(&hex(&bytes));
        let decoded = TerminalInputFrame::decode(&mut BytesMut::from(&bytes[..])).unwrap();
        assert_eq!(decoded, Some(frame));
    }
    golden.heading("head of output");
    golden.line(&hex(&encode_data_header(7, 9).unwrap()));
    golden.check(&expect_file!["files/terminal_frames.txt"]);
}
