//! Searching the log with a filter.
//!
//! One call does a bounded amount of work: a search that examined much and found little
//! returns what there is and a cursor to continue from.

use std::collections::HashMap;
use std::sync::Arc;

use provost_core::fold::{ViewDocument, ViewKind};
use provost_proto::runtime::RuntimeChange;
use provost_proto::{
    ActionId, Actor, ApprovalId, AuditPage, Fact, GrantId, LogCursor, ProjectId, Stream, UnixMicros,
};
use provost_store::{EventFilter, EventQuery, EventScope, RecordedEvent, SearchFrom};
use uuid::Uuid;

use crate::GatewayError;
use crate::event_log::EventLog;

/// The most events of each kind that connect an action with its approvals and grants.
const MAX_RELATED_EVENTS: usize = 200;

/// The names of actions begin with these whose builds, dev servers and shells go on after them.
const RUNTIME_ACTIONS: [&str; 2] = ["runtime.", "pty."];

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
        let mut scope = scope;
        if let Some(action) = filter.action {
            let span = self.find_action_span(action).await?;
            let related = self.list_related(action, span).await?;
            filter_events.any_of = related.ids;
            filter_events.since = filter_events.since.max(span.since);
            let until = related.until.map(|last| last.saturating_add(1));
            filter_events.until = earlier_end(filter_events.until, until);
            scope = span.narrow(scope);
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

    /// The ids that events about an action hold: its own, and those of its approvals and grants;
    /// and when the last of these events was recorded.
    async fn list_related(
        &self,
        action: ActionId,
        span: ActionSpan,
    ) -> Result<RelatedEvents, GatewayError> {
        let mut ids = vec![action.uuid().to_string()];
        let mut until = span.until;
        for fact in self.list_facts_with("APPROVAL_ASKED", &ids, span).await? {
            if let Fact::ApprovalAsked { approval, .. } = fact {
                ids.push(approval.uuid().to_string());
                let doc = self.get_document(ViewKind::Approvals, approval.uuid()).await?;
                let resolved = doc.and_then(ViewDocument::into_approval);
                until = later_end(until, resolved.and_then(|approval| approval.resolved_at));
            }
        }
        if ids.len() > 1 {
            for fact in self.list_facts_with("GRANT_CREATED", &ids, span).await? {
                if let Fact::GrantCreated { grant, .. } = fact {
                    ids.push(grant.uuid().to_string());
                    // A grant may be revoked long after its action has ended.
                    let doc = self.get_document(ViewKind::Grants, grant.uuid()).await?;
                    let revoked = doc.and_then(ViewDocument::into_grant);
                    let revoked = revoked.and_then(|grant| grant.revoked_at);
                    until = until.map(|until| until.max(revoked.unwrap_or(0)));
                }
            }
        }
        Ok(RelatedEvents { ids, until })
    }

    /// When an action went on, as far as that is known: its approvals are asked and answered
    /// then, so that the rest of the log need not be searched for them.
    async fn find_action_span(&self, action: ActionId) -> Result<ActionSpan, GatewayError> {
        let doc = self.get_document(ViewKind::Actions, action.uuid()).await?;
        if let Some(action) = doc.and_then(ViewDocument::into_action) {
            // What it started in the project's runtime or terminal goes on after it.
            let goes_on = RUNTIME_ACTIONS.iter().any(|prefix| action.name.starts_with(prefix));
            return Ok(ActionSpan {
                project: Some(action.project),
                since: Some(action.requested_at),
                until: action.finished_at.filter(|_| !goes_on),
            });
        }
        // A read is recorded in one event.
        let doc = self.get_document(ViewKind::Looks, action.uuid()).await?;
        let Some(ViewDocument::Look(read)) = doc else { return Ok(ActionSpan::default()) };
        let Some(event) = self.log.store().read_event_at(read.event).await? else {
            return Ok(ActionSpan::default());
        };
        let at = Some(event.decode_event()?.at);
        Ok(ActionSpan { project: None, since: at, until: at })
    }

    async fn get_document(
        &self,
        view: ViewKind,
        key: Uuid,
    ) -> Result<Option<ViewDocument>, GatewayError> {
        Ok(self.log.store().get_document(view, key).await?)
    }

    /// The facts of a kind in which one of the ids occurs.
    async fn list_facts_with(
        &self,
        kind: &str,
        ids: &[String],
        span: ActionSpan,
    ) -> Result<Vec<Fact>, GatewayError> {
        let ActionSpan { since, until, .. } = span;
        let until = until.map(|last| last.saturating_add(1));
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
                scope: span.narrow(EventScope::All),
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

/// The part of the log that an action is in; `None` where that is unknown.
#[derive(Debug, Clone, Copy, Default)]
struct ActionSpan {
    /// In whose stream its events are.
    project: Option<ProjectId>,
    /// When it was requested.
    since: Option<UnixMicros>,
    /// When it ended.
    until: Option<UnixMicros>,
}

impl ActionSpan {
    /// The part of a scope in which events of the action can be.
    fn narrow(self, scope: EventScope) -> EventScope {
        match (scope, self.project) {
            (EventScope::All, Some(project)) => EventScope::Stream(Stream::Project(project)),
            (EventScope::Project(wanted), Some(project)) if wanted == project => {
                EventScope::Stream(Stream::Project(project))
            }
            (scope, _) => scope,
        }
    }
}

/// The events about an action, by the ids that they hold.
struct RelatedEvents {
    ids: Vec<String>,
    /// The time of the last one; `None` if there may be more.
    until: Option<UnixMicros>,
}

/// The earlier of two ends, each of which may be absent.
fn earlier_end(first: Option<UnixMicros>, second: Option<UnixMicros>) -> Option<UnixMicros> {
    [first, second].into_iter().flatten().min()
}

/// The later of two ends; `None` if one is not over.
fn later_end(first: Option<UnixMicros>, second: Option<UnixMicros>) -> Option<UnixMicros> {
    Some(first?.max(second?))
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
