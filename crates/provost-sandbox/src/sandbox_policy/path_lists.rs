//! The lists of secrets, tool caches and protected paths.

use std::path::{Path, PathBuf};

use provost_core::action::protected_paths::command_read_only_paths;

/// In the home directory: keys, tokens, cookies and histories.
const HOME_SECRETS: &[&str] = &[
    // Keys and tokens of tools.
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".oci",
    ".kube",
    ".docker",
    ".config/gh",
    ".config/glab-cli",
    ".config/hub",
    ".config/gcloud",
    ".config/doctl",
    ".config/rclone",
    ".config/containers/auth.json",
    ".config/op",
    ".config/sops",
    ".config/age",
    ".config/git/credentials",
    ".config/provost",
    ".terraform.d/credentials.tfrc.json",
    ".netrc",
    ".git-credentials",
    ".npmrc",
    ".yarnrc.yml",
    ".pypirc",
    ".config/pip",
    ".gem/credentials",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".m2/settings.xml",
    ".gradle/gradle.properties",
    ".nuget/NuGet/NuGet.Config",
    ".vault-token",
    ".pgpass",
    ".my.cnf",
    ".databrickscfg",
    // Tokens of other agents.
    ".claude",
    ".claude.json",
    ".codex",
    ".gemini",
    ".config/github-copilot",
    // Keyrings and password stores.
    ".local/share/keyrings",
    ".local/share/kwalletd",
    ".password-store",
    ".1password",
    ".config/1Password",
    ".config/Bitwarden",
    ".config/keepassxc",
    // Browser profiles hold the cookies of every login.
    ".mozilla",
    ".config/google-chrome",
    ".config/chromium",
    ".config/BraveSoftware",
    ".config/microsoft-edge",
    ".config/vivaldi",
    ".config/opera",
    ".thunderbird",
    "snap/firefox",
    "snap/chromium",
    // Histories contain passwords sooner or later.
    ".bash_history",
    ".zsh_history",
    ".python_history",
    ".node_repl_history",
    ".psql_history",
    ".mysql_history",
    ".sqlite_history",
    ".lesshst",
    ".viminfo",
    ".local/share/fish/fish_history",
    // Access to the desktop.
    ".Xauthority",
    ".ICEauthority",
];

/// On the machine: password hashes, keys, and folders with sockets and temporary files
/// of others.
const MACHINE_SECRETS: &[&str] = &[
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/sudoers",
    "/etc/sudoers.d",
    "/etc/ssl/private",
    "/etc/krb5.keytab",
    "/etc/NetworkManager/system-connections",
    "/etc/wireguard",
    "/run",
    "/tmp",
    "/var/tmp",
    "/var/run",
    // Above all disks: raw access reads everything. The harmless devices are granted where
    // the rules are built.
    "/dev",
    "/var/spool/cron",
    "/var/lib/docker",
    "/var/lib/containerd",
];

/// Secrets in a home directory.
pub fn list_home_secrets(home: &Path) -> impl Iterator<Item = PathBuf> {
    HOME_SECRETS.iter().map(|path| home.join(path))
}

pub(super) fn list_hidden_paths(home: &Path, data: &Path) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = MACHINE_SECRETS.iter().map(PathBuf::from).collect();
    all.extend(list_host_keys());
    all.extend(list_home_secrets(home));
    all.push(data.to_owned());
    // Homes of other users are hidden, whatever their permissions.
    all.extend(["/root", "/home"].iter().map(PathBuf::from).filter(|top| !home.starts_with(top)));
    all
}

/// The current `/etc/ssh/ssh_host_*_key` files.
fn list_host_keys() -> Vec<PathBuf> {
    let Ok(folder) = std::fs::read_dir("/etc/ssh") else { return Vec::new() };
    let paths = folder.filter_map(Result::ok).map(|entry| entry.path());
    paths.filter(|path| path.to_string_lossy().ends_with("_key")).collect()
}

/// Paths at the project's top level that govern it, or that run by themselves outside
/// the sandbox: never writable for commands.
pub(super) fn list_project_protected_paths(project: &Path) -> Vec<PathBuf> {
    command_read_only_paths().map(|path| project.join(path)).collect()
}
