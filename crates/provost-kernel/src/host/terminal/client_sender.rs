//! Sends frames to one client.
//!
//! Two parties use it, one at a time. The client's task does all that needs waiting.
//! The thread that reads the PTY sends new output to clients that are up to date
//! itself: otherwise a typed character would wait for another thread to wake up.
//! Neither waits for the other, nor for the client.

use parking_lot::{Mutex, MutexGuard};
use std::io;
use std::sync::Arc;

use tokio::sync::{Notify, watch};

use super::attached_client::ClientFeedback;
use super::client_send_state::{ClientSendState, SendStep};
use super::shared_pty_state::SharedPtyState;
use crate::socket_writer::SocketWriter;

/// The sending side of one client.
#[derive(Debug)]
pub(super) struct ClientSender {
    write: SocketWriter,
    state: Mutex<ClientSendState>,
    /// Notified when there is work for the client's task.
    task_work: Notify,
}

impl ClientSender {
    /// For a client that has seen all output up to `after`, if that is still kept.
    pub(super) fn new(
        shared: &SharedPtyState,
        write: SocketWriter,
        feedback: watch::Receiver<ClientFeedback>,
        after: Option<u64>,
    ) -> Arc<Self> {
        let state = Mutex::new(ClientSendState::new(shared, feedback, after));
        Arc::new(Self { write, state, task_work: Notify::new() })
    }

    fn lock_send_state(&self) -> MutexGuard<'_, ClientSendState> {
        self.state.lock()
    }

    /// Sends new output if the client is up to date; otherwise its task will.
    pub(super) fn try_send_output(&self, shared: &SharedPtyState) {
        let step = match self.state.try_lock() {
            // The task checks again before it waits.
            Some(state) if state.step() != SendStep::Idle => return,
            Some(mut state) => {
                state.send_available(shared, &self.write).unwrap_or(SendStep::Blocked)
            }
            None => SendStep::Blocked,
        };
        if step != SendStep::Idle {
            self.task_work.notify_one();
        }
    }

    /// Sends until the client has been sent the end, or disconnects.
    pub(super) async fn run(
        &self,
        shared: &SharedPtyState,
        mut feedback: watch::Receiver<ClientFeedback>,
    ) -> io::Result<()> {
        let mut changes = shared.subscribe_changes();
        loop {
            changes.mark_unchanged();
            feedback.mark_unchanged();
            let step = self.lock_send_state().send_available(shared, &self.write)?;
            match step {
                SendStep::Blocked => self.write.writable().await?,
                SendStep::NeedsSnapshot => {
                    let Some(snapshot) = shared.request_snapshot().await else { return Ok(()) };
                    self.lock_send_state().queue_snapshot(snapshot)?;
                }
                SendStep::Finished => return Ok(()),
                SendStep::Idle => tokio::select! {
                    () = self.task_work.notified() => {}
                    printed = changes.changed() => if printed.is_err() { return Ok(()) },
                    acknowledged = feedback.changed() => if acknowledged.is_err() { return Ok(()) },
                },
            }
        }
    }
}
