//! An approval allows exactly the action that was shown, once, and only if a person gave it.

use super::*;
use provost_core::decide::{AllowedAction, Approver, UnapprovedAction};
use provost_core::permit::Permit;
use provost_proto::{
    Actor, Approval, ApprovalPrompt, ApprovalStatus, Code, Event, Fact, GovernanceFileKind, Stream,
    TrustPrompt,
};

fn asking(action: Action) -> UnapprovedAction {
    match in_mode(ProjectMode::Sandbox, action) {
        Decision::RequireApproval(asking) => asking,
        other @ (Decision::Allow(_) | Decision::Deny(_)) => unreachable!("{}", word(&other)),
    }
}

pub(crate) fn approval(asking: &UnapprovedAction, pins: &[PinnedFile]) -> Approval {
    let action = &asking.bound_action().request().action;
    Approval {
        id: id(5),
        project: id(2),
        action: id(1),
        action_hash: asking.bound_action().hash(),
        principal: AGENT.to_owned(),
        actor: Actor::Agent("dev".to_owned()),
        class: TokenClass::Agent,
        role: Some("dev".to_owned()),
        session: None,
        question: ApprovalPrompt {
            name: action.name().to_owned(),
            params: action.params(),
            what: action.describe(),
            why: asking.why.clone(),
            demands: Vec::new(),
            cwd: ".".to_owned(),
            diff: None,
            notes: Vec::new(),
            profile: "build".to_owned(),
            network: false,
            rules: Vec::new(),
            gate: None,
            pins: pins.to_vec(),
            choices: Vec::new(),
            trust: None,
        },
        status: ApprovalStatus::Pending,
        asked_at: 1,
        expires_at: NOW + 1,
        resolved_at: None,
        resolved_by: None,
        resolved_actor: None,
        resolved_command: None,
        scope: None,
        message: None,
    }
}

const ANN: Approver<'static> = Approver { principal: "local:ann", class: TokenClass::Operator };

fn approved(action: Action) -> AllowedAction {
    let asking = asking(action);
    let approval = approval(&asking, &[]);
    asking.approve(&approval, ANN, &[], NOW).unwrap()
}

#[test]
fn an_answer_is_refused_unless_everything_is_as_it_was_shown() {
    type Change = fn(&mut Approval);
    let changes: [(&str, Change, Code); 9] = [
        ("another action's hash", |a| a.action_hash = ZERO, Code::HashMismatch),
        ("another action of the same words", |a| a.action = id(11), Code::HashMismatch),
        ("it has just expired", |a| a.expires_at = NOW, Code::ApprovalExpired),
        ("answered before", |a| a.status = ApprovalStatus::Allowed, Code::ApprovalResolved),
        ("denied before", |a| a.status = ApprovalStatus::Denied, Code::ApprovalResolved),
        ("expired before", |a| a.status = ApprovalStatus::Expired, Code::ApprovalResolved),
        ("taken back", |a| a.status = ApprovalStatus::Withdrawn, Code::ApprovalResolved),
        ("a script changed", |a| a.question.pins = vec![pin("a.sh", "evil")], Code::HashMismatch),
        (
            "a question of trust",
            |a| {
                let (what, file) = (GovernanceFileKind::Role, "dev.md".to_owned());
                let diff = String::new();
                a.question.trust = Some(TrustPrompt { what, file, hash: ZERO, before: None, diff });
            },
            Code::HashMismatch,
        ),
    ];
    for (what, change, code) in changes {
        let asking = asking(line("sh a.sh"));
        let mut shown = approval(&asking, &[pin("a.sh", "good")]);
        change(&mut shown);
        let denied = asking.approve(&shown, ANN, &[pin("a.sh", "good")], NOW).unwrap_err();
        assert_eq!(denied.code, code, "{what}");
    }
}

#[test]
fn nobody_but_another_person_may_answer() {
    for (what, principal, class, code) in [
        ("an agent", "token:other", TokenClass::Agent, Code::Forbidden),
        ("the agent itself", AGENT, TokenClass::Agent, Code::Forbidden),
        ("a runtime", "token:other", TokenClass::Runtime, Code::Forbidden),
        ("a viewer", "local:ann", TokenClass::Viewer, Code::Forbidden),
        ("an operator of the agent's name", AGENT, TokenClass::Operator, Code::OwnRequest),
    ] {
        let asking = asking(line("make"));
        let approval = approval(&asking, &[]);
        let denied = asking.approve(&approval, Approver { principal, class }, &[], NOW);
        assert_eq!(denied.unwrap_err().code, code, "{what}");
    }
}

#[test]
fn parameters_that_changed_after_the_question_do_not_run_by_its_answer() {
    let shown = asking(run(json!({ "command": "make" })));
    let shown = approval(&shown, &[]);
    for changed in [
        json!({ "command": "make " }),
        json!({ "argv": ["make"] }),
        json!({ "command": "make", "cwd": "web" }),
        json!({ "command": "make", "env": { "A": "1" } }),
        json!({ "command": "make", "stdin": "" }),
        json!({ "command": "make", "network": true }),
        json!({ "command": "make", "background": true }),
        json!({ "command": "make", "timeoutMs": 1 }),
    ] {
        let other = asking(run(changed.clone()));
        let denied = other.approve(&shown, ANN, &[], NOW).unwrap_err();
        assert_eq!(denied.code, Code::HashMismatch, "{changed}");
    }
}

fn event(fact: &Fact) -> Event {
    Event {
        seq: 1,
        stream: Stream::Project(id(2)),
        version: 1,
        id: id(1),
        at: NOW,
        principal: "local:ann".to_owned(),
        actor: Actor::Cli,
        command: None,
        cause: None,
        kind: fact.kind().to_owned(),
        body: fact.body().unwrap(),
        prev: ZERO,
        hash: Role::hash(b"any but zero"),
    }
}

#[test]
fn there_is_a_permit_only_for_what_the_log_says_of_exactly_this() {
    let fact = approved(line("make")).fact(None);
    let permit = Permit::from_recorded(approved(line("make")), &event(&fact)).unwrap();
    assert_eq!(permit.action(), &line("make"));

    let Fact::ActionAllowed { action, by, why, profile } = fact.clone() else { unreachable!() };
    let approval = |n| Some(AllowedBy::Approval { approval: id(n) });
    let (words, none) = (by.clone(), profile.clone());
    for (what, other) in [
        ("another action", Fact::ActionAllowed { action: id(4), by, why, profile }),
        (
            "another answer",
            Fact::ActionAllowed {
                action,
                by: words.clone(),
                why: approval(6),
                profile: none.clone(),
            },
        ),
        (
            "nothing that allowed it",
            Fact::ActionAllowed { action, by: words, why: None, profile: none },
        ),
        ("that it waits", Fact::ActionWaiting { action, approval: id(5) }),
        ("something else", Fact::DaemonStopped { reason: String::new() }),
    ] {
        assert!(Permit::from_recorded(approved(line("make")), &event(&other)).is_err(), "{what}");
    }
    // An event that was not written has no hash.
    let unwritten = Event { hash: ZERO, ..event(&fact) };
    assert!(Permit::from_recorded(approved(line("make")), &unwritten).is_err());
    assert!(Permit::for_read(approved(line("make"))).is_err(), "the command does more than read");
}
