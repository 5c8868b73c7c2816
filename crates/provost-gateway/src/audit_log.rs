//! Searching the log with a filter.
//!
//! One call does a bounded amount of work: a search that examined much and found little
//! returns what there is and a cursor to continue from.

use std::collections::HashMap;
use std::sync::Arc;

use provost_core::fold::{ViewDocument, ViewKind};
use provost_proto::runtime::RuntimeChange;
use provost_proto::{ActionId, Actor, ApprovalId, AuditPage, Fact, GrantId, LogCursor, UnixMicros};
use provost_store::{EventFilter, EventQuery, EventScope, RecordedEvent, SearchFrom};

use crate::GatewayError;
use crate::event_log::EventLog;

/// The most events of each kind that connect an action with its approvals and grants.
const MAX_RELATED_EVENTS: usize = 200;

/// Where a reader continues, and in which direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuditCursor {
    /// Events after this one, the oldest first.
    After(LogCursor),
    /// Events from this one on, itself included, the oldest first.
    At(LogCursor),
    /// Events before this one, the newest first.
    Before(LogCursor),
}

/// Which events a reader wants. An absent field matches every event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuditFilter {
    /// Events of this action, with its approvals, their answers and its grants.
    pub action: Option<ActionId>,
    /// Events of one of these kinds.
    pub kinds: Vec<String>,
    /// Events on this authority.
    pub principal: Option<String>,
    /// Events by one of these actors.
    pub actors: Vec<Actor>,
    /// Events at or after this time.
    pub since: Option<UnixMicros>,
    /// Events before this time.
    pub until: Option<UnixMicros>,
    /// Events in which all of these words occur, in any case.
    pub words: Vec<String>,
}

/// Reads the log with a filter.
#[derive(Debug)]
pub struct AuditLog {
    log: Arc<EventLog>,
}

impl AuditLog {
    pub(crate) fn new(log: Arc<EventLog>) -> Self {
        Self { log }
    }

    /// One page of the log, with at most `limit` events.
    pub async fn search(
        &self,
        scope: EventScope,
        from: AuditCursor,
        limit: usize,
        filter: &AuditFilter,
    ) -> Result<AuditPage, GatewayError> {
        let mut filter_events = filter.to_event_filter();
        if let Some(action) = filter.action {
            let span = self.find_action_span(action).await?;
            filter_events.any_of = self.list_related_ids(action, span).await?;
            filter_events.since = filter_events.since.max(span.since);
        }
        let from = match from {
            AuditCursor::After(after) => SearchFrom::After(after),
            AuditCursor::At(at) => SearchFrom::At(at),
            AuditCursor::Before(before) => SearchFrom::Before(before),
        };
        let query = EventQuery { scope, from, limit, filter: filter_events };
        let page = self.log.store().search_events(query).await?;
        let mut known = ApprovalActions::default();
        let mut events = Vec::with_capacity(page.events.len());
        for event in &page.events {
            if let Some(action) = filter.action
                && !self.is_about(event, action, &mut known).await?
            {
                continue;
            }
            events.push(event.decode_event()?);
        }
        Ok(AuditPage { events, next: page.next })
    }

    /// The ids that events about an action hold: its own, and those of its approvals and grants.
    async fn list_related_ids(
        &self,
        action: ActionId,
        span: ActionSpan,
    ) -> Result<Vec<String>, GatewayError> {
        let mut ids = vec![action.uuid().to_string()];
        for fact in self.list_facts_with("APPROVAL_ASKED", &ids, span).await? {
            if let Fact::ApprovalAsked { approval, .. } = fact {
                ids.push(approval.uuid().to_string());
            }
        }
        if ids.len() > 1 {
            for fact in self.list_facts_with("GRANT_CREATED", &ids, span).await? {
                if let Fact::GrantCreated { grant, .. } = fact {
                    ids.push(grant.uuid().to_string());
                }
            }
        }
        Ok(ids)
    }

    /// When an action went on, as far as that is known: its approvals are asked and answered
    /// then, so that the rest of the log need not be searched for them.
    async fn find_action_span(&self, action: ActionId) -> Result<ActionSpan, GatewayError> {
        let doc = self.log.store().get_document(ViewKind::Actions, action.uuid()).await?;
        Ok(doc.and_then(ViewDocument::into_action).map_or(ActionSpan::default(), |action| {
            let until = action.finished_at.map(|at| at.saturating_add(1));
            ActionSpan { since: Some(action.requested_at), until }
        }))
    }

    /// The facts of a kind in which one of the ids occurs.
    async fn list_facts_with(
        &self,
        kind: &str,
        ids: &[String],
        ActionSpan { since, until }: ActionSpan,
    ) -> Result<Vec<Fact>, GatewayError> {
        let (mut facts, mut from) = (Vec::new(), LogCursor::END);
        loop {
            let filter = EventFilter {
                kinds: vec![kind.to_owned()],
                any_of: ids.to_vec(),
                since,
                until,
                ..EventFilter::default()
            };
            let query = EventQuery {
                scope: EventScope::All,
                from: SearchFrom::Before(from),
                limit: MAX_RELATED_EVENTS,
                filter,
            };
            let page = self.log.store().search_events(query).await?;
            for event in &page.events {
                facts.extend(self.log.hydrate_recorded_fact(event).await?);
            }
            match page.next {
                Some(next) if facts.len() < MAX_RELATED_EVENTS => from = next,
                Some(_) | None => return Ok(facts),
            }
        }
    }

    /// Whether an event is about an action.
    async fn is_about(
        &self,
        event: &RecordedEvent,
        action: ActionId,
        known: &mut ApprovalActions,
    ) -> Result<bool, GatewayError> {
        let fact = self.log.hydrate_recorded_fact(event).await?;
        Ok(match fact.as_ref().and_then(find_fact_subject) {
            Some(FactSubject::Action(about)) => about == action,
            Some(FactSubject::Approval(id)) => {
                self.find_approval_action(id, known).await? == Some(action)
            }
            Some(FactSubject::Grant(id)) => {
                let doc = self.log.store().get_document(ViewKind::Grants, id.uuid()).await?;
                match doc.and_then(ViewDocument::into_grant) {
                    Some(grant) => {
                        self.find_approval_action(grant.approval, known).await? == Some(action)
                    }
                    None => false,
                }
            }
            None => false,
        })
    }

    /// The action of an approval.
    async fn find_approval_action(
        &self,
        id: ApprovalId,
        known: &mut ApprovalActions,
    ) -> Result<Option<ActionId>, GatewayError> {
        if let Some(known) = known.get(&id) {
            return Ok(*known);
        }
        let doc = self.log.store().get_document(ViewKind::Approvals, id.uuid()).await?;
        let action = doc.and_then(ViewDocument::into_approval).map(|approval| approval.action);
        known.insert(id, action);
        Ok(action)
    }
}

/// The time between the first and the last event of an action; `None` where that is unknown.
#[derive(Debug, Clone, Copy, Default)]
struct ActionSpan {
    since: Option<UnixMicros>,
    until: Option<UnixMicros>,
}

/// The actions of the approvals that were found.
type ApprovalActions = HashMap<ApprovalId, Option<ActionId>>;

impl AuditFilter {
    /// The same, apart from the action.
    pub fn to_event_filter(&self) -> EventFilter {
        EventFilter {
            kinds: self.kinds.clone(),
            principal: self.principal.clone(),
            actors: self.actors.clone(),
            since: self.since,
            until: self.until,
            words: self.words.clone(),
            any_of: Vec::new(),
        }
    }
}

/// What a fact is about.
enum FactSubject {
    Action(ActionId),
    Approval(ApprovalId),
    Grant(GrantId),
}

#[expect(clippy::wildcard_enum_match_arm, reason = "other facts are about a runtime, or nothing")]
fn find_fact_subject(fact: &Fact) -> Option<FactSubject> {
    match fact {
        Fact::ActionRequested { action, .. }
        | Fact::ActionWaiting { action, .. }
        | Fact::ActionDenied { action, .. }
        | Fact::ActionAllowed { action, .. }
        | Fact::ActionRead { action, .. }
        | Fact::ApprovalAsked { action, .. }
        | Fact::ActionStarted { action, .. }
        | Fact::ActionOutput { action, .. }
        | Fact::ActionFinished { action, .. } => Some(FactSubject::Action(*action)),
        Fact::ApprovalAnswered { approval, .. }
        | Fact::ApprovalExpired { approval, .. }
        | Fact::ApprovalWithdrawn { approval, .. }
        | Fact::GrantCreated { approval, .. } => Some(FactSubject::Approval(*approval)),
        Fact::GrantRevoked { grant, .. } => Some(FactSubject::Grant(*grant)),
        _ => RuntimeChange::from_fact(fact).map(|(_, action, _, _)| FactSubject::Action(action)),
    }
}

#[cfg(test)]
mod tests;
