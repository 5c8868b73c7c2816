//! The Landlock rules of a policy, built once and used for many children.
//!
//! "Everything except" is spelled out as rules over siblings (see
//! [`crate::profile`]). The folders that were spelled out are remembered with the
//! time of their last change, so that the rules can be built again when a name
//! was added or removed there.

use std::fs::{self, Metadata};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible as _, PathBeneath,
    PathFd, PathFdError, Ruleset, RulesetAttr as _, RulesetCreated, RulesetCreatedAttr as _,
    RulesetError, Scope,
};

use crate::profile::{Network, Policy};

/// The newest interface we know; the crate takes what the kernel has of it.
const NEWEST: ABI = ABI::V9;

/// Who guards the protected paths inside what is writable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Protection {
    /// Read-only mounts, made elsewhere.
    Mounts,
    /// These rules, by leaving them out.
    Rules,
}

/// Rules that a child can put on itself.
#[derive(Debug)]
pub(super) struct Rules {
    pub(super) fd: OwnedFd,
    watched: Vec<(PathBuf, Option<Stamp>)>,
}

type Stamp = (u64, u64, i64, i64);

impl Rules {
    /// Builds the rules.
    pub(super) fn build(policy: &Policy, protection: Protection) -> io::Result<Self> {
        let mut builder = Builder { created: Some(handled(policy)?), watched: Vec::new() };
        builder.grant(policy, protection)?;
        let fd: Option<OwnedFd> = builder.created.take().and_then(Into::into);
        let fd = fd.ok_or_else(|| io::Error::from(io::ErrorKind::Unsupported))?;
        Ok(Self { fd, watched: builder.watched })
    }

    /// Whether a folder that was spelled out has other names now.
    pub(super) fn is_stale(&self) -> bool {
        self.watched.iter().any(|(path, seen)| stamp(path) != *seen)
    }
}

fn stamp(path: &Path) -> Option<Stamp> {
    fs::metadata(path).ok().map(|now| (now.dev(), now.ino(), now.ctime(), now.ctime_nsec()))
}

fn handled(policy: &Policy) -> io::Result<RulesetCreated> {
    let mut ruleset = Ruleset::default().set_compatibility(CompatLevel::BestEffort);
    ruleset = ruleset.handle_access(AccessFs::from_all(NEWEST)).map_err(refused)?;
    if policy.network != Network::Full {
        ruleset = ruleset.handle_access(AccessNet::ConnectTcp).map_err(refused)?;
    }
    if policy.network == Network::None {
        ruleset = ruleset.handle_access(AccessNet::BindTcp).map_err(refused)?;
    }
    if policy.is_confined() {
        ruleset = ruleset.scope(Scope::from_all(NEWEST)).map_err(refused)?;
    }
    ruleset.create().map_err(refused)
}

fn refused(error: RulesetError) -> io::Error {
    io::Error::other(error)
}

struct Builder {
    created: Option<RulesetCreated>,
    watched: Vec<(PathBuf, Option<Stamp>)>,
}

type Rights = BitFlags<AccessFs>;

impl Builder {
    fn grant(&mut self, policy: &Policy, protection: Protection) -> io::Result<()> {
        let read = AccessFs::from_read(NEWEST);
        let mut all = AccessFs::from_all(NEWEST);
        if !policy.is_confined() {
            return self.spread(Path::new("/"), all, &policy.hidden);
        }
        self.spread(Path::new("/"), read, &policy.hidden)?;
        for path in &policy.readable {
            self.rule(path, read)?;
        }
        // Device files are made by root alone and asked special things by few.
        all &= !(AccessFs::MakeChar | AccessFs::MakeBlock | AccessFs::IoctlDev);
        let mut kept: Vec<PathBuf> = policy.hidden.clone();
        if protection == Protection::Rules {
            kept.extend(policy.protected.iter().cloned());
        }
        for path in &policy.writable {
            // What contains this path does not hide it: it was named.
            let inside: Vec<PathBuf> =
                kept.iter().filter(|other| other.starts_with(path)).cloned().collect();
            self.spread(path, all | read, &inside)?;
        }
        self.project(policy, read)?;
        self.rule(&policy.scratch, all | read)?;
        self.devices()
    }

    /// The project can be read and listed whole, but for what is hidden in it.
    fn project(&mut self, policy: &Policy, read: Rights) -> io::Result<()> {
        let is_inside = |path: &&PathBuf| path.starts_with(&policy.project);
        let inside: Vec<PathBuf> = policy.hidden.iter().filter(is_inside).cloned().collect();
        self.spread(&policy.project, read, &inside)
    }

    /// Grants everything beneath a path except some, by rules over the siblings.
    fn spread(&mut self, path: &Path, rights: Rights, except: &[PathBuf]) -> io::Result<()> {
        if except.iter().any(|other| path.starts_with(other)) {
            return Ok(());
        }
        if !except.iter().any(|other| other.starts_with(path)) {
            return self.rule(path, rights);
        }
        self.watched.push((path.to_owned(), stamp(path)));
        let Ok(entries) = fs::read_dir(path) else { return Ok(()) };
        for entry in entries.filter_map(Result::ok) {
            // A link is judged by where it leads when it is followed, never here.
            if entry.file_type().is_ok_and(|kind| !kind.is_symlink()) {
                self.spread(&entry.path(), rights, except)?;
            }
        }
        Ok(())
    }

    /// What every program writes to without harm.
    fn devices(&mut self) -> io::Result<()> {
        let rights = AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::IoctlDev;
        for name in ["null", "zero", "full", "random", "urandom", "tty", "ptmx"] {
            self.rule(&Path::new("/dev").join(name), rights | AccessFs::Truncate)?;
        }
        self.rule(Path::new("/dev/pts"), rights | AccessFs::ReadDir)
    }

    /// One rule; nothing for what is not there or cannot be opened by us either.
    fn rule(&mut self, path: &Path, rights: Rights) -> io::Result<()> {
        let fd = match PathFd::new(path) {
            Ok(fd) => fd,
            Err(PathFdError::OpenCall { source, .. }) if is_absence(&source) => return Ok(()),
            Err(error) => return Err(io::Error::other(error)),
        };
        let is_folder = fs::metadata(path).is_ok_and(|found: Metadata| found.is_dir());
        let rights = if is_folder { rights } else { rights & AccessFs::from_file(NEWEST) };
        let Some(created) = self.created.take() else { return Ok(()) };
        self.created = Some(created.add_rule(PathBeneath::new(fd, rights)).map_err(refused)?);
        Ok(())
    }
}

fn is_absence(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied | io::ErrorKind::NotADirectory
    ) || error.raw_os_error() == Some(libc::ELOOP)
}
