//! Runs other programs.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use anyhow::{Context, Result, bail, ensure};

/// The root of the workspace.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map(Path::to_owned).unwrap_or_default()
}

/// A program, to be run at the root of the workspace.
pub(crate) fn program(name: &str, args: &[&str]) -> Command {
    let mut command = Command::new(name);
    command.args(args).current_dir(root());
    command
}

/// The cargo that runs this tool, without what it says about this package: build scripts that
/// read such variables would run again, and `ring` with all that depends on it be built again.
pub(crate) fn cargo(args: &[&str]) -> Command {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let mut command = program(&cargo, args);
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
            command.env_remove(&name);
        }
    }
    command
}

/// Prints and runs a command; a failure is an error.
pub(crate) fn must(command: &mut Command) -> Result<()> {
    let line = print_command(command);
    let status = command.status().with_context(|| format!("cannot run `{line}`"))?;
    expect_success(&line, status)
}

/// Prints a command that is about to run, and returns its line.
pub(crate) fn print_command(command: &Command) -> String {
    let name = Path::new(command.get_program()).file_name().unwrap_or_default().to_string_lossy();
    let args: Vec<_> = command.get_args().map(|arg| arg.to_string_lossy()).collect();
    let line = format!("{name} {}", args.join(" "));
    println!("\n▸ {line}");
    line
}

pub(crate) fn expect_success(line: &str, status: ExitStatus) -> Result<()> {
    ensure!(status.success(), "`{line}` failed ({status})");
    Ok(())
}

/// The standard output of a successful command.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().with_context(|| format!("cannot run `{name}`"))?;
    if !output.status.success() {
        bail!("`{name}` failed: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(String::from_utf8(output.stdout)?)
}

/// Installs a Debian package, if this user can.
pub(crate) fn install(package: &str) -> Result<()> {
    if !rustix::process::geteuid().is_root() || find("apt-get").is_none() {
        bail!("`{package}` is not installed; installing it needs root and apt-get");
    }
    must(program("apt-get", &["update", "-qq"]).env("DEBIAN_FRONTEND", "noninteractive"))?;
    let install = ["install", "-y", "-qq", "--no-install-recommends", package];
    must(program("apt-get", &install).env("DEBIAN_FRONTEND", "noninteractive"))
}

/// Path of a program in `PATH`.
pub(crate) fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file())
}
