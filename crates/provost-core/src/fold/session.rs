//! Sessions: the list, the items of each in pages, what a model says now, and what
//! models used.
//!
//! A session is several documents, so that a piece of text costs what a piece of
//! text costs, however long the conversation is: a delta touches the draft alone,
//! an item its page and the session's own small document.

use provost_proto::session::{
    CompletionDraft, DailyUsage, DraftToolCall, ITEMS_PER_PAGE, ItemContent, ItemNumber,
    MessageAdded, MessageAuthor, MessagePart, NanoDollars, PendingRetry, QueuedMessage,
    SessionItem, SessionOpened, SessionPage, SessionStatus, SessionView, TaskUsed, TokenUsage,
    ToolDelta, ToolResult, TurnStarted, TurnStatus, TurnView, UsageRecorded,
};
use provost_proto::{Fact, ProjectId, SessionId, TurnId, limits};
use uuid::Uuid;

use super::{DocumentKey, EventMetadata, PriorDocument, ViewDocument, ViewKind};

/// The key of the page that holds a place.
pub fn page_key(session: SessionId, item: ItemNumber) -> Uuid {
    let mut hasher = blake3::Hasher::new();
    hasher.update(session.uuid().as_bytes());
    hasher.update(b"page/");
    hasher.update(&(item / ITEMS_PER_PAGE).to_le_bytes());
    truncate_to_uuid(&hasher)
}

fn usage_key(day: u32, project: ProjectId, model: &str) -> Uuid {
    let mut hasher = blake3::Hasher::new();
    hasher.update(project.uuid().as_bytes());
    hasher.update(b"used/");
    hasher.update(&day.to_le_bytes());
    hasher.update(model.as_bytes());
    truncate_to_uuid(&hasher)
}

fn truncate_to_uuid(hasher: &blake3::Hasher) -> Uuid {
    let mut key = [0; 16];
    key.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
    Uuid::from_bytes(key)
}

type AffectedDocuments = [Option<(DocumentKey, PriorDocument)>; 3];

/// The documents that a fact of a session touches; of all others, none.
pub(super) fn affected_session_documents(fact: &Fact) -> AffectedDocuments {
    let doc = |view, key| Some((DocumentKey { view, key }, PriorDocument::Required));
    let own = |session: &SessionId| doc(ViewKind::Sessions, session.uuid());
    let page = |session: &SessionId, item| doc(ViewKind::Pages, page_key(*session, item));
    let draft = |session: &SessionId| doc(ViewKind::Drafts, session.uuid());
    if let Fact::SessionOpened(SessionOpened { session, .. }) = fact {
        let key = DocumentKey { view: ViewKind::Sessions, key: session.uuid() };
        [Some((key, PriorDocument::Ignored)), None, None]
    } else if let Fact::MessageAdded(m) = fact {
        let draft = if m.from == MessageAuthor::Assistant { draft(&m.session) } else { None };
        [own(&m.session), page(&m.session, m.item), draft]
    } else if let Fact::MessageWithdrawn(m) = fact {
        [own(&m.session), page(&m.session, m.item), None]
    } else if let Fact::TurnStarted(t) = fact {
        let page = t.item.and_then(|item| page(&t.session, item));
        [own(&t.session), draft(&t.session), page]
    } else if let Fact::TextDelta(d) | Fact::ReasoningDelta(d) = fact {
        [draft(&d.session), None, None]
    } else if let Fact::ToolDelta(d) = fact {
        [draft(&d.session), None, None]
    } else if let Fact::AttemptFailed(a) = fact {
        [draft(&a.session), None, None]
    } else if let Fact::AttemptRestarted(a) = fact {
        [draft(&a.session), None, None]
    } else if let Fact::ToolCalled(c) = fact {
        [own(&c.session), page(&c.session, c.item), None]
    } else if let Fact::ToolReturned(r) = fact {
        [page(&r.session, r.item), None, None]
    } else if let Fact::HandedOff(h) = fact {
        [page(&h.session, h.item), None, None]
    } else if let Fact::SessionCompacted(c) = fact {
        [own(&c.session), page(&c.session, c.item), None]
    } else if let Fact::UsageRecorded(u) = fact {
        let row = doc(ViewKind::Usage, usage_key(u.day, u.project, &u.model));
        [own(&u.session), row, None]
    } else if let Fact::TaskUsed(t) = fact {
        [own(&t.session), None, None]
    } else if let Some((session, _)) = ended_turn(fact) {
        [own(&session), None, None]
    } else if let Fact::SessionClosed(c) = fact {
        [own(&c.session), None, None]
    } else {
        [None, None, None]
    }
}

/// Which turn ends with this fact, if one does.
fn ended_turn(fact: &Fact) -> Option<(SessionId, TurnId)> {
    if let Fact::TurnFinished(t) = fact {
        Some((t.session, t.turn))
    } else if let Fact::TurnFailed(t) = fact {
        Some((t.session, t.turn))
    } else if let Fact::TurnCancelled(t) = fact {
        Some((t.session, t.turn))
    } else if let Fact::TurnInterrupted(t) = fact {
        Some((t.session, t.turn))
    } else {
        None
    }
}

/// Folds a fact of a session into one of the documents it touches.
pub(super) fn fold_session(
    view: ViewKind,
    doc: Option<ViewDocument>,
    stamp: EventMetadata<'_>,
    fact: &Fact,
) -> Option<ViewDocument> {
    match view {
        ViewKind::Sessions => {
            if let Fact::SessionOpened(opened) = fact {
                return Some(ViewDocument::Session(Box::new(new_session(stamp, opened))));
            }
            let session = doc.and_then(ViewDocument::into_session)?;
            Some(ViewDocument::Session(Box::new(update_session(session, stamp, fact))))
        }
        ViewKind::Pages => fold_page(doc.and_then(ViewDocument::into_page), stamp, fact)
            .map(|page| ViewDocument::Page(Box::new(page))),
        ViewKind::Drafts => fold_draft(doc.and_then(ViewDocument::into_draft), stamp, fact)
            .map(|draft| ViewDocument::Draft(Box::new(draft))),
        ViewKind::Usage => {
            let Fact::UsageRecorded(used) = fact else { return doc };
            let row = doc.and_then(ViewDocument::into_usage);
            Some(ViewDocument::Usage(Box::new(fold_usage(row, used))))
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
        | ViewKind::Looks => doc,
    }
}

fn new_session(stamp: EventMetadata<'_>, opened: &SessionOpened) -> SessionView {
    SessionView {
        id: opened.session,
        project: opened.project,
        role: opened.role.clone(),
        model: opened.model.clone(),
        title: String::new(),
        status: SessionStatus::Idle,
        opened_at: stamp.at,
        opened_by: stamp.principal.to_owned(),
        updated_at: stamp.at,
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

fn update_session(mut session: SessionView, stamp: EventMetadata<'_>, fact: &Fact) -> SessionView {
    session.updated_at = stamp.at;
    if let Fact::MessageAdded(message) = fact {
        add_message(&mut session, message);
    } else if let Fact::MessageWithdrawn(withdrawn) = fact {
        session.queued.retain(|queued| queued.message != withdrawn.message);
    } else if let Fact::TurnStarted(started) = fact {
        start_turn(&mut session, stamp, started);
    } else if let Fact::ToolCalled(called) = fact {
        session.items = session.items.max(called.item.saturating_add(1));
    } else if let Fact::SessionCompacted(compacted) = fact {
        session.items = session.items.max(compacted.item.saturating_add(1));
        session.compacted = Some(compacted.item);
        session.context = 0;
    } else if let Fact::UsageRecorded(used) = fact {
        record_usage(&mut session, used);
    } else if let Fact::TaskUsed(used) = fact {
        record_task_usage(&mut session, used);
    } else if let Fact::SessionClosed(_) = fact {
        session.status = SessionStatus::Closed;
        session.queued.clear();
    } else if let Some((_, turn)) = ended_turn(fact) {
        end_turn(&mut session, turn, stamp, fact);
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

/// The beginning of the first line that says something.
fn title(parts: &[MessagePart]) -> String {
    let texts = parts.iter().map(|part| match part {
        MessagePart::Text { text }
        | MessagePart::Reasoning { text }
        | MessagePart::Refusal { text } => text.as_str(),
    });
    let line = texts.flat_map(str::lines).map(str::trim).find(|line| !line.is_empty());
    line.unwrap_or_default().chars().take(limits::MAX_TITLE_CHARS).collect()
}

fn start_turn(session: &mut SessionView, stamp: EventMetadata<'_>, started: &TurnStarted) {
    session.queued.retain(|queued| Some(queued.message) != started.message);
    if session.status == SessionStatus::Closed {
        return;
    }
    session.status = SessionStatus::Running;
    session.turn = Some(TurnView {
        id: started.turn,
        status: TurnStatus::Running,
        started_at: stamp.at,
        ended_at: None,
        principal: stamp.principal.to_owned(),
        actor: stamp.actor.clone(),
        calls: 0,
        usage: TokenUsage::default(),
        cost: 0,
        reason: None,
        fault: None,
    });
}

fn record_usage(session: &mut SessionView, used: &UsageRecorded) {
    add_session_usage(session, Some(used.turn), used.usage, used.cost);
    session.context = match used.purpose {
        provost_proto::session::CompletionPurpose::Answer => used.usage.total(),
        provost_proto::session::CompletionPurpose::Summary => 0,
    };
}

/// What a task used that the session handed over. Its conversation is none of ours.
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
        now.calls = now.calls.saturating_add(1);
        now.usage = now.usage.saturating_add(usage);
        now.cost = now.cost.saturating_add(nanos);
    }
}

/// A turn ends once: what comes after its end changes nothing.
fn end_turn(session: &mut SessionView, turn: TurnId, stamp: EventMetadata<'_>, fact: &Fact) {
    let running = |open: &&mut TurnView| open.id == turn && open.status == TurnStatus::Running;
    let Some(open) = session.turn.as_mut().filter(running) else { return };
    open.ended_at = Some(stamp.at);
    let mut status = SessionStatus::Idle;
    if let Fact::TurnFinished(finished) = fact {
        (open.status, open.reason) = (TurnStatus::Finished, Some(finished.reason));
    } else if let Fact::TurnFailed(failed) = fact {
        (open.status, open.fault) = (TurnStatus::Failed, Some(failed.fault.clone()));
    } else if let Fact::TurnCancelled(_) = fact {
        open.status = TurnStatus::Cancelled;
    } else {
        open.status = TurnStatus::Interrupted;
        status = SessionStatus::Interrupted;
    }
    if session.status != SessionStatus::Closed {
        session.status = status;
    }
}

fn fold_page(
    page: Option<SessionPage>,
    stamp: EventMetadata<'_>,
    fact: &Fact,
) -> Option<SessionPage> {
    if let Some((session, item)) = new_item(stamp, fact) {
        let mut page = page.unwrap_or(SessionPage { session, items: Vec::new() });
        let at = page.items.partition_point(|known| known.item < item.item);
        // The same place twice: what came first stays.
        if page.items.get(at).is_none_or(|known| known.item != item.item) {
            page.items.insert(at, item);
        }
        return Some(page);
    }
    let mut page = page?;
    update_page(&mut page, stamp, fact);
    Some(page)
}

/// The item that a fact adds, if it adds one.
fn new_item(stamp: EventMetadata<'_>, fact: &Fact) -> Option<(SessionId, SessionItem)> {
    let new = |session, item, turn, content| {
        Some((session, SessionItem { item, turn, at: stamp.at, content }))
    };
    if let Fact::MessageAdded(m) = fact {
        let content = ItemContent::Message {
            message: m.message,
            from: m.from,
            parts: m.parts.clone(),
            answer: m.answer.clone().map(Box::new),
        };
        return new(m.session, m.item, m.turn, content);
    }
    if let Fact::ToolCalled(c) = fact {
        let content = ItemContent::Tool {
            call: c.call.clone(),
            tool: c.tool.clone(),
            arguments: c.arguments.clone(),
            action: c.action,
            child: None,
            result: None,
        };
        return new(c.session, c.item, Some(c.turn), content);
    }
    if let Fact::SessionCompacted(c) = fact {
        let content = ItemContent::Compacted { summary: c.summary.clone() };
        return new(c.session, c.item, Some(c.turn), content);
    }
    None
}

fn update_page(page: &mut SessionPage, stamp: EventMetadata<'_>, fact: &Fact) {
    fn at(page: &mut SessionPage, place: ItemNumber) -> Option<&mut SessionItem> {
        page.items.iter_mut().find(|known| known.item == place)
    }
    if let Fact::TurnStarted(TurnStarted { turn, item: Some(place), .. }) = fact {
        if let Some(item) = at(page, *place) {
            item.turn = item.turn.or(Some(*turn));
        }
    } else if let Fact::MessageWithdrawn(withdrawn) = fact {
        // It never became a part of the conversation.
        page.items.retain(|item| item.item != withdrawn.item || item.turn.is_some());
    } else if let Fact::ToolReturned(returned) = fact {
        if let Some(ItemContent::Tool { result: result @ None, .. }) =
            at(page, returned.item).map(|item| &mut item.content)
        {
            let (status, output) = (returned.status, returned.output.clone());
            *result = Some(ToolResult { status, output, at: stamp.at });
        }
    } else if let Fact::HandedOff(handed) = fact
        && let Some(ItemContent::Tool { child, .. }) =
            at(page, handed.item).map(|item| &mut item.content)
    {
        *child = Some(handed.to);
    }
}

fn fold_draft(
    draft: Option<CompletionDraft>,
    stamp: EventMetadata<'_>,
    fact: &Fact,
) -> Option<CompletionDraft> {
    let of = |draft: Option<CompletionDraft>, session, turn| {
        draft.filter(|draft| draft.turn == turn).unwrap_or_else(|| empty_draft(session, turn))
    };
    if let Fact::TurnStarted(t) = fact {
        Some(empty_draft(t.session, t.turn))
    } else if let Fact::TextDelta(d) = fact {
        let mut draft = of(draft, d.session, d.turn);
        draft.text.push_str(&d.text);
        Some(CompletionDraft { retrying: None, ..draft })
    } else if let Fact::ReasoningDelta(d) = fact {
        let mut draft = of(draft, d.session, d.turn);
        draft.reasoning.push_str(&d.text);
        Some(CompletionDraft { retrying: None, ..draft })
    } else if let Fact::ToolDelta(d) = fact {
        let mut draft = of(draft, d.session, d.turn);
        append_tool_delta(&mut draft.calls, d);
        Some(CompletionDraft { retrying: None, ..draft })
    } else if let Fact::AttemptFailed(a) = fact {
        let at = stamp.at.saturating_add(a.retry_in_ms.saturating_mul(1000));
        let retrying = Some(PendingRetry { attempt: a.attempt, at, why: a.why.clone() });
        Some(CompletionDraft { retrying, ..of(draft, a.session, a.turn) })
    } else if let Fact::AttemptRestarted(a) = fact {
        Some(empty_draft(a.session, a.turn))
    } else if let Fact::MessageAdded(m) = fact {
        // What was being said is said.
        draft.map(|draft| empty_draft(m.session, m.turn.unwrap_or(draft.turn)))
    } else {
        draft
    }
}

fn empty_draft(session: SessionId, turn: TurnId) -> CompletionDraft {
    let (reasoning, text, calls) = (String::new(), String::new(), Vec::new());
    CompletionDraft { session, turn, reasoning, text, calls, retrying: None }
}

fn append_tool_delta(calls: &mut Vec<DraftToolCall>, delta: &ToolDelta) {
    let at = usize::try_from(delta.index).unwrap_or(usize::MAX).min(limits::MAX_TOOL_CALLS);
    while calls.len() <= at {
        calls.push(DraftToolCall { tool: String::new(), arguments: String::new() });
    }
    if let Some(call) = calls.get_mut(at) {
        call.arguments.push_str(&delta.text);
        if let Some(tool) = &delta.tool {
            call.tool.clone_from(tool);
        }
    }
}

fn fold_usage(row: Option<DailyUsage>, used: &UsageRecorded) -> DailyUsage {
    let row = row.unwrap_or_else(|| DailyUsage {
        day: used.day,
        project: used.project,
        model: used.model.clone(),
        calls: 0,
        usage: TokenUsage::default(),
        cost: 0,
        unpriced: 0,
    });
    DailyUsage {
        calls: row.calls.saturating_add(1),
        usage: row.usage.saturating_add(used.usage),
        cost: row.cost.saturating_add(used.cost.unwrap_or(0)),
        unpriced: row.unpriced.saturating_add(u64::from(used.cost.is_none())),
        ..row
    }
}
