//! Questions to people: asked, kept until they are resolved, answered once.
//!
//! What is pending is in the log; this is a copy. A question is resolved by an
//! append that demands that its document is still what it was, so of many
//! answers one counts, whoever is quickest.

mod answer;
mod expire;
mod persist_rule;
pub(crate) mod prompt;
mod quota;
mod resume;
mod secret_actions;

use parking_lot::Mutex;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use provost_core::action::Action;
use provost_core::decide::{BoundAction, UnapprovedAction};
use provost_core::fold::{DocumentKey, ViewDocument, ViewKind};
use provost_core::permit::Permit;
use provost_proto::kernel::ErrorInfo;
use provost_proto::{
    ActionId, Approval, ApprovalId, ApprovalPrompt, ApprovalStatus, Code, Fact, ProjectId,
    ProjectStatus, TrustPrompt,
};
use provost_store::{AppendOutcome, AppendRequest, Durability, EventStore, StoreError};
use tokio::sync::{Notify, oneshot};

pub(crate) use quota::ApprovalRequestOutcome;

use crate::project::actions::results::UnclaimedResults;
use crate::project::actions::{
    RequestContext, action_requested_fact, build_append, repeated_request_error,
};
use crate::project::executor::ExecutionResult;
use crate::project::governance::ProjectGovernance;
use crate::project::kernels::FinishedCommandReceiver;
use crate::{Caller, Gateway, GatewayError};

/// How an action ended, for whoever asked for it and waits.
pub(crate) type ExecutionResultReceiver = oneshot::Receiver<Result<ExecutionResult, GatewayError>>;

#[derive(Debug, Default)]
pub(crate) struct PendingApprovals {
    pending: Mutex<BTreeMap<ApprovalId, Arc<Approval>>>,
    waiting: Mutex<HashMap<ActionId, oneshot::Sender<Result<ExecutionResult, GatewayError>>>>,
    /// Actions that the log cannot keep as they are, because they hold a secret.
    secret_actions: Mutex<HashMap<ActionId, Action>>,
    /// What came out of actions that nobody waited for.
    pub(crate) results: UnclaimedResults,
    /// There is a new question, so the next to expire may be another.
    changed: Notify,
}

impl PendingApprovals {
    pub(crate) async fn load(store: &dyn EventStore) -> Result<Self, GatewayError> {
        let all = store
            .list_documents(ViewKind::Approvals)
            .await?
            .into_iter()
            .filter_map(ViewDocument::into_approval);
        let open = all.filter(|approval| approval.status == ApprovalStatus::Pending);
        let pending = open.map(|approval| (approval.id, Arc::new(approval))).collect();
        Ok(Self { pending: Mutex::new(pending), ..Self::default() })
    }

    fn get(&self, id: ApprovalId) -> Option<Arc<Approval>> {
        self.pending.lock().get(&id).cloned()
    }

    fn list(&self) -> Vec<Arc<Approval>> {
        self.pending.lock().values().cloned().collect()
    }

    fn add(&self, approval: Approval) {
        let mut pending = self.pending.lock();
        pending.insert(approval.id, Arc::new(approval));
        drop(pending);
        self.changed.notify_one();
    }

    fn remove(&self, id: ApprovalId) {
        self.pending.lock().remove(&id);
    }

    fn register_waiter(&self, action: ActionId) -> ExecutionResultReceiver {
        let (reply, end) = oneshot::channel();
        self.waiting.lock().insert(action, reply);
        end
    }

    /// Whether whoever asked still waits.
    fn is_waited_for(&self, action: ActionId) -> bool {
        let waiting = self.waiting.lock();
        waiting.get(&action).is_some_and(|reply| !reply.is_closed())
    }

    /// Tells whoever waits how it ended.
    fn deliver_result(&self, action: ActionId, ended: Result<ExecutionResult, GatewayError>) {
        self.secret_actions.lock().remove(&action);
        let reply = self.waiting.lock().remove(&action);
        // The request may have been answered with "it waits".
        let unheard = match reply {
            Some(reply) => reply.send(ended).err(),
            None => Some(ended),
        };
        if let Some(ended) = unheard {
            self.results.store_result(action, &ended);
        }
    }
}

impl Gateway {
    /// Asks a person about an action. `facts` come before the question.
    pub(crate) async fn request_approval(
        &self,
        governance: &ProjectGovernance,
        context: &RequestContext,
        unapproved: UnapprovedAction,
        facts: Vec<Fact>,
    ) -> Result<ApprovalRequestOutcome, GatewayError> {
        let prompt =
            self.build_approval_prompt(governance, context.role.as_deref(), &unapproved).await?;
        self.open_approval(context, unapproved.bound_action(), prompt, facts).await
    }

    /// Asks a person whether the role's file may govern; the action waits for it.
    pub(crate) async fn request_trust_approval(
        &self,
        governance: &ProjectGovernance,
        context: &RequestContext,
        bound_action: &BoundAction,
        trust: TrustPrompt,
    ) -> Result<ApprovalRequestOutcome, GatewayError> {
        let prompt = self.build_trust_approval_prompt(governance, bound_action, trust).await?;
        let facts = vec![action_requested_fact(context, bound_action)];
        self.open_approval(context, bound_action, prompt, facts).await
    }

    async fn open_approval(
        &self,
        context: &RequestContext,
        bound_action: &BoundAction,
        prompt: ApprovalPrompt,
        facts: Vec<Fact>,
    ) -> Result<ApprovalRequestOutcome, GatewayError> {
        // With the turn in hand, so that many at once are not more than there may
        // be, and nothing is asked in a project that was closed just now.
        let _guard = self.lock_governance().await?;
        let now = self.governance.find_by_id(context.project.id);
        if now.is_none_or(|now| now.project.status != ProjectStatus::Open) {
            return Err(GatewayError::ProjectClosed);
        }
        if let Some(open) = self.approvals.find_duplicate(context, bound_action) {
            return Ok(ApprovalRequestOutcome::AlreadyPending(open));
        }
        self.approvals.check_quota(context)?;
        let (id, asked) = self.approval_asked_facts(context, bound_action, prompt);
        let facts = facts.into_iter().chain(asked).collect();
        let command = context.command.clone();
        let append = AppendRequest { command, ..build_append(context, Durability::Synced, facts) };
        self.append_once(append).await?;
        // Before anyone can answer, and not if nothing is asked.
        let end = self.approvals.register_waiter(bound_action.request().id);
        self.cache_approval(id, bound_action).await?;
        Ok(ApprovalRequestOutcome::Created(id, end))
    }

    /// The facts that ask.
    fn approval_asked_facts(
        &self,
        context: &RequestContext,
        bound_action: &BoundAction,
        prompt: ApprovalPrompt,
    ) -> (ApprovalId, [Fact; 2]) {
        let approval: ApprovalId = self.clock.new_id();
        let request = bound_action.request();
        let patience = u64::try_from(self.config.approval_ttl.as_micros()).unwrap_or(u64::MAX);
        let asked = Fact::ApprovalAsked {
            approval,
            project: request.project,
            action: request.id,
            action_hash: bound_action.hash(),
            class: request.class,
            role: context.role.clone(),
            session: context.session,
            question: Box::new(prompt),
            expires_at: self.clock.now().saturating_add(patience),
        };
        (approval, [asked, Fact::ActionWaiting { action: request.id, approval }])
    }

    /// Takes a question that is in the log into the copy.
    async fn cache_approval(
        &self,
        id: ApprovalId,
        bound_action: &BoundAction,
    ) -> Result<(), GatewayError> {
        if let Some(action) = self.extract_secret_action(bound_action) {
            self.approvals.keep_secret_action(bound_action.request().id, action);
        }
        let doc = self.store.get_document(ViewKind::Approvals, id.uuid()).await?;
        if let Some(approval) = doc.and_then(ViewDocument::into_approval) {
            self.approvals.add(approval);
        }
        Ok(())
    }

    /// Writes how a question was resolved, if it is still open.
    async fn resolve_approval(
        &self,
        approval: &Approval,
        append: AppendRequest,
    ) -> Result<AppendOutcome, GatewayError> {
        let key = DocumentKey { view: ViewKind::Approvals, key: approval.id.uuid() };
        let unchanged = vec![(key, ViewDocument::Approval(Box::new(approval.clone())))];
        let done = self.append_redacted(AppendRequest { unchanged, ..append }).await;
        match done {
            Err(StoreError::DocumentChanged { .. }) => {
                self.approvals.remove(approval.id);
                Err(approval_resolved_error())
            }
            Err(error) => Err(error.into()),
            // The key was used for something else: nothing is resolved by that.
            Ok(AppendOutcome::Replayed(_)) => Err(repeated_request_error()),
            Ok(fresh @ AppendOutcome::Appended(_)) => {
                self.approvals.remove(approval.id);
                Ok(fresh)
            }
        }
    }

    /// The questions of a project, or of all: the open ones, or all there were.
    pub async fn list_approvals(
        &self,
        project: Option<ProjectId>,
        all: bool,
    ) -> Result<Vec<Approval>, GatewayError> {
        let wanted = |approval: &Approval| project.is_none_or(|only| approval.project == only);
        if !all {
            // Who has seen in the log that something is asked finds it here: the list has
            // it before the turn of whoever asked ends.
            let _guard = self.lock_governance().await?;
            let open = self.approvals.list();
            return Ok(open.iter().filter(|open| wanted(open)).map(|a| (**a).clone()).collect());
        }
        let docs = self.store.list_documents(ViewKind::Approvals).await?.into_iter();
        Ok(docs.filter_map(ViewDocument::into_approval).filter(wanted).collect())
    }

    /// One question, open or not.
    pub async fn get_approval(&self, id: &str) -> Result<Approval, GatewayError> {
        let missing = || GatewayError::ItemNotFound { what: "question", name: id.to_owned() };
        let parsed: ApprovalId = id.parse().map_err(|_| missing())?;
        let doc = self.store.get_document(ViewKind::Approvals, parsed.uuid()).await?;
        doc.and_then(ViewDocument::into_approval).ok_or_else(missing)
    }

    /// Takes a question back, because whoever asked no longer wants it.
    pub(crate) async fn withdraw_approval(
        &self,
        caller: &Caller,
        id: ApprovalId,
    ) -> Result<bool, GatewayError> {
        let _guard = self.lock_governance().await?;
        let Some(approval) = self.approvals.get(id) else { return Ok(false) };
        let why = "it was cancelled before anyone answered";
        let context = self.context_from_approval(&approval)?;
        let context = RequestContext {
            principal: caller.principal().to_owned(),
            actor: caller.actor().clone(),
            ..context
        };
        self.withdraw_and_deny(&context, &approval, Code::Cancelled, why).await?;
        Ok(true)
    }

    /// Takes back what is asked in a project that is closed.
    pub(crate) async fn withdraw_project_approvals(
        &self,
        project: ProjectId,
    ) -> Result<(), GatewayError> {
        let _guard = self.lock_governance().await?;
        for approval in self.approvals.list() {
            if approval.project == project {
                let context = self.daemon_context(&approval)?;
                let why = "the project was closed";
                self.withdraw_and_deny(&context, &approval, Code::Cancelled, why).await?;
            }
        }
        Ok(())
    }

    async fn withdraw_and_deny(
        &self,
        context: &RequestContext,
        approval: &Approval,
        code: Code,
        why: &str,
    ) -> Result<(), GatewayError> {
        let fault = ErrorInfo { code, message: why.to_owned(), details: None };
        let facts = vec![
            Fact::ApprovalWithdrawn {
                approval: approval.id,
                project: approval.project,
                why: why.to_owned(),
            },
            Fact::ActionDenied { action: approval.action, fault: fault.clone() },
        ];
        self.resolve_approval(approval, build_append(context, Durability::Synced, facts)).await?;
        self.approvals.deliver_result(approval.action, Err(GatewayError::Fault(fault)));
        Ok(())
    }

    /// The end of a command, if whoever asked for it still waits.
    fn register_waiter_if_awaited(&self, permit: &Permit) -> Option<FinishedCommandReceiver> {
        self.approvals
            .is_waited_for(permit.id())
            .then(|| self.register_command_waiter(permit))
            .flatten()
    }

    /// On whose behalf a question was asked.
    fn context_from_approval(&self, approval: &Approval) -> Result<RequestContext, GatewayError> {
        let missing = || GatewayError::ProjectNotFound(approval.project.to_string());
        let governance = self.governance.find_by_id(approval.project).ok_or_else(missing)?;
        Ok(RequestContext {
            principal: approval.principal.clone(),
            actor: approval.actor.clone(),
            project: governance.project.clone(),
            role: approval.role.clone(),
            session: approval.session,
            command: None,
        })
    }

    /// The daemon by itself, about a question.
    fn daemon_context(&self, approval: &Approval) -> Result<RequestContext, GatewayError> {
        Ok(RequestContext {
            principal: self.owner.principal.clone(),
            actor: provost_proto::Actor::Daemon,
            ..self.context_from_approval(approval)?
        })
    }
}

fn approval_resolved_error() -> GatewayError {
    GatewayError::Fault(ErrorInfo {
        code: Code::ApprovalResolved,
        message: "this question has been answered, has expired or has fallen away".to_owned(),
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
