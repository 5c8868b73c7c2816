//! The road of an action: asked, decided, carried out, recorded.

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

use crate::approvals::Placed;
use crate::execute::{Ended, profile};
use crate::governance::Governed;
use crate::look::is_look;
use crate::weigh::{acting, distrusted};
use crate::{Caller, Gateway, GatewayError};

/// A request for an action.
#[derive(Debug)]
pub struct Submit {
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
pub enum Done {
    /// It has ended; this came out.
    Finished(ActionResponse),
    /// It goes on, or waits for a person.
    Running(ActionResponse),
}

/// On whose behalf something is done, and where.
#[derive(Debug, Clone)]
pub(crate) struct Behalf {
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
    pub async fn submit(
        self: &Arc<Self>,
        caller: &Caller,
        project: &str,
        submit: Submit,
    ) -> Result<Done, GatewayError> {
        self.submitted(caller, project, submit).await.map_err(|error| self.without_secrets(error))
    }

    async fn submitted(
        self: &Arc<Self>,
        caller: &Caller,
        project: &str,
        submit: Submit,
    ) -> Result<Done, GatewayError> {
        let missing = || GatewayError::ProjectNotFound(project.to_owned());
        let known = self.governance.named(project).ok_or_else(missing)?;
        caller.may_ask(known.project.id)?;
        if known.project.status != ProjectStatus::Open {
            return Err(GatewayError::ProjectClosed);
        }
        let Submit { wanted, id, command, wait } = submit;
        let id = id.unwrap_or_else(|| self.clock.new_id());
        let SubmitActionRequest { action: name, params, role, session_id } = wanted;
        let role = caller.role_for(role)?;
        if let Some(session) = session_id {
            self.sessions.enter(session, caller.principal())?;
        }
        let behalf = Behalf {
            principal: caller.principal().to_owned(),
            actor: caller.actor().clone(),
            project: Arc::clone(&known.project),
            role,
            session: session_id,
            command,
        };
        let action = match Action::parse(&name, params) {
            Err(error) if caller.class() == TokenClass::Agent => {
                let governed = self.governed(known.project.id).await?;
                let denied = self.deny_nonsense(&governed, &behalf, (id, &name), &error);
                return Box::pin(denied).await;
            }
            parsed => parsed?,
        };
        let matter = BoundAction::new(Asked {
            id,
            project: known.project.id,
            principal: behalf.principal.clone(),
            class: caller.class(),
            session: session_id,
            action,
        })
        .map_err(StoreError::from)?;
        // A person's own action needs nothing that governs agents.
        let governed =
            if behalf.role.is_some() { self.governed(known.project.id).await? } else { known };
        if let Some(done) = self.glance(&governed, &behalf, &matter).await? {
            return Ok(done);
        }
        // What is waited for here is large, and mostly not needed: reads are most of it.
        Box::pin(self.go_on(&governed, behalf, matter, wait)).await
    }

    async fn go_on(
        self: &Arc<Self>,
        governed: &Governed,
        behalf: Behalf,
        matter: BoundAction,
        wait: Duration,
    ) -> Result<Done, GatewayError> {
        let (id, hash) = (matter.request().id, matter.hash());
        if let Some(trust) = distrusted(governed, behalf.role.as_deref()) {
            let asked = self.ask_for_trust(governed, &behalf, &matter, trust).await?;
            return self.wait_for_person(asked, (id, hash), wait).await;
        }
        let requested = requested(&behalf, &matter);
        // A person who runs the project has seen what it runs.
        let seen = match behalf.role {
            None => self.seen_by_person(governed, &matter).await?,
            Some(_) => None,
        };
        match self.weigh(governed, behalf.role.as_deref(), matter).await? {
            Decision::Deny(denied) => {
                let fault = refusal(&denied);
                let denied = Fact::ActionDenied { action: id, fault: fault.clone() };
                self.write(&behalf, Durability::Synced, vec![requested, denied]).await?;
                Err(GatewayError::Fault(fault))
            }
            Decision::RequireApproval(asking) => {
                if let Some(fault) =
                    self.fails_anyway(governed, &behalf, asking.bound_action()).await?
                {
                    let denied = Fact::ActionDenied { action: id, fault: fault.clone() };
                    self.write(&behalf, Durability::Synced, vec![requested, denied]).await?;
                    return Err(GatewayError::Fault(fault));
                }
                let facts = vec![requested];
                let asked = self.ask(governed, &behalf, asking, facts).await?;
                self.wait_for_person(asked, (id, hash), wait).await
            }
            Decision::Allow(allowed) => {
                self.remember(&behalf.principal, allowed.bound_action().repeat_key());
                if is_look(allowed.bound_action()) {
                    return self.look(&behalf, allowed).await;
                }
                let command = behalf.command.clone();
                // Nobody's answer is used up, so it may begin when it is in the log and
                // before that is on disk; whoever asked learns nothing before it is.
                let learned: Vec<Fact> = seen.into_iter().collect();
                let facts = std::iter::once(requested).chain(learned.clone()).collect();
                let append = allowing(&behalf, &allowed, facts);
                let sure = append.durability;
                let append = AppendRequest { command, durability: Durability::Buffered, ..append };
                let recorded = self.write_once(append).await?;
                self.learn(&learned).await?;
                let on_disk = (sure == Durability::Synced).then(|| self.store.sync_all());
                let permit = permit(allowed, &recorded)?;
                let done = self.carry_out(behalf, permit, wait).await;
                if let Some(on_disk) = on_disk {
                    on_disk.await?;
                }
                done
            }
        }
    }

    /// An agent asked for what is no action at all: the log says that it asked, and
    /// one without a role learns no more than that it has no skill.
    async fn deny_nonsense(
        &self,
        governed: &Governed,
        behalf: &Behalf,
        (id, name): (ActionId, &str),
        error: &BadAction,
    ) -> Result<Done, GatewayError> {
        let short: String = name.chars().take(limits::MAX_NAME_BYTES / 4).collect();
        let requested = Fact::ActionRequested {
            action: id,
            project: behalf.project.id,
            name: short,
            params: Value::Null,
            what: format!("something that is no action: {error}").chars().take(400).collect(),
            action_hash: Hash::ZERO,
            role: behalf.role.clone(),
            session: behalf.session,
        };
        let fault = if let ActingRole::Trusted(_) = acting(governed, behalf.role.as_deref()) {
            ErrorInfo { code: Code::InvalidAction, message: error.to_string(), details: None }
        } else {
            let message = "this token has no skill for that".to_owned();
            ErrorInfo { code: Code::SkillDenied, message, details: None }
        };
        let denied = Fact::ActionDenied { action: id, fault: fault.clone() };
        self.write(behalf, Durability::Synced, vec![requested, denied]).await?;
        Err(GatewayError::Fault(fault))
    }

    /// Uses a permit up. Goes on when the caller is gone.
    async fn carry_out(
        self: &Arc<Self>,
        behalf: Behalf,
        permit: Permit,
        wait: Duration,
    ) -> Result<Done, GatewayError> {
        let (id, hash) = (permit.id(), permit.hash());
        let gateway = Arc::clone(self);
        let waiting = self.wait_for(&permit);
        let (reply, work) = tokio::sync::oneshot::channel();
        tokio::spawn(async move {
            let ended = gateway.run(&behalf, permit, waiting).await;
            // Whoever asked may have been told that it goes on, and look later.
            if let Err(ended) = reply.send(ended) {
                gateway.approvals.results.keep(id, &ended);
            }
        });
        match timeout(wait, work).await {
            Err(_) => {
                // What it prints from here on is in the log, and need not be in memory.
                self.kernels.nobody_waits(id);
                Ok(Done::Running(answer(id, hash, ActionStatus::Running, None)))
            }
            Ok(Err(_)) => Err(GatewayError::Stopping),
            Ok(Ok(ended)) => Ok(done(id, hash, ended?)),
        }
    }

    /// Waits for a person's answer and for what comes of it, but not for ever.
    async fn wait_for_person(
        &self,
        placed: Placed,
        (id, hash): (ActionId, Hash),
        wait: Duration,
    ) -> Result<Done, GatewayError> {
        let (approval, end) = match placed {
            Placed::Asked(approval, end) => (approval, end),
            Placed::Open(open) => {
                let waiting = answer(open.action, open.action_hash, ActionStatus::Waiting, None);
                return Ok(Done::Running(ActionResponse { approval_id: Some(open.id), ..waiting }));
            }
        };
        match timeout(wait, end).await {
            Ok(Ok(ended)) => Ok(done(id, hash, ended?)),
            Ok(Err(_)) => Err(GatewayError::Stopping),
            Err(_) => {
                let waiting = answer(id, hash, ActionStatus::Waiting, None);
                Ok(Done::Running(ActionResponse { approval_id: Some(approval), ..waiting }))
            }
        }
    }

    pub(crate) async fn write(
        &self,
        behalf: &Behalf,
        sure: Durability,
        facts: Vec<Fact>,
    ) -> Result<(), GatewayError> {
        self.append(events(behalf, sure, facts)).await?;
        Ok(())
    }

    /// Writes what was decided, unless the same request was carried out before.
    pub(crate) async fn write_once(
        &self,
        append: AppendRequest,
    ) -> Result<AppendOutcome, GatewayError> {
        match self.append(append).await? {
            fresh @ AppendOutcome::Appended(_) => Ok(fresh),
            AppendOutcome::Replayed(_) => Err(repeated()),
        }
    }

    /// Stops an action. Tells whether there was anything to stop.
    pub async fn cancel(&self, caller: &Caller, id: &str) -> Result<bool, GatewayError> {
        let action = self.action(id).await?;
        caller.may_ask(action.project)?;
        if caller.principal() != action.principal && caller.class() != TokenClass::Operator {
            return Err(GatewayError::ActionNotFound(id.to_owned()));
        }
        if let (ActionStatus::Waiting, Some(approval)) = (action.status, action.approval) {
            return self.withdraw(caller, approval).await;
        }
        match self.kernels.connected(action.project) {
            Some(kernel) => kernel
                .cancel(action.id)
                .await
                .map_err(|error| GatewayError::Fault(crate::execute::fault(&error))),
            None => Ok(false),
        }
    }
}

/// Someone asks for this.
pub(crate) fn requested(behalf: &Behalf, matter: &BoundAction) -> Fact {
    let request = matter.request();
    Fact::ActionRequested {
        action: request.id,
        project: request.project,
        name: request.action.name().to_owned(),
        params: request.action.params(),
        what: request.action.describe(),
        action_hash: matter.hash(),
        role: behalf.role.clone(),
        session: behalf.session,
    }
}

/// What must be in the log before this may run, and for whoever used up an answer
/// on disk too.
pub(crate) fn allowing(
    behalf: &Behalf,
    allowed: &AllowedAction,
    mut facts: Vec<Fact>,
) -> AppendRequest {
    let effect = allowed.bound_action().request().action.kind();
    facts.push(allowed.fact(profile(allowed.bound_action())));
    // What changes the world is not answered before the disk knows of it.
    let durability = match effect {
        ActionKind::Read | ActionKind::Process => Durability::Buffered,
        ActionKind::Write | ActionKind::Run | ActionKind::Start => Durability::Synced,
    };
    events(behalf, durability, facts)
}

/// The permit, given that the log says so.
pub(crate) fn permit(
    allowed: AllowedAction,
    recorded: &AppendOutcome,
) -> Result<Permit, GatewayError> {
    let last = recorded.events().last().ok_or(GatewayError::Stopping)?;
    Permit::from_recorded(allowed, &last.decode_event()?).map_err(|_| GatewayError::Stopping)
}

pub(crate) fn events(behalf: &Behalf, durability: Durability, facts: Vec<Fact>) -> AppendRequest {
    let stream = Stream::Project(behalf.project.id);
    AppendRequest {
        principal: behalf.principal.clone(),
        actor: behalf.actor.clone(),
        command: None,
        expect: Vec::new(),
        unchanged: Vec::new(),
        durability,
        events: facts.into_iter().map(|fact| NewEvent { stream, fact, cause: None }).collect(),
    }
}

pub(crate) fn answer(
    id: ActionId,
    hash: Hash,
    status: ActionStatus,
    result: Option<RawJson>,
) -> ActionResponse {
    ActionResponse { action_id: id, action_hash: hash, status, approval_id: None, result }
}

fn done(id: ActionId, hash: Hash, ended: Ended) -> Done {
    match ended {
        Ended::Now(value) => Done::Finished(answer(id, hash, ActionStatus::Finished, Some(value))),
        Ended::GoesOn(value) => Done::Running(answer(id, hash, ActionStatus::Running, Some(value))),
    }
}

/// The same idempotency key came before.
pub(crate) fn repeated() -> GatewayError {
    let message = "this request was carried out before; see its action in the log".to_owned();
    GatewayError::Fault(ErrorInfo { code: Code::Conflict, message, details: None })
}

pub(crate) fn refusal(denied: &Denial) -> ErrorInfo {
    let details = (!denied.rules.is_empty()).then(|| json!({ "rules": denied.rules }));
    ErrorInfo { code: denied.code, message: denied.why.clone(), details }
}
