//! Which principal owns which session.
//!
//! Clients choose the ids of sessions. So that nobody acts in the session of another, a
//! session belongs to the first principal that uses its id.

use parking_lot::Mutex;
use std::collections::{HashMap, VecDeque};

use provost_core::fold::ViewKind;
use provost_proto::{Fact, LogCursor, Principal, SessionId};
use provost_store::{EventFilter, EventQuery, EventScope, SearchFrom};

use super::session_principal;
use crate::GatewayError;
use crate::event_log::EventLog;

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
    /// Fails if the session belongs to another principal. What earlier daemons recorded is looked
    /// up when a session is first used, since most sessions of a log are never used again.
    pub(super) async fn claim_session(
        &self,
        log: &EventLog,
        session: SessionId,
        by: &str,
    ) -> Result<(), GatewayError> {
        let own_principal = session_principal(session);
        match self.find_owner(session) {
            Some(owner) => return check_owner(&owner, by),
            // A session with a model is its own principal, and needs no entry.
            None if by == own_principal => return Ok(()),
            None => {}
        }
        let is_with_model =
            log.store().get_document(ViewKind::Sessions, session.uuid()).await?.is_some();
        if is_with_model {
            return Err(GatewayError::SessionOwnedByOther);
        }
        let recorded = find_first_asker(log, session).await?;
        self.add_owner(session, recorded.as_deref().unwrap_or(by), by)
    }

    fn find_owner(&self, session: SessionId) -> Option<Principal> {
        self.0.lock().owners.get(&session).cloned()
    }

    /// Adds the owner of a session, unless it has one by now. Fails if that is not `by`.
    fn add_owner(&self, session: SessionId, owner: &str, by: &str) -> Result<(), GatewayError> {
        let mut known = self.0.lock();
        if let Some(owner) = known.owners.get(&session) {
            return check_owner(owner, by);
        }
        known.owners.insert(session, owner.to_owned());
        let own = known.order.entry(owner.to_owned()).or_default();
        own.push_back(session);
        let oldest = if own.len() > MAX_SESSIONS_PER_PRINCIPAL { own.pop_front() } else { None };
        if let Some(oldest) = oldest {
            known.owners.remove(&oldest);
        }
        check_owner(owner, by)
    }
}

fn check_owner(owner: &str, by: &str) -> Result<(), GatewayError> {
    if owner == by { Ok(()) } else { Err(GatewayError::SessionOwnedByOther) }
}

/// The principal that first asked for an approval in a session. An old log may have later
/// principals in the same session; the first owns it.
async fn find_first_asker(
    log: &EventLog,
    session: SessionId,
) -> Result<Option<Principal>, GatewayError> {
    let filter = EventFilter {
        kinds: vec!["APPROVAL_ASKED".to_owned()],
        words: vec![session.uuid().to_string()],
        ..EventFilter::default()
    };
    let mut from = LogCursor::START;
    loop {
        let query = EventQuery {
            scope: EventScope::All,
            from: SearchFrom::After(from),
            limit: 1,
            filter: filter.clone(),
        };
        let page = log.store().search_events(query).await?;
        for event in &page.events {
            if let Some(Fact::ApprovalAsked { session: Some(asked_in), .. }) =
                log.hydrate_recorded_fact(event).await?
                && asked_in == session
            {
                return Ok(Some(event.decode_event()?.principal));
            }
        }
        match page.next {
            Some(next) => from = next,
            None => return Ok(None),
        }
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
            assert_eq!(sessions.add_owner(session(1), by, by).is_ok(), ok, "{by}");
        }
    }

    #[test]
    fn only_the_own_oldest_sessions_are_dropped() {
        let sessions = SessionOwners::default();
        sessions.add_owner(session(1), "a", "a").unwrap();
        for number in 2..(MAX_SESSIONS_PER_PRINCIPAL * 3) {
            sessions.add_owner(session(number), "b", "b").unwrap();
        }
        assert!(sessions.add_owner(session(1), "b", "b").is_err());
        let known = sessions.0.lock();
        assert_eq!(known.owners.len(), MAX_SESSIONS_PER_PRINCIPAL + 1);
    }
}
