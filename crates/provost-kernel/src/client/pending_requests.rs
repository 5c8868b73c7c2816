//! The requests to a kernel that wait for their responses.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use provost_proto::kernel::{ErrorInfo, JsonRpcVersion, Method, RpcRequest, RpcResponse};
use tokio::sync::oneshot;

use super::kernel_error::KernelError;
use crate::wire::{self, KernelFrame};

/// The requests that wait for their responses.
#[derive(Debug, Default)]
pub(super) struct PendingRequests {
    next: AtomicU64,
    /// `None` once the kernel is lost: no request may wait any more.
    waiting: Mutex<ReplySenders>,
}

#[derive(Debug)]
struct ReplySenders(Option<HashMap<u64, oneshot::Sender<RpcResponse>>>);

impl Default for ReplySenders {
    fn default() -> Self {
        Self(Some(HashMap::new()))
    }
}

impl PendingRequests {
    /// Encodes a request, and registers `reply` for its response.
    pub(super) fn encode_request(
        &self,
        method: Method,
        reply: Option<oneshot::Sender<RpcResponse>>,
    ) -> Result<Vec<u8>, KernelError> {
        let id = self.next.fetch_add(1, Ordering::Relaxed) + 1;
        let frame = wire::frame_to_bytes(&request_frame(id, method)).map_err(|error| {
            let message = format!("cannot encode the request: {error}");
            let code = provost_proto::Code::TooLarge;
            KernelError::Fault(ErrorInfo { code, message, details: None })
        })?;
        let mut waiting = self.waiting.lock();
        let waiting = waiting.0.as_mut().ok_or(KernelError::Lost)?;
        if let Some(reply) = reply {
            waiting.insert(id, reply);
        }
        Ok(frame)
    }

    pub(super) fn complete_request(&self, response: RpcResponse) {
        let mut waiting = self.waiting.lock();
        let reply = waiting.0.as_mut().and_then(|waiting| waiting.remove(&response.id));
        drop(waiting);
        if let Some(reply) = reply {
            // The caller may have stopped waiting.
            drop(reply.send(response));
        }
    }

    /// Fails all pending requests, because the kernel is lost.
    pub(super) fn close(&self) {
        drop(self.waiting.lock().0.take());
    }
}

pub(crate) fn request_frame(id: u64, method: Method) -> KernelFrame {
    KernelFrame::Request(RpcRequest { jsonrpc: JsonRpcVersion::V2, id, method })
}
