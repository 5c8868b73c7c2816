//! Whatever JSON is appended: the log verifies, and what is folded is what is stored.

use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use provost_core::exact_json;
use provost_core::fold::ViewKind;
use provost_proto::kernel::ErrorInfo;
use provost_proto::session::{MessageAdded, MessageAuthor, SessionBudget, SessionOpened};
use provost_proto::{Code, Fact, ProjectId, SessionId, Stream};
use provost_store::{Clock, EventStore, SqliteStore};
use serde_json::{Value, json};

use super::{append, fresh, one, open};

const AWKWARD: [&str; 12] = [
    r#"{"startLine":1.0}"#,
    r#"{"id":9007199254740993}"#,
    r#"{"id":1234567890123456789012345678901234567890}"#,
    r#"{"id":-9223372036854775808}"#,
    r#"{"a":1,"a":2}"#,
    "[-0,-0.0,0.0,1e400,-1E+400,1e2,100000000000000000000.0]",
    r#"["\ud83d","\ude00\ud83d"]"#,
    r#"{"\ud83d":1}"#,
    r#"{"$json":"1.0"}"#,
    r#"{"$blob":"0000000000000000000000000000000000000000000000000000000000000000","size":1}"#,
    "1e21",
    "1000000000000000000",
];

fn session_opened(session: SessionId, project: ProjectId) -> Fact {
    Fact::SessionOpened(SessionOpened {
        session,
        project,
        role: "dev".to_owned(),
        model: "p/m".to_owned(),
        budget: SessionBudget::default(),
        parent: None,
        depth: 0,
        only: None,
    })
}

fn answered(session: SessionId, item: u32, answer: Value) -> Fact {
    Fact::MessageAdded(MessageAdded {
        session,
        item,
        message: Clock::system().new_id(),
        turn: None,
        from: MessageAuthor::Assistant,
        parts: Vec::new(),
        answer: Some(answer),
        answer_texts: Vec::new(),
        cut_calls: Vec::new(),
    })
}

fn denied(details: Value) -> Fact {
    let fault =
        ErrorInfo { code: Code::InvalidAction, message: "no".to_owned(), details: Some(details) };
    Fact::ActionDenied { action: Clock::system().new_id(), fault }
}

async fn assert_verifies(store: &SqliteStore) {
    let report = store.verify_log().await.unwrap();
    assert_eq!((report.bad, report.views), (None, None));
}

/// Appends each text as the JSON of a model's completion, read exactly and read as a plain value.
async fn check(texts: Vec<String>) {
    let (store, folder) = fresh();
    let (project, session) = (Clock::system().new_id(), Clock::system().new_id());
    append(&store, one(Stream::Sys, session_opened(session, project))).await;
    let mut item = 0;
    let mut add = async |answer: Value| {
        append(&store, one(Stream::Session(session), answered(session, item, answer))).await;
        item += 1;
    };
    for text in &texts {
        add(exact_json::parse(text).unwrap()).await;
        if let Ok(value) = serde_json::from_str::<Value>(text) {
            add(value.clone()).await;
            append(&store, one(Stream::Project(project), denied(value))).await;
        }
    }
    assert_verifies(&store).await;
    let live = store.list_documents(ViewKind::Pages).await.unwrap();
    store.rebuild_views().await.unwrap();
    assert_verifies(&store).await;
    assert_eq!(store.list_documents(ViewKind::Pages).await.unwrap(), live);
    drop(store);
    let store = open(folder.path());
    assert_verifies(&store).await;
    assert_eq!(store.list_documents(ViewKind::Pages).await.unwrap(), live);
}

#[tokio::test]
async fn awkward_json_is_stored_and_the_log_verifies() {
    let mut texts: Vec<String> = AWKWARD.iter().map(|text| (*text).to_owned()).collect();
    for depth in [60, 120, 127] {
        texts.push(format!("{}1.0{}", "[".repeat(depth), "]".repeat(depth)));
    }
    texts.push(format!("{}{}", "[".repeat(3000), "]".repeat(3000)));
    check(texts).await;
}

#[tokio::test]
async fn what_a_provider_sent_is_kept_as_the_text_it_came_in() {
    let (store, _folder) = fresh();
    let session = Clock::system().new_id();
    append(&store, one(Stream::Sys, session_opened(session, Clock::system().new_id()))).await;
    for (item, text) in (0..).zip(AWKWARD) {
        let answer = json!({ "native": exact_json::parse(text).unwrap() });
        let fact = answered(session, item, answer);
        let event = append(&store, one(Stream::Session(session), fact)).await.remove(0);
        let kept = exact_json::to_text(&event.body["answer"]["native"]);
        assert_eq!(kept, text);
    }
}

#[test]
fn any_json_is_stored_verified_and_rebuilt() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let config = ProptestConfig { cases: 40, ..ProptestConfig::default() };
    let plan = prop::collection::vec(any_json_text(), 1..12);
    TestRunner::new(config)
        .run(&plan, |texts| {
            runtime.block_on(check(texts));
            Ok(())
        })
        .unwrap();
}

/// Any JSON, as another program may write it.
fn any_json_text() -> impl Strategy<Value = String> {
    let name = prop_oneof!["[a-c$]{0,3}", "\\PC{0,4}"].prop_map(|text| json!(text).to_string());
    let leaf = prop_oneof![
        Just("null".to_owned()),
        any::<bool>().prop_map(|flag| flag.to_string()),
        any::<f64>().prop_map(|number| json!(number).to_string()),
        any::<u64>().prop_map(|number| number.to_string()),
        any::<i64>().prop_map(|number| number.to_string()),
        any::<i32>().prop_map(|number| format!("{number}.0")),
        "-?(0|[1-9][0-9]{0,25})(\\.[0-9]{1,4})?([eE][+-]?[0-9]{1,3})?",
        any::<String>().prop_map(|text| json!(text).to_string()),
        prop::sample::select(&AWKWARD[..]).prop_map(str::to_owned),
    ];
    leaf.prop_recursive(6, 48, 5, move |inner| {
        let member =
            (name.clone(), inner.clone()).prop_map(|(name, value)| format!("{name}:{value}"));
        prop_oneof![
            prop::collection::vec(inner, 0..5).prop_map(|items| format!("[{}]", items.join(","))),
            prop::collection::vec(member, 0..5)
                .prop_map(|items| format!("{{{}}}", items.join(","))),
        ]
    })
}
