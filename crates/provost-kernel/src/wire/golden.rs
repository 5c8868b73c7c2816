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
    let (head, payload) = frame.split_at(HEAD);
    let hex = |bytes: &[u8]| {
        bytes.iter().fold(String::new(), |mut hex, byte| {
            write!(hex, "{byte:02x}").unwrap();
            hex
        })
    };
    match std::str::from_utf8(payload) {
        Ok(text) if head[HEAD - 1] != OUTPUT => format!("{} {text}", hex(head)),
        Ok(_) | Err(_) => format!("{} {}", hex(head), hex(payload)),
    }
}

#[tokio::test]
async fn frames_keep_their_bytes() {
    let questions: Vec<Question> = section("requests");
    let answers: Vec<Answer> = section("responses");
    let reports: Vec<Report> = section("reports");
    let mut text = String::new();
    for question in questions {
        let frame = bytes(&Frame::Question(question.clone())).unwrap();
        writeln!(text, "{}", shown(&frame)).unwrap();
        let read = Frames::new(&frame[..]).next().await.unwrap();
        assert!(matches!(read, Some(Frame::Question(read)) if read == question));
    }
    for answer in answers {
        let frame = bytes(&Frame::Answer(answer.clone())).unwrap();
        writeln!(text, "{}", shown(&frame)).unwrap();
        let read = Frames::new(&frame[..]).next().await.unwrap();
        assert!(matches!(read, Some(Frame::Answer(read)) if read == answer));
        if let Answer { id, result: Some(result), .. } = &answer {
            let mut straight = Vec::new();
            put_result(*id, result, &mut straight).unwrap();
            assert_eq!(straight, frame);
        }
    }
    for report in reports {
        let frame = bytes(&Frame::Report(report.clone())).unwrap();
        writeln!(text, "{}", shown(&frame)).unwrap();
        let read = Frames::new(&frame[..]).next().await.unwrap();
        assert!(matches!(read, Some(Frame::Report(read)) if read == report));
        let words = in_words(&frame).await.unwrap();
        if words != frame {
            writeln!(text, "{}", shown(&words)).unwrap();
        }
    }
    expect_file!["../../tests/golden/frames.txt"].assert_eq(&text);
}
