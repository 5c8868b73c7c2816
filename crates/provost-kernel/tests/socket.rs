//! The kernel's socket: authentication, protocol versions and malformed frames.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;
use std::time::Duration;

use provost_core::redact::Secrets;
use provost_kernel::host::{self, HostOptions};
use provost_kernel::{DaemonSettings, KernelClient, KernelDir, KernelError};
use provost_proto::kernel::PROTOCOL_VERSION;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// Long enough for any machine; only a test that fails waits for it.
const LONG: Duration = Duration::from_mins(1);

struct Host {
    folder: TempDir,
    dir: KernelDir,
    task: JoinHandle<()>,
}

impl Host {
    async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let dir = KernelDir::new(&folder.path().join("kernel"));
        dir.prepare().unwrap();
        std::fs::create_dir(folder.path().join("app")).unwrap();
        let options = HostOptions {
            kernel_dir: dir.path().to_owned(),
            project: folder.path().join("app"),
            home: folder.path().to_owned(),
            data: folder.path().join("kernel"),
            environment: Vec::new(),
            idle: Duration::from_hours(1),
            version: "test".to_owned(),
            clock: || 0,
        };
        let task = tokio::spawn(async { host::run(options).await.unwrap() });
        // The file exists a moment before the kernel listens.
        while UnixStream::connect(dir.path().join("socket")).await.is_err() {
            tokio::task::yield_now().await;
        }
        Self { folder, dir, task }
    }

    async fn connect(&self) -> UnixStream {
        UnixStream::connect(self.dir.path().join("socket")).await.unwrap()
    }

    fn read_secret(&self) -> String {
        std::fs::read_to_string(self.dir.path().join("secret")).unwrap()
    }
}

/// Whether the kernel closes the connection without a response.
async fn is_refused(mut stream: UnixStream, bytes: &[u8]) -> bool {
    // It may close before all is sent.
    drop(stream.write_all(bytes).await);
    drop(stream.shutdown().await);
    let mut answer = Vec::new();
    timeout(LONG, stream.read_to_end(&mut answer)).await.unwrap().unwrap_or(0) == 0
}

fn frame(kind: u8, payload: &str) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&length[..], &[kind], payload.as_bytes()].concat()
}

fn hello(secret: &str, protocol: u32) -> Vec<u8> {
    let params = format!(r#"{{"secret":"{secret}","protocol":{protocol}}}"#);
    frame(1, &format!(r#"{{"jsonrpc":"2.0","id":1,"method":"hello","params":{params}}}"#))
}

fn settings(secrets: &Secrets) -> DaemonSettings<'_> {
    DaemonSettings { secrets, ports: &[] }
}

#[tokio::test]
async fn only_a_peer_that_knows_the_secret_is_accepted() {
    let host = Host::start().await;
    assert!(is_refused(host.connect().await, &hello("guess", PROTOCOL_VERSION)).await);
    assert!(is_refused(host.connect().await, &hello("", PROTOCOL_VERSION)).await);
    let ping = frame(1, r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{}}"#);
    assert!(is_refused(host.connect().await, &ping).await, "hello must come first");
    let secret = host.read_secret();
    assert!(!is_refused(host.connect().await, &hello(&secret, PROTOCOL_VERSION)).await);
}

#[tokio::test]
async fn malformed_and_huge_frames_end_the_connection_and_nothing_else() {
    let host = Host::start().await;
    for bytes in [
        vec![],
        vec![0xff; 5],
        [&u32::MAX.to_be_bytes()[..], &[1]].concat(),
        frame(9, "{}"),
        frame(1, "not json"),
        frame(1, r#"{"jsonrpc":"1.0","id":1,"method":"ping","params":{}}"#),
        frame(1, &"[".repeat(100_000)),
    ] {
        assert!(
            is_refused(host.connect().await, &bytes).await,
            "{:?}",
            &bytes[..bytes.len().min(9)]
        );
    }
    let (kernel, _reports) =
        KernelClient::connect_existing(&host.dir, settings(&Secrets::default())).await.unwrap();
    kernel.ping().await.unwrap();
}

#[tokio::test]
async fn a_new_daemon_connection_replaces_the_one_before() {
    let host = Host::start().await;
    let (first, mut reports) =
        KernelClient::connect_existing(&host.dir, settings(&Secrets::default())).await.unwrap();
    first.subscribe_reports(0).await.unwrap();
    let (second, _reports) =
        KernelClient::connect_existing(&host.dir, settings(&Secrets::default())).await.unwrap();
    assert!(timeout(LONG, reports.next()).await.unwrap().is_none(), "the first is disconnected");
    assert!(first.ping().await.is_err());
    assert_eq!(second.welcome().boot, first.welcome().boot);
    second.shut_down().await.unwrap();
    timeout(LONG, host.task).await.unwrap().unwrap();
    assert!(!Path::new(host.dir.path()).exists(), "nothing is left behind");
    assert!(host.folder.path().exists());
}

/// The next frame: its kind and its payload.
async fn next(stream: &mut UnixStream) -> (u8, Vec<u8>) {
    let mut head = [0; 5];
    timeout(LONG, stream.read_exact(&mut head)).await.unwrap().unwrap();
    let mut payload = vec![0; u32::from_be_bytes([head[0], head[1], head[2], head[3]]) as usize];
    stream.read_exact(&mut payload).await.unwrap();
    (head[4], payload)
}

#[tokio::test]
async fn output_is_sent_as_bytes_and_the_other_reports_as_json() {
    const ACTION: &str = "00000000-0000-0000-0000-000000000001";
    let host = Host::start().await;
    let request = |method: &str, params: &str| {
        frame(1, &format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#))
    };
    let run = format!(
        r#"{{"id":"{ACTION}","action":"terminal.runCommand","params":{{"argv":["/bin/echo","hi"]}}}}"#
    );
    let mut stream = host.connect().await;
    stream.write_all(&hello(&host.read_secret(), PROTOCOL_VERSION)).await.unwrap();
    assert_eq!(next(&mut stream).await.0, 2, "welcome");
    stream.write_all(&request("secrets", r#"{"values":[]}"#)).await.unwrap();
    stream.write_all(&request("execute", &run)).await.unwrap();
    stream.write_all(&request("attach", r#"{"after":0}"#)).await.unwrap();
    let mut reports = Vec::new();
    while reports.len() < 3 {
        let (kind, payload) = next(&mut stream).await;
        if kind != 2 {
            reports.push((kind, String::from_utf8_lossy(&payload).into_owned()));
        }
    }
    let kinds: Vec<_> = reports.iter().map(|(kind, _)| *kind).collect();
    assert_eq!(kinds, [3, 4, 3], "started, output, finished: {reports:?}");
    assert!(reports[1].1.contains("hi"), "{reports:?}");
}

#[tokio::test]
async fn a_kernel_with_another_protocol_is_refused_and_the_daemon_says_why() {
    for protocol in [PROTOCOL_VERSION - 1, PROTOCOL_VERSION + 1] {
        let folder = tempfile::tempdir().unwrap();
        let dir = KernelDir::new(&folder.path().join("kernel"));
        dir.prepare().unwrap();
        let listener = tokio::net::UnixListener::bind(dir.path().join("socket")).unwrap();
        let other_version = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            next(&mut stream).await;
            let boot = "00000000-0000-0000-0000-000000000002";
            let welcome = format!(
                r#"{{"protocol":{protocol},"boot":"{boot}","pid":7,"version":"9","running":[]}}"#
            );
            let response = format!(r#"{{"jsonrpc":"2.0","id":0,"result":{welcome}}}"#);
            stream.write_all(&frame(2, &response)).await.unwrap();
        });
        let error =
            timeout(LONG, KernelClient::connect_existing(&dir, settings(&Secrets::default())))
                .await
                .unwrap()
                .unwrap_err();
        let KernelError::ProtocolMismatch { kernel, pid: 7 } = error else { panic!("{error}") };
        assert_eq!(kernel, protocol);
        other_version.await.unwrap();
    }
}

#[tokio::test]
async fn a_daemon_with_another_protocol_learns_the_version_and_is_disconnected() {
    let host = Host::start().await;
    let mut stream = host.connect().await;
    stream.write_all(&hello(&host.read_secret(), PROTOCOL_VERSION + 1)).await.unwrap();
    let (kind, payload) = next(&mut stream).await;
    assert_eq!(kind, 2, "welcome");
    let response: serde_json::Value = serde_json::from_slice(&payload).unwrap();
    assert_eq!(response["result"]["protocol"], PROTOCOL_VERSION);
    let mut rest = Vec::new();
    timeout(LONG, stream.read_to_end(&mut rest)).await.unwrap().unwrap();
    assert!(rest.is_empty(), "the connection is closed");
}

#[tokio::test]
async fn the_socket_and_the_secret_are_closed_to_others() {
    use std::os::unix::fs::PermissionsExt;
    let host = Host::start().await;
    for (name, mode) in [("socket", 0o600), ("secret", 0o600), ("", 0o700)] {
        let path = host.dir.path().join(name);
        let found = std::fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        assert_eq!(found, mode, "{}", path.display());
    }
}
