//! What the sandbox costs: part of `cargo xtask bench sandbox`.
//!
//! All variants are measured in turn in the same run, so that a busy machine slows all
//! of them, and only ratios are compared.
#![expect(clippy::print_stdout, reason = "a benchmark prints")]
#![expect(clippy::unwrap_used, reason = "a benchmark that cannot measure fails")]

use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::process;
use std::time::{Duration, Instant};

use provost_sandbox::confine::{
    LayerSelection, OptionalLayers, ResourceLimits, Sandbox, SandboxCommand, SandboxStdio,
};
use provost_sandbox::probe;
use provost_sandbox::root_dir::{FileWriteMode, RootDir};
use provost_sandbox::sandbox_policy::{SandboxPaths, SandboxPolicy, SandboxProfile};

const RUNS: usize = 300;
const WARM_UP: usize = 30;
const READS: usize = 20_000;

fn main() -> process::ExitCode {
    let dir = tempfile::tempdir().unwrap();
    for name in ["project", "home", "data", "scratch"] {
        std::fs::create_dir(dir.path().join(name)).unwrap();
    }
    let spawns = spawns(dir.path());
    let reads = reads(&dir.path().join("project"));
    let text = spawns + &reads;
    println!("{text}");
    if text.contains("FAIL") { process::ExitCode::FAILURE } else { process::ExitCode::SUCCESS }
}

/// Medians of all variants, measured in turn, each round starting with another one, so
/// that the after-effects of one are spread over all.
fn interleave(runs: usize, warm_up: usize, ways: &mut [(&str, &mut dyn FnMut())]) -> Vec<Duration> {
    let mut times = vec![Vec::with_capacity(runs); ways.len()];
    for run in 0..runs + warm_up {
        for turn in 0..ways.len() {
            let at = (run + turn) % ways.len();
            let start = Instant::now();
            (ways[at].1)();
            if run >= warm_up {
                times[at].push(start.elapsed());
            }
        }
    }
    times
        .into_iter()
        .map(|mut times| {
            times.sort_unstable();
            times[times.len() / 2]
        })
        .collect()
}

fn spawns(dir: &Path) -> String {
    let machine = probe::probe_machine();
    let at = |name: &str| dir.join(name);
    let (project, home, data, scratch) = (at("project"), at("home"), at("data"), at("scratch"));
    let run_homes = at("data/homes/1");
    let places = SandboxPaths {
        project: &project,
        home: &home,
        data: &data,
        scratch: &scratch,
        run_homes: &run_homes,
        readable: &[],
        private: &[],
    };
    let sandbox = |layers| {
        let policy = SandboxPolicy::new(SandboxProfile::Build, &places);
        Sandbox::new(policy, &machine, layers, ResourceLimits::default()).unwrap()
    };
    let bare = sandbox(LayerSelection::Exactly(OptionalLayers::default()));
    let isolated = OptionalLayers { pid: true, net: true, ..OptionalLayers::default() };
    let isolated = sandbox(LayerSelection::Exactly(isolated));
    let auto = sandbox(LayerSelection::Auto);
    let run = |sandbox: &Sandbox| {
        let mut command = SandboxCommand::new("/bin/true", &[] as &[&str]);
        command.stdio = [SandboxStdio::Null, SandboxStdio::Null, SandboxStdio::Null];
        sandbox.spawn(command).unwrap().wait().unwrap();
    };
    let plain = |program: &str, args: &[&str]| {
        let null = process::Stdio::null;
        let mut command = process::Command::new(program);
        command.args(args).stdin(null()).stdout(null()).stderr(null());
        assert!(command.spawn().unwrap().wait().unwrap().success());
    };
    let has_bwrap = Path::new("/usr/bin/bwrap").exists();
    let mut ways: Vec<(&str, &mut dyn FnMut())> = Vec::new();
    let mut plainly = || plain("/bin/true", &[]);
    let (mut barely, mut apart, mut all) = (|| run(&bare), || run(&isolated), || run(&auto));
    let mut bwrap =
        || plain("/usr/bin/bwrap", &["--unshare-all", "--ro-bind", "/", "/", "/bin/true"]);
    ways.push(("plain spawn", &mut plainly));
    ways.push(("Landlock + seccomp", &mut barely));
    ways.push(("+ PID and network namespaces", &mut apart));
    ways.push(("everything the machine has", &mut all));
    if has_bwrap {
        ways.push(("bwrap --unshare-all", &mut bwrap));
    }
    let medians = interleave(RUNS, WARM_UP, &mut ways);
    let names: Vec<&str> = ways.iter().map(|(name, _)| *name).collect();
    let limits = [None, Some(1.5), Some(4.0), None, None];
    let mut text = format!("spawn of `true`, p50 of {RUNS}\n");
    for ((name, median), limit) in names.iter().zip(&medians).zip(limits) {
        text += &line(name, *median, medians[0], limit);
    }
    if let Some(bwrap) = medians.get(4) {
        let result = if medians[2] < *bwrap { "PASS" } else { "FAIL" };
        text += "  ";
        text += result;
        text += "  PID and network namespaces faster than bwrap\n";
    }
    text
}

fn reads(project: &Path) -> String {
    let root = RootDir::open(project).unwrap();
    root.write(Path::new("file"), &[b'x'; 4096], FileWriteMode::Create).unwrap();
    let path = project.join("file");
    let mut plain = || {
        let mut content = vec![0; 4096];
        File::open(&path).unwrap().read_exact(&mut content).unwrap();
    };
    let mut beneath = || {
        assert_eq!(root.read(Path::new("file"), 1 << 20).unwrap().len(), 4096);
    };
    let mut ways: [(&str, &mut dyn FnMut()); 2] =
        [("open + read + close", &mut plain), ("Root::read", &mut beneath)];
    let medians = interleave(READS, 1000, &mut ways);
    format!("\nread of 4 KB, p50 of {READS}\n")
        + &line("open + read + close", medians[0], medians[0], None)
        + &line("Root::read", medians[1], medians[0], Some(2.0))
}

fn line(name: &str, median: Duration, plain: Duration, limit: Option<f64>) -> String {
    let ratio = median.as_secs_f64() / plain.as_secs_f64();
    let micros = median.as_secs_f64() * 1e6;
    let result = match limit {
        Some(limit) if ratio <= limit => format!("PASS  (at most {limit})"),
        Some(limit) => format!("FAIL  (at most {limit})"),
        None => String::new(),
    };
    format!("  {name:<32} {micros:>9.1} µs  {ratio:>5.2} x  {result}\n")
}
