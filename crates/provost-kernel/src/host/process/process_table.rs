//! The running commands, the ended ones, and the outcomes of actions.

use parking_lot::{Mutex, MutexGuard};
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use provost_proto::kernel::{ActionOutcome, ErrorInfo};
use provost_proto::{ActionId, Code};
use serde_json::{Value, json};
use tokio::sync::watch;

use super::command_runner::MAX_RUNNING_COMMANDS;
use super::process_handle::{GRACE, ProcessControl, ProcessHandle};
use crate::ActionError;

/// Ended commands that are kept for `terminal.read`.
const MAX_ENDED_PROCESSES: usize = 64;

/// Outcomes that are kept for a daemon that reconnects.
const MAX_KEPT_OUTCOMES: usize = 4096;

/// The actions of a kernel: running, ended, and their outcomes.
#[derive(Debug, Default)]
pub(in crate::host) struct ProcessTable {
    entries: Mutex<ProcessTableState>,
    /// Changes when an action has ended.
    ended: watch::Sender<()>,
}

#[derive(Debug, Default)]
struct ProcessTableState {
    processes: HashMap<ActionId, Arc<ProcessHandle>>,
    ended: VecDeque<ActionId>,
    /// Running file actions, with the flag that cancels them.
    files: HashMap<ActionId, Arc<AtomicBool>>,
    outcomes: VecDeque<(ActionId, ActionOutcome)>,
}

impl ProcessTable {
    fn lock_state(&self) -> MutexGuard<'_, ProcessTableState> {
        self.entries.lock()
    }

    /// The actions that are running.
    pub(in crate::host) fn running_actions(&self) -> Vec<ActionId> {
        let entries = self.lock_state();
        let commands = entries.processes.values().filter(|process| process.outcome().is_none());
        commands.map(|process| process.id).chain(entries.files.keys().copied()).collect()
    }

    /// Registers a file action; the flag is set when it is cancelled.
    pub(in crate::host) fn begin_action(&self, id: ActionId) -> Arc<AtomicBool> {
        let flag = Arc::new(AtomicBool::new(false));
        self.lock_state().files.insert(id, Arc::clone(&flag));
        flag
    }

    /// Records the outcome of an action.
    pub(in crate::host) fn finish_action(
        &self,
        id: ActionId,
        result: &Result<Value, ActionError>,
        duration: Duration,
    ) {
        let fault = result.as_ref().err().cloned();
        let changed = result.as_ref().ok().and_then(|value| value.get("changed")).cloned();
        let mut outcome = ActionOutcome {
            exit_code: None,
            signal: None,
            duration_ms: u64::try_from(duration.as_millis()).unwrap_or(u64::MAX),
            fault: fault.map(|ActionError { code, message, details }| ErrorInfo {
                code,
                message,
                details,
            }),
            summary: json!({ "changed": changed }),
        };
        let set_aside = result.as_ref().ok().and_then(|value| value.get("setAside"));
        if let Some(set_aside) = set_aside {
            outcome.summary["setAside"] = set_aside.clone();
        }
        let mut entries = self.lock_state();
        entries.files.remove(&id);
        entries.outcomes.push_back((id, outcome));
        let over = entries.outcomes.len().saturating_sub(MAX_KEPT_OUTCOMES);
        entries.outcomes.drain(..over);
        drop(entries);
        self.ended.send_replace(());
    }

    /// The sender that wakes those who wait for the end of an action.
    pub(in crate::host) fn ended_sender(&self) -> watch::Sender<()> {
        self.ended.clone()
    }

    /// Receives a change whenever an action has ended.
    pub(in crate::host) fn subscribe_ended(&self) -> watch::Receiver<()> {
        self.ended.subscribe()
    }

    /// The outcomes of those of these actions that have ended.
    pub(in crate::host) fn find_outcomes(
        &self,
        ids: &[ActionId],
    ) -> Vec<(ActionId, ActionOutcome)> {
        let entries = self.lock_state();
        ids.iter()
            .filter_map(|id| {
                let done = entries.outcomes.iter().find(|(known, _)| known == id);
                let outcome = done.map(|(_, outcome)| outcome.clone());
                let ended = || entries.processes.get(id).and_then(|process| process.outcome());
                outcome.or_else(ended).map(|outcome| (*id, outcome))
            })
            .collect()
    }

    /// Cancels an action; returns whether it was running.
    pub(in crate::host) fn cancel(&self, id: ActionId) -> bool {
        let entries = self.lock_state();
        if let Some(flag) = entries.files.get(&id) {
            flag.store(true, Ordering::Relaxed);
            return true;
        }
        let fault = ErrorInfo {
            code: Code::Cancelled,
            message: "it was stopped".to_owned(),
            details: None,
        };
        entries.processes.get(&id).is_some_and(|process| {
            process.outcome().is_none()
                && process.control.try_send(ProcessControl::Stop(GRACE, Some(fault))).is_ok()
        })
    }

    /// Stops all actions; returns when all processes have ended.
    pub(in crate::host) async fn stop_all(&self) {
        let running: Vec<_> = {
            let entries = self.lock_state();
            entries.files.values().for_each(|flag| flag.store(true, Ordering::Relaxed));
            entries.processes.values().filter(|p| p.outcome().is_none()).cloned().collect()
        };
        for process in &running {
            let message = "the kernel was stopped".to_owned();
            let fault = ErrorInfo { code: Code::Cancelled, message, details: None };
            // If its queue is full, it is being stopped already.
            drop(process.control.try_send(ProcessControl::Stop(GRACE, Some(fault))));
        }
        for process in running {
            process.wait_until_ended().await;
        }
    }

    /// The running commands.
    pub(in crate::host) fn running_processes(&self) -> Vec<Arc<ProcessHandle>> {
        let entries = self.lock_state();
        entries.processes.values().filter(|process| process.outcome().is_none()).cloned().collect()
    }

    /// Adds a command.
    pub(in crate::host) fn insert_process(&self, process: &Arc<ProcessHandle>) {
        let mut entries = self.lock_state();
        entries.processes.insert(process.id, Arc::clone(process));
        entries.ended.push_back(process.id);
        // Evict the oldest ended commands; running ones are never evicted.
        let mut over =
            entries.processes.len().saturating_sub(MAX_ENDED_PROCESSES + MAX_RUNNING_COMMANDS);
        let ProcessTableState { processes, ended, .. } = &mut *entries;
        ended.retain(|id| {
            let evict = over > 0 && processes.get(id).is_none_or(|p| p.outcome().is_some());
            if evict {
                over -= 1;
                processes.remove(id);
            }
            !evict
        });
    }

    /// All commands, the oldest first.
    pub(in crate::host) fn all_processes(&self) -> Vec<Arc<ProcessHandle>> {
        let mut processes: Vec<_> = self.lock_state().processes.values().cloned().collect();
        processes.sort_by_key(|process| process.id);
        processes
    }

    /// The command with this id.
    pub(in crate::host) fn find_process(
        &self,
        id: &str,
    ) -> Result<Arc<ProcessHandle>, ActionError> {
        let known =
            id.parse().ok().and_then(|id: ActionId| self.lock_state().processes.get(&id).cloned());
        known.ok_or_else(|| {
            let message = format!("no process `{id}`; `terminal.list` shows the known ones");
            ActionError::new(Code::NoSuchProcess, message)
        })
    }
}
