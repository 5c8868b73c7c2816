//! The store and its agents, driven by requests.

use std::collections::BTreeSet;

use provost_notebook::agent::{
    AgentEffect, AgentEvent, ExecutionRequest, MonotonicMs, RuntimeAgent,
};
use provost_notebook::client_store::{ClientStore, CommandBatch, JournalMark, StoreChange};
use provost_notebook::position::position_between;
use provost_notebook::{NotebookDocumentKey, Refusal};
use provost_proto::notebook::{ClientSyncMessage, NotebookDocument, NotebookEvent};
use provost_proto::{Code, IdempotencyKey, NotebookId, RuntimeSessionId, StreamVersion};

use crate::decode::StoreMessage;
use crate::reply::{AgentOrder, AgentOrderKind, ChangedDocument, ClientReply, RequestError};
use crate::request::{ClientRequest, OpenRequest, read_request};

/// One notebook in a page.
#[derive(Debug, Default)]
pub struct NotebookClient {
    open: Option<OpenNotebook>,
}

#[derive(Debug)]
struct OpenNotebook {
    notebook: NotebookId,
    store: ClientStore,
    /// A few: one for each slot of the notebook at most.
    agents: Vec<(RuntimeSessionId, RuntimeAgent)>,
    is_live: bool,
    journaled: Vec<JournalMark>,
}

/// What a request leads to, before it is written.
#[derive(Default)]
struct RequestEffects {
    is_everything: bool,
    documents: BTreeSet<NotebookDocumentKey>,
    reply: ClientReply<'static>,
}

impl RequestEffects {
    fn add_change(&mut self, change: StoreChange) {
        self.is_everything |= change.is_everything;
        self.documents.extend(change.documents);
        self.reply.confirmed.extend(change.confirmed);
        self.reply.rejected.extend(change.rejected.into_iter().map(Into::into));
    }

    fn refuse(&mut self, code: Code, error: impl Into<String>) {
        self.reply.error = Some(RequestError { code, error: error.into() });
    }
}

impl NotebookClient {
    /// Carries out a request in JSON, and returns the reply in JSON.
    pub fn call(&mut self, request: &[u8]) -> Vec<u8> {
        let mut effects = RequestEffects::default();
        match read_request(request) {
            Ok((now, request)) => self.carry_out(now, request, &mut effects),
            Err(error) => {
                effects.refuse(Code::InvalidRequest, format!("malformed request: {error}"));
            }
        }
        let reply = match &mut self.open {
            Some(open) => open.complete(effects),
            None => effects.reply,
        };
        // All of it was read from JSON.
        serde_json::to_vec(&reply).unwrap_or_default()
    }

    fn carry_out(
        &mut self,
        now: MonotonicMs,
        request: ClientRequest,
        effects: &mut RequestEffects,
    ) {
        if let ClientRequest::Open(OpenRequest { notebook, principal, journal }) = request {
            let (store, change) = match journal {
                Some(journal) => ClientStore::restore(notebook, &principal, journal),
                None => (ClientStore::new(notebook, &principal), StoreChange::default()),
            };
            effects.add_change(change);
            effects.is_everything = true;
            self.open = Some(OpenNotebook::new(notebook, store));
            return;
        }
        match &mut self.open {
            Some(open) => open.carry_out(now, request, effects),
            None => effects.refuse(Code::InvalidRequest, "no notebook is open"),
        }
    }
}

impl OpenNotebook {
    const fn new(notebook: NotebookId, store: ClientStore) -> Self {
        Self { notebook, store, agents: Vec::new(), is_live: false, journaled: Vec::new() }
    }

    fn carry_out(
        &mut self,
        now: MonotonicMs,
        request: ClientRequest,
        effects: &mut RequestEffects,
    ) {
        match request {
            ClientRequest::Open(_) => {}
            ClientRequest::Connect => self.subscribe(effects),
            ClientRequest::Disconnect => {
                self.is_live = false;
                self.store.disconnected();
                self.step_agents(now, effects, || AgentEvent::Disconnected);
            }
            ClientRequest::Receive(message) => self.receive(now, message, effects),
            ClientRequest::Submit { id, commands } => {
                match self.store.submit(id, commands) {
                    Ok(change) => effects.add_change(change),
                    Err((_, Refusal { code, error })) => effects.refuse(code, error),
                }
                self.step_agents(now, effects, || AgentEvent::StateChanged);
            }
            ClientRequest::StartAgent(options) => {
                let session = options.session;
                self.agents.push((session, RuntimeAgent::new(options)));
                if self.is_live {
                    self.step_agent(session, now, AgentEvent::Connected, effects);
                }
            }
            ClientRequest::Report { session, report } => {
                self.step_agent(session, now, report.into(), effects);
            }
            ClientRequest::Tick => self.step_agents(now, effects, || AgentEvent::Tick),
            ClientRequest::Position { after, before } => {
                match position_between(after.as_deref(), before.as_deref()) {
                    Ok(position) => effects.reply.position = Some(position),
                    Err(error) => effects.refuse(Code::InvalidRequest, error.to_string()),
                }
            }
            ClientRequest::Hash => match self.store.state().hash() {
                Ok(hash) => effects.reply.hash = Some(hash),
                Err(error) => effects.refuse(Code::Internal, error.to_string()),
            },
        }
    }

    fn subscribe(&mut self, effects: &mut RequestEffects) {
        let (notebook, resume) = (self.notebook, self.store.resume_point());
        effects.reply.messages.push(ClientSyncMessage::Subscribe { notebook, resume });
    }

    /// Takes a message of the daemon. Those of other notebooks change nothing.
    fn receive(&mut self, now: MonotonicMs, message: StoreMessage, effects: &mut RequestEffects) {
        match message {
            StoreMessage::Snapshot { notebook, at, part, last, documents } => {
                if notebook == self.notebook {
                    effects.add_change(self.store.apply_snapshot(at, part, last, documents));
                    self.step_agents(now, effects, || AgentEvent::StateChanged);
                }
            }
            StoreMessage::Events { notebook, events } => {
                if notebook == self.notebook {
                    self.apply_events(now, &events, effects);
                }
            }
            StoreMessage::Live { notebook } => {
                if notebook == self.notebook {
                    self.is_live = true;
                    self.store.went_live();
                    self.step_agents(now, effects, || AgentEvent::Connected);
                }
            }
            StoreMessage::Accepted { id, version } => {
                effects.add_change(self.store.accepted(&id, version));
                self.step_agents(now, effects, || AgentEvent::Accepted(id.clone()));
            }
            StoreMessage::Refused { id, code, error, index, version } => {
                let refusal = Refusal { code, error };
                self.take_refusal(now, (id, index, version), &refusal, effects);
            }
            StoreMessage::LeaseRenewed { session, valid_ms } => {
                self.step_agent(session, now, AgentEvent::LeaseRenewed { valid_ms }, effects);
            }
            StoreMessage::Fenced { session, why } => {
                self.step_agent(session, now, AgentEvent::Fenced { why }, effects);
            }
            // The page takes it itself.
            StoreMessage::Other => {}
        }
    }

    fn apply_events(
        &mut self,
        now: MonotonicMs,
        events: &[NotebookEvent],
        effects: &mut RequestEffects,
    ) {
        let before = self.store.resume_point();
        if let Ok(change) = self.store.apply_events(events) {
            effects.add_change(change);
        } else {
            // What was applied before the gap is known only to the store: all is shown again.
            effects.is_everything |= before != self.store.resume_point();
            self.is_live = false;
            self.store.disconnected();
            self.subscribe(effects);
        }
        self.step_agents(now, effects, || AgentEvent::StateChanged);
    }

    fn take_refusal(
        &mut self,
        now: MonotonicMs,
        (id, index, version): (IdempotencyKey, u32, StreamVersion),
        refusal: &Refusal,
        effects: &mut RequestEffects,
    ) {
        let index = usize::try_from(index).unwrap_or(usize::MAX);
        effects.add_change(self.store.refused(&id, index, refusal.clone(), version));
        self.step_agents(now, effects, || AgentEvent::Refused {
            id: id.clone(),
            index,
            code: refusal.code,
            error: refusal.error.clone(),
        });
    }

    fn step_agents(
        &mut self,
        now: MonotonicMs,
        effects: &mut RequestEffects,
        event: impl Fn() -> AgentEvent,
    ) {
        let sessions: Vec<_> = self.agents.iter().map(|(session, _)| *session).collect();
        for session in sessions {
            self.step_agent(session, now, event(), effects);
        }
    }

    fn step_agent(
        &mut self,
        session: RuntimeSessionId,
        now: MonotonicMs,
        event: AgentEvent,
        effects: &mut RequestEffects,
    ) {
        let found = self.agents.iter_mut().find(|(id, _)| *id == session);
        let Some((_, agent)) = found else { return };
        for effect in agent.step(self.store.state(), now, event) {
            let order = match effect {
                AgentEffect::Send { id, commands } => {
                    let notebook = self.notebook;
                    let message = ClientSyncMessage::Commands { id, notebook, commands };
                    effects.reply.messages.push(message);
                    continue;
                }
                AgentEffect::RenewLease { session, fence } => {
                    let notebook = self.notebook;
                    let message = ClientSyncMessage::RenewLease { notebook, session, fence };
                    effects.reply.messages.push(message);
                    continue;
                }
                AgentEffect::Execute(request) => {
                    let ExecutionRequest { execution, cell, kind, count, source, is_resumed } =
                        request;
                    AgentOrderKind::Execute { execution, cell, kind, count, source, is_resumed }
                }
                AgentEffect::Interrupt(execution) => AgentOrderKind::Interrupt { execution },
                AgentEffect::Stopped { reason, why } => AgentOrderKind::Stopped { reason, why },
            };
            effects.reply.orders.push(AgentOrder { session, order });
        }
        if agent.is_stopped() {
            self.agents.retain(|(id, _)| *id != session);
        }
    }

    /// The reply, with what to send and the documents that changed.
    fn complete(&mut self, effects: RequestEffects) -> ClientReply<'_> {
        let RequestEffects { is_everything, documents, mut reply } = effects;
        while let Some(CommandBatch { id, commands }) = self.store.take_outgoing() {
            let notebook = self.notebook;
            reply.journaled.push(ClientSyncMessage::Commands { id, notebook, commands });
        }
        let marks: Vec<_> = self.store.journal_marks().collect();
        if marks != self.journaled {
            reply.journal = Some((!marks.is_empty()).then(|| self.store.journal()));
            self.journaled = marks;
        }
        reply.pending = self.journaled.len();
        reply.backlog = self.agents.iter().map(|(_, agent)| agent.backlog_bytes()).sum();
        reply.is_live = self.is_live;
        reply.is_everything = is_everything;
        let state = self.store.state();
        reply.documents = if is_everything {
            state.documents().map(|(key, document)| changed(*key, Some(document))).collect()
        } else {
            documents.into_iter().map(|key| changed(key, state.document(key))).collect()
        };
        reply
    }
}

fn changed(key: NotebookDocumentKey, document: Option<&NotebookDocument>) -> ChangedDocument<'_> {
    ChangedDocument { view: key.view, key: key.key, document }
}
