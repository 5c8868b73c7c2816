//! Values that occur in more than one golden file.

use std::collections::BTreeMap;

use provost_proto::kernel::{ActionOutcome, ErrorInfo, OutputChunk, OutputData, OutputStream};
use provost_proto::{
    AllowedBy, AnswerScope, ApprovalChoice, ApprovalPrompt, BlobRef, Code, CommandEffectView,
    GovernanceFileKind, GrantScope, Hash, LogSegment, PinnedFile, ProjectMode, RuleRef,
    TrustPrompt,
};
use serde_json::{Value, json};
use uuid::Uuid;

/// A time in microseconds.
pub(crate) const AT: u64 = 1_700_000_000_000_000;

/// An id with this number, in the form of a UUIDv7.
pub(crate) fn id<T: From<Uuid>>(number: u128) -> T {
    Uuid::from_u128(0x018b_cfe5_6800_7000_8000_0000_0000_0000 + number).into()
}

pub(crate) fn hash(byte: u8) -> Hash {
    Hash::new([byte; 32])
}

pub(crate) fn text(text: &str) -> String {
    text.to_owned()
}

pub(crate) fn texts<const N: usize>(texts: [&str; N]) -> Vec<String> {
    texts.map(str::to_owned).to_vec()
}

pub(crate) fn params() -> Value {
    json!({ "path": "src/ä \"b\".rs", "length": 7, "deep": [null, true, 1.5] })
}

pub(crate) fn blob() -> BlobRef {
    BlobRef { hash: hash(0xb1), size: 70_000 }
}

pub(crate) fn log_segment() -> LogSegment {
    LogSegment {
        first: 1,
        last: 512,
        prev: hash(0),
        hash: hash(0xa2),
        first_at: AT,
        last_at: AT + 7,
        file: text("000000000001-000000000512.segment"),
        digest: hash(0xd1),
        bytes: 4096,
    }
}

pub(crate) fn faults() -> Vec<ErrorInfo> {
    let details = Some(json!({ "line": 3 }));
    vec![
        ErrorInfo { code: Code::PatchConflict, message: text("does not fit"), details },
        ErrorInfo { code: Code::Timeout, message: text("took too long"), details: None },
    ]
}

pub(crate) fn outcomes() -> Vec<ActionOutcome> {
    vec![
        ActionOutcome {
            exit_code: Some(1),
            signal: None,
            duration_ms: 12,
            fault: None,
            summary: json!({ "stdoutBytes": 3, "meanwhile": { "changed": ["a.txt"] } }),
        },
        ActionOutcome {
            exit_code: None,
            signal: Some(9),
            duration_ms: 0,
            fault: Some(faults().remove(0)),
            summary: Value::Null,
        },
    ]
}

pub(crate) fn outputs() -> Vec<OutputChunk> {
    let bytes = |data: &[u8]| OutputData::Bytes(data.to_vec().into());
    let output = |stream, data| OutputChunk { stream, offset: 7, dropped: 2, data };
    vec![
        output(OutputStream::Stdout, bytes("gr\u{fc}n\n\"\u{1b}[0m".as_bytes())),
        output(OutputStream::Stderr, bytes(&[0xff, 0, 0x80])),
        output(OutputStream::Stdout, OutputData::Blob(blob())),
    ]
}

pub(crate) fn layers() -> BTreeMap<String, Value> {
    BTreeMap::from([(text("landlock"), json!(4)), (text("seccomp"), json!(true))])
}

pub(crate) fn rules() -> Vec<RuleRef> {
    let rule = |layer, id, effect, reason| RuleRef {
        layer: text(layer),
        id: text(id),
        effect: text(effect),
        reason,
    };
    vec![
        rule("builtin", "secrets", "deny", Some(text("keys stay here"))),
        rule("user", "npm", "allow", None),
    ]
}

pub(crate) fn pins() -> Vec<PinnedFile> {
    vec![PinnedFile { path: text("build.sh"), hash: hash(0x11) }]
}

pub(crate) fn demands() -> Vec<CommandEffectView> {
    let run = |program, assignments, builtin| CommandEffectView::Run {
        argv: texts(["cargo", "test"]),
        through: texts(["env"]),
        program,
        hosts: texts(["crates.io"]),
        assignments,
        builtin,
    };
    let demands = vec![
        run(Some(text("/usr/bin/cargo")), texts(["RUST_LOG=info"]), true),
        run(None, Vec::new(), false),
        CommandEffectView::Write { path: text("out.txt"), deletes: false },
        CommandEffectView::Read { path: text("in.txt") },
        CommandEffectView::Opaque { text: text("$(date)"), why: text("a substitution") },
    ];
    crate::assert_every_variant!(demands, CommandEffectView { Run, Write, Read, Opaque });
    demands
}

pub(crate) fn choices() -> Vec<ApprovalChoice> {
    let choice = |scope, rule| ApprovalChoice { scope, remembers: text("the same again"), rule };
    vec![
        choice(AnswerScope::Once, None),
        choice(AnswerScope::Always, Some(text("[[allow]]\ncommand = \"cargo test\""))),
    ]
}

pub(crate) fn trust_prompt(before: Option<Hash>) -> TrustPrompt {
    TrustPrompt {
        what: GovernanceFileKind::Runtime,
        file: text("provost.toml"),
        hash: hash(0x22),
        before,
        diff: text("+run = \"npm run dev\"\n"),
    }
}

pub(crate) fn approval_prompts() -> Vec<ApprovalPrompt> {
    let full = ApprovalPrompt {
        name: text("terminal.runCommand"),
        params: params(),
        what: text("run `cargo test`"),
        why: text("the mode asks"),
        demands: demands(),
        cwd: text("."),
        diff: Some(text("-a\n+b\n")),
        notes: texts(["replaces a.txt"]),
        profile: text("command"),
        network: true,
        rules: rules(),
        gate: Some(text("deletes outside of the project")),
        pins: pins(),
        choices: choices(),
        trust: Some(trust_prompt(Some(hash(0x23)))),
    };
    let bare = ApprovalPrompt {
        diff: None,
        notes: Vec::new(),
        network: false,
        gate: None,
        trust: None,
        ..full.clone()
    };
    vec![full, bare]
}

pub(crate) fn covers() -> Vec<GrantScope> {
    let covers = vec![
        GrantScope::Command {
            runs: vec![texts(["cargo", "test"])],
            writes: texts(["log.txt"]),
            cwd: text("sub"),
            network: false,
        },
        GrantScope::Paths { name: text("fs.writeFile"), paths: texts(["src/lib.rs"]) },
        GrantScope::Exact { name: text("fs.deleteFile"), params: hash(0x33) },
    ];
    crate::assert_every_variant!(covers, GrantScope { Command, Paths, Exact });
    covers
}

pub(crate) fn allowed_by() -> Vec<AllowedBy> {
    let reasons = vec![
        AllowedBy::Operator,
        AllowedBy::Rules { rules: rules() },
        AllowedBy::Mode { mode: ProjectMode::Auto },
        AllowedBy::Grant { grant: id(9) },
        AllowedBy::Approval { approval: id(8) },
    ];
    crate::assert_every_variant!(reasons, AllowedBy { Operator, Rules, Mode, Grant, Approval });
    reasons
}
