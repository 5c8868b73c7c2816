//! Who looks at the terminal, and whose window it fits.
//!
//! The terminal has the size of whoever typed or resized last; when they leave,
//! of whoever did before them. When nobody is left it stays as it is.

use parking_lot::Mutex;
use std::collections::HashMap;

use provost_sandbox::pty::PtySize;
use tokio::sync::watch;

#[derive(Debug)]
pub(super) struct ClientWindows {
    book: Mutex<ClientWindowsState>,
    wanted: watch::Sender<Option<PtySize>>,
}

#[derive(Debug, Default)]
struct ClientWindowsState {
    windows: HashMap<u64, ClientWindow>,
    /// Counts what clients do, to tell who was the last.
    moments: u64,
}

#[derive(Debug)]
struct ClientWindow {
    size: PtySize,
    active: u64,
}

impl ClientWindows {
    pub(super) fn new() -> Self {
        let (wanted, _) = watch::channel(None);
        Self { book: Mutex::default(), wanted }
    }

    /// The size the terminal should have, whenever that changes.
    pub(super) fn subscribe_size(&self) -> watch::Receiver<Option<PtySize>> {
        self.wanted.subscribe()
    }

    /// Someone comes with a window of this size.
    pub(super) fn add_client(&self, size: PtySize) -> u64 {
        self.update_windows(|book| {
            let id = book.moments;
            book.windows.insert(id, ClientWindow { size, active: id });
            id
        })
    }

    pub(super) fn record_resize(&self, id: u64, size: PtySize) {
        self.update_windows(|book| {
            let active = book.moments;
            if let Some(window) = book.windows.get_mut(&id) {
                *window = ClientWindow { size, active };
            }
        });
    }

    pub(super) fn record_input(&self, id: u64) {
        self.update_windows(|book| {
            let active = book.moments;
            if let Some(window) = book.windows.get_mut(&id) {
                window.active = active;
            }
        });
    }

    pub(super) fn remove_client(&self, id: u64) {
        self.update_windows(|book| book.windows.remove(&id));
    }

    fn update_windows<T>(&self, change: impl FnOnce(&mut ClientWindowsState) -> T) -> T {
        let mut book = self.book.lock();
        book.moments += 1;
        let out = change(&mut book);
        let last = book.windows.values().max_by_key(|window| window.active);
        if let Some(size) = last.map(|window| window.size) {
            self.wanted.send_if_modified(|wanted| wanted.replace(size) != Some(size));
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
        let wanted = clients.subscribe_size();
        let now = || *wanted.borrow();
        assert_eq!(now(), None);
        let first = clients.add_client(small);
        assert_eq!(now(), Some(small));
        let second = clients.add_client(large);
        assert_eq!(now(), Some(large), "who comes has just looked at the size");
        clients.record_input(first);
        assert_eq!(now(), Some(small));
        clients.record_resize(second, PtySize { cols: 90, rows: 30 });
        assert_eq!(now(), Some(PtySize { cols: 90, rows: 30 }));
        clients.remove_client(second);
        assert_eq!(now(), Some(small));
        clients.remove_client(first);
        assert_eq!(now(), Some(small), "nobody is there to whom it would matter");
    }
}
