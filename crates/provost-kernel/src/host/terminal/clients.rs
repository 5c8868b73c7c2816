//! Who looks at the terminal, and whose window it fits.
//!
//! The terminal has the size of whoever typed or resized last; when they leave,
//! of whoever did before them. When nobody is left it stays as it is.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use provost_sandbox::pty::PtySize;
use tokio::sync::watch;

#[derive(Debug)]
pub(super) struct Clients {
    book: Mutex<Book>,
    wanted: watch::Sender<Option<PtySize>>,
}

#[derive(Debug, Default)]
struct Book {
    windows: HashMap<u64, Window>,
    /// Counts what clients do, to tell who was the last.
    moments: u64,
}

#[derive(Debug)]
struct Window {
    size: PtySize,
    active: u64,
}

impl Clients {
    pub(super) fn new() -> Self {
        let (wanted, _) = watch::channel(None);
        Self { book: Mutex::default(), wanted }
    }

    /// The size the terminal should have, whenever that changes.
    pub(super) fn wanted(&self) -> watch::Receiver<Option<PtySize>> {
        self.wanted.subscribe()
    }

    /// Someone comes with a window of this size.
    pub(super) fn join(&self, size: PtySize) -> u64 {
        self.change(|book| {
            let id = book.moments;
            book.windows.insert(id, Window { size, active: id });
            id
        })
    }

    pub(super) fn resized(&self, id: u64, size: PtySize) {
        self.change(|book| {
            let active = book.moments;
            if let Some(window) = book.windows.get_mut(&id) {
                *window = Window { size, active };
            }
        });
    }

    pub(super) fn typed(&self, id: u64) {
        self.change(|book| {
            let active = book.moments;
            if let Some(window) = book.windows.get_mut(&id) {
                window.active = active;
            }
        });
    }

    pub(super) fn leave(&self, id: u64) {
        self.change(|book| book.windows.remove(&id));
    }

    fn change<T>(&self, change: impl FnOnce(&mut Book) -> T) -> T {
        let mut book = self.book.lock().unwrap_or_else(PoisonError::into_inner);
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
        let clients = Clients::new();
        let wanted = clients.wanted();
        let now = || *wanted.borrow();
        assert_eq!(now(), None);
        let first = clients.join(small);
        assert_eq!(now(), Some(small));
        let second = clients.join(large);
        assert_eq!(now(), Some(large), "who comes has just looked at the size");
        clients.typed(first);
        assert_eq!(now(), Some(small));
        clients.resized(second, PtySize { cols: 90, rows: 30 });
        assert_eq!(now(), Some(PtySize { cols: 90, rows: 30 }));
        clients.leave(second);
        assert_eq!(now(), Some(small));
        clients.leave(first);
        assert_eq!(now(), Some(small), "nobody is there to whom it would matter");
    }
}
