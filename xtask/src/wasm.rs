//! The core and the notebooks must build for wasm32. Skipped where the target is not installed.

use std::path::Path;

use anyhow::Result;

use crate::shell::{cargo, must, output, program};

const TARGET: &str = "wasm32-unknown-unknown";

pub(crate) fn check() -> Result<()> {
    let libdir = output(&mut program("rustc", &["--print", "target-libdir", "--target", TARGET]));
    let is_installed = libdir.is_ok_and(|dir| Path::new(dir.trim()).exists());
    if !is_installed {
        println!("\n▸ wasm: {TARGET} is not installed (`rustup target add {TARGET}`); skipped");
        return Ok(());
    }
    let packages = ["--package", "provost-core", "--package", "provost-notebook"];
    must(cargo(&["build", "--target", TARGET]).args(packages))
}
