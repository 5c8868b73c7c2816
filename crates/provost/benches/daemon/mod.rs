//! A separate daemon for a benchmark, with a project `app`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use provost_sandbox::launch;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;

pub(crate) struct Daemon {
    pub(crate) pid: Pid,
    pub(crate) address: String,
    pub(crate) token: String,
    pub(crate) http: reqwest::Client,
    pub(crate) folder: TempDir,
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let data = self.folder.path().join("data");
        let stopped =
            launch::run_and_capture(&binary(), &[Path::new("--data"), &data, Path::new("down")]);
        if stopped.is_err() {
            kill_process(self.pid, Signal::TERM).unwrap();
        }
    }
}

impl Daemon {
    /// Starts a daemon with additional environment variables.
    pub(crate) async fn start(variables: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (data, app) = (folder.path().join("data"), folder.path().join("app"));
        std::fs::create_dir(&app).unwrap();
        let args = ["serve", "--listen", "127.0.0.1:0", "--data", data.to_str().unwrap()];
        let mut own: Vec<(OsString, OsString)> = vec![("HOME".into(), folder.path().into())];
        own.extend(variables.iter().map(|(name, value)| (name.into(), value.into())));
        let pid =
            launch::spawn_detached(&binary(), &args, &folder.path().join("log"), &own).unwrap();
        let address = loop {
            let text = std::fs::read(data.join("daemon.json")).unwrap_or_default();
            let value: Value = serde_json::from_slice(&text).unwrap_or_default();
            if let Some(address) = value["address"].as_str() {
                break address.to_owned();
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        };
        let token = std::fs::read_to_string(data.join("token")).unwrap().trim().to_owned();
        let http = provost_runner::model::local_http_client_builder().build().unwrap();
        let pid = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
        let daemon = Self { pid, address, token, http, folder };
        daemon.post("/api/projects", json!({ "path": app })).await;
        daemon
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Value {
        let request = self.http.post(format!("http://{}{path}", self.address));
        let request = request.bearer_auth(&self.token).json(&body);
        request.send().await.unwrap().json().await.unwrap()
    }

    pub(crate) async fn get(&self, path: &str) -> Value {
        let request = self.http.get(format!("http://{}{path}", self.address));
        request.bearer_auth(&self.token).send().await.unwrap().json().await.unwrap()
    }

    /// The process of a project's kernel.
    pub(crate) async fn kernel(&self, project: &str) -> Pid {
        let kernel = self.get(&format!("/api/projects/{project}/kernel")).await;
        Pid::from_raw(i32::try_from(kernel["pid"].as_i64().unwrap()).unwrap()).unwrap()
    }
}

/// The binary, built with this benchmark and with the same profile.
pub(crate) fn binary() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_provost"))
}

pub(crate) fn resident_kib(pid: Pid) -> u32 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", pid.as_raw_nonzero())).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}
