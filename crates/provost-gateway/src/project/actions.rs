//! The road of an action: asked, decided, carried out, recorded.

pub(crate) mod read_actions;
pub(crate) mod results;

use std::sync::Arc;
use std::time::Duration;

use provost_core::action::{Action, ActionKind, BadAction};
use provost_core::decide::{
    ActingRole, ActionRequest as Asked, AllowedAction, BoundAction, Decision, Denial,
};
use provost_core::permit::Permit;
use provost_proto::kernel::ErrorInfo;
use provost_proto::{
    ActionId, ActionResponse, ActionStatus, Code, Fact, Hash, Project, ProjectStatus, RawJson,
    SessionId, Stream, SubmitActionRequest, TokenClass, limits,
};
use provost_store::{AppendOutcome, AppendRequest, Durability, Idempotency, NewEvent, StoreError};
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::project::actions::read_actions::is_read_action;
use crate::project::approvals::ApprovalRequestOutcome;
use crate::project::decisions::{find_untrusted_role, resolve_acting_role};
use crate::project::executor::{ExecutionResult, select_sandbox_profile};
use crate::project::governance::ProjectGovernance;
use crate::{Caller, Gateway, GatewayError};

/// A request for an action.
#[derive(Debug)]
pub struct ActionSubmission {
    /// What is asked for.
    pub wanted: SubmitActionRequest,
    /// The name that the action is to have, if the asker wrote it down before.
    pub id: Option<ActionId>,
    /// The client's idempotency key.
    pub command: Option<Idempotency>,
    /// How long to wait for the end before answering that it goes on.
    pub wait: Duration,
}

/// What a request for an action came to.
#[derive(Debug)]
pub enum SubmissionOutcome {
    /// It has ended; this came out.
    Finished(ActionResponse),
    /// It goes on, or waits for a person.
    Running(ActionResponse),
}

/// On whose behalf something is done, and where.
#[derive(Debug, Clone)]
pub(crate) struct RequestContext {
    pub(crate) principal: String,
    pub(crate) actor: provost_proto::Actor,
    pub(crate) project: Arc<Project>,
    pub(crate) role: Option<String>,
    pub(crate) session: Option<SessionId>,
    /// The client's idempotency key, for the first that is written.
    pub(crate) command: Option<Idempotency>,
}

impl Gateway {
    /// Asks for an action on behalf of a caller.
    pub async fn submit_action(
        self: &Arc<Self>,
        caller: &Caller,
        project: &str,
        submit: ActionSubmission,
    ) -> Result<SubmissionOutcome, GatewayError> {
        self.submit_unredacted(caller, project, submit)
            .await
            .map_err(|error| self.redact_error(error))
    }

    async fn submit_unredacted(
        self: &Arc<Self>,
        caller: &Caller,
        project: &str,
        submit: ActionSubmission,
    ) -> Result<SubmissionOutcome, GatewayError> {
        let missing = || GatewayError::ProjectNotFound(project.to_owned());
        let known = self.governance.find_by_name(project).ok_or_else(missing)?;
        caller.check_may_request(known.project.id)?;
        if known.project.status != ProjectStatus::Open {
            return Err(GatewayError::ProjectClosed);
        }
        let ActionSubmission { wanted, id, command, wait } = submit;
        let id = id.unwrap_or_else(|| self.clock.new_id());
        let SubmitActionRequest { action: name, params, role, session_id } = wanted;
        let role = caller.resolve_role(role)?;
        if let Some(session) = session_id {
            self.sessions.claim_session(session, caller.principal())?;
        }
        let context = RequestContext {
            principal: caller.principal().to_owned(),
            actor: caller.actor().clone(),
            project: Arc::clone(&known.project),
            role,
            session: session_id,
            command,
        };
        let action = match Action::parse(&name, params) {
            Err(error) if caller.class() == TokenClass::Agent => {
                let governance = self.load_governance(known.project.id).await?;
                let denied = self.deny_malformed(&governance, &context, (id, &name), &error);
                return Box::pin(denied).await;
            }
            parsed => parsed?,
        };
        let bound_action = BoundAction::new(Asked {
            id,
            project: known.project.id,
            principal: context.principal.clone(),
            class: caller.class(),
            session: session_id,
            action,
        })
        .map_err(StoreError::from)?;
        // A person's own action needs nothing that governs agents.
        let governance = if context.role.is_some() {
            self.load_governance(known.project.id).await?
        } else {
            known
        };
        if let Some(done) = self.try_read_fast(&governance, &context, &bound_action).await? {
            return Ok(done);
        }
        // What is waited for here is large, and mostly not needed: reads are most of it.
        Box::pin(self.decide_and_execute(&governance, context, bound_action, wait)).await
    }

    async fn decide_and_execute(
        self: &Arc<Self>,
        governance: &ProjectGovernance,
        context: RequestContext,
        bound_action: BoundAction,
        wait: Duration,
    ) -> Result<SubmissionOutcome, GatewayError> {
        let (id, hash) = (bound_action.request().id, bound_action.hash());
        if let Some(trust) = find_untrusted_role(governance, context.role.as_deref()) {
            let asked =
                self.request_trust_approval(governance, &context, &bound_action, trust).await?;
            return self.await_approval(asked, (id, hash), wait).await;
        }
        let requested = action_requested_fact(&context, &bound_action);
        // A person who runs the project has seen what it runs.
        let seen = match context.role {
            None => self.runtime_trusted_fact(governance, &bound_action).await?,
            Some(_) => None,
        };
        match self.evaluate(governance, context.role.as_deref(), bound_action).await? {
            Decision::Deny(denied) => {
                let fault = fault_from_denial(&denied);
                let denied = Fact::ActionDenied { action: id, fault: fault.clone() };
                self.append_facts(&context, Durability::Synced, vec![requested, denied]).await?;
                Err(GatewayError::Fault(fault))
            }
            Decision::RequireApproval(unapproved) => {
                if let Some(fault) =
                    self.preflight_edit(governance, &context, unapproved.bound_action()).await?
                {
                    let denied = Fact::ActionDenied { action: id, fault: fault.clone() };
                    self.append_facts(&context, Durability::Synced, vec![requested, denied])
                        .await?;
                    return Err(GatewayError::Fault(fault));
                }
                let facts = vec![requested];
                let asked = self.request_approval(governance, &context, unapproved, facts).await?;
                self.await_approval(asked, (id, hash), wait).await
            }
            Decision::Allow(allowed) => {
                self.count_repeat(&context.principal, allowed.bound_action().repeat_key());
                if is_read_action(allowed.bound_action()) {
                    return self.execute_read(&context, allowed).await;
                }
                let command = context.command.clone();
                // Nobody's answer is used up, so it may begin when it is in the log and
                // before that is on disk; whoever asked learns nothing before it is.
                let governance_facts: Vec<Fact> = seen.into_iter().collect();
                let facts = std::iter::once(requested).chain(governance_facts.clone()).collect();
                let append = build_allowed_append(&context, &allowed, facts);
                let sure = append.durability;
                let append = AppendRequest { command, durability: Durability::Buffered, ..append };
                let recorded = self.append_once(append).await?;
                self.apply_governance_facts(&governance_facts).await?;
                let on_disk = (sure == Durability::Synced).then(|| self.store.sync_all());
                let permit = issue_permit(allowed, &recorded)?;
                let done = self.spawn_permitted_action(context, permit, wait).await;
                if let Some(on_disk) = on_disk {
                    on_disk.await?;
                }
                done
            }
        }
    }

    /// An agent asked for what is no action at all: the log says that it asked, and
    /// one without a role learns no more than that it has no skill.
    async fn deny_malformed(
        &self,
        governance: &ProjectGovernance,
        context: &RequestContext,
        (id, name): (ActionId, &str),
        error: &BadAction,
    ) -> Result<SubmissionOutcome, GatewayError> {
        let short: String = name.chars().take(limits::MAX_NAME_BYTES / 4).collect();
        let requested = Fact::ActionRequested {
            action: id,
            project: context.project.id,
            name: short,
            params: Value::Null,
            what: format!("something that is no action: {error}").chars().take(400).collect(),
            action_hash: Hash::ZERO,
            role: context.role.clone(),
            session: context.session,
        };
        let fault = if let ActingRole::Trusted(_) =
            resolve_acting_role(governance, context.role.as_deref())
        {
            ErrorInfo { code: Code::InvalidAction, message: error.to_string(), details: None }
        } else {
            let message = "this token has no skill for that".to_owned();
            ErrorInfo { code: Code::SkillDenied, message, details: None }
        };
        let denied = Fact::ActionDenied { action: id, fault: fault.clone() };
        self.append_facts(context, Durability::Synced, vec![requested, denied]).await?;
        Err(GatewayError::Fault(fault))
    }

    /// Uses a permit up. Goes on when the caller is gone.
    async fn spawn_permitted_action(
        self: &Arc<Self>,
        context: RequestContext,
        permit: Permit,
        wait: Duration,
    ) -> Result<SubmissionOutcome, GatewayError> {
        let (id, hash) = (permit.id(), permit.hash());
        let gateway = Arc::clone(self);
        let waiting = self.register_command_waiter(&permit);
        let (reply, work) = tokio::sync::oneshot::channel();
        tokio::spawn(async move {
            let ended = gateway.run_permitted_action(&context, permit, waiting).await;
            // Whoever asked may have been told that it goes on, and look later.
            if let Err(ended) = reply.send(ended) {
                gateway.approvals.results.store_result(id, &ended);
            }
        });
        match timeout(wait, work).await {
            Err(_) => {
                // What it prints from here on is in the log, and need not be in memory.
                self.kernels.remove_waiter(id);
                Ok(SubmissionOutcome::Running(build_action_response(
                    id,
                    hash,
                    ActionStatus::Running,
                    None,
                )))
            }
            Ok(Err(_)) => Err(GatewayError::Stopping),
            Ok(Ok(ended)) => Ok(build_submission_outcome(id, hash, ended?)),
        }
    }

    /// Waits for a person's answer and for what comes of it, but not for ever.
    async fn await_approval(
        &self,
        placed: ApprovalRequestOutcome,
        (id, hash): (ActionId, Hash),
        wait: Duration,
    ) -> Result<SubmissionOutcome, GatewayError> {
        let (approval, end) = match placed {
            ApprovalRequestOutcome::Created(approval, end) => (approval, end),
            ApprovalRequestOutcome::AlreadyPending(open) => {
                let waiting = build_action_response(
                    open.action,
                    open.action_hash,
                    ActionStatus::Waiting,
                    None,
                );
                return Ok(SubmissionOutcome::Running(ActionResponse {
                    approval_id: Some(open.id),
                    ..waiting
                }));
            }
        };
        match timeout(wait, end).await {
            Ok(Ok(ended)) => Ok(build_submission_outcome(id, hash, ended?)),
            Ok(Err(_)) => Err(GatewayError::Stopping),
            Err(_) => {
                let waiting = build_action_response(id, hash, ActionStatus::Waiting, None);
                Ok(SubmissionOutcome::Running(ActionResponse {
                    approval_id: Some(approval),
                    ..waiting
                }))
            }
        }
    }

    pub(crate) async fn append_facts(
        &self,
        context: &RequestContext,
        sure: Durability,
        facts: Vec<Fact>,
    ) -> Result<(), GatewayError> {
        self.append_redacted(build_append(context, sure, facts)).await?;
        Ok(())
    }

    /// Writes what was decided, unless the same request was carried out before.
    pub(crate) async fn append_once(
        &self,
        append: AppendRequest,
    ) -> Result<AppendOutcome, GatewayError> {
        match self.append_redacted(append).await? {
            fresh @ AppendOutcome::Appended(_) => Ok(fresh),
            AppendOutcome::Replayed(_) => Err(repeated_request_error()),
        }
    }

    /// Stops an action. Tells whether there was anything to stop.
    pub async fn cancel_action(&self, caller: &Caller, id: &str) -> Result<bool, GatewayError> {
        let action = self.get_action(id).await?;
        caller.check_may_request(action.project)?;
        if caller.principal() != action.principal && caller.class() != TokenClass::Operator {
            return Err(GatewayError::ActionNotFound(id.to_owned()));
        }
        if let (ActionStatus::Waiting, Some(approval)) = (action.status, action.approval) {
            return self.withdraw_approval(caller, approval).await;
        }
        match self.kernels.connected(action.project) {
            Some(kernel) => kernel.cancel(action.id).await.map_err(|error| {
                GatewayError::Fault(crate::project::executor::fault_from_kernel_error(&error))
            }),
            None => Ok(false),
        }
    }
}

/// Someone asks for this.
pub(crate) fn action_requested_fact(context: &RequestContext, bound_action: &BoundAction) -> Fact {
    let request = bound_action.request();
    Fact::ActionRequested {
        action: request.id,
        project: request.project,
        name: request.action.name().to_owned(),
        params: request.action.params(),
        what: request.action.describe(),
        action_hash: bound_action.hash(),
        role: context.role.clone(),
        session: context.session,
    }
}

/// What must be in the log before this may run, and for whoever used up an answer
/// on disk too.
pub(crate) fn build_allowed_append(
    context: &RequestContext,
    allowed: &AllowedAction,
    mut facts: Vec<Fact>,
) -> AppendRequest {
    let effect = allowed.bound_action().request().action.kind();
    facts.push(allowed.fact(select_sandbox_profile(allowed.bound_action())));
    // What changes the world is not answered before the disk knows of it.
    let durability = match effect {
        ActionKind::Read | ActionKind::Process => Durability::Buffered,
        ActionKind::Write | ActionKind::Run | ActionKind::Start => Durability::Synced,
    };
    build_append(context, durability, facts)
}

/// The permit, given that the log says so.
pub(crate) fn issue_permit(
    allowed: AllowedAction,
    recorded: &AppendOutcome,
) -> Result<Permit, GatewayError> {
    let last = recorded.events().last().ok_or(GatewayError::Stopping)?;
    Permit::from_recorded(allowed, &last.decode_event()?).map_err(|_| GatewayError::Stopping)
}

pub(crate) fn build_append(
    context: &RequestContext,
    durability: Durability,
    facts: Vec<Fact>,
) -> AppendRequest {
    let stream = Stream::Project(context.project.id);
    AppendRequest {
        principal: context.principal.clone(),
        actor: context.actor.clone(),
        command: None,
        expect: Vec::new(),
        unchanged: Vec::new(),
        durability,
        events: facts.into_iter().map(|fact| NewEvent { stream, fact, cause: None }).collect(),
    }
}

pub(crate) fn build_action_response(
    id: ActionId,
    hash: Hash,
    status: ActionStatus,
    result: Option<RawJson>,
) -> ActionResponse {
    ActionResponse { action_id: id, action_hash: hash, status, approval_id: None, result }
}

fn build_submission_outcome(id: ActionId, hash: Hash, ended: ExecutionResult) -> SubmissionOutcome {
    match ended {
        ExecutionResult::Finished(value) => SubmissionOutcome::Finished(build_action_response(
            id,
            hash,
            ActionStatus::Finished,
            Some(value),
        )),
        ExecutionResult::Running(value) => SubmissionOutcome::Running(build_action_response(
            id,
            hash,
            ActionStatus::Running,
            Some(value),
        )),
    }
}

/// The same idempotency key came before.
pub(crate) fn repeated_request_error() -> GatewayError {
    let message = "this request was carried out before; see its action in the log".to_owned();
    GatewayError::Fault(ErrorInfo { code: Code::Conflict, message, details: None })
}

pub(crate) fn fault_from_denial(denied: &Denial) -> ErrorInfo {
    let details = (!denied.rules.is_empty()).then(|| json!({ "rules": denied.rules }));
    ErrorInfo { code: denied.code, message: denied.why.clone(), details }
}
