//! Builds the web UI.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use anyhow::{Result, bail};

use crate::shell::{find, must, program, root};
use crate::wasm;

fn web() -> PathBuf {
    root().join("web")
}

/// npm, in the web folder.
pub(crate) fn npm(args: &[&str]) -> Result<Command> {
    if find("npm").is_none() {
        bail!("the web UI needs Node 20.19 or newer with npm");
    }
    let mut command = program("npm", args);
    command.current_dir(web());
    Ok(command)
}

/// Installs the packages of the lock file, if they are missing or outdated.
pub(crate) fn install() -> Result<()> {
    let lock = changed(&web().join("package-lock.json"));
    let installed = changed(&web().join("node_modules/.package-lock.json"));
    if installed.is_some() && installed >= lock {
        return Ok(());
    }
    must(&mut npm(&["ci", "--no-audit", "--no-fund"])?)
}

/// Builds the module of the browser, and `web/dist` if it is older than its sources.
pub(crate) fn build() -> Result<()> {
    wasm::build_module()?;
    install()?;
    let sources = [
        "src",
        "packages",
        "public",
        "scripts",
        "index.html",
        "package-lock.json",
        "vite.config.ts",
    ];
    let newest = sources.iter().filter_map(|name| changed(&web().join(name))).max();
    if changed(&web().join("dist/index.html")) >= newest {
        println!("the web UI is up to date");
        return Ok(());
    }
    must(&mut npm(&["run", "build"])?)
}

/// The last modification of a file, or of anything below a folder.
fn changed(path: &Path) -> Option<SystemTime> {
    let own = fs::metadata(path).ok()?;
    if !own.is_dir() {
        return own.modified().ok();
    }
    let entries = fs::read_dir(path).ok()?;
    let below = entries.flatten().filter_map(|entry| changed(&entry.path()));
    below.chain(own.modified().ok()).max()
}
