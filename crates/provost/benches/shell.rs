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

use provost_sandbox::launch;

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
    let variants: [(&Path, &[&str]); 4] = [
        (Path::new("true"), &[]),
        (Path::new("bwrap"), &bwrap),
        (provost, &own),
        (provost, &version),
    ];
    let mut times: [Vec<Duration>; 4] = Default::default();
    for run in 0..RUNS + WARM_UP {
        for place in 0..variants.len() {
            // Linux removes the namespaces of one variant while the next one runs.
            let variant = if run % 2 == 0 { place } else { variants.len() - 1 - place };
            let (program, args) = variants[variant];
            let took = measure(|| run_program(program, args));
            if run >= WARM_UP {
                times[variant].push(took);
            }
        }
    }
    let [plain, bwrap, own, version] = times.map(median);
    println!("p50 of {RUNS}: plain spawn {plain:.2} ms, bwrap --unshare-all {bwrap:.2} ms");
    println!("of provost sandbox: start and end of the program alone {version:.2} ms");
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
