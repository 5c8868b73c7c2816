//! Read access to sessions.

use provost_core::fold::{ViewDocument, ViewKind};
use provost_gateway::{LiveDraft, list_page};
use provost_proto::session::{ItemContent, ItemNumber, SessionDetail, SessionList, SessionView};
use provost_proto::{ProjectId, SessionId, Stream, limits};
use provost_store::{EventScope, ListPosition, ListQuery};

use super::{Runner, RunnerError, history};

/// How often a session is read again if it changed meanwhile. A read takes a fraction of the
/// time between two events of a session, so this is not reached in practice.
const MAX_READ_ATTEMPTS: usize = 200;

impl Runner {
    /// A page of all sessions, the most recently changed first. The first page also has those
    /// that are running or have queued messages.
    pub async fn list_sessions(
        &self,
        before: Option<ListPosition>,
    ) -> Result<SessionList, RunnerError> {
        let projects = self.gateway.projects.list_projects().await?;
        let projects: Vec<_> = projects.into_iter().map(|project| project.id).collect();
        let mut active = Vec::new();
        if before.is_none() {
            active = self.list_active_sessions(&projects).await?;
        }
        let position = before.unwrap_or(ListPosition::END);
        let SessionList { mut sessions, next } = self.list_inactive(&projects, position).await?;
        sessions.extend(active);
        sessions.sort_by_key(|session| std::cmp::Reverse((session.updated_at, session.id)));
        Ok(SessionList { sessions, next })
    }

    /// A page of the sessions of a project that are over or wait for a message, the most recently
    /// changed first.
    pub async fn list_earlier_sessions(
        &self,
        project: ProjectId,
        before: ListPosition,
    ) -> Result<SessionList, RunnerError> {
        self.list_inactive(&[project], before).await
    }

    /// The sessions that are running or have queued messages.
    pub(crate) async fn list_active_sessions(
        &self,
        projects: &[ProjectId],
    ) -> Result<Vec<SessionView>, RunnerError> {
        let open = projects.iter().map(|id| ListQuery::open(ViewKind::Sessions, id.uuid()));
        let docs = self.gateway.store().list_under(open.collect()).await?;
        Ok(docs.into_iter().filter_map(|stored| stored.doc.into_session()).collect())
    }

    async fn list_inactive(
        &self,
        projects: &[ProjectId],
        before: ListPosition,
    ) -> Result<SessionList, RunnerError> {
        let view = ViewKind::Sessions;
        let lists = projects.iter().map(|id| ListQuery::latest(view, id.uuid(), usize::MAX));
        let page = list_page(&**self.gateway.store(), lists, before).await?;
        let sessions = page.documents.into_iter().filter_map(ViewDocument::into_session).collect();
        Ok(SessionList { sessions, next: page.next.map(|next| next.to_string()) })
    }

    /// A session with the last items before a number, at most as many as a page is sent at first.
    pub async fn load_earlier_items(
        &self,
        session: SessionId,
        before: ItemNumber,
    ) -> Result<SessionDetail, RunnerError> {
        let store = self.gateway.store();
        let cursor = *store.watch_head().borrow();
        let view = self.load_session(session).await?;
        let most = u32::try_from(limits::MAX_RECENT_ITEMS).unwrap_or(u32::MAX);
        let mut items = history::load_items_before(&**store, &view, before, most).await?;
        items.iter_mut().for_each(history::strip_native_answer);
        Ok(SessionDetail { session: view, items, draft: None, cursor })
    }

    /// A session without its conversation.
    pub async fn load_session(&self, session: SessionId) -> Result<SessionView, RunnerError> {
        let found = self.gateway.sessions.find_session(session).await?;
        found.ok_or_else(|| RunnerError::SessionNotFound(session.to_string()))
    }

    /// A session with its conversation, as of exactly one position in the log (`cursor`), and what
    /// its model is writing.
    pub async fn load_session_detail(
        &self,
        session: SessionId,
    ) -> Result<SessionDetail, RunnerError> {
        let store = self.gateway.store();
        let scope = EventScope::Stream(Stream::Session(session));
        let mut attempts = 0;
        loop {
            let cursor = *store.watch_head().borrow();
            let view = self.load_session(session).await?;
            let mut items = history::load_items(&**store, &view).await?;
            let live = self.gateway.drafts.follow(session).current();
            attempts += 1;
            // The session changed meanwhile: the documents may be of different versions.
            if !store.read_events(scope, cursor, 1).await?.events.is_empty()
                && attempts < MAX_READ_ATTEMPTS
            {
                continue;
            }
            items.iter_mut().for_each(history::strip_native_answer);
            let is_item = |draft: &LiveDraft| {
                items.iter().any(|item| {
                matches!(&item.content, ItemContent::Message { message, .. } if *message == draft.message())
            })
            };
            let live = live.filter(|draft| !is_item(draft));
            let draft = live.map(|draft| draft.to_document().0);
            return Ok(SessionDetail { session: view, items, draft, cursor });
        }
    }
}
