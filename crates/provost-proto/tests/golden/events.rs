//! Every kind of event, and the envelope around it.

use expect_test::expect_file;
use provost_proto::{
    AllowedBy, AnswerScope, ApprovalAnswer, Event, Fact, GovernanceFileKind, Hash, ProjectMode,
    TokenClass,
};
use serde_json::json;
use uuid::Uuid;

use crate::kinds::assert_every_kind;
use crate::lists::{actors, streams};
use crate::samples::{
    AT, allowed_by, approval_prompts, covers, faults, hash, id, layers, log_segment, outcomes,
    outputs, params, pins, rules, text, texts,
};
use crate::{Golden, decodes_to, notebook, runtime, session};

#[test]
fn every_event_keeps_its_kind_and_body() {
    let facts = facts();
    assert_every_kind(&facts);
    let mut golden = Golden::default();
    for same in facts.chunk_by(|a, b| a.kind() == b.kind()) {
        golden.section(same[0].kind(), same);
        for fact in same {
            let body = fact.body().unwrap();
            assert_eq!(Fact::from_kind_and_body(fact.kind(), &body).as_ref(), Some(fact));
        }
    }
    golden.check(&expect_file!["files/events.txt"]);
}

#[test]
fn the_envelope_keeps_its_fields() {
    let event = |actor, stream, command, cause| Event {
        seq: 7,
        stream,
        version: 3,
        id: id(70),
        at: AT,
        principal: text("local:ann"),
        actor,
        command,
        cause,
        kind: text("PROJECT_CLOSED"),
        body: json!({ "project": id::<Uuid>(1) }),
        prev: hash(0xa1),
        hash: hash(0xa2),
    };
    let key = || Some(text("key-1"));
    let mut events: Vec<_> =
        actors().into_iter().map(|actor| event(actor, streams()[0], key(), Some(id(69)))).collect();
    events
        .extend(streams().into_iter().map(|stream| event(actors().remove(0), stream, None, None)));
    let mut golden = Golden::default();
    golden.section("event", &events);
    golden.check(&expect_file!["files/envelope.txt"]);
}

#[test]
fn older_bodies_still_decode() {
    let requested = Fact::ActionRequested {
        action: id(4),
        project: id(1),
        name: text("fs.stat"),
        params: json!({}),
        what: text("look"),
        action_hash: Hash::ZERO,
        role: None,
        session: None,
    };
    let (action, project): (Uuid, Uuid) = (id(4), id(1));
    let zero = Hash::ZERO;
    decodes_to(
        &format!(
            r#"{{"kind":"ACTION_REQUESTED","body":{{"action":"{action}","project":"{project}","name":"fs.stat","params":{{}},"what":"look","actionHash":"{zero}"}}}}"#
        ),
        &requested,
    );
}

fn facts() -> Vec<Fact> {
    let mut facts = daemon();
    facts.extend(tokens());
    facts.extend(kernels());
    facts.extend(requests());
    facts.extend(approvals());
    facts.extend(grants());
    facts.extend(files());
    facts.extend(commands());
    facts.extend(runtime::facts());
    facts.extend(session::facts());
    facts.extend(notebook::facts());
    facts
}

fn daemon() -> Vec<Fact> {
    vec![
        Fact::DaemonStarted {
            pid: 42,
            version: text("0.1.0"),
            listen: text("http://127.0.0.1:4177"),
        },
        Fact::DaemonStopped { reason: text("SIGTERM") },
        Fact::LogArchived(log_segment()),
        Fact::ProjectOpened {
            project: id(1),
            name: text("Shop"),
            slug: text("shop"),
            path: text("/home/ann/shop"),
        },
        Fact::ProjectClosed { project: id(1) },
    ]
}

fn tokens() -> Vec<Fact> {
    vec![
        Fact::TokenCreated {
            token: id(5),
            class: TokenClass::Agent,
            project: Some(id(1)),
            role: Some(text("tester")),
            holder: Some(text("local:ann")),
            label: text("CI"),
            digest: hash(0x44),
            page: Some(hash(0x45)),
            notebook: None,
            expires_at: Some(AT),
        },
        Fact::TokenCreated {
            token: id(5),
            class: TokenClass::Operator,
            project: None,
            role: None,
            holder: None,
            label: String::new(),
            digest: hash(0x44),
            page: None,
            notebook: None,
            expires_at: None,
        },
        Fact::TokenRevoked { token: id(5) },
    ]
}

fn kernels() -> Vec<Fact> {
    let (project, boot) = (id(1), id::<Uuid>(6));
    vec![
        Fact::KernelStarted { project, boot, pid: 43, version: text("0.1.0") },
        Fact::KernelUnresponsive { project, boot },
        Fact::KernelResponsive { project, boot },
        Fact::KernelLost { project, boot, why: text("its socket is gone") },
        Fact::KernelStopped { project, boot },
    ]
}

fn requests() -> Vec<Fact> {
    let requested = |role, session| Fact::ActionRequested {
        action: id(4),
        project: id(1),
        name: text("fs.readFile"),
        params: params(),
        what: text("read src/lib.rs"),
        action_hash: hash(0x55),
        role,
        session,
    };
    let mut facts = vec![
        requested(Some(text("tester")), Some(id(2))),
        requested(None, None),
        Fact::ActionWaiting { action: id(4), approval: id(8) },
    ];
    facts.extend(faults().into_iter().map(|fault| Fact::ActionDenied { action: id(4), fault }));
    let allowed = |why, profile| Fact::ActionAllowed {
        action: id(4),
        by: text("the mode auto"),
        why,
        profile,
    };
    let profile = || Some(text("command"));
    facts.extend(allowed_by().into_iter().map(|why| allowed(Some(why), profile())));
    facts.push(allowed(None, None));
    let read = |role, session, outcome| Fact::ActionRead {
        action: id(4),
        project: id(1),
        name: text("fs.readFile"),
        params: params(),
        what: text("read src/lib.rs"),
        action_hash: hash(0x55),
        role,
        session,
        why: AllowedBy::Operator,
        outcome,
    };
    let [exited, killed] = outcomes().try_into().unwrap();
    facts.push(read(Some(text("tester")), Some(id(2)), exited));
    facts.push(read(None, None, killed));
    facts
}

fn approvals() -> Vec<Fact> {
    let asked = |role, session, question| Fact::ApprovalAsked {
        approval: id(8),
        project: id(1),
        action: id(4),
        action_hash: hash(0x55),
        class: TokenClass::Agent,
        role,
        session,
        question: Box::new(question),
        expires_at: AT,
    };
    let answered = |decision, scope, message| Fact::ApprovalAnswered {
        approval: id(8),
        project: id(1),
        action_hash: hash(0x55),
        decision,
        scope,
        message,
    };
    let [full, bare] = approval_prompts().try_into().unwrap();
    vec![
        asked(Some(text("tester")), Some(id(2)), full),
        asked(None, None, bare),
        answered(ApprovalAnswer::Allow, Some(AnswerScope::Session), None),
        answered(ApprovalAnswer::Deny, None, Some(text("not today"))),
        Fact::ApprovalExpired { approval: id(8), project: id(1) },
        Fact::ApprovalWithdrawn { approval: id(8), project: id(1), why: text("cancelled") },
    ]
}

fn grants() -> Vec<Fact> {
    let granted = |role, session, covers, rules, until| Fact::GrantCreated {
        grant: id(9),
        project: id(1),
        approval: id(8),
        grantee: text("token:x"),
        role,
        session,
        covers,
        pins: pins(),
        rules,
        what: text("run `cargo test`"),
        until,
    };
    let [command, paths, exact] = covers().try_into().unwrap();
    vec![
        granted(Some(text("tester")), Some(id(2)), command, rules(), Some(AT)),
        granted(None, None, paths, Vec::new(), None),
        granted(None, None, exact, Vec::new(), None),
        Fact::GrantRevoked { grant: id(9), project: id(1) },
        Fact::ModeChanged { project: id(1), mode: ProjectMode::Full, until: Some(AT) },
        Fact::ModeChanged { project: id(1), mode: ProjectMode::Sandbox, until: None },
    ]
}

fn files() -> Vec<Fact> {
    let loaded = |model, trusted| Fact::RoleLoaded {
        project: id(1),
        role: text("tester"),
        file: text(".agents/tester.md"),
        hash: hash(0x66),
        skills: texts(["fs.readFile", "terminal.runCommand"]),
        model,
        trusted,
    };
    let changed = |project, layer, hash, errors| Fact::PolicyChanged {
        project,
        layer: text(layer),
        hash,
        rules: 2,
        trusted: true,
        errors,
    };
    vec![
        loaded(Some(text("anthropic/claude")), true),
        loaded(None, false),
        Fact::RoleRejected {
            project: id(1),
            file: text(".agents/x.md"),
            why: text("line 2: no name"),
        },
        Fact::FileTrusted {
            project: id(1),
            what: GovernanceFileKind::Role,
            file: text(".agents/tester.md"),
            hash: hash(0x66),
            text: text("---\nname: tester\n"),
        },
        changed(Some(id(1)), "project", Some(hash(0x67)), texts(["line 1"])),
        changed(None, "user", None, Vec::new()),
    ]
}

fn commands() -> Vec<Fact> {
    let (action, project) = (id(4), id(1));
    let mut facts = vec![Fact::ActionStarted {
        action,
        project,
        report: 1,
        pid: 99,
        profile: text("command"),
        layers: layers(),
    }];
    for output in outputs() {
        facts.push(Fact::ActionOutput { action, project, report: 2, output });
    }
    for (outcome, report) in outcomes().into_iter().zip([Some(3), None]) {
        facts.push(Fact::ActionFinished { action, project, report, outcome });
    }
    facts
}
