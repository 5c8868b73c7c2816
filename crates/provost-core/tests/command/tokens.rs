//! Lines of random shell tokens, most of them invalid.

use proptest::prelude::*;

/// Tokens that run only programs that do not exist, and touch no file outside the current folder.
pub(crate) const TOKENS: &[&str] = &[
    "aa",
    "bb",
    "cc",
    "'x y'",
    "\"p q\"",
    "\\z",
    "a\\ b",
    "''",
    "r''m_",
    "\"a\\\"b\"",
    "x\\\ny",
    "$'a\\tb'",
    "$\"l\"",
    "$x",
    "${x}",
    "$(aa)",
    "`bb`",
    "$((1+1))",
    "*",
    "?",
    "[a]",
    "{a,b}",
    "{a",
    "a}",
    "~",
    "~x",
    "#c",
    "a#b",
    "=",
    "A=1",
    "B='c d'",
    "A+=1",
    "A[0]=1",
    "2",
    "-n",
    "--",
    "!",
    "{",
    "}",
    "(",
    ")",
    "if",
    "then",
    "elif",
    "else",
    "fi",
    "for",
    "in",
    "do",
    "done",
    "case",
    "esac",
    "aa)",
    "time",
    "function",
    "coproc",
    "[[",
    "]]",
    "((",
    "))",
    "|",
    "|&",
    "||",
    "&&",
    ";",
    ";;",
    ";&",
    "&",
    "\n",
    ">",
    ">>",
    ">|",
    "<",
    "<>",
    ">&",
    "<&",
    "2>",
    "2>&1",
    "&>",
    "&>>",
    "<<E",
    "<<'E'",
    "<<-E",
    "\nE\n",
    "<<<",
    "<(aa)",
    ">(bb)",
    "\"",
    "'",
    "\\",
    "`",
    "$",
    "$(",
    "${",
    "@(a|b)",
    "!(a)",
    "!!",
    "a=b",
    "%",
    "^",
    "a:b",
    "a,b",
    "ä",
    "日",
    "\\\n",
    ">&-",
    "2",
    "a[",
    "x=(",
    "\t",
];

/// A line of tokens, with or without spaces in between.
pub(crate) fn line(most: usize) -> impl Strategy<Value = String> {
    let piece = (prop::sample::select(TOKENS), prop::bool::weighted(0.8));
    prop::collection::vec(piece, 1..most).prop_map(|pieces| {
        let mut line = String::new();
        for (token, spaced) in pieces {
            line.push_str(token);
            if spaced {
                line.push(' ');
            }
        }
        line
    })
}

/// A line that is more often valid: simple commands between operators.
pub(crate) fn commands() -> impl Strategy<Value = String> {
    let words = &TOKENS[..36];
    let word = prop_oneof![
        6 => prop::sample::select(&TOKENS[..12]),
        1 => prop::sample::select(words),
    ];
    let redirect =
        (prop::sample::select(vec![">", ">>", "2>", "<", "&>", ">|", "2>&1"]), word.clone());
    let redirect = redirect.prop_map(|(operator, word)| {
        if operator == "2>&1" { operator.to_owned() } else { format!("{operator}{word}") }
    });
    let part = prop_oneof![5 => word.prop_map(str::to_owned), 1 => redirect];
    let simple = prop::collection::vec(part, 1..5).prop_map(|parts| parts.join(" "));
    let simple = (prop::sample::select(vec!["aa ", "bb ", "\\cc ", "A=1 aa ", ""]), simple)
        .prop_map(|(program, rest)| format!("{program}{rest}"));
    let operator = prop::sample::select(vec![" | ", " && ", " || ", "; ", " & ", "\n", " |& "]);
    let list = prop::collection::vec((simple, operator), 1..4).prop_map(|list| {
        let mut line = String::new();
        for (simple, operator) in list {
            line += &simple;
            line += operator;
        }
        line.push_str("aa end");
        line
    });
    (list, prop::sample::select(vec!["", "()", "{}", "if", "for", "case", "!", "time"])).prop_map(
        |(list, around)| match around {
            "()" => format!("({list})"),
            "{}" => format!("{{ {list}\n}}"),
            "if" => format!("if {list}\nthen bb; else {list}\nfi"),
            "for" => format!("for i in a b; do {list}\ndone"),
            "case" => format!("case a in b) {list};; a|c) bb;; esac"),
            "!" => format!("! {list}"),
            "time" => format!("time {list}"),
            _ => list,
        },
    )
}
