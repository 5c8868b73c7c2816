//! WebAssembly: the module of the browser, and that it computes what the native code does.

mod target;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::shell::{cargo, must, program, root};
use crate::test::target_folder;
use target::TARGET;

/// Where the web packages expect the module.
const MODULE: &str = "web/packages/runtime-core/wasm/notebook.wasm";

/// A cargo that builds for the browser.
fn wasm_cargo(args: &[&str]) -> Result<Command> {
    target::ensure_target()?;
    let mut command = cargo(args);
    command.args(["--target", TARGET]);
    Ok(command)
}

/// Where a profile's results for the browser are.
fn output_folder(profile: &str) -> Result<PathBuf> {
    Ok(target_folder()?.join(TARGET).join(profile))
}

/// Builds the module that the web packages load.
pub(crate) fn build_module() -> Result<()> {
    let library = ["--package", "provost-wasm", "--lib", "--crate-type", "cdylib"];
    must(wasm_cargo(&["rustc", "--quiet", "--profile", "wasm"])?.args(library))?;
    let built = output_folder("wasm")?.join("provost_wasm.wasm");
    let module = root().join(MODULE);
    let bytes = fs::read(&built).with_context(|| format!("cannot read {}", built.display()))?;
    // A file that is newer than the UI would have it built again.
    if fs::read(&module).is_ok_and(|known| known == bytes) {
        return Ok(());
    }
    fs::create_dir_all(module.parent().unwrap_or(&module))?;
    fs::write(&module, bytes).with_context(|| format!("cannot write {}", module.display()))
}

/// Builds the core and the notebooks for the browser.
pub(crate) fn build() -> Result<()> {
    must(wasm_cargo(&["build"])?.args(["--package", "provost-core"]))?;
    build_module()
}

/// Replays logs natively and in WebAssembly: each reply and each hash must be the same.
pub(crate) fn compare_replays() -> Result<()> {
    build_module()?;
    let core = ["--package", "provost-wasm", "--example", "core_replay"];
    must(wasm_cargo(&["build", "--quiet"])?.args(core))?;
    // With the features of the whole workspace, as all tests are built.
    let native = ["--example", "notebook_replay", "--example", "core_replay_native"];
    must(cargo(&["build", "--quiet", "--workspace"]).args(native))?;
    let folder = output_folder("debug")?;
    compare("notebook_replay", &root().join(MODULE), &folder)?;
    compare("core_replay_native", &folder.join("examples/core_replay.wasm"), &folder)
}

/// Runs an example that prints requests and replies, and compares these with a module's.
fn compare(example: &str, module: &Path, folder: &Path) -> Result<()> {
    let replies = folder.join(format!("{example}.jsonl"));
    let file = File::create(&replies)?;
    let program_path = target_folder()?.join("debug/examples").join(example);
    must(program(&program_path.to_string_lossy(), &[]).stdout(file))?;
    let script = "crates/provost-wasm/tests/compare.mjs";
    must(program("node", &[script]).arg(module).arg(&replies))
}
