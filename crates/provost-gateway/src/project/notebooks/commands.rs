//! Applying commands: decide, append, and take over what the log made of it.

use std::collections::HashSet;

use provost_core::hash_chain;
use provost_notebook::{
    CommandContext, CommandRights, Refusal, affected_documents, decide_all, mentioned_documents,
};
use provost_proto::kernel::ErrorInfo;
use provost_proto::notebook::{NotebookCommand, NotebookFact, RuntimeEndReason};
use provost_proto::{
    Actor, Code, Hash, IdempotencyKey, NotebookId, Principal, RuntimeSessionId, Stream,
    StreamVersion, limits,
};
use provost_store::{
    AppendOutcome, AppendRequest, Durability, Idempotency, NewEvent, RecordedEvent, StoreError,
};
use tokio::sync::mpsc;

use super::connections::RuntimeOrder;
use super::facts::{SessionChange, durability, session_change};
use super::loaded::LoadedNotebook;
use super::runtime_actor::find_actor;
use super::{NotebookService, not_found};
use crate::GatewayError;
use crate::caller::{NotebookAccess, NotebookRights};

/// How often to decide again when somebody else appended meanwhile. Only a second daemon could.
const MAX_CONFLICT_RETRIES: usize = 8;

/// Commands for a notebook, which are applied together or not at all.
#[derive(Debug)]
pub struct NotebookCommands {
    /// The notebook.
    pub notebook: NotebookId,
    /// The commands.
    pub commands: Vec<NotebookCommand>,
    /// The idempotency key, if there is one.
    pub key: Option<IdempotencyKey>,
    /// The connection that they came over, if it is one that stays.
    pub connection: Option<u64>,
}

/// Why commands were not applied.
#[derive(Debug, Clone, thiserror::Error)]
pub enum CommandsError {
    /// One of them was refused.
    #[error("{}", .refusal.error)]
    Refused {
        /// Its index.
        index: usize,
        /// Why.
        refusal: Refusal,
        /// The version of the notebook.
        version: StreamVersion,
    },
    /// They could not be decided or recorded.
    #[error(transparent)]
    Failed(#[from] GatewayError),
}

impl From<StoreError> for CommandsError {
    fn from(error: StoreError) -> Self {
        Self::Failed(error.into())
    }
}

/// Who appends to a notebook.
#[derive(Debug, Clone)]
struct CommandSender {
    principal: Principal,
    actor: Actor,
    rights: CommandRights,
}

/// Input on its way to a runtime, with room for it.
type ReservedInput = (mpsc::OwnedPermit<RuntimeOrder>, RuntimeOrder);

impl NotebookService {
    /// Applies commands; returns the version of their last event, or that of the notebook if
    /// there was nothing to change. Commands that are sent again under their key are applied once.
    pub async fn apply_commands(
        &self,
        access: &NotebookAccess,
        request: NotebookCommands,
    ) -> Result<StreamVersion, CommandsError> {
        let rights = match access.rights() {
            NotebookRights::Runtime(_) => CommandRights::Runtime,
            NotebookRights::Edit | NotebookRights::Read => {
                access.require_edit()?;
                CommandRights::Edit
            }
        };
        check_request(&request)?;
        let id = request.notebook;
        let (principal, actor) = (access.principal().to_owned(), access.actor().clone());
        let sender = CommandSender { principal, actor, rights };
        let command = match &request.key {
            Some(key) => Some(Idempotency { key: key.clone(), request: hash_commands(&request)? }),
            None => None,
        };
        let entry = self.cache.entry(id);
        let mut held = entry.lock().await;
        for _ in 0..MAX_CONFLICT_RETRIES {
            // Taken out while it is changed: if this is cancelled, the next one reads it anew.
            let mut loaded = match held.take() {
                Some(loaded) => loaded,
                None => LoadedNotebook::read(&self.log, id).await?,
            };
            let notebook = loaded.notebook()?;
            if !access.may_see(id, notebook.project) {
                *held = Some(loaded);
                return Err(not_found(id).into());
            }
            if request.commands.iter().any(needs_open_project) {
                self.require_open_project(notebook.project).await?;
            }
            let mentioned =
                request.commands.iter().flat_map(|command| mentioned_documents(id, command));
            loaded.read_further(&self.log, mentioned).await?;
            match self.decide_and_append(&mut loaded, &sender, &request, command.as_ref()).await {
                Err(CommandsError::Failed(GatewayError::Store(StoreError::Conflict {
                    ..
                }))) => {}
                Ok(Applied::Now(version)) => {
                    *held = Some(loaded);
                    return Ok(version);
                }
                // What was decided is not what the log holds.
                Ok(Applied::Before(version)) => return Ok(version),
                Err(error @ CommandsError::Refused { .. }) => {
                    *held = Some(loaded);
                    return Err(error);
                }
                Err(error @ CommandsError::Failed(_)) => return Err(error),
            }
        }
        let stream = Stream::Notebook(id);
        Err(StoreError::Conflict { stream, expected: 0, actual: 0 }.into())
    }

    async fn decide_and_append(
        &self,
        loaded: &mut LoadedNotebook,
        sender: &CommandSender,
        request: &NotebookCommands,
        command: Option<&Idempotency>,
    ) -> Result<Applied, CommandsError> {
        let version = loaded.at.version;
        let inputs = self.reserve_inputs(loaded, &request.commands);
        let actor =
            find_actor(&loaded.state, &request.commands).unwrap_or_else(|| sender.actor.clone());
        let context = CommandContext {
            principal: &sender.principal,
            rights: sender.rights,
            at: self.log.now(),
        };
        let decided = decide_all(&mut loaded.state, &context, &request.commands);
        if !matches!(&decided, Ok(facts) if !facts.is_empty())
            && let Some(command) = command
            && let Some(before) = self.find_applied(&sender.principal, command).await?
        {
            // It would be refused now because it was applied before.
            return Ok(Applied::Before(before));
        }
        let facts = decided.map_err(|(index, refusal)| CommandsError::Refused {
            index,
            refusal,
            version,
        })?;
        let inputs =
            inputs.map_err(|(index, refusal)| CommandsError::Refused { index, refusal, version });
        let inputs = match inputs {
            Ok(inputs) => inputs,
            Err(refused) => {
                // The decision is not applied after all.
                *loaded = LoadedNotebook::read(&self.log, request.notebook).await?;
                return Err(refused);
            }
        };
        if facts.is_empty() {
            return Ok(Applied::Now(version));
        }
        let sender = CommandSender { actor, ..sender.clone() };
        let applied =
            self.append_facts(loaded, &sender, facts, command.cloned(), request.connection).await?;
        if let Applied::Now(_) = applied {
            for (room, input) in inputs {
                drop(room.send(input));
            }
        }
        Ok(applied)
    }

    /// Appends decided facts, which are applied in memory already, and takes over the documents
    /// that the log made of them.
    async fn append_facts(
        &self,
        loaded: &mut LoadedNotebook,
        sender: &CommandSender,
        facts: Vec<NotebookFact>,
        command: Option<Idempotency>,
        connection: Option<u64>,
    ) -> Result<Applied, CommandsError> {
        let id = loaded.state.id();
        let stream = Stream::Notebook(id);
        let changed: HashSet<_> =
            facts.iter().flat_map(|fact| affected_documents(fact).into_iter().flatten()).collect();
        let sessions: Vec<_> = facts.iter().filter_map(session_change).collect();
        let durability = facts.iter().map(durability).max().unwrap_or(Durability::Buffered);
        let n_events = u64::try_from(facts.len()).unwrap_or(u64::MAX);
        let append = AppendRequest {
            principal: sender.principal.clone(),
            actor: sender.actor.clone(),
            command,
            expect: vec![(stream, loaded.at.version)],
            unchanged: Vec::new(),
            durability,
            events: facts
                .into_iter()
                .map(|fact| NewEvent { stream, fact: fact.into(), cause: None })
                .collect(),
        };
        let events = match self.log.append(append).await? {
            AppendOutcome::Appended(events) => events,
            AppendOutcome::Replayed(events) => return Ok(Applied::Before(last_version(&events)?)),
        };
        loaded.at.version += n_events;
        if let Some(last) = events.last() {
            loaded.at.hash = last.hash;
        }
        for change in sessions {
            self.follow_session(id, change, connection);
        }
        loaded.refresh(&self.log, changed).await?;
        Ok(Applied::Now(loaded.at.version))
    }

    /// Records that an artifact was stored.
    pub(super) async fn append_artifact(
        &self,
        access: &NotebookAccess,
        id: NotebookId,
        fact: NotebookFact,
    ) -> Result<(), GatewayError> {
        let (principal, actor) = (access.principal().to_owned(), access.actor().clone());
        let sender = CommandSender { principal, actor, rights: CommandRights::Daemon };
        let entry = self.cache.entry(id);
        let mut held = entry.lock().await;
        let mut loaded = match held.take() {
            Some(loaded) => loaded,
            None => LoadedNotebook::read(&self.log, id).await?,
        };
        match self.append_facts(&mut loaded, &sender, vec![fact], None, None).await {
            Ok(_) => *held = Some(loaded),
            Err(CommandsError::Failed(error)) => return Err(error),
            Err(CommandsError::Refused { refusal, .. }) => return Err(refusal_error(refusal)),
        }
        Ok(())
    }

    /// Grants and ends leases with what happens to sessions.
    fn follow_session(&self, id: NotebookId, change: SessionChange, connection: Option<u64>) {
        match change {
            SessionChange::Started(session) => self.leases.grant(id, session, connection),
            SessionChange::Ended { session, why } => {
                let lease = self.leases.remove(session);
                let connection = lease.and_then(|lease| lease.connection);
                if let Some(room) = connection.and_then(|id| self.connections.reserve_order(id)) {
                    drop(room.send(RuntimeOrder::Fenced { session, why }));
                }
            }
        }
    }

    /// The version of the last event of commands that were applied before.
    async fn find_applied(
        &self,
        principal: &str,
        command: &Idempotency,
    ) -> Result<Option<StreamVersion>, GatewayError> {
        let found = self.log.store().find_command_events(principal, command).await?;
        found.map(|events| last_version(&events)).transpose()
    }

    /// Room for the input of people at the connections of the runtimes that asked for it.
    fn reserve_inputs(
        &self,
        loaded: &LoadedNotebook,
        commands: &[NotebookCommand],
    ) -> Result<Vec<ReservedInput>, (usize, Refusal)> {
        let mut inputs = Vec::new();
        for (index, command) in commands.iter().enumerate() {
            let NotebookCommand::AnswerInput { execution, text } = command else { continue };
            let Some(asking) = loaded.state.execution(*execution) else { continue };
            let connection = asking.session.and_then(|session| self.leases.connection(session));
            let Some(room) = connection.and_then(|id| self.connections.reserve_order(id)) else {
                let error = "the runtime is not connected; answer again when it is".to_owned();
                return Err((index, Refusal { code: Code::Unavailable, error }));
            };
            let input = RuntimeOrder::Input { execution: *execution, text: text.clone() };
            inputs.push((room, input));
        }
        Ok(inputs)
    }

    /// Ends a session whose lease has expired, unless it has ended.
    pub(super) async fn expire_session(
        &self,
        id: NotebookId,
        session: RuntimeSessionId,
    ) -> Result<(), CommandsError> {
        let owner = self.log.owner().principal.clone();
        let sender =
            CommandSender { principal: owner, actor: Actor::Daemon, rights: CommandRights::Daemon };
        let entry = self.cache.entry(id);
        let mut held = entry.lock().await;
        let mut loaded = match held.take() {
            Some(loaded) => loaded,
            None => LoadedNotebook::read(&self.log, id).await?,
        };
        if self.leases.is_granted(session) {
            // It was renewed meanwhile.
            *held = Some(loaded);
            return Ok(());
        }
        let why = "its runtime did not renew its lease";
        let facts = provost_notebook::end_session(
            &loaded.state,
            session,
            RuntimeEndReason::Timeout,
            Some(why),
        );
        if !facts.is_empty() {
            self.append_facts(&mut loaded, &sender, facts, None, None).await?;
        }
        *held = Some(loaded);
        Ok(())
    }
}

/// A refusal as an error of a request.
pub(super) fn refusal_error(refusal: Refusal) -> GatewayError {
    let Refusal { code, error: message } = refusal;
    GatewayError::Fault(ErrorInfo { code, message, details: None })
}

/// How commands were applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Applied {
    /// Up to this version.
    Now(StreamVersion),
    /// Under the same key before, up to this version.
    Before(StreamVersion),
}

/// Running something needs the project, which may be closed. All other commands only edit, or end
/// something.
fn needs_open_project(command: &NotebookCommand) -> bool {
    matches!(
        command,
        NotebookCommand::StartSession { .. }
            | NotebookCommand::RequestExecution { .. }
            | NotebookCommand::ClaimExecution { .. }
    )
}

fn check_request(request: &NotebookCommands) -> Result<(), GatewayError> {
    if request.commands.is_empty() || request.commands.len() > limits::MAX_COMMAND_BATCH {
        let why = format!("it takes 1 to {} of them", limits::MAX_COMMAND_BATCH);
        return Err(GatewayError::InvalidField { field: "commands", why });
    }
    if let Some(key) = &request.key
        && (key.is_empty() || key.len() > limits::MAX_IDEMPOTENCY_KEY_BYTES)
    {
        let why = "it takes 1 to 128 characters".to_owned();
        return Err(GatewayError::InvalidField { field: "id", why });
    }
    Ok(())
}

/// The hash of commands, by which a key is bound to them. Input of people is left out: it may be
/// secret, and a hash of something short gives it away.
fn hash_commands(request: &NotebookCommands) -> Result<Hash, GatewayError> {
    let invalid = |error: serde_json::Error| StoreError::NotCanonical(error.to_string());
    let mut text = request.notebook.uuid().as_bytes().to_vec();
    for command in &request.commands {
        if let NotebookCommand::AnswerInput { execution, text: _ } = command {
            let without =
                NotebookCommand::AnswerInput { execution: *execution, text: String::new() };
            serde_json::to_writer(&mut text, &without).map_err(invalid)?;
        } else {
            serde_json::to_writer(&mut text, command).map_err(invalid)?;
        }
    }
    Ok(hash_chain::digest(&text))
}

/// The version of the last of some events.
fn last_version(events: &[std::sync::Arc<RecordedEvent>]) -> Result<StreamVersion, GatewayError> {
    Ok(events
        .last()
        .map(|event| event.decode_event())
        .transpose()?
        .map_or(0, |event| event.version))
}
