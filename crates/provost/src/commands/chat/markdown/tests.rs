//! Rendering of Markdown, whole and in chunks.

use super::*;

fn shown(text: &str) -> String {
    let mut markdown = MarkdownRenderer::new();
    let shown = markdown.push(text);
    // Styles are written as short names.
    let all = shown + &markdown.finish();
    let all = all.replace(RESET, "<>").replace(BOLD, "<b>");
    all.replace(FAINT, "<f>").replace(CODE, "<c>").replace(ITALIC, "<i>")
}

#[test]
fn markdown_is_rendered_with_styles() {
    for (text, looks) in [
        ("plain text\n", "plain text\n"),
        ("two\n\nparagraphs", "two\n\nparagraphs"),
        ("# Title\nx", "<b>Title<>\nx"),
        ("#hashtag\n", "#hashtag\n"),
        ("a **bold** word\n", "a <><b>bold<> word\n"),
        ("**all**\n", "<><b>all<>\n"),
        ("2 ** 3 * 4\n", "2 ** 3 * 4\n"),
        ("run `ls -l **` now\n", "run <><c>ls -l **<> now\n"),
        ("- one\n  * two\n+ three\n", "• one\n  • two\n• three\n"),
        ("-5 and *x*\n", "-5 and <><i>x<>\n"),
        ("**Open the *Preview***\n", "<><b>Open the <><b><i>Preview<><b><>\n"),
        ("*see **this***\n", "<><i>see <><b><i>this<><i><>\n"),
        ("***both***\n", "<><b><><b><i>both<><b><>\n"),
        ("**bold***\n", "<><b>bold<>*\n"),
        ("***\n****\n", "***\n****\n"),
        ("# A *b* c\n", "<b>A <><b><i>b<><b> c<>\n"),
        ("* one *two*\n", "• one <><i>two<>\n"),
        ("all *.rs and *.ts, *really*\n", "all *.rs and *.ts, <><i>really<>\n"),
        ("a *`*` b*\n", "a <><i><><i><c>*<><i> b<>\n"),
        ("5*3, open *to the end\nnext*\n", "5*3, open *to the end\nnext*\n"),
        ("1. first\n", "1. first\n"),
        ("> said\n", "│ said\n"),
        (
            "```rust\nfn **x**()\n\n# no title\n```\nout",
            "<f>```rust<>\n<c>fn **x**()<>\n\n<c># no title<>\n<f>```<>\nout",
        ),
        ("open **bold\nnext", "open <><b>bold<>\nnext"),
        ("ends with *", "ends with *"),
        ("steers \x1b[31m\u{202e}", "steers \\u{1b}[31m\\u{202e}"),
    ] {
        assert_eq!(shown(text), looks, "{text:?}");
    }
}

#[test]
fn white_space_that_controls_the_terminal_is_shown() {
    for c in ['\u{b}', '\u{c}', '\u{1c}', '\u{85}', '\u{a0}', '\u{2028}', '\u{2029}'] {
        let escaped = c.escape_unicode();
        for (text, looks) in [
            (format!("{c}a\n"), format!("{escaped}a\n")),
            (format!(" {c}# a\n"), format!(" {escaped}# a\n")),
            (format!("# {c}\n- {c}\n"), format!("<b>{escaped}<>\n• {escaped}\n")),
            (format!("```{c}\n{c}x\n"), format!("<f>```{escaped}<>\n<c>{escaped}x<>\n")),
            (format!("a\n{c}"), format!("a\n{escaped}")),
        ] {
            assert_eq!(shown(&text), looks, "{text:?}");
        }
    }
}

#[test]
fn every_split_into_chunks_renders_the_same() {
    let text = "# A **b** `c`\n- *x* **y z**\n**a *b*** *c **d*** *.x\n```\n**no** `no`\n```\n> q\n\n12 ** 3\tend";
    let mut whole = MarkdownRenderer::new();
    let all = whole.push(text) + &whole.finish();
    let chars: Vec<char> = text.chars().collect();
    for size in 1..=chars.len() {
        let mut cut = MarkdownRenderer::new();
        let mut seen: String =
            chars.chunks(size).map(|part| cut.push(&part.iter().collect::<String>())).collect();
        seen.push_str(&cut.finish());
        assert_eq!(seen, all, "in pieces of {size}");
    }
}

#[test]
fn an_unclosed_italic_is_held_back_only_so_long() {
    let mut markdown = MarkdownRenderer::new();
    assert_eq!(markdown.push("a *b"), "a ");
    let shown = markdown.push(&" and more".repeat(40));
    assert!(shown.starts_with("*b and more and more"), "{shown}");
    let stars = "*a ".repeat(50_000);
    assert_eq!(shown_len(&stars), stars.len(), "nothing is lost, and it ends soon");
}

fn shown_len(text: &str) -> usize {
    let mut markdown = MarkdownRenderer::new();
    markdown.push(text).len() + markdown.finish().len()
}

#[test]
fn a_word_is_shown_before_its_line_ends() {
    let mut markdown = MarkdownRenderer::new();
    assert_eq!(markdown.push("Hello"), "Hello");
    assert_eq!(markdown.push(" you"), " you");
}
