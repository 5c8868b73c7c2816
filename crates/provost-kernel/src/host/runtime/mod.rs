//! The project's build and dev server: the actions on them. One actor runs both.

mod actor;
mod plan;
mod process_tree;
mod runtime_change;
mod runtime_log;
pub(super) mod runtime_reporter;
pub(super) mod tree_output_tail;

use parking_lot::Mutex;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use provost_core::action::{FetchPreview, ReadLogs, RuntimeAction};
use provost_core::policy::PathVisibility;
use provost_core::runtime::state_machine::{RuntimeProcessKind, RuntimeReply};
use provost_proto::kernel::OutputData;
use provost_proto::runtime::{
    BuildFailureCause, BuildStatus, BuildView, CrashPhase, PreviewStatus, RuntimeActionResult,
    RuntimeLogPage, RuntimeSnapshot, RuntimeStatus, RuntimeView,
};
use provost_proto::{ActionId, Code};
use provost_sandbox::root_dir::RootDir;
use serde_json::{Value, json};
use tokio::sync::{Notify, mpsc, oneshot};

use super::preview::http::{self, HttpError};
use super::preview::port_selection::to_reachable_address;
use super::process::command_runner::CommandRunner;
use super::redaction::SharedRedactor;
use crate::ActionError;
use actor::{PreparedRun, RuntimeActor, RuntimeActorContext, RuntimeOperation, RuntimeRequest};
use runtime_log::RuntimeLog;
use runtime_reporter::RuntimeReporter;

/// Requests that may be queued for the actor.
const REQUEST_QUEUE_LEN: usize = 32;

/// Grace period of a cancelled run or build, in milliseconds.
const CANCEL_GRACE_MS: u64 = 2_000;

/// How long a preview request may take.
const FETCH_TIMEOUT: Duration = Duration::from_secs(30);

/// The runtime of a project.
#[derive(Debug)]
pub(super) struct ProjectRuntime {
    inbox: mpsc::Sender<RuntimeRequest>,
    reporter: Arc<RuntimeReporter>,
    log: Arc<RuntimeLog>,
    busy: Arc<AtomicBool>,
    /// The running actions, with the notification that cancels them.
    running: Mutex<HashMap<ActionId, Arc<Notify>>>,
}

impl ProjectRuntime {
    /// Starts the actor. `own_program` serves static files.
    pub(super) fn start(
        commands: Arc<CommandRunner>,
        shared_redactor: Arc<SharedRedactor>,
        reporter: Arc<RuntimeReporter>,
        own_program: PathBuf,
        kernel_dir: &Path,
    ) -> Self {
        let log = Arc::new(RuntimeLog::new(kernel_dir.join("runtime.log")));
        let busy = Arc::new(AtomicBool::new(false));
        let context = RuntimeActorContext {
            commands,
            shared_redactor,
            reporter: Arc::clone(&reporter),
            log: Arc::clone(&log),
            own_program,
            busy: Arc::clone(&busy),
        };
        let (inbox, requests) = mpsc::channel(REQUEST_QUEUE_LEN);
        drop(tokio::spawn(RuntimeActor::new(context).run(requests)));
        Self { inbox, reporter, log, busy, running: Mutex::default() }
    }

    /// Whether a process is alive, or an action is running.
    pub(super) fn is_busy(&self) -> bool {
        self.busy.load(Ordering::Relaxed) || !self.lock_running().is_empty()
    }

    /// The running actions.
    pub(super) fn running_actions(&self) -> Vec<ActionId> {
        self.lock_running().keys().copied().collect()
    }

    /// Cancels an action; returns whether it was running.
    pub(super) fn cancel(&self, id: ActionId) -> bool {
        self.lock_running().get(&id).is_some_and(|cancelled| {
            cancelled.notify_one();
            true
        })
    }

    fn lock_running(&self) -> parking_lot::MutexGuard<'_, HashMap<ActionId, Arc<Notify>>> {
        self.running.lock()
    }

    /// The current state.
    pub(super) fn snapshot(&self) -> RuntimeSnapshot {
        self.reporter.snapshot()
    }

    /// A page of the log.
    pub(super) fn read_log_page(
        &self,
        after: u64,
        limit: u64,
    ) -> Result<RuntimeLogPage, ActionError> {
        self.log.read_page(after, limit).map_err(|error| {
            ActionError::new(Code::Internal, format!("cannot read the log: {error}"))
        })
    }

    /// `runtime.logs`. The log is redacted already.
    fn read_logs(&self, params: &ReadLogs) -> Result<Value, ActionError> {
        let end = self.read_log_page(u64::MAX, 1)?.end;
        let after = params.after.unwrap_or_else(|| end.saturating_sub(params.limit));
        let RuntimeLogPage { oldest, offset, next, end, data } =
            self.read_log_page(after, params.limit)?;
        let text = match &data {
            OutputData::Bytes(bytes) => String::from_utf8_lossy(bytes),
            OutputData::Blob(_) => {
                return Err(ActionError::new(Code::Internal, "the log page refers to a blob"));
            }
        };
        Ok(json!({ "text": text, "oldest": oldest, "offset": offset, "next": next, "end": end }))
    }

    /// Stops everything; when it returns, no process is left, or the log names the failure.
    pub(super) async fn shut_down(&self) {
        if let Ok(RuntimeReply::StillAlive) = self.send_request(RuntimeOperation::Shutdown).await {
            tracing::error!("a process of the project is alive although it was killed");
        }
    }

    async fn send_request(&self, operation: RuntimeOperation) -> Result<RuntimeReply, ActionError> {
        let ending = || ActionError::new(Code::Unavailable, "the project's kernel is ending");
        let (reply, response) = oneshot::channel();
        self.inbox.send(RuntimeRequest { operation, reply }).await.map_err(|_| ending())?;
        response.await.map_err(|_| ending())
    }

    /// Executes an action on the dev server, the build or the preview. It counts as running
    /// until [`Self::remove_running`], so that at any time it is running or has an outcome.
    pub(super) async fn execute(
        &self,
        id: ActionId,
        action: RuntimeAction,
        root: &RootDir,
        write_denials: Option<PathVisibility>,
    ) -> Result<Value, ActionError> {
        let cancelled = Arc::new(Notify::new());
        self.lock_running().insert(id, Arc::clone(&cancelled));
        tokio::select! {
            result = self.dispatch_action(id, action, root, write_denials) => result,
            () = cancelled.notified() => self.handle_cancellation(id).await,
        }
    }

    /// Ends an action whose outcome is recorded.
    pub(super) fn remove_running(&self, id: ActionId) {
        self.lock_running().remove(&id);
    }

    /// Stops what a cancelled action has started and not finished, unless that would end
    /// what another action started.
    async fn handle_cancellation(&self, id: ActionId) -> Result<Value, ActionError> {
        let RuntimeView { dev_server, build, .. } = self.reporter.snapshot().runtime;
        let started_run =
            dev_server.action == Some(id) && dev_server.status == RuntimeStatus::Starting;
        let no_server =
            matches!(dev_server.status, RuntimeStatus::Stopped | RuntimeStatus::Crashed);
        let started_build = build.action == Some(id) && build.status == BuildStatus::Running;
        let started_build = started_build && (no_server || started_run);
        if started_run || started_build {
            self.send_request(RuntimeOperation::Stop(CANCEL_GRACE_MS)).await?;
        }
        Err(ActionError::new(Code::Cancelled, "cancelled"))
    }

    async fn dispatch_action(
        &self,
        id: ActionId,
        action: RuntimeAction,
        root: &RootDir,
        write_denials: Option<PathVisibility>,
    ) -> Result<Value, ActionError> {
        let prepare = |kind| {
            let write_denials = write_denials.map(Arc::new);
            plan::load_plan(root, kind).map(|plan| PreparedRun { plan: plan.into(), write_denials })
        };
        let (kind, operation) = match action {
            RuntimeAction::Run(_) => {
                let run = prepare(RuntimeProcessKind::Dev)?;
                (RuntimeProcessKind::Dev, RuntimeOperation::Run(id, run))
            }
            RuntimeAction::Restart(params) => {
                let run = prepare(RuntimeProcessKind::Dev)?;
                (RuntimeProcessKind::Dev, RuntimeOperation::Restart(id, run, params.grace_ms))
            }
            RuntimeAction::Build(_) => {
                let run = prepare(RuntimeProcessKind::Build)?;
                (RuntimeProcessKind::Build, RuntimeOperation::Build(id, run))
            }
            RuntimeAction::Stop(params) => {
                let reply = self.send_request(RuntimeOperation::Stop(params.grace_ms)).await?;
                if reply == RuntimeReply::Stopped {
                    return self.status_response(false);
                }
                return self.response_for_reply(id, RuntimeProcessKind::Dev, reply);
            }
            RuntimeAction::Status(_) => return self.status_response(false),
            RuntimeAction::Logs(params) => return self.read_logs(&params),
            RuntimeAction::FetchPreview(params) => return self.fetch_preview(params).await,
            RuntimeAction::OpenTerminal(_)
            | RuntimeAction::ReadTerminal(_)
            | RuntimeAction::WriteTerminal(_) => {
                let message = "terminal actions are not runtime actions";
                return Err(ActionError::new(Code::Internal, message));
            }
        };
        let reply = self.send_request(operation).await?;
        self.response_for_reply(id, kind, reply)
    }

    fn status_response(&self, started: bool) -> Result<Value, ActionError> {
        let response = RuntimeActionResult { started, runtime: self.reporter.snapshot().runtime };
        serde_json::to_value(response)
            .map_err(|error| ActionError::new(Code::Internal, error.to_string()))
    }

    /// The result of an action whose request got this reply.
    fn response_for_reply(
        &self,
        id: ActionId,
        kind: RuntimeProcessKind,
        reply: RuntimeReply,
    ) -> Result<Value, ActionError> {
        let view = self.reporter.snapshot().runtime;
        match reply {
            RuntimeReply::Started => self.status_response(view.dev_server.action == Some(id)),
            RuntimeReply::Built => self.status_response(view.build.action == Some(id)),
            RuntimeReply::AlreadyRunning | RuntimeReply::Exited => self.status_response(false),
            RuntimeReply::Crashed(CrashPhase::Building)
            | RuntimeReply::BuildFailed(BuildFailureCause::Failed) => {
                Err(build_failed_error(&view.build))
            }
            RuntimeReply::BuildFailed(BuildFailureCause::NotStarted) => Err(ActionError::new(
                Code::BuildFailed,
                "the build did not start; its log says why",
            )),
            RuntimeReply::Crashed(CrashPhase::Starting | CrashPhase::Running) => {
                Err(runtime_crashed_error(&view))
            }
            RuntimeReply::BuildFailed(BuildFailureCause::Stopped) => {
                Err(ActionError::new(Code::Cancelled, "the build was stopped before it ended"))
            }
            RuntimeReply::Stopped if kind == RuntimeProcessKind::Build => {
                Err(ActionError::new(Code::Cancelled, "it was stopped"))
            }
            RuntimeReply::Stopped => {
                Err(ActionError::new(Code::Cancelled, "it was stopped before it ran"))
            }
            RuntimeReply::StillAlive => {
                let message = "a process of the project is still alive although it was killed; it \
                               may wait for a disk or a driver";
                Err(ActionError::new(Code::StillAlive, message))
            }
            RuntimeReply::Stopping => {
                let message = "the project is being stopped; try again when it has";
                Err(ActionError::new(Code::Conflict, message))
            }
        }
    }

    /// Fetches a page from one of the project's own ports.
    async fn fetch_preview(&self, params: FetchPreview) -> Result<Value, ActionError> {
        let preview = self.reporter.snapshot().runtime.preview;
        let requested = params.port.or(preview.port);
        let open = preview.ports.iter().find(|port| Some(port.port) == requested);
        let open = open.filter(|_| preview.status != PreviewStatus::None);
        let Some(open) = open else {
            let message = match params.port {
                Some(port) => format!("nothing of the project listens on port {port}"),
                None => "nothing of the project listens; `runtime.run` starts it".to_owned(),
            };
            return Err(ActionError::new(Code::PreviewDown, message));
        };
        let limit = usize::try_from(params.limit).unwrap_or(usize::MAX);
        let address = to_reachable_address(open.address, open.port);
        let response =
            http::get(address, &params.path, limit, FETCH_TIMEOUT).await.map_err(|error| {
                let code = match error {
                    HttpError::Disconnected(_) => Code::PreviewDown,
                    HttpError::TimedOut => Code::PreviewTimeout,
                    HttpError::NotHttp => Code::PreviewBroken,
                };
                ActionError::new(code, format!("the server on port {}: {error}", open.port))
            })?;
        let (encoding, content) = match String::from_utf8(response.body) {
            Ok(text) => ("utf-8", text),
            Err(error) => ("base64", STANDARD.encode(error.as_bytes())),
        };
        Ok(json!({
            "port": open.port,
            "status": response.status,
            "headers": response.headers,
            "encoding": encoding,
            "content": content,
            "truncated": response.truncated,
        }))
    }
}

fn build_failed_error(build: &BuildView) -> ActionError {
    let n_errors = build.errors.len();
    let message = match (build.errors.first(), build.exit_code) {
        (Some(first), _) => {
            let location =
                first.file.as_deref().map(|file| format!("{file}: ")).unwrap_or_default();
            let more =
                if n_errors > 1 { format!(" (and {} more)", n_errors - 1) } else { String::new() };
            format!("the build failed: {location}{}{more}", first.message)
        }
        (None, Some(code)) => format!("the build failed with exit code {code}; see its log"),
        (None, None) => "the build was ended by a signal; see its log".to_owned(),
    };
    ActionError::new(Code::BuildFailed, message).with_details(json!({
        "exitCode": build.exit_code,
        "signal": build.signal,
        "errors": build.errors,
        "omitted": build.omitted,
    }))
}

fn runtime_crashed_error(view: &RuntimeView) -> ActionError {
    let crash = view.dev_server.crash.as_ref();
    let why = crash.and_then(|crash| crash.why.clone());
    let message = match (why, crash.and_then(|crash| crash.exit_code)) {
        (Some(why), _) => format!("it did not start: {why}"),
        (None, Some(code)) => format!("it ended at once, with exit code {code}"),
        (None, None) => "it ended at once".to_owned(),
    };
    ActionError::new(Code::RuntimeCrashed, message).with_details(json!({ "crash": crash }))
}
