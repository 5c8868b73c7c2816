//! The lines that a person types.

use std::collections::VecDeque;
use std::io::BufRead as _;
use std::time::Instant;

use tokio::sync::mpsc;

/// Lines that may wait. One that waits makes the keyboard wait.
const LINE_QUEUE_CAPACITY: usize = 16;

/// A line that is typed now.
pub(super) struct TypedLine {
    pub(super) text: String,
    /// When it came.
    pub(super) at: Instant,
}

/// Where a person types.
pub(super) struct LineInput {
    lines: mpsc::Receiver<TypedLine>,
    /// Those that were typed while something else went on.
    early: VecDeque<String>,
    /// Those of them that a stop held back: they are said when the person goes on.
    pub(super) held: Vec<String>,
}

impl LineInput {
    /// Reads in a thread of its own, which ends with us.
    pub(super) fn spawn() -> Self {
        let (to, lines) = mpsc::channel(LINE_QUEUE_CAPACITY);
        std::thread::spawn(move || {
            let mut stdin = std::io::stdin().lock();
            let mut line = String::new();
            while stdin.read_line(&mut line).is_ok_and(|n_read| n_read > 0) {
                let typed = TypedLine { text: std::mem::take(&mut line), at: Instant::now() };
                if to.blocking_send(typed).is_err() {
                    return;
                }
            }
        });
        Self { lines, early: VecDeque::new(), held: Vec::new() }
    }

    /// A line that is typed now.
    pub(super) async fn next_typed(&mut self) -> Option<TypedLine> {
        self.lines.recv().await
    }

    /// The next line; `None` after the last.
    pub(super) async fn next(&mut self) -> Option<String> {
        match self.early.pop_front() {
            Some(line) => Some(line),
            None => self.lines.recv().await.map(|line| line.text),
        }
    }

    /// Holds back what was typed for after a turn that was stopped; what it was.
    pub(super) fn hold_deferred(&mut self) -> &[String] {
        self.held.extend(self.early.drain(..));
        &self.held
    }

    /// Lets what was held back be read next, and then this.
    pub(super) fn release_held(&mut self, then: Option<String>) {
        self.early.extend(self.held.drain(..).chain(then));
    }

    /// Takes back all that waits, the first first.
    pub(super) fn drain_all(&mut self) -> Vec<String> {
        self.held.drain(..).chain(self.early.drain(..)).collect()
    }

    /// Keeps a line for later; tells whether there was room for it.
    pub(super) fn try_defer(&mut self, line: String) -> bool {
        let has_room = self.early.len() < LINE_QUEUE_CAPACITY;
        if has_room {
            self.early.push_back(line);
        }
        has_room
    }
}

/// What is typed now; for ever nothing where nobody types.
pub(super) async fn next_typed_or_pending(keyboard: &mut Option<LineInput>) -> Option<TypedLine> {
    match keyboard {
        Some(keyboard) => keyboard.next_typed().await,
        None => std::future::pending().await,
    }
}
