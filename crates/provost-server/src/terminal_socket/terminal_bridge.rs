//! Connects a client's WebSocket to the terminal in the project's kernel.
//!
//! It forwards one message at a time, so that backpressure of a slow client reaches the kernel,
//! which decides what to do about it. The bridge ends with either side, with the client's
//! token, and with the daemon; the terminal itself continues.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::extract::ws::{CloseFrame, Message, WebSocket, close_code};
use bytes::{BufMut as _, Bytes, BytesMut};
use futures::stream::{SplitSink, SplitStream};
use futures::{SinkExt as _, StreamExt as _};
use provost_gateway::{
    GatewayError, TerminalAccess, TerminalAttachOptions, TerminalAttachment, TerminalReader,
    TerminalWriter,
};
use provost_proto::Code;
use provost_proto::limits::MAX_TERMINAL_INPUT_BYTES;
use provost_proto::terminal::{
    ClientMessage, ServerMessage, TerminalInputFrame, TerminalOutputFrame,
};
use tokio::time::{Instant, interval_at, timeout};

use crate::AppState;
use crate::api_error::ApiError;

/// Largest message of a client, such as a paste. It reaches the terminal in several frames.
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
    /// The terminal exited, and the client was told.
    TerminalExited,
    /// An error to send to the client.
    Failed(Code, String),
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
        Ok(TerminalAttachment { reader: look, writer: keys, .. }) => {
            let is_alive = AtomicBool::new(true);
            let mut up = std::pin::pin!(forward_input(&mut from, keys, &is_alive));
            tokio::select! {
                end = forward_output(look, &mut to, &is_alive) => {
                    if let BridgeEnd::ClientGone = end {
                        // It reads no more, but input that it sent before is still forwarded.
                        drop(timeout(CLOSE_TIMEOUT, &mut up).await);
                    }
                    end
                }
                end = &mut up => end,
                () = app.gateway.auth.wait_lease_end(&mut access.lease) => {
                    BridgeEnd::Failed(Code::Unauthenticated, "the token is not valid any more".into())
                }
                () = app.closing.cancelled() => {
                    BridgeEnd::Failed(Code::Unavailable, "the daemon is stopping; the terminal keeps running".into())
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
        BridgeEnd::TerminalExited => close_code::NORMAL,
        BridgeEnd::Failed(code, message) => {
            to.send(encode_text(&ServerMessage::Error { code, message })).await?;
            close_code::ERROR
        }
    };
    to.send(Message::Close(Some(CloseFrame { code, reason: "".into() }))).await
}

fn end_from_error(error: GatewayError) -> BridgeEnd {
    let body = ApiError::from(error).into_error_body();
    BridgeEnd::Failed(body.code, body.error)
}

fn encode_text(message: &ServerMessage) -> Message {
    Message::Text(serde_json::to_string(message).unwrap_or_default().into())
}

/// Output, prefixed by its offset as a 64-bit integer.
fn encode_output(offset: u64, bytes: &Bytes) -> Message {
    let mut message = BytesMut::with_capacity(8 + bytes.len());
    message.put_u64(offset);
    message.extend_from_slice(bytes);
    Message::Binary(message.freeze())
}

/// Forwards output of the terminal to the client.
async fn forward_output(
    mut reader: TerminalReader,
    to: &mut SplitSink<WebSocket, Message>,
    is_alive: &AtomicBool,
) -> BridgeEnd {
    let mut pings = interval_at(Instant::now() + PING_INTERVAL, PING_INTERVAL);
    loop {
        let frame = tokio::select! {
            frame = reader.next() => frame,
            _ = pings.tick() => {
                if !is_alive.swap(false, Ordering::Relaxed) || !send_message(to, encode_text(&ServerMessage::Ping)).await {
                    return BridgeEnd::ClientGone;
                }
                continue;
            }
        };
        let sent = match frame {
            Ok(Some(TerminalOutputFrame::Data { offset, bytes })) => {
                send_message(to, encode_output(offset, &bytes)).await
            }
            Ok(Some(TerminalOutputFrame::Snapshot { offset, cols, rows, bytes })) => {
                let size = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
                let announced = ServerMessage::Snapshot { offset, cols, rows, bytes: size };
                send_message(to, encode_text(&announced)).await
                    && send_message(to, encode_output(offset, &bytes)).await
            }
            Ok(Some(TerminalOutputFrame::Resize { offset, cols, rows })) => {
                send_message(to, encode_text(&ServerMessage::Resize { offset, cols, rows })).await
            }
            Ok(Some(TerminalOutputFrame::Title(title))) => {
                send_message(to, encode_text(&ServerMessage::Title { title })).await
            }
            Ok(Some(TerminalOutputFrame::Bell)) => {
                send_message(to, encode_text(&ServerMessage::Bell)).await
            }
            Ok(Some(TerminalOutputFrame::Exit { exit_code, signal })) => {
                send_message(to, encode_text(&ServerMessage::Exit { exit_code, signal })).await;
                return BridgeEnd::TerminalExited;
            }
            Ok(Some(TerminalOutputFrame::Error(fault))) => {
                return BridgeEnd::Failed(fault.code, fault.message);
            }
            Ok(None) | Err(_) => {
                let message = "the project's kernel ended, and its terminal with it".to_owned();
                return BridgeEnd::Failed(Code::KernelLost, message);
            }
        };
        if !sent {
            return BridgeEnd::ClientGone;
        }
    }
}

/// Sends one message; returns whether the client received it in time.
async fn send_message(to: &mut SplitSink<WebSocket, Message>, message: Message) -> bool {
    timeout(SEND_TIMEOUT, to.send(message)).await.is_ok_and(|sent| sent.is_ok())
}

/// Forwards input of the client to the terminal.
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
                return BridgeEnd::Failed(Code::InvalidRequest, message);
            }
        };
        is_alive.store(true, Ordering::Relaxed);
        if message_size(&message) > MAX_SOCKET_MESSAGE_BYTES {
            let message = format!(
                "the message is longer than {MAX_SOCKET_MESSAGE_BYTES} bytes, nothing of it was typed; \
                send it in several messages"
            );
            return BridgeEnd::Failed(Code::TooLarge, message);
        }
        let sent = match message {
            Message::Binary(typed) => {
                let mut sent = Ok(());
                for chunk in split_input(typed) {
                    sent = sent.and(writer.send(&TerminalInputFrame::Input(chunk)).await);
                }
                sent
            }
            Message::Text(text) => match serde_json::from_str(text.as_str()) {
                Ok(ClientMessage::Resize { cols, rows }) => {
                    writer.send(&TerminalInputFrame::Resize { cols, rows }).await
                }
                Ok(ClientMessage::Ack { offset }) => {
                    writer.send(&TerminalInputFrame::Ack { offset }).await
                }
                Ok(ClientMessage::Pong {}) => Ok(()),
                Err(error) => {
                    let message = format!("unknown control message: {error}");
                    return BridgeEnd::Failed(Code::InvalidRequest, message);
                }
            },
            Message::Ping(_) | Message::Pong(_) => Ok(()),
            Message::Close(_) => return BridgeEnd::ClientGone,
        };
        if sent.is_err() {
            // The output direction gets the error and reports it.
            return std::future::pending().await;
        }
    }
}

fn message_size(message: &Message) -> usize {
    match message {
        Message::Text(text) => text.len(),
        Message::Binary(bytes) => bytes.len(),
        Message::Ping(_) | Message::Pong(_) | Message::Close(_) => 0,
    }
}

/// Splits input into chunks that fit a frame.
fn split_input(mut typed: Bytes) -> impl Iterator<Item = Bytes> {
    std::iter::from_fn(move || {
        (!typed.is_empty()).then(|| typed.split_to(typed.len().min(MAX_TERMINAL_INPUT_BYTES)))
    })
}
