//! Benchmark of the kernel: the output of a command through kernel, log and HTTP, compared
//! with reading the same pipe directly, and the memory of idle kernels.
//!
//! Part of `cargo xtask bench sandbox`.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a benchmark prints, and fails loudly"
)]

mod daemon;

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::time::{Duration, Instant};

use provost_core::action::Action;
use provost_core::decide::{
    ActingRole, ActionRequest, BoundAction, Decision, PolicyContext, decide,
};
use provost_core::permit::Permit;
use provost_core::policy::{Policy, PolicyRules, RuleLayer};
use provost_core::redact::Secrets;
use provost_kernel::{DaemonSettings, KernelClient, KernelDir, ReportReceiver};
use provost_proto::kernel::{OutputData, ReportPayload};
use provost_proto::{Actor, Event, Hash, ProjectMode, Stream, TokenClass};
use provost_sandbox::launch;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::Mutex;

use daemon::{Daemon, binary, resident_kib};

const ROUNDS: usize = 9;
const LAST: &str = "5000000";
const PROJECTS: usize = 100;
/// Idle time after which a process has returned its unused memory.
const REST: Duration = Duration::from_secs(12);

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    let daemon = Daemon::start(&[("PROVOST_KERNEL_IDLE_MINUTES", "0")]).await;
    daemon.at_rest().await;
    let alone = Alone::start().await;
    let all = 64 * 1024 * 1024;
    let mut ratios: [Vec<f64>; 4] = Default::default();
    for _ in 0..ROUNDS {
        // Alternating in one loop, so that other load affects all alike.
        let direct = direct().as_secs_f64();
        let took = [
            alone.run(all).await,
            daemon.run(256 * 1024, Until::Answered).await,
            daemon.run(all, Until::Logged).await,
            daemon.run(all, Until::Answered).await,
        ];
        for (ratios, took) in ratios.iter_mut().zip(took) {
            ratios.push(direct / took.as_secs_f64());
        }
    }
    let [kernel, usual, logged, answered] = ratios;
    for (what, mut ratios, bound) in [
        ("kept, numbered and handed out by the kernel", kernel, Bound::AtLeast(0.7)),
        ("into the log and the answer, 256 KiB of it", usual, Bound::AtLeast(0.7)),
        ("into the log, all of it", logged, Bound::None),
        ("into the log and the answer, all of it", answered, Bound::None),
    ] {
        ratios.sort_by(f64::total_cmp);
        let (low, high) = (ratios[0], ratios[ROUNDS - 1]);
        let what =
            format!("bytes/s of `seq 1 {LAST}` {what}, / read directly ({low:.2} to {high:.2})");
        print_result(&what, ratios[ROUNDS / 2], bound);
    }
}

/// Time to read the same pipe directly.
fn direct() -> Duration {
    let began = Instant::now();
    let output = launch::run_and_capture(Path::new("seq"), &["1", LAST]).unwrap();
    assert!(output.stdout.ends_with(b"5000000\n"));
    began.elapsed()
}

/// When a command counts as done.
enum Until {
    /// Its end is in the log.
    Logged,
    /// The requester has its output.
    Answered,
}

/// A kernel whose daemon is this benchmark.
struct Alone {
    kernel: KernelClient,
    reports: Mutex<ReportReceiver>,
    _folder: TempDir,
}

impl Alone {
    async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let app = folder.path().join("app");
        std::fs::create_dir(&app).unwrap();
        let place = KernelDir::new(&folder.path().join("kernel"));
        let (at, home) = (place.path(), folder.path());
        let data = folder.path().join("data");
        let args: Vec<OsString> = [
            OsStr::new("kernel"),
            OsStr::new("--place"),
            at.as_os_str(),
            OsStr::new("--project"),
            app.as_os_str(),
            OsStr::new("--home"),
            home.as_os_str(),
            OsStr::new("--data"),
            data.as_os_str(),
            OsStr::new("--umask"),
            OsStr::new("18"),
            OsStr::new("--idle-seconds"),
            OsStr::new("0"),
        ]
        .map(ToOwned::to_owned)
        .into();
        let settings = DaemonSettings { secrets: &Secrets::default(), ports: &[] };
        let (kernel, reports) =
            KernelClient::start(&place, &binary(), &args, settings).await.unwrap();
        kernel.subscribe_reports(0).await.unwrap();
        Self { kernel, reports: Mutex::new(reports), _folder: folder }
    }

    async fn run(&self, max_output: u64) -> Duration {
        let mut reports = self.reports.lock().await;
        let params = json!({ "argv": ["seq", "1", LAST], "maxOutput": max_output });
        let permit = permit(Action::parse("terminal.runCommand", params).unwrap());
        let began = Instant::now();
        self.kernel.execute(permit).await.unwrap();
        let mut bytes = 0;
        loop {
            let report = reports.next().await.unwrap();
            match report.what {
                ReportPayload::Started { .. } | ReportPayload::Runtime(_) => {}
                ReportPayload::Output(output) => match output.data {
                    OutputData::Bytes(data) => bytes += data.len(),
                    OutputData::Blob(_) => unreachable!("a kernel has no blobs"),
                },
                ReportPayload::Finished(outcome) => {
                    assert_eq!((outcome.exit_code, bytes), (Some(0), 38_888_896));
                    break;
                }
            }
            if report.number % 64 == 0 {
                self.kernel.acknowledge(report.number).await.unwrap();
            }
        }
        began.elapsed()
    }
}

impl Drop for Alone {
    fn drop(&mut self) {
        self.kernel.kill();
    }
}

impl Daemon {
    async fn act(&self, action: &str, params: Value) -> Value {
        self.act_in("app", action, params).await
    }

    async fn act_in(&self, project: &str, action: &str, params: Value) -> Value {
        let body = json!({ "action": action, "params": params });
        self.post(&format!("/api/projects/{project}/actions"), body).await
    }

    async fn run(&self, max_output: u64, until: Until) -> Duration {
        let params = json!({ "argv": ["seq", "1", LAST], "maxOutput": max_output });
        let began = Instant::now();
        match until {
            Until::Answered => {
                let answer = self.act("terminal.runCommand", params).await;
                assert_eq!(answer["result"]["exitCode"], 0, "{answer}");
            }
            Until::Logged => {
                let body = json!({ "action": "terminal.runCommand", "params": params });
                let answer = self.post("/api/projects/app/actions?wait=0", body).await;
                let path = format!("/api/actions/{}", answer["actionId"].as_str().unwrap());
                loop {
                    let action = self.get(&path).await;
                    if action["status"] == "finished" {
                        assert_eq!(action["outcome"]["exitCode"], 0, "{action}");
                        break;
                    }
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
            }
        }
        began.elapsed()
    }

    /// Memory of the kernels of many projects after one action each.
    async fn at_rest(&self) {
        let mut kernels = Vec::new();
        for n in 0..PROJECTS {
            let name = format!("p{n}");
            let path = self.folder.path().join(&name);
            std::fs::create_dir(&path).unwrap();
            self.post("/api/projects", json!({ "path": path })).await;
            self.act_in(&name, "fs.listFiles", json!({})).await;
            kernels.push(self.kernel(&name).await);
        }
        tokio::time::sleep(REST).await;
        let sizes = kernels.iter().map(|kernel| f64::from(resident_kib(*kernel)) * 1024.0 / 1e6);
        let mut sizes: Vec<f64> = sizes.collect();
        sizes.sort_by(f64::total_cmp);
        print_result(
            "MB of an idle kernel, median of 100",
            sizes[PROJECTS / 2],
            Bound::AtMost(8.0),
        );
        print_result(
            "MB of an idle kernel, the largest of 100",
            sizes[PROJECTS - 1],
            Bound::AtMost(8.0),
        );
        let daemon = f64::from(resident_kib(self.pid)) * 1024.0 / 1e6;
        print_result("MB of their daemon", daemon, Bound::None);
        for n in 0..PROJECTS {
            let url = format!("http://{}/api/projects/p{n}", self.address);
            self.http.delete(url).bearer_auth(&self.token).send().await.unwrap();
        }
    }
}

#[derive(Clone, Copy)]
enum Bound {
    AtLeast(f64),
    AtMost(f64),
    /// Informational; PROMISES.md has no limit for it.
    None,
}

fn print_result(what: &str, value: f64, bound: Bound) {
    let (holds, sign, limit) = match bound {
        Bound::AtLeast(limit) => (value >= limit, "≥", limit),
        Bound::AtMost(limit) => (value <= limit, "≤", limit),
        Bound::None => return println!("for information: {what} = {value:.2}\n"),
    };
    let word = if holds { "holds" } else { "MISSED" };
    println!("{word}: {what} = {value:.2} (promised {sign} {limit})\n");
}

/// An action of a person with a permit that no log recorded: there is no log here.
fn permit(action: Action) -> Permit {
    let request = ActionRequest {
        id: uuid::Uuid::new_v4().into(),
        project: uuid::Uuid::nil().into(),
        principal: "local:bench".to_owned(),
        class: TokenClass::Operator,
        session: None,
        action,
    };
    let rules =
        PolicyRules::new(Policy::empty(RuleLayer::Builtin), Policy::empty(RuleLayer::User), None);
    let context = PolicyContext {
        rules: &rules,
        broken: None,
        folder: None,
        homes: &[],
        grants: &[],
        mode: ProjectMode::Sandbox,
        now: 0,
        pins: &[],
        link_targets: &[],
        set_aside_reason: None,
        unreviewed_runtime: None,
        n_repeats: 0,
    };
    let decision = decide(BoundAction::new(request).unwrap(), ActingRole::NoRole, &context);
    let Decision::Allow(allowed) = decision else { panic!("a person may run seq") };
    let fact = allowed.fact(None);
    let event = Event {
        seq: 1,
        stream: Stream::Sys,
        version: 1,
        id: uuid::Uuid::new_v4().into(),
        at: 0,
        principal: "local:bench".to_owned(),
        actor: Actor::Cli,
        command: None,
        cause: None,
        kind: fact.kind().to_owned(),
        body: fact.body().unwrap(),
        prev: Hash::ZERO,
        hash: Hash::new([1; 32]),
    };
    Permit::from_recorded(allowed, &event).unwrap()
}
