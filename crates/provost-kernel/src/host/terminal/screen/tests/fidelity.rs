//! Snapshots against the terminal that browsers draw with, cell by cell.
//!
//! Recorded programs and hand-written sequences are cut at many bytes. What the
//! reference shows when it is given only the snapshot must be what it shows when
//! it is given all that was printed, at that byte and when both go on from it.

use std::path::Path;

use assert_cmd::Command;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use provost_sandbox::pty::PtySize;
use serde_json::json;

use super::super::{TerminalScreen, incomplete_suffix};

/// Cuts per recording, beside its end.
const CUTS: usize = 24;

const WRITTEN: &[(&str, &str)] = &[
    (
        "colors",
        "\x1b[31ma\x1b[1;32mb\x1b[38;5;200mc\x1b[48;2;1;2;3md\x1b[0;7me\x1b[0;4;9mf\x1b[0;2;3mg\x1b[0;8mh",
    ),
    ("bright colors", "\x1b[91ma\x1b[102mb\x1b[0;1;30mc\x1b[39;49md\x1b[22;24me"),
    (
        "colored blanks",
        "\x1b[44m\x1b[2Jx\x1b[5;5H\x1b[42m\x1b[K\x1b[7;3H\x1b[41m     \x1b[0m\r\n\x1b[45m\x1b[10X",
    ),
    (
        "full line",
        "12345678901234567890123456789012345678901234567890123456789012345678901234567890",
    ),
    (
        "wrapped line",
        "123456789012345678901234567890123456789012345678901234567890123456789012345678901\r\nx",
    ),
    ("pending wrap", "\x1b[3;70H12345678901\x1b[5;71H1234567890"),
    ("pending wrap in color", "\x1b[5;71H\x1b[33;44m1234567890"),
    ("wide at the margin", "\x1b[4;80H漢字\x1b[6;79H漢"),
    ("no wrap", "\x1b[?7l\x1b[3;75H1234567890\x1b[?7h\x1b[5;75H1234567890"),
    (
        "history",
        "1\r\n2\r\n3\r\n4\r\n5\r\n6\r\n7\r\n8\r\n9\r\n10\r\n11\r\n12\r\n13\r\n14\r\n15\r\n16\r\n17\r\n18\r\n19\r\n20\r\n21\r\n22\r\n23\r\n24\r\n25\r\n26\r\n27\r\n28\r\n29\r\n30",
    ),
    ("cleared", "a\r\nb\r\nc\x1b[2J\x1b[Hd\x1b[3;3He\x1b[1Jf\x1b[5;5Hg\x1b[Jh"),
    ("clear above from the second line", "a\r\nbcd\x1b[1J"),
    ("history cleared", "\x1b[20;1H\n\n\n\n\n\n\n\nx\x1b[3Jy"),
    ("alternate", "main text\r\nmore\x1b[?1049h\x1b[2J\x1b[3;3Halt\x1b[31m text"),
    ("alternate, left", "main text\x1b[32m\x1b[?1049h\x1b[3;3Halt\x1b[?1049l back"),
    ("older alternate", "main\x1b[?1047h\x1b[5;5Halt"),
    ("scroll region", "\x1b[5;10r\x1b[10;1Ha\nb\nc\nd\x1b[5;1H\x1bMup\x1b[3S\x1b[2T"),
    ("origin mode", "\x1b[5;10r\x1b[?6h\x1b[2;3Hin\x1b[20;1Hbottom"),
    (
        "insert and delete",
        "\x1b[3;1Habcdef\x1b[3;3H\x1b[2@XY\x1b[2P\x1b[4hz\x1b[4l\x1b[2L\x1b[5;1Hx\x1b[1M",
    ),
    ("insert mode kept", "abc\x1b[1G\x1b[4hX"),
    ("tabs", "a\tb\tc\x1b[3g\x1b[1;5H\x1bH\x1b[1;20H\x1bH\r\na\tb\tc"),
    ("saved cursor", "\x1b[5;7H\x1b[1;35m\x1b7\x1b[0m\x1b[10;10Hx\x1b8y\x1b[2;2H"),
    ("line drawing", "\x1b(0lqqk\x1b(B\r\n\x1b)0\x0elqk\x0fplain"),
    ("line drawing goes on", "\x1b(0lq"),
    ("modes", "\x1b[?1h\x1b=\x1b[?2004h\x1b[?1002h\x1b[?1006h\x1b[?1004h\x1b[?25l"),
    ("mouse off again", "\x1b[?1000h\x1b[?1003h\x1b[?1003l\x1b[?2004h\x1b[?2004l"),
    ("combining", "e\u{301}a\u{308}o\u{302}\u{323} done"),
    ("emoji", "😀 👍 ok ✅ x"),
    ("wide and overwritten", "漢字漢字\x1b[1;2Hx\x1b[1;5H字"),
    ("erase in wide", "漢字漢字\x1b[1;4H\x1b[K\x1b[3;1H漢字\x1b[3;2H\x1b[1K"),
    ("reset", "\x1b[31mabc\x1b[5;10r\x1b[?1049h\x1bcnew"),
    ("soft reset", "\x1b[31mabc\x1b[5;10r\x1b[?6h\x1b[4h\x1b[!pnew"),
    ("test pattern", "\x1b#8\x1b[3;3H\x1b[31mx"),
    ("title and bell", "\x1b]0;title\x07a\x07\x1b]2;other\x1b\\b"),
    ("synchronized", "a\x1b[?2026hb\x1b[3;3Hc"),
    (
        "carriage return over a full line",
        "12345678901234567890123456789012345678901234567890123456789012345678901234567890\rX",
    ),
    ("tab at the margin", "\x1b[2;78Habc\tx\x1b[4;70Ha\tb\tc"),
    ("backspace at the margin", "\x1b[2;78Habc\x08x"),
    ("reverse index at the top", "a\r\nb\x1b[H\x1bM\x1bMc"),
    ("wrapped into nothing", "\x1b[5;80Hxy\x1b[6;1H\x1b[K\x1b[8;1Hz"),
    ("repeat", "a\x1b[5bx"),
];

fn folder(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

/// All streams: their names, their bytes and their widths.
fn streams() -> Vec<(String, Vec<u8>, u16)> {
    let written =
        WRITTEN.iter().map(|(name, text)| ((*name).to_owned(), text.as_bytes().to_vec(), 80));
    let mut all: Vec<_> = written.collect();
    for entry in std::fs::read_dir(folder("tests/recordings")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let cols = if name == "wide" { 79 } else { 80 };
        all.push((name, std::fs::read(path).unwrap(), cols));
    }
    all
}

/// Places spread over a stream, the same in every run, and its end.
fn cuts(length: usize) -> Vec<usize> {
    let mut state = 0x2545_f491_u64;
    let mut all: Vec<_> = (0..CUTS.min(length))
        .map(|_| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            usize::try_from(state >> 33).unwrap() % (length + 1)
        })
        .collect();
    all.push(length);
    all.sort_unstable();
    all.dedup();
    all
}

#[test]
fn a_client_that_comes_late_sees_what_it_would_have_seen() {
    let mut cases = String::new();
    let mut n_cases = 0;
    for (name, bytes, cols) in streams() {
        for cut in cuts(bytes.len()) {
            let (raw, rest) = bytes.split_at(cut);
            let mut screen = TerminalScreen::new(PtySize { cols, rows: 24 });
            screen.draw(raw);
            screen.finish_sync_update();
            let mut snapshot = screen.encode_snapshot();
            snapshot.extend_from_slice(incomplete_suffix(raw));
            let case = json!({
                "name": format!("{name} at {cut}"), "cols": cols, "rows": 24,
                "raw": STANDARD.encode(raw),
                "snapshot": STANDARD.encode(snapshot),
                "rest": STANDARD.encode(rest),
            });
            cases.push_str(&case.to_string());
            cases.push('\n');
            n_cases += 1;
        }
    }
    let web = folder("../../web");
    let missing = "the reference is not installed: run `npm ci` in web, or `cargo xtask test`";
    assert!(web.join("node_modules/@xterm/headless").exists(), "{missing}");
    let mut node = Command::new("node");
    let output =
        node.current_dir(web).arg("scripts/compare-screens.mjs").write_stdin(cases).output();
    let output = output.unwrap();
    let differences = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let n_different = differences.lines().count();
    assert!(differences.is_empty(), "{n_different} differences in {n_cases} cases:\n{differences}");
}
