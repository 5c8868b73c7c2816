//! A wall that is ready for the next command while commands keep coming.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use provost_sandbox::confine::Sandbox;

/// How long the warden of a command that does not come is kept.
const STANDBY_TTL: Duration = Duration::from_secs(20);

/// A wall, and whether somebody watches that nothing waits behind it for ever.
#[derive(Debug)]
pub(super) struct StandbySandbox {
    wall: Sandbox,
    watched: AtomicBool,
}

impl StandbySandbox {
    pub(super) fn new(wall: Sandbox) -> Self {
        Self { wall, watched: AtomicBool::new(false) }
    }

    pub(super) fn sandbox(&self) -> &Sandbox {
        &self.wall
    }

    /// A command has ended, and another may follow: makes ready for it, beside
    /// everything else, and for a while.
    pub(super) fn start_standby(self: Arc<Self>) {
        drop(tokio::task::spawn_blocking(move || {
            if let Err(error) = self.wall.start_standby() {
                // The next command meets the same, and says so to whoever asked for it.
                tracing::debug!(%error, "nothing could be made ready for the next command");
            }
            if !self.watched.swap(true, Ordering::AcqRel) {
                drop(tokio::spawn(self.run_standby_expiry()));
            }
        }));
    }

    async fn run_standby_expiry(self: Arc<Self>) {
        loop {
            while let Some(left) = self.wall.expire_standby(STANDBY_TTL) {
                tokio::time::sleep(left).await;
            }
            self.watched.store(false, Ordering::Release);
            // One may have been made between the look and the mark.
            let missed = self.wall.expire_standby(STANDBY_TTL).is_some();
            if !missed || self.watched.swap(true, Ordering::AcqRel) {
                return;
            }
        }
    }
}
