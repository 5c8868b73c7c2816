//! Actions from request to result: decided, approved where needed, executed, recorded.

mod action_queries;
mod log_quota;
mod read_actions;
mod repeated_denials;
mod submission;

use std::sync::Arc;
use std::time::Duration;

use provost_core::action::{Action, BadAction, ProcessAction};
use provost_core::decide::{ActingRole, ActionRequest, AllowedAction, BoundAction, Decision};
use provost_proto::kernel::ErrorInfo;
use provost_proto::{
    ActionId, ActionStatus, Code, Fact, Hash, ProjectId, ProjectStatus, SubmitActionRequest,
    TokenClass, limits,
};
use provost_store::{AppendRequest, Durability, StoreError};
use serde_json::Value;

pub use submission::{ActionSubmission, SubmissionOutcome};

use crate::audit_log::AuditLog;
use crate::event_log::EventLog;
use crate::project::approvals::{ActionDependencies, Approvals};
use crate::project::decisions::{Decisions, EvaluatedFiles, Evaluation};
use crate::project::executor::{ActionExecutor, RecordedAction, build_allowed_append};
use crate::project::governance::{Governance, ProjectGovernance};
use crate::project::request_context::{RequestContext, fault_from_denial};
use crate::project::sessions::Sessions;
use crate::{Caller, GatewayError, LogQuotaLimits};
use log_quota::{LogQuota, MalformedRecord};
use read_actions::is_read_action;
use repeated_denials::{DenialKind, DenialRecord, RepeatedDenials};
use submission::{await_approved_action, await_started_action};

/// Who chose the id of an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ActionIdOrigin {
    /// The requester, who may have told others.
    Given,
    /// It is new with this request.
    New,
}

/// Requests for actions.
#[derive(Debug)]
pub struct ActionService {
    log: Arc<EventLog>,
    audit: Arc<AuditLog>,
    governance: Arc<Governance>,
    decisions: Arc<Decisions>,
    executor: Arc<ActionExecutor>,
    approvals: Arc<Approvals>,
    sessions: Arc<Sessions>,
    quota: LogQuota,
    repeated_denials: RepeatedDenials,
}

impl ActionService {
    pub(crate) fn new(
        services: ActionDependencies,
        audit: Arc<AuditLog>,
        approvals: Arc<Approvals>,
        quota: LogQuotaLimits,
    ) -> Self {
        let ActionDependencies { log, governance, decisions, executor, sessions, .. } = services;
        let quota = LogQuota::new(quota);
        let repeated_denials = RepeatedDenials::default();
        Self {
            log,
            audit,
            governance,
            decisions,
            executor,
            approvals,
            sessions,
            quota,
            repeated_denials,
        }
    }

    /// Submits an action for a caller.
    pub async fn submit_action(
        &self,
        caller: &Caller,
        project: &str,
        submission: ActionSubmission,
    ) -> Result<SubmissionOutcome, GatewayError> {
        self.submit_unredacted(caller, project, submission)
            .await
            .map_err(|error| self.log.redact_error(error))
    }

    async fn submit_unredacted(
        &self,
        caller: &Caller,
        project: &str,
        submission: ActionSubmission,
    ) -> Result<SubmissionOutcome, GatewayError> {
        let missing = || GatewayError::ProjectNotFound(project.to_owned());
        let known = self.governance.find_by_name(project).ok_or_else(missing)?;
        caller.check_may_request(known.project.id)?;
        if known.project.status != ProjectStatus::Open {
            return Err(GatewayError::ProjectClosed);
        }
        let ActionSubmission { wanted, id, command, wait } = submission;
        let id_origin = if id.is_some() { ActionIdOrigin::Given } else { ActionIdOrigin::New };
        let id = id.unwrap_or_else(|| self.log.clock().new_id());
        let SubmitActionRequest { action: name, params, role, session_id } = wanted;
        let role = caller.resolve_role(role)?;
        if caller.class() == TokenClass::Agent {
            self.check_log_quota(caller, known.project.id, &params)?;
        }
        if let Some(session) = session_id {
            self.sessions.claim_session(session, caller.principal()).await?;
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
                let governance = self.governance.load_current(known.project.id).await?;
                let denied = self.deny_malformed(&governance, &context, id, &name, &error);
                return Box::pin(denied).await;
            }
            parsed => parsed?,
        };
        let bound_action = bind_action(ActionRequest {
            id,
            project: known.project.id,
            principal: context.principal.clone(),
            class: caller.class(),
            session: session_id,
            action,
        })
        .await?;
        // A person's own action depends on nothing that governs agents.
        let governance = if context.role.is_some() {
            self.governance.load_current(known.project.id).await?
        } else {
            known
        };
        if let Some(done) = self.try_read_fast(&governance, &context, &bound_action).await? {
            return Ok(done);
        }
        // Boxed, because this future is large and most actions are reads, which end above.
        let decided = self.decide_and_execute(&governance, context, bound_action, id_origin, wait);
        Box::pin(decided).await
    }

    /// Fails if an agent has written too much to the log.
    fn check_log_quota(
        &self,
        caller: &Caller,
        project: ProjectId,
        params: &Value,
    ) -> Result<(), GatewayError> {
        self.quota.check_log_size(self.log.store().size_bytes())?;
        let size = serialized_size(params);
        self.quota.charge(caller.principal(), project, size, self.log.now())
    }

    async fn decide_and_execute(
        &self,
        governance: &ProjectGovernance,
        context: RequestContext,
        bound_action: BoundAction,
        id_origin: ActionIdOrigin,
        wait: Duration,
    ) -> Result<SubmissionOutcome, GatewayError> {
        let (id, hash) = (bound_action.request().id, bound_action.hash());
        // Nobody knows the id of a request that is not recorded.
        let is_counted =
            id_origin == ActionIdOrigin::New && bound_action.request().class == TokenClass::Agent;
        let counted = is_counted.then_some(hash);
        let role = context.role.as_deref();
        if let Some(trust) = governance.find_untrusted_role(role) {
            let requested = self
                .approvals
                .request_trust_approval(governance, &context, &bound_action, trust)
                .await?;
            return await_approved_action(requested, id, hash, wait).await;
        }
        let requested = context.action_requested_fact(&bound_action);
        let Evaluation { decision, files } =
            self.decisions.evaluate(governance, role, bound_action).await?;
        match decision {
            Decision::Deny(denial) => {
                let fault = fault_from_denial(&denial);
                self.deny_request(&context, requested, id, fault, counted).await
            }
            Decision::RequireApproval(unapproved) => {
                let bound_action = unapproved.bound_action();
                let fault = self
                    .approvals
                    .preflight_action(governance, &context, bound_action, &files)
                    .await?;
                if let Some(fault) = fault {
                    return self.deny_request(&context, requested, id, fault, counted).await;
                }
                let requested = self
                    .approvals
                    .request_approval(governance, &context, &unapproved, &files, vec![requested])
                    .await?;
                await_approved_action(requested, id, hash, wait).await
            }
            Decision::Allow(allowed) => {
                if is_read_action(allowed.bound_action()) {
                    let repeat_key = allowed.bound_action().repeat_key();
                    self.decisions.record_repeat(&context.principal, repeat_key);
                    return self.execute_read(&context, allowed).await;
                }
                self.execute_allowed(governance, context, allowed, &files, requested, wait).await
            }
        }
    }

    /// Records an allowed action and runs it.
    async fn execute_allowed(
        &self,
        governance: &ProjectGovernance,
        context: RequestContext,
        allowed: AllowedAction,
        files: &EvaluatedFiles,
        requested: Fact,
        wait: Duration,
    ) -> Result<SubmissionOutcome, GatewayError> {
        let request = allowed.bound_action().request();
        let (id, hash) = (request.id, allowed.bound_action().hash());
        // A person who runs the project has seen what it runs.
        let is_person = context.role.is_none();
        let trusted = files.runtime_trusted_fact(governance).filter(|_| is_person);
        let facts = std::iter::once(requested).chain(trusted.clone()).collect();
        let append = build_allowed_append(&context, &allowed, facts);
        let durability = append.durability;
        // No answer of a person is used up, so the action may start before its record is on
        // disk; the client learns of nothing before it is.
        let command = context.command.clone();
        let append = AppendRequest { command, durability: Durability::Buffered, ..append };
        let recorded = self.log.append_once(append).await?;
        let synced = (durability == Durability::Synced).then(|| self.log.store().sync_all());
        let (reply, end) = tokio::sync::oneshot::channel();
        let executor = Arc::clone(&self.executor);
        let on_end = move |end| {
            // The client may have been answered that the action goes on, and ask later.
            if let Err(end) = reply.send(end) {
                executor.unclaimed_results.store_result(id, &end);
            }
        };
        let governance_facts: Vec<Fact> = trusted.into_iter().collect();
        let run = RecordedAction {
            context,
            allowed,
            governance_facts: &governance_facts,
            recorded: &recorded,
            is_awaited: true,
        };
        self.executor.start_recorded(run, on_end).await?;
        let outcome = await_started_action(&self.executor, end, id, hash, wait).await;
        if let Some(synced) = synced {
            synced.await?;
        }
        outcome
    }

    /// Denies a request. It is recorded, unless requests with the hash `counted` were denied
    /// before and it is one of many: see [`RepeatedDenials`].
    async fn deny_request(
        &self,
        context: &RequestContext,
        mut requested: Fact,
        id: ActionId,
        fault: ErrorInfo,
        counted: Option<Hash>,
    ) -> Result<SubmissionOutcome, GatewayError> {
        let Some(hash) = counted else {
            return self.record_denial(context, requested, id, fault).await;
        };
        let kind = DenialKind {
            action: hash,
            role: context.role.clone(),
            session: context.session,
            code: fault.code,
            message: fault.message.clone(),
        };
        let record = self.repeated_denials.count(kind, self.log.now());
        if record == DenialRecord::Counted {
            return Err(GatewayError::Fault(fault));
        }
        if let (Fact::ActionRequested { what, .. }, Some(notice)) =
            (&mut requested, record.notice())
        {
            what.push_str(&notice);
        }
        self.record_denial(context, requested, id, fault).await
    }

    /// Records that a request was denied.
    async fn record_denial(
        &self,
        context: &RequestContext,
        requested: Fact,
        action: ActionId,
        fault: ErrorInfo,
    ) -> Result<SubmissionOutcome, GatewayError> {
        let denied = Fact::ActionDenied { action, fault: fault.clone() };
        let append = context.build_append(Durability::Synced, vec![requested, denied]);
        self.log.append(append).await?;
        Err(GatewayError::Fault(fault))
    }

    /// Records an agent's request for something that is no action. An agent without a trusted
    /// role only learns that it lacks the skill.
    async fn deny_malformed(
        &self,
        governance: &ProjectGovernance,
        context: &RequestContext,
        id: ActionId,
        name: &str,
        error: &BadAction,
    ) -> Result<SubmissionOutcome, GatewayError> {
        let record = self.quota.count_malformed(&context.principal, self.log.now());
        let notice = match record {
            MalformedRecord::LastRecorded => {
                " (further requests of this kind are not recorded for a minute)"
            }
            MalformedRecord::Recorded | MalformedRecord::Counted => "",
        };
        let what: String =
            format!("something that is no action: {error}").chars().take(400).collect();
        let requested = Fact::ActionRequested {
            action: id,
            project: context.project.id,
            name: name.chars().take(limits::MAX_NAME_BYTES / 4).collect(),
            params: Value::Null,
            what: format!("{what}{notice}"),
            action_hash: Hash::ZERO,
            role: context.role.clone(),
            session: context.session,
        };
        let acting_role = governance.resolve_acting_role(context.role.as_deref());
        let (code, message) = if let ActingRole::Trusted(_) = acting_role {
            (Code::InvalidAction, error.to_string())
        } else {
            (Code::SkillDenied, "this token has no skill for that".to_owned())
        };
        let fault = ErrorInfo { code, message, details: None };
        if record == MalformedRecord::Counted {
            return Err(GatewayError::Fault(fault));
        }
        self.record_denial(context, requested, id, fault).await
    }

    /// Cancels an action. Returns whether there was anything to cancel.
    pub async fn cancel_action(&self, caller: &Caller, id: &str) -> Result<bool, GatewayError> {
        let action = self.get_action(id).await?;
        caller.check_may_request(action.project)?;
        if caller.principal() != action.principal && caller.class() != TokenClass::Operator {
            return Err(GatewayError::ActionNotFound(id.to_owned()));
        }
        if let (ActionStatus::Waiting, Some(approval)) = (action.status, action.approval) {
            return self.approvals.withdraw_approval(caller, approval).await;
        }
        self.executor.cancel(&action).await
    }
}

/// The shortest command line that is analyzed on a thread of its own: others must not wait for it.
const LONG_COMMAND_BYTES: usize = 1024;

/// Analyzes an action and binds it to its requester.
async fn bind_action(request: ActionRequest) -> Result<BoundAction, GatewayError> {
    let is_long = match &request.action {
        Action::Process(ProcessAction::RunCommand(run)) => {
            let words = run.argv.iter().flatten().chain(&run.command).map(String::len);
            words.sum::<usize>() >= LONG_COMMAND_BYTES
        }
        Action::File(_) | Action::Process(_) | Action::Runtime(_) => false,
    };
    let bound = if is_long {
        let analysis = tokio::task::spawn_blocking(move || BoundAction::new(request));
        analysis.await.map_err(|_| GatewayError::Stopping)?
    } else {
        BoundAction::new(request)
    };
    Ok(bound.map_err(StoreError::from)?)
}

/// The size of a value as JSON, in bytes, without building the text.
fn serialized_size(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 8,
        Value::String(text) => text.len() + 2,
        Value::Array(items) => items.iter().map(|item| serialized_size(item) + 1).sum(),
        Value::Object(members) => {
            members.iter().map(|(name, value)| name.len() + serialized_size(value) + 4).sum()
        }
    }
}
