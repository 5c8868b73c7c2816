//! The runtime plan of a project, and the command that runs it.

use std::ffi::OsString;
use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;

use provost_core::runtime::plan::{DevServerProgram, RuntimePlan, RuntimePlanError};
use provost_core::runtime::state_machine::RuntimeProcessKind;
use provost_proto::Code;
use provost_sandbox::confine::{OrphanPolicy, ParentExitPolicy, SandboxCommand};
use provost_sandbox::root_dir::RootDir;

use crate::{ActionError, RootProjectFiles};

/// Reads the plan from the project's files; fails if it has nothing to run or build.
pub(super) fn load_plan(
    root: &RootDir,
    which: RuntimeProcessKind,
) -> Result<RuntimePlan, ActionError> {
    let refused = |error: RuntimePlanError| ActionError::new(Code::BadRuntime, error.to_string());
    let plan = RuntimePlan::from_project(&RootProjectFiles(root)).map_err(refused)?;
    let (verb, hint) = match which {
        RuntimeProcessKind::Dev => {
            ("run", "write `provost.toml` with `[runtime]` and `dev = \"…\"`")
        }
        RuntimeProcessKind::Build => {
            ("build", "write `provost.toml` with `[runtime]` and `build = \"…\"`")
        }
    };
    let nothing_to_run = || {
        let message = format!("nothing here says what to {verb}; {hint}, or see `provost init`");
        ActionError::new(Code::NothingToRun, message)
    };
    let plan = plan.ok_or_else(nothing_to_run)?;
    let is_defined = match which {
        RuntimeProcessKind::Dev => plan.dev.is_some(),
        RuntimeProcessKind::Build => plan.build.is_some(),
    };
    if is_defined { Ok(plan) } else { Err(nothing_to_run()) }
}

/// The command, for people.
pub(super) fn describe_command(plan: &RuntimePlan, which: RuntimeProcessKind) -> String {
    match which {
        RuntimeProcessKind::Dev => {
            plan.dev.as_ref().map(DevServerProgram::describe).unwrap_or_default()
        }
        RuntimeProcessKind::Build => plan.build.clone().unwrap_or_default(),
    }
}

/// The command to spawn. `own_program` serves static files.
pub(super) fn build_command(
    plan: &RuntimePlan,
    which: RuntimeProcessKind,
    own_program: &Path,
    environment: &[(OsString, OsString)],
) -> SandboxCommand {
    let shell = |line: &str| {
        let shell = if Path::new("/bin/bash").exists() { "/bin/bash" } else { "/bin/sh" };
        SandboxCommand::new(shell, &["-c", line])
    };
    let mut command = match (which, &plan.dev, &plan.build) {
        (RuntimeProcessKind::Build, _, Some(line))
        | (RuntimeProcessKind::Dev, Some(DevServerProgram::Shell(line)), _) => shell(line),
        (RuntimeProcessKind::Dev, Some(DevServerProgram::Static { root }), _) => {
            let port = plan.port.unwrap_or(0).to_string();
            SandboxCommand::new(own_program, &["static", "--port", &port, "--", root])
        }
        (RuntimeProcessKind::Build, _, None) | (RuntimeProcessKind::Dev, None, _) => {
            SandboxCommand::new("", &[] as &[&str])
        }
    };
    command.env = environment.to_vec();
    let mut set = |name: &str, value: &str| {
        command.env.retain(|(known, _)| known != name);
        command.env.push((name.into(), value.into()));
    };
    // Hints that many servers accept; the actual port is found by its socket.
    set("HOST", "127.0.0.1");
    set("BROWSER", "none");
    if let Some(port) = plan.port.or_else(|| pick_free_port(plan)) {
        set("PORT", &port.to_string());
    }
    for (name, value) in &plan.env {
        set(name, value);
    }
    command.orphans = OrphanPolicy::Kill;
    command.parent = ParentExitPolicy::Terminate;
    command
}

/// A free port for a command that uses `$PORT`.
fn pick_free_port(plan: &RuntimePlan) -> Option<u16> {
    let Some(DevServerProgram::Shell(line)) = &plan.dev else { return None };
    if !line.contains("$PORT") && !line.contains("${PORT") {
        return None;
    }
    let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).ok()?;
    free.local_addr().ok().map(|address| address.port())
}
