//! Approvals: requests to a person to allow one action; pending until they are answered,
//! withdrawn or expired.
//!
//! The log holds the pending approvals; this service keeps a copy. An approval is resolved by
//! an append that requires its document to be unchanged, so of concurrent answers exactly one
//! counts.

mod answer;
mod answer_context;
mod excerpt;
mod expire;
mod pending;
mod persist_rule;
mod prompt;
mod quota;
mod resume;
mod secret_actions;
#[cfg(test)]
mod tests;
mod trust_answer;
mod withdraw;

use std::sync::Arc;

use provost_core::decide::{BoundAction, UnapprovedAction};
use provost_core::fold::{DocumentKey, ViewDocument, ViewKind};
use provost_proto::kernel::ErrorInfo;
use provost_proto::{
    ActionId, Actor, Approval, ApprovalId, ApprovalList, ApprovalPrompt, Code, Fact, ProjectId,
    ProjectStatus, TrustPrompt,
};
use provost_store::{
    AppendOutcome, AppendRequest, Durability, ListPosition, ListQuery, StoreError,
};

pub(crate) use excerpt::excerpt_approval;
pub(crate) use pending::ActionEndReceiver;
pub(crate) use quota::ApprovalRequestOutcome;

use crate::document_lists::list_page;
use crate::event_log::{EventLog, repeated_request_error};
use crate::project::decisions::{Decisions, EvaluatedFiles};
use crate::project::executor::ActionExecutor;
use crate::project::governance::{Governance, ProjectGovernance};
use crate::project::principal_directory::PrincipalDirectory;
use crate::project::request_context::RequestContext;
use crate::project::sessions::Sessions;
use crate::{GatewayConfig, GatewayError};
use pending::{ActionEnd, PendingApprovals};

/// Requests to people, and their answers.
#[derive(Debug)]
pub struct Approvals {
    log: Arc<EventLog>,
    config: Arc<GatewayConfig>,
    governance: Arc<Governance>,
    decisions: Arc<Decisions>,
    executor: Arc<ActionExecutor>,
    sessions: Arc<Sessions>,
    directory: Arc<dyn PrincipalDirectory>,
    pending: Arc<PendingApprovals>,
}

/// The services that approvals and actions depend on.
#[derive(Clone)]
pub(crate) struct ActionDependencies {
    pub(crate) log: Arc<EventLog>,
    pub(crate) governance: Arc<Governance>,
    pub(crate) decisions: Arc<Decisions>,
    pub(crate) executor: Arc<ActionExecutor>,
    pub(crate) sessions: Arc<Sessions>,
    pub(crate) directory: Arc<dyn PrincipalDirectory>,
}

impl Approvals {
    pub(crate) async fn load(
        services: ActionDependencies,
        config: Arc<GatewayConfig>,
    ) -> Result<Self, GatewayError> {
        let ActionDependencies { log, governance, decisions, executor, sessions, directory } =
            services;
        let pending = Arc::new(PendingApprovals::load(&log).await?);
        Ok(Self { log, config, governance, decisions, executor, sessions, directory, pending })
    }

    /// Requests a person's approval for an action. The facts are recorded before it.
    pub(crate) async fn request_approval(
        &self,
        governance: &ProjectGovernance,
        context: &RequestContext,
        unapproved: &UnapprovedAction,
        files: &EvaluatedFiles,
        facts: Vec<Fact>,
    ) -> Result<ApprovalRequestOutcome, GatewayError> {
        let role = context.role.as_deref();
        let prompt = self.build_approval_prompt(governance, role, unapproved, files).await?;
        self.open_approval(context, unapproved.bound_action(), prompt, facts).await
    }

    /// Requests that a person trusts the file of a role; the action waits for it.
    pub(crate) async fn request_trust_approval(
        &self,
        governance: &ProjectGovernance,
        context: &RequestContext,
        bound_action: &BoundAction,
        trust: TrustPrompt,
    ) -> Result<ApprovalRequestOutcome, GatewayError> {
        let prompt = self.build_trust_approval_prompt(governance, bound_action, trust).await?;
        let facts = vec![context.action_requested_fact(bound_action)];
        self.open_approval(context, bound_action, prompt, facts).await
    }

    async fn open_approval(
        &self,
        context: &RequestContext,
        bound_action: &BoundAction,
        prompt: ApprovalPrompt,
        facts: Vec<Fact>,
    ) -> Result<ApprovalRequestOutcome, GatewayError> {
        // Under the guard, so that concurrent requests cannot exceed the quota, and none is
        // opened in a project that was just closed.
        let _guard = self.governance.lock().await?;
        let governance = self.governance.find_by_id(context.project.id);
        if governance.is_none_or(|now| now.project.status != ProjectStatus::Open) {
            return Err(GatewayError::ProjectClosed);
        }
        if let Some(pending) = self.pending.find_duplicate(context, bound_action) {
            return Ok(ApprovalRequestOutcome::AlreadyPending(pending));
        }
        self.pending.check_quota(context)?;
        let (id, asked) = self.approval_asked_facts(context, bound_action, prompt);
        let facts = facts.into_iter().chain(asked).collect();
        self.log.append_once(context.build_keyed_append(Durability::Synced, facts)).await?;
        // Registered before anyone can answer, and only if the approval is in the log.
        let end = self.pending.register_waiter(bound_action.request().id);
        self.cache_approval(id, bound_action).await?;
        Ok(ApprovalRequestOutcome::Created(id, end))
    }

    /// The facts that open an approval.
    fn approval_asked_facts(
        &self,
        context: &RequestContext,
        bound_action: &BoundAction,
        prompt: ApprovalPrompt,
    ) -> (ApprovalId, [Fact; 2]) {
        let approval: ApprovalId = self.log.clock().new_id();
        let request = bound_action.request();
        let ttl = u64::try_from(self.config.approval_ttl.as_micros()).unwrap_or(u64::MAX);
        let asked = Fact::ApprovalAsked {
            approval,
            project: request.project,
            action: request.id,
            action_hash: bound_action.hash(),
            class: request.class,
            role: context.role.clone(),
            session: context.session,
            question: Box::new(prompt),
            expires_at: self.log.now().saturating_add(ttl),
        };
        (approval, [asked, Fact::ActionWaiting { action: request.id, approval }])
    }

    /// Adds an approval that is in the log to the copy.
    async fn cache_approval(
        &self,
        id: ApprovalId,
        bound_action: &BoundAction,
    ) -> Result<(), GatewayError> {
        if let Some(action) = self.log.extract_secret_action(bound_action) {
            self.pending.keep_secret_action(bound_action.request().id, action);
        }
        let doc = self.log.store().get_document(ViewKind::Approvals, id.uuid()).await?;
        if let Some(approval) = doc.and_then(ViewDocument::into_approval) {
            self.pending.add(approval);
        }
        Ok(())
    }

    /// Records the resolution of an approval, if it is still pending.
    async fn resolve_approval(
        &self,
        approval: &Approval,
        append: AppendRequest,
    ) -> Result<AppendOutcome, GatewayError> {
        let key = DocumentKey { view: ViewKind::Approvals, key: approval.id.uuid() };
        let unchanged = vec![(key, ViewDocument::Approval(Box::new(approval.clone())))];
        match self.log.append(AppendRequest { unchanged, ..append }).await {
            Err(StoreError::DocumentChanged { .. }) => {
                self.pending.remove(approval.id);
                Err(approval_resolved_error())
            }
            Err(error) => Err(error.into()),
            // The key was used for another request, which resolved nothing here.
            Ok(AppendOutcome::Replayed(_)) => Err(repeated_request_error()),
            Ok(fresh @ AppendOutcome::Appended(_)) => {
                self.pending.remove(approval.id);
                Ok(fresh)
            }
        }
    }

    /// The pending approvals, the oldest first. Large ones are bounded excerpts;
    /// [`Self::get_approval`] returns the whole of one.
    pub async fn list_pending(
        &self,
        wanted: impl Fn(&Approval) -> bool + Send,
    ) -> Result<ApprovalList, GatewayError> {
        // Under the guard, so that a client that saw the event in the log finds the approval in
        // the list.
        let _guard = self.governance.lock().await?;
        let pending = self.pending.list();
        Ok(build_approval_list(pending.iter().map(AsRef::as_ref).filter(|one| wanted(one)), None))
    }

    /// A page of the approvals of these projects, the newest first: those that are pending, then
    /// those that were resolved last. The pages after the first have resolved ones only.
    pub async fn list_all(
        &self,
        projects: &[ProjectId],
        before: Option<ListPosition>,
    ) -> Result<ApprovalList, GatewayError> {
        let (view, store) = (ViewKind::Approvals, &**self.log.store());
        let mut docs = Vec::new();
        if before.is_none() {
            let open = projects.iter().map(|id| ListQuery::open(view, id.uuid())).collect();
            docs = store.list_under(open).await?;
            docs.sort_by_key(|stored| std::cmp::Reverse(stored.key));
        }
        let mut approvals: Vec<_> =
            docs.into_iter().filter_map(|stored| stored.doc.into_approval()).collect();
        let resolved = projects.iter().map(|id| ListQuery::latest(view, id.uuid(), usize::MAX));
        let page = list_page(store, resolved, before.unwrap_or(ListPosition::END)).await?;
        approvals.extend(page.documents.into_iter().filter_map(ViewDocument::into_approval));
        Ok(build_approval_list(&approvals, page.next))
    }

    /// One approval, pending or not.
    pub async fn get_approval(&self, id: &str) -> Result<Approval, GatewayError> {
        let missing = || GatewayError::ItemNotFound { what: "approval", name: id.to_owned() };
        let parsed: ApprovalId = id.parse().map_err(|_| missing())?;
        let doc = self.log.store().get_document(ViewKind::Approvals, parsed.uuid()).await?;
        doc.and_then(ViewDocument::into_approval).ok_or_else(missing)
    }

    /// Passes the end of an action to the request that waits for it, or keeps it.
    fn deliver_end(&self, action: ActionId, end: ActionEnd) {
        self.end_receiver(action)(end);
    }

    /// The same as a function that outlives this call.
    fn end_receiver(&self, action: ActionId) -> impl FnOnce(ActionEnd) + Send + 'static {
        let (pending, executor) = (Arc::clone(&self.pending), Arc::clone(&self.executor));
        move |end| {
            if let Some(end) = pending.deliver_end(action, end) {
                executor.unclaimed_results.store_result(action, &end);
            }
        }
    }

    /// The context of the request that an approval is about.
    fn context_from_approval(&self, approval: &Approval) -> Result<RequestContext, GatewayError> {
        let governance = self.governance.get_by_id(approval.project)?;
        Ok(RequestContext {
            principal: approval.principal.clone(),
            actor: approval.actor.clone(),
            project: governance.project.clone(),
            role: approval.role.clone(),
            session: approval.session,
            command: None,
        })
    }

    /// The same with the daemon as the actor.
    fn daemon_context(&self, approval: &Approval) -> Result<RequestContext, GatewayError> {
        Ok(RequestContext {
            principal: self.log.owner().principal.clone(),
            actor: Actor::Daemon,
            ..self.context_from_approval(approval)?
        })
    }
}

/// A list with excerpts of approvals that are large.
fn build_approval_list<'a>(
    all: impl IntoIterator<Item = &'a Approval>,
    next: Option<ListPosition>,
) -> ApprovalList {
    let (mut approvals, mut truncated) = (Vec::new(), Vec::new());
    for approval in all {
        let (excerpt, is_cut) = excerpt_approval(approval);
        truncated.extend(is_cut.then_some(approval.id));
        approvals.push(excerpt);
    }
    ApprovalList { approvals, truncated, next: next.map(|next| next.to_string()) }
}

fn approval_resolved_error() -> GatewayError {
    GatewayError::Fault(ErrorInfo {
        code: Code::ApprovalResolved,
        message: "this approval was answered or withdrawn, or it has expired".to_owned(),
        details: None,
    })
}

fn hash_mismatch_error() -> GatewayError {
    GatewayError::Fault(ErrorInfo {
        code: Code::HashMismatch,
        message: "what was shown is not what waits; look again before you answer".to_owned(),
        details: None,
    })
}
