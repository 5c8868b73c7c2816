//! What the screen answers, tells, and draws again.

mod fidelity;

use provost_sandbox::pty::PtySize;

use proptest::prelude::*;

use super::TerminalScreen;

fn screen(bytes: &[u8]) -> TerminalScreen {
    let mut screen = TerminalScreen::new(PtySize { cols: 20, rows: 5 });
    screen.draw(bytes);
    screen
}

#[test]
fn what_programs_ask_is_answered_here() {
    for (query, answer) in [
        ("\x1b[c", "\x1b[?6c"),
        ("ab\x1b[6n", "\x1b[1;3R"),
        ("\x1b[5n", "\x1b[0n"),
        ("\x1b[?2004$p", "\x1b[?2004;2$y"),
        ("\x1b[?2004h\x1b[?2004$p", "\x1b[?2004;1$y"),
        ("\x1b[18t", "\x1b[8;5;20t"),
        ("\x1b]11;?\x07", "\x1b]11;rgb:1212/1414/1717\x07"),
        ("\x1b]10;?\x1b\\", "\x1b]10;rgb:d4d4/d4d4/d4d4\x1b\\"),
        ("\x1b]11;#102030\x07\x1b]11;?\x07", "\x1b]11;rgb:1010/2020/3030\x07"),
        ("\x1b]52;c;aGk=\x07\x1b]52;c;?\x07", ""),
        ("plain", ""),
    ] {
        let mut screen = TerminalScreen::new(PtySize { cols: 20, rows: 5 });
        let effects = screen.draw(query.as_bytes());
        assert_eq!(String::from_utf8_lossy(&effects.responses), answer, "{query:?}");
    }
}

#[test]
fn titles_and_the_bell_are_reported_once() {
    let mut screen = TerminalScreen::new(PtySize { cols: 20, rows: 5 });
    let effects = screen.draw(b"\x1b]0;one\x07\x1b]2;two\x07\x07");
    assert_eq!((effects.title.as_deref(), effects.bell), (Some("two"), true));
    let effects = screen.draw(b"x");
    assert_eq!((effects.title, effects.bell), (None, false));
    let long = format!("\x1b]2;{}\x07", "é".repeat(5000));
    let title = screen.draw(long.as_bytes()).title.unwrap();
    assert!(
        title.len() <= provost_proto::limits::MAX_TERMINAL_TITLE_BYTES && title.starts_with('é')
    );
}

#[test]
fn a_snapshot_drawn_on_an_empty_screen_gives_the_same_snapshot() {
    for bytes in [
        &b"hello\r\nworld"[..],
        b"\x1b[31mred\x1b[0m plain \x1b[1;4mbold",
        b"12345678901234567890",
        b"123456789012345678901",
        b"main\x1b[?1049h\x1b[3;4Halt\x1b[7m",
        b"\x1b[2;4r\x1b[?6h\x1b[2;2Hin",
        b"1\n2\n3\n4\n5\n6\n7\n8\n9",
        "wide 漢字 and 😀\u{301}".as_bytes(),
        b"\x1b[3g\x1b[5G\x1bHx\x1b[44m\x1b[K\x1b[3;1H",
        b"\x1b(0lqk\x1b(B \x1b[?25l\x1b[?2004h\x1b[?1002h\x1b[?1006h\x1b[5 q",
    ] {
        let mut first = screen(bytes);
        let snapshot = first.encode_snapshot();
        let again = screen(&snapshot).encode_snapshot();
        assert_eq!(
            String::from_utf8_lossy(&snapshot),
            String::from_utf8_lossy(&again),
            "{:?}",
            String::from_utf8_lossy(bytes)
        );
    }
}

#[test]
fn looking_at_the_main_screen_changes_nothing_of_the_other() {
    let mut screen = screen(b"main\x1b[?1049h\x1b[2;3Hother");
    let before = screen.read_text(0);
    let snapshot = screen.encode_snapshot();
    assert_eq!(screen.read_text(0), before);
    assert_eq!(screen.encode_snapshot(), snapshot);
    screen.draw(b"\x1b[?1049l!");
    assert_eq!(screen.read_text(0).lines[0], "main!");
}

#[test]
fn a_screen_of_any_size_is_drawn_without_harm() {
    for (cols, rows) in [(1, 1), (1, 5), (5, 1), (2, 2), (1000, 500)] {
        let mut screen = TerminalScreen::new(PtySize { cols, rows });
        screen.draw("漢字😀abc\r\n\t\x1b[5;5Hx\x1b[2J\x1b[?1049h漢".as_bytes());
        screen.resize(PtySize { cols: rows, rows: cols });
        screen.draw("漢x\x1b[?1049l".as_bytes());
        assert!(!screen.encode_snapshot().is_empty());
    }
}

/// A piece of what programs print in floods.
fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => "[ -~]{0,30}",
        2 => "[äß漢字😀\u{301}\t]{0,12}",
        1 => prop::sample::select(vec!["\n", "\r", "\x7f"]).prop_map(str::to_owned),
        3 => prop::sample::select(vec![
            "\x1b[m", "\x1b[0m", "\x1b[0;1;33m", "\x1b[31m", "\x1b[48;5;20m", "\x1b[4;7m",
            "\x1b[38:2::1:2:3m", "\x1b[24m",
        ])
        .prop_map(str::to_owned),
        4 => Just("\r\n".to_owned()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn a_flood_that_was_skimmed_looks_as_if_all_of_it_was_drawn(
        before in "([a-z]{0,9}|\r\n|\x1b\\[[0-9]{1,2};3H|\x1b\\[44m|\x1b\\[\\?7l|\x1b\\[4h|\x1b\\(0|\x1b7){0,12}",
        pieces in prop::collection::vec(piece(), 1..60),
        n_times in 90..400_usize,
        after in "[a-z]{0,5}(\x1b8)?[a-z]{0,5}",
    ) {
        let flood = pieces.concat().repeat(n_times);
        let (mut whole, mut skimmed) = (screen(before.as_bytes()), screen(before.as_bytes()));
        whole.draw(flood.as_bytes());
        if skimmed.skim(flood.as_bytes()).is_err() {
            // Too few lines: nothing was drawn.
            skimmed.draw(flood.as_bytes());
        }
        whole.draw(after.as_bytes());
        skimmed.draw(after.as_bytes());
        let [whole, skimmed] = [whole, skimmed].map(|mut screen| screen.encode_snapshot());
        prop_assert_eq!(String::from_utf8_lossy(&whole), String::from_utf8_lossy(&skimmed));
    }
}

#[test]
fn a_flood_is_skimmed_only_where_lines_scroll() {
    let flood = "line\r\n".repeat(3000);
    for (sentence, before, skims) in [
        ("a plain screen", "", true),
        ("a colored one", "\x1b[31mred", true),
        ("the other screen", "\x1b[?1049h", false),
        ("margins", "\x1b[2;4r", false),
        ("a program that draws at once later", "\x1b[?2026hx", false),
        ("a sequence the parser does not know, begun", "\x1b[!", false),
    ] {
        assert_eq!(screen(before.as_bytes()).skim(flood.as_bytes()).is_ok(), skims, "{sentence}");
    }
}
