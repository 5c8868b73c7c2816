//! Descriptions and parameter schemas of the actions, for models.

use serde_json::{Value, json};

/// Whether a parameter may be omitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ParameterNeed {
    Required,
    Optional,
}

use ParameterNeed::{Optional, Required};

type ToolParameter = (&'static str, ParameterNeed, Value);

fn text(about: &str) -> Value {
    json!({ "type": "string", "description": about })
}

fn number(about: &str) -> Value {
    json!({ "type": "integer", "minimum": 0, "description": about })
}

fn flag(about: &str) -> Value {
    json!({ "type": "boolean", "description": about })
}

fn texts(about: &str) -> Value {
    json!({ "type": "array", "items": { "type": "string" }, "description": about })
}

fn path() -> Value {
    text("Relative to the project.")
}

/// Description and parameters of an action; `None` if it does not exist.
pub(super) fn schema_for_action(name: &str) -> Option<(&'static str, Vec<ToolParameter>)> {
    file_action_schema(name)
        .or_else(|| process_action_schema(name))
        .or_else(|| runtime_action_schema(name))
}

fn file_action_schema(name: &str) -> Option<(&'static str, Vec<ToolParameter>)> {
    Some(match name {
        "fs.readFile" => (
            "Read a text file, or some lines of it. At most 1 MiB a call.",
            vec![
                ("path", Required, path()),
                ("startLine", Optional, number("The first line, from 1.")),
                ("lineCount", Optional, number("How many lines.")),
            ],
        ),
        "fs.writeFile" => (
            "Write a whole file. To change a part of one, edit it.",
            vec![
                ("path", Required, path()),
                ("content", Required, text("All of it.")),
                (
                    "mode",
                    Optional,
                    json!({ "type": "string", "enum": ["overwrite", "create", "append"], "description": "`create` fails if the file is there; `overwrite` if absent." }),
                ),
            ],
        ),
        "fs.editFile" => (
            "Replace texts in a file by others. Each `old` must be in the file exactly once, \
             unless `all` is true.",
            vec![
                ("path", Required, path()),
                (
                    "edits",
                    Required,
                    json!({ "type": "array", "minItems": 1, "items": {
                        "type": "object",
                        "properties": {
                            "old": text("What is there now, exactly."),
                            "new": text("What takes its place."),
                            "all": flag("Every place where it is."),
                        },
                        "required": ["old", "new"],
                        "additionalProperties": false,
                    } }),
                ),
            ],
        ),
        "fs.applyPatch" => (
            "Apply a unified diff to any number of files, all or nothing.",
            vec![("patch", Required, text("A unified diff with `---` and `+++` lines."))],
        ),
        "fs.listFiles" => (
            "List the names in a folder.",
            vec![
                (
                    "path",
                    Optional,
                    text("A folder, relative to the project; the project itself if absent."),
                ),
                (
                    "depth",
                    Optional,
                    json!({ "type": "integer", "minimum": 1, "description": "How many levels; 1 if absent." }),
                ),
                ("glob", Optional, text("Only names that match, like `**/*.rs`.")),
                ("hidden", Optional, flag("Also names that begin with a dot.")),
                ("cursor", Optional, text("Where the last answer said that more follows.")),
            ],
        ),
        "fs.searchFiles" => (
            "Find the lines of files that match a regular expression.",
            vec![
                ("pattern", Required, text("A regular expression, or plain text if `literal`.")),
                ("literal", Optional, flag("The pattern is plain text.")),
                ("path", Optional, text("Beneath this folder only.")),
                ("globs", Optional, texts("Only files that match one, like `*.rs`.")),
                ("context", Optional, number("How many lines before and after.")),
                (
                    "limit",
                    Optional,
                    json!({ "type": "integer", "minimum": 1, "description": "How many matches; 200 if absent." }),
                ),
            ],
        ),
        "fs.stat" => (
            "Tell what is at a path: kind, size, when it changed.",
            vec![("path", Required, path())],
        ),
        "fs.createDir" => ("Make a folder, and those above it.", vec![("path", Required, path())]),
        "fs.moveFile" => (
            "Give a file or folder another name.",
            vec![("from", Required, path()), ("to", Required, path())],
        ),
        "fs.deleteFile" => (
            "Remove a file or folder.",
            vec![
                ("path", Required, path()),
                ("recursive", Optional, flag("Also a folder that holds something.")),
            ],
        ),
        "fs.restoreFile" => (
            "Put back a file that was set aside, as it was. A person is shown it and asked.",
            vec![
                ("path", Required, path()),
                ("id", Required, text("The id that was reported when it was set aside.")),
            ],
        ),
        _ => return None,
    })
}

fn process_action_schema(name: &str) -> Option<(&'static str, Vec<ToolParameter>)> {
    let id = || ("id", Required, text("The process, as it was named when it started."));
    Some(match name {
        "terminal.runCommand" => (
            "Run a command in the project's sandbox and get what it prints and its exit code. \
             Give either `command` or `argv`.",
            vec![
                ("command", Optional, text("A line for the shell.")),
                ("argv", Optional, texts("A program and its arguments, without a shell.")),
                ("cwd", Optional, text("The folder it runs in, relative to the project.")),
                ("stdin", Optional, text("What it reads.")),
                (
                    "timeoutMs",
                    Optional,
                    json!({ "type": "integer", "minimum": 1, "description": "How long it may take; 120000 if absent." }),
                ),
                ("network", Optional, flag("It needs the network, which is closed otherwise.")),
                (
                    "background",
                    Optional,
                    flag("Answer when it has started; read its output later."),
                ),
            ],
        ),
        "terminal.list" => ("List the background processes.", Vec::new()),
        "terminal.read" => (
            "Read what a background process printed.",
            vec![id(), ("after", Optional, number("From behind this byte."))],
        ),
        "terminal.write" => (
            "Give a background process input.",
            vec![
                id(),
                ("text", Optional, text("The input.")),
                ("eof", Optional, flag("And then the end of it.")),
            ],
        ),
        "terminal.signal" => (
            "Send a background process a signal.",
            vec![id(), ("signal", Required, text("Like `INT` or `TERM`."))],
        ),
        "terminal.stop" => ("End a background process and all it started.", vec![id()]),
        _ => return None,
    })
}

fn runtime_action_schema(name: &str) -> Option<(&'static str, Vec<ToolParameter>)> {
    Some(match name {
        "pty.open" => ("Open the project's terminal, which people share.", Vec::new()),
        "pty.read" => (
            "Read what stands in the project's terminal.",
            vec![("scrollback", Optional, number("How many lines above the screen."))],
        ),
        "pty.write" => (
            "Type into the project's terminal.",
            vec![("text", Required, text("The keys; `\\r` is Enter."))],
        ),
        "runtime.run" => (
            "Build the project if needed and start its dev server. What runs is left alone.",
            Vec::new(),
        ),
        "runtime.stop" => ("Stop the project's dev server and build.", Vec::new()),
        "runtime.restart" => ("Stop the project's dev server and start it again.", Vec::new()),
        "runtime.build" => ("Build the project, and tell where it failed.", Vec::new()),
        "runtime.status" => ("Tell what of the project runs, and its preview.", Vec::new()),
        "runtime.logs" => (
            "Read what the project's build and dev server printed: the last of it, or from a \
             byte on.",
            vec![
                ("after", Optional, number("From this byte on: `next` of the last answer.")),
                (
                    "limit",
                    Optional,
                    json!({ "type": "integer", "minimum": 4, "description": "How many bytes; 16384 if absent." }),
                ),
            ],
        ),
        "preview.fetch" => (
            "Fetch a page of the project's running preview.",
            vec![
                ("path", Optional, text("The path of the page; `/` if absent.")),
                ("port", Optional, number("Another port that the project listens on.")),
            ],
        ),
        _ => return None,
    })
}
