//! Connects a client's WebSocket to the terminal in the project's kernel.
//!
//! Both sides of it speak the same frames. The bridge reads their headers, which tell the size,
//! the kind and the end of the stream, and forwards them as they are: one message at a time, so
//! that backpressure of a slow client reaches the kernel, which decides what to do about it. It
//! ends with either side, with the client's token, and with the daemon; the terminal itself
//! continues.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::extract::ws::{CloseFrame, Message, WebSocket, close_code};
use bytes::Bytes;
use futures::stream::{SplitSink, SplitStream};
use futures::{SinkExt as _, StreamExt as _};
use provost_gateway::{
    GatewayError, TerminalAccess, TerminalAttachOptions, TerminalAttachment, TerminalReader,
    TerminalWriter,
};
use provost_proto::Code;
use provost_proto::kernel::ErrorInfo;
use provost_proto::limits::MAX_TERMINAL_INPUT_BYTES;
use provost_proto::terminal::{
    ForwardedInput, ForwardedOutput, FrameError, StreamEnd, TerminalOutputFrame,
};
use tokio::time::{Instant, interval_at, timeout};

use crate::AppState;
use crate::api_error::ApiError;

/// Largest message of a client, such as a paste in several frames.
pub(crate) const MAX_SOCKET_MESSAGE_BYTES: usize = 16 * MAX_TERMINAL_INPUT_BYTES;

/// How often a client is pinged. One that sends nothing between two pings is gone.
const PING_INTERVAL: Duration = Duration::from_secs(20);

/// Time limit for sending one message; a client that reads nothing for so long should
/// reconnect.
const SEND_TIMEOUT: Duration = Duration::from_mins(1);

/// Time limit for the closing messages.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// Why the bridge ended, which decides what the client gets.
enum BridgeEnd {
    /// The client disconnected.
    ClientGone,
    /// The kernel's last frame was forwarded.
    StreamEnded(StreamEnd),
    /// An error to send to the client.
    Failed { code: Code, message: String },
}

impl BridgeEnd {
    fn failed(code: Code, message: impl Into<String>) -> Self {
        Self::Failed { code, message: message.into() }
    }
}

/// Attaches a client to a terminal and forwards messages until either side ends.
pub(crate) async fn run_bridge(
    app: Arc<AppState>,
    socket: WebSocket,
    mut access: TerminalAccess,
    project: String,
    view: TerminalAttachOptions,
) {
    let (mut to, mut from) = socket.split();
    let end = match connect_terminal(&app, &access, &project, view).await {
        Err(error) => end_from_error(error),
        Ok(TerminalAttachment { reader, writer, .. }) => {
            let is_alive = AtomicBool::new(true);
            let mut up = std::pin::pin!(forward_input(&mut from, writer, &is_alive));
            tokio::select! {
                end = forward_output(reader, &mut to, &is_alive) => {
                    if let BridgeEnd::ClientGone = end {
                        // It reads no more, but input that it sent before is still forwarded.
                        drop(timeout(CLOSE_TIMEOUT, &mut up).await);
                    }
                    end
                }
                end = &mut up => end,
                () = app.gateway.auth.wait_lease_end(&mut access.lease) => {
                    BridgeEnd::failed(Code::Unauthenticated, "the token is not valid any more")
                }
                () = app.closing.cancelled() => {
                    BridgeEnd::failed(Code::Unavailable, "the daemon is stopping; the terminal keeps running")
                }
            }
        }
    };
    // Best effort: a client that does not receive this is gone.
    drop(timeout(CLOSE_TIMEOUT, close_socket(&mut to, end)).await);
}

async fn connect_terminal(
    app: &AppState,
    access: &TerminalAccess,
    project: &str,
    options: TerminalAttachOptions,
) -> Result<TerminalAttachment, GatewayError> {
    let project = app.gateway.projects.get_project(project).await?;
    app.gateway.terminal.connect_terminal(access, &project, options).await
}

async fn close_socket(
    to: &mut SplitSink<WebSocket, Message>,
    end: BridgeEnd,
) -> Result<(), axum::Error> {
    let code = match end {
        BridgeEnd::ClientGone => return Ok(()),
        BridgeEnd::StreamEnded(StreamEnd::Exit) => close_code::NORMAL,
        BridgeEnd::StreamEnded(StreamEnd::Error) => close_code::ERROR,
        BridgeEnd::Failed { code, message } => {
            let error = ErrorInfo { code, message, details: None };
            to.send(encode_frame(&TerminalOutputFrame::Error(error))?).await?;
            close_code::ERROR
        }
    };
    to.send(Message::Close(Some(CloseFrame { code, reason: "".into() }))).await
}

fn end_from_error(error: GatewayError) -> BridgeEnd {
    let body = ApiError::from(error).into_error_body();
    BridgeEnd::failed(body.code, body.error)
}

/// A message with a frame of the daemon's own.
fn encode_frame(frame: &TerminalOutputFrame) -> Result<Message, axum::Error> {
    Ok(Message::Binary(frame.encode().map_err(axum::Error::new)?.into_bytes()))
}

/// Forwards the kernel's frames to the client.
async fn forward_output(
    mut reader: TerminalReader,
    to: &mut SplitSink<WebSocket, Message>,
    is_alive: &AtomicBool,
) -> BridgeEnd {
    let mut pings = interval_at(Instant::now() + PING_INTERVAL, PING_INTERVAL);
    loop {
        let frames = tokio::select! {
            frames = reader.next() => frames,
            _ = pings.tick() => {
                let Ok(ping) = encode_frame(&TerminalOutputFrame::Ping) else {
                    return BridgeEnd::ClientGone;
                };
                if !is_alive.swap(false, Ordering::Relaxed) || !send_message(to, ping).await {
                    return BridgeEnd::ClientGone;
                }
                continue;
            }
        };
        let Ok(Some(ForwardedOutput { bytes, end })) = frames else {
            let message = "the project's kernel ended, and its terminal with it";
            return BridgeEnd::failed(Code::KernelLost, message);
        };
        let is_sent = send_message(to, Message::Binary(bytes)).await;
        match end {
            Some(end) => return BridgeEnd::StreamEnded(end),
            None if !is_sent => return BridgeEnd::ClientGone,
            None => {}
        }
    }
}

/// Sends one message; returns whether the client received it in time.
async fn send_message(to: &mut SplitSink<WebSocket, Message>, message: Message) -> bool {
    timeout(SEND_TIMEOUT, to.send(message)).await.is_ok_and(|sent| sent.is_ok())
}

/// Forwards the client's frames to the terminal.
async fn forward_input(
    from: &mut SplitStream<WebSocket>,
    mut writer: TerminalWriter,
    is_alive: &AtomicBool,
) -> BridgeEnd {
    loop {
        let message = match from.next().await {
            Some(Ok(message)) => message,
            None => return BridgeEnd::ClientGone,
            // Reaches a client that sent a malformed message, but not one that disconnected.
            Some(Err(error)) => {
                let message = format!("malformed message, nothing of it was typed: {error}");
                return BridgeEnd::failed(Code::InvalidRequest, message);
            }
        };
        is_alive.store(true, Ordering::Relaxed);
        let frames = match message {
            Message::Binary(bytes) => match check_message(bytes) {
                Ok(frames) => frames,
                Err(end) => return end,
            },
            Message::Text(_) => {
                let message = "the terminal takes frames in binary messages, and no text";
                return BridgeEnd::failed(Code::InvalidRequest, message);
            }
            Message::Ping(_) | Message::Pong(_) => continue,
            Message::Close(_) => return BridgeEnd::ClientGone,
        };
        if writer.forward(&frames).await.is_err() {
            // The output direction gets the error and reports it.
            return std::future::pending().await;
        }
    }
}

/// Checks a whole message before anything of it is typed.
fn check_message(bytes: Bytes) -> Result<ForwardedInput, BridgeEnd> {
    if bytes.len() > MAX_SOCKET_MESSAGE_BYTES {
        let message = format!(
            "the message is longer than {MAX_SOCKET_MESSAGE_BYTES} bytes, nothing of it was typed; \
            send it in several messages"
        );
        return Err(BridgeEnd::failed(Code::TooLarge, message));
    }
    ForwardedInput::from_message(bytes).map_err(|error| {
        let code = match error {
            FrameError::TooLarge { .. } => Code::TooLarge,
            FrameError::UnknownKind { .. }
            | FrameError::InvalidText { .. }
            | FrameError::Truncated => Code::InvalidRequest,
        };
        BridgeEnd::failed(code, format!("malformed message, nothing of it was typed: {error}"))
    })
}
