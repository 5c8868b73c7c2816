//! The fold of sessions: the list, their items in pages, the completion that is being streamed,
//! and usage.
//!
//! A session is several documents, so that the cost of an event does not grow with the session: a
//! delta changes the draft only, an item changes its page and the session's own small document.

mod draft;
mod page;
mod turn;
mod usage;

use provost_proto::session::{
    MessageAdded, MessageAuthor, MessagePart, NanoDollars, QueuedMessage, SessionOpened,
    SessionStatus, SessionView, TaskUsed, TokenUsage, TurnStarted, TurnStatus, TurnView,
    UsageRecorded,
};
use provost_proto::{Fact, SessionId, TurnId, limits};
use uuid::Uuid;

use super::{DocumentKey, EventMetadata, PriorDocument, ViewDocument, ViewKind};

pub use draft::unpaid_bytes;
pub use page::page_key;

fn truncate_to_uuid(hasher: &blake3::Hasher) -> Uuid {
    let mut key = [0; 16];
    key.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
    Uuid::from_bytes(key)
}

type AffectedDocuments = [Option<(DocumentKey, PriorDocument)>; 4];

/// The documents that a fact of a session changes; none for other facts.
pub(super) fn affected_session_documents(fact: &Fact) -> AffectedDocuments {
    let doc = |view, key| Some((DocumentKey { view, key }, PriorDocument::Required));
    let own = |session: &SessionId| doc(ViewKind::Sessions, session.uuid());
    let page = |session: &SessionId, item| doc(ViewKind::Pages, page_key(*session, item));
    let draft = |session: &SessionId| doc(ViewKind::Drafts, session.uuid());
    let turn = |turn: &TurnId| doc(ViewKind::Turns, turn.uuid());
    #[expect(clippy::wildcard_enum_match_arm, reason = "facts of other streams are ignored")]
    match fact {
        Fact::SessionOpened(SessionOpened { session, .. }) => {
            let key = DocumentKey { view: ViewKind::Sessions, key: session.uuid() };
            [Some((key, PriorDocument::Ignored)), None, None, None]
        }
        Fact::MessageAdded(m) => {
            let draft = if m.from == MessageAuthor::Assistant { draft(&m.session) } else { None };
            [own(&m.session), page(&m.session, m.item), draft, None]
        }
        Fact::MessageWithdrawn(m) => [own(&m.session), page(&m.session, m.item), None, None],
        Fact::TurnStarted(t) => {
            let page = t.item.and_then(|item| page(&t.session, item));
            [own(&t.session), draft(&t.session), page, turn(&t.turn)]
        }
        Fact::TextDelta(d) | Fact::ReasoningDelta(d) => [draft(&d.session), None, None, None],
        Fact::ToolDelta(d) => [draft(&d.session), None, None, None],
        Fact::AttemptFailed(a) => [draft(&a.session), None, None, None],
        Fact::AttemptRestarted(a) => [draft(&a.session), None, None, None],
        Fact::ToolCalled(c) => [own(&c.session), page(&c.session, c.item), None, None],
        Fact::ToolReturned(r) => [page(&r.session, r.item), None, None, None],
        Fact::HandedOff(h) => [page(&h.session, h.item), None, None, None],
        Fact::SessionCompacted(c) => [own(&c.session), page(&c.session, c.item), None, None],
        Fact::UsageRecorded(u) => {
            let row = doc(ViewKind::Usage, usage::usage_key(u.day, u.project, &u.model));
            [own(&u.session), row, turn(&u.turn), draft(&u.session)]
        }
        Fact::TaskUsed(t) => [own(&t.session), t.turn.as_ref().and_then(turn), None, None],
        Fact::SessionClosed(c) => [own(&c.session), None, None, None],
        _ => match ended_turn(fact) {
            Some((session, id)) => [own(&session), turn(&id), None, None],
            None => [None, None, None, None],
        },
    }
}

/// The turn that ends with this fact, if one does.
fn ended_turn(fact: &Fact) -> Option<(SessionId, TurnId)> {
    #[expect(clippy::wildcard_enum_match_arm, reason = "no other fact ends a turn")]
    match fact {
        Fact::TurnFinished(t) => Some((t.session, t.turn)),
        Fact::TurnFailed(t) => Some((t.session, t.turn)),
        Fact::TurnCancelled(t) => Some((t.session, t.turn)),
        Fact::TurnInterrupted(t) => Some((t.session, t.turn)),
        _ => None,
    }
}

/// Folds a fact of a session into one of the documents that it changes.
pub(super) fn fold_session(
    view: ViewKind,
    doc: Option<ViewDocument>,
    metadata: EventMetadata<'_>,
    fact: &Fact,
) -> Option<ViewDocument> {
    match view {
        ViewKind::Sessions => {
            if let Fact::SessionOpened(opened) = fact {
                return Some(ViewDocument::Session(Box::new(new_session(metadata, opened))));
            }
            let session = doc.and_then(ViewDocument::into_session)?;
            Some(ViewDocument::Session(Box::new(update_session(session, metadata, fact))))
        }
        ViewKind::Pages => page::fold_page(doc.and_then(ViewDocument::into_page), metadata, fact)
            .map(|page| ViewDocument::Page(Box::new(page))),
        ViewKind::Drafts => {
            draft::fold_draft(doc.and_then(ViewDocument::into_draft), metadata, fact)
                .map(|draft| ViewDocument::Draft(Box::new(draft)))
        }
        ViewKind::Turns => turn::fold_turn(doc.and_then(ViewDocument::into_turn), metadata, fact)
            .map(|turn| ViewDocument::Turn(Box::new(turn))),
        ViewKind::Usage => {
            let Fact::UsageRecorded(used) = fact else { return doc };
            let row = doc.and_then(ViewDocument::into_usage);
            Some(ViewDocument::Usage(Box::new(usage::fold_usage(row, used))))
        }
        ViewKind::Projects
        | ViewKind::Tokens
        | ViewKind::Actions
        | ViewKind::Kernels
        | ViewKind::Modes
        | ViewKind::Approvals
        | ViewKind::Grants
        | ViewKind::Trusted
        | ViewKind::Runtimes
        | ViewKind::Looks
        | ViewKind::Daemon
        | ViewKind::Governance
        | ViewKind::Outputs
        | ViewKind::Notebook(_) => doc,
    }
}

fn new_session(metadata: EventMetadata<'_>, opened: &SessionOpened) -> SessionView {
    SessionView {
        id: opened.session,
        project: opened.project,
        role: opened.role.clone(),
        model: opened.model.clone(),
        title: String::new(),
        status: SessionStatus::Idle,
        opened_at: metadata.at,
        opened_by: metadata.principal.to_owned(),
        updated_at: metadata.at,
        items: 0,
        queued: Vec::new(),
        turn: None,
        usage: TokenUsage::default(),
        cost: 0,
        unpriced: 0,
        handed: provost_proto::session::HandoffUsage::default(),
        context: 0,
        compacted: None,
        budget: opened.budget,
        parent: opened.parent,
        depth: opened.depth,
        only: opened.only.clone(),
    }
}

fn update_session(
    mut session: SessionView,
    metadata: EventMetadata<'_>,
    fact: &Fact,
) -> SessionView {
    session.updated_at = metadata.at;
    #[expect(clippy::wildcard_enum_match_arm, reason = "the rest ends a turn or changes nothing")]
    match fact {
        Fact::MessageAdded(message) => add_message(&mut session, message),
        Fact::MessageWithdrawn(withdrawn) => {
            session.queued.retain(|queued| queued.message != withdrawn.message);
        }
        Fact::TurnStarted(started) => start_turn(&mut session, metadata, started),
        Fact::ToolCalled(called) => {
            session.items = session.items.max(called.item.saturating_add(1));
        }
        Fact::SessionCompacted(compacted) => {
            session.items = session.items.max(compacted.item.saturating_add(1));
            session.compacted = Some(compacted.item);
            session.context = 0;
        }
        Fact::UsageRecorded(used) => record_usage(&mut session, used),
        Fact::TaskUsed(used) => record_task_usage(&mut session, used),
        Fact::SessionClosed(_) => {
            session.status = SessionStatus::Closed;
            session.queued.clear();
        }
        _ => {
            if let Some((_, turn)) = ended_turn(fact) {
                end_turn(&mut session, turn, metadata, fact);
            }
        }
    }
    session
}

fn add_message(session: &mut SessionView, message: &MessageAdded) {
    session.items = session.items.max(message.item.saturating_add(1));
    if message.from == MessageAuthor::Assistant {
        return;
    }
    if session.title.is_empty() {
        session.title = title(&message.parts);
    }
    if message.turn.is_none() && session.status != SessionStatus::Closed {
        session.queued.push(QueuedMessage { message: message.message, item: message.item });
    }
}

/// The beginning of the first line that is not empty.
fn title(parts: &[MessagePart]) -> String {
    let texts = parts.iter().map(|part| match part {
        MessagePart::Text { text }
        | MessagePart::Reasoning { text }
        | MessagePart::Refusal { text } => text.as_str(),
    });
    let line = texts.flat_map(str::lines).map(str::trim).find(|line| !line.is_empty());
    line.unwrap_or_default().chars().take(limits::MAX_TITLE_CHARS).collect()
}

fn start_turn(session: &mut SessionView, metadata: EventMetadata<'_>, started: &TurnStarted) {
    session.queued.retain(|queued| Some(queued.message) != started.message);
    if session.status == SessionStatus::Closed {
        return;
    }
    session.status = SessionStatus::Running;
    session.turn = Some(turn::new_turn(metadata, started));
}

fn record_usage(session: &mut SessionView, used: &UsageRecorded) {
    add_session_usage(session, Some(used.turn), used.usage, used.cost);
    session.context = match used.purpose {
        provost_proto::session::CompletionPurpose::Answer => used.usage.total(),
        provost_proto::session::CompletionPurpose::Summary => 0,
    };
}

/// Adds what a task used that the session handed off. The task has a context of its own.
fn record_task_usage(session: &mut SessionView, used: &TaskUsed) {
    add_session_usage(session, used.turn, used.usage, used.cost);
    let handed = &mut session.handed;
    handed.usage = handed.usage.saturating_add(used.usage);
    handed.cost = handed.cost.saturating_add(used.cost.unwrap_or(0));
    handed.unpriced = handed.unpriced.saturating_add(u32::from(used.cost.is_none()));
}

fn add_session_usage(
    session: &mut SessionView,
    turn: Option<TurnId>,
    usage: TokenUsage,
    cost: Option<NanoDollars>,
) {
    let nanos = cost.unwrap_or(0);
    session.usage = session.usage.saturating_add(usage);
    session.cost = session.cost.saturating_add(nanos);
    session.unpriced = session.unpriced.saturating_add(u32::from(cost.is_none()));
    if let Some(now) = session.turn.as_mut().filter(|now| Some(now.id) == turn) {
        turn::add_turn_usage(now, usage, cost);
    }
}

/// A turn ends once: later facts about its end change nothing.
fn end_turn(session: &mut SessionView, turn: TurnId, metadata: EventMetadata<'_>, fact: &Fact) {
    let running = |open: &&mut TurnView| open.id == turn && open.status == TurnStatus::Running;
    let Some(open) = session.turn.as_mut().filter(running) else { return };
    turn::end_turn(open, metadata, fact);
    let status = match open.status {
        TurnStatus::Interrupted => SessionStatus::Interrupted,
        TurnStatus::Running | TurnStatus::Finished | TurnStatus::Failed | TurnStatus::Cancelled => {
            SessionStatus::Idle
        }
    };
    if session.status != SessionStatus::Closed {
        session.status = status;
    }
}
