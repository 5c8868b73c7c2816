//! Read access to sessions.

use provost_core::fold::{ViewDocument, ViewKind};
use provost_gateway::LiveDraft;
use provost_proto::session::{ItemContent, ItemNumber, SessionDetail, SessionList, SessionView};
use provost_proto::{ProjectId, SessionId, Stream, UnixMicros, limits};
use provost_store::{EventScope, ListQuery};

use super::{Runner, RunnerError, history};

/// How often a session is read again if it changed meanwhile. A read takes a fraction of the
/// time between two events of a session, so this is not reached in practice.
const MAX_READ_ATTEMPTS: usize = 200;

impl Runner {
    /// All sessions, the most recently changed first.
    pub async fn list_sessions(&self) -> Result<SessionList, RunnerError> {
        let docs = self.gateway.store().list_documents(ViewKind::Sessions).await?;
        let mut sessions: Vec<_> =
            docs.into_iter().filter_map(ViewDocument::into_session).collect();
        sessions.sort_by_key(|session| std::cmp::Reverse((session.updated_at, session.id)));
        Ok(SessionList { sessions })
    }

    /// The sessions of a project that are over or wait for a message and changed before a time,
    /// the most recently changed first, at most as many as a page is sent at first.
    pub async fn list_earlier_sessions(
        &self,
        project: ProjectId,
        before: UnixMicros,
    ) -> Result<SessionList, RunnerError> {
        let most = limits::MAX_RECENT_SESSIONS;
        let latest = ListQuery::latest(ViewKind::Sessions, project.uuid(), most);
        let query = ListQuery { before, ..latest };
        let docs = self.gateway.store().list_under(vec![query]).await?;
        let sessions = docs.into_iter().filter_map(|stored| stored.doc.into_session()).collect();
        Ok(SessionList { sessions })
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
