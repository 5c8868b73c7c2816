//! Benchmarks: they print ratios measured in one run, never a verdict on time alone.

use anyhow::{Result, bail};

use crate::shell::{cargo, find, install, must};

/// A benchmark as it is asked for by name.
struct Benchmark {
    name: &'static str,
    /// What it runs, in this order: packages and their bench targets.
    targets: &'static [(&'static str, &'static str)],
    /// A Debian package with the program of the same name that it needs.
    needs: Option<&'static str>,
}

const BENCHMARKS: &[Benchmark] = &[
    Benchmark {
        name: "core",
        targets: &[("provost-core", "command"), ("provost-core", "policy")],
        needs: None,
    },
    Benchmark { name: "store", targets: &[("provost-store", "store")], needs: None },
    Benchmark {
        name: "sandbox",
        targets: &[("provost-sandbox", "sandbox"), ("provost", "kernel")],
        needs: None,
    },
    Benchmark {
        name: "gateway",
        targets: &[("provost-core", "decide"), ("provost", "gateway")],
        needs: Some("wrk"),
    },
    Benchmark { name: "runner", targets: &[("provost", "runner")], needs: None },
    Benchmark { name: "http", targets: &[("provost", "http")], needs: None },
    Benchmark { name: "terminal", targets: &[("provost", "terminal")], needs: None },
];

/// The names of all benchmarks, for people.
pub(crate) fn names() -> String {
    let names: Vec<_> = BENCHMARKS.iter().map(|benchmark| benchmark.name).collect();
    names.join(", ")
}

/// Builds and runs a benchmark, with the optimizations of `release`; `parts` are its arguments.
pub(crate) fn run(name: &str, parts: &[&str]) -> Result<()> {
    let Some(benchmark) = BENCHMARKS.iter().find(|benchmark| benchmark.name == name) else {
        bail!("there is no benchmark `{name}`; there are: {}", names());
    };
    if let Some(package) = benchmark.needs
        && find(package).is_none()
    {
        install(package)?;
    }
    for (package, target) in benchmark.targets {
        let bench = ["bench", "--package", package, "--bench", target, "--"];
        must(&mut cargo(&[&bench[..], parts].concat()))?;
    }
    Ok(())
}
