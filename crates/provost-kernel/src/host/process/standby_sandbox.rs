//! A sandbox that prepares the next run in advance while commands keep coming.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use provost_sandbox::confine::Sandbox;

/// How long a standby supervisor waits for a command.
const STANDBY_TTL: Duration = Duration::from_secs(20);

/// The number of a home that no other run uses, until it is dropped.
#[derive(Debug)]
pub(super) struct HomeNumber {
    pub(super) number: usize,
    used: Arc<Mutex<BTreeSet<usize>>>,
}

impl HomeNumber {
    /// The lowest free number, whose home has the caches of most earlier runs.
    pub(super) fn acquire(used: &Arc<Mutex<BTreeSet<usize>>>) -> Self {
        let mut numbers = used.lock();
        // One more than are in use is always free.
        let number = (0..=numbers.len()).find(|number| !numbers.contains(number)).unwrap_or(0);
        numbers.insert(number);
        Self { number, used: Arc::clone(used) }
    }
}

impl Drop for HomeNumber {
    fn drop(&mut self) {
        self.used.lock().remove(&self.number);
    }
}

/// A sandbox, and whether a task expires its standby supervisor.
#[derive(Debug)]
pub(super) struct StandbySandbox {
    sandbox: Sandbox,
    /// The number of a home that is for one run only.
    home_number: Option<HomeNumber>,
    watched: AtomicBool,
}

impl StandbySandbox {
    pub(super) fn new(sandbox: Sandbox) -> Self {
        Self { sandbox, home_number: None, watched: AtomicBool::new(false) }
    }

    /// The same for one run with a home of its own, whose number is free again afterwards.
    pub(super) fn with_home_number(self, number: HomeNumber) -> Self {
        Self { home_number: Some(number), ..self }
    }

    pub(super) fn sandbox(&self) -> &Sandbox {
        &self.sandbox
    }

    /// Starts a standby supervisor in the background when a command has ended, since
    /// another may follow soon.
    pub(super) fn start_standby(self: Arc<Self>) {
        if self.home_number.is_some() {
            return;
        }
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
