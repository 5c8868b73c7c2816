//! A sandbox that prepares the next run in advance while commands keep coming.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use provost_sandbox::confine::Sandbox;

/// How long a standby supervisor waits for a command.
const STANDBY_TTL: Duration = Duration::from_secs(20);

/// A sandbox, and whether a task expires its standby supervisor.
#[derive(Debug)]
pub(super) struct StandbySandbox {
    sandbox: Sandbox,
    watched: AtomicBool,
}

impl StandbySandbox {
    pub(super) fn new(sandbox: Sandbox) -> Self {
        Self { sandbox, watched: AtomicBool::new(false) }
    }

    pub(super) fn sandbox(&self) -> &Sandbox {
        &self.sandbox
    }

    /// Starts a standby supervisor in the background when a command has ended, since
    /// another may follow soon.
    pub(super) fn start_standby(self: Arc<Self>) {
        drop(tokio::task::spawn_blocking(move || {
            if let Err(error) = self.sandbox.start_standby() {
                // The next command will fail with the same error and report it.
                tracing::debug!(%error, "cannot start a standby supervisor");
            }
            if !self.watched.swap(true, Ordering::AcqRel) {
                drop(tokio::spawn(self.run_standby_expiry()));
            }
        }));
    }

    async fn run_standby_expiry(self: Arc<Self>) {
        loop {
            while let Some(left) = self.sandbox.expire_standby(STANDBY_TTL) {
                tokio::time::sleep(left).await;
            }
            self.watched.store(false, Ordering::Release);
            // A supervisor may have been started between the check and the flag.
            let missed = self.sandbox.expire_standby(STANDBY_TTL).is_some();
            if !missed || self.watched.swap(true, Ordering::AcqRel) {
                return;
            }
        }
    }
}
