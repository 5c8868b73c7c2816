//! Which scripts of `sed` only edit the stream.

use super::SedScript;

#[test]
fn only_scripts_that_edit_what_passes_are_taken() {
    for script in [
        "s/a/b/",
        "s|a|b|g",
        "1,5p",
        "$p",
        "/x/d",
        "/a/,/b/p",
        "1d;$d",
        "s/a/b/;s/c/d/2g",
        "y/abc/def/",
        "1!G;h;$!d",
        "10q",
        "/a/,/b/{p}",
        "/x/{n;d}",
        "/x/{s/a/b/;p;}",
        ":a;N;$!ba;s/x/ /g",
        "1i a line of text; w x",
        "/x/a text",
        "1!{p;d}",
    ] {
        assert!(SedScript(script).only_edits(), "{script}");
    }
    for script in [
        "s/a/b/e",
        "s/a/id/ge",
        "s/a/b/w out",
        "w out",
        "1e id",
        "e",
        "r /etc/passwd",
        "1,2w x",
        "/a/e",
        "s/a/b/;e",
        "s/a/b\\/e",
        "a\\\nx",
        "s/[/]/x/e",
        "s\na\nb\n",
        "/x/{e}",
        "{w x",
        "1{s/a/b/w out",
        "a text\\",
        "a x\nw out",
        ":a;e",
        "b;w x",
        "1{p}w x",
    ] {
        assert!(!SedScript(script).only_edits(), "{script}");
    }
}
