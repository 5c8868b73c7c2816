//! An ordinary user that root creates, to run the tests with the binaries that root has built.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::shell::{find, must, output, program};

const NAME: &str = "provost-test";

/// Programs of the system only: those below root's home cannot be read.
const SEARCH_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// A user with a home, deleted with all files there when dropped.
pub(crate) struct OrdinaryUser {
    home: String,
}

impl OrdinaryUser {
    pub(crate) fn create() -> Result<Self> {
        for tool in ["useradd", "userdel", "setpriv"] {
            ensure!(find(tool).is_some(), "`{tool}` is missing, to run tests as an ordinary user");
        }
        // Left over from a run that was interrupted.
        if output(&mut program("id", &["-u", NAME])).is_ok() {
            drop(Self { home: String::new() });
        }
        let home = format!("/home/{NAME}");
        let create = ["--user-group", "--create-home", "--home-dir", &home, NAME];
        must(program("useradd", &create).args(["--shell", "/bin/bash"]))?;
        Ok(Self { home })
    }

    /// Has cargo and nextest start every test binary as this user.
    pub(crate) fn run_tests_of(&self, cargo: &mut Command, binary: &Path) -> Result<()> {
        let prefix = self.command_prefix();
        let words: Vec<&str> = prefix.split(' ').collect();
        let binary = binary.to_str().context("the target folder is not UTF-8")?;
        let mut access = program(words[0], &words[1..]);
        access.args(["test", "-r", binary, "-a", "-x", binary]);
        ensure!(
            access.status()?.success(),
            "an ordinary user cannot read {binary}, so the tests cannot run as one: move the \
             repository out of private folders"
        );
        cargo.env(runner_variable()?, prefix);
        for name in ["XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "TMPDIR", "SUDO_USER"] {
            cargo.env_remove(name);
        }
        Ok(())
    }

    fn command_prefix(&self) -> String {
        let home = &self.home;
        format!(
            "setpriv --reuid={NAME} --regid={NAME} --clear-groups \
             env HOME={home} USER={NAME} LOGNAME={NAME} PATH={SEARCH_PATH}"
        )
    }
}

impl Drop for OrdinaryUser {
    fn drop(&mut self) {
        if let Err(error) = must(&mut program("userdel", &["--force", "--remove", NAME])) {
            println!("cannot delete the user {NAME}: {error}");
        }
    }
}

/// The variable that names the program which runs test binaries.
fn runner_variable() -> Result<String> {
    let version = output(&mut program("rustc", &["-vV"]))?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    let host = host.context("`rustc -vV` names no host")?;
    Ok(format!("CARGO_TARGET_{}_RUNNER", host.to_uppercase().replace('-', "_")))
}
