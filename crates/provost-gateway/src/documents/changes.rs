//! From events to the documents that they changed, each at most once.
//!
//! A document that changed is read after the events that changed it, so it may be newer than they
//! are; the events that it already includes then change it again, to the same. Only text that is
//! appended must not come twice. So the tracker knows up to which event the page has the text of a
//! document, and a batch goes on until it covers all text that was read.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use provost_core::fold::{
    DocumentKey, EventMetadata, ViewDocument, ViewKind, affected_documents, chunk_text, fold_fact,
};
use provost_proto::session::MessageAuthor;
use provost_proto::{
    Actor, AppendedPart, DocumentAppend, Event, Fact, IdempotencyKey, LogCursor, MessageId,
    ProjectId, Stream,
};
use provost_store::StoredDocument;
use uuid::Uuid;

use super::selection::{AllowedSelection, PageView};

/// The most actions of a session, or inputs in progress, that are remembered.
const MAX_TRACKED_ACTIONS: usize = 512;

/// What a page has, as far as it matters for what it is sent next.
#[derive(Debug)]
pub(super) struct ChangeTracker {
    pub(super) selection: AllowedSelection,
    /// Up to which event the page has the text of a document.
    text_ends: HashMap<DocumentKey, LogCursor>,
    /// The last message of the model in the page's session. Ids are in order of creation.
    pub(super) last_answer: Option<MessageId>,
    /// The actions of the session that the page shows. Ids are in order of creation.
    shown: BTreeSet<Uuid>,
    /// The actions with which agents are typing.
    typing: BTreeSet<Uuid>,
}

/// The changes of consecutive events.
#[derive(Debug, Default)]
pub(super) struct ChangeBatch {
    /// Documents to be read.
    pub(super) pending: BTreeSet<DocumentKey>,
    /// Documents that were read; `None` if they do not exist.
    pub(super) loaded: BTreeMap<DocumentKey, Option<StoredDocument>>,
    /// Text to append to documents that the page has, and the last event of it.
    pub(super) appended: BTreeMap<DocumentKey, (LogCursor, Vec<DocumentAppend>)>,
    /// Projects into whose terminals agents typed something.
    pub(super) typed: BTreeSet<ProjectId>,
    /// The commands whose events these are.
    pub(super) commands: Vec<IdempotencyKey>,
}

impl ChangeBatch {
    /// How many documents it holds.
    pub(super) fn len(&self) -> usize {
        self.pending.len() + self.loaded.len() + self.appended.len() + self.commands.len()
    }

    /// The event up to which the texts go that were read.
    pub(super) fn text_end(&self) -> LogCursor {
        let texts = self.loaded.iter().filter(|(key, _)| is_text(key.view));
        let ends = texts.filter_map(|(_, stored)| Some(stored.as_ref()?.up_to));
        ends.fold(LogCursor::START, LogCursor::later_of)
    }
}

impl ChangeTracker {
    pub(super) fn new(selection: AllowedSelection) -> Self {
        Self {
            selection,
            text_ends: HashMap::new(),
            last_answer: None,
            shown: BTreeSet::new(),
            typing: BTreeSet::new(),
        }
    }

    /// The page is being sent the text of a document up to an event.
    pub(super) fn set_text_end(&mut self, key: DocumentKey, end: LogCursor) {
        if self.text_ends.len() >= MAX_TRACKED_ACTIONS {
            // A document that is unknown is sent as a whole.
            self.text_ends.clear();
        }
        self.text_ends.insert(key, end);
    }

    /// The page does not have the document.
    pub(super) fn forget_text(&mut self, key: &DocumentKey) {
        self.text_ends.remove(key);
    }

    /// The event up to which the page has any text.
    pub(super) fn text_end(&self) -> LogCursor {
        self.text_ends.values().copied().fold(LogCursor::START, LogCursor::later_of)
    }

    /// The page shows these actions.
    pub(super) fn show_actions(&mut self, ids: &BTreeSet<Uuid>) {
        for id in ids {
            insert_bounded(&mut self.shown, *id);
        }
    }

    /// Whether the page shows an action of its session.
    pub(super) fn shows_action(&self, id: Uuid) -> bool {
        self.shown.contains(&id)
    }

    /// Remembers the open actions with which agents are typing.
    pub(super) fn watch_typing(&mut self, open: &[StoredDocument]) {
        for stored in open {
            if let ViewDocument::Action(action) = &stored.doc
                && action.input.is_some()
            {
                insert_bounded(&mut self.typing, stored.key);
            }
        }
    }

    /// Adds what an event changes.
    pub(super) fn collect(&mut self, event: &Event, fact: Option<&Fact>, batch: &mut ChangeBatch) {
        let is_visible = match (self.selection.is_bound, self.selection.project) {
            (true, Some(only)) => event.stream == Stream::Project(only),
            (true, None) => false,
            (false, _) => true,
        };
        if is_visible
            && let Some(command) = &event.command
            && batch.commands.last() != Some(command)
        {
            batch.commands.push(command.clone());
        }
        let Some(fact) = fact else { return };
        if let Fact::MessageAdded(added) = fact
            && added.from == MessageAuthor::Assistant
            && self.is_of_session(event)
        {
            self.last_answer = self.last_answer.max(Some(added.message));
        }
        self.track_actions(event, fact, batch);
        for (key, _) in affected_documents(fact) {
            let Some(view) = PageView::from_kind(key.view) else { continue };
            if self.selection.has(view) && self.is_wanted(view, key, event, fact) {
                self.add_change(key, event, fact, batch);
            }
        }
    }

    /// Whether a change of a document is worth reading it.
    fn is_wanted(&self, view: PageView, key: DocumentKey, event: &Event, fact: &Fact) -> bool {
        match view {
            // Other facts only count the reports of the kernel.
            PageView::Kernels => matches!(
                fact,
                Fact::KernelStarted { .. }
                    | Fact::KernelLost { .. }
                    | Fact::KernelStopped { .. }
                    | Fact::KernelUnresponsive { .. }
                    | Fact::KernelResponsive { .. }
            ),
            PageView::Pages | PageView::Turns => self.is_of_session(event),
            // The draft of a session is not in the log.
            PageView::Drafts => false,
            PageView::Outputs => self.shown.contains(&key.key),
            PageView::Actions => {
                self.selection.lists(PageView::Actions) || self.shown.contains(&key.key)
            }
            PageView::Daemon
            | PageView::Projects
            | PageView::Modes
            | PageView::Runtimes
            | PageView::Approvals
            | PageView::Grants
            | PageView::Governance
            | PageView::AgentInput
            | PageView::Sessions => true,
        }
    }

    fn is_of_session(&self, event: &Event) -> bool {
        self.selection.session.is_some_and(|session| event.stream == Stream::Session(session))
    }

    fn track_actions(&mut self, event: &Event, fact: &Fact, batch: &mut ChangeBatch) {
        #[expect(clippy::wildcard_enum_match_arm, reason = "no other fact begins or ends one")]
        match fact {
            Fact::ActionRequested { action, name, session, .. } => {
                if session.is_some() && *session == self.selection.session {
                    insert_bounded(&mut self.shown, action.uuid());
                }
                if name == "pty.write" && matches!(event.actor, Actor::Agent(_)) {
                    insert_bounded(&mut self.typing, action.uuid());
                }
            }
            Fact::ToolCalled(called) if self.is_of_session(event) => {
                if let Some(action) = called.action {
                    insert_bounded(&mut self.shown, action.uuid());
                    // It may have begun before.
                    for view in [ViewKind::Actions, ViewKind::Outputs] {
                        let key = DocumentKey { view, key: action.uuid() };
                        batch.appended.remove(&key);
                        batch.loaded.remove(&key);
                        batch.pending.insert(key);
                    }
                }
            }
            Fact::ActionDenied { action, .. } => {
                self.typing.remove(&action.uuid());
            }
            Fact::ActionFinished { action, project, .. } => {
                let typed = self.typing.remove(&action.uuid());
                let selected = self.selection.has(PageView::AgentInput)
                    && self.selection.has_project(*project);
                if typed && selected {
                    batch.typed.insert(*project);
                }
            }
            _ => {}
        }
    }

    fn add_change(
        &mut self,
        key: DocumentKey,
        event: &Event,
        fact: &Fact,
        batch: &mut ChangeBatch,
    ) {
        if !is_text(key.view) {
            batch.loaded.remove(&key);
            batch.pending.insert(key);
            return;
        }
        if let Some(Some(stored)) = batch.loaded.get_mut(&key) {
            // It was read before this event was: what was read may include it.
            if !stored.up_to.has_reached(event.cursor()) {
                let metadata = EventMetadata::from_event(event);
                let folded = fold_fact(key.view, Some(stored.doc.clone()), metadata, fact);
                if let Some(doc) = folded {
                    *stored = StoredDocument { key: stored.key, up_to: event.cursor(), doc };
                }
            }
            return;
        }
        match (self.text_ends.get(&key), appended_text(fact)) {
            (Some(has), Some(_)) if has.has_reached(event.cursor()) => {}
            (Some(_), Some(text)) if !batch.pending.contains(&key) => {
                let (up_to, texts) = batch.appended.entry(key).or_default();
                *up_to = event.cursor();
                push_text(texts, text);
            }
            (Some(_) | None, Some(_) | None) => {
                batch.appended.remove(&key);
                batch.loaded.remove(&key);
                batch.pending.insert(key);
            }
        }
    }
}

/// Whether documents of a view are streamed as text.
pub(super) fn is_text(view: ViewKind) -> bool {
    matches!(view, ViewKind::Outputs)
}

/// The text that a fact appends to the output of a command.
fn appended_text(fact: &Fact) -> Option<DocumentAppend> {
    let Fact::ActionOutput { output, .. } = fact else { return None };
    let (kind, text) = (AppendedPart::Output, chunk_text(output));
    Some(DocumentAppend { kind, part: 0, tool: None, text })
}

/// Joins text of the same part.
fn push_text(texts: &mut Vec<DocumentAppend>, text: DocumentAppend) {
    match texts.last_mut() {
        Some(last)
            if last.kind == text.kind
                && last.part == text.part
                && (text.tool.is_none() || text.tool == last.tool) =>
        {
            last.text.push_str(&text.text);
        }
        Some(_) | None => texts.push(text),
    }
}

fn insert_bounded(ids: &mut BTreeSet<Uuid>, id: Uuid) {
    ids.insert(id);
    if ids.len() > MAX_TRACKED_ACTIONS {
        ids.pop_first();
    }
}
