//! Searching the log with a filter.
//!
//! One call does a bounded amount of work: a search that examined much and found little
//! returns what there is and a cursor to continue from.

use std::collections::HashMap;
use std::sync::Arc;

use provost_core::fold::{ViewDocument, ViewKind};
use provost_proto::runtime::RuntimeChange;
use provost_proto::{
    ActionId, Actor, ApprovalId, AuditPage, Event, Fact, GrantId, LogCursor, Seq, UnixMicros,
};
use provost_store::{EventScope, RecordedEvent};

use crate::GatewayError;
use crate::event_log::EventLog;

/// How many events are read at once.
const PAGE_SIZE: usize = 500;

/// What one call may cost: examining an event costs 1.
const MAX_COST: usize = 20_000;

/// The cost of a body that is stored as a blob.
const BLOB_COST: usize = 50;

/// Where a reader continues, and in which direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuditCursor {
    /// Events after this one, the oldest first.
    After(LogCursor),
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
    /// Events by this actor.
    pub actor: Option<Actor>,
    /// Events at or after this time.
    pub since: Option<UnixMicros>,
    /// Events before this time.
    pub until: Option<UnixMicros>,
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
        let mut search = AuditSearch {
            filter,
            limit,
            cost: 0,
            found: Vec::new(),
            approval_actions: HashMap::new(),
        };
        let next = match from {
            AuditCursor::After(after) => self.search_forward(scope, after, &mut search).await?,
            AuditCursor::Before(before) => self.search_backward(scope, before, &mut search).await?,
        };
        Ok(AuditPage { events: search.found, next })
    }

    async fn search_forward(
        &self,
        scope: EventScope,
        mut after: LogCursor,
        search: &mut AuditSearch<'_>,
    ) -> Result<Option<LogCursor>, GatewayError> {
        let page_size = search.page_size();
        loop {
            let page = self.log.store().read_events(scope, after, page_size).await?;
            for event in &page.events {
                after = event.cursor();
                self.examine_event(event, search).await?;
                if search.is_over() {
                    return Ok(Some(after));
                }
            }
            if page.events.len() < page_size {
                return Ok(None);
            }
        }
    }

    async fn search_backward(
        &self,
        scope: EventScope,
        before: LogCursor,
        search: &mut AuditSearch<'_>,
    ) -> Result<Option<LogCursor>, GatewayError> {
        let head = self.log.store().watch_head().borrow().seq();
        let page_size = search.page_size();
        let mut before = before.seq().min(head.saturating_add(1));
        while before > 1 {
            // The log has no gaps, so no page holds more than this.
            let after = (before - 1).saturating_sub(page_size as Seq);
            let from = LogCursor::from_seq(after);
            let page = self.log.store().read_events(scope, from, page_size).await?;
            for event in page.events.iter().rev().filter(|event| event.seq < before) {
                self.examine_event(event, search).await?;
                if search.is_over() {
                    return Ok((event.seq > 1).then_some(event.cursor()));
                }
            }
            before = after + 1;
        }
        Ok(None)
    }

    async fn examine_event(
        &self,
        event: &RecordedEvent,
        search: &mut AuditSearch<'_>,
    ) -> Result<(), GatewayError> {
        search.cost += 1;
        if let Some(action) = search.filter.action
            && !self.is_about(event, action, search).await?
        {
            return Ok(());
        }
        let event = event.decode_event()?;
        if search.filter.matches_event(&event) {
            search.found.push(event);
        }
        Ok(())
    }

    /// Whether an event is about an action.
    async fn is_about(
        &self,
        event: &RecordedEvent,
        action: ActionId,
        search: &mut AuditSearch<'_>,
    ) -> Result<bool, GatewayError> {
        // Most events are about something else, which shows without decoding them.
        let text = String::from_utf8_lossy(event.record_bytes());
        let is_blob = text.contains("\"$blob\":");
        let indirect = ["\"kind\":\"APPROVAL_", "\"kind\":\"GRANT_"];
        let named = text.contains(&action.uuid().to_string());
        if !named && !is_blob && !indirect.iter().any(|kind| text.contains(kind)) {
            return Ok(false);
        }
        search.cost += if is_blob { BLOB_COST } else { 1 };
        Ok(
            match self.log.hydrate_recorded_fact(event).await?.as_ref().and_then(find_fact_subject)
            {
                Some(FactSubject::Action(about)) => about == action,
                Some(FactSubject::Approval(id)) => {
                    self.find_approval_action(id, search).await? == Some(action)
                }
                Some(FactSubject::Grant(id)) => {
                    let doc = self.log.store().get_document(ViewKind::Grants, id.uuid()).await?;
                    match doc.and_then(ViewDocument::into_grant) {
                        Some(grant) => {
                            self.find_approval_action(grant.approval, search).await? == Some(action)
                        }
                        None => false,
                    }
                }
                None => false,
            },
        )
    }

    /// The action of an approval.
    async fn find_approval_action(
        &self,
        id: ApprovalId,
        search: &mut AuditSearch<'_>,
    ) -> Result<Option<ActionId>, GatewayError> {
        if let Some(known) = search.approval_actions.get(&id) {
            return Ok(*known);
        }
        let doc = self.log.store().get_document(ViewKind::Approvals, id.uuid()).await?;
        let action = doc.and_then(ViewDocument::into_approval).map(|approval| approval.action);
        search.approval_actions.insert(id, action);
        Ok(action)
    }
}

/// A search in progress.
struct AuditSearch<'a> {
    filter: &'a AuditFilter,
    limit: usize,
    cost: usize,
    found: Vec<Event>,
    /// The actions of the approvals that were found.
    approval_actions: HashMap<ApprovalId, Option<ActionId>>,
}

impl AuditSearch<'_> {
    /// How many events to read at once: no more than the limit, if every event matches.
    fn page_size(&self) -> usize {
        if *self.filter == AuditFilter::default() { self.limit.min(PAGE_SIZE) } else { PAGE_SIZE }
    }

    fn is_over(&self) -> bool {
        self.found.len() >= self.limit || self.cost >= MAX_COST
    }
}

impl AuditFilter {
    /// Whether an event matches, apart from the action.
    fn matches_event(&self, event: &Event) -> bool {
        (self.kinds.is_empty() || self.kinds.contains(&event.kind))
            && self.principal.as_ref().is_none_or(|wanted| *wanted == event.principal)
            && self.actor.as_ref().is_none_or(|wanted| *wanted == event.actor)
            && self.since.is_none_or(|since| event.at >= since)
            && self.until.is_none_or(|until| event.at < until)
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
