//! An append that one of the appending tasks writes.

use std::pin::Pin;
use std::task::{Context, Poll};

use futures::FutureExt as _;
use tokio::sync::oneshot;

use super::write_request::AppendReceipt;
use super::{SqliteStore, append_result};
use crate::{AppendOutcome, StoreError};

/// An append that waits in the batch. When it is polled, it first yields to other tasks, since
/// some of them append too. Then it writes for all of them, unless another has.
pub(super) struct BatchedAppend<'a> {
    store: &'a SqliteStore,
    receipt: oneshot::Receiver<AppendReceipt>,
    state: BatchedAppendState,
}

/// The next step of a batched append.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BatchedAppendState {
    Yielding,
    Writing,
    Done,
}

impl<'a> BatchedAppend<'a> {
    pub(super) fn new(store: &'a SqliteStore, receipt: oneshot::Receiver<AppendReceipt>) -> Self {
        Self { store, receipt, state: BatchedAppendState::Yielding }
    }

    fn poll_receipt(&mut self, cx: &mut Context<'_>) -> Poll<Result<AppendOutcome, StoreError>> {
        let receipt = self.receipt.poll_unpin(cx).map(append_result);
        if receipt.is_ready() {
            self.state = BatchedAppendState::Done;
        }
        receipt
    }
}

impl Future for BatchedAppend<'_> {
    type Output = Result<AppendOutcome, StoreError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        if self.state == BatchedAppendState::Yielding {
            self.state = BatchedAppendState::Writing;
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        let receipt = self.poll_receipt(cx);
        if receipt.is_ready() {
            return receipt;
        }
        self.store.write_batched();
        self.poll_receipt(cx)
    }
}

impl Drop for BatchedAppend<'_> {
    /// A dropped append is written all the same.
    fn drop(&mut self) {
        if self.state != BatchedAppendState::Done {
            self.store.write_batched();
        }
    }
}
