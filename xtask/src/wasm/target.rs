//! A toolchain that can build for the browser: the one in use if it can, or if rustup makes it.

use std::path::Path;

use anyhow::{Result, bail};

use crate::shell::{find, must, output, program};

/// The target of the browser.
pub(super) const TARGET: &str = "wasm32-unknown-unknown";

/// Whether the toolchain in use has the standard library of the target.
fn has_target() -> bool {
    let folder = output(&mut program("rustc", &["--print", "target-libdir", "--target", TARGET]));
    folder.is_ok_and(|folder| Path::new(folder.trim()).is_dir())
}

/// Makes sure that the toolchain in use can build for the browser.
pub(super) fn ensure_target() -> Result<()> {
    if has_target() {
        return Ok(());
    }
    if find("rustup").is_some() {
        must(&mut program("rustup", &["target", "add", TARGET]))?;
        if has_target() {
            return Ok(());
        }
    }
    bail!(
        "the web UI needs the Rust target {TARGET}: install Rust with rustup, then \
         `rustup target add {TARGET}`"
    )
}
