//! The Landlock rules of a policy, built once and used for many children.
//!
//! "Everything except" is expressed as rules on siblings (see
//! [`crate::sandbox_policy`]). The folders whose siblings were listed are kept with
//! their change time, so that the rules are rebuilt when a name was added or removed
//! there.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible as _, PathBeneath,
    PathFd, PathFdError, Ruleset, RulesetAttr as _, RulesetCreated, RulesetCreatedAttr as _,
    RulesetError, Scope,
};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use crate::sandbox_policy::root_entries::FolderEntries;
use crate::sandbox_policy::sorted_paths::SortedPaths;
use crate::sandbox_policy::{NetworkAccess, SandboxPolicy};

/// The newest ABI that we use; the crate uses what Linux supports of it.
const NEWEST_ABI: ABI = ABI::V9;

/// What enforces protected paths inside writable folders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::confine) enum PathEnforcement {
    /// Read-only mounts.
    Mounts,
    /// These rules, by not granting them.
    Rules,
}

/// What the rules depend on besides the policy.
#[derive(Clone, Copy, Debug)]
pub(in crate::confine) struct RulesetOptions {
    pub(in crate::confine) protection: PathEnforcement,
    /// What they allow: in an isolated network everything, so that a build can connect to
    /// itself.
    pub(in crate::confine) network: NetworkAccess,
    /// Whether it binds ports through the broker only, which these rules do not restrict.
    pub(in crate::confine) brokered_bind: bool,
    /// Whether the run has a `/dev/pts` of its own.
    pub(in crate::confine) own_terminals: bool,
}

/// The rights on a run's own `/dev/pts`, as far as this version of Landlock knows them.
pub(in crate::confine) fn terminal_rights(abi: u32) -> u64 {
    let known = [
        (1, AccessFs::ReadFile),
        (1, AccessFs::WriteFile),
        (1, AccessFs::ReadDir),
        (3, AccessFs::Truncate),
        (5, AccessFs::IoctlDev),
    ];
    let rights = known.into_iter().filter(|(since, _)| abi >= *since);
    rights.fold(0, |all, (_, right)| all | BitFlags::from(right).bits())
}

/// The rights on a folder that a run can write, as far as this version of Landlock knows
/// them; with the rights to read.
pub(in crate::confine) fn write_rights(abi: u32) -> u64 {
    let known = match abi {
        0 | 1 => ABI::V1,
        2 => ABI::V2,
        _ => ABI::V3,
    };
    (AccessFs::from_all(known) & !(AccessFs::MakeChar | AccessFs::MakeBlock)).bits()
}

/// A ruleset that a child can restrict itself with.
#[derive(Debug)]
pub(in crate::confine) struct LandlockRuleset {
    pub(in crate::confine) fd: OwnedFd,
    watched: Vec<ExpandedDirectory>,
}

/// A folder whose entries were listed, open, with its change time. Replacing the
/// folder changes its parent, which is watched too or is the project, whose identity
/// is checked.
#[derive(Debug)]
struct ExpandedDirectory {
    folder: OwnedFd,
    changed: ChangeTime,
}

/// The change time of a folder: seconds and nanoseconds.
type ChangeTime = (i64, u64);

impl LandlockRuleset {
    /// Builds the rules.
    pub(in crate::confine) fn build(
        policy: &SandboxPolicy,
        options: RulesetOptions,
    ) -> io::Result<Self> {
        let created = Some(create_ruleset(policy, options)?);
        let mut builder = RulesetBuilder { created, watched: Vec::new() };
        builder.grant_policy(policy, options)?;
        let fd: Option<OwnedFd> = builder.created.take().and_then(Into::into);
        let fd = fd.ok_or_else(|| io::Error::from(io::ErrorKind::Unsupported))?;
        Ok(Self { fd, watched: builder.watched })
    }

    /// Whether the entries of a listed folder have changed.
    pub(in crate::confine) fn is_stale(&self) -> bool {
        self.watched.iter().any(|watched| read_change_time(&watched.folder) != Ok(watched.changed))
    }
}

fn read_change_time(folder: &OwnedFd) -> Result<ChangeTime, Errno> {
    rustix::fs::fstat(folder).map(|now| (now.st_ctime, now.st_ctime_nsec))
}

fn create_ruleset(policy: &SandboxPolicy, options: RulesetOptions) -> io::Result<RulesetCreated> {
    let RulesetOptions { protection, network, brokered_bind, .. } = options;
    let mut ruleset = Ruleset::default().set_compatibility(CompatLevel::BestEffort);
    let files = match protection {
        PathEnforcement::Mounts if !policy.is_confined() => AccessFs::MakeBlock.into(),
        PathEnforcement::Mounts | PathEnforcement::Rules => AccessFs::from_all(NEWEST_ABI),
    };
    ruleset = ruleset.handle_access(files).map_err(to_io_error)?;
    if network != NetworkAccess::Full {
        ruleset = ruleset.handle_access(AccessNet::ConnectTcp).map_err(to_io_error)?;
    }
    if network == NetworkAccess::None || brokered_bind {
        ruleset = ruleset.handle_access(AccessNet::BindTcp).map_err(to_io_error)?;
    }
    if policy.is_confined() {
        ruleset = ruleset.scope(Scope::from_all(NEWEST_ABI)).map_err(to_io_error)?;
    }
    ruleset.create().map_err(to_io_error)
}

fn to_io_error(error: RulesetError) -> io::Error {
    io::Error::other(error)
}

struct RulesetBuilder {
    created: Option<RulesetCreated>,
    watched: Vec<ExpandedDirectory>,
}

type FileAccessRights = BitFlags<AccessFs>;

impl RulesetBuilder {
    fn grant_policy(&mut self, policy: &SandboxPolicy, options: RulesetOptions) -> io::Result<()> {
        let protection = options.protection;
        let read = AccessFs::from_read(NEWEST_ABI);
        let mut all = AccessFs::from_all(NEWEST_ABI);
        if !policy.is_confined() {
            return match protection {
                // The mounts hide what is hidden. The domain itself is needed: its members can
                // neither trace us nor mount.
                PathEnforcement::Mounts => {
                    self.add_rule(Path::new("/"), AccessFs::MakeBlock.into())
                }
                PathEnforcement::Rules => {
                    let hidden = SortedPaths::new(policy.hidden.iter().cloned());
                    self.grant_except(Path::new("/"), all, &hidden)
                }
            };
        }
        // A path that appears there later is granted when the rules are rebuilt.
        self.watch(Path::new("/etc"))?;
        self.watch(&policy.home)?;
        let entries = FolderEntries::read(&[&policy.home]);
        let hidden = SortedPaths::new(policy.hidden.iter().cloned());
        for path in policy.readable.iter().filter(|path| entries.may_exist(path)) {
            // A hidden parent does not hide this path: it was granted explicitly.
            self.grant_except(path, read, &hidden)?;
        }
        // Creating device files needs root, and ioctls on devices are rarely needed.
        all &= !(AccessFs::MakeChar | AccessFs::MakeBlock | AccessFs::IoctlDev);
        let protected = match protection {
            PathEnforcement::Mounts => &[],
            PathEnforcement::Rules => policy.protected.as_slice(),
        };
        let kept = SortedPaths::new(policy.hidden.iter().chain(protected).cloned());
        for path in policy.writable.iter().filter(|path| !kept.contains(path)) {
            self.grant_except(path, all | read, &kept)?;
        }
        if !hidden.contains(&policy.project) {
            self.grant_except(&policy.project, read, &hidden)?;
        }
        self.add_rule(&policy.scratch, all | read)?;
        self.add_rule(&policy.own_home, all | read)?;
        // Mounted elsewhere, where the rule above does not apply.
        self.add_rule(&policy.scratch.join("shm"), all | read)?;
        self.grant_devices(options.own_terminals)
    }

    /// Grants a path and everything below it except some, by rules on the siblings.
    fn grant_except(
        &mut self,
        path: &Path,
        rights: FileAccessRights,
        except: &SortedPaths,
    ) -> io::Result<()> {
        if except.below(path).next().is_none() {
            return self.add_rule(path, rights);
        }
        // Before the entries are read, so that one that is added meanwhile is noticed.
        self.watch(path)?;
        let Ok(entries) = fs::read_dir(path) else { return Ok(()) };
        for entry in entries.filter_map(Result::ok) {
            // A link is checked at its target when it is followed, never here.
            let path = entry.path();
            if entry.file_type().is_ok_and(|kind| !kind.is_symlink()) && !except.contains(&path) {
                self.grant_except(&path, rights, except)?;
            }
        }
        Ok(())
    }

    /// Notices changes of a folder's entries; of a missing one, none.
    fn watch(&mut self, path: &Path) -> io::Result<()> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        if let Ok(folder) = rustix::fs::open(path, flags, Mode::empty()) {
            let changed = read_change_time(&folder)?;
            self.watched.push(ExpandedDirectory { folder, changed });
        }
        Ok(())
    }

    /// Devices that every program may use; the rest of `/dev` is hidden.
    fn grant_devices(&mut self, own_terminals: bool) -> io::Result<()> {
        let rights = AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::IoctlDev;
        for name in ["null", "zero", "full", "random", "urandom", "tty"] {
            self.add_rule(&Path::new("/dev").join(name), rights | AccessFs::Truncate)?;
        }
        // It opens terminals in the `/dev/pts` of its own, for which the run adds a rule.
        // The machine's `/dev/pts` holds the terminals of others and is never granted.
        let ptmx = &Path::new("/dev").join("ptmx");
        let is_device = fs::symlink_metadata(ptmx).is_ok_and(|found| !found.is_symlink());
        if own_terminals && is_device { self.add_rule(ptmx, rights) } else { Ok(()) }
    }

    /// Adds one rule; none for a path that does not exist or that we cannot open.
    fn add_rule(&mut self, path: &Path, rights: FileAccessRights) -> io::Result<()> {
        let fd = match PathFd::new(path) {
            Ok(fd) => fd,
            Err(PathFdError::OpenCall { source, .. }) if is_missing_path(&source) => return Ok(()),
            Err(error) => return Err(io::Error::other(error)),
        };
        // Of a file, only what files have is granted: the crate sees to that.
        let Some(created) = self.created.take() else { return Ok(()) };
        self.created = Some(created.add_rule(PathBeneath::new(fd, rights)).map_err(to_io_error)?);
        Ok(())
    }
}

fn is_missing_path(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied | io::ErrorKind::NotADirectory
    ) || error.raw_os_error() == Some(libc::ELOOP)
}
