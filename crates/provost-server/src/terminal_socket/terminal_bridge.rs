//! Between the WebSocket of a client and the terminal in its kernel.
//!
//! It passes on what comes, one message at a time: whoever does not read is not
//! read for, and what is to become of them the kernel decides. It ends with
//! either side, with the token behind it, and with the daemon; whatever ends it,
//! the terminal goes on.

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

/// The longest message of a client: a paste. It reaches the terminal in pieces.
pub(crate) const MAX_SOCKET_MESSAGE_BYTES: usize = 16 * MAX_TERMINAL_INPUT_BYTES;

/// How often a client is asked whether it is there. One that has not said
/// anything between two questions is gone.
const PING_INTERVAL: Duration = Duration::from_secs(20);

/// How long one message may take: a client that reads nothing for so long is
/// better off coming back.
const SEND_TIMEOUT: Duration = Duration::from_mins(1);

/// How long the last message may take.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// Why it ended, if the client is still to be told.
enum BridgeEnd {
    /// The client is gone.
    ClientGone,
    /// The terminal ended, and the client knows.
    TerminalExited,
    /// This is wrong.
    Failed(Code, String),
}

/// Brings a client to its terminal, and stays between them.
pub(crate) async fn run_bridge(
    door: Arc<AppState>,
    socket: WebSocket,
    mut seat: TerminalAccess,
    project: String,
    view: TerminalAttachOptions,
) {
    let (mut to, mut from) = socket.split();
    let end = match door.gateway.connect_terminal(&seat, &project, view).await {
        Err(error) => end_from_error(error),
        Ok(TerminalAttachment { look, keys, .. }) => {
            let heard = AtomicBool::new(true);
            let mut up = std::pin::pin!(forward_input(&mut from, keys, &heard));
            tokio::select! {
                end = forward_output(look, &mut to, &heard) => {
                    if let BridgeEnd::ClientGone = end {
                        // It reads no more; what it typed before it went counts.
                        drop(timeout(CLOSE_TIMEOUT, &mut up).await);
                    }
                    end
                }
                end = &mut up => end,
                () = door.gateway.wait_lease_end(&mut seat.pass) => {
                    BridgeEnd::Failed(Code::Unauthenticated, "the token behind this does not work any more".into())
                }
                () = door.closing.cancelled() => {
                    BridgeEnd::Failed(Code::Unavailable, "the daemon is stopping; the terminal lives on".into())
                }
            }
        }
    };
    // If it does not hear this, nobody is left who would.
    drop(timeout(CLOSE_TIMEOUT, close_socket(&mut to, end)).await);
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
    let problem = ApiError::from(error).into_error_body();
    BridgeEnd::Failed(problem.code, problem.error)
}

fn encode_text(said: &ServerMessage) -> Message {
    Message::Text(serde_json::to_string(said).unwrap_or_default().into())
}

/// Output, each piece with its place in front.
fn encode_output(offset: u64, bytes: &Bytes) -> Message {
    let mut message = BytesMut::with_capacity(8 + bytes.len());
    message.put_u64(offset);
    message.extend_from_slice(bytes);
    Message::Binary(message.freeze())
}

/// From the terminal to the client.
async fn forward_output(
    mut look: TerminalReader,
    to: &mut SplitSink<WebSocket, Message>,
    heard: &AtomicBool,
) -> BridgeEnd {
    let mut pings = interval_at(Instant::now() + PING_INTERVAL, PING_INTERVAL);
    loop {
        let frame = tokio::select! {
            frame = look.next() => frame,
            _ = pings.tick() => {
                if !heard.swap(false, Ordering::Relaxed) || !send_message(to, encode_text(&ServerMessage::Ping)).await {
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
                let message = "the project's kernel is gone, and its terminal with it".to_owned();
                return BridgeEnd::Failed(Code::KernelLost, message);
            }
        };
        if !sent {
            return BridgeEnd::ClientGone;
        }
    }
}

/// Sends one message; tells whether the client took it.
async fn send_message(to: &mut SplitSink<WebSocket, Message>, message: Message) -> bool {
    timeout(SEND_TIMEOUT, to.send(message)).await.is_ok_and(|sent| sent.is_ok())
}

/// From the client to the terminal.
async fn forward_input(
    from: &mut SplitStream<WebSocket>,
    mut keys: TerminalWriter,
    heard: &AtomicBool,
) -> BridgeEnd {
    loop {
        let message = match from.next().await {
            Some(Ok(message)) => message,
            None => return BridgeEnd::ClientGone,
            // If it is gone it does not hear this; if it only sent nonsense, it does.
            Some(Err(error)) => {
                let message = format!("this was not understood, and nothing of it typed: {error}");
                return BridgeEnd::Failed(Code::InvalidRequest, message);
            }
        };
        heard.store(true, Ordering::Relaxed);
        if message_size(&message) > MAX_SOCKET_MESSAGE_BYTES {
            let message = format!(
                "a message has at most {MAX_SOCKET_MESSAGE_BYTES} bytes; nothing of this one was typed: send it in \
                 pieces"
            );
            return BridgeEnd::Failed(Code::TooLarge, message);
        }
        let sent = match message {
            Message::Binary(typed) => {
                let mut sent = Ok(());
                for piece in split_input(typed) {
                    sent = sent.and(keys.send(&TerminalInputFrame::Input(piece)).await);
                }
                sent
            }
            Message::Text(said) => match serde_json::from_str(said.as_str()) {
                Ok(ClientMessage::Resize { cols, rows }) => {
                    keys.send(&TerminalInputFrame::Resize { cols, rows }).await
                }
                Ok(ClientMessage::Ack { offset }) => {
                    keys.send(&TerminalInputFrame::Ack { offset }).await
                }
                Ok(ClientMessage::Pong {}) => Ok(()),
                Err(error) => {
                    let message = format!("this is nothing that a terminal hears: {error}");
                    return BridgeEnd::Failed(Code::InvalidRequest, message);
                }
            },
            Message::Ping(_) | Message::Pong(_) => Ok(()),
            Message::Close(_) => return BridgeEnd::ClientGone,
        };
        if sent.is_err() {
            // Why, the other direction hears.
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

/// What is typed, in pieces that a frame holds.
fn split_input(mut typed: Bytes) -> impl Iterator<Item = Bytes> {
    std::iter::from_fn(move || {
        (!typed.is_empty()).then(|| typed.split_to(typed.len().min(MAX_TERMINAL_INPUT_BYTES)))
    })
}
