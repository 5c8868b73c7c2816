//! `run`, `test` and `ci`.

use std::path::PathBuf;
use std::process::Command;

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

/// What compiles the workspace.
pub(crate) enum Compiler {
    Plain,
    /// Clippy's own, with every warning an error: it checks and builds in one go,
    /// where `cargo clippy` would read all dependencies a second time.
    Linting(PathBuf),
}

impl Compiler {
    fn linting() -> Result<Self> {
        let sysroot = output(&mut program("rustc", &["--print", "sysroot"]))?;
        let driver = PathBuf::from(sysroot.trim()).join("bin/clippy-driver");
        anyhow::ensure!(driver.is_file(), "clippy is not installed: `rustup component add clippy`");
        Ok(Self::Linting(driver))
    }

    fn cargo(&self, args: &[&str]) -> Command {
        let mut command = cargo(args);
        if let Self::Linting(driver) = self {
            // As `cargo clippy -- -D warnings` says it.
            command.env("RUSTC_WORKSPACE_WRAPPER", driver);
            command.env("CLIPPY_ARGS", "-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__");
        }
        command
    }
}

/// All tests: Rust, documentation, web, browser.
pub(crate) fn all(compiler: &Compiler) -> Result<()> {
    let chromium = chromium()?;
    ui::build()?;
    // Programs and tests together: without the tests, dependencies have other features,
    // and everything would be built twice.
    must(&mut compiler.cargo(&["build", "--workspace", "--bins", "--tests", "--examples"]))?;
    must(&mut compiler.cargo(&["test", "--workspace", "--doc", "--quiet"]))?;
    if output(&mut cargo(&["nextest", "--version"])).is_ok() {
        must(&mut compiler.cargo(&["nextest", "run", "--workspace", "--no-fail-fast"]))?;
    } else {
        must(&mut compiler.cargo(&["test", "--workspace", "--lib", "--bins", "--tests"]))?;
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
    let linting = Compiler::linting()?;
    ui::build()?;
    must(&mut linting.cargo(&["build", "--workspace", "--all-targets", "--quiet"]))?;
    all(&linting)?;
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
