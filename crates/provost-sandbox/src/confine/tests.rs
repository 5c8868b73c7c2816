//! What a sandbox must allow; the attacks are in `tests/escape`.

use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::*;
use crate::probe::{self, MachineFeatures};
use crate::sandbox_policy::{SandboxPaths, SandboxPolicy, SandboxProfile};

struct SandboxFixture {
    dir: tempfile::TempDir,
    machine: MachineFeatures,
}

/// No namespaces at all, and all available ones.
const LAYER_SELECTIONS: [LayerSelection; 2] =
    [LayerSelection::Exactly(NO_OPTIONAL_LAYERS), LayerSelection::Auto];
const NO_OPTIONAL_LAYERS: OptionalLayers =
    OptionalLayers { pid: false, net: false, ipc: false, mount: false, uts: false, cgroup: false };

impl SandboxFixture {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        for name in ["project/src", "home/.ssh", "home/.cache", "data", "scratch"] {
            fs::create_dir_all(dir.path().join(name)).unwrap();
        }
        fs::write(dir.path().join("home/.ssh/id"), "secret").unwrap();
        fs::write(dir.path().join("data/token"), "secret").unwrap();
        Self { dir, machine: probe::probe_machine() }
    }

    fn build_sandbox(&self, profile: SandboxProfile, layers: LayerSelection) -> Sandbox {
        let at = |name: &str| self.dir.path().join(name);
        let (project, home) = (at("project"), at("home"));
        let (data, scratch) = (at("data"), at("scratch"));
        let places = SandboxPaths {
            project: &project,
            home: &home,
            data: &data,
            scratch: &scratch,
            run_homes: &at("data/homes/1"),
            readable: &[],
            private: &[],
        };
        let policy = SandboxPolicy::new(profile, &places);
        Sandbox::new(policy, &self.machine, layers, ResourceLimits::default()).unwrap()
    }

    fn run_shell(
        &self,
        profile: SandboxProfile,
        layers: LayerSelection,
        script: &str,
    ) -> (SandboxExit, String) {
        let sandbox = self.build_sandbox(profile, layers);
        let mut command = SandboxCommand::new("sh", &["-c", script]);
        command.env = vec![("PATH".into(), "/usr/bin:/bin".into())];
        collect_output(sandbox.spawn(command).unwrap())
    }
}

fn collect_output(mut child: SandboxChild) -> (SandboxExit, String) {
    let mut out = String::new();
    let mut error = String::new();
    File::from(child.stdout.take().unwrap()).read_to_string(&mut out).unwrap();
    File::from(child.stderr.take().unwrap()).read_to_string(&mut error).unwrap();
    let exit = child.wait().unwrap();
    (exit, out + &error)
}

/// Sandboxes and children are sent between the threads of a server.
#[test]
fn sandboxes_and_children_cross_threads() {
    fn crosses<T: Send + Sync>() {}
    crosses::<Sandbox>();
    crosses::<SandboxChild>();
}

#[test]
fn a_command_runs_and_its_end_is_known() {
    let fixture = SandboxFixture::new();
    for layers in LAYER_SELECTIONS {
        for profile in [
            SandboxProfile::Read,
            SandboxProfile::Build,
            SandboxProfile::Serve,
            SandboxProfile::Terminal,
        ] {
            let (exit, out) = fixture.run_shell(profile, layers, "echo hello; exit 7");
            assert_eq!((exit, &*out), (SandboxExit::Code(7), "hello\n"), "{profile:?} {layers:?}");
        }
        let (exit, _) = fixture.run_shell(SandboxProfile::Build, layers, "kill -USR1 $$; sleep 9");
        assert_eq!(exit, SandboxExit::Signal(libc::SIGUSR1), "{layers:?}");
    }
}

#[test]
fn the_project_is_writable_for_builds_and_not_for_readers() {
    let fixture = SandboxFixture::new();
    let script =
        "echo x > src/f && mv src/f src/g && mkdir src/d && cat src/g && echo t > $TMPDIR/t";
    for layers in LAYER_SELECTIONS {
        let (exit, out) = fixture.run_shell(SandboxProfile::Build, layers, script);
        assert_eq!((exit, &*out), (SandboxExit::Code(0), "x\n"), "{layers:?}");
        fs::remove_dir(fixture.dir.path().join("project/src/d")).unwrap();
        let (exit, out) =
            fixture.run_shell(SandboxProfile::Read, layers, "cat src/g; echo y > src/g");
        assert_ne!(exit, SandboxExit::Code(0));
        assert!(out.starts_with("x\n") && out.contains("cannot create"), "{out}");
    }
}

#[test]
fn a_missing_program_or_folder_is_told_apart() {
    let fixture = SandboxFixture::new();
    for layers in LAYER_SELECTIONS {
        let sandbox = fixture.build_sandbox(SandboxProfile::Build, layers);
        let none: [&str; 0] = [];
        let missing = sandbox.spawn(SandboxCommand::new("no-such-program", &none));
        assert!(matches!(missing, Err(SandboxError::NotFound { .. })), "{missing:?}");
        let missing = sandbox.spawn(SandboxCommand::new("/no/such/program", &none));
        assert!(matches!(missing, Err(SandboxError::NotFound { .. })), "{missing:?}");
        let mut lost = SandboxCommand::new("true", &none);
        lost.cwd = "gone".into();
        let lost = sandbox.spawn(lost);
        assert!(matches!(lost, Err(SandboxError::WorkingDirectory(_))), "{lost:?}");
        let mut there = SandboxCommand::new("pwd", &none);
        there.cwd = "src".into();
        let (_, out) = collect_output(sandbox.spawn(there).unwrap());
        assert!(out.ends_with("/project/src\n"), "{out}");
    }
}

#[test]
fn input_and_environment_are_what_was_given() {
    let fixture = SandboxFixture::new();
    for layers in LAYER_SELECTIONS {
        let sandbox = fixture.build_sandbox(SandboxProfile::Build, layers);
        let mut command = SandboxCommand::new("sh", &["-c", "cat; env | sort | grep -v ^PWD"]);
        command.env = vec![("A".into(), "1".into()), ("TMPDIR".into(), "/x".into())];
        command.stdio[0] = SandboxStdio::Pipe;
        let mut child = sandbox.spawn(command).unwrap();
        File::from(child.stdin.take().unwrap()).write_all(b"in ").unwrap();
        let (_, out) = collect_output(child);
        assert_eq!(out, "in A=1\nTMPDIR=/x\n", "{layers:?}");
    }
}

/// Supervisors share our memory; threads that allocate and spawn must not be disturbed.
#[test]
fn many_threads_spawn_at_once() {
    let fixture = SandboxFixture::new();
    for layers in LAYER_SELECTIONS {
        let sandbox = fixture.build_sandbox(SandboxProfile::Build, layers);
        std::thread::scope(|scope| {
            for thread in 0..8 {
                let sandbox = &sandbox;
                scope.spawn(move || {
                    for run in 0..25 {
                        let word = format!("{thread}-{run}");
                        let script = format!("(sleep 60 &) ; echo {word}; exit {thread}");
                        let (exit, out) = collect_output(
                            sandbox.spawn(SandboxCommand::new("sh", &["-c", &script])).unwrap(),
                        );
                        assert_eq!(
                            (exit, out.trim()),
                            (SandboxExit::Code(thread), &*word),
                            "{layers:?}"
                        );
                    }
                });
            }
        });
    }
}

#[test]
fn stop_ends_what_ignores_it() {
    let fixture = SandboxFixture::new();
    for layers in LAYER_SELECTIONS {
        let sandbox = fixture.build_sandbox(SandboxProfile::Build, layers);
        let script = "trap '' TERM; echo ready; while :; do sleep 1; done";
        let mut child = sandbox.spawn(SandboxCommand::new("sh", &["-c", script])).unwrap();
        let mut ready = [0; 6];
        File::from(child.stdout.take().unwrap()).read_exact(&mut ready).unwrap();
        assert_eq!(child.try_wait().unwrap(), None);
        let exit = child.stop(Duration::from_millis(50)).unwrap();
        assert_eq!(exit, SandboxExit::Signal(libc::SIGKILL), "{layers:?}");
        assert!(!Path::new(&format!("/proc/{}", child.pid())).exists());
    }
}

#[test]
fn what_cannot_be_had_is_an_error_and_not_left_out() {
    let fixture = SandboxFixture::new();
    let sandbox = |machine: &MachineFeatures, layers| {
        let policy = fixture
            .build_sandbox(SandboxProfile::Build, LayerSelection::Exactly(NO_OPTIONAL_LAYERS))
            .policy()
            .clone();
        Sandbox::new(policy, machine, layers, ResourceLimits::default())
    };
    let mut without = fixture.machine.clone();
    without.landlock_abi = 0;
    let built = sandbox(&without, LayerSelection::Auto);
    assert!(matches!(built, Err(SandboxError::Unavailable { layer: "Landlock", .. })));
    let mut without = fixture.machine.clone();
    without.namespaces.net = probe::LayerSupport::Refused { reason: "no".into() };
    let built = sandbox(
        &without,
        LayerSelection::Exactly(OptionalLayers { net: true, ..NO_OPTIONAL_LAYERS }),
    );
    assert!(matches!(built, Err(SandboxError::Unavailable { layer: "network namespace", .. })));
    assert!(!sandbox(&without, LayerSelection::Auto).unwrap().applied().net_namespace);
}

/// Prints what a run can observe: streams, directory, variables, session, access.
const INSPECT_SCRIPT: &str = "cat; echo err >&2; pwd; echo $A; echo /proc/[0-9]*; \
     cat /proc/self/status | grep -E 'NoNewPrivs|Seccomp:|CapEff'; ls /proc/self/fd | wc -l; \
     echo x > /tmp/x; cat /tmp/x; cat ../home/.ssh/id; (sleep 100 &); exit 7";

fn run_inspect_script(sandbox: &Sandbox) -> (SandboxExit, String) {
    let mut command = SandboxCommand::new("sh", &["-c", INSPECT_SCRIPT]);
    command.env = vec![("PATH".into(), "/usr/bin:/bin".into()), ("A".into(), "b".into())];
    command.cwd = "src".into();
    command.stdio = [SandboxStdio::Pipe, SandboxStdio::Pipe, SandboxStdio::Pipe];
    let mut child = sandbox.spawn(command).unwrap();
    File::from(child.stdin.take().unwrap()).write_all(b"typed\n").unwrap();
    collect_output(child)
}

#[test]
fn a_run_of_a_standby_supervisor_is_like_any_other() {
    let fixture = SandboxFixture::new();
    let sandbox = fixture.build_sandbox(SandboxProfile::Build, LayerSelection::Auto);
    let first = run_inspect_script(&sandbox);
    assert_eq!(first.0, SandboxExit::Code(7), "{first:?}");
    for _ in 0..100 {
        sandbox.start_standby().unwrap();
        assert_eq!(run_inspect_script(&sandbox), first);
    }
}

#[test]
fn layers_that_were_mounted_in_advance_show_what_runs_and_the_user_wrote_meanwhile() {
    let fixture = SandboxFixture::new();
    for name in ["home/.cache/pip", "home/.pyenv/shims"] {
        fs::create_dir_all(fixture.dir.path().join(name)).unwrap();
    }
    let sandbox = fixture.build_sandbox(SandboxProfile::Build, LayerSelection::Auto);
    let home = fixture.dir.path().join("home");
    let run = |script: &str| {
        let mut command = SandboxCommand::new("sh", &["-c", script]);
        command.env = vec![("PATH".into(), "/usr/bin:/bin".into())];
        command.env.push(("HOME".into(), home.clone().into()));
        collect_output(sandbox.spawn(command).unwrap())
    };
    if !sandbox.applied().own_home {
        return;
    }
    let mut seen = String::new();
    for number in 0..20 {
        sandbox.start_standby().unwrap();
        fs::write(home.join(format!(".cache/pip/theirs{number:02}")), "").unwrap();
        // Beside the standby supervisor, which has the first layers.
        let other = fixture.build_sandbox(SandboxProfile::Build, LayerSelection::Auto);
        let mut command = SandboxCommand::new("sh", &["-c", "echo > $HOME/.pyenv/shims/tool"]);
        command.env = vec![("HOME".into(), home.clone().into())];
        assert_eq!(collect_output(other.spawn(command).unwrap()).0, SandboxExit::Code(0));
        let script = format!(
            "echo > $HOME/.cache/pip/own{number:02} && ls -x -w 0 $HOME/.cache/pip $HOME/.pyenv/shims"
        );
        let (exit, out) = run(&script);
        assert_eq!(exit, SandboxExit::Code(0), "{out}");
        assert!(out.contains(&format!("own{number:02}")), "{out}");
        assert!(out.contains(&format!("theirs{number:02}")), "{out}");
        assert!(out.contains("tool"), "{out}");
        seen = out;
    }
    assert!(seen.contains("own00") && seen.contains("theirs00"), "{seen}");
    assert!(fs::read_dir(home.join(".pyenv/shims")).unwrap().next().is_none());
}

#[test]
fn a_run_in_memory_has_its_own_folders_and_leaves_nothing() {
    let fixture = SandboxFixture::new();
    let home = fixture.dir.path().join("home");
    fs::create_dir_all(home.join(".cache/pip")).unwrap();
    fs::create_dir_all(home.join(".cargo")).unwrap();
    fs::write(home.join(".cache/pip/theirs"), "theirs").unwrap();
    fs::write(home.join(".cargo/env"), "env").unwrap();
    fs::write(home.join(".gitconfig"), "[user]\nname = Ann\n").unwrap();
    let on_disk = fixture.build_sandbox(SandboxProfile::Build, LayerSelection::Auto);
    let policy = on_disk.policy().in_memory().unwrap();
    let limits = ResourceLimits::default();
    let run = |script: &str| {
        let machine = fixture.machine.clone();
        let early = EarlyStart::begin(policy.profile, policy.network, limits, || machine);
        let sandbox = Sandbox::new(policy.clone(), &fixture.machine, LayerSelection::Auto, limits);
        let sandbox = match sandbox {
            Err(SandboxError::Unavailable { .. }) if !on_disk.applied().own_home => return None,
            sandbox => sandbox.unwrap().with_early_start(early),
        };
        assert_eq!(sandbox.applied(), on_disk.applied());
        let mut command = SandboxCommand::new("sh", &["-c", script]);
        command.env = vec![("PATH".into(), "/usr/bin:/bin".into())];
        command.env.push(("HOME".into(), home.clone().into()));
        Some(collect_output(sandbox.spawn(command).unwrap()))
    };
    let script = "cd; cat .cache/pip/theirs .cargo/env && grep -o Ann .gitconfig && \
                  echo 1 > .cache/pip/own && echo 2 > own && echo 3 > /tmp/own && \
                  echo 4 > /var/tmp/other && echo 5 > /dev/shm/own && cat .cache/pip/own own \
                  /tmp/own /tmp/other /dev/shm/own && ls /dev/shm && ! echo 6 > .cargo/env";
    for _ in 0..2 {
        let Some((exit, out)) = run(script) else { return };
        assert_eq!(exit, SandboxExit::Code(0), "{out}");
        assert!(out.starts_with("theirsenvAnn\n1\n2\n3\n4\n5\nown\n"), "{out}");
        assert_eq!(fs::read_dir(home.join(".cache/pip")).unwrap().count(), 1);
        assert!(!home.join("own").exists() && !Path::new("/dev/shm/own").exists());
        assert!(!Path::new("/dev/shm/homes").exists() && !Path::new("/dev/shm/tmp").exists());
        assert_eq!(run("ls ~ /tmp | grep own").unwrap().0, SandboxExit::Code(1));
    }
}

#[test]
fn a_standby_supervisor_that_was_killed_is_replaced() {
    let fixture = SandboxFixture::new();
    let sandbox = fixture.build_sandbox(SandboxProfile::Build, LayerSelection::Auto);
    sandbox.start_standby().unwrap();
    if let Some(pid) = standby_process(&sandbox) {
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    }
    assert_eq!(run_inspect_script(&sandbox).0, SandboxExit::Code(7));
}

#[test]
fn an_unused_standby_supervisor_ends_after_its_time_and_with_its_sandbox() {
    let fixture = SandboxFixture::new();
    let sandbox = fixture.build_sandbox(SandboxProfile::Build, LayerSelection::Auto);
    assert_eq!(sandbox.expire_standby(Duration::ZERO), None);
    sandbox.start_standby().unwrap();
    let Some(first) = standby_process(&sandbox) else { return };
    let left = sandbox.expire_standby(Duration::from_secs(1000)).unwrap();
    assert!(left > Duration::ZERO && standby_process(&sandbox) == Some(first));
    sandbox.start_standby().unwrap();
    assert_eq!(standby_process(&sandbox), Some(first), "one is enough");
    assert_eq!(sandbox.expire_standby(Duration::ZERO), None);
    assert!(rustix::process::test_kill_process(first).is_err());
    sandbox.start_standby().unwrap();
    let second = standby_process(&sandbox).unwrap();
    drop(sandbox);
    assert!(rustix::process::test_kill_process(second).is_err());
}

/// The standby supervisor, where the machine allows one.
fn standby_process(sandbox: &Sandbox) -> Option<rustix::process::Pid> {
    sandbox.standby_pid().and_then(|pid| rustix::process::Pid::from_raw(pid.cast_signed()))
}

#[test]
fn a_standby_supervisor_waits_in_the_cgroup_of_its_command_and_leaves_it_when_that_runs() {
    let fixture = SandboxFixture::new();
    let mut sandbox = fixture.build_sandbox(SandboxProfile::Build, LayerSelection::Auto);
    if let Some(groups) = &mut sandbox.groups {
        Arc::get_mut(groups).unwrap().is_slow_to_join = true;
    }
    sandbox.start_standby().unwrap();
    let Some(supervisor) = standby_process(&sandbox) else { return };
    if !sandbox.applied().cgroup_memory {
        return;
    }
    let of = |pid: &str| std::fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap();
    let supervisor = supervisor.as_raw_nonzero().to_string();
    wait_until(|| of(&supervisor).contains("/provost-"));
    let mut command =
        SandboxCommand::new("sh", &["-c", "cat /proc/self/cgroup; read line; echo $line"]);
    command.stdio = [SandboxStdio::Pipe, SandboxStdio::Pipe, SandboxStdio::Null];
    let mut child = sandbox.spawn(command).unwrap();
    assert_eq!(child.pid().to_string(), supervisor, "it is the one that waited");
    wait_until(|| of(&supervisor) == of("self"));
    let mut input = std::fs::File::from(child.stdin.take().unwrap());
    std::io::Write::write_all(&mut input, b"done\n").unwrap();
    let mut output_text = String::new();
    let mut output = std::fs::File::from(child.stdout.take().unwrap());
    std::io::Read::read_to_string(&mut output, &mut output_text).unwrap();
    assert_eq!(child.wait().unwrap(), SandboxExit::Code(0));
    assert!(output_text.contains("/provost-") && output_text.ends_with("done\n"), "{output_text}");
}

#[test]
fn a_standby_supervisor_waits_outside_where_its_command_joins_a_cgroup_quickly() {
    let fixture = SandboxFixture::new();
    let mut sandbox = fixture.build_sandbox(SandboxProfile::Build, LayerSelection::Auto);
    if let Some(groups) = &mut sandbox.groups {
        Arc::get_mut(groups).unwrap().is_slow_to_join = false;
    }
    sandbox.start_standby().unwrap();
    let Some(supervisor) = standby_process(&sandbox) else { return };
    if !sandbox.applied().cgroup_memory {
        return;
    }
    let mut command = SandboxCommand::new("cat", &["/proc/self/cgroup"]);
    command.stdio = [SandboxStdio::Null, SandboxStdio::Pipe, SandboxStdio::Null];
    let of = |pid: &str| std::fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap();
    assert_eq!(of(&supervisor.as_raw_nonzero().to_string()), of("self"));
    let mut child = sandbox.spawn(command).unwrap();
    let mut output_text = String::new();
    let mut output = std::fs::File::from(child.stdout.take().unwrap());
    std::io::Read::read_to_string(&mut output, &mut output_text).unwrap();
    assert_eq!(child.wait().unwrap(), SandboxExit::Code(0));
    assert!(output_text.contains("/provost-"), "{output_text}");
}

/// Waits for a condition.
fn wait_until(done: impl Fn() -> bool) {
    let began = std::time::Instant::now();
    while !done() {
        assert!(began.elapsed() < Duration::from_mins(1), "it did not");
        std::thread::yield_now();
    }
}

#[test]
fn the_namespaces_of_runs_that_ended_are_let_go() {
    let fixture = SandboxFixture::new();
    let sandbox = fixture.build_sandbox(SandboxProfile::Build, LayerSelection::Auto);
    for _ in 0..4 {
        let mut child = sandbox.spawn(SandboxCommand::new("sh", &["-c", "true"])).unwrap();
        assert_eq!(child.wait().unwrap(), SandboxExit::Code(0));
    }
    drop(sandbox);
    let is_namespace = |fd: fs::DirEntry| {
        fs::read_link(fd.path()).is_ok_and(|to| to.to_string_lossy().starts_with("mnt:"))
    };
    let held = || fs::read_dir("/proc/self/fd").unwrap().flatten();
    let deadline = std::time::Instant::now() + Duration::from_secs(30);
    while held().any(is_namespace) {
        assert!(std::time::Instant::now() < deadline, "a namespace is still held");
        std::thread::yield_now();
    }
}
