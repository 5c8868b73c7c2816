//! Benchmarks: they print ratios measured in one run, never a verdict on time alone.

use anyhow::{Result, bail};

use crate::shell::{cargo, find, install, must};

pub(crate) fn run(name: &str) -> Result<()> {
    let (package, example) = match name {
        "store" => ("provost-store", "bench_store"),
        "http" => {
            must(&mut cargo(&["build", "--release", "--package", "provost"]))?;
            ("provost", "bench_http")
        }
        "sandbox" => {
            let wall = ["--package", "provost-sandbox", "--example", "bench_sandbox"];
            must(&mut cargo(&[&["run", "--release"], &wall[..]].concat()))?;
            must(&mut cargo(&["build", "--release", "--package", "provost"]))?;
            ("provost", "bench_kernel")
        }
        "terminal" => {
            must(&mut cargo(&["build", "--release", "--package", "provost"]))?;
            ("provost", "bench_terminal")
        }
        "runner" => {
            must(&mut cargo(&["build", "--release", "--package", "provost"]))?;
            ("provost", "bench_runner")
        }
        "gateway" => {
            if find("wrk").is_none() {
                install("wrk")?;
            }
            let decide = ["--package", "provost-core", "--example", "bench_decide"];
            must(&mut cargo(&[&["run", "--release"], &decide[..]].concat()))?;
            must(&mut cargo(&["build", "--release", "--package", "provost"]))?;
            ("provost", "bench_gateway")
        }
        other => {
            bail!(
                "there is no benchmark `{other}`; there are: store, http, sandbox, gateway, \
                 terminal, runner"
            )
        }
    };
    must(&mut cargo(&["run", "--release", "--package", package, "--example", example]))
}
