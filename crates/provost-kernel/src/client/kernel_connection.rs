//! A connection to a kernel's socket: handshake, requests that wait for their responses, and
//! reports.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use provost_proto::RawJson;
use provost_proto::kernel::{
    ErrorInfo, HelloResponse, KernelReport, Method, PROTOCOL_VERSION, RpcResponse,
};
use serde_json::Value;
use tokio::net::unix::pipe;
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use super::kernel_error::KernelError;
use super::pending_requests::{PendingRequests, request_frame};
use crate::frame_sender::FrameSender;
use crate::kernel_dir::KernelDir;
use crate::socket_writer::{SocketWriter, split_socket};
use crate::wire::{self, FrameReader, KernelFrame};

/// Reports that may be queued for the log. When it is full, the kernel waits.
const REPORT_QUEUE_LEN: usize = 64;

/// How long a kernel may take for the handshake.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(5);

/// How long a request may take that is answered at once.
pub(super) const RESPONSE_TIMEOUT: Duration = Duration::from_secs(10);

/// How often the kernel is pinged while a long request is pending.
const PING_INTERVAL: Duration = Duration::from_secs(5);

/// Sends requests and receives their responses. The connection is closed when it is dropped.
#[derive(Debug)]
pub(super) struct KernelConnection {
    sender: FrameSender,
    pending: Arc<PendingRequests>,
}

impl Drop for KernelConnection {
    fn drop(&mut self) {
        self.sender.close();
    }
}

impl KernelConnection {
    /// Connects to the kernel of a directory. Returns what it said of itself, and its reports.
    pub(super) async fn open(
        dir: &KernelDir,
    ) -> Result<(Self, HelloResponse, ReportReceiver), KernelError> {
        let (read, write, welcome) = perform_handshake(dir).await?;
        let sender = FrameSender::new(write);
        let (up, reports) = mpsc::channel(REPORT_QUEUE_LEN);
        let pending = Arc::new(PendingRequests::default());
        tokio::spawn(run_connection(read, sender.clone(), up, Arc::clone(&pending)));
        Ok((Self { sender, pending }, welcome, ReportReceiver(reports)))
    }

    /// Whether it is open.
    pub(super) fn is_open(&self) -> bool {
        !self.sender.is_closed()
    }

    /// Sends a request and waits for its response.
    pub(super) async fn call(
        &self,
        method: Method,
        time_limit: Duration,
    ) -> Result<RpcResponse, KernelError> {
        self.await_response(self.send_request(method).await?, time_limit).await
    }

    /// Sends a request; the response comes through the channel.
    async fn send_request(
        &self,
        method: Method,
    ) -> Result<oneshot::Receiver<RpcResponse>, KernelError> {
        let (reply, response) = oneshot::channel();
        let frame = self.pending.encode_request(method, Some(reply))?;
        self.sender.send(&frame).await.map_err(|_| KernelError::Lost)?;
        Ok(response)
    }

    /// Sends a request whose response nobody waits for.
    pub(super) async fn send_notification(&self, method: Method) -> Result<(), KernelError> {
        let frame = self.pending.encode_request(method, None)?;
        self.sender.send(&frame).await.map_err(|_| KernelError::Lost)
    }

    /// Waits for a response. While a request with a long timeout is pending, the kernel
    /// is pinged, so that one that hangs is noticed.
    async fn await_response(
        &self,
        mut response: oneshot::Receiver<RpcResponse>,
        time_limit: Duration,
    ) -> Result<RpcResponse, KernelError> {
        let mut remaining = time_limit;
        let lost = |_| KernelError::Lost;
        loop {
            let slice = if time_limit > RESPONSE_TIMEOUT {
                remaining.min(PING_INTERVAL)
            } else {
                remaining
            };
            if let Ok(response) = timeout(slice, &mut response).await {
                return response.map_err(lost);
            }
            remaining -= slice;
            if remaining.is_zero() {
                return Err(KernelError::Unresponsive);
            }
            let started_at = Instant::now();
            let pong = self.send_request(Method::Ping {}).await?;
            let pong = timeout(RESPONSE_TIMEOUT.min(remaining), pong);
            tokio::select! {
                response = &mut response => return response.map_err(lost),
                pong = pong => drop(pong.map_err(|_| KernelError::Unresponsive)?),
            }
            remaining = remaining.saturating_sub(started_at.elapsed());
        }
    }
}

/// The reports of a kernel, in order; ends when the kernel is lost.
#[derive(Debug)]
pub struct ReportReceiver(mpsc::Receiver<KernelReport>);

impl ReportReceiver {
    /// The next report.
    pub async fn next(&mut self) -> Option<KernelReport> {
        self.0.recv().await
    }

    /// The next report, if it has arrived already.
    pub fn try_next(&mut self) -> Option<KernelReport> {
        self.0.try_recv().ok()
    }
}

/// The result or the error in a response.
pub(crate) fn response_result(response: RpcResponse) -> Result<RawJson, KernelError> {
    if let Some(error) = response.error {
        let internal = || ErrorInfo {
            code: provost_proto::Code::Internal,
            message: error.message.clone(),
            details: None,
        };
        return Err(KernelError::Fault(error.data.clone().unwrap_or_else(internal)));
    }
    match response.result {
        Some(result) => Ok(result),
        None => RawJson::new(&Value::Null).map_err(|_| KernelError::Lost),
    }
}

/// Connects to a kernel, authenticates, and checks the protocol version.
pub(crate) async fn perform_handshake(
    dir: &KernelDir,
) -> Result<(FrameReader<pipe::Receiver>, SocketWriter, HelloResponse), KernelError> {
    let lost = |_: io::Error| KernelError::Lost;
    let stream = dir.connect().await.map_err(lost)?;
    let own = rustix::process::geteuid().as_raw();
    if stream.peer_cred().map_err(lost)?.uid() != own {
        tracing::warn!("the kernel's socket belongs to another user");
        return Err(KernelError::Lost);
    }
    let secret = dir.read_secret().map_err(lost)?;
    let hello = request_frame(0, Method::Hello { secret, protocol: PROTOCOL_VERSION });
    let (read, write) = split_socket(stream).map_err(lost)?;
    let mut read = FrameReader::new(read);
    write.send(&wire::frame_to_bytes(&hello).map_err(lost)?).await.map_err(lost)?;
    let response =
        timeout(HANDSHAKE_TIMEOUT, read.next()).await.map_err(|_| KernelError::Unresponsive)?;
    let Ok(Some(KernelFrame::Response(RpcResponse { result: Some(welcome), .. }))) = response
    else {
        return Err(KernelError::Lost);
    };
    let welcome: HelloResponse = welcome.parse().map_err(|_| KernelError::Lost)?;
    if welcome.protocol != PROTOCOL_VERSION {
        return Err(KernelError::ProtocolMismatch { kernel: welcome.protocol, pid: welcome.pid });
    }
    Ok((read, write, welcome))
}

/// Receives frames, and sends what the socket did not take at once, until it closes.
async fn run_connection(
    read: FrameReader<pipe::Receiver>,
    sender: FrameSender,
    reports: mpsc::Sender<KernelReport>,
    pending: Arc<PendingRequests>,
) {
    // Either direction is only cancelled when the other has ended.
    tokio::select! {
        () = receive_frames(read, &reports, &pending) => {}
        _error = sender.run_backlog() => {}
    }
    sender.close();
    pending.close();
}

async fn receive_frames(
    mut read: FrameReader<pipe::Receiver>,
    reports: &mpsc::Sender<KernelReport>,
    pending: &PendingRequests,
) {
    while let Ok(Some(frame)) = read.next().await {
        match frame {
            KernelFrame::Report(report) => {
                if reports.send(report).await.is_err() {
                    return;
                }
            }
            KernelFrame::Response(response) => pending.complete_request(response),
            KernelFrame::Request(_) => return,
        }
    }
}
