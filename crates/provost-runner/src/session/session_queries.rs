//! Looking at sessions.

use provost_core::fold::{ViewDocument, ViewKind};
use provost_proto::session::{SessionDetail, SessionList, SessionStatus, SessionView};
use provost_proto::{SessionId, Stream};
use provost_store::EventScope;

use super::{Runner, RunnerError, history};

/// How often a session is read again while it changes. Reading takes a fraction of
/// the time between two pieces of text, so that this is plenty.
const MAX_READ_ATTEMPTS: usize = 200;

impl Runner {
    /// The sessions, the newest first.
    pub async fn list_sessions(&self) -> Result<SessionList, RunnerError> {
        let docs = self.gateway.store().list_documents(ViewKind::Sessions).await?;
        let mut sessions: Vec<_> =
            docs.into_iter().filter_map(ViewDocument::into_session).collect();
        sessions.sort_by_key(|session| std::cmp::Reverse((session.updated_at, session.id)));
        Ok(SessionList { sessions })
    }

    /// A session without what was said.
    pub async fn load_session(&self, session: SessionId) -> Result<SessionView, RunnerError> {
        let found = self.gateway.sessions.find_session(session).await?;
        found.ok_or_else(|| RunnerError::SessionNotFound(session.to_string()))
    }

    /// A session with what was said, exactly as it was at one place in the log, so
    /// that whoever follows from there sees every piece of text once.
    pub async fn load_session_detail(
        &self,
        session: SessionId,
    ) -> Result<SessionDetail, RunnerError> {
        let store = self.gateway.store();
        let scope = EventScope::Stream(Stream::Session(session));
        let mut tries = 0;
        loop {
            let cursor = *store.watch_head().borrow();
            let view = self.load_session(session).await?;
            let mut items = history::load_items(&**store, &view).await?;
            let draft = store
                .get_document(ViewKind::Drafts, session.uuid())
                .await?
                .and_then(ViewDocument::into_draft);
            tries += 1;
            // Something was said meanwhile: the documents may be of different moments.
            if !store.read_events(scope, cursor, 1).await?.events.is_empty()
                && tries < MAX_READ_ATTEMPTS
            {
                continue;
            }
            items.iter_mut().for_each(history::strip_native_answer);
            let draft = draft.filter(|_| view.status == SessionStatus::Running);
            return Ok(SessionDetail { session: view, items, draft, cursor });
        }
    }
}
