//! A draft is shown as it is written, and its journal holds what was shown.

use std::path::Path;
use std::sync::Arc;

use provost_core::redact::Secrets;
use provost_proto::session::AttemptFailed;
use provost_proto::{DocumentAppend, LogCursor, MessageId, SessionId, TurnId};
use uuid::Uuid;

use super::*;
use crate::GatewayConfig;
use crate::test_support::open_log;

const SECRET: &str = "hunter2-hunter2-hunter2";

fn ids() -> (SessionId, TurnId, MessageId) {
    let id = Uuid::from_u128;
    (id(1).into(), id(2).into(), id(3).into())
}

async fn open(folder: &Path) -> LiveDrafts {
    let secrets = Secrets::default().with_secret("key", SECRET);
    let config = GatewayConfig { secrets, ..GatewayConfig::default() };
    let log = Arc::new(open_log(folder, &config).await);
    LiveDrafts::new(log, folder.join("drafts"))
}

fn journal_name() -> String {
    let (session, _, message) = ids();
    format!("{}.{}.jsonl", session.uuid(), message.uuid())
}

fn begin(drafts: &LiveDrafts) -> DraftWriter {
    let (session, turn, message) = ids();
    drafts.begin(session, turn, message).unwrap()
}

fn failed(attempt: u32) -> AttemptFailed {
    let (session, turn, _) = ids();
    let (retry_in_ms, why) = (5, format!("busy {SECRET}"));
    AttemptFailed { session, turn, attempt, retry_in_ms, why, charged: true }
}

fn texts(pieces: &[DocumentAppend]) -> Vec<&str> {
    pieces.iter().map(|piece| piece.text.as_str()).collect()
}

#[tokio::test]
async fn a_follower_reads_from_where_it_was_and_a_late_one_gets_all() {
    let folder = tempfile::tempdir().unwrap();
    let drafts = open(folder.path()).await;
    let mut follower = drafts.follow(ids().0);
    assert!(follower.current().is_none());
    let mut writer = begin(&drafts);
    follower.changed().await;
    let draft = follower.current().unwrap();
    let mut position = DraftPosition::default();
    writer.push_text(DraftPart::Reasoning, "hm").unwrap();
    writer.push_text(DraftPart::Text, "One ").unwrap();
    writer.push_text(DraftPart::Text, "two").unwrap();
    follower.changed().await;
    assert_eq!(texts(&draft.read_from(&mut position).unwrap()), ["hm", "One two"]);
    assert!(draft.read_from(&mut position).unwrap().is_empty());
    writer.push_text(DraftPart::Text, ", three").unwrap();
    writer.begin_call(0, "fs.readFile").unwrap();
    let pieces = draft.read_from(&mut position).unwrap();
    assert_eq!(
        (texts(&pieces), pieces[1].tool.as_deref()),
        (vec![", three", ""], Some("fs.readFile"))
    );
    writer.push_text(DraftPart::Call(0), "{}").unwrap();
    assert_eq!(texts(&draft.read_from(&mut position).unwrap()), ["{}"]);

    let late = drafts.follow(ids().0).current().unwrap();
    let (document, end) = late.to_document();
    assert_eq!((document.reasoning.as_str(), document.text.as_str()), ("hm", "One two, three"));
    assert_eq!(
        (document.calls[0].tool.as_str(), &*document.calls[0].arguments),
        ("fs.readFile", "{}")
    );
    assert_eq!(end, position);
}

#[tokio::test]
async fn a_new_attempt_is_a_draft_of_its_own_and_the_end_removes_the_journal() {
    let folder = tempfile::tempdir().unwrap();
    let drafts = open(folder.path()).await;
    let mut writer = begin(&drafts);
    let mut follower = drafts.follow(ids().0);
    let first = follower.current().unwrap();
    writer.push_text(DraftPart::Text, "void").unwrap();
    writer.fail_attempt(&failed(2), 7).unwrap();
    let mut position = DraftPosition::default();
    assert!(first.read_from(&mut position).is_none(), "it is needed as a whole");
    let retrying = first.to_document().0.retrying.unwrap();
    assert!(retrying.at == 5007 && !retrying.why.contains(SECRET), "{retrying:?}");
    writer.restart(2, LogCursor::END).unwrap();
    let second = follower.current().unwrap();
    writer.push_text(DraftPart::Text, "kept").unwrap();
    assert_eq!((first.state(), second.since()), (DraftState::Ended(None), LogCursor::END));
    assert_eq!(
        (first.to_document().0.text, second.to_document().0.text),
        ("void".into(), "kept".into())
    );
    let journals = drafts.read_journals().unwrap();
    let journaled = &journals[0];
    assert_eq!((journaled.draft.text.as_str(), journaled.restarts), ("kept", 1));
    assert_eq!(journaled.draft.broken_attempts, [4]);
    writer.close().unwrap();
    assert_eq!(second.state(), DraftState::Closing);
    writer.finish(Some(LogCursor::END)).unwrap();
    assert_eq!(second.state(), DraftState::Ended(Some(LogCursor::END)));
    assert!(follower.current().is_none() && drafts.read_journals().unwrap().is_empty());
}

#[tokio::test]
async fn a_journal_stays_when_its_writer_ends_and_a_torn_line_is_ignored() {
    let folder = tempfile::tempdir().unwrap();
    let drafts = open(folder.path()).await;
    let mut writer = begin(&drafts);
    writer.push_text(DraftPart::Text, "One ").unwrap();
    writer.push_text(DraftPart::Text, "two\n").unwrap();
    let mut follower = drafts.follow(ids().0);
    drop(writer);
    assert!(follower.current().is_none());
    let path = folder.path().join("drafts").join(journal_name());
    let whole = std::fs::read(&path).unwrap();
    let lines: Vec<usize> =
        whole.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at).collect();
    for cut in 0..=whole.len() {
        std::fs::write(&path, &whole[..cut]).unwrap();
        let journals = drafts.read_journals().unwrap();
        let restored = journals.first().map(|journaled| journaled.draft.text.as_str());
        let expected = match lines.iter().filter(|end| **end <= cut).count() {
            0 => None,
            1 => Some(""),
            2 => Some("One "),
            _ => Some("One two\n"),
        };
        assert_eq!(restored, expected, "after {cut} bytes");
    }
    drafts.remove_journals().unwrap();
    assert!(drafts.read_journals().unwrap().is_empty());
}

#[tokio::test]
async fn a_secret_is_neither_shown_nor_journaled_however_it_is_split() {
    for cut in 1..SECRET.len() {
        let folder = tempfile::tempdir().unwrap();
        let drafts = open(folder.path()).await;
        let mut writer = begin(&drafts);
        for piece in ["it is ", &SECRET[..cut], &SECRET[cut..], " indeed h"] {
            writer.push_text(DraftPart::Text, piece).unwrap();
        }
        writer.close().unwrap();
        let text = drafts.follow(ids().0).current().unwrap().to_document().0.text;
        assert!(!text.contains(SECRET) && text.contains("[redacted: key] indeed h"), "{text}");
        let n_shown = text.strip_prefix("it is ").unwrap().split('[').next().unwrap().len();
        assert!(n_shown < 4, "{text}");
        assert_eq!(drafts.read_journals().unwrap()[0].draft.text, text);
    }
}

#[tokio::test]
async fn what_nobody_writes_or_follows_is_forgotten() {
    let folder = tempfile::tempdir().unwrap();
    let drafts = open(folder.path()).await;
    for number in 0..100 {
        let session = Uuid::from_u128(number).into();
        drop(drafts.follow(session));
    }
    assert!(drafts.slots.lock().len() <= 1);
}

#[tokio::test]
async fn a_draft_that_was_not_appended_is_kept_beside_the_next_one() {
    let folder = tempfile::tempdir().unwrap();
    let drafts = open(folder.path()).await;
    let (session, turn, first) = ids();
    let mut writer = begin(&drafts);
    writer.push_text(DraftPart::Text, "lost?").unwrap();
    assert!(drafts.list_unlogged(session).unwrap().is_empty(), "it is being written");
    // Its append failed.
    drop(writer);
    let second = MessageId::from(Uuid::from_u128(4));
    let mut writer = drafts.begin(session, turn, second).unwrap();
    writer.push_text(DraftPart::Text, "next").unwrap();
    let said = |journals: &[JournaledDraft]| -> Vec<(MessageId, String)> {
        journals.iter().map(|one| (one.message, one.draft.text.clone())).collect()
    };
    let expected = [(first, "lost?".to_owned()), (second, "next".to_owned())];
    assert_eq!(said(&drafts.read_journals().unwrap()), expected);
    writer.finish(Some(LogCursor::END)).unwrap();
    let unlogged = drafts.list_unlogged(session).unwrap();
    assert_eq!(said(&unlogged), expected[..1]);
    unlogged[0].remove_journal().unwrap();
    assert!(drafts.list_unlogged(session).unwrap().is_empty());
    // A journal of an earlier version has the name of its session only.
    let mut writer = begin(&drafts);
    writer.push_text(DraftPart::Text, "old").unwrap();
    drop(writer);
    let drafts_folder = folder.path().join("drafts");
    let old = drafts_folder.join(format!("{}.jsonl", session.uuid()));
    std::fs::rename(drafts_folder.join(journal_name()), old).unwrap();
    assert_eq!(said(&drafts.read_journals().unwrap()), [(first, "old".to_owned())]);
}
