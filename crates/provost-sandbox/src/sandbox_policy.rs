//! What a child may access, as plain data.
//!
//! A [`SandboxPolicy`] lists, for one profile in one project, what can be read, written
//! and connected to. `confine` enforces it; nothing is decided here, and
//! `provost sandbox --explain` prints exactly what is enforced.
//!
//! # Readable by name
//!
//! Reading is an allow list ([`readable_paths`]): the project, the system's programs,
//! the toolchains and caches that are found, and what a person added. A run has a home
//! of its own per project, [`SandboxPolicy::own_home`]: with a mount namespace it is
//! mounted over the user's home, and what is readable of that is mounted into it,
//! read-only; without one, `HOME` names it. The user's caches are the lower layers of
//! overlays whose upper layers are the run's: nothing that a run writes is read by a
//! program outside the sandbox.
//!
//! # Hidden inside readable, protected inside writable
//!
//! Landlock only allows: a rule on a folder holds for everything below it, and no
//! second rule can take a part back. "Everything except `~/.ssh`" therefore becomes a
//! rule for every sibling along the path: all of `/` but `/home`, all of `/home/u` but
//! `.ssh`. So a folder on such a path can be traversed but not listed, and what is
//! created in it later is not accessible until the rules are rebuilt, which happens
//! when the folder changes.
//!
//! Protected paths inside the writable project (`.git/hooks`, `.provost` …) would
//! cost more in this way: without a rule on the project itself, nothing new can be
//! created at its top level, not even `target` or `node_modules`. So:
//!
//! - with a mount namespace, the project is one writable rule, each protected path is
//!   mounted read-only onto itself, and the folders between it and the project are
//!   mounted onto themselves, so that they cannot be renamed and replaced. A protected
//!   path that does not exist cannot be mounted: a command can create it, and
//!   [`MissingProtectedPaths::find_created`] reports it afterwards. Repositories inside
//!   the project are treated the same, as far as they are found (see
//!   [`NestedRepositories`]).
//! - without one, the siblings get the rules. Then a command can change everything that
//!   exists, and create files everywhere but at the project's top level (and in the
//!   other folders on the path to a protected path, such as `.git`). List the folders
//!   that a build creates in [`SandboxPolicy::outputs`]; they are created before it starts.
//!
//! The user's own shell must not have these restrictions: with a mount namespace,
//! Provost's data is an empty folder there and all else is unchanged; without one, the
//! siblings get the rules. Either way `no_new_privs` is set, so `sudo` does not work in
//! it, and root keeps its capabilities, with which it can read a disk. It is a shell
//! for a person, not a sandbox against one.
//!
//! Failing safely was preferred: a build that cannot create `dist` reports that, a
//! planted hook does not.

mod explain;
mod nested_repositories;
mod path_lists;
mod readable_paths;
pub(crate) mod root_entries;
pub(crate) mod sorted_paths;

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

pub use nested_repositories::NestedRepositories;
pub use path_lists::list_home_secrets;
use provost_core::action::protected_paths::{GIT_SETTINGS, REPOSITORY};
pub use readable_paths::{find_private_files, find_toolchains};
use root_entries::{FolderEntries, RootEntries};
use rustix::fs::{AtFlags, Mode, OFlags};
use serde::{Deserialize, Serialize};

use crate::own_home;

/// How much a child may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum SandboxProfile {
    /// The project can be read; no network.
    Read,
    /// The project and the tools' caches can be written; no network unless granted.
    Build,
    /// As build, and it may listen on TCP ports that the machine can reach.
    Serve,
    /// The user's own shell: the user's rights, but Provost's own data is not accessible.
    Terminal,
}

/// Access to the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum NetworkAccess {
    /// Nothing outside the sandbox. In a network namespace it has a loopback of its own.
    None,
    /// TCP ports to listen on, and connections only to these; see `confine::connect_broker`.
    Listen,
    /// All that the user has.
    Full,
}

/// The paths a policy is built from. Given by the caller; no environment is read.
#[derive(Clone, Copy, Debug)]
pub struct SandboxPaths<'a> {
    /// The project's root.
    pub project: &'a Path,
    /// The user's home directory.
    pub home: &'a Path,
    /// Provost's own data: token, log, sockets. Never accessible.
    pub data: &'a Path,
    /// An existing private folder for temporary files; mounted over `/tmp` where possible.
    pub scratch: &'a Path,
    /// The folder with the home of the project's runs and their layers of the caches;
    /// created if it is missing. It lasts as long as the project.
    pub run_homes: &'a Path,
    /// What can be read besides: toolchains that variables name, and what a person
    /// added.
    pub readable: &'a [PathBuf],
    /// Files that no run may read or write, wherever they lie.
    pub private: &'a [PathBuf],
}

/// What one profile may access in one project.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SandboxPolicy {
    /// The profile.
    pub profile: SandboxProfile,
    /// The project's root.
    pub project: PathBuf,
    /// The private folder for temporary files, always writable.
    pub scratch: PathBuf,
    /// Writable paths, apart from the scratch folder.
    pub writable: Vec<PathBuf>,
    /// Readable paths, apart from the project and the scratch folder. Nothing else can
    /// be read.
    pub readable: Vec<PathBuf>,
    /// Paths inside readable and writable ones that can be neither read nor written.
    pub hidden: Vec<PathBuf>,
    /// Paths that cannot be written inside writable ones: at the top level of the project,
    /// and of the repositories inside it.
    pub protected: Vec<PathBuf>,
    /// The repositories inside the project, as of the last scan.
    pub nested: NestedRepositories,
    /// Folders of the project that are created before a run, where a run cannot create
    /// names at the top level (see the module's documentation).
    pub outputs: Vec<PathBuf>,
    /// Access to the network.
    pub network: NetworkAccess,
    /// The user's home directory.
    pub home: PathBuf,
    /// The folder of the homes of the project's runs, and of their layers of the caches.
    #[serde(skip)]
    pub run_homes: PathBuf,
    /// The home directory of runs, always writable.
    pub own_home: PathBuf,
    /// Caches in the user's home that are readable, and to which a run can add in a layer
    /// of its own.
    pub caches: Vec<PathBuf>,
    /// Whether the run's own folders are in memory: see [`Self::in_memory`].
    #[serde(skip)]
    pub is_in_memory: bool,
}

/// Where a file system in memory is mounted in the namespace of a run, until the run's own
/// `/dev/shm` covers it. The folder is there on every system.
pub(crate) const MEMORY_MOUNT_POINT: &str = "/dev/shm";

impl SandboxPolicy {
    /// The policy of a profile, with its default network access.
    pub fn new(profile: SandboxProfile, paths: &SandboxPaths<'_>) -> Self {
        // Rules are built on real folders, so links are resolved first; otherwise a home
        // behind a link would be readable under its other path.
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let (project, home) = (&*real(paths.project), &*real(paths.home));
        let (data, scratch) = (&*real(paths.data), &*real(paths.scratch));
        let mut hidden = match profile {
            SandboxProfile::Read | SandboxProfile::Build | SandboxProfile::Serve => {
                let mut all = path_lists::list_hidden_paths(home, data);
                all.extend_from_slice(paths.private);
                all
            }
            SandboxProfile::Terminal => vec![data.to_owned()],
        };
        let entries = FolderEntries::read(&[home]);
        let there = hidden.iter().filter(|path| entries.may_exist(path));
        let behind_links: Vec<PathBuf> = there.map(|path| real(path)).collect();
        hidden.extend(behind_links);
        hidden.sort_by_cached_key(|path| sorted_paths::build_sort_key(path));
        hidden.dedup();
        let writable = match profile {
            SandboxProfile::Read => Vec::new(),
            SandboxProfile::Build | SandboxProfile::Serve => vec![project.to_owned()],
            SandboxProfile::Terminal => vec![PathBuf::from("/")],
        };
        let nested = match profile {
            SandboxProfile::Build | SandboxProfile::Serve => {
                NestedRepositories::scan_project(project)
            }
            SandboxProfile::Read | SandboxProfile::Terminal => {
                NestedRepositories { complete: true, ..NestedRepositories::default() }
            }
        };
        let network = match profile {
            SandboxProfile::Read | SandboxProfile::Build => NetworkAccess::None,
            SandboxProfile::Serve => NetworkAccess::Listen,
            SandboxProfile::Terminal => NetworkAccess::Full,
        };
        Self {
            profile,
            project: project.to_owned(),
            scratch: scratch.to_owned(),
            writable,
            readable: list_readable_paths(profile, project, home, paths.readable),
            hidden,
            protected: list_protected_paths(profile, project, &nested),
            nested,
            outputs: Vec::new(),
            network,
            home: home.to_owned(),
            run_homes: paths.run_homes.to_owned(),
            own_home: paths.run_homes.join("home"),
            caches: match profile {
                SandboxProfile::Terminal => Vec::new(),
                SandboxProfile::Read | SandboxProfile::Build | SandboxProfile::Serve => {
                    readable_paths::list_home_caches(home)
                }
            },
            is_in_memory: false,
        }
    }

    /// The same for one run whose home and temporary files are in memory and end with it:
    /// nothing is created on the disk, and nothing remains. `None` where that is not possible:
    /// the connections of a run with ports are made from outside, which cannot see its sockets.
    /// A run that cannot have a mount namespace, a private `/tmp` and a home of its own does
    /// not start with it.
    pub fn in_memory(&self) -> Option<Self> {
        let point = Path::new(MEMORY_MOUNT_POINT);
        let is_covered = [&self.project, &self.home].iter().any(|path| path.starts_with(point));
        let is_isolated = self.is_confined() && self.network == NetworkAccess::None;
        if !is_isolated || is_covered || !point.is_dir() {
            return None;
        }
        let run_homes = point.join("homes");
        let own_home = run_homes.join("home");
        let scratch = point.join("tmp");
        Some(Self { scratch, run_homes, own_home, is_in_memory: true, ..self.clone() })
    }

    /// The same with the repositories that are inside the project now; `None` if they
    /// are unchanged.
    pub(crate) fn rescan_repositories(&self) -> Option<Self> {
        if self.protected.is_empty() {
            return None;
        }
        let nested = NestedRepositories::scan_project(&self.project);
        let protected = list_protected_paths(self.profile, &self.project, &nested);
        (nested != self.nested).then(|| Self { protected, nested, ..self.clone() })
    }

    /// The same with full network access, for a run that was granted it. Runs that have it at
    /// the same time need different numbers.
    #[must_use]
    pub fn with_full_network(mut self, number: usize) -> Self {
        self.network = NetworkAccess::Full;
        // What other runs write in their home, such as `.curlrc`, must not decide what a run
        // with the network does.
        self.own_home = self.run_homes.join("home-network").join(number.to_string());
        // The targets of `/etc/resolv.conf` on most systems.
        let resolvers = ["/run/systemd/resolve", "/run/NetworkManager", "/run/resolvconf"];
        self.readable.extend(resolvers.iter().map(PathBuf::from).filter(|path| path.exists()));
        self
    }

    /// Removes all but the caches from the home of a run, before a sandbox is made of the
    /// policy: what an earlier run with the network left there, such as a `.gitconfig`, was
    /// allowed for that run only.
    pub fn clear_own_home(&self) -> io::Result<()> {
        own_home::clear_home(&self.own_home, readable_paths::HOME_CACHES)
    }

    /// The protected paths that do not exist now, and which a command may be able to
    /// create. Call it before a run, and [`MissingProtectedPaths::find_created`] after.
    pub fn find_missing_paths(&self) -> MissingProtectedPaths {
        // A new repository, or a file that points to one, brings hooks.
        let repository = self.project.join(REPOSITORY);
        let repository = (!self.protected.is_empty()).then_some(&repository);
        let all = self.protected.iter().chain(repository);
        let there = ProjectPathLookup::open(&self.project);
        let paths = all.filter(|path| !there.exists(path)).cloned().collect();
        MissingProtectedPaths { project: self.project.clone(), paths }
    }

    /// Whether the policy names this path, or a folder above it, as readable. Paths of the
    /// run's own folders are.
    pub fn can_read(&self, path: &Path) -> bool {
        let own = ["/tmp", "/var/tmp", "/dev", "/proc", "/run/user"].map(Path::new);
        // A home may be below one of these, and is not the run's own there.
        let own = own.into_iter().filter(|_| !path.starts_with(&self.home));
        let own = own.chain([&*self.project, &*self.scratch, &*self.own_home]);
        own.chain(self.readable.iter().map(PathBuf::as_path)).any(|r| path.starts_with(r))
            && !self.hidden.iter().any(|hidden| {
                path.starts_with(hidden) && self.readable.iter().any(|r| hidden.starts_with(r))
            })
    }

    /// The settings of the project's repositories, which commands cannot write.
    pub fn protected_git_settings(&self) -> impl Iterator<Item = PathBuf> + '_ {
        let top = (!self.protected.is_empty()).then(|| self.project.join(REPOSITORY));
        let repositories = top.into_iter().chain(self.nested.repositories.iter().cloned());
        repositories.map(|git| git.join(GIT_SETTINGS))
    }

    /// Whether the profile is confined, rather than the user's own shell.
    pub fn is_confined(&self) -> bool {
        self.profile != SandboxProfile::Terminal
    }
}

/// Protected paths that did not exist before a run.
#[derive(Clone, Debug)]
pub struct MissingProtectedPaths {
    project: PathBuf,
    paths: Vec<PathBuf>,
}

impl MissingProtectedPaths {
    /// Those that exist now.
    pub fn find_created(&self) -> Vec<PathBuf> {
        let there = ProjectPathLookup::open(&self.project);
        self.paths.iter().filter(|path| there.exists(path)).cloned().collect()
    }
}

/// A folder for many lookups, opened and read once: most of the paths are missing.
struct ProjectPathLookup<'a> {
    project: &'a Path,
    opened: Option<(OwnedFd, RootEntries)>,
}

impl<'a> ProjectPathLookup<'a> {
    fn open(project: &'a Path) -> Self {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let opened = rustix::fs::open(project, flags, Mode::empty()).ok();
        let opened = opened.map(|folder| {
            let entries = RootEntries::read(&folder);
            (folder, entries)
        });
        Self { project, opened }
    }

    fn exists(&self, path: &Path) -> bool {
        match (&self.opened, root_entries::strip_folder(path, self.project)) {
            (Some((folder, entries)), Some(inside)) => {
                entries.may_contain(inside)
                    && rustix::fs::statat(folder, inside, AtFlags::SYMLINK_NOFOLLOW).is_ok()
            }
            (None, _) | (_, None) => path.symlink_metadata().is_ok(),
        }
    }
}

/// The paths that a profile can read besides the project and its own folders.
fn list_readable_paths(
    profile: SandboxProfile,
    project: &Path,
    home: &Path,
    given: &[PathBuf],
) -> Vec<PathBuf> {
    if profile == SandboxProfile::Terminal {
        return Vec::new();
    }
    let mut all = readable_paths::list_system_paths();
    all.extend(readable_paths::list_home_toolchains(home));
    all.extend(readable_paths::list_home_caches(home));
    all.extend(readable_paths::find_worktree_repository(project));
    // A path inside the project is readable already, and may be a link that a command made.
    let is_usable = |path: &&PathBuf| !path.starts_with(project) && !home.starts_with(path);
    // In its shortest form, like the others.
    all.extend(given.iter().filter(is_usable).map(|path| path.components().collect::<PathBuf>()));
    all.sort_by_cached_key(|path| sorted_paths::build_sort_key(path));
    all.dedup();
    all
}

fn list_protected_paths(
    profile: SandboxProfile,
    project: &Path,
    nested: &NestedRepositories,
) -> Vec<PathBuf> {
    match profile {
        SandboxProfile::Build | SandboxProfile::Serve => {
            path_lists::list_project_protected_paths(project)
                .into_iter()
                .chain(nested.protected_paths())
                .collect()
        }
        SandboxProfile::Read | SandboxProfile::Terminal => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(profile: SandboxProfile) -> SandboxPolicy {
        SandboxPolicy::new(
            profile,
            &SandboxPaths {
                project: Path::new("/home/u/p"),
                home: Path::new("/home/u"),
                data: Path::new("/home/u/.local/share/provost"),
                scratch: Path::new("/home/u/.scratch"),
                run_homes: Path::new("/home/u/.local/share/provost/homes/1"),
                readable: &[PathBuf::from("/home/u/tools")],
                private: &[PathBuf::from("/home/u/tools/etc/config.toml")],
            },
        )
    }

    #[test]
    fn credentials_are_hidden_from_all_but_the_persons_shell() {
        for profile in [SandboxProfile::Read, SandboxProfile::Build, SandboxProfile::Serve] {
            let hidden = policy(profile).hidden;
            for path in ["/home/u/.ssh", "/home/u/.cargo/credentials.toml", "/etc/shadow"] {
                assert!(hidden.contains(&PathBuf::from(path)), "{path} in {profile:?}");
            }
        }
        let data = PathBuf::from("/home/u/.local/share/provost");
        assert_eq!(policy(SandboxProfile::Terminal).hidden, std::slice::from_ref(&data));
        assert!(policy(SandboxProfile::Read).hidden.contains(&data));
    }

    #[test]
    fn only_what_writes_needs_protected_paths() {
        assert!(policy(SandboxProfile::Read).writable.is_empty());
        let hooks = PathBuf::from("/home/u/p/.git/hooks");
        for profile in [SandboxProfile::Build, SandboxProfile::Serve] {
            assert!(policy(profile).protected.contains(&hooks));
        }
    }

    #[test]
    fn the_explanation_names_what_matters() {
        let text = policy(SandboxProfile::Build).explain();
        for part in ["build", "/home/u/p", "homes/1/home", "/usr", ".git/hooks", "no network"] {
            assert!(text.contains(part), "{part} is missing in:\n{text}");
        }
    }
}
