//! `cargo xtask run`, `test` and `ci`.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};

use crate::ordinary_user::OrdinaryUser;
use crate::process_check::run_suite;
use crate::shell::{cargo, find, install, must, output, program};
use crate::{codegen, schemathesis, tidy, ui, wasm};

/// The tests that `UserTests::Privileges` selects. The escape suite also runs as a user without
/// namespaces when root starts it, so that is not repeated.
const PRIVILEGE_TESTS: &str = "package(provost-kernel) | \
    (package(provost-sandbox) - test(/^(without|restricted)_namespaces::/)) | \
    (binary(daemon) & test(/^(actions|governance|runtime|secrets|terminal)::/))";

/// Builds everything and starts Provost in the current folder.
pub(crate) fn run_provost(args: &[&str]) -> Result<()> {
    ui::build()?;
    let here = std::env::current_dir()?;
    must(&mut cargo(&["build", "--package", "provost"]))?;
    let binary = binary()?;
    let binary = binary.to_str().context("the target folder is not UTF-8")?;
    // A daemon of an older build would keep running otherwise.
    must(program(binary, &["down"]).current_dir(&here))?;
    must(program(binary, &[&["up"], args].concat()).current_dir(&here))
}

/// The compiler of the workspace.
pub(crate) enum Compiler {
    Plain,
    /// clippy-driver, with warnings as errors: it lints and builds in one pass, where
    /// `cargo clippy` would check all dependencies again.
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
            // The encoding of `cargo clippy -- -D warnings`.
            command.env("RUSTC_WORKSPACE_WRAPPER", driver);
            command.env("CLIPPY_ARGS", "-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__");
        }
        command
    }
}

/// Runs all tests: Rust, documentation, web, browser.
pub(crate) fn run_tests(compiler: &Compiler) -> Result<()> {
    let chromium = chromium()?;
    ui::build()?;
    build_tests(compiler)?;
    run_suite(&mut compiler.cargo(&["test", "--workspace", "--doc", "--quiet"]))?;
    run_suite(&mut rust_tests(compiler, &["--workspace"], None))?;
    wasm::compare_replays()?;
    must(&mut ui::npm(&["run", "check"])?)?;
    run_suite(&mut ui::npm(&["test"])?)?;
    run_suite(ui::npm(&["run", "e2e"])?.env("PROVOST_BIN", binary()?).env("CHROMIUM", chromium))
}

/// Programs and tests together: without the tests, features of dependencies differ and
/// everything would be built twice.
fn build_tests(compiler: &Compiler) -> Result<()> {
    must(&mut compiler.cargo(&["build", "--workspace", "--bins", "--tests", "--examples"]))
}

/// Rust tests, with nextest if it is installed; only nextest can select tests by a filter.
fn rust_tests(compiler: &Compiler, packages: &[&str], filter: Option<&str>) -> Command {
    if output(&mut cargo(&["nextest", "--version"])).is_ok() {
        let mut command = compiler.cargo(&["nextest", "run", "--no-fail-fast"]);
        command.args(packages).args(filter.map(|filter| format!("--filterset={filter}")));
        return command;
    }
    let mut command = compiler.cargo(&["test", "--lib", "--bins", "--tests"]);
    command.args(packages);
    command
}

/// Which Rust tests run as an ordinary user, after all have run as root.
pub(crate) enum UserTests {
    /// Those where rights matter: the sandbox, the kernel, the daemon and its governance.
    Privileges,
    All,
}

/// Runs Rust tests as an ordinary user, if we are root: otherwise all have run so.
pub(crate) fn run_tests_as_user(compiler: &Compiler, tests: &UserTests) -> Result<()> {
    if !rustix::process::geteuid().is_root() {
        println!("\n▸ tests as an ordinary user: done, this is one; those as root need root");
        return Ok(());
    }
    build_tests(compiler)?;
    let mut command = match tests {
        UserTests::All => rust_tests(compiler, &["--workspace"], None),
        // Of the whole workspace: for a part of it, dependencies would be built with other features.
        UserTests::Privileges => rust_tests(compiler, &["--workspace"], Some(PRIVILEGE_TESTS)),
    };
    let user = OrdinaryUser::create()?;
    user.run_tests_of(&mut command, &binary()?)?;
    run_suite(&mut command)
}

/// Runs all tests, and checks the HTTP API against its OpenAPI document.
pub(crate) fn run_full_tests() -> Result<()> {
    run_tests(&Compiler::Plain)?;
    schemathesis::run(&binary()?, &target_folder()?)
}

/// Builds the daemon and checks its HTTP API against its OpenAPI document.
pub(crate) fn check_api() -> Result<()> {
    must(&mut cargo(&["build", "--package", "provost"]))?;
    schemathesis::run(&binary()?, &target_folder()?)
}

/// Runs what CI runs.
pub(crate) fn ci(user_tests: &UserTests) -> Result<()> {
    must(&mut cargo(&["fmt", "--all", "--check"]))?;
    tidy::run_checks()?;
    codegen::check()?;
    let linting = Compiler::linting()?;
    ui::build()?;
    must(&mut linting.cargo(&["build", "--workspace", "--all-targets", "--quiet"]))?;
    run_tests(&linting)?;
    run_tests_as_user(&linting, user_tests)?;
    wasm::build()?;
    deny()
}

/// The debug binary.
fn binary() -> Result<PathBuf> {
    Ok(target_folder()?.join("debug/provost"))
}

pub(crate) fn target_folder() -> Result<PathBuf> {
    let metadata = output(&mut cargo(&["metadata", "--format-version=1", "--no-deps"]))?;
    let metadata: serde_json::Value = serde_json::from_str(&metadata)?;
    let target =
        metadata["target_directory"].as_str().context("cargo metadata has no target folder")?;
    Ok(PathBuf::from(target))
}

/// Path of Chromium, which is installed if possible.
fn chromium() -> Result<PathBuf> {
    let search = || {
        let configured =
            std::env::var_os("CHROMIUM").map(PathBuf::from).filter(|path| path.is_file());
        configured.or_else(|| {
            ["chromium", "chromium-browser", "google-chrome"].iter().find_map(|name| find(name))
        })
    };
    if let Some(found) = search() {
        return Ok(found);
    }
    install("chromium")
        .context("the browser tests need Chromium; install it, or set CHROMIUM to its path")?;
    search().context("apt-get installed Chromium, but it is not in PATH")
}

/// Runs cargo-deny if it is installed. Without its database it finds only what `tidy`
/// finds too, so it may be missing.
fn deny() -> Result<()> {
    if find("cargo-deny").is_none() {
        println!("\n▸ cargo deny: not installed; `tidy` checked the licenses");
        return Ok(());
    }
    must(&mut cargo(&["deny", "--offline", "check", "bans", "licenses", "sources"]))?;
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")));
    if home.is_some_and(|home| home.join("advisory-dbs").exists()) {
        return must(&mut cargo(&["deny", "--offline", "check", "advisories"]));
    }
    println!("\n▸ cargo deny check advisories: skipped, there is no local database");
    Ok(())
}
