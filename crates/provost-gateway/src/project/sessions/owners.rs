//! Which principal owns which session.
//!
//! Clients choose the ids of sessions. So that nobody acts in the session of another, a
//! session belongs to the first principal that uses its id.

use parking_lot::Mutex;
use std::collections::{HashMap, VecDeque};

use provost_core::fold::{ViewDocument, ViewKind};
use provost_proto::{Principal, SessionId};
use provost_store::EventStore;

use super::session_principal;
use crate::GatewayError;

/// How many sessions of one principal are kept; beyond that its oldest is dropped.
const MAX_SESSIONS_PER_PRINCIPAL: usize = 256;

#[derive(Debug, Default)]
pub(super) struct SessionOwners(Mutex<SessionOwnerIndex>);

#[derive(Debug, Default)]
struct SessionOwnerIndex {
    owners: HashMap<SessionId, Principal>,
    /// The sessions of each principal, the oldest first.
    order: HashMap<Principal, VecDeque<SessionId>>,
}

impl SessionOwners {
    /// The sessions of the log, and those in which an approval was requested.
    pub(super) async fn load(store: &dyn EventStore) -> Result<Self, GatewayError> {
        let sessions = Self::default();
        for session in store
            .list_documents(ViewKind::Sessions)
            .await?
            .into_iter()
            .filter_map(ViewDocument::into_session)
        {
            // A session with a model is its own principal.
            let _taken = sessions.claim_session(session.id, &session_principal(session.id));
        }
        let all = store
            .list_documents(ViewKind::Approvals)
            .await?
            .into_iter()
            .filter_map(ViewDocument::into_approval);
        let mut all: Vec<_> = all.collect();
        all.sort_by_key(|approval| approval.asked_at);
        for approval in all {
            if let Some(session) = approval.session {
                // An old log may have later principals in the same session; the first owns it.
                let _taken = sessions.claim_session(session, &approval.principal);
            }
        }
        Ok(sessions)
    }

    /// Fails if the session belongs to another principal.
    pub(super) fn claim_session(&self, session: SessionId, by: &str) -> Result<(), GatewayError> {
        let mut known = self.0.lock();
        match known.owners.get(&session) {
            Some(owner) if owner == by => return Ok(()),
            Some(_) => return Err(GatewayError::SessionOwnedByOther),
            None => {}
        }
        known.owners.insert(session, by.to_owned());
        let own = known.order.entry(by.to_owned()).or_default();
        own.push_back(session);
        let oldest = if own.len() > MAX_SESSIONS_PER_PRINCIPAL { own.pop_front() } else { None };
        if let Some(oldest) = oldest {
            known.owners.remove(&oldest);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(number: usize) -> SessionId {
        SessionId::new(uuid::Uuid::from_u128(number as u128))
    }

    #[test]
    fn a_session_belongs_to_its_first_principal() {
        let sessions = SessionOwners::default();
        for (by, ok) in [("a", true), ("b", false), ("a", true)] {
            assert_eq!(sessions.claim_session(session(1), by).is_ok(), ok, "{by}");
        }
    }

    #[test]
    fn only_the_own_oldest_sessions_are_dropped() {
        let sessions = SessionOwners::default();
        sessions.claim_session(session(1), "a").unwrap();
        for number in 2..(MAX_SESSIONS_PER_PRINCIPAL * 3) {
            sessions.claim_session(session(number), "b").unwrap();
        }
        assert!(sessions.claim_session(session(1), "b").is_err());
        let known = sessions.0.lock();
        assert_eq!(known.owners.len(), MAX_SESSIONS_PER_PRINCIPAL + 1);
    }
}
