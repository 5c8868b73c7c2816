//! The terminal's stream: frames on the kernel's socket, messages on the WebSocket.

use std::fmt::Write as _;

use bytes::{Bytes, BytesMut};
use expect_test::expect_file;
use provost_proto::Code;
use provost_proto::terminal::{FromTerminal, TerminalHears, TerminalSays, ToTerminal, data_head};

use crate::Golden;
use crate::samples::{faults, text};

fn from_kernel() -> Vec<FromTerminal> {
    let bytes = Bytes::from_static(b"\x1b[31mred\xff");
    let mut frames = vec![
        FromTerminal::Data { offset: 7, bytes: bytes.clone() },
        FromTerminal::Snapshot { offset: 7, cols: 80, rows: 24, bytes },
        FromTerminal::Resize { offset: 7, cols: 120, rows: 40 },
        FromTerminal::Exit { exit_code: Some(1), signal: None },
        FromTerminal::Exit { exit_code: None, signal: Some(9) },
        FromTerminal::Title(text("vim \u{e4}")),
        FromTerminal::Bell,
    ];
    frames.extend(faults().into_iter().map(FromTerminal::Error));
    crate::assert_every_variant!(
        frames,
        FromTerminal { Data, Snapshot, Resize, Exit, Title, Bell, Error }
    );
    frames
}

fn to_kernel() -> Vec<ToTerminal> {
    let frames = vec![
        ToTerminal::Input(Bytes::from_static(b"ls\r\xff")),
        ToTerminal::Resize { cols: 120, rows: 40 },
        ToTerminal::Ack { offset: 7 },
    ];
    crate::assert_every_variant!(frames, ToTerminal { Input, Resize, Ack });
    frames
}

fn to_client() -> Vec<TerminalSays> {
    let messages = vec![
        TerminalSays::Snapshot { offset: 7, cols: 80, rows: 24, bytes: 3 },
        TerminalSays::Resize { offset: 7, cols: 120, rows: 40 },
        TerminalSays::Exit { exit_code: Some(1), signal: None },
        TerminalSays::Exit { exit_code: None, signal: Some(9) },
        TerminalSays::Title { title: text("vim \u{e4}") },
        TerminalSays::Bell,
        TerminalSays::Error { code: Code::PtyDead, message: text("the shell has ended") },
        TerminalSays::Ping,
    ];
    crate::assert_every_variant!(
        messages,
        TerminalSays { Snapshot, Resize, Exit, Title, Bell, Error, Ping }
    );
    messages
}

fn from_client() -> Vec<TerminalHears> {
    let messages = vec![
        TerminalHears::Resize { cols: 120, rows: 40 },
        TerminalHears::Ack { offset: 7 },
        TerminalHears::Pong {},
    ];
    crate::assert_every_variant!(messages, TerminalHears { Resize, Ack, Pong });
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
        let decoded = FromTerminal::decode(&mut BytesMut::from(&bytes[..])).unwrap();
        assert_eq!(decoded, Some(frame));
    }
    golden.heading("to the kernel");
    for frame in to_kernel() {
        let bytes = frame.encode().unwrap();
        golden.line(&hex(&bytes));
        let decoded = ToTerminal::decode(&mut BytesMut::from(&bytes[..])).unwrap();
        assert_eq!(decoded, Some(frame));
    }
    golden.heading("head of output");
    golden.line(&hex(&data_head(7, 9).unwrap()));
    golden.check(&expect_file!["files/terminal_frames.txt"]);
}
