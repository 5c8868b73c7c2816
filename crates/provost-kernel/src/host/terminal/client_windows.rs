//! The windows of the attached clients, and the size of the terminal.
//!
//! The terminal has the size of the client that typed or resized last; when that
//! disconnects, of the one before. Without clients the size does not change.

use parking_lot::Mutex;
use std::collections::HashMap;

use provost_sandbox::pty::PtySize;
use tokio::sync::watch;

#[derive(Debug)]
pub(super) struct ClientWindows {
    state: Mutex<ClientWindowsState>,
    target_size: watch::Sender<Option<PtySize>>,
}

#[derive(Debug, Default)]
struct ClientWindowsState {
    windows: HashMap<u64, ClientWindow>,
    /// Counts activity, to find the last active client.
    activity: u64,
}

#[derive(Debug)]
struct ClientWindow {
    size: PtySize,
    last_active: u64,
}

impl ClientWindows {
    pub(super) fn new() -> Self {
        let (target_size, _) = watch::channel(None);
        Self { state: Mutex::default(), target_size }
    }

    /// The size the terminal should have, whenever that changes.
    pub(super) fn subscribe_size(&self) -> watch::Receiver<Option<PtySize>> {
        self.target_size.subscribe()
    }

    /// Someone comes with a window of this size.
    pub(super) fn add_client(&self, size: PtySize) -> u64 {
        self.update_windows(|state| {
            let id = state.activity;
            state.windows.insert(id, ClientWindow { size, last_active: id });
            id
        })
    }

    pub(super) fn record_resize(&self, id: u64, size: PtySize) {
        self.update_windows(|state| {
            let last_active = state.activity;
            if let Some(window) = state.windows.get_mut(&id) {
                *window = ClientWindow { size, last_active };
            }
        });
    }

    pub(super) fn record_input(&self, id: u64) {
        self.update_windows(|state| {
            let last_active = state.activity;
            if let Some(window) = state.windows.get_mut(&id) {
                window.last_active = last_active;
            }
        });
    }

    pub(super) fn remove_client(&self, id: u64) {
        self.update_windows(|state| state.windows.remove(&id));
    }

    fn update_windows<T>(&self, change: impl FnOnce(&mut ClientWindowsState) -> T) -> T {
        let mut state = self.state.lock();
        state.activity += 1;
        let out = change(&mut state);
        let last = state.windows.values().max_by_key(|window| window.last_active);
        if let Some(size) = last.map(|window| window.size) {
            self.target_size
                .send_if_modified(|target_size| target_size.replace(size) != Some(size));
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_to_type_or_resize_sets_the_size() {
        let (small, large) = (PtySize { cols: 80, rows: 24 }, PtySize { cols: 200, rows: 60 });
        let clients = ClientWindows::new();
        let target_size = clients.subscribe_size();
        let now = || *target_size.borrow();
        assert_eq!(now(), None);
        let first = clients.add_client(small);
        assert_eq!(now(), Some(small));
        let second = clients.add_client(large);
        assert_eq!(now(), Some(large), "a new client counts as active");
        clients.record_input(first);
        assert_eq!(now(), Some(small));
        clients.record_resize(second, PtySize { cols: 90, rows: 30 });
        assert_eq!(now(), Some(PtySize { cols: 90, rows: 30 }));
        clients.remove_client(second);
        assert_eq!(now(), Some(small));
        clients.remove_client(first);
        assert_eq!(now(), Some(small), "without clients the size stays");
    }
}
