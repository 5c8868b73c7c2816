//! The report for each kind of event.

use provost_proto::kernel::{ActionOutcome, ErrorInfo};
use provost_proto::{
    ActionId, ApprovalId, Code, GrantScope, Hash, PinnedFile, ProjectId, ProjectMode, RuleRef,
    SessionId, TokenClass,
};
use serde_json::json;
use uuid::Uuid;

use super::*;
use crate::approval_text::tests::approval;

const ACTION: ActionId = ActionId::new(Uuid::from_u128(1));
const PROJECT: ProjectId = ProjectId::new(Uuid::from_u128(2));
const APPROVAL: ApprovalId = ApprovalId::new(Uuid::from_u128(3));
const GRANT: GrantId = GrantId::new(Uuid::from_u128(4));

fn agent(fact: Fact) -> ActionReportStep {
    let actor = Actor::Agent("dev".to_owned());
    ActionReportStep { at: 1, principal: "token:tok_7".to_owned(), actor, fact }
}

fn ann(fact: Fact) -> ActionReportStep {
    ActionReportStep { at: 2, principal: "local:ann".to_owned(), actor: Actor::Cli, fact }
}

fn requested() -> ActionReportStep {
    agent(Fact::ActionRequested {
        action: ACTION,
        project: PROJECT,
        name: "terminal.runCommand".to_owned(),
        params: json!({ "command": "make" }),
        what: "run `make`".to_owned(),
        action_hash: Hash::ZERO,
        role: Some("dev".to_owned()),
        session: Some(SessionId::new(Uuid::from_u128(9))),
    })
}

fn asked(change: impl FnOnce(&mut ApprovalPrompt)) -> ActionReportStep {
    let mut question = approval(3).question;
    change(&mut question);
    agent(Fact::ApprovalAsked {
        approval: APPROVAL,
        project: PROJECT,
        action: ACTION,
        action_hash: Hash::ZERO,
        class: TokenClass::Agent,
        role: Some("dev".to_owned()),
        session: None,
        question: Box::new(question),
        expires_at: 9,
    })
}

fn answered(
    decision: ApprovalAnswer,
    scope: Option<AnswerScope>,
    message: Option<&str>,
) -> ActionReportStep {
    ann(Fact::ApprovalAnswered {
        approval: APPROVAL,
        project: PROJECT,
        action_hash: Hash::ZERO,
        decision,
        scope,
        message: message.map(str::to_owned),
    })
}

fn denied(code: Code, message: &str, details: Option<Value>) -> ActionReportStep {
    let fault = ErrorInfo { code, message: message.to_owned(), details };
    agent(Fact::ActionDenied { action: ACTION, fault })
}

fn allowed(why: AllowedBy) -> ActionReportStep {
    let profile = Some("build".to_owned());
    ann(Fact::ActionAllowed { action: ACTION, by: "x".to_owned(), why: Some(why), profile })
}

fn rule(reason: Option<&str>) -> RuleRef {
    let reason = reason.map(str::to_owned);
    RuleRef { layer: "user".to_owned(), id: "r".to_owned(), effect: "allow".to_owned(), reason }
}

fn outcome(exit_code: Option<i32>, fault: Option<ErrorInfo>, summary: Value) -> ActionOutcome {
    ActionOutcome { exit_code, signal: None, duration_ms: 7, fault, summary }
}

fn finished(outcome: ActionOutcome) -> ActionReportStep {
    agent(Fact::ActionFinished { action: ACTION, project: PROJECT, report: None, outcome })
}

#[track_caller]
fn check(steps: &[ActionReportStep], wanted: &[&str]) {
    let report = build_action_report(steps, &[grant()]);
    let lines: Vec<_> = report.iter().flat_map(|entry| &entry.lines).map(String::as_str).collect();
    assert_eq!(lines, wanted);
}

fn grant() -> Grant {
    Grant {
        id: GRANT,
        project: PROJECT,
        approval: APPROVAL,
        grantee: "token:tok_7".to_owned(),
        role: None,
        session: None,
        covers: GrantScope::Paths { name: "fs.writeFile".to_owned(), paths: Vec::new() },
        pins: Vec::new(),
        rules: Vec::new(),
        what: "to run `make`".to_owned(),
        until: None,
        by: "local:ann".to_owned(),
        at: 0,
        revoked_at: None,
    }
}

const ASKED: [&str; 2] = [
    "token:tok_7 (agent:dev) in the role `dev` in session ses_00000000-0000-0000-0000-000000000009 requested to run `make`.",
    "terminal.runCommand {\"command\":\"make\"}",
];

#[test]
fn a_denial_names_the_rules_that_denied() {
    let rules = json!({ "rules": [{ "layer": "user", "id": "no", "effect": "deny", "reason": "Ask me." }] });
    check(
        &[requested(), denied(Code::PolicyDenied, "a rule says no", Some(rules))],
        &[
            ASKED[0],
            ASKED[1],
            "Denied (POLICY_DENIED): a rule says no.",
            "The user rule `no` says deny: Ask me.",
        ],
    );
}

#[test]
fn a_denied_approval_shows_the_message() {
    let message = Some("use npm ci\u{1b}[2J");
    check(
        &[
            requested(),
            asked(|prompt| prompt.gate = Some("it deletes all.".to_owned())),
            agent(Fact::ActionWaiting { action: ACTION, approval: APPROVAL }),
            answered(ApprovalAnswer::Deny, None, message),
            denied(Code::ApprovalDenied, "denied by a person", None),
        ],
        &[
            ASKED[0],
            ASKED[1],
            "An approval was requested (apr_00000000-0000-0000-0000-000000000003): the mode is sandbox.",
            "It was marked as dangerous: it deletes all.",
            "local:ann (cli) denied it: `use npm ci\\u{1b}[2J`.",
            "Denied (APPROVAL_DENIED): denied by a person.",
        ],
    );
}

fn started() -> ActionReportStep {
    let layers = [
        ("seccomp".to_owned(), json!(true)),
        ("landlockAbi".to_owned(), json!(7)),
        ("cgroupPids".to_owned(), json!(false)),
        ("networkDeniedBy".to_owned(), json!(["netns", "seccomp"])),
        ("profile".to_owned(), json!("build")),
    ];
    agent(Fact::ActionStarted {
        action: ACTION,
        project: PROJECT,
        report: 1,
        pid: 42,
        profile: "build".to_owned(),
        layers: layers.into(),
    })
}

fn granted() -> ActionReportStep {
    ann(Fact::GrantCreated {
        grant: GRANT,
        project: PROJECT,
        approval: APPROVAL,
        grantee: "token:tok_7".to_owned(),
        role: None,
        session: None,
        covers: grant().covers,
        pins: Vec::new(),
        rules: Vec::new(),
        what: grant().what,
        until: None,
    })
}

fn output() -> ActionReportStep {
    let output =
        json!({ "stream": "stdout", "offset": 0, "dropped": 0, "data": { "text": "hello" } });
    agent(Fact::ActionOutput {
        action: ACTION,
        project: PROJECT,
        report: 2,
        output: serde_json::from_value(output).unwrap(),
    })
}

#[test]
fn an_approved_action_is_reported_from_the_prompt_to_the_changes() {
    let summary =
        json!({ "stdoutBytes": 5, "stderrBytes": 0, "droppedBytes": 3, "planted": [".envrc"] });
    check(
        &[
            asked(|prompt| {
                prompt.diff = Some("--- a\n+++ b\n-x\n+y\n z\n".to_owned());
                prompt.pins = vec![PinnedFile { path: "b.sh".to_owned(), hash: Hash::ZERO }];
            }),
            answered(ApprovalAnswer::Allow, Some(AnswerScope::Session), None),
            granted(),
            allowed(AllowedBy::Approval { approval: APPROVAL }),
            started(),
            output(),
            finished(outcome(Some(0), None, summary)),
            ann(Fact::GrantRevoked { grant: GRANT, project: PROJECT }),
        ],
        &[
            "An approval was requested (apr_00000000-0000-0000-0000-000000000003): the mode is sandbox.",
            &format!(
                "The approver was shown a diff of 2 lines, the script `b.sh` ({}).",
                Hash::ZERO
            ),
            "local:ann (cli) allowed it (session).",
            "The answer also grants the same action for the session: to run `make` \
             (grt_00000000-0000-0000-0000-000000000004).",
            "Allowed by the answer to apr_00000000-0000-0000-0000-000000000003. It may run once, \
             with profile build.",
            "Started as process 42, with profile build.",
            "Sandbox layers: landlockAbi 7, networkDeniedBy netns and seccomp, seccomp; not: cgroupPids.",
            "Output: 5 bytes on stdout, 0 on stderr; 3 bytes were dropped.",
            "Exited after 7 ms with code 0.",
            "WARNING: it created `.envrc`, a protected path.",
            "local:ann (cli) revoked that grant (grt_00000000-0000-0000-0000-000000000004).",
        ],
    );
}

#[test]
fn every_other_reason_to_allow_is_reported() {
    let once = " It may run once, with profile build.";
    for (why, wanted) in [
        (AllowedBy::Operator, "Allowed: a person executed it."),
        (AllowedBy::Mode { mode: ProjectMode::Full }, "Allowed by the mode full."),
        (
            AllowedBy::Rules { rules: vec![rule(Some("does nothing")), rule(None)] },
            "Allowed by rules. The user rule `r` says allow: does nothing. The user rule `r` says allow.",
        ),
        (
            AllowedBy::Grant { grant: GRANT },
            "Allowed by grt_00000000-0000-0000-0000-000000000004, granted by local:ann: to run `make`.",
        ),
        (
            AllowedBy::Grant { grant: GrantId::new(Uuid::from_u128(5)) },
            "Allowed by grt_00000000-0000-0000-0000-000000000005.",
        ),
    ] {
        check(&[allowed(why)], &[&format!("{wanted}{once}")]);
    }
}

#[test]
fn a_read_is_one_event_and_a_whole_report() {
    let fault =
        ErrorInfo { code: Code::NotFound, message: "it is not there".to_owned(), details: None };
    let read = agent(Fact::ActionRead {
        action: ACTION,
        project: PROJECT,
        name: "fs.readFile".to_owned(),
        params: json!({ "path": "a" }),
        what: "read a".to_owned(),
        action_hash: Hash::ZERO,
        role: Some("dev".to_owned()),
        session: None,
        why: AllowedBy::Mode { mode: ProjectMode::Sandbox },
        outcome: outcome(None, Some(fault), Value::Null),
    });
    check(
        &[read],
        &[
            "token:tok_7 (agent:dev) in the role `dev` requested to read a.",
            "fs.readFile {\"path\":\"a\"}",
            "Allowed by the mode sandbox.",
            "Failed after 7 ms (NOT_FOUND): it is not there.",
        ],
    );
}

#[test]
fn the_outcome_and_the_changes_are_reported() {
    let changed = json!({ "changed": [
        { "path": "a\n", "kind": "created" },
        { "path": "c", "kind": "moved", "from": "b" },
    ] });
    check(
        &[finished(outcome(None, None, changed))],
        &["Done after 7 ms.", "Changed: `a\\n` was created.", "Changed: `c` was moved from `b`."],
    );
    let meanwhile = json!({ "meanwhile": {
        "changed": ["a\u{1b}", "b/"], "folders": [".", "src"], "more": true,
    } });
    check(
        &[finished(outcome(Some(0), None, meanwhile))],
        &[
            "Exited after 7 ms with code 0.",
            "Changed while it ran: `a\\u{1b}`.",
            "Changed while it ran: `b/`.",
            "Changed while it ran: names in the project's folder were added or removed.",
            "Changed while it ran: names in `src` were added or removed.",
            "Changed while it ran: possibly more; the list is not complete.",
        ],
    );
    let lacking = json!({ "unreadable": "/srv/m", "noNetwork": true });
    check(
        &[finished(outcome(Some(1), None, lacking))],
        &[
            "Exited after 7 ms with code 1.",
            "Commands cannot read `/srv/m`. If they need it, add it to `[sandbox] read` in policy.toml.",
            "It had no network in this profile. If it needs it, request it with network=true.",
        ],
    );
    let killed = ActionOutcome { signal: Some(15), ..outcome(None, None, Value::Null) };
    check(&[finished(killed)], &["Killed after 7 ms by signal 15."]);
    check(
        &[ann(Fact::ApprovalExpired { approval: APPROVAL, project: PROJECT })],
        &["The approval expired without an answer."],
    );
    let why = "it was cancelled before anyone answered".to_owned();
    check(
        &[ann(Fact::ApprovalWithdrawn { approval: APPROVAL, project: PROJECT, why })],
        &["The approval was withdrawn: it was cancelled before anyone answered."],
    );
}
