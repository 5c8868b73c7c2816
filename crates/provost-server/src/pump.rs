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

use crate::Door;
use crate::problem::Failure;

/// The longest message of a client: a paste. It reaches the terminal in pieces.
pub(crate) const MESSAGE: usize = 16 * MAX_TERMINAL_INPUT_BYTES;

/// How often a client is asked whether it is there. One that has not said
/// anything between two questions is gone.
const PING: Duration = Duration::from_secs(20);

/// How long one message may take: a client that reads nothing for so long is
/// better off coming back.
const SEND: Duration = Duration::from_mins(1);

/// How long the last message may take.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// Why it ended, if the client is still to be told.
enum End {
    /// The client is gone.
    Gone,
    /// The terminal ended, and the client knows.
    Told,
    /// This is wrong.
    Wrong(Code, String),
}

/// Brings a client to its terminal, and stays between them.
pub(crate) async fn run(
    door: Arc<Door>,
    socket: WebSocket,
    mut seat: TerminalAccess,
    project: String,
    view: TerminalAttachOptions,
) {
    let (mut to, mut from) = socket.split();
    let end = match door.gateway.connect_terminal(&seat, &project, view).await {
        Err(error) => wrong(error),
        Ok(TerminalAttachment { look, keys, .. }) => {
            let heard = AtomicBool::new(true);
            let mut up = std::pin::pin!(up(&mut from, keys, &heard));
            tokio::select! {
                end = down(look, &mut to, &heard) => {
                    if let End::Gone = end {
                        // It reads no more; what it typed before it went counts.
                        drop(timeout(LAST_WORDS, &mut up).await);
                    }
                    end
                }
                end = &mut up => end,
                () = door.gateway.wait_lease_end(&mut seat.pass) => {
                    End::Wrong(Code::Unauthenticated, "the token behind this does not work any more".into())
                }
                () = door.closing.cancelled() => {
                    End::Wrong(Code::Unavailable, "the daemon is stopping; the terminal lives on".into())
                }
            }
        }
    };
    // If it does not hear this, nobody is left who would.
    drop(timeout(LAST_WORDS, say_goodbye(&mut to, end)).await);
}

async fn say_goodbye(to: &mut SplitSink<WebSocket, Message>, end: End) -> Result<(), axum::Error> {
    let code = match end {
        End::Gone => return Ok(()),
        End::Told => close_code::NORMAL,
        End::Wrong(code, message) => {
            to.send(text(&ServerMessage::Error { code, message })).await?;
            close_code::ERROR
        }
    };
    to.send(Message::Close(Some(CloseFrame { code, reason: "".into() }))).await
}

fn wrong(error: GatewayError) -> End {
    let problem = Failure::from(error).into_problem();
    End::Wrong(problem.code, problem.error)
}

fn text(said: &ServerMessage) -> Message {
    Message::Text(serde_json::to_string(said).unwrap_or_default().into())
}

/// Output, each piece with its place in front.
fn placed(offset: u64, bytes: &Bytes) -> Message {
    let mut message = BytesMut::with_capacity(8 + bytes.len());
    message.put_u64(offset);
    message.extend_from_slice(bytes);
    Message::Binary(message.freeze())
}

/// From the terminal to the client.
async fn down(
    mut look: TerminalReader,
    to: &mut SplitSink<WebSocket, Message>,
    heard: &AtomicBool,
) -> End {
    let mut pings = interval_at(Instant::now() + PING, PING);
    loop {
        let frame = tokio::select! {
            frame = look.next() => frame,
            _ = pings.tick() => {
                if !heard.swap(false, Ordering::Relaxed) || !send(to, text(&ServerMessage::Ping)).await {
                    return End::Gone;
                }
                continue;
            }
        };
        let sent = match frame {
            Ok(Some(TerminalOutputFrame::Data { offset, bytes })) => {
                send(to, placed(offset, &bytes)).await
            }
            Ok(Some(TerminalOutputFrame::Snapshot { offset, cols, rows, bytes })) => {
                let size = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
                let announced = ServerMessage::Snapshot { offset, cols, rows, bytes: size };
                send(to, text(&announced)).await && send(to, placed(offset, &bytes)).await
            }
            Ok(Some(TerminalOutputFrame::Resize { offset, cols, rows })) => {
                send(to, text(&ServerMessage::Resize { offset, cols, rows })).await
            }
            Ok(Some(TerminalOutputFrame::Title(title))) => {
                send(to, text(&ServerMessage::Title { title })).await
            }
            Ok(Some(TerminalOutputFrame::Bell)) => send(to, text(&ServerMessage::Bell)).await,
            Ok(Some(TerminalOutputFrame::Exit { exit_code, signal })) => {
                send(to, text(&ServerMessage::Exit { exit_code, signal })).await;
                return End::Told;
            }
            Ok(Some(TerminalOutputFrame::Error(fault))) => {
                return End::Wrong(fault.code, fault.message);
            }
            Ok(None) | Err(_) => {
                let message = "the project's kernel is gone, and its terminal with it".to_owned();
                return End::Wrong(Code::KernelLost, message);
            }
        };
        if !sent {
            return End::Gone;
        }
    }
}

/// Sends one message; tells whether the client took it.
async fn send(to: &mut SplitSink<WebSocket, Message>, message: Message) -> bool {
    timeout(SEND, to.send(message)).await.is_ok_and(|sent| sent.is_ok())
}

/// From the client to the terminal.
async fn up(
    from: &mut SplitStream<WebSocket>,
    mut keys: TerminalWriter,
    heard: &AtomicBool,
) -> End {
    loop {
        let message = match from.next().await {
            Some(Ok(message)) => message,
            None => return End::Gone,
            // If it is gone it does not hear this; if it only sent nonsense, it does.
            Some(Err(error)) => {
                let message = format!("this was not understood, and nothing of it typed: {error}");
                return End::Wrong(Code::InvalidRequest, message);
            }
        };
        heard.store(true, Ordering::Relaxed);
        if size(&message) > MESSAGE {
            let message = format!(
                "a message has at most {MESSAGE} bytes; nothing of this one was typed: send it in \
                 pieces"
            );
            return End::Wrong(Code::TooLarge, message);
        }
        let sent = match message {
            Message::Binary(typed) => {
                let mut sent = Ok(());
                for piece in pieces(typed) {
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
                    return End::Wrong(Code::InvalidRequest, message);
                }
            },
            Message::Ping(_) | Message::Pong(_) => Ok(()),
            Message::Close(_) => return End::Gone,
        };
        if sent.is_err() {
            // Why, the other direction hears.
            return std::future::pending().await;
        }
    }
}

fn size(message: &Message) -> usize {
    match message {
        Message::Text(text) => text.len(),
        Message::Binary(bytes) => bytes.len(),
        Message::Ping(_) | Message::Pong(_) | Message::Close(_) => 0,
    }
}

/// What is typed, in pieces that a frame holds.
fn pieces(mut typed: Bytes) -> impl Iterator<Item = Bytes> {
    std::iter::from_fn(move || {
        (!typed.is_empty()).then(|| typed.split_to(typed.len().min(MAX_TERMINAL_INPUT_BYTES)))
    })
}
