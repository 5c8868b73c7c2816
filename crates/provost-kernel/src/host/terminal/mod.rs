//! The project's terminal: exactly one, shared by all who look at it.
//!
//! ```text
//!                    ┌─────────────▶ clients that wait for it
//! program ⇄ PTY ─▶ reader (thread) ─▶ ring ─┬─▶ clients that are behind (tasks)
//!            ▲                              └─▶ screen (thread) ─▶ snapshots
//!            └── what is typed, and what the screen answers
//! ```
//!
//! It is opened by the action `pty.open` and lives until its shell ends or the
//! kernel does. What its person sees is what was printed. What others are told,
//! by `pty.read`, is without secrets.

mod attached_client;
mod client_send_state;
mod client_sender;
mod client_windows;
mod output_ring;
mod pty_input;
mod pty_lifecycle;
mod pty_reader;
mod redacted_read;
mod screen;
mod screen_renderer;
mod shared_pty_state;

use parking_lot::Mutex;
use std::sync::Arc;
use std::time::Duration;

use provost_core::action::{OpenPty, ReadPty, WritePty};
use provost_core::redact::Redactor;
use provost_proto::kernel::ErrorInfo;
use provost_proto::runtime::{
    RuntimeChange, StopCause, TerminalClosed, TerminalSize, TerminalStatus, TerminalView,
};
use provost_proto::terminal::TerminalAttachResponse;
use provost_proto::{ActionId, Code};
use provost_sandbox::confine::SandboxExit;
use provost_sandbox::pty::PtySize;
use provost_sandbox::sandbox_policy::SandboxPaths;
use serde_json::{Value, json};
use tokio::sync::{Semaphore, mpsc};

use crate::ActionError;
use crate::host::runtime::runtime_reporter::RuntimeReporter;
pub(super) use attached_client::AttachedClient;
use client_windows::ClientWindows;
use pty_input::{InputRejected, PtyInput};
use pty_lifecycle::PtyOpenOptions;
pub(super) use pty_lifecycle::UserShell;
use shared_pty_state::{PtyExit, SharedPtyState};

/// The least time between two changes of the size: whoever drags a window would
/// otherwise keep the program busy with nothing else.
const MIN_RESIZE_INTERVAL: Duration = Duration::from_millis(50);

/// The terminal of a project, whether it is open or not.
#[derive(Debug)]
pub(super) struct ProjectTerminal {
    shell: UserShell,
    now: Arc<RuntimeReporter>,
    live: Mutex<Option<Arc<PtySession>>>,
    /// Whoever opens or closes it has the turn.
    turn: Semaphore,
}

/// A terminal that was opened.
#[derive(Debug)]
struct PtySession {
    action: ActionId,
    pid: u32,
    line: Arc<SharedPtyState>,
    input: Arc<PtyInput>,
    clients: ClientWindows,
    stop: mpsc::Sender<StopCause>,
}

impl Drop for PtySession {
    fn drop(&mut self) {
        self.line.close();
    }
}

impl PtySession {
    fn exit_status(&self) -> Option<PtyExit> {
        self.line.lock_state().ended
    }

    /// Gives the terminal the size that its clients want, whenever they do.
    async fn run_resize_loop(self: Arc<Self>, now: Arc<RuntimeReporter>) {
        let mut wanted = self.clients.subscribe_size();
        while wanted.changed().await.is_ok() {
            let Some(size) = *wanted.borrow_and_update() else { continue };
            if self.line.lock_state().size == size {
                continue;
            }
            // What the program prints when it is told comes behind the mark, and nobody
            // sees the mark before the program can be asked.
            self.line.update_state(|state| {
                state.record_resize(size);
                if let Err(error) = self.input.resize(size) {
                    tracing::warn!(%error, "the terminal keeps its size");
                }
            });
            let PtySize { cols, rows } = size;
            let resized = RuntimeChange::TerminalResized(TerminalSize { cols, rows });
            report_change(&now, self.action, resized).await;
            tokio::time::sleep(MIN_RESIZE_INTERVAL).await;
        }
    }
}

impl ProjectTerminal {
    pub(super) fn new(shell: UserShell, now: Arc<RuntimeReporter>) -> Self {
        Self { shell, now, live: Mutex::default(), turn: Semaphore::new(1) }
    }

    fn current_session(&self) -> Option<Arc<PtySession>> {
        self.live.lock().clone()
    }

    /// Whether its shell runs.
    pub(super) fn is_live(&self) -> bool {
        self.current_session().is_some_and(|live| live.exit_status().is_none())
    }

    /// How it stands.
    pub(super) fn view(&self) -> TerminalView {
        let Some(live) = self.current_session() else { return TerminalView::default() };
        let state = live.line.lock_state();
        let (exit_code, signal) = split_exit(state.ended.and_then(|PtyExit(exit)| exit));
        let is_live = state.ended.is_none();
        TerminalView {
            status: if is_live { TerminalStatus::Live } else { TerminalStatus::Exited },
            action: Some(live.action),
            pid: Some(live.pid),
            cols: state.size.cols,
            rows: state.size.rows,
            offset: Some(state.ring.end()),
            exit_code,
            signal,
        }
    }

    /// `pty.open`: opens it, unless it is open.
    pub(super) async fn open(
        &self,
        id: ActionId,
        params: &OpenPty,
        places: &SandboxPaths<'_>,
    ) -> Result<Value, ActionError> {
        let turn = self.turn.acquire().await;
        let _turn = turn.map_err(|_| ActionError::new(Code::Unavailable, "the kernel ends"))?;
        let opened = !self.is_live();
        if opened {
            let start = self.clear_ended_session();
            let size = PtySize { cols: params.cols, rows: params.rows };
            let beginning = PtyOpenOptions { places, size, start };
            let live =
                pty_lifecycle::open_pty_session(&self.shell, &self.now, id, beginning).await?;
            *self.live.lock() = Some(live);
        }
        let view = self.view();
        Ok(json!({
            "opened": opened,
            "pid": view.pid,
            "cols": view.cols,
            "rows": view.rows,
            "offset": view.offset,
        }))
    }

    /// Lets go of a terminal that has ended; returns where the next one begins.
    /// Not where the last one ended, so that nobody takes one for the other.
    fn clear_ended_session(&self) -> u64 {
        let last = self.live.lock().take();
        last.map_or_else(random_start_offset, |last| last.line.lock_state().ring.end() + 1)
    }

    fn require_session(&self) -> Result<Arc<PtySession>, ActionError> {
        self.current_session().ok_or_else(|| {
            ActionError::new(
                Code::PtyDead,
                "the project's terminal is not open; `pty.open` opens it",
            )
        })
    }

    /// `pty.read`: what stands on the screen, or what was printed.
    pub(super) async fn read(
        &self,
        params: &ReadPty,
        redactor: &Redactor,
    ) -> Result<Value, ActionError> {
        let live = self.require_session()?;
        match params.after {
            Some(after) => Ok(redacted_read::read_printed(&live, after, params.limit, redactor)),
            None => redacted_read::read_screen(&live, params.scrollback, redactor).await,
        }
    }

    /// `pty.write`: types.
    pub(super) fn write(&self, params: &WritePty) -> Result<Value, ActionError> {
        let live = self.require_session()?;
        let offset = live.line.lock_state().ring.end();
        match live.input.push(params.text.as_bytes()) {
            Ok(()) => Ok(json!({ "offset": offset })),
            Err(InputRejected::Full) => {
                let why = "the program does not read its input; try again later";
                Err(ActionError::new(Code::Conflict, why))
            }
            Err(InputRejected::Ended) => {
                let why = "the terminal's shell has ended; `pty.open` opens it again";
                Err(ActionError::new(Code::PtyDead, why))
            }
        }
    }

    /// Lets a client in. One that was here before may still see how it ended;
    /// whoever comes anew needs a terminal that lives.
    pub(super) fn attach(
        &self,
        after: Option<u64>,
        cols: u16,
        rows: u16,
    ) -> Result<(TerminalAttachResponse, AttachedClient), ActionError> {
        let size = attached_client::validate_size(cols, rows)
            .map_err(|ErrorInfo { code, message, .. }| ActionError::new(code, message))?;
        let live = self.require_session()?;
        let state = live.line.lock_state();
        if state.ended.is_some() && after.is_none() {
            return Err(ActionError::new(Code::PtyDead, "the terminal's shell has ended"));
        }
        let attached = TerminalAttachResponse {
            pid: live.pid,
            cols: state.size.cols,
            rows: state.size.rows,
            oldest: state.ring.oldest(),
            end: state.ring.end(),
        };
        drop(state);
        Ok((attached, AttachedClient { live, after, size }))
    }

    /// Ends it; when it returns, nothing of it is left.
    pub(super) async fn stop(&self, cause: StopCause) {
        let Some(live) = self.current_session() else { return };
        if live.stop.try_send(cause).is_err() {
            tracing::debug!("the terminal was told to end already");
        }
        let mut news = live.line.subscribe_changes();
        while live.exit_status().is_none() {
            if news.changed().await.is_err() {
                return;
            }
        }
    }
}

/// Where the first terminal of a kernel process begins: somewhere. A place in one
/// that an earlier process had, which died with it, is then none in this one, and
/// whoever comes back with it is shown what there is.
fn random_start_offset() -> u64 {
    // JavaScript counts exactly up to 2^53, and there must be room to go on.
    uuid::Uuid::new_v4().as_u64_pair().1 & ((1 << 52) - 1)
}

/// Tells the daemon. A kernel that cannot keep a report is about to end.
async fn report_change(now: &RuntimeReporter, action: ActionId, change: RuntimeChange) {
    if let Err(error) = now.report_change(action, change).await {
        tracing::error!(%error, "what happened to the terminal could not be kept");
    }
}

/// How a shell ended: by itself, or by a signal.
fn split_exit(exit: Option<SandboxExit>) -> (Option<i32>, Option<i32>) {
    match exit {
        Some(SandboxExit::Code(code)) => (Some(code), None),
        Some(SandboxExit::Signal(signal)) => (None, Some(signal)),
        None => (None, None),
    }
}

/// The end of a terminal, as it is told.
fn terminal_closed_change(cause: StopCause, exit: Option<SandboxExit>) -> RuntimeChange {
    let (exit_code, signal) = split_exit(exit);
    RuntimeChange::TerminalClosed(TerminalClosed { cause, exit_code, signal })
}
