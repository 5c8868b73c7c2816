//! Benchmarks: they print ratios measured in one run, since absolute times depend on the machine.

use anyhow::{Result, bail};

use crate::shell::{cargo, find, install, must};

/// A benchmark and its name on the command line.
struct Benchmark {
    name: &'static str,
    /// Packages and their bench targets, in order.
    targets: &'static [(&'static str, &'static str)],
    /// A program that it needs, and its Debian package.
    needs: Option<(&'static str, &'static str)>,
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
        targets: &[
            ("provost-sandbox", "sandbox"),
            ("provost", "kernel"),
            ("provost-sandbox", "caches"),
            ("provost", "shell"),
        ],
        needs: Some(("bwrap", "bubblewrap")),
    },
    Benchmark {
        name: "gateway",
        targets: &[("provost-core", "decide"), ("provost", "gateway")],
        needs: Some(("wrk", "wrk")),
    },
    Benchmark { name: "runner", targets: &[("provost", "runner")], needs: None },
    Benchmark { name: "http", targets: &[("provost", "http")], needs: None },
    Benchmark { name: "terminal", targets: &[("provost", "terminal")], needs: None },
    Benchmark { name: "notebook", targets: &[("provost-gateway", "notebook")], needs: None },
    Benchmark { name: "web", targets: &[("provost", "web")], needs: None },
];

/// The names of all benchmarks, for the help.
pub(crate) fn names() -> String {
    let names: Vec<_> = BENCHMARKS.iter().map(|benchmark| benchmark.name).collect();
    names.join(", ")
}

/// Builds and runs a benchmark, with the optimizations of `release`. The first of `parts` may
/// name the only target to run; the others are its arguments.
pub(crate) fn run(name: &str, parts: &[&str]) -> Result<()> {
    let Some(benchmark) = BENCHMARKS.iter().find(|benchmark| benchmark.name == name) else {
        bail!("unknown benchmark `{name}`; one of: {}", names());
    };
    if let Some((program, package)) = benchmark.needs
        && find(program).is_none()
    {
        install(package)?;
    }
    let only = parts.split_first().filter(|(part, _)| {
        benchmark.targets.len() > 1 && benchmark.targets.iter().any(|(_, target)| target == *part)
    });
    let (only, parts) = only.map_or((None, parts), |(part, rest)| (Some(*part), rest));
    let is_wanted = |target: &str| only.is_none_or(|only| only == target);
    for (package, target) in benchmark.targets.iter().filter(|(_, target)| is_wanted(target)) {
        let bench = ["bench", "--package", package, "--bench", target, "--"];
        must(&mut cargo(&[&bench[..], parts].concat()))?;
    }
    Ok(())
}
