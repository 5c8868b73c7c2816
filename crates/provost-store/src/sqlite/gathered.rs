//! An append that is written by one of those who brought some.

use std::pin::Pin;
use std::task::{Context, Poll};

use futures::FutureExt as _;
use tokio::sync::oneshot;

use super::request::Receipt;
use super::{Sqlite, result};
use crate::{Appended, StoreError};

/// An append that was gathered. When it is waited for, it first lets everybody run who can:
/// some of them append, too. Then it writes for all of them, unless another has.
pub(super) struct Gathered<'a> {
    store: &'a Sqlite,
    answer: oneshot::Receiver<Receipt>,
    turn: Turn,
}

/// Whose turn it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Turn {
    Others,
    Own,
    Over,
}

impl<'a> Gathered<'a> {
    pub(super) fn new(store: &'a Sqlite, answer: oneshot::Receiver<Receipt>) -> Self {
        Self { store, answer, turn: Turn::Others }
    }

    fn poll_answer(&mut self, cx: &mut Context<'_>) -> Poll<Result<Appended, StoreError>> {
        let answer = self.answer.poll_unpin(cx).map(result);
        if answer.is_ready() {
            self.turn = Turn::Over;
        }
        answer
    }
}

impl Future for Gathered<'_> {
    type Output = Result<Appended, StoreError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        if self.turn == Turn::Others {
            self.turn = Turn::Own;
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        let answer = self.poll_answer(cx);
        if answer.is_ready() {
            return answer;
        }
        self.store.write_gathered();
        self.poll_answer(cx)
    }
}

impl Drop for Gathered<'_> {
    /// Whoever does not wait for the end wants it to come all the same.
    fn drop(&mut self) {
        if self.turn != Turn::Over {
            self.store.write_gathered();
        }
    }
}
