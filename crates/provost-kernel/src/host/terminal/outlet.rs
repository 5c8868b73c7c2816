//! What one client is sent.
//!
//! Two have their hands on it, one at a time. The client's task does all that
//! takes waiting. The thread that reads the terminal sends what was just printed
//! to whoever waits for it, itself: a letter that is typed would otherwise wait
//! for a second thread to wake up before anybody saw it. Neither waits for the
//! other, nor for the client.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, watch};

use super::line::Line;
use super::sending::{Sending, Step};
use super::stream::Heard;
use crate::quiet::Outgoing;

/// The way to one client.
#[derive(Debug)]
pub(super) struct Outlet {
    write: Outgoing,
    sending: Mutex<Sending>,
    /// There is something that only the task can do.
    more: Notify,
}

impl Outlet {
    /// A way to a client that has seen all up to `after`, if that is still kept.
    pub(super) fn new(
        line: &Line,
        write: Outgoing,
        heard: watch::Receiver<Heard>,
        after: Option<u64>,
    ) -> Arc<Self> {
        let sending = Mutex::new(Sending::new(line, heard, after));
        Arc::new(Self { write, sending, more: Notify::new() })
    }

    fn sending(&self) -> MutexGuard<'_, Sending> {
        self.sending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends what was printed if the client waits for it; else its task does, in time.
    pub(super) fn offer(&self, line: &Line) {
        let step = match self.sending.try_lock() {
            // The task looks again before it rests.
            Ok(sending) if sending.step() != Step::Rest => return,
            Ok(mut sending) => sending.go_on(line, &self.write).unwrap_or(Step::Full),
            Err(_) => Step::Full,
        };
        if step != Step::Rest {
            self.more.notify_one();
        }
    }

    /// Sends until the client has been told of the end, or is gone.
    pub(super) async fn run(
        &self,
        line: &Line,
        mut heard: watch::Receiver<Heard>,
    ) -> io::Result<()> {
        let mut news = line.news();
        loop {
            news.mark_unchanged();
            heard.mark_unchanged();
            let step = self.sending().go_on(line, &self.write)?;
            match step {
                Step::Full => self.write.writable().await?,
                Step::Snapshot => {
                    let Some(snapshot) = line.snapshot().await else { return Ok(()) };
                    self.sending().show(snapshot)?;
                }
                Step::Last => return Ok(()),
                Step::Rest => tokio::select! {
                    () = self.more.notified() => {}
                    changed = news.changed() => if changed.is_err() { return Ok(()) },
                    changed = heard.changed() => if changed.is_err() { return Ok(()) },
                },
            }
        }
    }
}
