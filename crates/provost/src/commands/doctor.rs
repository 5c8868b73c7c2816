//! `provost doctor`: what this machine offers.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::ExitCode;

use provost_sandbox::confine::{Applied, Command, Exit, Layers, Limits, Wall};
use provost_sandbox::probe::{self, Machine, Support};
use provost_sandbox::profile::{Places, Policy, Profile};
use serde::Serialize;

use crate::args::JsonArgs;
use crate::config::Config;
use crate::daemon::folder::{Folder, Running};
use crate::output::{self, bold, faint, line};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Report {
    version: &'static str,
    machine: Machine,
    /// What a command in profile `build` really gets, found by running one.
    wall: Option<Applied>,
    /// Why none could be run.
    wall_missing: Option<String>,
    data: Data,
    browser: Option<PathBuf>,
    daemon: Option<Running>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Data {
    path: PathBuf,
    exists: bool,
    private: bool,
    log_bytes: u64,
}

pub(crate) fn run(args: &JsonArgs, config: &Config) -> anyhow::Result<ExitCode> {
    let folder = Folder::at(&config.data.value);
    let found = fs::metadata(folder.path());
    let data = Data {
        path: folder.path().to_owned(),
        exists: found.is_ok(),
        private: found.is_ok_and(|found| found.permissions().mode().trailing_zeros() >= 6),
        log_bytes: fs::metadata(folder.log()).map_or(0, |log| log.len()),
    };
    let machine = probe::machine();
    let (wall, wall_missing) = match try_wall(&machine, config) {
        Ok(applied) => (Some(applied), None),
        Err(error) => (None, Some(format!("{error:#}"))),
    };
    let report = Report {
        version: provost_server::VERSION,
        wall,
        wall_missing,
        machine,
        data,
        browser: config.find_program(&["chromium", "google-chrome", "firefox", "xdg-open"]),
        daemon: folder.running(),
    };
    if args.json {
        output::json(&report)?;
    } else {
        show(&report)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Runs `true` behind the wall and returns what was applied to it.
fn try_wall(machine: &Machine, config: &Config) -> anyhow::Result<Applied> {
    let folder = tempfile::Builder::new().prefix("provost-").tempdir()?;
    let scratch = tempfile::Builder::new().prefix("provost-").tempdir()?;
    let home = config.home.clone().unwrap_or_else(|| "/".into());
    let places = Places {
        project: folder.path(),
        home: &home,
        data: &config.data.value,
        scratch: scratch.path(),
    };
    let policy = Policy::new(Profile::Build, &places);
    let wall = Wall::new(policy, machine, Layers::Auto, Limits::default())?;
    let mut child = wall.spawn(Command::new("true", &[] as &[&str]))?;
    match child.wait()? {
        Exit::Code(0) => Ok(child.applied.clone()),
        exit @ (Exit::Code(_) | Exit::Signal(_)) => anyhow::bail!("`true` ended with {exit:?}"),
    }
}

/// The layers of a run, in a line.
fn layers(applied: &Applied) -> String {
    let named = [
        ("no capabilities", applied.capabilities_dropped),
        ("seccomp", applied.seccomp),
        ("PID", applied.pid_namespace),
        ("network", applied.net_namespace),
        ("mount", applied.mount_namespace),
        ("IPC", applied.ipc_namespace),
        ("cgroup for pids", applied.cgroup_pids),
        ("cgroup for memory", applied.cgroup_memory),
    ];
    let there = named.iter().filter(|(_, there)| *there).map(|(name, _)| *name);
    let landlock = format!("Landlock ABI {}", applied.landlock_abi);
    std::iter::once(landlock.as_str()).chain(there).collect::<Vec<_>>().join(", ")
}

fn show(report: &Report) -> anyhow::Result<()> {
    let Report { version, machine, wall, wall_missing, data, browser, daemon } = report;
    line(&bold(&format!("Provost {version} on Linux {}", machine.kernel)))?;
    let landlock = match machine.landlock_abi {
        0 => Err("this kernel has none, so commands cannot be confined".to_owned()),
        abi => Ok(format!("ABI {abi}")),
    };
    row("Landlock", &landlock)?;
    row("seccomp", &said(&machine.seccomp))?;
    row("no_new_privs", &said(&machine.no_new_privs))?;
    let lonely = |why| format!("a dev server cannot connect to its own ports: {why}");
    row("own ports", &said(&machine.notification).map_err(lonely))?;
    for (name, support) in [
        ("user namespaces", &machine.namespaces.user),
        ("PID namespaces", &machine.namespaces.pid),
        ("network namespaces", &machine.namespaces.net),
        ("mount namespaces", &machine.namespaces.mount),
        ("IPC namespaces", &machine.namespaces.ipc),
    ] {
        row(name, &said(support))?;
    }
    for (name, place) in
        [("cgroup for pids", &machine.cgroups.pids), ("cgroup for memory", &machine.cgroups.memory)]
    {
        let place = place.as_ref().ok_or("none is writable".to_owned());
        row(name, &place.map(|place| format!("v{} at {}", place.version, place.path.display())))?;
    }
    let missing = || wall_missing.clone().unwrap_or_default();
    row("a command gets", &wall.as_ref().map(layers).ok_or_else(missing))?;
    let root = "Provost runs as root; an ordinary user is safer".to_owned();
    row("ordinary user", &if machine.root { Err(root) } else { Ok("yes".to_owned()) })?;
    row(
        "browser",
        &browser.as_ref().map(|path| path.display().to_string()).ok_or("none found".to_owned()),
    )?;
    let private = match (data.exists, data.private) {
        (false, _) => Ok(format!("{} (made at the first start)", data.path.display())),
        (true, true) => Ok(format!("{}, log {} KiB", data.path.display(), data.log_bytes / 1024)),
        (true, false) => Err(format!("{} can be read by others", data.path.display())),
    };
    row("data folder", &private)?;
    let daemon = daemon.as_ref().map(|d| format!("pid {} on http://{}", d.pid, d.address));
    row("daemon", &daemon.ok_or("not running; `provost up` starts it".to_owned()))
}

fn said(support: &Support) -> Result<String, String> {
    match support {
        Support::Available => Ok("yes".to_owned()),
        Support::Refused { reason } => Err(reason.clone()),
    }
}

fn row(name: &str, found: &Result<String, String>) -> anyhow::Result<()> {
    let (mark, text) = match found {
        Ok(text) => ("\x1b[32m✓\x1b[0m", text.clone()),
        Err(why) => ("\x1b[33m–\x1b[0m", faint(why)),
    };
    line(&format!("  {mark} {name:<20} {text}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_printed_report_keeps_its_fields() {
        let report = Report {
            version: "0.1.0",
            machine: probe::machine(),
            wall: None,
            wall_missing: None,
            data: Data { path: PathBuf::new(), exists: true, private: true, log_bytes: 7 },
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
