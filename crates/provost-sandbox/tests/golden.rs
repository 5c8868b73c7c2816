//! Golden lines: what the sandbox reports of a run and of the machine, byte for byte.
//!
//! It is stored in events (`layers`) and printed by `provost doctor --json`.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::PathBuf;

use expect_test::{Expect, expect};
use provost_sandbox::cgroup::{CgroupParent, CgroupParents};
use provost_sandbox::confine::{AppliedLayers, PathProtection, ProcessCleanup, SandboxExit};
use provost_sandbox::probe::{LayerSupport, MachineFeatures, NamespaceSupport};
use provost_sandbox::sandbox_policy::{
    NestedRepositories, NetworkAccess, SandboxPolicy, SandboxProfile,
};
use serde::Serialize;

#[track_caller]
fn check(value: &impl Serialize, expected: &Expect) {
    expected.assert_eq(&serde_json::to_string(value).unwrap());
}

fn applied() -> AppliedLayers {
    AppliedLayers {
        profile: SandboxProfile::Build,
        no_new_privs: true,
        capabilities_dropped: true,
        landlock_abi: 4,
        seccomp: true,
        user_namespace: true,
        pid_namespace: true,
        net_namespace: true,
        ipc_namespace: true,
        mount_namespace: true,
        uts_namespace: true,
        private_tmp: true,
        own_terminals: true,
        own_home: true,
        protected_by: PathProtection::Mounts,
        network_denied_by: vec!["seccomp"],
        own_ports: true,
        reserved_ports: true,
        cgroup_pids: true,
        cgroup_memory: true,
        ended_by: ProcessCleanup::PidNamespace,
    }
}

#[test]
fn applied_layers_keep_their_names() {
    check(
        &applied(),
        &expect![[
            r#"{"profile":"build","noNewPrivs":true,"capabilitiesDropped":true,"landlockAbi":4,"seccomp":true,"userNamespace":true,"pidNamespace":true,"netNamespace":true,"ipcNamespace":true,"mountNamespace":true,"utsNamespace":true,"privateTmp":true,"ownTerminals":true,"ownHome":true,"protectedBy":"mounts","networkDeniedBy":["seccomp"],"ownPorts":true,"reservedPorts":true,"cgroupPids":true,"cgroupMemory":true,"endedBy":"pidNamespace"}"#
        ]],
    );
    check(
        &AppliedLayers {
            own_ports: false,
            reserved_ports: false,
            own_terminals: false,
            own_home: false,
            ..applied()
        },
        &expect![[
            r#"{"profile":"build","noNewPrivs":true,"capabilitiesDropped":true,"landlockAbi":4,"seccomp":true,"userNamespace":true,"pidNamespace":true,"netNamespace":true,"ipcNamespace":true,"mountNamespace":true,"utsNamespace":true,"privateTmp":true,"protectedBy":"mounts","networkDeniedBy":["seccomp"],"cgroupPids":true,"cgroupMemory":true,"endedBy":"pidNamespace"}"#
        ]],
    );
}

#[test]
fn words_keep_their_spelling() {
    check(
        &[
            SandboxProfile::Read,
            SandboxProfile::Build,
            SandboxProfile::Serve,
            SandboxProfile::Terminal,
        ],
        &expect![[r#"["read","build","serve","terminal"]"#]],
    );
    check(
        &[NetworkAccess::None, NetworkAccess::Listen, NetworkAccess::Full],
        &expect![[r#"["none","listen","full"]"#]],
    );
    check(
        &[PathProtection::Nothing, PathProtection::Mounts, PathProtection::Landlock],
        &expect![[r#"["nothing","mounts","landlock"]"#]],
    );
    check(
        &[ProcessCleanup::PidNamespace, ProcessCleanup::Subreaper],
        &expect![[r#"["pidNamespace","subreaper"]"#]],
    );
    check(
        &[SandboxExit::Code(1), SandboxExit::Signal(9)],
        &expect![[r#"[{"code":1},{"signal":9}]"#]],
    );
}

#[test]
fn machine_features_keep_their_names() {
    let refused = || LayerSupport::Refused { reason: "no".to_owned() };
    let group = |version| CgroupParent {
        version,
        path: PathBuf::from("/sys/fs/cgroup"),
        own: PathBuf::from("/unseen"),
    };
    let machine = MachineFeatures {
        kernel: "6.1".to_owned(),
        root: false,
        landlock_abi: 4,
        seccomp: LayerSupport::Available,
        notification: refused(),
        no_new_privs: LayerSupport::Available,
        namespaces: NamespaceSupport {
            through_user_namespace: true,
            user: refused(),
            pid: LayerSupport::Available,
            net: LayerSupport::Available,
            mount: LayerSupport::Available,
            ipc: LayerSupport::Available,
            uts: LayerSupport::Available,
            proc: refused(),
            terminals: refused(),
        },
        cgroups: CgroupParents { pids: Some(group(2)), memory: None },
    };
    check(
        &machine,
        &expect![[
            r#"{"kernel":"6.1","root":false,"landlockAbi":4,"seccomp":{"status":"available"},"notification":{"status":"refused","reason":"no"},"noNewPrivs":{"status":"available"},"namespaces":{"throughUserNamespace":true,"user":{"status":"refused","reason":"no"},"pid":{"status":"available"},"net":{"status":"available"},"mount":{"status":"available"},"ipc":{"status":"available"},"uts":{"status":"available"},"proc":{"status":"refused","reason":"no"},"terminals":{"status":"refused","reason":"no"}},"cgroups":{"pids":{"version":2,"path":"/sys/fs/cgroup"},"memory":null}}"#
        ]],
    );
}

#[test]
fn policies_keep_their_names() {
    let paths = |path: &str| vec![PathBuf::from(path)];
    let policy = SandboxPolicy {
        profile: SandboxProfile::Serve,
        project: PathBuf::from("/p"),
        scratch: PathBuf::from("/s"),
        writable: paths("/w"),
        readable: paths("/r"),
        hidden: paths("/h"),
        protected: paths("/p/.git"),
        nested: NestedRepositories { repositories: paths("/p/sub/.git"), complete: true },
        outputs: paths("/p/out"),
        network: NetworkAccess::Listen,
        home: PathBuf::from("/u"),
        run_homes: PathBuf::from("/homes"),
        own_home: PathBuf::from("/o"),
        caches: paths("/c"),
        is_in_memory: false,
    };
    check(
        &policy,
        &expect![[
            r#"{"profile":"serve","project":"/p","scratch":"/s","writable":["/w"],"readable":["/r"],"hidden":["/h"],"protected":["/p/.git"],"nested":{"repositories":["/p/sub/.git"],"complete":true},"outputs":["/p/out"],"network":"listen","home":"/u","ownHome":"/o","caches":["/c"]}"#
        ]],
    );
}
