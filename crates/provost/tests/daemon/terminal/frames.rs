//! The frames on the WebSocket are those on the kernel's socket.

use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;
use provost_proto::terminal::{TerminalInputFrame, TerminalOutputFrame};
use serde_json::json;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{UnixListener, UnixStream};

use crate::{Home, Running};

/// What one connection to a kernel carried.
#[derive(Debug, Default, Clone)]
struct FrameRecording {
    from_kernel: Arc<Mutex<Vec<u8>>>,
    to_kernel: Arc<Mutex<Vec<u8>>>,
}

/// Stands between the daemon and the kernel, and records every connection.
struct FrameRecorder {
    recordings: Arc<Mutex<Vec<FrameRecording>>>,
}

impl FrameRecorder {
    /// Takes the place of the kernel's socket for all connections from now on.
    fn start(home: &Home) -> Self {
        let kernels = std::fs::read_dir(home.data().join("kernels")).unwrap();
        let dirs: Vec<PathBuf> = kernels.map(|entry| entry.unwrap().path()).collect();
        assert_eq!(dirs.len(), 1, "{dirs:?}");
        let dir = &dirs[0];
        let (socket, kernel) = (dir.join("socket"), dir.join("kernel-socket"));
        std::fs::rename(&socket, &kernel).unwrap();
        let listener = UnixListener::bind(&socket).unwrap();
        let recordings = Arc::new(Mutex::new(Vec::new()));
        let recorder = Self { recordings: Arc::clone(&recordings) };
        tokio::spawn(async move {
            loop {
                let (daemon, _) = listener.accept().await.unwrap();
                let kernel = UnixStream::connect(&kernel).await.unwrap();
                let recording = FrameRecording::default();
                recordings.lock().push(recording.clone());
                let (from_daemon, to_daemon) = daemon.into_split();
                let (from_kernel, to_kernel) = kernel.into_split();
                tokio::spawn(copy_recorded(from_daemon, to_kernel, recording.to_kernel));
                tokio::spawn(copy_recorded(from_kernel, to_daemon, recording.from_kernel));
            }
        });
        recorder
    }

    /// The only connection.
    fn recording(&self) -> FrameRecording {
        let recordings = self.recordings.lock();
        assert_eq!(recordings.len(), 1, "connections");
        recordings[0].clone()
    }
}

async fn copy_recorded(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    record: Arc<Mutex<Vec<u8>>>,
) {
    let mut buffer = vec![0; 10_000];
    while let Ok(n_read @ 1..) = from.read(&mut buffer).await {
        record.lock().extend_from_slice(&buffer[..n_read]);
        if to.write_all(&buffer[..n_read]).await.is_err() {
            return;
        }
    }
}

/// What follows the handshake and the request for the terminal, or the responses to them.
fn stream(recorded: &[u8]) -> &[u8] {
    (0..2).fold(recorded, |rest, _| {
        let (length, rest) = rest.split_first_chunk::<4>().unwrap();
        &rest[1 + usize::try_from(u32::from_be_bytes(*length)).unwrap()..]
    })
}

/// Whether one is the beginning of the other; at the end of a test, either side may have more.
fn begins_alike(one: &[u8], other: &[u8]) -> bool {
    let both = one.len().min(other.len());
    one[..both] == other[..both]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_daemon_forwards_the_bytes_that_the_kernel_and_the_client_wrote() {
    let home = Home::new();
    let daemon = home.up();
    // Opens the terminal, so that one connection is recorded.
    let mut first = daemon.attach(None).await;
    first.type_keys("PS1='ready> '; clear\r").await;
    first.until("ready> ").await;
    let recorder = FrameRecorder::start(&home);
    let mut client = daemon.attach(None).await;
    // A snapshot has no blanks at the end of a line.
    client.until("ready>").await;
    client.send_frame(&TerminalInputFrame::Resize { cols: 90, rows: 30 }).await;
    // Several frames in one message, of which one has bytes that are not text.
    let typed =
        ["printf '\\033]2;a title\\007\\007'; ", "seq 1 20000; printf '\\377\\376'; ", "\r"];
    let frames = typed.map(|keys| TerminalInputFrame::Input(keys.to_owned().into()));
    let message: Vec<u8> = frames.iter().flat_map(|frame| frame.encode().unwrap()).collect();
    client.send_raw(message.into()).await;
    client.until("\n20000\r\n").await;
    // They come when the screen is drawn, which may be later.
    client.until_said(&TerminalOutputFrame::Title("a title".to_owned())).await;
    client.until_said(&TerminalOutputFrame::Bell).await;
    client.type_keys("exit 7\r").await;
    client.read_to_end().await;
    let recording = recorder.recording();
    let from_kernel = recording.from_kernel.lock().clone();
    assert!(stream(&from_kernel) == client.received, "{} bytes", client.received.len());
    assert!(client.received.len() > 100_000, "{} bytes", client.received.len());
    // The last acknowledgments may have come too late.
    let to_kernel = recording.to_kernel.lock().clone();
    let forwarded = stream(&to_kernel);
    assert!(begins_alike(forwarded, &client.sent), "{} bytes", forwarded.len());
    assert!(forwarded.windows(7).any(|part| part == b"exit 7\r"), "{} bytes", forwarded.len());
    let exit = TerminalOutputFrame::Exit { exit_code: Some(7), signal: None };
    assert_eq!(client.said.last(), Some(&exit));
    let is_resize = |frame: &TerminalOutputFrame| {
        matches!(frame, TerminalOutputFrame::Resize { cols: 90, rows: 30, .. })
    };
    assert!(client.said.iter().any(is_resize), "{:?}", client.said);
}

/// The last frame of a connection that sent this.
async fn last_frame(daemon: &Running, message: Vec<u8>) -> Option<TerminalOutputFrame> {
    let mut client = daemon.attach(None).await;
    client.send_raw(message.into()).await;
    client.read_to_end().await.last().cloned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_malformed_message_ends_its_connection_and_reaches_neither_terminal_nor_clients() {
    let home = Home::new();
    let daemon = home.up();
    let mut other = daemon.attach(None).await;
    other.type_keys("PS1='ready> '; clear\r").await;
    other.until("ready> ").await;
    let input = |keys: &str| TerminalInputFrame::Input(keys.to_owned().into()).encode().unwrap();
    let whole = input("echo typed\r");
    let large = [&65_537_u32.to_be_bytes()[..], &[32], &vec![b'x'; 65_537]].concat();
    for (bad, code, reason) in [
        (whole[..whole.len() - 1].to_vec(), "INVALID_REQUEST", "ends within a frame"),
        (vec![0, 0, 0], "INVALID_REQUEST", "ends within a frame"),
        (vec![0, 0, 0, 0, 99], "INVALID_REQUEST", "kind 99"),
        (vec![0, 0, 0, 0, 16], "INVALID_REQUEST", "kind 16"),
        (vec![0, 0, 0, 0, 23], "INVALID_REQUEST", "kind 23"),
        (vec![0, 0, 0, 1, 33, 5], "INVALID_REQUEST", "kind 33 with 1 bytes"),
        (vec![0xff; 40], "INVALID_REQUEST", "kind 255"),
        (large, "TOO_LARGE", "too large; the limit is 65536"),
    ] {
        // Nothing is typed of a message of which the end is malformed.
        let last = last_frame(&daemon, [&whole[..], &bad].concat()).await;
        let Some(TerminalOutputFrame::Error(error)) = last else { panic!("{reason}: {last:?}") };
        let message = error.message;
        assert_eq!(error.code.as_str(), code, "{message}");
        assert!(message.contains("nothing of it was typed"), "{message}");
        assert!(message.contains(reason), "{message}");
    }
    let mut texting = daemon.attach(None).await;
    texting.send_text(&json!({ "type": "resize", "cols": 10, "rows": 10 }).to_string()).await;
    let last = texting.read_to_end().await.last().cloned();
    let Some(TerminalOutputFrame::Error(error)) = last else { panic!("{last:?}") };
    assert_eq!(error.code.as_str(), "INVALID_REQUEST");
    other.seen.clear();
    other.type_keys("echo still-$((1))\r").await;
    other.until("still-1\r\n").await;
    let text = String::from_utf8_lossy(&other.seen).into_owned();
    assert!(!text.contains("typed"), "{text:?}");
    let is_disturbed = other.said.iter().any(|frame| {
        matches!(frame, TerminalOutputFrame::Error(_) | TerminalOutputFrame::Resize { .. })
    });
    assert!(!is_disturbed, "{:?}", other.said);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_of_another_version_is_refused_before_it_misunderstands() {
    let home = Home::new();
    let daemon = home.up();
    let old = ("sec-websocket-protocol", "provost.terminal.0".to_owned());
    for headers in [vec![], vec![old]] {
        let query = format!("cols=80&rows=24&ticket={}", daemon.fresh_ticket().await);
        let (status, problem) = daemon.dial_bare(&query, &headers).await.unwrap_err();
        assert_eq!((status, &problem["code"]), (422, &json!("INVALID_REQUEST")), "{problem}");
        let message = problem["error"].as_str().unwrap();
        assert!(message.contains("reload the page"), "{message}");
    }
    assert!(daemon.events("TERMINAL_OPENED").await.is_empty(), "nothing was opened");
}
