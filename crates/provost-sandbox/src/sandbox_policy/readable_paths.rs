//! What can be read: an allow list.
//!
//! The system's programs and libraries, the toolchains and caches of the user's home,
//! and nothing else of it. A list of secrets to hide would miss the next one.

use std::fs;
use std::path::{Path, PathBuf};

/// Programs, libraries and what the system says about itself.
const SYSTEM_PATHS: &[&str] = &[
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/usr",
    "/opt",
    "/nix",
    "/gnu",
    "/snap",
    "/home/linuxbrew/.linuxbrew",
    "/run/current-system",
    "/run/opengl-driver",
    "/proc",
    "/sys/block",
    "/sys/bus",
    "/sys/class",
    "/sys/dev",
    "/sys/devices",
    "/sys/fs/cgroup",
    "/sys/kernel/mm",
    "/sys/module",
    "/var/cache/fontconfig",
    "/var/lib/alternatives",
    "/var/lib/dpkg",
    "/var/lib/texmf",
];

/// Entries of `/etc` that programs need, by name.
const SYSTEM_SETTINGS: &[&str] = &[
    // Libraries, users, names, times and places.
    "alternatives",
    "group",
    "host.conf",
    "hostname",
    "hosts",
    "gai.conf",
    "inputrc",
    "krb5.conf",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "ld.so.preload",
    "localtime",
    "login.defs",
    "lsb-release",
    "magic",
    "mailcap",
    "mime.types",
    "mtab",
    "netconfig",
    "networks",
    "nsswitch.conf",
    "os-release",
    "passwd",
    "protocols",
    "resolv.conf",
    "rpc",
    "services",
    "shells",
    "static",
    "subgid",
    "subuid",
    "timezone",
    // Certificates; their private keys are hidden below.
    "ca-certificates",
    "ca-certificates.conf",
    "crypto-policies",
    "pki",
    "ssl",
    // Shells, terminals, screens and fonts.
    "bash.bashrc",
    "bash_completion.d",
    "bashrc",
    "profile",
    "profile.d",
    "terminfo",
    "screenrc",
    "tmux.conf",
    "zsh",
    "zshenv",
    "zprofile",
    "zshrc",
    "fonts",
    "glvnd",
    "vulkan",
    "OpenCL",
    "X11",
    "xdg",
    // Programs. None of these is known to hold a password.
    "chromium",
    "chromium.d",
    "clang",
    "cmake",
    "debuginfod",
    "dotnet",
    "dpkg",
    "emacs",
    "gdb",
    "gemrc",
    "gitattributes",
    "gitconfig",
    "groff",
    "man_db.conf",
    "manpath.config",
    "maven",
    "mercurial",
    "mke2fs.conf",
    "my.cnf",
    "nanorc",
    "nginx/mime.types",
    "npmignore",
    "papersize",
    "perl",
    "postgresql-common",
    "rpm",
    "skel",
    "ssh/ssh_config",
    "ssh/ssh_config.d",
    "ssh/ssh_known_hosts",
    "subversion",
    "texmf",
    "vim",
    "vimrc",
    "wgetrc",
];

/// Entries of `/etc` that programs need, by the beginning of their names, and `-release`
/// at the end.
const SYSTEM_SETTING_PREFIXES: &[&str] =
    &["ImageMagick", "debian_", "gtk-", "java", "jvm", "locale", "node", "php", "python", "ruby"];

/// Toolchains in a home directory, each a folder of programs and their libraries or a
/// setting of them, without keys and tokens.
const HOME_TOOLCHAINS: &[&str] = &[
    // Rust.
    ".cargo/bin",
    ".cargo/env",
    ".cargo/config",
    ".cargo/config.toml",
    ".rustup",
    // JavaScript.
    ".nvm",
    ".volta",
    ".fnm",
    ".local/share/fnm",
    ".nodenv",
    ".n",
    ".npm-global",
    ".npm-packages",
    ".bun/bin",
    ".bun/install/global",
    ".deno",
    ".local/share/pnpm",
    // Python.
    ".pyenv",
    ".local/bin",
    ".local/lib",
    ".local/pipx",
    ".local/share/pipx",
    ".local/share/uv",
    ".local/share/virtualenvs",
    ".virtualenvs",
    ".local/share/hatch",
    ".rye",
    ".pixi",
    "anaconda3",
    "mambaforge",
    "micromamba",
    "miniconda3",
    "miniforge3",
    // Go.
    "go/bin",
    ".go",
    "sdk",
    ".goenv",
    // Java and its relatives.
    ".jdks",
    ".jenv",
    ".sdkman",
    ".jabba",
    ".local/share/coursier",
    ".konan",
    // Ruby, PHP, .NET, Swift, Haskell, OCaml, Julia, Lean, Zig, Dart.
    ".rbenv",
    ".rvm",
    ".gem/ruby",
    ".local/share/gem",
    ".config/composer/vendor",
    ".composer/vendor",
    ".dotnet",
    ".local/share/swiftly",
    ".ghcup",
    ".cabal/bin",
    ".cabal/packages",
    ".cabal/store",
    ".opam",
    ".juliaup",
    ".julia",
    ".elan",
    ".zvm",
    "flutter",
    "Android/Sdk",
    // Managers of several.
    ".asdf",
    ".tool-versions",
    ".local/share/mise",
    ".config/mise",
    ".local/share/rtx",
    ".proto",
    ".linuxbrew",
    ".nix-profile",
    ".nix-defexpr",
    ".local/state/nix",
    ".guix-profile",
    ".foundry/bin",
    ".platformio",
    ".espressif",
    // Programs that the user put there.
    "bin",
    ".local/opt",
    ".terminfo",
];

/// Caches of tools in a home directory. Readable, so that a build needs no network; what
/// a run writes there goes to a layer of its own.
pub(super) const HOME_CACHES: &[&str] = &[
    ".cache/bazel",
    ".cache/bazelisk",
    ".cache/ccache",
    ".cache/coursier",
    ".cache/Cypress",
    ".cache/deno",
    ".cache/electron",
    ".cache/go-build",
    ".cache/ms-playwright",
    ".cache/mypy",
    ".cache/node",
    ".cache/node-gyp",
    ".cache/pip",
    ".cache/pnpm",
    ".cache/pre-commit",
    ".cache/prisma",
    ".cache/puppeteer",
    ".cache/pypoetry",
    ".cache/sccache",
    ".cache/typescript",
    ".cache/uv",
    ".cache/yarn",
    ".cache/zig",
    ".bun/install/cache",
    ".cargo/git",
    ".cargo/registry",
    ".gradle/caches",
    ".gradle/wrapper",
    ".ivy2/cache",
    ".m2/repository",
    ".m2/wrapper",
    ".npm/_cacache",
    ".nuget/packages",
    ".pnpm-store",
    ".pub-cache",
    // What installs a package writes a shim for its commands.
    ".pyenv/shims",
    ".rbenv/shims",
    ".stack",
    ".yarn/berry",
    ".yarn/cache",
    "go/pkg",
];

/// What programs of the system need, as far as it exists.
pub(super) fn list_system_paths() -> Vec<PathBuf> {
    let named = SYSTEM_SETTINGS.iter().map(|name| Path::new("/etc").join(name));
    SYSTEM_PATHS.iter().map(PathBuf::from).chain(named).chain(list_matching_settings()).collect()
}

fn list_matching_settings() -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir("/etc") else { return Vec::new() };
    let is_needed = |path: &PathBuf| {
        path.file_name().and_then(|name| name.to_str()).is_some_and(|name| {
            name.ends_with("-release")
                || SYSTEM_SETTING_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
        })
    };
    entries.filter_map(Result::ok).map(|entry| entry.path()).filter(is_needed).collect()
}

/// The toolchains of a home directory, also those that are not there yet.
pub(super) fn list_home_toolchains(home: &Path) -> Vec<PathBuf> {
    HOME_TOOLCHAINS.iter().map(|path| home.join(path)).collect()
}

/// The caches of a home directory, also those that are not there yet.
pub(super) fn list_home_caches(home: &Path) -> Vec<PathBuf> {
    HOME_CACHES.iter().map(|path| home.join(path)).collect()
}

/// Version managers that put a folder `shims` on the `PATH`, without a leading dot.
const VERSION_MANAGERS: &[&str] =
    &["asdf", "goenv", "jenv", "mise", "nodenv", "plenv", "pyenv", "rbenv", "tfenv"];

/// Variables that name the folder of a toolchain.
const TOOLCHAIN_VARIABLES: &[&str] = &[
    "RUSTUP_HOME",
    "GOROOT",
    "JAVA_HOME",
    "NVM_DIR",
    "PNPM_HOME",
    "PYENV_ROOT",
    "RBENV_ROOT",
    "VIRTUAL_ENV",
    "VOLTA_HOME",
    "ASDF_DATA_DIR",
    "ASDF_DIR",
    "MISE_DATA_DIR",
    "SDKMAN_DIR",
    "CONDA_PREFIX",
    "DOTNET_ROOT",
    "BUN_INSTALL",
    "DENO_INSTALL",
    "ANDROID_HOME",
    "HOMEBREW_PREFIX",
];

/// Variables that name a folder of which a part is a toolchain.
const TOOLCHAIN_PARTS: &[(&str, &[&str])] = &[
    ("CARGO_HOME", &["bin", "registry", "git", "config.toml", "env"]),
    ("GOPATH", &["bin", "pkg"]),
    ("CARGO_INSTALL_ROOT", &["bin"]),
];

/// The toolchains that variables name: the folders of `PATH`, and those of
/// [`TOOLCHAIN_VARIABLES`]. A folder that holds a home as a whole is none.
pub fn find_toolchains<N: AsRef<std::ffi::OsStr>, V: AsRef<std::ffi::OsStr>>(
    variables: &[(N, V)],
    home: &Path,
) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for (name, value) in variables {
        let (name, value) = (name.as_ref(), value.as_ref());
        let Some(name) = name.to_str() else { continue };
        if name == "PATH" {
            for folder in std::env::split_paths(value) {
                found.extend(find_shim_manager(&folder));
                found.push(folder);
            }
        } else if TOOLCHAIN_VARIABLES.contains(&name) {
            found.push(PathBuf::from(value));
        } else if let Some((_, parts)) = TOOLCHAIN_PARTS.iter().find(|(known, _)| *known == name) {
            found.extend(parts.iter().map(|part| Path::new(value).join(part)));
        }
    }
    let real_home = home.canonicalize().unwrap_or_else(|_| home.to_owned());
    found.retain(|path| is_below_a_home(path, home) || is_below_a_home(path, &real_home));
    found.sort();
    found.dedup();
    found
}

/// Provost's settings that a variable names: they hold keys of model providers, and may lie below
/// a folder that runs can read.
pub fn find_private_files<N: AsRef<std::ffi::OsStr>, V: AsRef<std::ffi::OsStr>>(
    variables: &[(N, V)],
) -> Vec<PathBuf> {
    let is_settings = |name: &N| name.as_ref() == "PROVOST_CONFIG";
    let named = variables.iter().filter(|(name, _)| is_settings(name));
    named.filter_map(|(_, value)| std::path::absolute(value.as_ref()).ok()).collect()
}

/// Whether a path is inside a home, or elsewhere and contains none.
fn is_below_a_home(path: &Path, home: &Path) -> bool {
    let plain = path.components().all(|part| {
        matches!(part, std::path::Component::RootDir | std::path::Component::Normal(_))
    });
    path.is_absolute() && plain && path.components().count() > 2 && !home.starts_with(path)
}

/// The repository of a worktree: `.git` is then a file that names a folder elsewhere.
///
/// That folder must name the project in turn, and no command can write there: otherwise
/// a command could create such a file, to make any folder readable.
pub(super) fn find_worktree_repository(project: &Path) -> Option<PathBuf> {
    let link = project.join(".git");
    if !fs::symlink_metadata(&link).ok()?.is_file() {
        return None;
    }
    let text = fs::read_to_string(&link).ok()?;
    let admin = project.join(text.strip_prefix("gitdir:")?.trim()).canonicalize().ok()?;
    let back = fs::read_to_string(admin.join("gitdir")).ok()?;
    if Path::new(back.trim()).canonicalize().ok()? != link.canonicalize().ok()? {
        return None;
    }
    let common = fs::read_to_string(admin.join("commondir")).ok()?;
    let common = admin.join(common.trim()).canonicalize().ok()?;
    let is_repository = common.join("HEAD").is_file() && common.join("objects").is_dir();
    (is_repository && admin.starts_with(common.join("worktrees"))).then_some(common)
}

/// The folder of the version manager whose shims a folder of the `PATH` holds: they run
/// programs of it.
fn find_shim_manager(folder: &Path) -> Option<PathBuf> {
    let manager = folder.parent().filter(|_| folder.ends_with("shims"))?;
    let name = manager.file_name()?.to_str()?.trim_start_matches('.');
    VERSION_MANAGERS.contains(&name).then(|| manager.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn toolchains_come_from_variables_and_never_hold_a_home() {
        let variables = [
            ("PATH", "/usr/bin:/home/u/tools/bin:/home/u:/home:.:/x/../home/u"),
            ("JAVA_HOME", "/home/u/jdk"),
            ("GOPATH", "/home/u"),
            ("NVM_DIR", "/"),
            ("AWS_CONFIG_FILE", "/home/u/aws/config"),
        ];
        let found = find_toolchains(&variables, Path::new("/home/u"));
        let expected =
            ["/home/u/bin", "/home/u/jdk", "/home/u/pkg", "/home/u/tools/bin", "/usr/bin"];
        assert_eq!(found, expected.map(PathBuf::from));
    }

    #[test]
    fn shims_bring_the_folder_of_a_known_version_manager() {
        let path = "/home/u/.pyenv/shims:/home/u/.local/share/mise/shims:/home/u/work/shims";
        let found = find_toolchains(&[("PATH", path)], Path::new("/home/u"));
        let expected = [
            "/home/u/.local/share/mise",
            "/home/u/.local/share/mise/shims",
            "/home/u/.pyenv",
            "/home/u/.pyenv/shims",
            "/home/u/work/shims",
        ];
        assert_eq!(found, expected.map(PathBuf::from));
    }

    #[test]
    fn a_worktree_is_believed_only_if_its_repository_names_it() {
        let dir = tempfile::tempdir().unwrap();
        let (project, repository) = (dir.path().join("p"), dir.path().join("main/.git"));
        let admin = repository.join("worktrees/p");
        for folder in [&project, &admin, &repository.join("objects")] {
            fs::create_dir_all(folder).unwrap();
        }
        fs::write(repository.join("HEAD"), "ref: refs/heads/main\n").unwrap();
        fs::write(admin.join("commondir"), "../..\n").unwrap();
        fs::write(project.join(".git"), format!("gitdir: {}\n", admin.display())).unwrap();
        assert_eq!(find_worktree_repository(&project), None);
        let back = project.join(".git");
        fs::write(admin.join("gitdir"), format!("{}\n", back.display())).unwrap();
        let repository = repository.canonicalize().unwrap();
        assert_eq!(find_worktree_repository(&project), Some(repository));
    }
}
