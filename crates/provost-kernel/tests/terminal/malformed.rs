//! Clients that send what is not a frame.

use provost_proto::limits::MAX_TERMINAL_INPUT_BYTES;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;
use tokio::time::timeout;

use super::{Host, LONG};

/// The bytes of a request on the kernel's socket.
fn request(id: u64, method: &str, params: &Value) -> Vec<u8> {
    let text =
        json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string();
    let length = u32::try_from(text.len()).unwrap().to_be_bytes();
    [&length[..], &[1], text.as_bytes()].concat()
}

impl Host {
    /// Attaches and sends these bytes; returns all that was received, as text.
    async fn send_raw(&self, bytes: &[u8]) -> String {
        let path = self.kernel_dir.path().join("socket");
        let mut stream = UnixStream::connect(path).await.unwrap();
        let secret = std::fs::read_to_string(self.kernel_dir.path().join("secret")).unwrap();
        let hello = request(1, "hello", &json!({ "secret": secret, "protocol": 4 }));
        let attach = request(2, "terminal", &json!({ "after": null, "cols": 80, "rows": 24 }));
        stream.write_all(&[&hello[..], &attach, bytes].concat()).await.unwrap();
        stream.shutdown().await.unwrap();
        let mut received = Vec::new();
        timeout(LONG, stream.read_to_end(&mut received)).await.unwrap().unwrap();
        String::from_utf8_lossy(&received).into_owned()
    }
}

/// Bytes that look random and are the same in every run.
fn noise(length: usize, mut state: u64) -> Vec<u8> {
    let next = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state.to_be_bytes()[1]
    };
    std::iter::repeat_with(next).take(length).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_a_frame_disconnects_its_sender_and_reaches_nobody() {
    let mut host = Host::start().await;
    host.open().await;
    let mut other = host.attach(None, 80, 24).await;
    other.until("ready>").await;
    other.output.clear();
    let too_large = u32::try_from(MAX_TERMINAL_INPUT_BYTES + 1).unwrap().to_be_bytes();
    for (bytes, expected) in [
        (vec![0, 0, 0, 0, 99], "a frame of kind 99 with 0 bytes is not valid"),
        (vec![0, 0, 0, 0, 16], "a frame of kind 16 with 0 bytes is not valid"),
        (vec![0, 0, 0, 3, 33], "a frame of kind 33 with 3 bytes is not valid"),
        (vec![0, 0, 0, 9, 34], "a frame of kind 34 with 9 bytes is not valid"),
        ([&too_large[..], &[32]].concat(), "a frame of 65537 bytes is too large"),
        (vec![0xff; 5], "a frame of kind 255 with 4294967295 bytes is not valid"),
    ] {
        let received = host.send_raw(&bytes).await;
        assert!(received.contains("INVALID_REQUEST"), "{bytes:?}: {received:?}");
        assert!(received.contains(expected), "{bytes:?}: {received:?}");
    }
    for n in 0..50 {
        host.send_raw(&noise(64, n)).await;
    }
    // What is cut off is not typed, and what came before it is.
    let typed = b"echo before-$((1))\r";
    let length = u8::try_from(typed.len()).unwrap();
    let cut = [&[0, 0, 0, length, 32][..], typed, &[0, 0, 0, 9, 32], b"echo cut"].concat();
    host.send_raw(&cut).await;
    other.until("before-1\r\nready>").await;
    other.types("echo still-$((1))\r").await;
    other.until("still-1\r\nready>").await;
    let text = other.text();
    assert!(!text.contains("cut"), "{text:?}");
    assert_eq!((other.n_snapshots, other.error), (1, None), "{text:?}");
}
