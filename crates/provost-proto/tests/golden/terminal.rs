//! The frames of the terminal's stream, on the kernel's socket and on the WebSocket. The tests of
//! the web UI read the same file.

use std::fmt::Write as _;

use bytes::{Bytes, BytesMut};
use expect_test::expect_file;
use provost_proto::terminal::{
    EncodedFrame, ForwardedInput, ForwardedOutput, FrameKind as _, InputKind, OutputKind,
    StreamEnd, TerminalInputFrame, TerminalOutputFrame, encode_data_header,
};

use crate::Golden;
use crate::samples::{faults, text};

fn to_client() -> Vec<TerminalOutputFrame> {
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
    // The only one that the daemon writes and no kernel.
    frames.push(TerminalOutputFrame::Ping);
    crate::assert_every_variant!(
        frames,
        TerminalOutputFrame { Data, Snapshot, Resize, Exit, Title, Bell, Error, Ping }
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

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut hex, byte| {
        write!(hex, "{byte:02x}").unwrap();
        hex
    })
}

/// The daemon forwards a frame of a kernel unchanged, and knows whether it is the last.
fn assert_forwarded(frame: &TerminalOutputFrame, bytes: &Bytes) {
    let forwarded = ForwardedOutput::take(&mut BytesMut::from(&bytes[..]));
    let end = match frame {
        TerminalOutputFrame::Exit { .. } => Some(StreamEnd::Exit),
        TerminalOutputFrame::Error(_) => Some(StreamEnd::Error),
        TerminalOutputFrame::Ping => {
            assert!(forwarded.is_err(), "no kernel sends it");
            return;
        }
        TerminalOutputFrame::Data { .. }
        | TerminalOutputFrame::Snapshot { .. }
        | TerminalOutputFrame::Resize { .. }
        | TerminalOutputFrame::Title(_)
        | TerminalOutputFrame::Bell => None,
    };
    assert_eq!(forwarded.unwrap(), Some(ForwardedOutput { bytes: bytes.clone(), end }));
}

#[test]
fn frames_of_the_terminal_keep_their_bytes() {
    let mut golden = Golden::default();
    golden.heading("to the client");
    for frame in to_client() {
        let EncodedFrame { header, payload } = frame.encode().unwrap();
        let bytes = Bytes::from([&header[..], &payload[..]].concat());
        golden.line(&hex(&bytes));
        assert_forwarded(&frame, &bytes);
        assert_eq!(TerminalOutputFrame::decode_message(bytes).unwrap(), [frame]);
    }
    golden.heading("to the kernel");
    for frame in to_kernel() {
        let bytes = frame.encode().unwrap();
        golden.line(&hex(&bytes));
        assert_eq!(ForwardedInput::from_message(bytes.clone()).unwrap().bytes(), &bytes[..]);
        let decoded = TerminalInputFrame::decode(&mut BytesMut::from(&bytes[..])).unwrap();
        assert_eq!(decoded, Some(frame));
    }
    golden.heading("kinds");
    for (kind, name) in OutputKind::ALL {
        golden.line(&format!("{} {name}", kind.to_byte()));
    }
    for (kind, name) in InputKind::ALL {
        golden.line(&format!("{} {name}", kind.to_byte()));
    }
    golden.heading("head of output");
    golden.line(&hex(&encode_data_header(7, 9).unwrap()));
    golden.check(&expect_file!["files/terminal_frames.txt"]);
}
