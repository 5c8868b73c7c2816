//! In the supervisor and the child: the mount namespace.
//!
//! All mounts are made by descriptor: a path of the project is opened below its root,
//! without links, and what was opened is mounted. A protected path that is missing, or
//! is a link, is skipped.

use std::ffi::CStr;
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd};

use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, RenameFlags, ResolveFlags, StatxAttributes, StatxFlags,
};
use rustix::io::Errno;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MountFlags, MountPropagationFlags, MoveMountFlags,
    OpenTreeFlags,
};

use super::spawn_plan::{
    AtSetupStep as _, FileOverrideMount, FolderMount, MAX_FOLDER_MOUNTS, MountPlan,
    NamespaceMounts, OverlayLayer, ROOT_PATH, SelfBindMount, SetupFailure, SpawnPlan,
    StartDirectory,
};
use crate::confine::error::SetupStep;
use crate::confine::raw_syscall::{self, int_arg, ptr_arg};

/// Landlock's rights to execute, read files and read folders.
const LANDLOCK_READ_RIGHTS: u64 = 1 | 4 | 8;

/// The options of a run's `/dev/pts`: everybody in it may open a terminal, and only so
/// many. The number fits the machine's limit, usually 4096 with 1024 reserved for it,
/// when all commands of a project use theirs.
const TERMINAL_OPTIONS: &CStr = c"newinstance,ptmxmode=0666,mode=600,max=32";

/// Makes the namespace private, with a `/proc` that shows its own processes and a
/// `/dev/pts` with its own terminals, which the device `ptmx` beside it uses.
pub(in crate::confine) fn init_mount_namespace(own: NamespaceMounts) -> Result<(), SetupFailure> {
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    rustix::mount::mount_change(ROOT_PATH, private).at_step(SetupStep::Mounts)?;
    if own.terminals {
        let flags = MountFlags::NOSUID | MountFlags::NOEXEC;
        rustix::mount::mount(c"devpts", c"/dev/pts", c"devpts", flags, Some(TERMINAL_OPTIONS))
            .at_step(SetupStep::Terminals)?;
    }
    if own.proc {
        let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
        rustix::mount::mount(c"proc", c"/proc", c"proc", flags, None).at_step(SetupStep::Proc)?;
    }
    Ok(())
}

/// Makes the planned mounts in a namespace that was
/// [initialized](init_mount_namespace).
pub(in crate::confine) fn apply_mount_plan(
    plan: &SpawnPlan<'_>,
    mounts: &MountPlan,
) -> Result<(), SetupFailure> {
    if mounts.own.proc {
        add_landlock_rule(plan, c"/proc", LANDLOCK_READ_RIGHTS).at_step(SetupStep::Proc)?;
    }
    if mounts.own.terminals {
        let rights = mounts.terminal_rights;
        add_landlock_rule(plan, c"/dev/pts", rights).at_step(SetupStep::Terminals)?;
    }
    if let Some(memory) = &mounts.memory {
        memory.create().at_step(SetupStep::Mounts)?;
        for folder in &memory.writable {
            let rights = mounts.write_rights;
            add_landlock_rule(plan, folder, rights).at_step(SetupStep::Mounts)?;
        }
    }
    let project = open_project(&plan.start).at_step(SetupStep::Mounts)?;
    for pin in plan.pins.iter().copied().chain(&plan.read_only) {
        self::apply_self_bind(project.as_fd(), pin).at_step(SetupStep::Mounts)?;
    }
    for path in &plan.held_paths {
        // No process of the run can move it. A path that was deleted is not held.
        bind_onto_itself(project.as_fd(), path, false).at_step(SetupStep::Mounts)?;
    }
    for cover in &plan.file_overrides {
        mount_file_override(project.as_fd(), cover).at_step(SetupStep::Mounts)?;
    }
    for redirect in &plan.file_redirects {
        mount_file_redirect(project.as_fd(), redirect).at_step(SetupStep::Mounts)?;
    }
    for folder in &mounts.empty {
        let flags = MountFlags::RDONLY | MountFlags::NOSUID | MountFlags::NODEV;
        let options = Some(c"size=4k,mode=000");
        match rustix::mount::mount(c"tmpfs", &**folder, c"tmpfs", flags, options) {
            Err(Errno::NOENT) => {}
            other => other.at_step(SetupStep::Mounts)?,
        }
    }
    // All are cloned before one can cover the other.
    let shm = mounts.shm.as_deref().map(clone_mount).transpose().at_step(SetupStep::Mounts)?;
    mount_private_folders(plan, mounts).at_step(SetupStep::Mounts)?;
    match shm {
        Some(shm) => mount_over(shm.as_fd(), c"/dev/shm").at_step(SetupStep::Mounts),
        None => Ok(()),
    }
}

/// Mounts a folder over `/tmp` and `/var/tmp` and one over the home directory, and paths
/// of the shared ones that are needed back into them, with their own mounts.
fn mount_private_folders(plan: &SpawnPlan<'_>, mounts: &MountPlan) -> Result<(), Errno> {
    let mut trees: [Option<OwnedFd>; MAX_FOLDER_MOUNTS] = [const { None }; MAX_FOLDER_MOUNTS];
    for (tree, folder) in trees.iter_mut().zip(&mounts.folders) {
        *tree = clone_folder(plan, folder)?;
    }
    if let Some(folder) = &mounts.tmp {
        let (tmp, var_tmp) = (clone_mount(folder)?, clone_mount(folder)?);
        mount_over(tmp.as_fd(), c"/tmp")?;
        mount_over(var_tmp.as_fd(), c"/var/tmp")?;
    }
    for (tree, folder) in trees.iter().zip(&mounts.folders) {
        for above in &folder.above {
            mount_over(clone_mount(above)?.as_fd(), above)?;
        }
        match (tree, &folder.inside_home, &mounts.home) {
            (Some(tree), Some(inside), Some(home)) => mount_in_home(tree.as_fd(), home, inside)?,
            (Some(tree), _, _) => mount_over(tree.as_fd(), &folder.target)?,
            (None, _, _) => {}
        }
    }
    Ok(())
}

/// The mount of a folder, detached. `None` for what was removed meanwhile, and for an
/// overlay that this machine refuses: the run then has its own layer only.
fn clone_folder(plan: &SpawnPlan<'_>, folder: &FolderMount) -> Result<Option<OwnedFd>, Errno> {
    if let Some(layer) = folder.layer.and_then(|number| plan.layers.get(number)) {
        return match &layer.mount {
            Some(mount) => rustix::io::fcntl_dupfd_cloexec(mount, 3).map(Some),
            None => Ok(create_overlay(&folder.source, layer).ok()),
        };
    }
    let tree = match clone_tree_recursive(&folder.source) {
        Err(Errno::NOENT) if folder.inside_home.is_some() => return Ok(None),
        other => other?,
    };
    if folder.read_only {
        set_read_only(tree.as_fd())?;
    }
    Ok(Some(tree))
}

/// Mounts in the private home, where commands may have left links: none is followed.
/// Without a mount point, which a command may have removed, nothing is mounted.
fn mount_in_home(tree: BorrowedFd<'_>, home: &CStr, inside: &CStr) -> Result<(), Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let home = rustix::fs::open(home, flags, Mode::empty())?;
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    let opened =
        rustix::fs::openat2(&home, inside, OPEN_NOFOLLOW, Mode::empty(), RESOLVE_NO_SYMLINKS);
    match opened.and_then(|point| rustix::mount::move_mount(tree, c"", &point, c"", flags)) {
        // A file where a folder is mounted, or the other way round, was left by a command.
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(()),
        other => other,
    }
}

/// An overlay of a shared folder and the layer of the run, detached. The folders are
/// given by descriptor: their paths may be long, and contain any character.
pub(in crate::confine) fn create_overlay(
    lower: &CStr,
    layer: &OverlayLayer,
) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let overlay = rustix::mount::fsopen(c"overlay", FsOpenFlags::FSOPEN_CLOEXEC)?;
    let open = |folder: &CStr| rustix::fs::open(folder, flags, Mode::empty());
    let (upper, work, lower) = (open(&layer.upper)?, open(&layer.work)?, open(lower)?);
    let below = layer.below.as_deref().map(open).transpose()?;
    let path = DescriptorPath::new(upper.as_raw_fd());
    rustix::mount::fsconfig_set_string(&overlay, c"upperdir", path.as_cstr())?;
    let path = DescriptorPath::new(work.as_raw_fd());
    rustix::mount::fsconfig_set_string(&overlay, c"workdir", path.as_cstr())?;
    let path = match &below {
        // The first is the upper one.
        Some(below) => DescriptorPath::new_pair(below.as_raw_fd(), lower.as_raw_fd()),
        None => DescriptorPath::new(lower.as_raw_fd()),
    };
    rustix::mount::fsconfig_set_string(&overlay, c"lowerdir", path.as_cstr())?;
    // As an ordinary user may use it, and the same for root.
    rustix::mount::fsconfig_set_flag(&overlay, c"userxattr")?;
    // Otherwise Linux syncs the whole file system of the layer at the end of each run.
    rustix::mount::fsconfig_set_flag(&overlay, c"volatile")?;
    rustix::mount::fsconfig_create(&overlay)?;
    let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
    rustix::mount::fsmount(&overlay, FsMountFlags::FSMOUNT_CLOEXEC, attributes)
}

/// `/proc/self/fd/N`, without a heap.
struct DescriptorPath([u8; 64]);

impl DescriptorPath {
    fn new(fd: i32) -> Self {
        let mut path = [0; 64];
        Self::write(&mut path, fd);
        Self(path)
    }

    /// Two of them with a colon between.
    fn new_pair(first: i32, second: i32) -> Self {
        let mut path = [0; 64];
        let end = Self::write(&mut path, first);
        path[end] = b':';
        Self::write(&mut path[end + 1..], second);
        Self(path)
    }

    /// Returns the length.
    fn write(path: &mut [u8], fd: i32) -> usize {
        const PREFIX: &[u8] = b"/proc/self/fd/";
        path[..PREFIX.len()].copy_from_slice(PREFIX);
        let mut digits = [0u8; 10];
        let (mut rest, mut n_digits) = (fd.unsigned_abs(), 0);
        for digit in &mut digits {
            *digit = b'0' + u8::try_from(rest % 10).unwrap_or(0);
            n_digits += 1;
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        let end = path[PREFIX.len()..].iter_mut();
        for (place, digit) in end.zip(digits[..n_digits].iter().rev()) {
            *place = *digit;
        }
        PREFIX.len() + n_digits
    }

    fn as_cstr(&self) -> &CStr {
        CStr::from_bytes_until_nul(&self.0).unwrap_or(c"")
    }
}

fn clone_tree_recursive(path: &CStr) -> Result<OwnedFd, Errno> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_RECURSIVE;
    rustix::mount::open_tree(rustix::fs::CWD, path, flags)
}

/// The project in this mount namespace. A descriptor from before leads to the old
/// mounts, where nothing is read-only, and must not be used.
pub(in crate::confine) fn open_project(start: &StartDirectory) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder = rustix::fs::open(&*start.project, flags, Mode::empty())?;
    let found = rustix::fs::fstat(&folder)?;
    if (found.st_dev, found.st_ino) == start.identity { Ok(folder) } else { Err(Errno::STALE) }
}

fn apply_self_bind(project: BorrowedFd<'_>, pin: &SelfBindMount) -> Result<(), Errno> {
    bind_onto_itself(project, &pin.path, pin.read_only)
}

/// Mounts a path onto itself: in this namespace nothing can replace it, and a file
/// cannot be written. Fails if it does not exist or was moved meanwhile, because the
/// caller relies on it.
pub(in crate::confine) fn hold_path(project: BorrowedFd<'_>, path: &CStr) -> Result<(), Errno> {
    bind_onto_itself(project, path, false)?;
    // A rename in progress holds the folder's lock, so this one waits for it, and then
    // fails, because the name is taken.
    let _taken = rustix::fs::renameat_with(project, path, project, path, RenameFlags::NOREPLACE);
    let there =
        rustix::fs::openat2(project, path, OPEN_NOFOLLOW, Mode::empty(), RESOLVE_NO_SYMLINKS)?;
    let found = rustix::fs::statx(&there, c"", AtFlags::EMPTY_PATH, StatxFlags::empty())?;
    if found.stx_attributes.contains(StatxAttributes::MOUNT_ROOT) {
        Ok(())
    } else {
        Err(Errno::BUSY)
    }
}

/// Flags to open a path that is mounted over: the path itself and no link, or
/// something else could take its place.
const OPEN_NOFOLLOW: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
const RESOLVE_NO_SYMLINKS: ResolveFlags = ResolveFlags::BENEATH.union(ResolveFlags::NO_SYMLINKS);

/// Mounts a file over one of the project, read-only.
fn mount_file_override(project: BorrowedFd<'_>, cover: &FileOverrideMount) -> Result<(), Errno> {
    let held = rustix::fs::openat2(
        project,
        &*cover.path,
        OPEN_NOFOLLOW,
        Mode::empty(),
        RESOLVE_NO_SYMLINKS,
    )?;
    let tree = clone_mount(&cover.copy)?;
    set_read_only(tree.as_fd())?;
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    rustix::mount::move_mount(&tree, c"", &held, c"", flags)
}

/// Mounts a symbolic link over a file of the project. Without the file, or if a link took
/// its place, nothing is mounted.
fn mount_file_redirect(project: BorrowedFd<'_>, redirect: &FileOverrideMount) -> Result<(), Errno> {
    let opened = rustix::fs::openat2(
        project,
        &*redirect.path,
        OPEN_NOFOLLOW,
        Mode::empty(),
        RESOLVE_NO_SYMLINKS,
    );
    let held = match opened {
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(()),
        other => other?,
    };
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_SYMLINK_NOFOLLOW;
    let link = rustix::mount::open_tree(rustix::fs::CWD, &*redirect.copy, flags)?;
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    rustix::mount::move_mount(&link, c"", &held, c"", flags)
}

fn bind_onto_itself(
    project: BorrowedFd<'_>,
    path: &CStr,
    make_read_only: bool,
) -> Result<(), Errno> {
    let held =
        match rustix::fs::openat2(project, path, OPEN_NOFOLLOW, Mode::empty(), RESOLVE_NO_SYMLINKS)
        {
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(()),
            other => other?,
        };
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_EMPTY_PATH
        | OpenTreeFlags::AT_RECURSIVE;
    let tree = rustix::mount::open_tree(&held, c"", flags)?;
    // A file where a folder was expected points elsewhere, like the `.git` of a
    // worktree; whoever rewrites it chooses the hooks.
    let is_folder = FileType::from_raw_mode(rustix::fs::fstat(&held)?.st_mode).is_dir();
    if make_read_only || !is_folder {
        set_read_only(tree.as_fd())?;
    }
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    rustix::mount::move_mount(&tree, c"", &held, c"", flags)
}

fn clone_mount(folder: &CStr) -> Result<OwnedFd, Errno> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC;
    rustix::mount::open_tree(rustix::fs::CWD, folder, flags)
}

/// Mounts a folder over another, if that exists.
fn mount_over(tree: BorrowedFd<'_>, target: &CStr) -> Result<(), Errno> {
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
    match rustix::mount::move_mount(tree, c"", rustix::fs::CWD, target, flags) {
        Err(Errno::NOENT) => Ok(()),
        other => other,
    }
}

fn set_read_only(tree: BorrowedFd<'_>) -> Result<(), Errno> {
    let attributes = libc::mount_attr {
        attr_set: libc::MOUNT_ATTR_RDONLY,
        attr_clr: 0,
        propagation: 0,
        userns_fd: 0,
    };
    let flags = int_arg(libc::AT_EMPTY_PATH | libc::AT_RECURSIVE);
    let arguments = [
        int_arg(tree.as_raw_fd()),
        ptr_arg(c"".as_ptr()),
        flags,
        ptr_arg(&raw const attributes),
        size_of::<libc::mount_attr>(),
    ];
    // SAFETY: the descriptor is open, the structure has the given length.
    let result = unsafe { raw_syscall::syscall(libc::SYS_mount_setattr, arguments) };
    result.map(drop).map_err(Errno::from_raw_os_error)
}

/// Grants rights on a file system that is new in this namespace: Landlock identifies
/// files.
///
/// All runs of the policy share the ruleset, so each run leaves rules for file systems
/// that no other run can reach; it is rebuilt from time to time.
fn add_landlock_rule(plan: &SpawnPlan<'_>, path: &CStr, rights: u64) -> Result<(), Errno> {
    #[repr(C, packed)]
    struct PathBeneath {
        rights: u64,
        parent: i32,
    }
    let Some(rules) = &plan.rules else { return Ok(()) };
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let folder = rustix::fs::open(path, flags, Mode::empty())?;
    let rule = PathBeneath { rights, parent: folder.as_raw_fd() };
    // SAFETY: rule type 1 takes a structure of this layout, which outlives the call.
    let result = unsafe {
        raw_syscall::syscall(
            libc::SYS_landlock_add_rule,
            [int_arg(rules.fd.as_raw_fd()), 1, ptr_arg(&raw const rule)],
        )
    };
    result.map(drop).map_err(Errno::from_raw_os_error)
}
