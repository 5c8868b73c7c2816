//! Questions to people: asked, kept until they are resolved, answered once.
//!
//! What is pending is in the log; this is a copy. A question is resolved by an
//! append that demands that its document is still what it was, so of many
//! answers one counts, whoever is quickest.

mod always;
mod answer;
mod expire;
mod open;
mod resume;
mod unkept;

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

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

pub(crate) use open::Placed;

use crate::actions::{Behalf, events, repeated, requested};
use crate::execute::Ended;
use crate::governance::Governed;
use crate::kernels::Waiting;
use crate::later::Results;
use crate::{Caller, Gateway, GatewayError};

/// How an action ended, for whoever asked for it and waits.
pub(crate) type End = oneshot::Receiver<Result<Ended, GatewayError>>;

#[derive(Debug, Default)]
pub(crate) struct Approvals {
    pending: Mutex<BTreeMap<ApprovalId, Arc<Approval>>>,
    waiting: Mutex<HashMap<ActionId, oneshot::Sender<Result<Ended, GatewayError>>>>,
    /// Actions that the log cannot keep as they are, because they hold a secret.
    unkept: Mutex<HashMap<ActionId, Action>>,
    /// What came out of actions that nobody waited for.
    pub(crate) results: Results,
    /// There is a new question, so the next to expire may be another.
    changed: Notify,
}

impl Approvals {
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
        self.pending.lock().unwrap_or_else(PoisonError::into_inner).get(&id).cloned()
    }

    fn list(&self) -> Vec<Arc<Approval>> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }

    fn add(&self, approval: Approval) {
        let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        pending.insert(approval.id, Arc::new(approval));
        drop(pending);
        self.changed.notify_one();
    }

    fn remove(&self, id: ApprovalId) {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
    }

    fn expect(&self, action: ActionId) -> End {
        let (reply, end) = oneshot::channel();
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).insert(action, reply);
        end
    }

    /// Whether whoever asked still waits.
    fn is_waited_for(&self, action: ActionId) -> bool {
        let waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.get(&action).is_some_and(|reply| !reply.is_closed())
    }

    /// Tells whoever waits how it ended.
    fn end(&self, action: ActionId, ended: Result<Ended, GatewayError>) {
        self.unkept.lock().unwrap_or_else(PoisonError::into_inner).remove(&action);
        let reply = self.waiting.lock().unwrap_or_else(PoisonError::into_inner).remove(&action);
        // The request may have been answered with "it waits".
        let unheard = match reply {
            Some(reply) => reply.send(ended).err(),
            None => Some(ended),
        };
        if let Some(ended) = unheard {
            self.results.keep(action, &ended);
        }
    }
}

impl Gateway {
    /// Asks a person about an action. `facts` come before the question.
    pub(crate) async fn ask(
        &self,
        governed: &Governed,
        behalf: &Behalf,
        asking: UnapprovedAction,
        facts: Vec<Fact>,
    ) -> Result<Placed, GatewayError> {
        let question = self.question(governed, behalf.role.as_deref(), &asking).await?;
        self.put(behalf, asking.bound_action(), question, facts).await
    }

    /// Asks a person whether the role's file may govern; the action waits for it.
    pub(crate) async fn ask_for_trust(
        &self,
        governed: &Governed,
        behalf: &Behalf,
        matter: &BoundAction,
        trust: TrustPrompt,
    ) -> Result<Placed, GatewayError> {
        let question = self.question_of_trust(governed, matter, trust).await?;
        let facts = vec![requested(behalf, matter)];
        self.put(behalf, matter, question, facts).await
    }

    async fn put(
        &self,
        behalf: &Behalf,
        matter: &BoundAction,
        question: ApprovalPrompt,
        facts: Vec<Fact>,
    ) -> Result<Placed, GatewayError> {
        // With the turn in hand, so that many at once are not more than there may
        // be, and nothing is asked in a project that was closed just now.
        let _turn = self.turn().await?;
        let now = self.governance.of(behalf.project.id);
        if now.is_none_or(|now| now.project.status != ProjectStatus::Open) {
            return Err(GatewayError::ProjectClosed);
        }
        if let Some(open) = self.approvals.same(behalf, matter) {
            return Ok(Placed::Open(open));
        }
        self.approvals.room(behalf)?;
        let (id, asked) = self.asked(behalf, matter, question);
        let facts = facts.into_iter().chain(asked).collect();
        let command = behalf.command.clone();
        let append = AppendRequest { command, ..events(behalf, Durability::Synced, facts) };
        self.write_once(append).await?;
        // Before anyone can answer, and not if nothing is asked.
        let end = self.approvals.expect(matter.request().id);
        self.adopt_question(id, matter).await?;
        Ok(Placed::Asked(id, end))
    }

    /// The facts that ask.
    fn asked(
        &self,
        behalf: &Behalf,
        matter: &BoundAction,
        question: ApprovalPrompt,
    ) -> (ApprovalId, [Fact; 2]) {
        let approval: ApprovalId = self.clock.new_id();
        let request = matter.request();
        let patience = u64::try_from(self.places.approval_ttl.as_micros()).unwrap_or(u64::MAX);
        let asked = Fact::ApprovalAsked {
            approval,
            project: request.project,
            action: request.id,
            action_hash: matter.hash(),
            class: request.class,
            role: behalf.role.clone(),
            session: behalf.session,
            question: Box::new(question),
            expires_at: self.clock.now().saturating_add(patience),
        };
        (approval, [asked, Fact::ActionWaiting { action: request.id, approval }])
    }

    /// Takes a question that is in the log into the copy.
    async fn adopt_question(
        &self,
        id: ApprovalId,
        matter: &BoundAction,
    ) -> Result<(), GatewayError> {
        if let Some(action) = self.unkept(matter) {
            self.approvals.hold(matter.request().id, action);
        }
        let doc = self.store.get_document(ViewKind::Approvals, id.uuid()).await?;
        if let Some(approval) = doc.and_then(ViewDocument::into_approval) {
            self.approvals.add(approval);
        }
        Ok(())
    }

    /// Writes how a question was resolved, if it is still open.
    async fn resolve(
        &self,
        approval: &Approval,
        append: AppendRequest,
    ) -> Result<AppendOutcome, GatewayError> {
        let key = DocumentKey { view: ViewKind::Approvals, key: approval.id.uuid() };
        let unchanged = vec![(key, ViewDocument::Approval(Box::new(approval.clone())))];
        let done = self.append(AppendRequest { unchanged, ..append }).await;
        match done {
            Err(StoreError::DocumentChanged { .. }) => {
                self.approvals.remove(approval.id);
                Err(resolved())
            }
            Err(error) => Err(error.into()),
            // The key was used for something else: nothing is resolved by that.
            Ok(AppendOutcome::Replayed(_)) => Err(repeated()),
            Ok(fresh @ AppendOutcome::Appended(_)) => {
                self.approvals.remove(approval.id);
                Ok(fresh)
            }
        }
    }

    /// The questions of a project, or of all: the open ones, or all there were.
    pub async fn approvals(
        &self,
        project: Option<ProjectId>,
        all: bool,
    ) -> Result<Vec<Approval>, GatewayError> {
        let wanted = |approval: &Approval| project.is_none_or(|only| approval.project == only);
        if !all {
            // Who has seen in the log that something is asked finds it here: the list has
            // it before the turn of whoever asked ends.
            let _turn = self.turn().await?;
            let open = self.approvals.list();
            return Ok(open.iter().filter(|open| wanted(open)).map(|a| (**a).clone()).collect());
        }
        let docs = self.store.list_documents(ViewKind::Approvals).await?.into_iter();
        Ok(docs.filter_map(ViewDocument::into_approval).filter(wanted).collect())
    }

    /// One question, open or not.
    pub async fn approval(&self, id: &str) -> Result<Approval, GatewayError> {
        let missing = || GatewayError::Missing { what: "question", name: id.to_owned() };
        let parsed: ApprovalId = id.parse().map_err(|_| missing())?;
        let doc = self.store.get_document(ViewKind::Approvals, parsed.uuid()).await?;
        doc.and_then(ViewDocument::into_approval).ok_or_else(missing)
    }

    /// Takes a question back, because whoever asked no longer wants it.
    pub(crate) async fn withdraw(
        &self,
        caller: &Caller,
        id: ApprovalId,
    ) -> Result<bool, GatewayError> {
        let _turn = self.turn().await?;
        let Some(approval) = self.approvals.get(id) else { return Ok(false) };
        let why = "it was cancelled before anyone answered";
        let behalf = self.behalf_of(&approval)?;
        let behalf = Behalf {
            principal: caller.principal().to_owned(),
            actor: caller.actor().clone(),
            ..behalf
        };
        self.drop_question(&behalf, &approval, Code::Cancelled, why).await?;
        Ok(true)
    }

    /// Takes back what is asked in a project that is closed.
    pub(crate) async fn withdraw_all(&self, project: ProjectId) -> Result<(), GatewayError> {
        let _turn = self.turn().await?;
        for approval in self.approvals.list() {
            if approval.project == project {
                let behalf = self.daemon_for(&approval)?;
                let why = "the project was closed";
                self.drop_question(&behalf, &approval, Code::Cancelled, why).await?;
            }
        }
        Ok(())
    }

    async fn drop_question(
        &self,
        behalf: &Behalf,
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
        self.resolve(approval, events(behalf, Durability::Synced, facts)).await?;
        self.approvals.end(approval.action, Err(GatewayError::Fault(fault)));
        Ok(())
    }

    /// The end of a command, if whoever asked for it still waits.
    fn wait_for_asker(&self, permit: &Permit) -> Option<Waiting> {
        self.approvals.is_waited_for(permit.id()).then(|| self.wait_for(permit)).flatten()
    }

    /// On whose behalf a question was asked.
    fn behalf_of(&self, approval: &Approval) -> Result<Behalf, GatewayError> {
        let missing = || GatewayError::ProjectNotFound(approval.project.to_string());
        let governed = self.governance.of(approval.project).ok_or_else(missing)?;
        Ok(Behalf {
            principal: approval.principal.clone(),
            actor: approval.actor.clone(),
            project: governed.project.clone(),
            role: approval.role.clone(),
            session: approval.session,
            command: None,
        })
    }

    /// The daemon by itself, about a question.
    fn daemon_for(&self, approval: &Approval) -> Result<Behalf, GatewayError> {
        Ok(Behalf {
            principal: self.owner.principal.clone(),
            actor: provost_proto::Actor::Daemon,
            ..self.behalf_of(approval)?
        })
    }
}

fn resolved() -> GatewayError {
    GatewayError::Fault(ErrorInfo {
        code: Code::ApprovalResolved,
        message: "this question has been answered, has expired or has fallen away".to_owned(),
        details: None,
    })
}

fn mismatch() -> GatewayError {
    GatewayError::Fault(ErrorInfo {
        code: Code::HashMismatch,
        message: "what was shown is not what waits; look again before you answer".to_owned(),
        details: None,
    })
}
