//! Terminals of other projects, installed from their registries.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use futures::{SinkExt as _, StreamExt as _};
use provost_sandbox::launch;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{WebSocketStream, client_async};

use crate::{Line, Typing, rate};

/// The message format of a peer.
#[derive(Clone, Copy)]
enum Wire {
    Bytes,
    Json,
}

/// A running server and its client.
pub(crate) struct Peer {
    pub(crate) name: &'static str,
    wire: Wire,
    pid: Pid,
    socket: WebSocketStream<TcpStream>,
    seen: Vec<u8>,
    _folder: TempDir,
}

impl Drop for Peer {
    fn drop(&mut self) {
        kill_process(self.pid, Signal::TERM).unwrap();
    }
}

impl Peer {
    /// The peers that can be installed; prints those that cannot.
    pub(crate) async fn all() -> Vec<Self> {
        let mut peers = Vec::new();
        for (name, wire, start) in [
            ("node-pty + ws", Wire::Bytes, node_pty as fn(&Path, &Path) -> Option<Pid>),
            ("terminado", Wire::Json, terminado),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let said = folder.path().join("said");
            let Some(pid) = start(folder.path(), &said) else {
                println!("{name} could not be installed; the comparison with it is missing");
                continue;
            };
            let address = loop {
                match std::fs::read_to_string(&said) {
                    Ok(address) if !address.is_empty() => break address,
                    _ => tokio::time::sleep(Duration::from_millis(5)).await,
                }
            };
            let stream = TcpStream::connect(&address).await.unwrap();
            stream.set_nodelay(true).unwrap();
            let (socket, _) = client_async(format!("ws://{address}/"), stream).await.unwrap();
            let seen = Vec::new();
            let mut peer = Self { name, wire, pid, socket, seen, _folder: folder };
            peer.run("PS1=; bind 'set enable-bracketed-paste off'").await;
            peers.push(peer);
        }
        peers
    }

    /// Reads a message; returns its bytes of output.
    async fn next(&mut self) -> usize {
        let printed = match self.socket.next().await.unwrap().unwrap() {
            Message::Binary(bytes) => bytes.to_vec(),
            Message::Text(text) => match self.wire {
                Wire::Bytes => text.as_bytes().to_vec(),
                Wire::Json => {
                    let said: Vec<Value> = serde_json::from_str(&text).unwrap();
                    let printed = said.get(1).filter(|_| said[0] == "stdout");
                    printed.and_then(Value::as_str).unwrap_or_default().as_bytes().to_vec()
                }
            },
            Message::Ping(_) | Message::Pong(_) | Message::Frame(_) | Message::Close(_) => {
                Vec::new()
            }
        };
        self.seen.extend_from_slice(&printed);
        printed.len()
    }

    /// Runs a line to its end; returns bytes per second.
    pub(crate) async fn run(&mut self, line: &str) -> f64 {
        let (began, mut bytes) = (Instant::now(), 0);
        self.seen.clear();
        let line = Line::new(line);
        self.send_keys(&line.typed).await;
        while !line.is_done(&self.seen) {
            let keep = self.seen.len().saturating_sub(64);
            self.seen.drain(..keep);
            bytes += self.next().await;
        }
        rate(bytes, began)
    }
}

impl Typing for Peer {
    async fn send_keys(&mut self, keys: &str) {
        let message = match self.wire {
            Wire::Bytes => Message::Binary(keys.to_owned().into()),
            Wire::Json => Message::Text(json!(["stdin", keys]).to_string().into()),
        };
        self.socket.send(message).await.unwrap();
    }

    async fn hear(&mut self) {
        self.next().await;
    }

    fn seen(&mut self) -> &mut Vec<u8> {
        &mut self.seen
    }
}

fn program(name: &str) -> Option<PathBuf> {
    let found =
        launch::run_and_capture(Path::new("sh"), &["-c", &format!("command -v {name}")]).ok()?;
    let found = String::from_utf8(found.stdout).ok()?;
    Some(PathBuf::from(found.trim())).filter(|path| path.exists())
}

fn done(program: &Path, args: &[&str]) -> Option<()> {
    launch::run_and_capture(program, args).ok().filter(|done| done.status.success()).map(drop)
}

fn start(program: &Path, args: [&Path; 2], folder: &Path) -> Option<Pid> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let own = [("PATH".into(), path), ("TERM".into(), "xterm-256color".into())];
    let pid = launch::spawn_detached(program, &args, &folder.join("log"), &own).ok()?;
    Pid::from_raw(i32::try_from(pid).ok()?)
}

fn node_pty(folder: &Path, said: &Path) -> Option<Pid> {
    let place = folder.to_str()?;
    let install = ["install", "--silent", "--no-audit", "--no-fund", "--prefix", place];
    done(&program("npm")?, &[&install[..], &["node-pty@1.1.0", "ws@8"]].concat())?;
    let server = folder.join("server.mjs");
    std::fs::write(&server, include_str!("node-pty.mjs")).ok()?;
    start(&program("node")?, [&server, said], folder)
}

fn terminado(folder: &Path, said: &Path) -> Option<Pid> {
    let place = folder.join("python");
    done(&program("python3")?, &["-m", "venv", place.to_str()?])?;
    let python = place.join("bin/python");
    done(&python, &["-m", "pip", "--quiet", "install", "terminado==0.18.1"])?;
    let server = folder.join("server.py");
    std::fs::write(&server, include_str!("terminado.py")).ok()?;
    start(&python, [&server, said], folder)
}
