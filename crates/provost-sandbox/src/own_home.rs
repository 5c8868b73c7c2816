//! The home directory of a project's runs.
//!
//! Where it cannot be mounted over the user's home, `HOME` names it, variables name the
//! toolchains of the user's home, and links in it lead to the packages of the user's
//! cargo cache.

use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use crate::root_dir::RootDir;
use crate::sandbox_policy::SandboxPolicy;

/// Settings of git that a run gets from the user's: those that name nobody's keys,
/// programs or servers.
const GIT_SETTINGS: &[(&str, &str)] = &[
    ("user", "name"),
    ("user", "email"),
    ("init", "defaultbranch"),
    ("core", "autocrlf"),
    ("core", "eol"),
    ("pull", "rebase"),
    ("push", "default"),
    ("merge", "conflictstyle"),
];

/// Variables that name a toolchain, with its usual folder in a home directory.
const TOOLCHAIN_FOLDERS: &[(&str, &str)] = &[
    ("RUSTUP_HOME", ".rustup"),
    ("PYENV_ROOT", ".pyenv"),
    ("NVM_DIR", ".nvm"),
    ("VOLTA_HOME", ".volta"),
    ("ASDF_DATA_DIR", ".asdf"),
    ("MISE_DATA_DIR", ".local/share/mise"),
    ("RBENV_ROOT", ".rbenv"),
    ("SDKMAN_DIR", ".sdkman"),
    ("ELAN_HOME", ".elan"),
    ("OPAMROOT", ".opam"),
    ("DOTNET_ROOT", ".dotnet"),
];

/// Variables that name folders for what programs write. The default of each is in `HOME`.
const WRITTEN_FOLDERS: &[&str] =
    &["CARGO_HOME", "GOPATH", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"];

/// Folders of cargo with the number of levels above the links.
const CARGO_FOLDERS: &[(&str, u32)] = &[
    (".cargo/registry/index", 1),
    (".cargo/registry/cache", 2),
    (".cargo/registry/src", 2),
    (".cargo/git/db", 1),
    (".cargo/git/checkouts", 2),
];

/// Links that are made at most.
const MAX_LINKS: usize = 20_000;

/// The settings of git for a new home: the user's name, and little else.
pub(crate) fn read_git_settings(policy: &SandboxPolicy) -> String {
    let settings = [".gitconfig", ".config/git/config"].map(|file| policy.home.join(file));
    let settings = settings.map(|file| fs::read_to_string(file).unwrap_or_default());
    select_git_settings(&settings.concat())
}

/// Fills a new home: with the user's name for git, and, if the user's home is not below
/// it, with links to the packages of cargo. What a command put there is not replaced.
pub(crate) fn populate_home(policy: &SandboxPolicy, is_mounted: bool) {
    // A home without these is usable; nothing here is worth to fail for.
    let Ok(root) = RootDir::open(&policy.own_home) else { return };
    let text = read_git_settings(policy);
    if !text.is_empty() && root.stat(Path::new(".gitconfig")).is_err() {
        drop(root.create_unsynced(Path::new(".gitconfig"), text.as_bytes()));
    }
    if !is_mounted {
        let mut left = MAX_LINKS;
        for (folder, depth) in CARGO_FOLDERS {
            link_entries(&root, &policy.home, Path::new(folder), *depth, &mut left);
        }
    }
}

/// Removes everything in a home but these paths and the folders above them. A link is
/// removed, not followed.
pub(crate) fn clear_home(home: &Path, kept: &[&str]) -> io::Result<()> {
    let kept: Vec<&Path> = kept.iter().map(Path::new).collect();
    match clear_folder(home, Path::new(""), &kept) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        cleared => cleared,
    }
}

fn clear_folder(home: &Path, inside: &Path, kept: &[&Path]) -> io::Result<()> {
    for entry in fs::read_dir(home.join(inside))? {
        let entry = entry?;
        let inside = inside.join(entry.file_name());
        let is_folder = entry.file_type()?.is_dir();
        if is_folder && kept.contains(&&*inside) {
            continue;
        }
        if is_folder && kept.iter().any(|path| path.starts_with(&inside)) {
            clear_folder(home, &inside, kept)?;
        } else if is_folder {
            remove_folder(&entry.path())?;
        } else {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// Removes a folder, also one in which a run has taken its own rights away.
fn remove_folder(path: &Path) -> io::Result<()> {
    fs::remove_dir_all(path).or_else(|_| {
        make_removable(path)?;
        fs::remove_dir_all(path)
    })
}

fn make_removable(folder: &Path) -> io::Result<()> {
    fs::set_permissions(folder, fs::Permissions::from_mode(0o700))?;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            make_removable(&entry.path())?;
        }
    }
    Ok(())
}

/// Links to the entries of a folder, at the same path in the run's home. The links are
/// made below an open folder, so that no link of a command leads elsewhere.
fn link_entries(root: &RootDir, home: &Path, folder: &Path, depth: u32, left: &mut usize) {
    let Ok(entries) = fs::read_dir(home.join(folder)) else { return };
    if root.create_dir_all(folder).is_err() {
        return;
    }
    let Ok(own) = root.open_subdir(folder) else { return };
    for entry in entries.filter_map(Result::ok) {
        if depth > 1 && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            link_entries(root, home, &folder.join(entry.file_name()), depth - 1, left);
        } else if *left > 0 {
            *left -= 1;
            // It exists if it was made before, or a command made its own.
            let _ = rustix::fs::symlinkat(entry.path(), own.as_fd(), entry.file_name());
        }
    }
}

/// The chosen settings of a git configuration, as one.
fn select_git_settings(text: &str) -> String {
    let (mut selected, mut section) = (String::new(), String::new());
    for line in text.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix('[') {
            section = name.trim_end_matches(']').trim().to_ascii_lowercase();
            continue;
        }
        let Some((name, value)) = line.split_once('=') else { continue };
        let (name, value) = (name.trim().to_ascii_lowercase(), value.trim());
        let is_plain = !value.ends_with('\\') && !value.is_empty();
        if is_plain && GIT_SETTINGS.contains(&(section.as_str(), name.as_str())) {
            // Writing to a string cannot fail.
            let _ = writeln!(selected, "[{section}]\n\t{name} = {value}");
        }
    }
    selected
}

/// The variables of a run whose home is not mounted over the user's.
pub(crate) fn redirect_home(
    variables: &[(OsString, OsString)],
    policy: &SandboxPolicy,
) -> Vec<(OsString, OsString)> {
    let is_written = |name: &OsStr, value: &OsStr| {
        WRITTEN_FOLDERS.iter().any(|written| name == *written)
            && !Path::new(value).starts_with(&policy.project)
    };
    let is_home = |name: &OsStr, value: &OsStr| {
        let real = || Path::new(value).canonicalize();
        name == "HOME"
            && (Path::new(value) == policy.home || real().is_ok_and(|r| r == policy.home))
    };
    let mut all: Vec<_> = variables
        .iter()
        .filter(|(name, value)| !is_written(name, value) && !is_home(name, value))
        .cloned()
        .collect();
    let has = |all: &[(OsString, OsString)], name: &str| all.iter().any(|(known, _)| known == name);
    let given = variables.iter().any(|(name, value)| is_home(name, value));
    if given {
        all.push(("HOME".into(), policy.own_home.clone().into()));
    }
    for (name, folder) in TOOLCHAIN_FOLDERS {
        let folder = policy.home.join(folder);
        if !has(&all, name) && folder.is_dir() {
            all.push((name.into(), folder.into()));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_but_the_caches_is_removed_and_nothing_outside() {
        let dir = tempfile::tempdir().unwrap();
        let (home, outside) = (dir.path().join("home"), dir.path().join("outside"));
        let write = |path: &Path| {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "x").unwrap();
        };
        for name in [".cache/pip/a", ".cache/other", ".gitconfig", "bin/deep/tool", ".m2/x"] {
            write(&home.join(name));
        }
        write(&outside.join("kept"));
        fs::set_permissions(home.join("bin/deep"), fs::Permissions::from_mode(0o000)).unwrap();
        std::os::unix::fs::symlink(&outside, home.join(".npm")).unwrap();
        std::os::unix::fs::symlink(&outside, home.join("link")).unwrap();
        let kept = [".cache/pip", ".npm/_cacache", ".cargo/registry"];
        clear_home(&home, &kept).unwrap();
        let names = |path: &Path| -> Vec<_> {
            fs::read_dir(path).unwrap().map(|entry| entry.unwrap().file_name()).collect()
        };
        assert_eq!(names(&home), [".cache"]);
        assert_eq!(names(&home.join(".cache")), ["pip"]);
        assert_eq!(names(&home.join(".cache/pip")), ["a"]);
        assert!(outside.join("kept").exists());
        clear_home(&dir.path().join("missing"), &kept).unwrap();
    }

    #[test]
    fn only_harmless_settings_of_git_are_taken() {
        let text = "[user]\n\tname = Ann B\n  email=ann@example.org\n signingkey = ABC\n\
                    [url \"https://token@host\"]\n insteadOf = x\n[core]\n\tsshCommand = ssh -i k\n\
                    \tautocrlf = input\n[credential]\n helper = store\n";
        let expected = "[user]\n\tname = Ann B\n[user]\n\temail = ann@example.org\n\
                        [core]\n\tautocrlf = input\n";
        assert_eq!(select_git_settings(text), expected);
    }
}
