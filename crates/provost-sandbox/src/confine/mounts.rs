//! In the child: the mount namespace.
//!
//! Everything goes by handles: a path of the project is opened beneath its root,
//! without links, and what was opened is what is mounted. A protected path that
//! is missing, or is a link, is left alone.

use std::ffi::CStr;
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd};

use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, RenameFlags, ResolveFlags, StatxAttributes, StatxFlags,
};
use rustix::io::Errno;
use rustix::mount::{MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags};

use super::error::Step;
use super::plan::{At as _, CARRIED, Carried, Cover, Failed, Mounts, Pin, Plan, ROOT, Start};
use super::raw::{self, int, place};

/// Landlock's rights to execute, read files and read folders.
const READ: u64 = 1 | 4 | 8;

/// Makes the namespace private, with a `/proc` that shows its own processes.
pub(super) fn begin(proc: bool) -> Result<(), Failed> {
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    rustix::mount::mount_change(ROOT, private).at(Step::Mounts)?;
    if !proc {
        return Ok(());
    }
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    rustix::mount::mount(c"proc", c"/proc", c"proc", flags, None).at(Step::Proc)
}

/// Makes the mounts as planned in a namespace that has [begun](begin).
pub(super) fn arrange(plan: &Plan<'_>, mounts: &Mounts) -> Result<(), Failed> {
    if mounts.proc {
        allow_reading_proc(plan)?;
    }
    let project = project(&plan.start).at(Step::Mounts)?;
    for pin in &mounts.pins {
        self::pin(project.as_fd(), pin).at(Step::Mounts)?;
    }
    for path in &plan.held {
        // Nothing that runs can move it. What a person took away is not held.
        onto_itself(project.as_fd(), path, false).at(Step::Mounts)?;
    }
    for cover in &plan.covers {
        put_over(project.as_fd(), cover).at(Step::Mounts)?;
    }
    for folder in &mounts.empty {
        let flags = MountFlags::RDONLY | MountFlags::NOSUID | MountFlags::NODEV;
        let options = Some(c"size=4k,mode=000");
        match rustix::mount::mount(c"tmpfs", &**folder, c"tmpfs", flags, options) {
            Err(Errno::NOENT) => {}
            other => other.at(Step::Mounts)?,
        }
    }
    // Both are taken before one can cover the other.
    let shm = mounts.shm.as_deref().map(tree).transpose().at(Step::Mounts)?;
    if let Some(folder) = &mounts.tmp {
        private_tmp(folder, &mounts.carried).at(Step::Mounts)?;
    }
    match shm {
        Some(shm) => cover(shm.as_fd(), c"/dev/shm").at(Step::Mounts),
        None => Ok(()),
    }
}

/// Puts a folder in the place of `/tmp` and `/var/tmp`, and what is needed of
/// them back where it was, with what was mounted in it.
fn private_tmp(folder: &CStr, carried: &[Carried]) -> Result<(), Errno> {
    let mut trees: [Option<OwnedFd>; CARRIED] = [const { None }; CARRIED];
    for (held, carried) in trees.iter_mut().zip(carried) {
        let tree = whole_tree(&carried.path)?;
        if carried.read_only {
            read_only(tree.as_fd())?;
        }
        *held = Some(tree);
    }
    let tmp = tree(folder)?;
    let var_tmp = tree(folder)?;
    cover(tmp.as_fd(), c"/tmp")?;
    cover(var_tmp.as_fd(), c"/var/tmp")?;
    for (held, carried) in trees.iter().zip(carried) {
        for above in &carried.above {
            cover(tree(above)?.as_fd(), above)?;
        }
        if let Some(held) = held {
            cover(held.as_fd(), &carried.path)?;
        }
    }
    Ok(())
}

fn whole_tree(path: &CStr) -> Result<OwnedFd, Errno> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_RECURSIVE;
    rustix::mount::open_tree(rustix::fs::CWD, path, flags)
}

/// The project in this mount namespace. A handle from before leads to the mounts
/// from before, where nothing is read-only, and must not be used.
pub(super) fn project(start: &Start) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder = rustix::fs::open(&*start.project, flags, Mode::empty())?;
    let found = rustix::fs::fstat(&folder)?;
    if (found.st_dev, found.st_ino) == start.identity { Ok(folder) } else { Err(Errno::STALE) }
}

fn pin(project: BorrowedFd<'_>, pin: &Pin) -> Result<(), Errno> {
    onto_itself(project, &pin.path, pin.read_only)
}

/// Mounts a path onto itself: in this namespace nothing can take its place, and
/// a file cannot be written. Fails if it is not there, or was moved while this was done:
/// whoever is told that it is held relies on it.
pub(super) fn hold(project: BorrowedFd<'_>, path: &CStr) -> Result<(), Errno> {
    onto_itself(project, path, false)?;
    // A rename that began before ends before this: it waits for the folder, and then
    // refuses, because the name is taken.
    let _taken = rustix::fs::renameat_with(project, path, project, path, RenameFlags::NOREPLACE);
    let there = rustix::fs::openat2(project, path, ITSELF, Mode::empty(), STRAIGHT)?;
    let found = rustix::fs::statx(&there, c"", AtFlags::EMPTY_PATH, StatxFlags::empty())?;
    if found.stx_attributes.contains(StatxAttributes::MOUNT_ROOT) {
        Ok(())
    } else {
        Err(Errno::BUSY)
    }
}

/// How a path of the project is opened that is mounted over: itself and no link, or
/// something else could take its place.
const ITSELF: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
const STRAIGHT: ResolveFlags = ResolveFlags::BENEATH.union(ResolveFlags::NO_SYMLINKS);

/// Mounts a file over one of the project, read-only.
fn put_over(project: BorrowedFd<'_>, cover: &Cover) -> Result<(), Errno> {
    let held = rustix::fs::openat2(project, &*cover.path, ITSELF, Mode::empty(), STRAIGHT)?;
    let tree = tree(&cover.copy)?;
    read_only(tree.as_fd())?;
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    rustix::mount::move_mount(&tree, c"", &held, c"", flags)
}

fn onto_itself(project: BorrowedFd<'_>, path: &CStr, make_read_only: bool) -> Result<(), Errno> {
    let held = match rustix::fs::openat2(project, path, ITSELF, Mode::empty(), STRAIGHT) {
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(()),
        other => other?,
    };
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_EMPTY_PATH
        | OpenTreeFlags::AT_RECURSIVE;
    let tree = rustix::mount::open_tree(&held, c"", flags)?;
    // A file where a folder was expected leads elsewhere, as the `.git` of a
    // worktree does; whoever rewrites it chooses the hooks.
    let is_folder = FileType::from_raw_mode(rustix::fs::fstat(&held)?.st_mode).is_dir();
    if make_read_only || !is_folder {
        read_only(tree.as_fd())?;
    }
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    rustix::mount::move_mount(&tree, c"", &held, c"", flags)
}

fn tree(folder: &CStr) -> Result<OwnedFd, Errno> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC;
    rustix::mount::open_tree(rustix::fs::CWD, folder, flags)
}

/// Mounts a folder over another; where there is none, there is nothing to cover.
fn cover(tree: BorrowedFd<'_>, target: &CStr) -> Result<(), Errno> {
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
    match rustix::mount::move_mount(tree, c"", rustix::fs::CWD, target, flags) {
        Err(Errno::NOENT) => Ok(()),
        other => other,
    }
}

fn read_only(tree: BorrowedFd<'_>) -> Result<(), Errno> {
    let attributes = libc::mount_attr {
        attr_set: libc::MOUNT_ATTR_RDONLY,
        attr_clr: 0,
        propagation: 0,
        userns_fd: 0,
    };
    let flags = int(libc::AT_EMPTY_PATH | libc::AT_RECURSIVE);
    let arguments = [
        int(tree.as_raw_fd()),
        place(c"".as_ptr()),
        flags,
        place(&raw const attributes),
        size_of::<libc::mount_attr>(),
    ];
    // SAFETY: the descriptor is open, the structure is as long as we say.
    let result = unsafe { raw::call(libc::SYS_mount_setattr, arguments) };
    result.map(drop).map_err(Errno::from_raw_os_error)
}

/// The rules name files by identity, and the new `/proc` is a new file system.
///
/// The rules are shared by all runs of the policy, so each run leaves one behind
/// for a `/proc` that no other run can reach; they are built anew from time to time.
fn allow_reading_proc(plan: &Plan<'_>) -> Result<(), Failed> {
    #[repr(C, packed)]
    struct PathBeneath {
        rights: u64,
        parent: i32,
    }
    let Some(rules) = &plan.rules else { return Ok(()) };
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let proc = rustix::fs::open(c"/proc", flags, Mode::empty()).at(Step::Proc)?;
    let rule = PathBeneath { rights: READ, parent: proc.as_raw_fd() };
    // SAFETY: rule type 1 takes a structure of this layout, which outlives the call.
    let result = unsafe {
        raw::call(
            libc::SYS_landlock_add_rule,
            [int(rules.fd.as_raw_fd()), 1, place(&raw const rule)],
        )
    };
    raw::at(result, Step::Landlock).map(drop)
}
