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

use super::Host;
use super::redacting::{redacted, redacted_part};
use super::visitors::{Daemon, LOOKERS, Purpose, Visitor, greet, show};
use crate::wire::{self, Frame, Frames};
use crate::{ActionError, files};

/// How long the daemon may take to come for the first time.
const FIRST: Duration = Duration::from_secs(10);

/// How long those that look at the terminal may take to hear of its end.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// How many strangers may be asked at one time.
const STRANGERS: usize = 16;

/// Answers that may wait to be sent.
const OUTBOX: usize = 256;

/// Bytes of reports sent at once.
const PIECE: usize = 256 * 1024;

/// Takes connections until the kernel is to end. What is left of them goes back: a
/// daemon that sees its connection end takes the kernel for gone.
pub(super) async fn accept(
    host: &Arc<Host>,
    listener: &UnixListener,
    idle: Duration,
) -> JoinSet<()> {
    let mut current: JoinSet<()> = JoinSet::new();
    let mut strangers: JoinSet<Option<Visitor>> = JoinSet::new();
    let mut lookers: JoinSet<()> = JoinSet::new();
    // Whoever started this kernel is about to come.
    let mut needed = Instant::now() + FIRST;
    loop {
        if !current.is_empty() || host.is_busy() {
            needed = needed.max(Instant::now());
        }
        tokio::select! {
            () = host.end.notified() => {
                // They are about to hear how the terminal ended.
                let last = async { while lookers.join_next().await.is_some() {} };
                drop(timeout(LAST_WORDS, last).await);
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
                    Ok(Some(Visitor { purpose: Purpose::Terminal(wish), daemon })) => {
                        let room = lookers.len() < LOOKERS;
                        lookers.spawn(show(Arc::clone(host), daemon, wish, room));
                    }
                    Ok(Some(Visitor { purpose: Purpose::Control, daemon })) => {
                        // The daemon that comes later is the one that lives.
                        current.abort_all();
                        current.spawn(serve(Arc::clone(host), daemon));
                    }
                    Ok(None) | Err(_) => {}
                }
            }
            _ = lookers.join_next(), if !lookers.is_empty() => {}
            accepted = listener.accept(), if strangers.len() < STRANGERS => match accepted {
                Ok((stream, _)) => {
                    let host = Arc::clone(host);
                    // Whoever says nothing must not keep the daemon out.
                    strangers.spawn(async move { greet(&host, stream).await });
                }
                Err(error) => tracing::warn!(%error, "could not accept the daemon"),
            },
        }
    }
}

/// What goes back to the daemon.
enum Reply {
    Answer(RpcResponse),
    /// The content of a file, which is written once, where it is sent.
    Content(u64, files::Content),
}

impl From<RpcResponse> for Reply {
    fn from(answer: RpcResponse) -> Self {
        Self::Answer(answer)
    }
}

async fn serve(host: Arc<Host>, daemon: Daemon) {
    let Daemon { read, write, protocol } = daemon;
    let (outbox, answers) = mpsc::channel(OUTBOX);
    let (attach, attached) = mpsc::channel(1);
    let mut tasks = JoinSet::new();
    let reports = Sending { write, protocol, buffer: Vec::new() };
    tasks.spawn(send(Arc::clone(&host), reports, answers, attached));
    tasks.spawn(listen(host, read, outbox, attach));
    // Whichever ends first ends the connection.
    tasks.join_next().await;
}

async fn listen(
    host: Arc<Host>,
    mut read: Frames<OwnedReadHalf>,
    outbox: mpsc::Sender<Reply>,
    attach: mpsc::Sender<ReportNumber>,
) {
    loop {
        let question = match read.next().await {
            Ok(Some(Frame::Question(question))) => question,
            Ok(Some(Frame::Answer(_) | Frame::Report(_)) | None) => return,
            Err(error) => {
                tracing::warn!(%error, "the daemon was not understood");
                return;
            }
        };
        let RpcRequest { id, ask, .. } = question;
        match ask {
            Method::Acknowledge { up_to } => {
                host.spool.acknowledge(up_to);
                if outbox.send(answer(id, Ok(Value::Null)).into()).await.is_err() {
                    return;
                }
            }
            // Done before the next question is read, which may be to execute.
            Method::Secrets { values } => {
                let learned = host.redacting.learn(values).map(|()| Value::Null);
                if outbox.send(answer(id, learned).into()).await.is_err() {
                    return;
                }
            }
            Method::Attach { after } => {
                let started = attach.try_send(after).is_ok();
                let result = if started { Ok(Value::Null) } else { Err(again()) };
                if outbox.send(answer(id, result).into()).await.is_err() {
                    return;
                }
            }
            Method::Execute { action: name, params, terms, .. } if is_quick(&name) => {
                let reply = match look(&host, (&name, params), terms.as_ref()) {
                    Ok(Looked::Plain(content)) => Reply::Content(id, content),
                    Ok(Looked::Redacted(result)) => answer(id, Ok(result)).into(),
                    Err(error) => answer(id, Err(error)).into(),
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
                    let result = obey(&host, ask).await;
                    // A daemon that is gone asks for outcomes when it is back.
                    drop(outbox.send(answer(id, result).into()).await);
                }));
            }
        }
    }
}

fn again() -> ActionError {
    ActionError::new(Code::Conflict, "the reports are being sent already")
}

async fn obey(host: &Arc<Host>, ask: Method) -> Result<Value, ActionError> {
    match ask {
        Method::Execute { id, action, params, limits, terms } => {
            execute(host, id, (&action, params), (&limits, terms)).await
        }
        Method::Cancel { id } => {
            let found = host.commands.book.cancel(id) || host.runtime.cancel(id);
            Ok(json!({ "found": found }))
        }
        Method::Outcomes { ids } => Ok(json!(host.commands.book.outcomes(&ids))),
        Method::Shutdown {} => {
            host.stop_all().await;
            host.end.notify_one();
            Ok(Value::Null)
        }
        Method::Logs { after, limit } => said(&host.runtime.page(after, limit)?),
        Method::Runtime {} => {
            let mut now = host.runtime.look();
            // It changes with every byte, so no report has it.
            now.runtime.terminal.offset = host.terminal.view().offset;
            said(&now)
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
enum Looked {
    /// A file without any secret, as most are.
    Plain(files::Content),
    /// Whatever else, without the secrets in it.
    Redacted(Value),
}

/// What comes of such an action.
fn look(
    host: &Host,
    (name, params): (&str, Value),
    terms: Option<&Preconditions>,
) -> Result<Looked, ActionError> {
    let action = read(name, params)?;
    host.check_folder()?;
    let redactor = host.redacting.redactor()?;
    let Action::File(action) = action else {
        return Err(ActionError::new(Code::Internal, "only looking at files is over at once"));
    };
    let root = beneath(host, terms);
    let result = if let FileAction::ReadFile(wanted) = &action {
        match files::read(&root, wanted) {
            Ok(content) if content.length < content.size => {
                let part = redacted_part(&redactor, &root, (&wanted.path, content));
                match part.map_err(|error| error.on(&wanted.path)) {
                    Ok((content, 0)) => return Ok(Looked::Plain(content)),
                    Ok((content, n_secrets)) => said(&content).map(|said| marked(said, n_secrets)),
                    Err(error) => Err(error),
                }
            }
            Ok(content) if is_plain(&redactor, &content) => return Ok(Looked::Plain(content)),
            content => content.and_then(|content| said(&content)),
        }
    } else {
        files::execute(&root, &action, &|| false)
    };
    redacted(&redactor, result).map(Looked::Redacted)
}

/// The same, saying how much was taken out of it.
fn marked(mut result: Value, n_secrets: usize) -> Value {
    result["redacted"] = n_secrets.into();
    result
}

/// Whether there is nothing to redact in the content of a file. All else that is said of
/// it is numbers.
fn is_plain(redactor: &Redactor, content: &files::Content) -> bool {
    content.encoding == BytesEncoding::Utf8
        && !redactor.may_contain_secret(content.content.as_bytes())
}

fn read(name: &str, params: Value) -> Result<Action, ActionError> {
    Action::parse(name, params)
        .map_err(|error| ActionError::new(Code::InvalidAction, error.to_string()))
}

async fn execute(
    host: &Arc<Host>,
    id: ActionId,
    (name, params): (&str, Value),
    (limits, terms): (&[VisibilityRule], Option<Preconditions>),
) -> Result<Value, ActionError> {
    let action = read(name, params)?;
    host.check_folder()?;
    let redactor = host.redacting.redactor()?;
    let sight = if limits.is_empty() { None } else { Some(sight(limits)?) };
    match action {
        Action::File(action) => on_files(host, id, (action, sight, terms), &redactor).await,
        Action::Runtime(action) => {
            // What it runs was read in these files, and decided about.
            host.commands.unchanged(&terms.unwrap_or_default())?;
            on_runtime(host, id, action, &redactor).await
        }
        Action::Process(action) => {
            let done = host.commands.execute(id, action, terms.unwrap_or_default()).await;
            redacted(&redactor, done)
        }
    }
}

/// The project's folder, in which only the links are followed that were decided about.
fn beneath(host: &Host, terms: Option<&Preconditions>) -> RootDir {
    match terms {
        Some(terms) => files::bound(&host.root, terms),
        None => host.root.clone_handle(),
    }
}

/// What may be looked into. What cannot be understood limits everything.
fn sight(limits: &[VisibilityRule]) -> Result<PathVisibility, ActionError> {
    PathVisibility::new(limits).map_err(|error| ActionError::new(Code::Internal, error.to_string()))
}

async fn on_files(
    host: &Arc<Host>,
    id: ActionId,
    (action, sight, terms): (FileAction, Option<PathVisibility>, Option<Preconditions>),
    redactor: &Redactor,
) -> Result<Value, ActionError> {
    let root = beneath(host, terms.as_ref());
    let mut held = None;
    if terms.is_some() && files::writes(&action) {
        files::guard(&root, &action)?;
        // Kept to the end of the action: no command starts in the midst of it.
        let holds = held.insert(host.commands.holds.read().await);
        holds.guard(&root, &action)?;
    }
    let began = std::time::Instant::now();
    let stop = host.commands.book.begin(id);
    let task = tokio::task::spawn_blocking(move || {
        let stop = || stop.load(std::sync::atomic::Ordering::Relaxed);
        files::execute_within(&root, &action, sight.as_ref(), &stop)
    });
    let result = task.await.unwrap_or_else(|error| {
        Err(ActionError::new(Code::Internal, format!("the action met a fault: {error}")))
    });
    drop(held);
    let result = redacted(redactor, result);
    host.commands.book.done(id, &result, began.elapsed());
    result
}

/// What is done with the dev server, the build and the preview.
async fn on_runtime(
    host: &Arc<Host>,
    id: ActionId,
    action: RuntimeAction,
    redactor: &Redactor,
) -> Result<Value, ActionError> {
    match action {
        RuntimeAction::OpenTerminal(params) => {
            let began = std::time::Instant::now();
            drop(host.commands.book.begin(id));
            let opened = match host.commands.walls.places() {
                Ok(places) => host.terminal.open(id, &params, &places).await,
                Err(error) => Err(error),
            };
            let opened = redacted(redactor, opened);
            host.commands.book.done(id, &opened, began.elapsed());
            opened
        }
        RuntimeAction::ReadTerminal(params) => {
            redacted(redactor, host.terminal.read(&params, redactor).await)
        }
        RuntimeAction::WriteTerminal(params) => redacted(redactor, host.terminal.write(&params)),
        RuntimeAction::Run(_)
        | RuntimeAction::Stop(_)
        | RuntimeAction::Restart(_)
        | RuntimeAction::Build(_)
        | RuntimeAction::Status(_)
        | RuntimeAction::Logs(_)
        | RuntimeAction::FetchPreview(_) => {
            let began = std::time::Instant::now();
            let result = redacted(redactor, host.runtime.execute(id, action, &host.root).await);
            // A daemon that was away asks what became of it.
            host.commands.book.done(id, &result, began.elapsed());
            result
        }
    }
}

fn said(what: &impl serde::Serialize) -> Result<Value, ActionError> {
    serde_json::to_value(what).map_err(|error| ActionError::new(Code::Internal, error.to_string()))
}

/// Sends answers as they come and reports from where the daemon is.
async fn send(
    host: Arc<Host>,
    mut to: Sending,
    mut answers: mpsc::Receiver<Reply>,
    mut attached: mpsc::Receiver<ReportNumber>,
) {
    let mut newest = host.spool.newest();
    let mut cursor: Option<ReportNumber> = None;
    let mut together = Vec::new();
    loop {
        let behind = cursor.is_some_and(|cursor| *newest.borrow_and_update() > cursor);
        let sent = tokio::select! {
            biased;
            n_answers = answers.recv_many(&mut together, OUTBOX) => match n_answers {
                0 => return,
                _ => to.answers(together.drain(..)).await,
            },
            Some(after) = attached.recv() => { cursor = Some(after); Ok(()) }
            () = std::future::ready(()), if behind => {
                to.reports(&host, &mut cursor).await
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
struct Sending {
    write: OwnedWriteHalf,
    protocol: u32,
    buffer: Vec<u8>,
}

impl Sending {
    /// Sends answers, as many at once as are small enough.
    async fn answers(&mut self, answers: impl Iterator<Item = Reply>) -> io::Result<()> {
        self.buffer.clear();
        for answer in answers {
            match answer {
                Reply::Content(id, content) => wire::put_result(id, &content, &mut self.buffer)?,
                Reply::Answer(answer) => wire::put(&Frame::Answer(answer), &mut self.buffer)?,
            }
            if self.buffer.len() >= PIECE {
                self.write.write_all(&self.buffer).await?;
                self.buffer.clear();
            }
        }
        self.write.write_all(&self.buffer).await
    }

    async fn reports(&mut self, host: &Host, cursor: &mut Option<ReportNumber>) -> io::Result<()> {
        let (bytes, last) = host.spool.after(cursor.unwrap_or(0), PIECE, &mut self.buffer)?;
        if self.protocol < MIN_PROTOCOL_BINARY_OUTPUT {
            self.write.write_all(&wire::in_words(bytes).await?).await?;
        } else {
            self.write.write_all(bytes).await?;
        }
        *cursor = Some(last);
        Ok(())
    }
}

pub(super) fn answer(id: u64, result: Result<Value, ActionError>) -> RpcResponse {
    let (result, error) = match result {
        Ok(value) => (RawJson::new(&value).ok(), None),
        Err(ActionError { code, message, details }) => {
            let data = Some(ErrorInfo { code, message: message.clone(), details });
            (None, Some(RpcError { code: -32000, message, data }))
        }
    };
    RpcResponse { jsonrpc: JsonRpcVersion::V2, id, result, error }
}
