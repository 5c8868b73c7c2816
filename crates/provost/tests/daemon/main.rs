//! Tests of the binary with real daemons, kernels and tokens.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod action_report;
mod actions;
mod answers;
mod archive;
mod cli;
mod connections;
mod documents;
mod examples;
mod govern;
mod governance;
mod held_process;
mod kill;
mod notebooks;
mod preview;
mod runtime;
mod secrets;
mod sessions;
mod survive;
mod terminal;
mod typing;

use std::fs::File;
use std::path::PathBuf;
use std::time::Duration;

use assert_cmd::Command;
use rustix::fs::{FlockOperation, flock};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

use held_process::HeldProcess;

/// A temporary home, so that tests see neither each other's nor the user's Provost.
struct Home {
    folder: TempDir,
}

impl Home {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("app")).unwrap();
        Self { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn data(&self) -> PathBuf {
        self.path("data")
    }

    /// The binary, with this home, free ports and nothing else in its environment.
    fn provost(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_provost"));
        command
            .env_clear()
            .env("HOME", self.folder.path())
            .env("USER", "ann")
            .env("PROVOST_DATA", self.data())
            .env("PROVOST_LISTEN", "127.0.0.1:0")
            // Not the rules of the user who runs the tests.
            .env("PROVOST_POLICY", self.path("policy.toml"))
            .args(args)
            .timeout(Duration::from_mins(2));
        command
    }

    /// Runs it and returns standard output; it must succeed.
    #[track_caller]
    fn run_ok(&self, args: &[&str]) -> String {
        let output = self.provost(args).assert().success();
        String::from_utf8(output.get_output().stdout.clone()).unwrap()
    }

    /// Standard error followed by standard output.
    #[track_caller]
    fn run_ok_with_stderr(&self, args: &[&str]) -> String {
        let output = self.provost(args).assert().success();
        let text = [&*output.get_output().stderr, &*output.get_output().stdout].concat();
        String::from_utf8(text).unwrap()
    }

    /// Runs it and returns standard error; it must exit with this code.
    #[track_caller]
    fn run_failing(&self, args: &[&str], code: i32) -> String {
        let output = self.provost(args).assert().code(code);
        String::from_utf8(output.get_output().stderr.clone()).unwrap()
    }

    fn up(&self) -> Running {
        self.run_ok(&["up", "--no-open", self.path("app").to_str().unwrap()]);
        self.running()
    }

    fn running(&self) -> Running {
        let text = std::fs::read(self.data().join("daemon.json")).unwrap();
        let value: Value = serde_json::from_slice(&text).unwrap();
        Running {
            pid: Pid::from_raw(i32::try_from(value["pid"].as_i64().unwrap()).unwrap()).unwrap(),
            base: format!("http://{}", value["address"].as_str().unwrap()),
            token: std::fs::read_to_string(self.data().join("token")).unwrap().trim().to_owned(),
            lock: self.data().join("daemon.lock"),
        }
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        // Whatever the test did, no daemon outlives it, nor a kernel. The daemon first, which
        // would start a kernel again.
        if let Some(daemon) = HeldProcess::daemon_of(&self.data()) {
            daemon.kill();
        }
        HeldProcess::kill_kernels(&self.data());
        // Nor the temporary files that a kernel which was killed could not remove.
        for place in std::fs::read_dir(self.data().join("kernels")).into_iter().flatten().flatten()
        {
            if let Ok(scratch) = std::fs::read_to_string(place.path().join("scratch")) {
                let _gone = std::fs::remove_dir_all(scratch);
            }
        }
    }
}

/// A running daemon.
struct Running {
    pid: Pid,
    base: String,
    token: String,
    lock: PathBuf,
}

impl Running {
    fn kill(&self) {
        kill_process(self.pid, Signal::KILL).unwrap();
        // The lock is released with the last thread, which may be after the process is gone.
        flock(File::open(&self.lock).unwrap(), FlockOperation::LockShared).unwrap();
    }
}
