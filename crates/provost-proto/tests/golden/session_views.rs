//! Sessions as clients receive them, and the bodies of their routes.

use expect_test::expect_file;
use provost_proto::session::{
    AnswerText, CancelTurnResponse, CompletionDraft, ContinueTurnResponse, DailyUsage,
    DraftToolCall, FinishReason, HandoffUsage, ItemContent, MessageAuthor, ModelList, ModelView,
    OpenSessionRequest, PendingRetry, ProviderView, QueuedMessage, SendMessageRequest,
    SendMessageResponse, SessionDetail, SessionItem, SessionList, SessionPage, SessionStatus,
    SessionView, StartTourRequest, StartTourResponse, ToolCallStatus, ToolResult, TurnStatus,
    TurnView, UsageReport, WithdrawMessageResponse,
};
use provost_proto::{Actor, LogCursor};
use serde_json::json;

use crate::api::projects;
use crate::samples::{AT, faults, id, text, texts};
use crate::session::{budgets, parts, usage};
use crate::{Golden, decodes_to};

pub(crate) fn turns() -> Vec<TurnView> {
    let turn = |status, actor, ended_at, reason, fault| TurnView {
        id: id(21),
        status,
        started_at: AT,
        ended_at,
        principal: text("local:ann"),
        actor,
        calls: 2,
        usage: usage(),
        cost: 1_500,
        reason,
        fault,
    };
    vec![
        turn(TurnStatus::Finished, Actor::Ui, Some(AT + 1), Some(FinishReason::Done), None),
        turn(TurnStatus::Failed, Actor::Cli, None, None, Some(faults().remove(0))),
    ]
}

fn sessions() -> Vec<SessionView> {
    let full = SessionView {
        id: id(2),
        project: id(1),
        role: text("tester"),
        model: text("anthropic/claude"),
        title: text("Fix the test"),
        status: SessionStatus::Running,
        opened_at: AT,
        opened_by: text("local:ann"),
        updated_at: AT + 1,
        items: 9,
        queued: vec![QueuedMessage { message: id(22), item: 8 }],
        turn: Some(turns().remove(0)),
        usage: usage(),
        cost: 1_500,
        unpriced: 1,
        handed: HandoffUsage { usage: usage(), cost: 700, unpriced: 1 },
        context: 4_000,
        compacted: Some(6),
        budget: budgets()[0],
        parent: Some(id(3)),
        depth: 1,
        only: Some(texts(["fs.readFile"])),
    };
    let bare = SessionView {
        queued: Vec::new(),
        turn: None,
        handed: HandoffUsage::default(),
        compacted: None,
        budget: budgets()[1],
        parent: None,
        only: None,
        ..full.clone()
    };
    vec![full, bare]
}

fn contents() -> Vec<ItemContent> {
    let message = |from, answer: Option<Box<serde_json::Value>>| ItemContent::Message {
        message: id(22),
        from,
        parts: parts(),
        answer_texts: answer.iter().map(|_| AnswerText { at: text("/a"), part: 1 }).collect(),
        answer,
    };
    let tool = |action, child, result| ItemContent::Tool {
        call: text("call_1"),
        tool: text("fs.readFile"),
        arguments: text("{}"),
        action,
        child,
        result,
    };
    let result = ToolResult { status: ToolCallStatus::Denied, output: text("no"), at: AT };
    let contents = vec![
        message(MessageAuthor::Assistant, Some(Box::new(json!({ "items": [] })))),
        message(MessageAuthor::User, None),
        tool(Some(id(4)), Some(id(3)), Some(result)),
        tool(None, None, None),
        ItemContent::Compacted { summary: text("so far") },
    ];
    crate::assert_every_variant!(contents, ItemContent { Message, Tool, Compacted });
    contents
}

fn items() -> Vec<SessionItem> {
    let turns = [Some(id(21)), None].into_iter().cycle();
    let item = |(content, turn)| SessionItem { item: 1, turn, at: AT, content };
    contents().into_iter().zip(turns).map(item).collect()
}

pub(crate) fn drafts() -> Vec<CompletionDraft> {
    let draft = |calls, retrying| CompletionDraft {
        session: id(2),
        turn: id(21),
        reasoning: text("hm"),
        text: text("Hel"),
        calls,
        retrying,
        broken_attempts: Vec::new(),
    };
    let call = DraftToolCall { tool: text("fs.readFile"), arguments: text("{\"pa") };
    let retrying = PendingRetry { attempt: 2, at: AT, why: text("overloaded") };
    vec![draft(vec![call], Some(retrying)), draft(Vec::new(), None)]
}

fn usage_rows() -> Vec<DailyUsage> {
    vec![DailyUsage {
        day: 20_000,
        project: id(1),
        model: text("anthropic/claude"),
        calls: 3,
        usage: usage(),
        cost: 1_500,
        unpriced: 1,
    }]
}

fn requests(golden: &mut Golden) {
    let open = |model, budget| OpenSessionRequest {
        project: text("shop"),
        role: text("tester"),
        model,
        budget,
    };
    golden.section("open session", &[open(Some(text("m")), Some(budgets()[0])), open(None, None)]);
    golden.section("send message", &[SendMessageRequest { text: text("hello") }]);
    let sent = |turn, queued| SendMessageResponse { session: id(2), message: id(22), turn, queued };
    golden.section("message sent", &[sent(Some(id(21)), false), sent(None, true)]);
    let tour = |path, silent| StartTourRequest { path, silent };
    golden.section("take tour", &[tour(Some(text("~/tour")), true), tour(None, false)]);
    decodes_to("{}", &tour(None, false));
    let (project, session) = (projects().remove(0), sessions().remove(0));
    golden.section(
        "turn cancelled: response",
        &[true, false].map(|cancelled| CancelTurnResponse { cancelled }),
    );
    golden.section("turn continued: response", &[ContinueTurnResponse { turn: id(21) }]);
    golden.section("message withdrawn: response", &[WithdrawMessageResponse { withdrawn: true }]);
    golden.section("tour begun", &[StartTourResponse { project, session }]);
}

fn models() -> Vec<ModelList> {
    let model = |title, scripted| ModelView { name: text("anthropic/claude"), title, scripted };
    let provider = |ready, missing| ProviderView { name: text("anthropic"), ready, missing };
    let full = ModelList {
        models: vec![model(Some(text("Claude")), false), model(None, true)],
        providers: vec![provider(true, None), provider(false, Some(text("ANTHROPIC_API_KEY")))],
        default: Some(text("anthropic/claude")),
    };
    vec![full, ModelList { models: Vec::new(), providers: Vec::new(), default: None }]
}

#[test]
fn bodies_of_sessions_keep_their_fields() {
    let mut golden = Golden::default();
    golden.section("budget", &budgets());
    golden.section("turn", &turns());
    golden.section("session", &sessions());
    golden.section("session page", &[SessionPage { session: id(2), items: items() }]);
    golden.section("draft", &drafts());
    golden.section("session list", &[SessionList { sessions: sessions(), next: None }]);
    let detail = |session, draft| SessionDetail {
        session,
        items: items(),
        draft,
        cursor: LogCursor::from_seq(70),
    };
    let [full, bare] = sessions().try_into().unwrap();
    golden.section("session detail", &[detail(full, drafts().pop()), detail(bare, None)]);
    requests(&mut golden);
    golden.section("usage row", &usage_rows());
    golden.section(
        "usage report",
        &[UsageReport {
            rows: usage_rows(),
            usage: usage(),
            cost: 1_500,
            unpriced: 1,
            today: 20_001,
            prices_as_of: text("2026-01-01"),
        }],
    );
    golden.section("models", &models());
    golden.check(&expect_file!["files/session.txt"]);
}

#[test]
fn sessions_from_before_handoffs_were_counted_still_decode() {
    let bare = sessions().pop().unwrap();
    let mut value = serde_json::to_value(&bare).unwrap();
    value.as_object_mut().unwrap().remove("handed").unwrap();
    decodes_to(&value.to_string(), &bare);
}
