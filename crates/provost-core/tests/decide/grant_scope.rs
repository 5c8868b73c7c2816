//! What a grant covers: never more than the person was shown.

use super::*;

/// Whether a grant for one action allows the other in mode `sandbox`.
fn lets(granted: &Action, requested: &Action) -> bool {
    let rules = rules("", None);
    let grants = [grant(super::requested(granted.clone()).grant_scope().unwrap(), &[])];
    let policy_context =
        PolicyContext { grants: &grants, ..policy_context(&rules, ProjectMode::Sandbox) };
    let decision =
        decide(super::requested(requested.clone()), ActingRole::Trusted(&able()), &policy_context);
    word(&decision) == "allow grant"
}

#[test]
fn a_grant_for_a_line_is_for_that_line_and_no_other() {
    for (granted, requested) in [
        ("cat a; nc h 1", "cat a | nc h 1"),
        ("make && ls", "make || ls"),
        ("make && ls", "make; ls"),
        ("make && ls", "ls && make"),
        ("echo x >> log", "echo x > log"),
        ("cat a; echo b > log", "cat a > log; echo b"),
        ("cat > x <<E\ngood\nE", "cat > x <<E\nevil\nE"),
        ("tee x <<< good", "tee x <<< evil"),
        ("make", "while make; do make; done"),
        ("make", "for i in 1 2 3; do make; done"),
        ("make", "make &"),
        ("make", "! make"),
        ("make", "make > out"),
        ("make", "make < in"),
        ("make", "A=1 make"),
        ("make", "env make"),
        ("ls", "sudo ls"),
        ("cd a && make", "cd b && make"),
        ("cd a && make", "make"),
        ("(cd a); make", "cd a; make"),
        ("rm a", "rm a b"),
        ("rm a", "rm -r a"),
        ("rm a", "./rm a"),
        ("make", "make $X"),
    ] {
        assert!(lets(&line(granted), &line(granted)), "{granted}");
        assert!(!lets(&line(granted), &line(requested)), "{granted} is not {requested}");
    }
}

#[test]
fn a_grant_for_a_command_ends_where_its_surroundings_change() {
    let granted = run(json!({ "command": "make" }));
    for requested in [
        json!({ "command": "make", "cwd": "web" }),
        json!({ "command": "make", "env": { "A": "1" } }),
        json!({ "command": "make", "stdin": "x" }),
        json!({ "command": "make", "network": true }),
        json!({ "command": "make", "background": true }),
        json!({ "argv": ["make"] }),
        json!({ "argv": ["make", "x"] }),
    ] {
        assert!(!lets(&granted, &run(requested.clone())), "{requested}");
    }
    // Timeout and output limit are harmless.
    assert!(lets(&granted, &run(json!({ "command": "make", "timeoutMs": 5, "maxOutput": 2048 }))));
    // A grant with the network also covers the command without it.
    let online = run(json!({ "command": "make", "network": true }));
    assert!(lets(&online, &online) && lets(&online, &granted));
    // An opaque line is the same only with all parameters.
    let opaque = run(json!({ "command": "make $X" }));
    assert!(lets(&opaque, &opaque));
    assert!(!lets(&opaque, &run(json!({ "command": "make $X", "timeoutMs": 5 }))));
}

#[test]
fn a_grant_for_a_file_is_for_that_file_and_what_is_done_to_it() {
    let write =
        |path: &str, text: &str| action("fs.writeFile", json!({ "path": path, "content": text }));
    assert!(lets(&write("a", "1"), &write("a", "2")), "the same place, as it was told");
    assert!(!lets(&write("a", "1"), &write("b", "1")));
    let delete = |path: &str, recursive: bool| {
        action("fs.deleteFile", json!({ "path": path, "recursive": recursive }))
    };
    assert!(!lets(&write("a", "1"), &delete("a", false)));
    assert!(!lets(&delete("a", false), &delete("a", true)));
    let moved = |to: &str| action("fs.moveFile", json!({ "from": "a", "to": to }));
    assert!(!lets(&moved("b"), &moved("c")));
    assert!(lets(&moved("b"), &moved("b")));
}

#[test]
fn the_third_time_in_a_row_is_not_hidden_by_another_time_limit() {
    let repeat_key = |params| requested(run(params)).repeat_key();
    let first = repeat_key(json!({ "command": "make" }));
    assert_eq!(first, repeat_key(json!({ "command": "make", "timeoutMs": 5, "maxOutput": 1024 })));
    assert_ne!(first, repeat_key(json!({ "command": "make x" })));
    assert_ne!(first, repeat_key(json!({ "command": "make", "cwd": "web" })));
}
