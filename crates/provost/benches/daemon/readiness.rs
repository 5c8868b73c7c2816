//! Finds out where a daemon listens, and whether it is ready.

use std::net::SocketAddr;
use std::path::Path;

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// The address of the daemon with this process, once it has written it down.
pub(crate) fn find_address(data: &Path, pid: u32) -> Option<SocketAddr> {
    let text = std::fs::read(data.join("daemon.json")).ok()?;
    let value: Value = serde_json::from_slice(&text).ok()?;
    (value["pid"] == pid).then(|| value["address"].as_str()?.parse().ok()).flatten()
}

pub(crate) async fn is_healthy(address: SocketAddr) -> bool {
    let Ok(mut socket) = TcpStream::connect(address).await else { return false };
    let head = format!("GET /api/health HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    let mut answer = String::new();
    socket.write_all(head.as_bytes()).await.is_ok()
        && socket.read_to_string(&mut answer).await.is_ok()
        && answer.starts_with("HTTP/1.1 200")
}
