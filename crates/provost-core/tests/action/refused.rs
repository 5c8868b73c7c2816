//! Refused actions, and their messages.

use provost_core::action::Action;
use provost_proto::Code;
use serde_json::json;

use crate::parse;

/// A name, parameters, and the message.
const REFUSED: &[(&str, &str, &str)] = &[
    ("fs.readfile", "{}", "there is no action `fs.readfile`; is it `fs.readFile`?"),
    ("read_file", "{}", "there is no action `read_file`"),
    ("rm\u{202e}", "{}", "there is no action `rm\\u{202e}`"),
    ("fs.stat", "[\"a\"]", "the parameters of fs.stat are a JSON object, not a list"),
    ("fs.stat", "{}", "fs.stat: missing field `path`"),
    ("fs.stat", "{\"path\": 5}", "fs.stat: invalid type: integer `5`, expected a string"),
    ("fs.stat", "{\"path\": \"a\", \"x\": 1}", "fs.stat: unknown field `x`, expected `path`"),
    (
        "fs.readFile",
        "{\"path\": \".\"}",
        "fs.readFile: the path names the project itself; name something in it",
    ),
    (
        "fs.readFile",
        "{\"path\": \"a\", \"length\": 0}",
        "fs.readFile: `length` is 1 to 1048576, not 0",
    ),
    (
        "fs.readFile",
        "{\"path\": \"a\", \"offset\": 1, \"startLine\": 1}",
        "fs.readFile: `offset` counts bytes and `startLine` lines; ask for one or the other",
    ),
    (
        "fs.readFile",
        "{\"path\": \"a\", \"offset\": 9007199254740992}",
        "fs.readFile: `offset` is 0 to 9007199254740991, not 9007199254740992",
    ),
    (
        "fs.writeFile",
        "{\"path\": \"a\", \"content\": \"?\", \"encoding\": \"base64\"}",
        "fs.writeFile: `content` is not base64",
    ),
    (
        "fs.writeFile",
        "{\"path\": \"a\", \"content\": \"\", \"mode\": \"truncate\"}",
        "fs.writeFile: unknown variant `truncate`, expected one of `overwrite`, `create`, `append`",
    ),
    (
        "fs.editFile",
        "{\"path\": \"a\", \"edits\": []}",
        "fs.editFile: `edits` holds 1 to 1000 edits",
    ),
    (
        "fs.editFile",
        "{\"path\": \"a\", \"edits\": [[\"a\", \"b\", true]]}",
        "fs.editFile: invalid type: sequence, expected a map",
    ),
    (
        "fs.editFile",
        "{\"path\": \"a\", \"edits\": [{\"old\": \"\", \"new\": \"b\"}]}",
        "fs.editFile: `edits` number 1: `old` is empty",
    ),
    (
        "fs.applyPatch",
        "{\"patch\": \"hello\"}",
        "fs.applyPatch: `patch` cannot be read: line 1 of the patch: there is no file in it; a unified diff begins with `--- a/FILE` and `+++ b/FILE`",
    ),
    (
        "fs.moveFile",
        "{\"from\": \"a\", \"to\": \"a/b\"}",
        "fs.moveFile: `to` is inside the moved folder",
    ),
    (
        "terminal.signal",
        "{\"id\": \"1\", \"signal\": \"SEGV\"}",
        "terminal.signal: unknown variant `SEGV`, expected one of `TERM`, `INT`, `HUP`, `KILL`, `USR1`, `USR2`, `QUIT`, `STOP`, `CONT`",
    ),
    (
        "terminal.read",
        "{\"id\": \"../x\"}",
        "terminal.read: `id` is 1 to 64 letters, digits, `-` and `_`",
    ),
];

/// Parameters of a command, and the message.
const COMMANDS: &[(&str, &str)] = &[
    ("{}", "`command` or `argv` is needed, one and not the other"),
    (
        "{\"command\": \"a\", \"argv\": [\"a\"]}",
        "`command` or `argv` is needed, one and not the other",
    ),
    ("{\"command\": \" \\n\"}", "`command` is empty"),
    ("{\"argv\": []}", "`argv` holds 1 to 1024 items"),
    ("{\"argv\": [\"\"]}", "`argv` begins with the program to run"),
    ("{\"command\": \"ls \\u001b[2K\"}", "`command` contains \\u{1b}, which cannot be seen"),
    ("{\"command\": \"r\\u200bm\"}", "`command` contains \\u{200b}, which cannot be seen"),
    ("{\"argv\": [\"ls\", \"a\\rb\"]}", "`argv` contains \\u{d}, which cannot be seen"),
    (
        "{\"command\": \"e\\u0301\"}",
        "`command` is not in Unicode's normal form C; compose its characters",
    ),
    ("{\"command\": \"a\", \"timeoutMs\": 3600001}", "`timeoutMs` is 1 to 3600000, not 3600001"),
    ("{\"command\": \"a\", \"maxOutput\": 1}", "`maxOutput` is 1024 to 67108864, not 1"),
    ("{\"command\": \"a\", \"cwd\": \"..\"}", "the path contains `..`; name the place itself"),
    (
        "{\"command\": \"a\", \"env\": {\"1A\": \"\"}}",
        "`env` names `1A`; a name is letters, digits and `_`",
    ),
    (
        "{\"command\": \"a\", \"env\": {\"LD_PRELOAD\": \"x\"}}",
        "`env` sets `LD_PRELOAD`, which changes what programs run",
    ),
];

#[track_caller]
fn refused(name: &str, params: &str, why: &str) {
    let error = Action::parse(name, serde_json::from_str(params).unwrap()).unwrap_err();
    assert_eq!(error.code(), Code::InvalidAction);
    assert_eq!(error.to_string(), why);
}

#[test]
fn what_is_not_an_action_is_refused_with_what_was_expected() {
    for (name, params, why) in REFUSED {
        refused(name, params, why);
    }
}

#[test]
fn a_command_that_is_not_what_it_looks_like_is_refused() {
    let run = "terminal.runCommand";
    for (params, why) in COMMANDS {
        refused(run, params, &format!("{run}: {why}"));
    }
    let long = Action::parse(run, json!({"command": "x".repeat(131_073)})).unwrap_err();
    assert!(long.to_string().ends_with("has 131073 bytes, more than the 131072 allowed"), "{long}");
    for name in
        ["ld_preload", "PATH", "PROVOST_TOKEN", "BASH_ENV", "GIT_SSH_COMMAND", "GIT_CONFIG_COUNT"]
    {
        let error = Action::parse(run, json!({"command": "a", "env": {name: "x"}})).unwrap_err();
        assert!(error.to_string().contains("which changes what programs run"), "{error}");
    }
    parse(run, json!({"command": "echo 1\n\techo 2", "env": {"NODE_ENV": "test"}}));
}
