//! Benchmark of `provost sandbox` from the shell, compared with bubblewrap.
//!
//! Part of `cargo xtask bench sandbox`.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a benchmark prints, and fails loudly"
)]

use std::path::Path;
use std::time::{Duration, Instant};

use provost_sandbox::{launch, probe};

const RUNS: usize = 60;
const WARM_UP: usize = 5;
/// The most that a run may take, as a multiple of bubblewrap's.
const MAX_RATIO: f64 = 1.5;

fn main() {
    let data = tempfile::tempdir().unwrap();
    let provost = Path::new(env!("CARGO_BIN_EXE_provost"));
    let own = ["--data", data.path().to_str().unwrap(), "sandbox", "--", "true"];
    let version = ["--version"];
    let bwrap = ["--unshare-all", "--ro-bind", "/", "/", "true"];
    let mut times: [Vec<Duration>; 5] = Default::default();
    for run in 0..RUNS + WARM_UP {
        let sample = [
            measure(|| run_program(Path::new("true"), &[])),
            measure(|| run_program(Path::new("bwrap"), &bwrap)),
            measure(|| run_program(provost, &own)),
            measure(|| run_program(provost, &version)),
            measure(|| drop(probe::probe_machine())),
        ];
        if run >= WARM_UP {
            times.iter_mut().zip(sample).for_each(|(times, took)| times.push(took));
        }
    }
    let [plain, bwrap, own, version, probe] = times.map(median);
    println!("p50 of {RUNS}: plain spawn {plain:.2} ms, bwrap --unshare-all {bwrap:.2} ms");
    println!("of provost sandbox: start of the program {version:.2} ms, probe {probe:.2} ms");
    let (ratio, word) = (own / bwrap, if own <= MAX_RATIO * bwrap { "holds" } else { "MISSED" });
    println!(
        "{word}: provost sandbox -- true takes {own:.2} ms, {ratio:.2} × bwrap \
         (promised ≤ {MAX_RATIO})"
    );
}

fn run_program(program: &Path, args: &[&str]) {
    let status = launch::run_and_capture(program, args).unwrap().status;
    assert!(status.success(), "{}: {status}", program.display());
}

fn measure(work: impl FnOnce()) -> Duration {
    let began = Instant::now();
    work();
    began.elapsed()
}

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort_unstable();
    times[times.len() / 2].as_secs_f64() * 1000.0
}
