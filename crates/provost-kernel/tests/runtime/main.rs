//! The runtime of a project, with real processes in the sandbox: what is run, what is
//! reported of it and of its changes, and that no process is left.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod build;
mod build_files;
mod crash;
mod hidden_names;
mod observed_changes;
mod ports;
mod put_back;
mod quarantine;
mod run;
mod stop;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use provost_kernel::KernelDir;
use provost_kernel::host::{self, HostOptions};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;
use tokio::net::unix::OwnedWriteHalf;
use tokio::sync::{Mutex as AsyncMutex, oneshot, watch};
use tokio::time::timeout;
use uuid::Uuid;

/// Long enough for any machine; only a test that fails waits for it.
const LONG: Duration = Duration::from_mins(1);

/// A kernel, and a daemon that records all reports.
struct Kernel {
    folder: TempDir,
    write: AsyncMutex<OwnedWriteHalf>,
    waiting: Arc<Mutex<HashMap<u64, oneshot::Sender<Value>>>>,
    reports: watch::Receiver<Vec<Value>>,
    next: Mutex<u64>,
}

impl Kernel {
    /// Starts a kernel for a project with these files.
    async fn start(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let app = folder.path().join("app");
        std::fs::create_dir_all(&app).unwrap();
        for (name, text) in files {
            let path = app.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let kernel_dir =
            KernelDir::new(&folder.path().join("data").join(Uuid::from_u128(7).to_string()));
        kernel_dir.prepare().unwrap();
        let options = HostOptions {
            kernel_dir: kernel_dir.path().to_owned(),
            project: app,
            home: folder.path().join("home"),
            data: folder.path().join("data"),
            // Without the user's own programs: the home is hidden here.
            environment: vec![("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())],
            idle: Duration::from_hours(1),
            version: "test".to_owned(),
            clock: || 1_000_000,
        };
        std::fs::create_dir_all(folder.path().join("home")).unwrap();
        drop(tokio::spawn(async { host::run(options).await.unwrap() }));
        let socket = kernel_dir.path().join("socket");
        let stream = loop {
            match UnixStream::connect(&socket).await {
                Ok(stream) => break stream,
                Err(_) => tokio::task::yield_now().await,
            }
        };
        let (mut read, write) = stream.into_split();
        let waiting: Arc<Mutex<HashMap<u64, oneshot::Sender<Value>>>> = Arc::default();
        let (tell, reports) = watch::channel(Vec::new());
        let answers = Arc::clone(&waiting);
        drop(tokio::spawn(async move {
            let mut head = [0; 5];
            while read.read_exact(&mut head).await.is_ok() {
                let length = u32::from_be_bytes([head[0], head[1], head[2], head[3]]);
                let mut payload = vec![0; length as usize];
                read.read_exact(&mut payload).await.unwrap();
                let value: Value = serde_json::from_slice(&payload).unwrap();
                if head[4] == 3 {
                    tell.send_modify(|reports| reports.push(value));
                } else if let Some(reply) =
                    answers.lock().unwrap().remove(&value["id"].as_u64().unwrap())
                {
                    drop(reply.send(value));
                }
            }
        }));
        let kernel =
            Self { folder, write: AsyncMutex::new(write), waiting, reports, next: Mutex::new(0) };
        let secret = std::fs::read_to_string(kernel_dir.path().join("secret")).unwrap();
        kernel.ask("hello", json!({ "secret": secret, "protocol": 4 })).await;
        let secrets = json!({ "values": [{ "name": "KEY", "value": "s3cr3t-Value-42" }] });
        kernel.ask("secrets", secrets).await;
        kernel.ask("attach", json!({ "after": 0 })).await;
        kernel
    }

    fn app(&self, name: &str) -> PathBuf {
        self.folder.path().join("app").join(name)
    }

    async fn ask(&self, method: &str, params: Value) -> Value {
        let id = {
            let mut next = self.next.lock().unwrap();
            *next += 1;
            *next
        };
        let (reply, answer) = oneshot::channel();
        self.waiting.lock().unwrap().insert(id, reply);
        let question = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        let payload = serde_json::to_vec(&question).unwrap();
        let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
        let frame = [&length[..], &[1], &payload].concat();
        self.write.lock().await.write_all(&frame).await.unwrap();
        timeout(LONG, answer).await.unwrap().unwrap()
    }

    /// Executes an action; returns its result or its fault.
    async fn act(&self, action: &str, params: Value) -> Result<Value, Value> {
        self.act_as(Uuid::new_v4(), action, params).await
    }

    /// Executes an action of an agent, which a person was shown and allowed, or not.
    async fn act_for_agent(
        &self,
        action: &str,
        params: Value,
        approved: bool,
    ) -> Result<Value, Value> {
        let params = json!({ "id": Uuid::new_v4(), "action": action, "params": params, "terms": {}, "approved": approved });
        self.execute(params).await
    }

    /// Executes an action of a person.
    async fn act_as_person(&self, action: &str, params: Value) -> Result<Value, Value> {
        let id = Uuid::new_v4();
        self.execute(json!({ "id": id, "action": action, "params": params, "approved": true }))
            .await
    }

    async fn act_as(&self, id: Uuid, action: &str, params: Value) -> Result<Value, Value> {
        self.execute(json!({ "id": id, "action": action, "params": params })).await
    }

    async fn execute(&self, params: Value) -> Result<Value, Value> {
        let answer = self.ask("execute", params).await;
        match answer.get("error") {
            Some(error) => Err(error["data"].clone()),
            None => Ok(answer["result"].clone()),
        }
    }

    async fn run(&self) -> Result<Value, Value> {
        self.act("runtime.run", json!({})).await
    }

    async fn stop(&self) -> Value {
        self.act("runtime.stop", json!({})).await.unwrap()
    }

    /// The current state of the runtime.
    async fn now(&self) -> Value {
        self.ask("runtime", json!({})).await["result"]["runtime"].clone()
    }

    /// The names of the reported changes.
    fn changes(&self) -> Vec<String> {
        let reports = self.reports.borrow();
        reports.iter().map(|report| report["what"]["change"].as_str().unwrap().to_owned()).collect()
    }

    /// Waits until a change was reported so many times; returns the last one.
    async fn until_nth(&self, change: &str, n: usize) -> Value {
        let mut reports = self.reports.clone();
        let mine = |reports: &Vec<Value>| -> Vec<Value> {
            let mine = reports.iter().filter(|report| report["what"]["change"] == change);
            mine.map(|report| report["what"]["body"].clone()).collect()
        };
        let waited = timeout(LONG, reports.wait_for(|reports| mine(reports).len() >= n)).await;
        assert!(waited.is_ok(), "no {change}: {:?}", self.changes());
        let reports = waited.unwrap().unwrap();
        mine(&reports)[n - 1].clone()
    }

    async fn until(&self, change: &str) -> Value {
        self.until_nth(change, 1).await
    }

    /// The log from an offset on, and its end.
    async fn logs(&self, after: u64) -> (String, u64) {
        let (mut text, mut at) = (String::new(), after);
        loop {
            let page = self.ask("logs", json!({ "after": at, "limit": 1000 })).await;
            let page = &page["result"];
            text.push_str(page["data"]["text"].as_str().unwrap());
            at = page["next"].as_u64().unwrap();
            if at == page["end"].as_u64().unwrap() {
                return (text, at);
            }
        }
    }
}

/// `provost.toml` with these lines.
fn runtime(lines: &str) -> String {
    format!("[runtime]\n{lines}\n")
}

/// A server in Python on a port that the system chooses, which it prints.
const SERVER: &str = r#"
import http.server, os, sys
address = os.environ.get("BIND", "127.0.0.1")
class Server(http.server.HTTPServer):
    address_family = __import__("socket").AF_INET6 if ":" in address else 2
server = Server((address, int(os.environ.get("PORT", "0"))), http.server.SimpleHTTPRequestHandler)
print("on port", server.server_port, "as", os.getpid(), flush=True)
server.serve_forever()
"#;
