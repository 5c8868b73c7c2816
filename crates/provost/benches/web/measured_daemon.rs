//! A copy of a generated log, and daemons on it.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use provost_sandbox::launch;
use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::Value;
use tempfile::TempDir;

use crate::history::{self, SeededHistory};
use crate::readiness;

/// A data folder that a daemon may change.
#[derive(Debug)]
pub(crate) struct DataFolderCopy {
    folder: TempDir,
    pub(crate) history: SeededHistory,
}

/// A daemon on it; stopped when dropped, with its kernels.
pub(crate) struct MeasuredDaemon<'a> {
    pub(crate) pid: Pid,
    pub(crate) address: SocketAddr,
    pub(crate) token: String,
    pub(crate) http: reqwest::Client,
    pub(crate) folder_copy: &'a DataFolderCopy,
}

impl Drop for MeasuredDaemon<'_> {
    fn drop(&mut self) {
        self.folder_copy.run_provost(&["down"]);
        if test_kill_process(self.pid).is_ok() {
            kill_process(self.pid, Signal::TERM).unwrap();
        }
        while test_kill_process(self.pid).is_ok() {
            std::thread::yield_now();
        }
    }
}

impl DataFolderCopy {
    /// Copies the log with this many events, which is generated if it does not exist.
    pub(crate) async fn prepare(n_events: u64) -> Self {
        let (source, history) = history::find_or_generate(n_events).await;
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let data = folder.path().join("data");
        std::fs::create_dir(&data).unwrap();
        for file in std::fs::read_dir(source.join("data")).unwrap() {
            let file = file.unwrap();
            if file.file_type().unwrap().is_file() {
                std::fs::copy(file.path(), data.join(file.file_name())).unwrap();
            }
        }
        Self { folder, history }
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// A folder for new projects.
    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Starts a daemon; returns the time from exec to the first healthy response.
    pub(crate) async fn start(&self) -> (MeasuredDaemon<'_>, Duration) {
        let data = self.data();
        let log = self.folder.path().join("log");
        let args = ["serve", "--listen", "127.0.0.1:0", "--data", data.to_str().unwrap()];
        let home = [("HOME".into(), self.folder.path().into())];
        let began = Instant::now();
        let pid = launch::spawn_detached(&binary(), &args, &log, &home).unwrap();
        let deadline = began + Duration::from_mins(2);
        let address = loop {
            if let Some(address) = readiness::find_address(&data, pid)
                && readiness::is_healthy(address).await
            {
                break address;
            }
            assert!(Instant::now() < deadline, "the daemon did not start");
            tokio::time::sleep(Duration::from_micros(500)).await;
        };
        let took = began.elapsed();
        let token = std::fs::read_to_string(data.join("token")).unwrap().trim().to_owned();
        let pid = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
        let http = provost_runner::model::local_http_client_builder().build().unwrap();
        (MeasuredDaemon { pid, address, token, http, folder_copy: self }, took)
    }

    /// Runs `provost` on this data folder; returns how long that took.
    pub(crate) fn run_provost(&self, args: &[&str]) -> Duration {
        let data = self.data();
        let mut all = vec!["--data", data.to_str().unwrap()];
        all.extend(args);
        let began = Instant::now();
        let output = launch::run_and_capture(&binary(), &all).unwrap();
        let took = began.elapsed();
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "provost {args:?}: {error}");
        took
    }
}

impl MeasuredDaemon<'_> {
    pub(crate) async fn get(&self, path: &str) -> Value {
        self.send(self.http.get(self.url(path))).await
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Value {
        self.send(self.http.post(self.url(path)).json(&body)).await
    }

    pub(crate) async fn delete(&self, path: &str) -> Value {
        self.send(self.http.delete(self.url(path))).await
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    async fn send(&self, request: reqwest::RequestBuilder) -> Value {
        let response = request.bearer_auth(&self.token).send().await.unwrap();
        let (status, url) = (response.status(), response.url().to_string());
        let text = response.text().await.unwrap();
        assert!(status.is_success(), "{url}: {status} {text}");
        serde_json::from_str(&text).unwrap()
    }
}

/// The binary, built with this benchmark and with the same profile.
fn binary() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_provost"))
}

pub(crate) fn resident_megabytes(pid: Pid) -> f64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", pid.as_raw_nonzero())).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    let kibibytes: u32 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    f64::from(kibibytes) * 1024.0 / 1e6
}
