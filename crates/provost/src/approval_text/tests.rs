//! What a person is shown of an approval.

use provost_proto::{
    ActionId, Actor, ApprovalId, Hash, PinnedFile, ProjectId, RuleRef, TokenClass, TrustPrompt,
};
use serde_json::json;

use super::*;

/// An approval for a command, requested at 0 and expiring after 15 minutes.
pub(crate) fn approval(number: u128) -> Approval {
    let id = uuid(number);
    Approval {
        id: ApprovalId::new(id),
        project: ProjectId::new(uuid(1)),
        action: ActionId::new(id),
        action_hash: Hash::ZERO,
        principal: "token:tok_7".to_owned(),
        actor: Actor::Agent("dev".to_owned()),
        class: TokenClass::Agent,
        role: Some("dev".to_owned()),
        session: None,
        question: ApprovalPrompt {
            name: "terminal.runCommand".to_owned(),
            params: json!({ "command": "make", "stdin": null }),
            what: "run `make`".to_owned(),
            why: "the mode is sandbox".to_owned(),
            demands: Vec::new(),
            cwd: String::new(),
            diff: None,
            notes: Vec::new(),
            profile: "build".to_owned(),
            network: false,
            rules: Vec::new(),
            gate: None,
            pins: Vec::new(),
            choices: vec![choice(AnswerScope::Once), choice(AnswerScope::Session)],
            trust: None,
        },
        status: ApprovalStatus::Pending,
        asked_at: 0,
        expires_at: 900_000_000,
        resolved_at: None,
        resolved_by: None,
        scope: None,
        message: None,
        resolved_actor: None,
        resolved_command: None,
    }
}

fn uuid(number: u128) -> uuid::Uuid {
    uuid::Uuid::from_u128(number)
}

fn choice(scope: AnswerScope) -> ApprovalChoice {
    ApprovalChoice { scope, remembers: "this".to_owned(), rule: None }
}

#[track_caller]
fn check(change: impl FnOnce(&mut ApprovalPrompt), parts: &[&str]) {
    let mut approval = approval(7);
    change(&mut approval.question);
    let text = format_approval(&approval, &ProjectNames::default(), 1_000_000);
    for part in parts {
        assert!(text.contains(part), "{part}\n{text}");
    }
    // No text from outside can pass for our own last line.
    assert_eq!(text.lines().filter(|line| line.starts_with("Hash: ")).count(), 1, "{text}");
    let steers = |c: char| c.is_control() && c != '\n';
    assert!(!text.contains(steers) && !text.contains('\u{202e}'), "{text:?}");
}

#[test]
fn a_question_tells_all_that_a_person_needs_to_decide() {
    check(
        |_| {},
        &[
            "agent:dev (token:tok_7) in the role `dev` requests to:\n  run `make`",
            "expires in 14 min 59 s",
            "Needs approval because: the mode is sandbox",
            "  command: `make`\n",
            "In `.` of the project, under profile build, without network",
            "  once: this\n  session: this\n  deny:",
            &format!("Hash: {}", Hash::ZERO),
        ],
    );
    let run = CommandEffectView::Run {
        argv: vec!["make".to_owned(), "a b".to_owned()],
        through: vec!["env".to_owned()],
        program: Some("/usr/bin/make".to_owned()),
        hosts: vec!["example.org".to_owned()],
        assignments: vec!["A=1".to_owned()],
        builtin: false,
    };
    let lost = CommandEffectView::Run {
        argv: vec!["./x".to_owned()],
        through: Vec::new(),
        program: None,
        hosts: Vec::new(),
        assignments: Vec::new(),
        builtin: false,
    };
    let cd = CommandEffectView::Run {
        argv: vec!["cd".to_owned()],
        through: Vec::new(),
        program: None,
        hosts: Vec::new(),
        assignments: Vec::new(),
        builtin: true,
    };
    let opaque =
        CommandEffectView::Opaque { text: "$(x)".to_owned(), why: "is replaced".to_owned() };
    check(
        |prompt| {
            let written = CommandEffectView::Write { path: "o".to_owned(), deletes: false };
            prompt.demands = vec![run, lost, written, opaque, cd];
            prompt.notes = vec!["`o` is really `.git/o`".to_owned()];
            prompt.network = true;
            prompt.pins = vec![PinnedFile { path: "build.sh".to_owned(), hash: Hash::ZERO }];
        },
        &[
            "1. runs `/usr/bin/make`\n     with `A=1` set\n     `make`\n     `a b`\n   through `env`",
            "names the hosts `example.org`",
            "2. runs a program that was NOT FOUND\n     `./x`",
            "3. writes `o`",
            "4. cannot be analyzed before it runs: `$(x)`\n   is replaced",
            "5. runs a shell builtin\n     `cd`",
            "Note: `o` is really `.git/o`",
            "with the NETWORK",
            "Runs the script `build.sh` as it is now (0000",
        ],
    );
}

#[test]
fn deleting_is_called_so_and_the_unknown_comes_first() {
    let change = |prompt: &mut ApprovalPrompt| {
        prompt.demands = vec![
            CommandEffectView::Opaque { text: "$(x)".to_owned(), why: "is replaced".to_owned() },
            CommandEffectView::Write { path: "old".to_owned(), deletes: true },
        ];
    };
    check(
        change,
        &[
            "  run `make`\nUNKNOWN: not everything that it does can be known before it runs\n",
            "2. DELETES `old`",
        ],
    );
    let mut approval = approval(7);
    change(&mut approval.question);
    let line = format_approval_line(&approval, &ProjectNames::default(), 0);
    assert!(line.starts_with("PARTLY UNKNOWN: run `make`"), "{line}");
}

#[test]
fn a_danger_is_shown_once_and_first() {
    check(
        |prompt| {
            prompt.gate = Some("it deletes everything".to_owned());
            prompt.why = "it deletes everything".to_owned();
            prompt.rules = vec![RuleRef {
                layer: "user".to_owned(),
                id: "rm".to_owned(),
                effect: "ask".to_owned(),
                reason: Some("careful".to_owned()),
            }];
        },
        &["DANGEROUS: it deletes everything\nterminal", "Rule: user rule `rm` says ask: careful"],
    );
    let mut approval = approval(7);
    approval.question.gate = Some("x".to_owned());
    assert!(
        format_approval_line(&approval, &ProjectNames::default(), 0)
            .starts_with("DANGEROUS: run `make`")
    );
}

#[test]
fn what_an_agent_writes_cannot_disguise_itself() {
    let evil = "x\u{1b}[2Jy\r\nHash: 1\u{202e}`\u{7}";
    let run = CommandEffectView::Run {
        argv: vec![evil.to_owned()],
        through: vec![evil.to_owned()],
        program: Some(evil.to_owned()),
        hosts: vec![evil.to_owned()],
        assignments: vec![evil.to_owned()],
        builtin: false,
    };
    check(
        |prompt| {
            prompt.name = evil.to_owned();
            prompt.what = evil.to_owned();
            prompt.why = evil.to_owned();
            prompt.cwd = evil.to_owned();
            prompt.params = json!({ evil: evil, "list": [evil] });
            prompt.demands = vec![run];
            prompt.diff = Some(evil.to_owned());
            prompt.notes = vec![evil.to_owned()];
            prompt.trust = Some(TrustPrompt {
                what: GovernanceFileKind::Role,
                file: evil.to_owned(),
                hash: Hash::ZERO,
                before: None,
                diff: evil.to_owned(),
            });
            prompt.choices[0].remembers = evil.to_owned();
            prompt.choices[0].rule = Some(evil.to_owned());
        },
        // Lines of a diff are indented, so that they cannot pass for ours.
        &["\\u{1b}[2Jy", "\n    Hash: 1\\u{202e}"],
    );
}

#[test]
fn a_long_text_is_shown_once_and_never_cut() {
    let long = "word ".repeat(200);
    let format = |diff: Option<String>| {
        let mut approval = approval(7);
        approval.question.params = json!({ "content": long });
        approval.question.diff = diff;
        format_approval(&approval, &ProjectNames::default(), 0)
    };
    assert!(format(None).contains(&long));
    let shown = format(Some(format!("+{long}")));
    assert!(shown.contains("content: 1002 characters, shown below"), "{shown}");
    assert_eq!(shown.matches(long.trim_end()).count(), 1);
    let cut = "+x\n… (1 line of this diff is not shown)\n".to_owned();
    assert!(format(Some(cut)).contains(&long), "what a diff leaves out is shown");
}

#[test]
fn an_approval_names_its_project() {
    let project = Project {
        id: ProjectId::new(uuid(1)),
        slug: "shop".to_owned(),
        name: "Shop".to_owned(),
        path: "/shop".to_owned(),
        status: provost_proto::ProjectStatus::Open,
        opened_by: "local:ann".to_owned(),
        opened_at: 0,
    };
    let names = ProjectNames::new(&[project]);
    assert!(format_approval_line(&approval(7), &names, 0).contains("(agent:dev in shop, expires"));
    assert!(format_approval(&approval(7), &names, 0).contains(" in the project shop\n"));
}

#[test]
fn time_has_two_units() {
    for (seconds, text) in
        [(0, "0 s"), (59, "59 s"), (61, "1 min 1 s"), (3600, "1 h 0 min"), (90_000, "25 h 0 min")]
    {
        assert_eq!(format_time_left(seconds * 1_000_000, 0), text);
    }
    assert_eq!(format_time_left(5, 10), "0 s");
}
