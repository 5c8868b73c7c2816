//! Golden bytes of every frame: the messages are those of the golden files of `provost-proto`.

use std::fmt::Write as _;

use expect_test::expect_file;

use super::*;

const MESSAGES: &str = include_str!("../../../provost-proto/tests/golden/files/kernel.txt");

/// The messages of one section.
fn section<T: DeserializeOwned>(heading: &str) -> Vec<T> {
    let (_, rest) = MESSAGES.split_once(&format!("## {heading}\n")).unwrap();
    rest.lines()
        .take_while(|line| line.starts_with('{'))
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Hexadecimal digits, with the text behind them where the payload is text.
fn shown(frame: &[u8]) -> String {
    let (head, payload) = frame.split_at(FRAME_HEADER_BYTES);
    let hex = |bytes: &[u8]| {
        bytes.iter().fold(String::new(), |mut hex, byte| {
            write!(hex, "{byte:02x}").unwrap();
            hex
        })
    };
    match std::str::from_utf8(payload) {
        Ok(text) if head[FRAME_HEADER_BYTES - 1] != KIND_OUTPUT => format!("{} {text}", hex(head)),
        Ok(_) | Err(_) => format!("{} {}", hex(head), hex(payload)),
    }
}

#[tokio::test]
async fn frames_keep_their_bytes() {
    let questions: Vec<RpcRequest> = section("requests");
    let answers: Vec<RpcResponse> = section("responses");
    let reports: Vec<KernelReport> = section("reports");
    let mut text = String::new();
    for question in questions {
        let frame = frame_to_bytes(&KernelFrame::Request(question.clone())).unwrap();
        writeln!(text, "{}", shown(&frame)).unwrap();
        let read = FrameReader::new(&frame[..]).next().await.unwrap();
        assert!(matches!(read, Some(KernelFrame::Request(read)) if read == question));
    }
    for answer in answers {
        let frame = frame_to_bytes(&KernelFrame::Response(answer.clone())).unwrap();
        writeln!(text, "{}", shown(&frame)).unwrap();
        let read = FrameReader::new(&frame[..]).next().await.unwrap();
        assert!(matches!(read, Some(KernelFrame::Response(read)) if read == answer));
        if let RpcResponse { id, result: Some(result), .. } = &answer {
            let mut straight = Vec::new();
            append_result(*id, result, &mut straight).unwrap();
            assert_eq!(straight, frame);
        }
    }
    for report in reports {
        let frame = frame_to_bytes(&KernelFrame::Report(report.clone())).unwrap();
        writeln!(text, "{}", shown(&frame)).unwrap();
        let read = FrameReader::new(&frame[..]).next().await.unwrap();
        assert!(matches!(read, Some(KernelFrame::Report(read)) if read == report));
    }
    expect_file!["../../tests/golden/frames.txt"].assert_eq(&text);
}
