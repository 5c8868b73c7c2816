//! The terminal, through the kernel's socket: a client gets all output, whatever the
//! others do.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod flood;
mod malformed;
mod many;
mod reading;
mod resume;

use std::collections::VecDeque;
use std::time::Duration;

use provost_kernel::host::{self, HostOptions};
use provost_kernel::{
    KernelDir, KernelError, TerminalAttachOptions, TerminalAttachment, TerminalReader,
    TerminalWriter, attach_terminal,
};
use provost_proto::terminal::{ForwardedInput, TerminalInputFrame, TerminalOutputFrame};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// Long enough for any machine; only a test that fails waits for it.
const LONG: Duration = Duration::from_mins(1);

/// A kernel, and the daemon's connection to it.
struct Host {
    folder: TempDir,
    kernel_dir: KernelDir,
    task: JoinHandle<()>,
    control: UnixStream,
    /// Reports that arrived while something else was awaited.
    reports: Vec<Value>,
    last_id: u64,
}

impl Host {
    async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let kernel_dir = KernelDir::new(&folder.path().join("kernel"));
        kernel_dir.prepare().unwrap();
        std::fs::create_dir(folder.path().join("app")).unwrap();
        // A shell that prints nothing by itself.
        let quiet = "PS1='ready> '\nunset PROMPT_COMMAND\nbind 'set enable-bracketed-paste off'\n";
        std::fs::write(folder.path().join(".bashrc"), quiet).unwrap();
        let environment = [("SHELL", "/bin/bash"), ("PATH", "/usr/local/bin:/usr/bin:/bin")];
        let options = HostOptions {
            kernel_dir: kernel_dir.path().to_owned(),
            project: folder.path().join("app"),
            home: folder.path().to_owned(),
            data: folder.path().join("kernel"),
            environment: environment.map(|(name, value)| (name.into(), value.into())).into(),
            idle: Duration::from_hours(1),
            version: "test".to_owned(),
            clock: || 0,
        };
        let task = tokio::spawn(async { host::run(options).await.unwrap() });
        // The file exists a moment before the kernel listens.
        let control = loop {
            match UnixStream::connect(kernel_dir.path().join("socket")).await {
                Ok(control) => break control,
                Err(_) => tokio::task::yield_now().await,
            }
        };
        let mut host = Self { folder, kernel_dir, task, control, reports: Vec::new(), last_id: 0 };
        let secret = std::fs::read_to_string(host.kernel_dir.path().join("secret")).unwrap();
        host.request("hello", json!({ "secret": secret, "protocol": 4 })).await.unwrap();
        let secret = json!({ "name": "API_KEY", "value": "s3cr3t-Value-42" });
        host.request("secrets", json!({ "values": [secret] })).await.unwrap();
        host.request("attach", json!({ "after": 0 })).await.unwrap();
        host
    }

    /// Sends a request, and waits for the response.
    async fn request(&mut self, method: &str, params: Value) -> Result<Value, Value> {
        self.last_id += 1;
        let id = self.last_id;
        let question = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        let text = question.to_string();
        let length = u32::try_from(text.len()).unwrap().to_be_bytes();
        self.control.write_all(&[&length[..], &[1], text.as_bytes()].concat()).await.unwrap();
        loop {
            let (kind, frame) = self.frame().await;
            match kind {
                2 if frame["id"] == id && frame["error"].is_null() => {
                    return Ok(frame["result"].clone());
                }
                2 if frame["id"] == id => return Err(frame["error"]["data"].clone()),
                3 => self.reports.push(frame),
                _ => {}
            }
        }
    }

    async fn frame(&mut self) -> (u8, Value) {
        let mut head = [0; 5];
        timeout(LONG, self.control.read_exact(&mut head)).await.unwrap().unwrap();
        let size = u32::from_be_bytes([head[0], head[1], head[2], head[3]]);
        let mut payload = vec![0; usize::try_from(size).unwrap()];
        timeout(LONG, self.control.read_exact(&mut payload)).await.unwrap().unwrap();
        (head[4], serde_json::from_slice(&payload).unwrap_or_default())
    }

    async fn act(&mut self, action: &str, params: Value) -> Result<Value, Value> {
        let id = format!("00000000-0000-0000-0000-{:012}", self.last_id + 1);
        self.request("execute", json!({ "id": id, "action": action, "params": params })).await
    }

    async fn open(&mut self) -> Value {
        self.act("pty.open", json!({ "cols": 80, "rows": 24 })).await.unwrap()
    }

    /// The reported changes of the terminal, once there are so many.
    async fn changes(&mut self, n: usize) -> Vec<(String, Value)> {
        let of = |report: &Value| {
            let change = &report["what"];
            let name = change["change"].as_str().unwrap_or_default().to_owned();
            (name, change["body"].clone())
        };
        while self.reports.len() < n {
            if let (3, report) = self.frame().await {
                self.reports.push(report);
            }
        }
        self.reports.iter().map(of).collect()
    }

    async fn attach(&self, after: Option<u64>, cols: u16, rows: u16) -> Client {
        let options = TerminalAttachOptions { after, cols, rows };
        Client::new(attach_terminal(&self.kernel_dir, options).await.unwrap())
    }

    async fn refusal(&self, after: Option<u64>) -> String {
        let options = TerminalAttachOptions { after, cols: 80, rows: 24 };
        match attach_terminal(&self.kernel_dir, options).await {
            Err(KernelError::Fault(fault)) => fault.code.to_string(),
            other => format!("{other:?}"),
        }
    }
}

/// A client that records what it is sent.
struct Client {
    reader: TerminalReader,
    writer: TerminalWriter,
    /// Frames that were received and not handled yet.
    received: VecDeque<TerminalOutputFrame>,
    /// All output since the last snapshot, and its end.
    output: Vec<u8>,
    at: u64,
    n_snapshots: usize,
    sizes: Vec<(u16, u16)>,
    exit: Option<(Option<i32>, Option<i32>)>,
    error: Option<String>,
}

impl Client {
    fn new(attachment: TerminalAttachment) -> Self {
        let TerminalAttachment { attached, reader, writer } = attachment;
        assert!(attached.pid > 0 && attached.oldest <= attached.end);
        Self {
            reader,
            writer,
            received: VecDeque::new(),
            output: Vec::new(),
            at: attached.end,
            n_snapshots: 0,
            sizes: Vec::new(),
            exit: None,
            error: None,
        }
    }

    /// The next frame, acknowledged; `false` at the end.
    async fn next(&mut self) -> bool {
        if self.received.is_empty()
            && let Some(frames) = timeout(LONG, self.reader.next()).await.unwrap().unwrap()
        {
            self.received.extend(TerminalOutputFrame::decode_message(frames.bytes).unwrap());
        }
        let frame = self.received.pop_front();
        match frame {
            None => return false,
            Some(TerminalOutputFrame::Data { offset, bytes }) => {
                assert_eq!(offset, self.at, "a gap or a repetition");
                self.at += u64::try_from(bytes.len()).unwrap();
                self.output.extend_from_slice(&bytes);
                self.acknowledge().await;
            }
            Some(TerminalOutputFrame::Snapshot { offset, bytes, cols, rows }) => {
                self.n_snapshots += 1;
                self.output = bytes.to_vec();
                self.sizes.push((cols, rows));
                self.at = offset;
                self.acknowledge().await;
            }
            Some(TerminalOutputFrame::Resize { offset, cols, rows }) => {
                self.at = if self.n_snapshots + self.sizes.len() == 0 { offset } else { self.at };
                self.sizes.push((cols, rows));
            }
            Some(TerminalOutputFrame::Exit { exit_code, signal }) => {
                self.exit = Some((exit_code, signal));
            }
            Some(TerminalOutputFrame::Error(fault)) => self.error = Some(fault.code.to_string()),
            Some(TerminalOutputFrame::Title(_) | TerminalOutputFrame::Bell) => {}
            Some(TerminalOutputFrame::Ping) => self.error = Some("a kernel sent a ping".to_owned()),
        }
        true
    }

    async fn acknowledge(&mut self) {
        // The terminal may end before it reads this.
        drop(self.try_send(TerminalInputFrame::Ack { offset: self.at }).await);
    }

    async fn send(&mut self, frame: TerminalInputFrame) {
        self.try_send(frame).await.unwrap();
    }

    async fn try_send(&mut self, frame: TerminalInputFrame) -> std::io::Result<()> {
        let frame = ForwardedInput::from_message(frame.encode().unwrap()).unwrap();
        self.writer.forward(&frame).await
    }

    async fn types(&mut self, keys: &str) {
        self.send(TerminalInputFrame::Input(keys.to_owned().into())).await;
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.output).into_owned()
    }

    /// Reads until this was printed.
    async fn until(&mut self, text: &str) {
        while !self.text().contains(text) {
            assert!(self.next().await, "it ended before {text:?}: {:?}", self.text());
        }
    }

    async fn until_size(&mut self, cols: u16, rows: u16) {
        while self.sizes.last() != Some(&(cols, rows)) {
            assert!(self.next().await, "it never had this size: {:?}", self.sizes);
        }
    }

    async fn read_to_end(&mut self) {
        while self.next().await {}
    }
}

/// How many PTYs this process, which includes the kernel, has open.
fn kernel_terminals() -> usize {
    let entries = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
    let number = |entry: std::fs::DirEntry| {
        let is_terminal = std::fs::read_link(entry.path()).is_ok_and(|path| path.ends_with("ptmx"));
        let about = std::path::Path::new("/proc/self/fdinfo").join(entry.file_name());
        let about = std::fs::read_to_string(about).ok().filter(|_| is_terminal)?;
        about.lines().find_map(|line| line.strip_prefix("tty-index:")).map(str::to_owned)
    };
    entries.filter_map(number).collect::<std::collections::HashSet<_>>().len()
}

/// Waits for a state that no message announces.
async fn wait_until(is_reached: impl Fn() -> bool) {
    let polling = async {
        while !is_reached() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    assert!(timeout(LONG, polling).await.is_ok(), "the state is not reached");
}
