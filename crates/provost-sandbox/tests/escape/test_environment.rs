//! The environments in which every attack is tried.
//!
//! What a machine refuses is refused from outside, before the tests start: the sandbox is not
//! told and detects it. Root prepares each environment and then gives up its rights; an
//! ordinary user has those that need no rights.

use std::ffi::CString;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

use provost_sandbox::cgroup::CgroupParents;
use provost_sandbox::probe::{self, MachineFeatures};
use rustix::mount::{MountFlags, MountPropagationFlags, mount_change, mount_remount};
use rustix::thread::UnshareFlags;

use crate::sandbox_fixture;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TestEnvironment {
    Root,
    /// An ordinary user.
    User,
    /// An ordinary user who cannot create any namespace.
    WithoutNamespaces,
    /// An ordinary user as on Ubuntu, where a user namespace can be created and gives no
    /// rights, so that no other namespace can.
    RestrictedNamespaces,
    /// Root, where the cgroup file system is read-only.
    WithoutCgroups,
}

/// The first of the user ids for ordinary users; no known system uses them.
const FIRST_ORDINARY_UID: u32 = 64_000;
const N_ORDINARY_UIDS: u32 = 1000;

const OTHER_NAMESPACES: i32 = libc::CLONE_NEWNS
    | libc::CLONE_NEWCGROUP
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET;

impl TestEnvironment {
    /// Those that this user can create.
    pub(crate) fn available() -> &'static [Self] {
        const ALL: &[TestEnvironment] = &[
            TestEnvironment::User,
            TestEnvironment::WithoutNamespaces,
            TestEnvironment::RestrictedNamespaces,
            TestEnvironment::Root,
            TestEnvironment::WithoutCgroups,
        ];
        if rustix::process::geteuid().is_root() { ALL } else { &ALL[..3] }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Root => "as_root",
            Self::User => "as_user",
            Self::WithoutNamespaces => "without_namespaces",
            Self::RestrictedNamespaces => "restricted_namespaces",
            Self::WithoutCgroups => "without_cgroups",
        }
    }

    pub(crate) fn from_name(name: &str) -> Self {
        *Self::available().iter().find(|environment| environment.name() == name).unwrap()
    }

    /// Runs a test of this binary in the environment.
    pub(crate) fn run(self, test: &str) {
        let dir = sandbox_fixture::create_base_dir();
        // A copy, since the user may have no access to the build folder.
        let program = dir.path().join("escape");
        fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
        let mut command = Command::new(&program);
        command.args(["--in-environment", self.name(), test]);
        command.current_dir("/").env_clear().env("PATH", "/usr/bin:/bin");
        self.prepare(&mut command, dir.path());
        let status = command.status().unwrap();
        assert!(status.success(), "{} {test}: {status}", self.name());
    }

    fn prepare(self, command: &mut Command, dir: &Path) {
        let denied = match self {
            Self::WithoutNamespaces => Some(OTHER_NAMESPACES | libc::CLONE_NEWUSER),
            Self::RestrictedNamespaces => Some(OTHER_NAMESPACES),
            Self::Root | Self::User | Self::WithoutCgroups => None,
        };
        let cgroups = if self == Self::WithoutCgroups { cgroup_mounts() } else { Vec::new() };
        let uid = self.pick_uid();
        if let Some(uid) = uid {
            fs::set_permissions(dir, Permissions::from_mode(0o755)).unwrap();
            chown(dir, Some(uid), Some(uid)).unwrap();
            command.env("TMPDIR", dir);
        }
        // SAFETY: the closure makes only system calls and allocates nothing.
        unsafe {
            command.pre_exec(move || {
                if !cgroups.is_empty() {
                    make_read_only(&cgroups)?;
                }
                if let Some(flags) = denied {
                    deny_namespaces(flags.cast_unsigned())?;
                }
                uid.map_or(Ok(()), become_user)
            });
        }
    }

    /// The user to become. Each test has its own, since Linux counts processes per user, and
    /// one test uses up all that are allowed.
    fn pick_uid(self) -> Option<u32> {
        let keeps_user = matches!(self, Self::Root | Self::WithoutCgroups);
        if keeps_user || !rustix::process::geteuid().is_root() {
            return None;
        }
        Some(FIRST_ORDINARY_UID + std::process::id() % N_ORDINARY_UIDS)
    }

    /// Whether the environment itself took the way to rights from this process: an ordinary
    /// user cannot install a filter otherwise.
    pub(crate) fn has_no_privileges() -> bool {
        rustix::thread::no_new_privs().unwrap()
    }

    /// Asserts that the sandbox detects what the environment refuses.
    pub(crate) fn assert_detected(self) {
        let MachineFeatures { root, namespaces, cgroups, .. } = probe::probe_machine();
        assert_eq!(root, matches!(self, Self::Root | Self::WithoutCgroups));
        let others = [
            &namespaces.pid,
            &namespaces.net,
            &namespaces.mount,
            &namespaces.ipc,
            &namespaces.uts,
            &namespaces.proc,
            &namespaces.terminals,
        ];
        match self {
            Self::Root | Self::User => {}
            Self::WithoutNamespaces | Self::RestrictedNamespaces => {
                assert!(!others.iter().any(|layer| layer.is_available()), "{namespaces:?}");
                if self == Self::WithoutNamespaces {
                    assert!(!namespaces.user.is_available(), "{namespaces:?}");
                }
            }
            Self::WithoutCgroups => assert_eq!(cgroups, CgroupParents::default()),
        }
    }
}

/// The mount points of the cgroup file system.
fn cgroup_mounts() -> Vec<CString> {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
    let fields = mounts.lines().map(|line| line.split(' ').collect::<Vec<_>>());
    let cgroups = fields.filter(|fields| fields[2].starts_with("cgroup"));
    cgroups.map(|fields| CString::new(fields[1]).unwrap()).collect()
}

fn make_read_only(mounts: &[CString]) -> io::Result<()> {
    // SAFETY: this process has one thread, which shares no files with another.
    unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNS) }?;
    mount_change(c"/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?;
    for mount in mounts {
        mount_remount(mount.as_c_str(), MountFlags::BIND | MountFlags::RDONLY, c"")?;
    }
    Ok(())
}

fn become_user(uid: u32) -> io::Result<()> {
    // SAFETY: plain numbers, and an empty list.
    let failed = unsafe {
        libc::setgroups(0, std::ptr::null()) != 0
            || libc::setresgid(uid, uid, uid) != 0
            || libc::setresuid(uid, uid, uid) != 0
    };
    if failed { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Installs a filter that denies these namespaces to this process and all that it starts.
fn deny_namespaces(flags: u32) -> io::Result<()> {
    // The offsets of the number and of the first argument in `seccomp_data`.
    const NUMBER: u32 = 0;
    const FIRST_ARGUMENT: u32 = 16;
    let (load, is_equal, has_any) = (0x20, 0x15, 0x45);
    let step = |code, jt, jf, k| libc::sock_filter { code, jt, jf, k };
    let number = |call: libc::c_long| u32::try_from(call).unwrap_or(u32::MAX);
    let give = |action| step(0x06, 0, 0, action);
    let fail = |errno: i32| give(libc::SECCOMP_RET_ERRNO | errno.cast_unsigned());
    let mut filter = [
        step(load, 0, 0, NUMBER),
        // Its flags are in memory, where a filter cannot read them; callers then use `clone`.
        step(is_equal, 5, 0, number(libc::SYS_clone3)),
        step(is_equal, 1, 0, number(libc::SYS_unshare)),
        step(is_equal, 0, 4, number(libc::SYS_clone)),
        step(load, 0, 0, FIRST_ARGUMENT),
        step(has_any, 0, 2, flags),
        fail(libc::EPERM),
        fail(libc::ENOSYS),
        give(libc::SECCOMP_RET_ALLOW),
    ];
    let length = u16::try_from(filter.len()).unwrap_or(u16::MAX);
    let program = libc::sock_fprog { len: length, filter: filter.as_mut_ptr() };
    // SAFETY: `program` points to valid instructions, which Linux copies; only this process is
    // filtered.
    unsafe {
        // Root needs no `no_new_privs`, so that set-id programs still gain rights outside.
        let is_root = libc::geteuid() == 0;
        if !is_root && libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 {
            return Err(io::Error::last_os_error());
        }
        let mode = libc::SECCOMP_SET_MODE_FILTER;
        if libc::syscall(libc::SYS_seccomp, mode, 0, &raw const program) != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}
