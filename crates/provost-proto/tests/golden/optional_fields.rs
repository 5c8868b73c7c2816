//! Fields that are left out of a message while they have their default, with another value.

use expect_test::expect_file;
use provost_proto::ApprovalList;
use provost_proto::kernel::Method;
use provost_proto::session::{AttemptFailed, CompletionDraft};

use crate::governance::approvals;
use crate::samples::{id, params, text, texts};
use crate::session_views::drafts;
use crate::{Golden, decodes_to};

fn methods() -> Vec<Method> {
    vec![
        Method::Execute {
            id: id(4),
            action: text("terminal.runCommand"),
            params: params(),
            visibility_rules: Vec::new(),
            preconditions: None,
            approved: true,
            readable: texts(["/opt/sdk"]),
        },
        Method::Outcomes { ids: vec![id(4)], wait: true },
    ]
}

fn failed_attempt(charged: bool) -> AttemptFailed {
    AttemptFailed {
        session: id(2),
        turn: id(21),
        attempt: 2,
        retry_in_ms: 500,
        why: text("overloaded"),
        charged,
    }
}

#[test]
fn optional_fields_keep_their_names() {
    let mut golden = Golden::default();
    golden.section("requests to a kernel", &methods());
    golden.section("failed attempt", &[failed_attempt(true)]);
    let draft = CompletionDraft { broken_attempts: vec![70], ..drafts().remove(0) };
    golden.section("draft", &[draft]);
    let approvals = approvals();
    let truncated = vec![approvals[0].id];
    let next = Some(text("17-0192e4a0-0000-7000-8000-000000000001"));
    golden.section("approvals", &[ApprovalList { approvals, truncated, next }]);
    golden.check(&expect_file!["files/optional_fields.txt"]);
    let empty = ApprovalList { approvals: vec![], truncated: vec![], next: None };
    decodes_to(r#"{"approvals":[]}"#, &empty);
}
