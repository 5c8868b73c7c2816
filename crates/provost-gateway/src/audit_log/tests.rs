//! Searches of a real log.

use provost_proto::{ActionId, Event, LogCursor};
use provost_store::EventScope;

use super::{AuditCursor, AuditFilter};
use crate::SubmissionOutcome;
use crate::test_support::TestProject;

/// All events that a search finds, page by page.
async fn search_all(
    test: &TestProject,
    mut from: AuditCursor,
    limit: usize,
    filter: &AuditFilter,
) -> Vec<Event> {
    let mut found = Vec::new();
    loop {
        let audit = &test.gateway.audit;
        let page = audit.search(EventScope::All, from, limit, filter).await.unwrap();
        assert!(page.events.len() <= limit);
        found.extend(page.events);
        from = match (from, page.next) {
            (_, None) => return found,
            (AuditCursor::After(_) | AuditCursor::At(_), Some(next)) => AuditCursor::After(next),
            (AuditCursor::Before(_), Some(next)) => AuditCursor::Before(next),
        };
    }
}

/// Whether an event is expected.
type EventMatcher<'a> = &'a dyn Fn(&Event) -> bool;

const FORWARD: AuditCursor = AuditCursor::After(LogCursor::START);
const BACKWARD: AuditCursor = AuditCursor::Before(LogCursor::END);

#[tokio::test]
async fn pages_of_any_size_in_both_directions_hold_every_event_once() {
    let (test, agent) = TestProject::open_with_agent(&[("run.sh", "echo 1\n")]).await;
    test.submit_command(&agent, "sh run.sh").await;
    let all = search_all(&test, FORWARD, 1000, &AuditFilter::default()).await;
    assert!(all.len() >= 6, "{all:?}");
    for limit in [1, 2, 3, all.len()] {
        let forward = search_all(&test, FORWARD, limit, &AuditFilter::default()).await;
        assert_eq!(forward, all, "{limit}");
        let mut backward = search_all(&test, BACKWARD, limit, &AuditFilter::default()).await;
        backward.reverse();
        assert_eq!(backward, all, "{limit}");
    }
}

#[tokio::test]
async fn a_filter_finds_what_it_names_and_nothing_else() {
    let (test, agent) = TestProject::open_with_agent(&[("run.sh", "echo 1\n")]).await;
    let outcome = test.submit_command(&agent, "sh run.sh").await;
    let SubmissionOutcome::Running(response) = outcome else { panic!("{outcome:?}") };
    let all = search_all(&test, FORWARD, 1000, &AuditFilter::default()).await;
    let middle = all[all.len() / 2].at;
    let of_action =
        |action: ActionId| AuditFilter { action: Some(action), ..AuditFilter::default() };
    let kinds = |kinds: &[&str]| kinds.iter().map(|kind| (*kind).to_owned()).collect();
    let is_about = |event: &Event| {
        matches!(&*event.kind, "ACTION_REQUESTED" | "ACTION_WAITING" | "APPROVAL_ASKED")
    };
    let cases: [(AuditFilter, EventMatcher<'_>); 5] = [
        (AuditFilter { kinds: kinds(&["PROJECT_OPENED"]), ..AuditFilter::default() }, &|event| {
            event.kind == "PROJECT_OPENED"
        }),
        (
            AuditFilter { principal: Some("local:ann".to_owned()), ..AuditFilter::default() },
            &|event| event.principal == "local:ann",
        ),
        (AuditFilter { since: Some(middle), ..AuditFilter::default() }, &|event| {
            event.at >= middle
        }),
        (AuditFilter { until: Some(middle), ..AuditFilter::default() }, &|event| event.at < middle),
        (of_action(response.action_id), &is_about),
    ];
    for (filter, expected) in cases {
        let found = search_all(&test, FORWARD, 2, &filter).await;
        let wanted: Vec<Event> = all.iter().filter(|event| expected(event)).cloned().collect();
        assert!(!wanted.is_empty() && wanted.len() < all.len(), "{filter:?}");
        assert_eq!(found, wanted, "{filter:?}");
    }
}
