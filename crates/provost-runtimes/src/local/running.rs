//! One runtime in the daemon: its driver as a task, and what is known of it.

use std::sync::Arc;
use std::time::Duration;

use provost_gateway::{Gateway, LocalRuntimeGrant, LocalRuntimeName};
use provost_notebook::agent::{AgentOptions, PriorSession};
use provost_proto::notebook::{
    LocalRuntime, RuntimeCapabilities, RuntimeEndReason, RuntimeLocation,
};
use provost_proto::{NotebookId, RuntimeSessionId};
use tokio::sync::watch;
use tokio::time::timeout;

use crate::driver::{DriverSettings, RuntimeControl, RuntimeDriver, RuntimeEnd, RuntimeNotice};
use crate::handler::ExecutionHandler;
use crate::store::LocalStore;

/// How long a start may take until it is answered.
const START_TIMEOUT: Duration = Duration::from_secs(30);

/// How long to wait for the end of a runtime that was told to stop.
const STOP_TIMEOUT: Duration = Duration::from_secs(30);

/// A runtime to start.
#[derive(Debug)]
pub(super) struct RuntimeStart {
    pub(super) grant: LocalRuntimeGrant,
    pub(super) slot: Option<String>,
    pub(super) prior: Option<PriorSession>,
}

/// What is known of a runtime.
#[derive(Debug, Clone, PartialEq, Eq)]
enum RuntimeProgress {
    Starting,
    /// It has this session, in this slot.
    Active(RuntimeSessionId, String),
    Ended(RuntimeEnd),
}

/// A runtime of this daemon.
#[derive(Debug)]
pub(super) struct RunningRuntime {
    grant: LocalRuntimeGrant,
    slot: Option<String>,
    control: RuntimeControl,
    progress: watch::Receiver<RuntimeProgress>,
}

impl RunningRuntime {
    pub(super) fn spawn(
        gateway: &Arc<Gateway>,
        RuntimeStart { grant, slot, prior }: RuntimeStart,
        capabilities: RuntimeCapabilities,
        handler: Arc<dyn ExecutionHandler>,
    ) -> Self {
        let notebooks = Arc::clone(&gateway.notebooks);
        let store = LocalStore::new(notebooks, grant.notebook_access(), grant.notebook());
        let options = AgentOptions {
            session: gateway.clock().new_id(),
            runtime_id: grant.name().to_string(),
            runtime_type: grant.name().runtime_type.clone(),
            slot: slot.clone(),
            place: RuntimeLocation::Native,
            capabilities,
        };
        let artifacts = store.artifact_uploader();
        let (sender, progress) = watch::channel(RuntimeProgress::Starting);
        let active = sender.clone();
        let settings = DriverSettings { options, prior, artifacts };
        let (driver, control) = RuntimeDriver::new(store, handler, settings, move |notice| {
            if let RuntimeNotice::Active { session, slot } = notice {
                active.send_replace(RuntimeProgress::Active(session, slot));
            }
        });
        let lease = gateway.notebooks.lease_grant(&grant);
        let (auth, stop) = (Arc::clone(&gateway.auth), control.clone());
        let name = grant.name().clone();
        tokio::spawn(async move {
            let driving = driver.run();
            tokio::pin!(driving);
            let lease_end = async {
                if let Some(mut lease) = lease {
                    auth.wait_lease_end(&mut lease).await;
                }
            };
            let end = tokio::select! {
                end = &mut driving => end,
                () = lease_end => {
                    let why = "the token of who started it is not valid any more".to_owned();
                    stop.shut_down(RuntimeEndReason::Error, Some(why)).await;
                    driving.await
                }
            };
            tracing::info!(runtime = %name, ?end, "a runtime of a notebook has ended");
            sender.send_replace(RuntimeProgress::Ended(end));
        });
        Self { grant, slot, control, progress }
    }

    pub(super) fn notebook(&self) -> NotebookId {
        self.grant.notebook()
    }

    pub(super) fn name(&self) -> &LocalRuntimeName {
        self.grant.name()
    }

    pub(super) fn principal(&self) -> &str {
        self.grant.principal()
    }

    pub(super) fn has_ended(&self) -> bool {
        matches!(&*self.progress.borrow(), RuntimeProgress::Ended(_))
    }

    pub(super) fn is_in_slot(&self, slot: &str) -> bool {
        match &*self.progress.borrow() {
            RuntimeProgress::Active(_, actual) => actual == slot,
            RuntimeProgress::Starting | RuntimeProgress::Ended(_) => {
                self.slot.as_deref() == Some(slot)
            }
        }
    }

    pub(super) fn describe(&self) -> LocalRuntime {
        let (session, slot) = match &*self.progress.borrow() {
            RuntimeProgress::Active(session, slot) => (Some(*session), Some(slot.clone())),
            RuntimeProgress::Starting | RuntimeProgress::Ended(_) => (None, self.slot.clone()),
        };
        let LocalRuntimeName { runtime_type, role } = self.name().clone();
        LocalRuntime { runtime_id: self.name().to_string(), runtime_type, role, slot, session }
    }

    /// Waits until its session is active; fails with the reason if it ends before.
    pub(super) async fn wait_until_active(&self) -> Result<LocalRuntime, String> {
        let mut progress = self.progress.clone();
        let is_decided = |progress: &RuntimeProgress| *progress != RuntimeProgress::Starting;
        let decided = timeout(START_TIMEOUT, progress.wait_for(is_decided)).await;
        match decided.map(|decided| decided.map(|progress| progress.clone())) {
            Ok(Ok(RuntimeProgress::Ended(RuntimeEnd { why, .. }))) => {
                Err(why.unwrap_or_else(|| "the runtime ended when it started".to_owned()))
            }
            Ok(Ok(RuntimeProgress::Active(..) | RuntimeProgress::Starting)) => Ok(self.describe()),
            Ok(Err(_)) => Err("the runtime failed; the daemon's log says more".to_owned()),
            Err(_) => Err("the runtime does not start in time".to_owned()),
        }
    }

    async fn wait_for_end(&self) {
        let mut progress = self.progress.clone();
        let has_ended = |progress: &RuntimeProgress| matches!(progress, RuntimeProgress::Ended(_));
        if timeout(STOP_TIMEOUT, progress.wait_for(has_ended)).await.is_err() {
            tracing::warn!(runtime = %self.name(), "a runtime of a notebook does not end");
        }
    }

    pub(super) async fn shut_down(&self, reason: RuntimeEndReason, why: Option<String>) {
        self.control.shut_down(reason, why).await;
        self.wait_for_end().await;
    }

    pub(super) async fn detach(&self) {
        self.control.detach().await;
        self.wait_for_end().await;
    }
}
