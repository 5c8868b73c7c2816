//! `provost doctor`: which sandbox features this machine supports.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::ExitCode;

use provost_sandbox::confine::{
    AppliedLayers, LayerSelection, ResourceLimits, Sandbox, SandboxCommand, SandboxExit,
};
use provost_sandbox::probe::{self, LayerSupport, MachineFeatures};
use provost_sandbox::sandbox_policy::{SandboxPaths, SandboxPolicy, SandboxProfile};
use serde::Serialize;

use crate::args::JsonArgs;
use crate::config::Config;
use crate::daemon::data_folder::{DataFolder, RunningDaemon};
use crate::output::{self, bold, faint, print_line};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct DoctorReport {
    version: &'static str,
    machine: MachineFeatures,
    /// The layers that a command with profile `build` gets, found by running one.
    #[serde(rename = "wall")]
    sandbox: Option<AppliedLayers>,
    /// Why no command could be run.
    #[serde(rename = "wallMissing")]
    sandbox_error: Option<String>,
    data: DataFolderReport,
    browser: Option<PathBuf>,
    daemon: Option<RunningDaemon>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct DataFolderReport {
    path: PathBuf,
    exists: bool,
    private: bool,
    log_bytes: u64,
}

pub(crate) fn run(args: &JsonArgs, config: &Config) -> anyhow::Result<ExitCode> {
    let folder = DataFolder::from_path(&config.data.value);
    let metadata = fs::metadata(folder.path());
    let data = DataFolderReport {
        path: folder.path().to_owned(),
        exists: metadata.is_ok(),
        private: metadata.is_ok_and(|found| found.permissions().mode().trailing_zeros() >= 6),
        log_bytes: fs::metadata(folder.log_path()).map_or(0, |log| log.len()),
    };
    let machine = probe::probe_machine();
    let (sandbox, sandbox_error) = match probe_sandbox(&machine, config) {
        Ok(applied) => (Some(applied), None),
        Err(error) => (None, Some(format!("{error:#}"))),
    };
    let report = DoctorReport {
        version: provost_server::VERSION,
        sandbox,
        sandbox_error,
        machine,
        data,
        browser: config.find_program(&["chromium", "google-chrome", "firefox", "xdg-open"]),
        daemon: folder.running_daemon(),
    };
    if args.json {
        output::print_json(&report)?;
    } else {
        print_report(&report)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Runs `true` in a sandbox and returns the layers that were applied.
fn probe_sandbox(machine: &MachineFeatures, config: &Config) -> anyhow::Result<AppliedLayers> {
    let folder = tempfile::Builder::new().prefix("provost-").tempdir()?;
    let scratch = tempfile::Builder::new().prefix("provost-").tempdir()?;
    let home = config.home.clone().unwrap_or_else(|| "/".into());
    let paths = SandboxPaths {
        project: folder.path(),
        home: &home,
        data: &config.data.value,
        scratch: scratch.path(),
        run_homes: &scratch.path().join("homes"),
        readable: &[],
        private: &[],
    };
    let policy = SandboxPolicy::new(SandboxProfile::Build, &paths);
    let sandbox = Sandbox::new(policy, machine, LayerSelection::Auto, ResourceLimits::default())?;
    let mut child = sandbox.spawn(SandboxCommand::new("true", &[] as &[&str]))?;
    match child.wait()? {
        SandboxExit::Code(0) => Ok(child.applied.clone()),
        exit @ (SandboxExit::Code(_) | SandboxExit::Signal(_)) => {
            anyhow::bail!("`true` ended with {exit:?}")
        }
    }
}

/// The applied layers, in one line.
fn format_layers(applied: &AppliedLayers) -> String {
    let layers = [
        ("no capabilities", applied.capabilities_dropped),
        ("seccomp", applied.seccomp),
        ("PID", applied.pid_namespace),
        ("network", applied.net_namespace),
        ("mount", applied.mount_namespace),
        ("IPC", applied.ipc_namespace),
        ("cgroup for pids", applied.cgroup_pids),
        ("cgroup for memory", applied.cgroup_memory),
    ];
    let names = layers.iter().filter(|(_, applied)| *applied).map(|(name, _)| *name);
    let landlock = format!("Landlock ABI {}", applied.landlock_abi);
    std::iter::once(landlock.as_str()).chain(names).collect::<Vec<_>>().join(", ")
}

fn print_report(report: &DoctorReport) -> anyhow::Result<()> {
    let DoctorReport { version, machine, sandbox, sandbox_error, data, browser, daemon } = report;
    print_line(&bold(&format!("Provost {version} on Linux {}", machine.kernel)))?;
    let landlock = match machine.landlock_abi {
        0 => Err("not supported by this Linux kernel, so commands cannot be sandboxed".to_owned()),
        abi => Ok(format!("ABI {abi}")),
    };
    print_row("Landlock", &landlock)?;
    print_row("seccomp", &support_to_result(&machine.seccomp))?;
    print_row("no_new_privs", &support_to_result(&machine.no_new_privs))?;
    let own_ports = |why| {
        format!(
            "a dev server cannot connect to its own ports, and can take Provost's on other addresses: {why}"
        )
    };
    print_row("own ports", &support_to_result(&machine.notification).map_err(own_ports))?;
    for (name, support) in [
        ("user namespaces", &machine.namespaces.user),
        ("PID namespaces", &machine.namespaces.pid),
        ("network namespaces", &machine.namespaces.net),
        ("mount namespaces", &machine.namespaces.mount),
        ("IPC namespaces", &machine.namespaces.ipc),
    ] {
        print_row(name, &support_to_result(support))?;
    }
    for (name, cgroup) in
        [("cgroup for pids", &machine.cgroups.pids), ("cgroup for memory", &machine.cgroups.memory)]
    {
        let cgroup = cgroup.as_ref().ok_or("no writable cgroup".to_owned());
        print_row(
            name,
            &cgroup.map(|cgroup| format!("v{} at {}", cgroup.version, cgroup.path.display())),
        )?;
    }
    let error = || sandbox_error.clone().unwrap_or_default();
    print_row("applied layers", &sandbox.as_ref().map(format_layers).ok_or_else(error))?;
    let root = "Provost runs as root; use an ordinary user".to_owned();
    print_row("ordinary user", &if machine.root { Err(root) } else { Ok("yes".to_owned()) })?;
    print_row(
        "browser",
        &browser.as_ref().map(|path| path.display().to_string()).ok_or("not found".to_owned()),
    )?;
    let private = match (data.exists, data.private) {
        (false, _) => Ok(format!("{} (created at the first start)", data.path.display())),
        (true, true) => Ok(format!("{}, log {} KiB", data.path.display(), data.log_bytes / 1024)),
        (true, false) => Err(format!("{} can be read by others", data.path.display())),
    };
    print_row("data folder", &private)?;
    let daemon = daemon.as_ref().map(|d| format!("pid {} on http://{}", d.pid, d.address));
    print_row("daemon", &daemon.ok_or("not running; `provost up` starts it".to_owned()))
}

fn support_to_result(support: &LayerSupport) -> Result<String, String> {
    match support {
        LayerSupport::Available => Ok("yes".to_owned()),
        LayerSupport::Refused { reason } => Err(reason.clone()),
    }
}

fn print_row(name: &str, found: &Result<String, String>) -> anyhow::Result<()> {
    let (mark, text) = match found {
        Ok(text) => ("\x1b[32m✓\x1b[0m", text.clone()),
        Err(why) => ("\x1b[33m–\x1b[0m", faint(why)),
    };
    print_line(&format!("  {mark} {name:<20} {text}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_printed_report_keeps_its_fields() {
        let report = DoctorReport {
            version: "0.1.0",
            machine: probe::probe_machine(),
            sandbox: None,
            sandbox_error: None,
            data: DataFolderReport {
                path: PathBuf::new(),
                exists: true,
                private: true,
                log_bytes: 7,
            },
            browser: None,
            daemon: None,
        };
        let value = serde_json::to_value(&report).unwrap();
        let names: Vec<_> = value.as_object().unwrap().keys().map(String::as_str).collect();
        expect_test::expect!["browser daemon data machine version wall wallMissing"]
            .assert_eq(&names.join(" "));
        expect_test::expect![[r#"{"exists":true,"logBytes":7,"path":"","private":true}"#]]
            .assert_eq(&value["data"].to_string());
    }
}
