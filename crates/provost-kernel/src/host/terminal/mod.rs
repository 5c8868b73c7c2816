//! The project's terminal: exactly one PTY, shared by all attached clients.
//!
//! ```text
//!                    ┌─────────────▶ clients that are up to date
//! program ⇄ PTY ─▶ reader (thread) ─▶ ring ─┬─▶ clients that are behind (tasks)
//!            ▲                              └─▶ screen (thread) ─▶ snapshots
//!            └── input of clients, and responses of the screen
//! ```
//!
//! The action `pty.open` opens it, and it lives until its shell or the kernel ends.
//! Attached clients, which are people, see the raw output. `pty.read`, which is for
//! agents, returns redacted output.

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

/// Minimum time between two resizes: a window that is being dragged would otherwise
/// keep the program busy redrawing.
const MIN_RESIZE_INTERVAL: Duration = Duration::from_millis(50);

/// The terminal of a project, open or not.
#[derive(Debug)]
pub(super) struct ProjectTerminal {
    shell: UserShell,
    reporter: Arc<RuntimeReporter>,
    session: Mutex<Option<Arc<PtySession>>>,
    /// Serializes opening and closing.
    open_lock: Semaphore,
}

/// An open or ended terminal.
#[derive(Debug)]
struct PtySession {
    action: ActionId,
    pid: u32,
    shared: Arc<SharedPtyState>,
    input: Arc<PtyInput>,
    clients: ClientWindows,
    stop: mpsc::Sender<StopCause>,
}

impl Drop for PtySession {
    fn drop(&mut self) {
        self.shared.close();
    }
}

impl PtySession {
    fn exit_status(&self) -> Option<PtyExit> {
        self.shared.lock_state().ended
    }

    /// Applies the size that the clients want whenever it changes.
    async fn run_resize_loop(self: Arc<Self>, reporter: Arc<RuntimeReporter>) {
        let mut target_size = self.clients.subscribe_size();
        while target_size.changed().await.is_ok() {
            let Some(size) = *target_size.borrow_and_update() else { continue };
            if self.shared.lock_state().size == size {
                continue;
            }
            // The size change is recorded before the program learns of it, so that what the
            // program prints in response comes after it.
            self.shared.update_state(|state| {
                state.record_resize(size);
                if let Err(error) = self.input.resize(size) {
                    tracing::warn!(%error, "cannot resize the terminal");
                }
            });
            let PtySize { cols, rows } = size;
            let resized = RuntimeChange::TerminalResized(TerminalSize { cols, rows });
            report_change(&reporter, self.action, resized).await;
            tokio::time::sleep(MIN_RESIZE_INTERVAL).await;
        }
    }
}

impl ProjectTerminal {
    pub(super) fn new(shell: UserShell, reporter: Arc<RuntimeReporter>) -> Self {
        Self { shell, reporter, session: Mutex::default(), open_lock: Semaphore::new(1) }
    }

    fn current_session(&self) -> Option<Arc<PtySession>> {
        self.session.lock().clone()
    }

    /// Whether its shell runs.
    pub(super) fn is_live(&self) -> bool {
        self.current_session().is_some_and(|session| session.exit_status().is_none())
    }

    /// The current state.
    pub(super) fn view(&self) -> TerminalView {
        let Some(session) = self.current_session() else { return TerminalView::default() };
        let state = session.shared.lock_state();
        let (exit_code, signal) = split_exit(state.ended.and_then(|PtyExit(exit)| exit));
        let is_live = state.ended.is_none();
        TerminalView {
            status: if is_live { TerminalStatus::Live } else { TerminalStatus::Exited },
            action: Some(session.action),
            pid: Some(session.pid),
            cols: state.size.cols,
            rows: state.size.rows,
            offset: Some(state.ring.end()),
            exit_code,
            signal,
        }
    }

    /// `pty.open`: opens the terminal, unless it is open.
    pub(super) async fn open(
        &self,
        id: ActionId,
        params: &OpenPty,
        paths: &SandboxPaths<'_>,
    ) -> Result<Value, ActionError> {
        let permit = self.open_lock.acquire().await;
        let _permit =
            permit.map_err(|_| ActionError::new(Code::Unavailable, "the kernel is ending"))?;
        let opened = !self.is_live();
        if opened {
            let start = self.clear_ended_session();
            let size = PtySize { cols: params.cols, rows: params.rows };
            let options = PtyOpenOptions { paths, size, start };
            let session =
                pty_lifecycle::open_pty_session(&self.shell, &self.reporter, id, options).await?;
            *self.session.lock() = Some(session);
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

    /// Removes a session that has ended; returns the start offset of the next one. It
    /// differs from the end of the last one, so that a cursor is valid in one only.
    fn clear_ended_session(&self) -> u64 {
        let last = self.session.lock().take();
        last.map_or_else(random_start_offset, |last| last.shared.lock_state().ring.end() + 1)
    }

    fn require_session(&self) -> Result<Arc<PtySession>, ActionError> {
        self.current_session().ok_or_else(|| {
            ActionError::new(
                Code::PtyDead,
                "the project's terminal is not open; `pty.open` opens it",
            )
        })
    }

    /// `pty.read`: the screen, or the output after an offset.
    pub(super) async fn read(
        &self,
        params: &ReadPty,
        redactor: &Redactor,
    ) -> Result<Value, ActionError> {
        let session = self.require_session()?;
        match params.after {
            Some(after) => Ok(redacted_read::read_printed(&session, after, params.limit, redactor)),
            None => redacted_read::read_screen(&session, params.scrollback, redactor).await,
        }
    }

    /// `pty.write`: types into the terminal.
    pub(super) fn write(&self, params: &WritePty) -> Result<Value, ActionError> {
        let session = self.require_session()?;
        let offset = session.shared.lock_state().ring.end();
        match session.input.push(params.text.as_bytes()) {
            Ok(()) => Ok(json!({ "offset": offset })),
            Err(InputRejected::Full) => {
                let message = "the program does not read its input; try again later";
                Err(ActionError::new(Code::Conflict, message))
            }
            Err(InputRejected::Ended) => {
                let message = "the terminal's shell has ended; `pty.open` opens it again";
                Err(ActionError::new(Code::PtyDead, message))
            }
        }
    }

    /// Attaches a client. A client that resumes may still see how the session ended; a
    /// new one needs a live session.
    pub(super) fn attach(
        &self,
        after: Option<u64>,
        cols: u16,
        rows: u16,
    ) -> Result<(TerminalAttachResponse, AttachedClient), ActionError> {
        let size = attached_client::validate_size(cols, rows)
            .map_err(|ErrorInfo { code, message, .. }| ActionError::new(code, message))?;
        let session = self.require_session()?;
        let state = session.shared.lock_state();
        if state.ended.is_some() && after.is_none() {
            return Err(ActionError::new(Code::PtyDead, "the terminal's shell has ended"));
        }
        let attached = TerminalAttachResponse {
            pid: session.pid,
            cols: state.size.cols,
            rows: state.size.rows,
            oldest: state.ring.oldest(),
            end: state.ring.end(),
        };
        drop(state);
        Ok((attached, AttachedClient { session, after, size }))
    }

    /// Stops the terminal; returns when all of its processes have ended.
    pub(super) async fn stop(&self, cause: StopCause) {
        let Some(session) = self.current_session() else { return };
        if session.stop.try_send(cause).is_err() {
            tracing::debug!("the terminal is being stopped already");
        }
        let mut changes = session.shared.subscribe_changes();
        while session.exit_status().is_none() {
            if changes.changed().await.is_err() {
                return;
            }
        }
    }
}

/// A random start offset for the first session of a kernel process. A cursor from a
/// session of an earlier process is then invalid here, and its client gets a
/// snapshot.
fn random_start_offset() -> u64 {
    // JavaScript integers are exact up to 2^53; the rest is room for output.
    uuid::Uuid::new_v4().as_u64_pair().1 & ((1 << 52) - 1)
}

/// Reports a change. A kernel that cannot spool a report is about to end.
async fn report_change(reporter: &RuntimeReporter, action: ActionId, change: RuntimeChange) {
    if let Err(error) = reporter.report_change(action, change).await {
        tracing::error!(%error, "cannot report a change of the terminal");
    }
}

/// The exit code or the signal of a shell.
fn split_exit(exit: Option<SandboxExit>) -> (Option<i32>, Option<i32>) {
    match exit {
        Some(SandboxExit::Code(code)) => (Some(code), None),
        Some(SandboxExit::Signal(signal)) => (None, Some(signal)),
        None => (None, None),
    }
}

/// The change that reports the end of a session.
fn terminal_closed_change(cause: StopCause, exit: Option<SandboxExit>) -> RuntimeChange {
    let (exit_code, signal) = split_exit(exit);
    RuntimeChange::TerminalClosed(TerminalClosed { cause, exit_code, signal })
}
