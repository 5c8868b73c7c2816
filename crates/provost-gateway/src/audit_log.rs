//! Reading the log with a question in mind.
//!
//! One call does a bounded amount of work: a page that looked at much and found
//! little is answered with what there is and a place to go on from.

use std::collections::HashMap;

use provost_core::fold::{ViewDocument, ViewKind};
use provost_proto::runtime::RuntimeChange;
use provost_proto::{
    ActionId, Actor, ApprovalId, AuditPage, Event, Fact, GrantId, Seq, UnixMicros,
};
use provost_store::{EventScope, RecordedEvent};

use crate::{Gateway, GatewayError};

/// Events that are read at once.
const WINDOW: usize = 500;

/// What one call may cost: an event that is looked at costs 1.
const BUDGET: usize = 20_000;

/// What a body costs that is kept beside the log.
const BLOB_COST: usize = 50;

/// From where a reader reads, and in which direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuditCursor {
    /// What came after this place, the oldest first.
    After(Seq),
    /// What came before this place, the newest first.
    Before(Seq),
}

/// What a reader looks for. What is left out is not looked at.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuditFilter {
    /// Events of this action, with its questions, their answers and its grants.
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

impl Gateway {
    /// One page of the log, with at most `limit` events.
    pub async fn search_audit_log(
        &self,
        scope: EventScope,
        from: AuditCursor,
        limit: usize,
        filter: &AuditFilter,
    ) -> Result<AuditPage, GatewayError> {
        let mut search =
            AuditSearch { filter, limit, cost: 0, found: Vec::new(), about: HashMap::new() };
        let next = match from {
            AuditCursor::After(after) => self.search_forward(scope, after, &mut search).await?,
            AuditCursor::Before(before) => self.search_backward(scope, before, &mut search).await?,
        };
        Ok(AuditPage { events: search.found, next })
    }

    async fn search_forward(
        &self,
        scope: EventScope,
        mut after: Seq,
        search: &mut AuditSearch<'_>,
    ) -> Result<Option<Seq>, GatewayError> {
        let window = search.window();
        loop {
            let page = self.store.read_events(scope, after, window).await?;
            for event in &page.events {
                after = event.seq;
                self.examine_event(event, search).await?;
                if search.is_over() {
                    return Ok(Some(after));
                }
            }
            if page.events.len() < window {
                return Ok(None);
            }
        }
    }

    async fn search_backward(
        &self,
        scope: EventScope,
        before: Seq,
        search: &mut AuditSearch<'_>,
    ) -> Result<Option<Seq>, GatewayError> {
        let head = *self.store.watch_head().borrow();
        let window = search.window();
        let mut before = before.min(head.saturating_add(1));
        while before > 1 {
            // No place is missing in the log, so no window holds more than this.
            let after = (before - 1).saturating_sub(window as Seq);
            let page = self.store.read_events(scope, after, window).await?;
            for event in page.events.iter().rev().filter(|event| event.seq < before) {
                self.examine_event(event, search).await?;
                if search.is_over() {
                    return Ok((event.seq > 1).then_some(event.seq));
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

    /// Whether an event tells something of an action.
    async fn is_about(
        &self,
        event: &RecordedEvent,
        action: ActionId,
        search: &mut AuditSearch<'_>,
    ) -> Result<bool, GatewayError> {
        // Most events are about something else, and need not be read to know it.
        let text = String::from_utf8_lossy(event.record_bytes());
        let beside = text.contains("\"$blob\":");
        let indirect = ["\"kind\":\"APPROVAL_", "\"kind\":\"GRANT_"];
        let named = text.contains(&action.uuid().to_string());
        if !named && !beside && !indirect.iter().any(|kind| text.contains(kind)) {
            return Ok(false);
        }
        search.cost += if beside { BLOB_COST } else { 1 };
        Ok(match self.hydrate_recorded_fact(event).await?.as_ref().and_then(find_fact_subject) {
            Some(FactSubject::Action(about)) => about == action,
            Some(FactSubject::Approval(id)) => {
                self.find_approval_action(id, search).await? == Some(action)
            }
            Some(FactSubject::Grant(id)) => match self.find_grant(&id.uuid().to_string()).await {
                Ok(grant) => {
                    self.find_approval_action(grant.approval, search).await? == Some(action)
                }
                Err(GatewayError::ItemNotFound { .. }) => false,
                Err(error) => return Err(error),
            },
            None => false,
        })
    }

    /// The action that a question was about.
    async fn find_approval_action(
        &self,
        id: ApprovalId,
        search: &mut AuditSearch<'_>,
    ) -> Result<Option<ActionId>, GatewayError> {
        if let Some(known) = search.about.get(&id) {
            return Ok(*known);
        }
        let doc = self.store.get_document(ViewKind::Approvals, id.uuid()).await?;
        let action = doc.and_then(ViewDocument::into_approval).map(|approval| approval.action);
        search.about.insert(id, action);
        Ok(action)
    }
}

/// A page in the making.
struct AuditSearch<'a> {
    filter: &'a AuditFilter,
    limit: usize,
    cost: usize,
    found: Vec<Event>,
    /// The actions of the questions that were met.
    about: HashMap<ApprovalId, Option<ActionId>>,
}

impl AuditSearch<'_> {
    /// How many events to read at once: no more than the page, if it takes them all.
    fn window(&self) -> usize {
        if *self.filter == AuditFilter::default() { self.limit.min(WINDOW) } else { WINDOW }
    }

    fn is_over(&self) -> bool {
        self.found.len() >= self.limit || self.cost >= BUDGET
    }
}

impl AuditFilter {
    /// Whether it takes an event, apart from the action.
    fn matches_event(&self, event: &Event) -> bool {
        (self.kinds.is_empty() || self.kinds.contains(&event.kind))
            && self.principal.as_ref().is_none_or(|wanted| *wanted == event.principal)
            && self.actor.as_ref().is_none_or(|wanted| *wanted == event.actor)
            && self.since.is_none_or(|since| event.at >= since)
            && self.until.is_none_or(|until| event.at < until)
    }
}

/// What a fact tells something of.
enum FactSubject {
    Action(ActionId),
    Approval(ApprovalId),
    Grant(GrantId),
}

fn find_fact_subject(fact: &Fact) -> Option<FactSubject> {
    if let Fact::ActionRequested { action, .. }
    | Fact::ActionWaiting { action, .. }
    | Fact::ActionDenied { action, .. }
    | Fact::ActionAllowed { action, .. }
    | Fact::ActionRead { action, .. }
    | Fact::ApprovalAsked { action, .. }
    | Fact::ActionStarted { action, .. }
    | Fact::ActionOutput { action, .. }
    | Fact::ActionFinished { action, .. } = fact
    {
        Some(FactSubject::Action(*action))
    } else if let Fact::ApprovalAnswered { approval, .. }
    | Fact::ApprovalExpired { approval, .. }
    | Fact::ApprovalWithdrawn { approval, .. }
    | Fact::GrantCreated { approval, .. } = fact
    {
        Some(FactSubject::Approval(*approval))
    } else if let Fact::GrantRevoked { grant, .. } = fact {
        Some(FactSubject::Grant(*grant))
    } else {
        RuntimeChange::from_fact(fact).map(|(_, action, _, _)| FactSubject::Action(action))
    }
}
