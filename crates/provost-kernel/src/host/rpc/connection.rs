//! Talking to the daemon: one connection at a time, the newest, and beside it one
//! for each client of the terminal.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use provost_core::action::{Action, BytesEncoding, FileAction, RuntimeAction};
use provost_core::policy::PathVisibility;
use provost_core::redact::Redactor;
use provost_proto::kernel::{
    ErrorInfo, JsonRpcVersion, MIN_PROTOCOL_BINARY_OUTPUT, Method, Preconditions, ReportNumber,
    RpcError, RpcRequest, RpcResponse, VisibilityRule,
};
use provost_proto::{ActionId, Code, RawJson};
use provost_sandbox::root_dir::RootDir;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::net::UnixListener;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout};

use super::handshake::{
    AcceptedConnection, ConnectionPurpose, DaemonConnection, MAX_TERMINAL_CLIENTS,
    authenticate_connection, serve_terminal_client,
};
use crate::host::KernelHost;
use crate::host::redaction::{redact_partial_content, redact_result};
use crate::wire::{self, FrameReader, KernelFrame};
use crate::{ActionError, files};

/// How long the daemon may take to come for the first time.
const FIRST_CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// How long those that look at the terminal may take to hear of its end.
const TERMINAL_CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// How many strangers may be asked at one time.
const MAX_PENDING_HANDSHAKES: usize = 16;

/// Answers that may wait to be sent.
const RESPONSE_QUEUE_LEN: usize = 256;

/// Bytes of reports sent at once.
const BATCH_BYTES: usize = 256 * 1024;

/// Takes connections until the kernel is to end. What is left of them goes back: a
/// daemon that sees its connection end takes the kernel for gone.
pub(in crate::host) async fn accept_connections(
    host: &Arc<KernelHost>,
    listener: &UnixListener,
    idle: Duration,
) -> JoinSet<()> {
    let mut current: JoinSet<()> = JoinSet::new();
    let mut strangers: JoinSet<Option<AcceptedConnection>> = JoinSet::new();
    let mut lookers: JoinSet<()> = JoinSet::new();
    // Whoever started this kernel is about to come.
    let mut needed = Instant::now() + FIRST_CONNECT_TIMEOUT;
    loop {
        if !current.is_empty() || host.is_busy() {
            needed = needed.max(Instant::now());
        }
        tokio::select! {
            () = host.end.notified() => {
                // They are about to hear how the terminal ended.
                let last = async { while lookers.join_next().await.is_some() {} };
                drop(timeout(TERMINAL_CLOSE_TIMEOUT, last).await);
                return current;
            }
            _ = current.join_next(), if !current.is_empty() => {
                needed = Instant::now();
            }
            // Also wakes to look again whether something still runs.
            () = sleep_until(needed + idle) => {
                let free = current.is_empty() && !host.is_busy();
                if free && Instant::now() >= needed + idle {
                    tracing::info!("no daemon came back, and nothing runs");
                    return current;
                }
            }
            Some(greeted) = strangers.join_next(), if !strangers.is_empty() => {
                match greeted {
                    Ok(Some(AcceptedConnection { purpose: ConnectionPurpose::Terminal(wish), daemon })) => {
                        let room = lookers.len() < MAX_TERMINAL_CLIENTS;
                        lookers.spawn(serve_terminal_client(Arc::clone(host), daemon, wish, room));
                    }
                    Ok(Some(AcceptedConnection { purpose: ConnectionPurpose::Control, daemon })) => {
                        // The daemon that comes later is the one that lives.
                        current.abort_all();
                        current.spawn(serve_daemon(Arc::clone(host), daemon));
                    }
                    Ok(None) | Err(_) => {}
                }
            }
            _ = lookers.join_next(), if !lookers.is_empty() => {}
            accepted = listener.accept(), if strangers.len() < MAX_PENDING_HANDSHAKES => match accepted {
                Ok((stream, _)) => {
                    let host = Arc::clone(host);
                    // Whoever says nothing must not keep the daemon out.
                    strangers.spawn(async move { authenticate_connection(&host, stream).await });
                }
                Err(error) => tracing::warn!(%error, "could not accept the daemon"),
            },
        }
    }
}

/// What goes back to the daemon.
enum OutgoingResponse {
    Response(RpcResponse),
    /// The content of a file, which is written once, where it is sent.
    FileContent(u64, files::ReadFileResult),
}

impl From<RpcResponse> for OutgoingResponse {
    fn from(answer: RpcResponse) -> Self {
        Self::Response(answer)
    }
}

async fn serve_daemon(host: Arc<KernelHost>, daemon: DaemonConnection) {
    let DaemonConnection { read, write, protocol } = daemon;
    let (outbox, answers) = mpsc::channel(RESPONSE_QUEUE_LEN);
    let (attach, attached) = mpsc::channel(1);
    let mut tasks = JoinSet::new();
    let reports = DaemonWriter { write, protocol, buffer: Vec::new() };
    tasks.spawn(run_sender(Arc::clone(&host), reports, answers, attached));
    tasks.spawn(receive_requests(host, read, outbox, attach));
    // Whichever ends first ends the connection.
    tasks.join_next().await;
}

async fn receive_requests(
    host: Arc<KernelHost>,
    mut read: FrameReader<OwnedReadHalf>,
    outbox: mpsc::Sender<OutgoingResponse>,
    attach: mpsc::Sender<ReportNumber>,
) {
    loop {
        let question = match read.next().await {
            Ok(Some(KernelFrame::Request(question))) => question,
            Ok(Some(KernelFrame::Response(_) | KernelFrame::Report(_)) | None) => return,
            Err(error) => {
                tracing::warn!(%error, "the daemon was not understood");
                return;
            }
        };
        let RpcRequest { id, ask, .. } = question;
        match ask {
            Method::Acknowledge { up_to } => {
                host.spool.acknowledge(up_to);
                if outbox.send(build_response(id, Ok(Value::Null)).into()).await.is_err() {
                    return;
                }
            }
            // Done before the next question is read, which may be to execute.
            Method::Secrets { values } => {
                let learned = host.redacting.set_secrets(values).map(|()| Value::Null);
                if outbox.send(build_response(id, learned).into()).await.is_err() {
                    return;
                }
            }
            Method::Attach { after } => {
                let started = attach.try_send(after).is_ok();
                let result = if started { Ok(Value::Null) } else { Err(already_attached_error()) };
                if outbox.send(build_response(id, result).into()).await.is_err() {
                    return;
                }
            }
            Method::Execute { action: name, params, terms, .. } if is_quick(&name) => {
                let reply = match execute_read(&host, (&name, params), terms.as_ref()) {
                    Ok(ReadOutcome::Plain(content)) => OutgoingResponse::FileContent(id, content),
                    Ok(ReadOutcome::Redacted(result)) => build_response(id, Ok(result)).into(),
                    Err(error) => build_response(id, Err(error)).into(),
                };
                if outbox.send(reply).await.is_err() {
                    return;
                }
            }
            Method::Hello { .. }
            | Method::Ping {}
            | Method::Execute { .. }
            | Method::Cancel { .. }
            | Method::Outcomes { .. }
            | Method::Terminal { .. }
            | Method::Logs { .. }
            | Method::Runtime {}
            | Method::Shutdown {} => {
                let (host, outbox) = (Arc::clone(&host), outbox.clone());
                // An action goes on when the connection breaks, so it is no part of it.
                drop(tokio::spawn(async move {
                    let result = handle_request(&host, ask).await;
                    // A daemon that is gone asks for outcomes when it is back.
                    drop(outbox.send(build_response(id, result).into()).await);
                }));
            }
        }
    }
}

fn already_attached_error() -> ActionError {
    ActionError::new(Code::Conflict, "the reports are being sent already")
}

async fn handle_request(host: &Arc<KernelHost>, ask: Method) -> Result<Value, ActionError> {
    match ask {
        Method::Execute { id, action, params, limits, terms } => {
            execute_action(host, id, (&action, params), (&limits, terms)).await
        }
        Method::Cancel { id } => {
            let found = host.commands.book.cancel(id) || host.runtime.cancel(id);
            Ok(json!({ "found": found }))
        }
        Method::Outcomes { ids } => Ok(json!(host.commands.book.find_outcomes(&ids))),
        Method::Shutdown {} => {
            host.stop_all().await;
            host.end.notify_one();
            Ok(Value::Null)
        }
        Method::Logs { after, limit } => to_json_value(&host.runtime.read_log_page(after, limit)?),
        Method::Runtime {} => {
            let mut now = host.runtime.snapshot();
            // It changes with every byte, so no report has it.
            now.runtime.terminal.offset = host.terminal.view().offset;
            to_json_value(&now)
        }
        Method::Terminal { .. } => {
            let why = "the terminal needs a connection of its own, on which nothing else was asked";
            Err(ActionError::new(Code::InvalidRequest, why))
        }
        Method::Hello { .. }
        | Method::Secrets { .. }
        | Method::Ping {}
        | Method::Attach { .. }
        | Method::Acknowledge { .. } => Ok(Value::Null),
    }
}

/// Whether an action is over so soon that a task or a thread of its own would cost
/// more than it does.
fn is_quick(action: &str) -> bool {
    matches!(action, "fs.readFile" | "fs.stat")
}

/// What such an action saw.
enum ReadOutcome {
    /// A file without any secret, as most are.
    Plain(files::ReadFileResult),
    /// Whatever else, without the secrets in it.
    Redacted(Value),
}

/// What comes of such an action.
fn execute_read(
    host: &KernelHost,
    (name, params): (&str, Value),
    terms: Option<&Preconditions>,
) -> Result<ReadOutcome, ActionError> {
    let action = parse_action(name, params)?;
    host.check_project_dir()?;
    let redactor = host.redacting.redactor()?;
    let Action::File(action) = action else {
        return Err(ActionError::new(Code::Internal, "only looking at files is over at once"));
    };
    let root = root_for_action(host, terms);
    let result = if let FileAction::ReadFile(wanted) = &action {
        match files::read_file_content(&root, wanted) {
            Ok(content) if content.length < content.size => {
                let part = redact_partial_content(&redactor, &root, (&wanted.path, content));
                match part.map_err(|error| error.with_path(&wanted.path)) {
                    Ok((content, 0)) => return Ok(ReadOutcome::Plain(content)),
                    Ok((content, n_secrets)) => {
                        to_json_value(&content).map(|said| with_redaction_count(said, n_secrets))
                    }
                    Err(error) => Err(error),
                }
            }
            Ok(content) if has_no_secrets(&redactor, &content) => {
                return Ok(ReadOutcome::Plain(content));
            }
            content => content.and_then(|content| to_json_value(&content)),
        }
    } else {
        files::execute_file_action(&root, &action, &|| false)
    };
    redact_result(&redactor, result).map(ReadOutcome::Redacted)
}

/// The same, saying how much was taken out of it.
fn with_redaction_count(mut result: Value, n_secrets: usize) -> Value {
    result["redacted"] = n_secrets.into();
    result
}

/// Whether there is nothing to redact in the content of a file. All else that is said of
/// it is numbers.
fn has_no_secrets(redactor: &Redactor, content: &files::ReadFileResult) -> bool {
    content.encoding == BytesEncoding::Utf8
        && !redactor.may_contain_secret(content.content.as_bytes())
}

fn parse_action(name: &str, params: Value) -> Result<Action, ActionError> {
    Action::parse(name, params)
        .map_err(|error| ActionError::new(Code::InvalidAction, error.to_string()))
}

async fn execute_action(
    host: &Arc<KernelHost>,
    id: ActionId,
    (name, params): (&str, Value),
    (limits, terms): (&[VisibilityRule], Option<Preconditions>),
) -> Result<Value, ActionError> {
    let action = parse_action(name, params)?;
    host.check_project_dir()?;
    let redactor = host.redacting.redactor()?;
    let sight = if limits.is_empty() { None } else { Some(parse_visibility(limits)?) };
    match action {
        Action::File(action) => run_file_action(host, id, (action, sight, terms), &redactor).await,
        Action::Runtime(action) => {
            // What it runs was read in these files, and decided about.
            host.commands.verify_pins(&terms.unwrap_or_default())?;
            run_runtime_action(host, id, action, &redactor).await
        }
        Action::Process(action) => {
            let done = host.commands.execute(id, action, terms.unwrap_or_default()).await;
            redact_result(&redactor, done)
        }
    }
}

/// The project's folder, in which only the links are followed that were decided about.
fn root_for_action(host: &KernelHost, terms: Option<&Preconditions>) -> RootDir {
    match terms {
        Some(terms) => files::restrict_root_links(&host.root, terms),
        None => host.root.clone_handle(),
    }
}

/// What may be looked into. What cannot be understood limits everything.
fn parse_visibility(limits: &[VisibilityRule]) -> Result<PathVisibility, ActionError> {
    PathVisibility::new(limits).map_err(|error| ActionError::new(Code::Internal, error.to_string()))
}

async fn run_file_action(
    host: &Arc<KernelHost>,
    id: ActionId,
    (action, sight, terms): (FileAction, Option<PathVisibility>, Option<Preconditions>),
    redactor: &Redactor,
) -> Result<Value, ActionError> {
    let root = root_for_action(host, terms.as_ref());
    let mut held = None;
    if terms.is_some() && files::is_write_action(&action) {
        files::reject_protected_paths(&root, &action)?;
        // Kept to the end of the action: no command starts in the midst of it.
        let holds = held.insert(host.commands.holds.read().await);
        holds.reject_held_paths(&root, &action)?;
    }
    let began = std::time::Instant::now();
    let stop = host.commands.book.begin_action(id);
    let task = tokio::task::spawn_blocking(move || {
        let stop = || stop.load(std::sync::atomic::Ordering::Relaxed);
        files::execute_with_visibility(&root, &action, sight.as_ref(), &stop)
    });
    let result = task.await.unwrap_or_else(|error| {
        Err(ActionError::new(Code::Internal, format!("the action met a fault: {error}")))
    });
    drop(held);
    let result = redact_result(redactor, result);
    host.commands.book.finish_action(id, &result, began.elapsed());
    result
}

/// What is done with the dev server, the build and the preview.
async fn run_runtime_action(
    host: &Arc<KernelHost>,
    id: ActionId,
    action: RuntimeAction,
    redactor: &Redactor,
) -> Result<Value, ActionError> {
    match action {
        RuntimeAction::OpenTerminal(params) => {
            let began = std::time::Instant::now();
            drop(host.commands.book.begin_action(id));
            let opened = match host.commands.walls.sandbox_paths() {
                Ok(places) => host.terminal.open(id, &params, &places).await,
                Err(error) => Err(error),
            };
            let opened = redact_result(redactor, opened);
            host.commands.book.finish_action(id, &opened, began.elapsed());
            opened
        }
        RuntimeAction::ReadTerminal(params) => {
            redact_result(redactor, host.terminal.read(&params, redactor).await)
        }
        RuntimeAction::WriteTerminal(params) => {
            redact_result(redactor, host.terminal.write(&params))
        }
        RuntimeAction::Run(_)
        | RuntimeAction::Stop(_)
        | RuntimeAction::Restart(_)
        | RuntimeAction::Build(_)
        | RuntimeAction::Status(_)
        | RuntimeAction::Logs(_)
        | RuntimeAction::FetchPreview(_) => {
            let began = std::time::Instant::now();
            let result =
                redact_result(redactor, host.runtime.execute(id, action, &host.root).await);
            // A daemon that was away asks what became of it.
            host.commands.book.finish_action(id, &result, began.elapsed());
            result
        }
    }
}

fn to_json_value(what: &impl serde::Serialize) -> Result<Value, ActionError> {
    serde_json::to_value(what).map_err(|error| ActionError::new(Code::Internal, error.to_string()))
}

/// Sends answers as they come and reports from where the daemon is.
async fn run_sender(
    host: Arc<KernelHost>,
    mut to: DaemonWriter,
    mut answers: mpsc::Receiver<OutgoingResponse>,
    mut attached: mpsc::Receiver<ReportNumber>,
) {
    let mut newest = host.spool.subscribe_newest();
    let mut cursor: Option<ReportNumber> = None;
    let mut together = Vec::new();
    loop {
        let behind = cursor.is_some_and(|cursor| *newest.borrow_and_update() > cursor);
        let sent = tokio::select! {
            biased;
            n_answers = answers.recv_many(&mut together, RESPONSE_QUEUE_LEN) => match n_answers {
                0 => return,
                _ => to.send_responses(together.drain(..)).await,
            },
            Some(after) = attached.recv() => { cursor = Some(after); Ok(()) }
            () = std::future::ready(()), if behind => {
                to.send_reports(&host, &mut cursor).await
            }
            changed = newest.changed(), if !behind => {
                if changed.is_err() { return }
                Ok(())
            }
        };
        if let Err(error) = sent {
            tracing::debug!(%error, "the daemon hung up");
            return;
        }
    }
}

/// Where answers and reports go.
struct DaemonWriter {
    write: OwnedWriteHalf,
    protocol: u32,
    buffer: Vec<u8>,
}

impl DaemonWriter {
    /// Sends answers, as many at once as are small enough.
    async fn send_responses(
        &mut self,
        answers: impl Iterator<Item = OutgoingResponse>,
    ) -> io::Result<()> {
        self.buffer.clear();
        for answer in answers {
            match answer {
                OutgoingResponse::FileContent(id, content) => {
                    wire::append_result(id, &content, &mut self.buffer)?
                }
                OutgoingResponse::Response(answer) => {
                    wire::append_frame(&KernelFrame::Response(answer), &mut self.buffer)?
                }
            }
            if self.buffer.len() >= BATCH_BYTES {
                self.write.write_all(&self.buffer).await?;
                self.buffer.clear();
            }
        }
        self.write.write_all(&self.buffer).await
    }

    async fn send_reports(
        &mut self,
        host: &KernelHost,
        cursor: &mut Option<ReportNumber>,
    ) -> io::Result<()> {
        let (bytes, last) =
            host.spool.read_after(cursor.unwrap_or(0), BATCH_BYTES, &mut self.buffer)?;
        if self.protocol < MIN_PROTOCOL_BINARY_OUTPUT {
            self.write.write_all(&wire::reencode_as_json(bytes).await?).await?;
        } else {
            self.write.write_all(bytes).await?;
        }
        *cursor = Some(last);
        Ok(())
    }
}

pub(in crate::host) fn build_response(id: u64, result: Result<Value, ActionError>) -> RpcResponse {
    let (result, error) = match result {
        Ok(value) => (RawJson::new(&value).ok(), None),
        Err(ActionError { code, message, details }) => {
            let data = Some(ErrorInfo { code, message: message.clone(), details });
            (None, Some(RpcError { code: -32000, message, data }))
        }
    };
    RpcResponse { jsonrpc: JsonRpcVersion::V2, id, result, error }
}
