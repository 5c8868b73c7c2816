//! `run`, `test` and `ci`.

use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::shell::{cargo, find, install, must, output, program};
use crate::{codegen, tidy, ui, wasm};

/// Builds everything and starts Provost on the folder we were called in.
pub(crate) fn run_provost(args: &[&str]) -> Result<()> {
    ui::build()?;
    let here = std::env::current_dir()?;
    must(&mut cargo(&["build", "--package", "provost"]))?;
    let binary = binary()?;
    let binary = binary.to_str().context("the target folder is not UTF-8")?;
    // A daemon of an older build would answer instead of this one.
    must(program(binary, &["down"]).current_dir(&here))?;
    must(program(binary, &[&["up"], args].concat()).current_dir(&here))
}

/// All tests: Rust, documentation, web, browser.
pub(crate) fn all() -> Result<()> {
    let chromium = chromium()?;
    ui::build()?;
    must(&mut cargo(&["build", "--package", "provost"]))?;
    must(&mut cargo(&["test", "--workspace", "--doc", "--quiet"]))?;
    if output(&mut cargo(&["nextest", "--version"])).is_ok() {
        must(&mut cargo(&["nextest", "run", "--workspace", "--no-fail-fast"]))?;
    } else {
        must(&mut cargo(&["test", "--workspace", "--lib", "--bins", "--tests"]))?;
    }
    must(&mut ui::npm(&["run", "check"])?)?;
    must(&mut ui::npm(&["test"])?)?;
    must(ui::npm(&["run", "e2e"])?.env("PROVOST_BIN", binary()?).env("CHROMIUM", chromium))
}

/// What CI runs.
pub(crate) fn ci() -> Result<()> {
    must(&mut cargo(&["fmt", "--all", "--check"]))?;
    tidy::all()?;
    codegen::check()?;
    ui::build()?;
    let clippy = ["clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"];
    must(&mut cargo(&clippy))?;
    all()?;
    wasm::check()?;
    deny()
}

/// The debug binary.
fn binary() -> Result<PathBuf> {
    let metadata = output(&mut cargo(&["metadata", "--format-version=1", "--no-deps"]))?;
    let metadata: serde_json::Value = serde_json::from_str(&metadata)?;
    let target = metadata["target_directory"].as_str().context("cargo names no target folder")?;
    Ok(PathBuf::from(target).join("debug/provost"))
}

/// A Chromium, installed if we may.
fn chromium() -> Result<PathBuf> {
    let search = || {
        let named = std::env::var_os("CHROMIUM").map(PathBuf::from).filter(|path| path.is_file());
        named.or_else(|| {
            ["chromium", "chromium-browser", "google-chrome"].iter().find_map(|name| find(name))
        })
    };
    if let Some(found) = search() {
        return Ok(found);
    }
    install("chromium")
        .context("the browser tests need Chromium; install it, or name one in CHROMIUM")?;
    search().context("apt-get installed Chromium, but it is not on the path")
}

/// cargo-deny, where it is installed. What it finds without its database,
/// `tidy` finds too, so nothing is lost where it is not.
fn deny() -> Result<()> {
    if find("cargo-deny").is_none() {
        println!("\n▸ cargo deny: not installed; `tidy` checked the licences");
        return Ok(());
    }
    must(&mut cargo(&["deny", "--offline", "check", "bans", "licenses", "sources"]))?;
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")));
    if home.is_some_and(|home| home.join("advisory-dbs").exists()) {
        return must(&mut cargo(&["deny", "--offline", "check", "advisories"]));
    }
    println!("\n▸ cargo deny check advisories: no database here, and none is fetched in CI");
    Ok(())
}
