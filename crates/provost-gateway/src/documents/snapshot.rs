//! What a page is sent at first.

use std::collections::BTreeSet;

use provost_core::fold::session::page_key;
use provost_core::fold::{DocumentKey, ViewDocument, ViewKind};
use provost_proto::session::{ITEMS_PER_PAGE, ItemContent, MessageAuthor, SessionView};
use provost_proto::{
    ActionView, DocumentChange, LogCursor, MessageId, ProjectId, ProjectStatus, SessionId, limits,
};
use provost_store::{EventStore, ListPosition, ListQuery, StoredDocument};
use uuid::Uuid;

use super::changes::ChangeTracker;
use super::page_document::{agent_input_document, document_project, whole_document};
use super::selection::{AllowedSelection, PageView};
use crate::GatewayError;
use crate::event_log::EventLog;

/// Reads a snapshot.
pub(super) struct SnapshotReader<'a> {
    log: &'a EventLog,
    selection: &'a AllowedSelection,
    tracker: &'a mut ChangeTracker,
    documents: Vec<DocumentChange>,
}

impl<'a> SnapshotReader<'a> {
    pub(super) fn new(
        log: &'a EventLog,
        selection: &'a AllowedSelection,
        tracker: &'a mut ChangeTracker,
    ) -> Self {
        Self { log, selection, tracker, documents: Vec::new() }
    }

    /// Reads all documents of the selection. The tracker learns what the page has.
    pub(super) async fn read(mut self) -> Result<Vec<DocumentChange>, GatewayError> {
        let projects = match self.selection.project {
            Some(project) => self.read_stored(ViewKind::Projects, vec![project.uuid()]).await?,
            None => self.store().list_stored_documents(ViewKind::Projects).await?,
        };
        let mut ids = Vec::new();
        let mut open_ids = Vec::new();
        for stored in &projects {
            if let ViewDocument::Project(project) = &stored.doc
                && self.selection.has_project(project.id)
            {
                ids.push(project.id);
                open_ids.extend((project.status == ProjectStatus::Open).then_some(project.id));
            }
        }
        self.add_all(PageView::Projects, projects)?;
        self.read_views_by_project(&ids, &open_ids).await?;
        self.read_approvals(&ids).await?;
        self.read_grants(&ids).await?;
        self.read_actions(&ids).await?;
        self.read_sessions(&ids).await?;
        if let Some(session) = self.selection.session {
            self.read_conversation(session).await?;
        }
        Ok(self.documents)
    }

    fn store(&self) -> &'a dyn EventStore {
        &**self.log.store()
    }

    async fn read_views_by_project(
        &mut self,
        ids: &[ProjectId],
        open_ids: &[ProjectId],
    ) -> Result<(), GatewayError> {
        self.add_by_key(PageView::Daemon, ViewKind::Daemon, [Uuid::nil()]).await?;
        let uuids = |ids: &[ProjectId]| ids.iter().map(|id| id.uuid()).collect::<Vec<_>>();
        self.add_by_key(PageView::Modes, ViewKind::Modes, uuids(ids)).await?;
        self.add_by_key(PageView::Kernels, ViewKind::Kernels, uuids(open_ids)).await?;
        self.add_by_key(PageView::Runtimes, ViewKind::Runtimes, uuids(open_ids)).await?;
        let mut governed = uuids(ids);
        governed.extend((!self.selection.is_bound).then_some(Uuid::nil()));
        self.add_by_key(PageView::Governance, ViewKind::Governance, governed).await
    }

    async fn read_approvals(&mut self, ids: &[ProjectId]) -> Result<(), GatewayError> {
        if !self.selection.lists(PageView::Approvals) {
            return Ok(());
        }
        let limit = limits::MAX_RESOLVED_DOCUMENTS;
        let (view, store) = (ViewKind::Approvals, self.store());
        let open = ids.iter().map(|id| ListQuery::open(view, id.uuid())).collect();
        let resolved = ids.iter().map(|id| ListQuery::latest(view, id.uuid(), limit)).collect();
        let mut docs = store.list_under(open).await?;
        docs.extend(store.list_latest(resolved, limit).await?);
        self.add_all(PageView::Approvals, docs)
    }

    async fn read_grants(&mut self, ids: &[ProjectId]) -> Result<(), GatewayError> {
        if !self.selection.has(PageView::Grants) {
            return Ok(());
        }
        let (now, limit) = (self.log.now(), limits::MAX_RESOLVED_DOCUMENTS);
        let (view, store) = (ViewKind::Grants, self.store());
        let open = |id: &ProjectId| ListQuery::open(view, id.uuid());
        let valid = ids.iter().map(|id| ListQuery { after: now, ..open(id) }).collect();
        let mut ended = Vec::new();
        for id in ids {
            let before = ListPosition::at_time(now.saturating_add(1));
            ended.push(ListQuery { before, limit, ..open(id) });
            ended.push(ListQuery::latest(view, id.uuid(), limit));
        }
        let mut docs = store.list_under(valid).await?;
        docs.extend(store.list_latest(ended, limit).await?);
        self.add_all(PageView::Grants, docs)
    }

    /// The open actions, and what agents typed with the last ones that are over.
    async fn read_actions(&mut self, ids: &[ProjectId]) -> Result<(), GatewayError> {
        let wants_input = self.selection.has(PageView::AgentInput);
        let wants_actions = self.selection.lists(PageView::Actions);
        if !wants_actions && !wants_input {
            return Ok(());
        }
        let store = self.store();
        let open = ids.iter().map(|id| ListQuery::open(ViewKind::Actions, id.uuid())).collect();
        let open = store.list_under(open).await?;
        self.tracker.watch_typing(&open);
        if wants_actions {
            self.add_all(PageView::Actions, open)?;
        }
        for project in ids.iter().copied().filter(|_| wants_input) {
            let document = read_agent_input(store, project).await?;
            self.documents.extend(document);
        }
        Ok(())
    }

    async fn read_sessions(&mut self, ids: &[ProjectId]) -> Result<(), GatewayError> {
        if !self.selection.lists(PageView::Sessions) {
            return Ok(());
        }
        let (view, store) = (ViewKind::Sessions, self.store());
        let limit = limits::MAX_RECENT_SESSIONS;
        let open = ids.iter().map(|id| ListQuery::open(view, id.uuid())).collect();
        let latest = ids.iter().map(|id| ListQuery::latest(view, id.uuid(), limit)).collect();
        let mut docs = store.list_under(open).await?;
        docs.extend(store.list_latest(latest, limit).await?);
        self.add_all(PageView::Sessions, docs)
    }

    /// The end of a session's conversation, with the actions that it shows.
    async fn read_conversation(&mut self, id: SessionId) -> Result<(), GatewayError> {
        let key = DocumentKey { view: ViewKind::Sessions, key: id.uuid() };
        let found = self.store().get_documents(vec![key]).await?;
        let Some((_, stored)) = found.into_iter().next() else {
            let name = id.to_string();
            return Err(GatewayError::ItemNotFound { what: "session", name });
        };
        let Some(session) = stored.doc.clone().into_session() else { return Ok(()) };
        self.add_all(PageView::Sessions, vec![stored])?;
        let turns = [
            ListQuery::open(ViewKind::Turns, id.uuid()),
            ListQuery::latest(ViewKind::Turns, id.uuid(), limits::MAX_RECENT_ITEMS),
        ];
        let turns = self.store().list_under(turns.to_vec()).await?;
        self.add_all(PageView::Turns, turns)?;
        let pages = self.read_stored(ViewKind::Pages, last_page_keys(&session)).await?;
        self.tracker.last_answer = pages.iter().filter_map(last_answer).max();
        let actions = list_tool_actions(&pages);
        self.add_all(PageView::Pages, pages)?;
        self.read_shown_actions(actions).await?;
        Ok(())
    }

    async fn read_shown_actions(&mut self, ids: BTreeSet<Uuid>) -> Result<(), GatewayError> {
        self.tracker.show_actions(&ids);
        let actions = self.read_stored(ViewKind::Actions, ids.into_iter().collect()).await?;
        let views: Vec<ActionView> =
            actions.iter().filter_map(|stored| stored.doc.clone().into_action()).collect();
        self.add_all(PageView::Actions, actions)?;
        let approvals = views.iter().filter_map(|action| Some(action.approval?.uuid())).collect();
        let approvals = self.read_stored(ViewKind::Approvals, approvals).await?;
        self.add_all(PageView::Approvals, approvals)?;
        let running = views.iter().filter(|action| action.finished_at.is_none());
        let running = running.map(|action| action.id.uuid()).collect();
        for stored in self.read_stored(ViewKind::Outputs, running).await? {
            let key = DocumentKey { view: ViewKind::Outputs, key: stored.key };
            self.tracker.set_text_end(key, stored.up_to);
            self.add_all(PageView::Outputs, vec![stored])?;
        }
        Ok(())
    }

    async fn read_stored(
        &self,
        view: ViewKind,
        keys: Vec<Uuid>,
    ) -> Result<Vec<StoredDocument>, GatewayError> {
        let keys = keys.into_iter().map(|key| DocumentKey { view, key }).collect();
        let found = self.store().get_documents(keys).await?;
        Ok(found.into_iter().map(|(_, stored)| stored).collect())
    }

    async fn add_by_key(
        &mut self,
        view: PageView,
        kind: ViewKind,
        keys: impl IntoIterator<Item = Uuid>,
    ) -> Result<(), GatewayError> {
        if !self.selection.has(view) {
            return Ok(());
        }
        let docs = self.read_stored(kind, keys.into_iter().collect()).await?;
        self.add_all(view, docs)
    }

    fn add_all(&mut self, view: PageView, docs: Vec<StoredDocument>) -> Result<(), GatewayError> {
        if !self.selection.has(view) {
            return Ok(());
        }
        for stored in docs {
            let project = document_project(&stored.doc);
            let is_of_conversation = project.is_none() || self.selection.session.is_some();
            if is_of_conversation || project.is_some_and(|id| self.selection.has_project(id)) {
                self.documents.push(whole_document(view, stored)?);
            }
        }
        Ok(())
    }
}

/// What agents typed into a project's terminal; `None` if they typed nothing.
pub(super) async fn read_agent_input(
    store: &dyn EventStore,
    project: ProjectId,
) -> Result<Option<DocumentChange>, GatewayError> {
    let limit = limits::MAX_AGENT_INPUTS;
    let latest = ListQuery::latest(ViewKind::Actions, project.uuid(), limit);
    let docs = store.list_under(vec![latest]).await?;
    let ends = docs.iter().map(|stored| stored.up_to);
    let Some(up_to) = ends.reduce(LogCursor::later_of) else { return Ok(None) };
    let actions = docs.into_iter().filter_map(|stored| stored.doc.into_action()).collect();
    Ok(Some(agent_input_document(project, up_to, actions)?))
}

/// The actions that a page of a session shows, and the last message of its model.
pub(super) async fn list_shown_actions(
    store: &dyn EventStore,
    session: SessionId,
) -> Result<(BTreeSet<Uuid>, Option<MessageId>), GatewayError> {
    let doc = store.get_document(ViewKind::Sessions, session.uuid()).await?;
    let Some(session) = doc.and_then(ViewDocument::into_session) else {
        return Ok((BTreeSet::new(), None));
    };
    let keys = last_page_keys(&session).into_iter();
    let keys = keys.map(|key| DocumentKey { view: ViewKind::Pages, key }).collect();
    let pages = store.get_documents(keys).await?;
    let pages: Vec<_> = pages.into_iter().map(|(_, stored)| stored).collect();
    Ok((list_tool_actions(&pages), pages.iter().filter_map(last_answer).max()))
}

/// The keys of the pages with a session's last items.
fn last_page_keys(session: &SessionView) -> Vec<Uuid> {
    let most = u32::try_from(limits::MAX_RECENT_ITEMS).unwrap_or(u32::MAX);
    let first = session.items.saturating_sub(most) / ITEMS_PER_PAGE;
    let last = session.items.saturating_sub(1) / ITEMS_PER_PAGE;
    (first..=last).map(|page| page_key(session.id, page * ITEMS_PER_PAGE)).collect()
}

/// The last message of the model on a page. Ids are in order of creation.
pub(super) fn last_answer(stored: &StoredDocument) -> Option<MessageId> {
    let ViewDocument::Page(page) = &stored.doc else { return None };
    let answers = page.items.iter().filter_map(|item| match &item.content {
        ItemContent::Message { from: MessageAuthor::Assistant, message, .. } => Some(*message),
        ItemContent::Message { .. } | ItemContent::Tool { .. } | ItemContent::Compacted { .. } => {
            None
        }
    });
    answers.max()
}

/// The actions of the tool calls on pages.
fn list_tool_actions(pages: &[StoredDocument]) -> BTreeSet<Uuid> {
    let mut actions = BTreeSet::new();
    for stored in pages {
        let ViewDocument::Page(page) = &stored.doc else { continue };
        for item in &page.items {
            if let ItemContent::Tool { action: Some(action), .. } = &item.content {
                actions.insert(action.uuid());
            }
        }
    }
    actions
}
