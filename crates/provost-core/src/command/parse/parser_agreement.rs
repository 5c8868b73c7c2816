//! Property tests: the plain parser and the full grammar agree.

use proptest::prelude::*;

use super::analyzer::CommandAnalyzer;
use super::plain_line_parser;
use crate::command::{CommandAnalysis, UnreadableCommand};

const LINE_PIECES: &[&str] = &[
    "aa",
    "cd x",
    "cd /y",
    "'b c'",
    "\"d e\"",
    "a:b",
    "A=1",
    "2",
    "1",
    "-n",
    "''",
    "x''y",
    "\"q\"'r'",
    "tee f",
    "sudo",
    "git push h:p",
    "ä",
    "if",
    "time",
    "in",
    "&&",
    "||",
    "|",
    ";",
    "&",
    "\n",
    ">",
    ">>",
    "<",
    "2>",
    "2>&1",
    ">&2",
    "&>",
    ">&",
    "|&",
    ";;",
    "=",
    "^",
    ">|",
    "<<",
    "<>",
    "'",
    "\"",
];

fn analyze_both_ways(line: &str) -> Option<[Result<CommandAnalysis, UnreadableCommand>; 2]> {
    let lists = plain_line_parser::parse_plain_line(line)?;
    let (mut quick, mut whole) = (CommandAnalyzer::new(), CommandAnalyzer::new());
    quick.visit_plain_lists(&lists);
    let parsed = whole.analyze_with_full_grammar(line);
    Some([quick.finish(), parsed.and_then(|()| whole.finish())])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn the_quick_way_and_the_grammar_read_the_same(
        pieces in prop::collection::vec((prop::sample::select(LINE_PIECES), prop::bool::weighted(0.8)), 1..9),
    ) {
        let mut line = String::new();
        for (piece, spaced) in pieces {
            line.push_str(piece);
            line.push_str(if spaced { " " } else { "" });
        }
        if let Some([quick, whole]) = analyze_both_ways(&line) {
            prop_assert_eq!(quick, whole, "{:?}", line);
        }
    }
}

#[test]
fn ordinary_lines_go_the_quick_way() {
    for line in [
        "ls",
        "cd web && npm ci && npm run build | tee out.log; git status -sb; ls -la src",
        "git commit -m 'a b' > log 2>&1 &",
        "a || b\nc;",
    ] {
        let [quick, whole] = analyze_both_ways(line).expect(line);
        assert_eq!(quick, whole, "{line}");
    }
}
