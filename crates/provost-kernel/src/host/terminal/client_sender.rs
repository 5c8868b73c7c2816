//! What one client is sent.
//!
//! Two have their hands on it, one at a time. The client's task does all that
//! takes waiting. The thread that reads the terminal sends what was just printed
//! to whoever waits for it, itself: a letter that is typed would otherwise wait
//! for a second thread to wake up before anybody saw it. Neither waits for the
//! other, nor for the client.

use parking_lot::{Mutex, MutexGuard};
use std::io;
use std::sync::Arc;

use tokio::sync::{Notify, watch};

use super::attached_client::ClientFeedback;
use super::client_send_state::{ClientSendState, SendStep};
use super::shared_pty_state::SharedPtyState;
use crate::socket_writer::SocketWriter;

/// The way to one client.
#[derive(Debug)]
pub(super) struct ClientSender {
    write: SocketWriter,
    sending: Mutex<ClientSendState>,
    /// There is something that only the task can do.
    more: Notify,
}

impl ClientSender {
    /// A way to a client that has seen all up to `after`, if that is still kept.
    pub(super) fn new(
        line: &SharedPtyState,
        write: SocketWriter,
        heard: watch::Receiver<ClientFeedback>,
        after: Option<u64>,
    ) -> Arc<Self> {
        let sending = Mutex::new(ClientSendState::new(line, heard, after));
        Arc::new(Self { write, sending, more: Notify::new() })
    }

    fn lock_send_state(&self) -> MutexGuard<'_, ClientSendState> {
        self.sending.lock()
    }

    /// Sends what was printed if the client waits for it; else its task does, in time.
    pub(super) fn try_send_output(&self, line: &SharedPtyState) {
        let step = match self.sending.try_lock() {
            // The task looks again before it rests.
            Some(sending) if sending.step() != SendStep::Idle => return,
            Some(mut sending) => {
                sending.send_available(line, &self.write).unwrap_or(SendStep::Blocked)
            }
            None => SendStep::Blocked,
        };
        if step != SendStep::Idle {
            self.more.notify_one();
        }
    }

    /// Sends until the client has been told of the end, or is gone.
    pub(super) async fn run(
        &self,
        line: &SharedPtyState,
        mut heard: watch::Receiver<ClientFeedback>,
    ) -> io::Result<()> {
        let mut news = line.subscribe_changes();
        loop {
            news.mark_unchanged();
            heard.mark_unchanged();
            let step = self.lock_send_state().send_available(line, &self.write)?;
            match step {
                SendStep::Blocked => self.write.writable().await?,
                SendStep::NeedsSnapshot => {
                    let Some(snapshot) = line.request_snapshot().await else { return Ok(()) };
                    self.lock_send_state().queue_snapshot(snapshot)?;
                }
                SendStep::Finished => return Ok(()),
                SendStep::Idle => tokio::select! {
                    () = self.more.notified() => {}
                    changed = news.changed() => if changed.is_err() { return Ok(()) },
                    changed = heard.changed() => if changed.is_err() { return Ok(()) },
                },
            }
        }
    }
}
