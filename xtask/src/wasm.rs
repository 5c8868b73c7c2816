//! The core for the browser: it must build for wasm32, where that target is there.

use std::path::Path;

use anyhow::Result;

use crate::shell::{cargo, must, output, program};

const TARGET: &str = "wasm32-unknown-unknown";

pub(crate) fn check() -> Result<()> {
    let libdir = output(&mut program("rustc", &["--print", "target-libdir", "--target", TARGET]));
    let there = libdir.is_ok_and(|dir| Path::new(dir.trim()).exists());
    if !there {
        println!("\n▸ wasm: {TARGET} is not installed (`rustup target add {TARGET}`); not checked");
        return Ok(());
    }
    must(&mut cargo(&["build", "--package", "provost-core", "--target", TARGET]))
}
