//! Lines typed on standard input.

use std::collections::VecDeque;

use tokio::sync::mpsc;

use crate::typed_answer::{TypedLine, spawn_line_reader};

/// Lines that are buffered. A full channel stops the reader.
const LINE_QUEUE_CAPACITY: usize = 16;

/// Reader of typed lines, with those that are deferred to the end of a turn.
pub(super) struct LineInput {
    lines: mpsc::Receiver<TypedLine>,
    /// Lines typed during a turn.
    deferred: VecDeque<String>,
    /// Deferred lines that a cancelled turn held back; they are sent when the user continues.
    pub(super) held: Vec<String>,
}

impl LineInput {
    /// Reads in a separate thread, which ends with the process.
    pub(super) fn spawn() -> Self {
        let lines = spawn_line_reader(LINE_QUEUE_CAPACITY);
        Self { lines, deferred: VecDeque::new(), held: Vec::new() }
    }

    /// The next line from the keyboard; `None` at the end of the input.
    pub(super) async fn next_typed(&mut self) -> Option<TypedLine> {
        self.lines.recv().await
    }

    /// The next deferred or typed line; `None` at the end of the input.
    pub(super) async fn next(&mut self) -> Option<String> {
        match self.deferred.pop_front() {
            Some(line) => Some(line),
            None => self.lines.recv().await.map(|line| line.text),
        }
    }

    /// Holds back the deferred lines after a cancelled turn; returns all that are held.
    pub(super) fn hold_deferred(&mut self) -> &[String] {
        self.held.extend(self.deferred.drain(..));
        &self.held
    }

    /// Releases the held lines to be read next, and then this one.
    pub(super) fn release_held(&mut self, then: Option<String>) {
        self.deferred.extend(self.held.drain(..).chain(then));
    }

    /// Removes all held and deferred lines, in order.
    pub(super) fn drain_all(&mut self) -> Vec<String> {
        self.held.drain(..).chain(self.deferred.drain(..)).collect()
    }

    /// Defers a line; returns whether there was room for it.
    pub(super) fn try_defer(&mut self, line: String) -> bool {
        let has_room = self.deferred.len() < LINE_QUEUE_CAPACITY;
        if has_room {
            self.deferred.push_back(line);
        }
        has_room
    }
}

/// The next typed line; never resolves without a keyboard.
pub(super) async fn next_typed_or_pending(keyboard: &mut Option<LineInput>) -> Option<TypedLine> {
    match keyboard {
        Some(keyboard) => keyboard.next_typed().await,
        None => std::future::pending().await,
    }
}
