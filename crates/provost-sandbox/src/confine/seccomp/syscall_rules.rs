//! The table. One line per rule: the call, the condition, the action, and the reason.

use libc::{ENOSYS, EPERM};

/// One denial, or a notification to the broker.
#[derive(Clone, Copy, Debug)]
pub(super) struct SyscallRule {
    pub(super) call: i64,
    pub(super) when: ArgCondition,
    pub(super) answer: SeccompAction,
    /// Why it is denied; next to the rule so that they stay together.
    #[cfg_attr(not(test), expect(dead_code, reason = "read by people and by the tests"))]
    pub(super) reason: &'static str,
}

/// What the filter returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SeccompAction {
    /// Fails with this errno.
    Errno(i32),
    /// The process with the listener decides.
    Notify,
}

/// The arguments on which a rule matches. Only the lower half of an argument is
/// compared: those used here are all 32 bits wide in Linux.
#[derive(Clone, Copy, Debug)]
pub(super) enum ArgCondition {
    Always,
    /// The argument is this.
    Equals(u8, u32),
    /// The argument has any of these bits.
    HasAnyBit(u8, u32),
    /// The argument is none of these.
    NotIn(u8, &'static [u32]),
    /// Both arguments are these.
    BothEqual((u8, u32), (u8, u32)),
    /// The first argument has any of its bits, and the second of its.
    BothHaveBits((u8, u32), (u8, u32)),
    /// The first argument is this, and the second, with the mask, is none of these.
    EqualsAndNotIn((u8, u32), (u8, u32), &'static [u32]),
}

use ArgCondition::{Always, BothHaveBits, Equals, HasAnyBit, NotIn};

pub(super) const fn deny(
    call: i64,
    when: ArgCondition,
    errno: i32,
    reason: &'static str,
) -> SyscallRule {
    SyscallRule { call, when, answer: SeccompAction::Errno(errno), reason }
}

pub(super) const fn notify(call: i64, reason: &'static str) -> SyscallRule {
    SyscallRule { call, when: ArgCondition::Always, answer: SeccompAction::Notify, reason }
}

/// Every flag that creates a namespace. `CLONE_NEWTIME` shares its bit with the exit
/// signal of `clone`, which cannot create one.
const NAMESPACE_FLAGS: u32 = (libc::CLONE_NEWNS
    | libc::CLONE_NEWCGROUP
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUSER
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET) as u32;
const CLONE_NEWTIME: u32 = 0x80;
const SET_ID: u32 = 0o6000;

#[expect(clippy::cast_possible_truncation, reason = "terminal requests are 16 bits wide")]
pub(super) const COMMON_RULES: &[SyscallRule] = &[
    deny(
        libc::SYS_ioctl,
        Equals(1, libc::TIOCSTI as u32),
        EPERM,
        "types into the terminal that started it",
    ),
    deny(libc::SYS_ioctl, Equals(1, libc::TIOCLINUX as u32), EPERM, "pastes into a console"),
];

#[rustfmt::skip]
pub(super) const CONFINED_RULES: &[SyscallRule] = &[
    // Other processes.
    deny(libc::SYS_ptrace, Always, EPERM, "reads and drives other processes"),
    deny(libc::SYS_process_vm_readv, Always, EPERM, "reads the memory of other processes"),
    deny(libc::SYS_process_vm_writev, Always, EPERM, "writes the memory of other processes"),
    deny(libc::SYS_pidfd_getfd, Always, EPERM, "takes open files from other processes"),
    deny(libc::SYS_kcmp, Always, EPERM, "compares kernel objects of other processes"),
    // Interfaces that were broken often, or bypass other checks.
    deny(libc::SYS_io_uring_setup, Always, EPERM, "does what calls do, past this filter"),
    deny(libc::SYS_io_uring_enter, Always, EPERM, "does what calls do, on a ring from elsewhere"),
    deny(libc::SYS_io_uring_register, Always, EPERM, "does what calls do, on a ring from elsewhere"),
    deny(libc::SYS_bpf, Always, EPERM, "loads programs into the kernel"),
    deny(libc::SYS_perf_event_open, Always, EPERM, "watches the machine, large attack surface"),
    deny(libc::SYS_userfaultfd, Always, EPERM, "halts the kernel in the midst of a copy"),
    deny(libc::SYS_add_key, Always, EPERM, "the keyring is shared with the user's session"),
    deny(libc::SYS_request_key, Always, EPERM, "the keyring is shared with the user's session"),
    deny(libc::SYS_keyctl, Always, EPERM, "the keyring is shared with the user's session"),
    // Namespaces: each gives new root-like rights and new attack surface.
    deny(libc::SYS_unshare, HasAnyBit(0, NAMESPACE_FLAGS | CLONE_NEWTIME), EPERM, "makes namespaces"),
    deny(libc::SYS_clone, HasAnyBit(0, NAMESPACE_FLAGS), EPERM, "makes namespaces"),
    deny(libc::SYS_clone3, Always, ENOSYS, "its flags are not visible to a filter; libc falls back to clone"),
    deny(libc::SYS_setns, Always, EPERM, "enters namespaces"),
    // Mounts: they can undo what is read-only or masked.
    deny(libc::SYS_mount, Always, EPERM, "mounts"),
    deny(libc::SYS_umount2, Always, EPERM, "unmounts what masks something"),
    deny(libc::SYS_move_mount, Always, EPERM, "mounts"),
    deny(libc::SYS_open_tree, Always, EPERM, "copies mounts"),
    deny(libc::SYS_fsopen, Always, EPERM, "mounts"),
    deny(libc::SYS_fsmount, Always, EPERM, "mounts"),
    deny(libc::SYS_fsconfig, Always, EPERM, "mounts"),
    deny(libc::SYS_fspick, Always, EPERM, "changes mounts"),
    deny(libc::SYS_mount_setattr, Always, EPERM, "makes read-only mounts writable"),
    deny(libc::SYS_pivot_root, Always, EPERM, "swaps the root"),
    deny(libc::SYS_chroot, Always, EPERM, "swaps the root"),
    deny(libc::SYS_open_by_handle_at, Always, EPERM, "opens files without a path, past every mount"),
    // The machine itself.
    deny(libc::SYS_kexec_load, Always, EPERM, "replaces the kernel"),
    #[cfg(target_arch = "x86_64")]
    deny(libc::SYS_kexec_file_load, Always, EPERM, "replaces the kernel"),
    deny(libc::SYS_init_module, Always, EPERM, "loads kernel modules"),
    deny(libc::SYS_finit_module, Always, EPERM, "loads kernel modules"),
    deny(libc::SYS_delete_module, Always, EPERM, "unloads kernel modules"),
    deny(libc::SYS_swapon, Always, EPERM, "changes the machine's memory"),
    deny(libc::SYS_swapoff, Always, EPERM, "changes the machine's memory"),
    deny(libc::SYS_reboot, Always, EPERM, "stops the machine"),
    deny(libc::SYS_acct, Always, EPERM, "writes a file of its choice from the kernel"),
    deny(libc::SYS_quotactl, Always, EPERM, "changes limits of the file system"),
    deny(libc::SYS_syslog, Always, EPERM, "the kernel's log tells addresses"),
    #[cfg(target_arch = "x86_64")]
    deny(libc::SYS_iopl, Always, EPERM, "talks to hardware"),
    #[cfg(target_arch = "x86_64")]
    deny(libc::SYS_ioperm, Always, EPERM, "talks to hardware"),
    #[cfg(target_arch = "x86_64")]
    deny(libc::SYS_modify_ldt, Always, EPERM, "16-bit segments were a way into the kernel"),
    deny(libc::SYS_personality, NotIn(0, &[0, u32::MAX]), EPERM, "weakens address randomisation and mapping checks"),
    // Set-id files: a trap for users who run them outside.
    #[cfg(target_arch = "x86_64")]
    deny(libc::SYS_chmod, HasAnyBit(1, SET_ID), EPERM, "makes set-id programs"),
    deny(libc::SYS_fchmod, HasAnyBit(1, SET_ID), EPERM, "makes set-id programs"),
    deny(libc::SYS_fchmodat, HasAnyBit(2, SET_ID), EPERM, "makes set-id programs"),
    deny(SYS_FCHMODAT2, HasAnyBit(2, SET_ID), EPERM, "makes set-id programs"),
    #[cfg(target_arch = "x86_64")]
    deny(libc::SYS_creat, HasAnyBit(1, SET_ID), EPERM, "makes set-id programs"),
    #[cfg(target_arch = "x86_64")]
    deny(libc::SYS_mknod, HasAnyBit(1, SET_ID), EPERM, "makes set-id programs"),
    deny(libc::SYS_mknodat, HasAnyBit(2, SET_ID), EPERM, "makes set-id programs"),
    deny(libc::SYS_openat2, Always, ENOSYS, "its mode is not visible to a filter; programs fall back to openat"),
    // Open only uses its mode when it creates; with other flags it may be garbage.
    #[cfg(target_arch = "x86_64")]
    deny(libc::SYS_open, BothHaveBits((1, CREATE), (2, SET_ID)), EPERM, "makes set-id programs"),
    deny(libc::SYS_openat, BothHaveBits((2, CREATE), (3, SET_ID)), EPERM, "makes set-id programs"),
];

/// Without a pid namespace: calls on other processes of the same user. A filter does not
/// know the caller's own id, so these take only 0, which is the caller.
#[rustfmt::skip]
pub(super) const SHARED_PROCESS_RULES: &[SyscallRule] = &[
    deny(libc::SYS_prlimit64, NotIn(0, &[0]), EPERM, "limits of other processes, which then fail or are killed"),
    deny(libc::SYS_sched_setaffinity, NotIn(0, &[0]), EPERM, "moves other processes to one CPU"),
    deny(libc::SYS_sched_setscheduler, NotIn(0, &[0]), EPERM, "makes other processes wait"),
    deny(libc::SYS_sched_setparam, NotIn(0, &[0]), EPERM, "makes other processes wait"),
    deny(libc::SYS_sched_setattr, NotIn(0, &[0]), EPERM, "makes other processes wait"),
    deny(libc::SYS_setpriority, Equals(0, PRIO_USER), EPERM, "makes all processes of the user wait"),
    deny(libc::SYS_setpriority, NotIn(1, &[0]), EPERM, "makes other processes wait"),
    deny(libc::SYS_ioprio_set, Equals(0, IOPRIO_WHO_USER), EPERM, "makes all processes of the user wait"),
    deny(libc::SYS_ioprio_set, NotIn(1, &[0]), EPERM, "makes other processes wait"),
    deny(libc::SYS_migrate_pages, NotIn(0, &[0]), EPERM, "moves the memory of other processes"),
    deny(libc::SYS_move_pages, NotIn(0, &[0]), EPERM, "moves the memory of other processes"),
];

/// Without an IPC namespace: what other processes of the same user can share by number
/// or name. Programs that find it missing use files or pipes.
#[rustfmt::skip]
pub(super) const SHARED_IPC_RULES: &[SyscallRule] = &[
    deny(libc::SYS_shmget, Always, ENOSYS, "memory that others share"),
    deny(libc::SYS_shmat, Always, ENOSYS, "memory that others share"),
    deny(libc::SYS_shmctl, Always, ENOSYS, "removes memory that others share"),
    deny(libc::SYS_msgget, Always, ENOSYS, "queues of others"),
    deny(libc::SYS_msgsnd, Always, ENOSYS, "queues of others"),
    deny(libc::SYS_msgrcv, Always, ENOSYS, "queues of others"),
    deny(libc::SYS_msgctl, Always, ENOSYS, "removes queues of others"),
    deny(libc::SYS_semget, Always, ENOSYS, "semaphores of others"),
    deny(libc::SYS_semop, Always, ENOSYS, "semaphores of others"),
    deny(libc::SYS_semtimedop, Always, ENOSYS, "semaphores of others"),
    deny(libc::SYS_semctl, Always, ENOSYS, "removes semaphores of others"),
    deny(libc::SYS_mq_open, Always, ENOSYS, "queues of others, by name"),
    deny(libc::SYS_mq_unlink, Always, ENOSYS, "queues of others, by name"),
];

/// Without a limit on the memory of the whole run: memory that no other limit counts.
#[rustfmt::skip]
pub(super) const UNCOUNTED_MEMORY_RULES: &[SyscallRule] = &[
    deny(libc::SYS_memfd_create, Always, ENOSYS, "memory that no limit of a process counts"),
    deny(SYS_MEMFD_SECRET, Always, ENOSYS, "memory that no limit of a process counts"),
];

const PRIO_USER: u32 = 2;
const IOPRIO_WHO_USER: u32 = 3;
const SYS_MEMFD_SECRET: i64 = 447;
const SYS_FCHMODAT2: i64 = 452;
const CREATE: u32 = libc::O_CREAT as u32;
