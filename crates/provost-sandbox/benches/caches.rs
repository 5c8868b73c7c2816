//! What the sandbox costs tools that build from warm caches: `cargo xtask bench sandbox caches`.
//!
//! Each tool builds a small project offline, in turn outside and inside of the sandbox, with the
//! user's own home below the home of the runs. A tool that is not installed is left out; what is
//! built is fetched from the tool's registry before, if it is not cached.
#![expect(clippy::print_stdout, reason = "a benchmark prints")]
#![expect(clippy::unwrap_used, reason = "a benchmark that cannot measure fails")]

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use provost_sandbox::confine::{
    LayerSelection, ResourceLimits, Sandbox, SandboxCommand, SandboxExit, SandboxStdio,
};
use provost_sandbox::sandbox_policy::{
    SandboxPaths, SandboxPolicy, SandboxProfile, find_toolchains,
};
use provost_sandbox::{environment, probe};

const ROUNDS: usize = 9;
const WARM_UP: usize = 2;

/// The most that a tool may take inside, compared with outside.
const LIMIT: f64 = 1.1;

/// A tool and what it builds.
struct CachedTool {
    name: &'static str,
    /// The files of its project.
    files: &'static [(&'static str, &'static str)],
    /// Fills the cache and the project, outside.
    prepare: &'static str,
    /// What a run must not find.
    built: &'static str,
    /// The command that is measured.
    build: &'static str,
}

const TOOLS: &[CachedTool] = &[
    CachedTool { name: "true", files: &[], prepare: "true", built: "none", build: "true" },
    CachedTool {
        name: "cargo build",
        files: &[
            (
                "Cargo.toml",
                "[package]\nname = 'app'\nversion = '0.1.0'\nedition = '2024'\n\
                 [dependencies]\nitoa = '1'\nmemchr = '2'\nserde_core = '1'\n[workspace]\n",
            ),
            ("src/main.rs", "fn main() { print!(\"{}\", itoa::Buffer::new().format(1)); }\n"),
        ],
        prepare: "cargo fetch",
        built: "target",
        build: "cargo build --offline --quiet",
    },
    CachedTool {
        name: "npm ci",
        files: &[(
            "package.json",
            "{ \"name\": \"app\", \"version\": \"1.0.0\", \
             \"dependencies\": { \"fastify\": \"5.6.1\" } }",
        )],
        // Offline, npm finds a package by the address in the lock file.
        prepare: "npm install --no-audit --no-fund --silent --omit-lockfile-registry-resolved=false",
        built: "node_modules",
        build: "npm ci --offline --no-audit --no-fund --silent",
    },
    CachedTool {
        name: "pip install",
        files: &[],
        prepare: "pip download --quiet --dest wheels flask==3.1.2",
        built: "site",
        build: "pip install --quiet --no-index --find-links wheels --target site flask",
    },
];

fn main() -> ExitCode {
    let mut text = format!("warm builds, median of {ROUNDS} interleaved rounds\n");
    for tool in TOOLS {
        text += &measure_tool(tool);
    }
    println!("{text}");
    if text.contains("FAIL") { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn measure_tool(tool: &CachedTool) -> String {
    let dir = tempfile::tempdir().unwrap();
    for name in ["data", "scratch"] {
        fs::create_dir(dir.path().join(name)).unwrap();
    }
    let variables: Vec<_> = environment::filter_allowed(std::env::vars_os());
    let projects = ["outside", "inside"].map(|name| dir.path().join(name));
    for project in &projects {
        for (name, content) in tool.files {
            fs::create_dir_all(project.join(name).parent().unwrap()).unwrap();
            fs::write(project.join(name), content).unwrap();
        }
        fs::create_dir_all(project).unwrap();
        if !run_outside(project, tool.prepare, &variables) {
            return format!("  {:<14} left out: `{}` failed\n", tool.name, tool.prepare);
        }
    }
    let [outside, inside] = &projects;
    let sandbox = create_sandbox(dir.path(), inside, &variables);
    let mut times = [Vec::new(), Vec::new()];
    for round in 0..ROUNDS + WARM_UP {
        for turn in 0..2 {
            let is_inside = (round + turn) % 2 == 1;
            let project = if is_inside { inside } else { outside };
            drop(fs::remove_dir_all(project.join(tool.built)));
            let start = Instant::now();
            let is_built = if is_inside {
                run_inside(&sandbox, tool.build, &variables)
            } else {
                run_outside(project, tool.build, &variables)
            };
            assert!(is_built, "`{}` failed, inside: {is_inside}", tool.build);
            if round >= WARM_UP {
                times[usize::from(is_inside)].push(start.elapsed());
            }
        }
    }
    let [outside, inside] = times.map(median);
    let ratio = inside.as_secs_f64() / outside.as_secs_f64();
    let added = inside.saturating_sub(outside).as_secs_f64() * 1e3;
    // The start of a sandbox has its own promise.
    let result = match (tool.name, ratio <= LIMIT) {
        ("true", _) => "",
        (_, true) => "PASS",
        (_, false) => "FAIL",
    };
    let (name, millis) = (tool.name, outside.as_secs_f64() * 1e3);
    format!(
        "  {name:<14} outside {millis:>8.1} ms, {added:>6.1} ms more inside, {ratio:>5.2} x  {result}\n"
    )
}

fn create_sandbox(dir: &Path, project: &Path, variables: &[(OsString, OsString)]) -> Sandbox {
    let home = variables.iter().find(|(name, _)| name == "HOME").unwrap();
    let home = PathBuf::from(&home.1);
    let readable = find_toolchains(variables, &home);
    let paths = SandboxPaths {
        project,
        home: &home,
        data: &dir.join("data"),
        scratch: &dir.join("scratch"),
        run_homes: &dir.join("data/homes/1"),
        readable: &readable,
        private: &[],
    };
    let policy = SandboxPolicy::new(SandboxProfile::Build, &paths);
    let machine = probe::probe_machine();
    Sandbox::new(policy, &machine, LayerSelection::Auto, ResourceLimits::default()).unwrap()
}

fn run_outside(project: &Path, line: &str, variables: &[(OsString, OsString)]) -> bool {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", line]).current_dir(project);
    command.env_clear().envs(variables.iter().cloned());
    command.stdin(Stdio::null()).stdout(Stdio::null());
    command.status().unwrap().success()
}

fn run_inside(sandbox: &Sandbox, line: &str, variables: &[(OsString, OsString)]) -> bool {
    let mut command = SandboxCommand::new("/bin/sh", &["-c", line]);
    command.env = variables.to_vec();
    command.stdio = [SandboxStdio::Null, SandboxStdio::Null, SandboxStdio::Inherit];
    sandbox.spawn(command).unwrap().wait().unwrap() == SandboxExit::Code(0)
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}
