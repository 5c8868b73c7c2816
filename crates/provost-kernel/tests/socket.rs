//! The kernel's socket: who is let in, and what malformed frames do.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;
use std::time::Duration;

use provost_core::redact::Secrets;
use provost_kernel::host::{self, HostOptions};
use provost_kernel::{KernelClient, KernelDir, KernelError};
use provost_proto::kernel::PROTOCOL_VERSION;
use serde_json::json;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// Long enough for any machine; only a test that fails waits for it.
const LONG: Duration = Duration::from_mins(1);

struct Host {
    folder: TempDir,
    place: KernelDir,
    task: JoinHandle<()>,
}

impl Host {
    async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let place = KernelDir::new(&folder.path().join("kernel"));
        place.prepare().unwrap();
        std::fs::create_dir(folder.path().join("app")).unwrap();
        let options = HostOptions {
            place: place.path().to_owned(),
            project: folder.path().join("app"),
            home: folder.path().to_owned(),
            data: folder.path().join("kernel"),
            environment: Vec::new(),
            idle: Duration::from_hours(1),
            version: "test".to_owned(),
            clock: || 0,
        };
        let task = tokio::spawn(async { host::run(options).await.unwrap() });
        // The file is there a moment before anybody listens.
        while UnixStream::connect(place.path().join("socket")).await.is_err() {
            tokio::task::yield_now().await;
        }
        Self { folder, place, task }
    }

    async fn knock(&self) -> UnixStream {
        UnixStream::connect(self.place.path().join("socket")).await.unwrap()
    }
}

/// Whether the kernel hangs up without a word.
async fn is_refused(mut stream: UnixStream, bytes: &[u8]) -> bool {
    // It may hang up before all is sent.
    drop(stream.write_all(bytes).await);
    drop(stream.shutdown().await);
    let mut answer = Vec::new();
    timeout(LONG, stream.read_to_end(&mut answer)).await.unwrap().unwrap_or(0) == 0
}

fn frame(kind: u8, payload: &str) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&length[..], &[kind], payload.as_bytes()].concat()
}

#[tokio::test]
async fn only_who_knows_the_secret_is_let_in() {
    let host = Host::start().await;
    let hello = |secret: &str| {
        let params = format!(r#"{{"secret":"{secret}","protocol":1}}"#);
        frame(1, &format!(r#"{{"jsonrpc":"2.0","id":1,"method":"hello","params":{params}}}"#))
    };
    assert!(is_refused(host.knock().await, &hello("guess")).await);
    assert!(is_refused(host.knock().await, &hello("")).await);
    let ping = frame(1, r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{}}"#);
    assert!(is_refused(host.knock().await, &ping).await, "hello must come first");
    let secret = std::fs::read_to_string(host.place.path().join("secret")).unwrap();
    assert!(!is_refused(host.knock().await, &hello(&secret)).await);
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
        assert!(is_refused(host.knock().await, &bytes).await, "{:?}", &bytes[..bytes.len().min(9)]);
    }
    let (kernel, _reports) =
        KernelClient::connect_existing(&host.place, &Secrets::default()).await.unwrap();
    kernel.ping().await.unwrap();
}

#[tokio::test]
async fn the_daemon_that_comes_later_takes_the_place_of_the_one_before() {
    let host = Host::start().await;
    let (first, mut reports) =
        KernelClient::connect_existing(&host.place, &Secrets::default()).await.unwrap();
    first.subscribe_reports(0).await.unwrap();
    let (second, _reports) =
        KernelClient::connect_existing(&host.place, &Secrets::default()).await.unwrap();
    assert!(timeout(LONG, reports.next()).await.unwrap().is_none(), "the first is cut off");
    assert!(first.ping().await.is_err());
    assert_eq!(second.welcome().boot, first.welcome().boot);
    second.shut_down().await.unwrap();
    timeout(LONG, host.task).await.unwrap().unwrap();
    assert!(!Path::new(host.place.path()).exists(), "nothing is left behind");
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
async fn a_daemon_of_an_older_protocol_gets_output_in_json_and_a_newer_one_as_bytes() {
    const ACTION: &str = "00000000-0000-0000-0000-000000000001";
    let host = Host::start().await;
    let secret = std::fs::read_to_string(host.place.path().join("secret")).unwrap();
    let ask = |method: &str, params: &str| {
        frame(1, &format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#))
    };
    let run = format!(
        r#"{{"id":"{ACTION}","action":"terminal.runCommand","params":{{"argv":["/bin/echo","hi"]}}}}"#
    );
    // The first starts the command; both read its reports from the first on.
    for (protocol, kind) in [(1, 3), (2, 4)] {
        let mut stream = host.knock().await;
        let hello = format!(r#"{{"secret":"{secret}","protocol":{protocol}}}"#);
        stream.write_all(&ask("hello", &hello)).await.unwrap();
        assert_eq!(next(&mut stream).await.0, 2, "welcome");
        if protocol == 1 {
            stream.write_all(&ask("secrets", r#"{"values":[]}"#)).await.unwrap();
            stream.write_all(&ask("execute", &run)).await.unwrap();
        }
        stream.write_all(&ask("attach", r#"{"after":0}"#)).await.unwrap();
        let mut reports = Vec::new();
        while reports.len() < 3 {
            let (kind, payload) = next(&mut stream).await;
            if kind != 2 {
                reports.push((kind, String::from_utf8_lossy(&payload).into_owned()));
            }
        }
        let kinds: Vec<_> = reports.iter().map(|(kind, _)| *kind).collect();
        assert_eq!(kinds, [3, kind, 3], "started, output, finished: {reports:?}");
        assert!(reports[1].1.contains("hi"), "{reports:?}");
        assert_eq!(reports[1].1.contains("\"kind\":\"output\""), protocol == 1, "{reports:?}");
    }
}

#[tokio::test]
async fn a_kernel_that_is_newer_than_the_daemon_is_left_alone_and_the_daemon_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let place = KernelDir::new(&folder.path().join("kernel"));
    place.prepare().unwrap();
    let listener = tokio::net::UnixListener::bind(place.path().join("socket")).unwrap();
    let newer = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        next(&mut stream).await;
        let boot = "00000000-0000-0000-0000-000000000002";
        let welcome =
            format!(r#"{{"protocol":99,"boot":"{boot}","pid":7,"version":"9","running":[]}}"#);
        let answer = format!(r#"{{"jsonrpc":"2.0","id":0,"result":{welcome}}}"#);
        stream.write_all(&frame(2, &answer)).await.unwrap();
    });
    let error = timeout(LONG, KernelClient::connect_existing(&place, &Secrets::default()))
        .await
        .unwrap()
        .unwrap_err();
    assert!(matches!(error, KernelError::ProtocolTooNew { kernel: 99, pid: 7 }), "{error}");
    newer.await.unwrap();
}

/// Speaks as a kernel of the protocol before did, whatever it is asked; returns
/// the names of the questions, and up to which report was acknowledged.
async fn speak_as_before(listener: tokio::net::UnixListener) -> (Vec<String>, u64) {
    let (mut stream, _) = listener.accept().await.unwrap();
    let (mut asked, mut acknowledged) = (Vec::new(), 0);
    while acknowledged < 2 {
        let (_, question) = next(&mut stream).await;
        let question: serde_json::Value = serde_json::from_slice(&question).unwrap();
        let method = question["method"].as_str().unwrap().to_owned();
        let result = match method.as_str() {
            "hello" => {
                let boot = "00000000-0000-0000-0000-000000000002";
                let protocol = PROTOCOL_VERSION - 1;
                json!({ "protocol": protocol, "boot": boot, "pid": 7, "version": "0", "running": [] })
            }
            _ => json!(null),
        };
        let answer = json!({ "jsonrpc": "2.0", "id": question["id"], "result": result });
        stream.write_all(&frame(2, &answer.to_string())).await.unwrap();
        if method == "attach" {
            let started = json!({ "kind": "started", "pid": 8, "profile": "build", "layers": {} });
            let outcome = json!({ "kind": "finished", "exitCode": 0, "signal": null,
                "durationMs": 1, "fault": null, "summary": {} });
            for (number, what) in [(1, started), (2, outcome)] {
                let action = "00000000-0000-0000-0000-000000000003";
                let report = json!({ "number": number, "action": action, "what": what });
                stream.write_all(&frame(3, &report.to_string())).await.unwrap();
            }
        }
        acknowledged = acknowledged.max(question["params"]["upTo"].as_u64().unwrap_or(0));
        asked.push(method);
    }
    (asked, acknowledged)
}

#[tokio::test]
async fn a_daemon_of_today_goes_on_with_a_kernel_of_the_protocol_before() {
    let folder = tempfile::tempdir().unwrap();
    let place = KernelDir::new(&folder.path().join("kernel"));
    place.prepare().unwrap();
    let listener = tokio::net::UnixListener::bind(place.path().join("socket")).unwrap();
    let older = tokio::spawn(speak_as_before(listener));
    let found =
        timeout(LONG, KernelClient::connect_existing(&place, &Secrets::default())).await.unwrap();
    let (kernel, mut reports) = found.unwrap();
    assert_eq!(kernel.welcome().protocol, PROTOCOL_VERSION - 1);
    assert!(!kernel.welcome().supports_runtime(), "nothing is asked of it that it does not know");
    kernel.ping().await.unwrap();
    kernel.subscribe_reports(0).await.unwrap();
    for number in [1, 2] {
        let report = timeout(LONG, reports.next()).await.unwrap().unwrap();
        assert_eq!(report.number, number, "what it reports is heard");
    }
    kernel.acknowledge(2).await.unwrap();
    let (asked, acknowledged) = timeout(LONG, older).await.unwrap().unwrap();
    assert_eq!(asked, ["hello", "secrets", "ping", "attach", "acknowledge"]);
    assert_eq!(acknowledged, 2);
}

#[tokio::test]
async fn the_socket_and_the_secret_are_closed_to_others() {
    use std::os::unix::fs::PermissionsExt;
    let host = Host::start().await;
    for (name, mode) in [("socket", 0o600), ("secret", 0o600), ("", 0o700)] {
        let path = host.place.path().join(name);
        let found = std::fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        assert_eq!(found, mode, "{}", path.display());
    }
}
