//! Which environment variables a child gets.
//!
//! An allow list, because a deny list misses the next key. Agents, buses and displays
//! (`SSH_AUTH_SOCK`, `DBUS_*`, `DISPLAY`, `WAYLAND_DISPLAY`, `XDG_RUNTIME_DIR`) are ways
//! out of the sandbox and are not on it.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

/// Names that identify user and location, and hold no secret.
const ALLOWED_NAMES: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "TERM",
    "COLORTERM",
    "COLUMNS",
    "LINES",
    "LANG",
    "LANGUAGE",
    "TZ",
    "NO_COLOR",
    "CLICOLOR",
    "FORCE_COLOR",
    "CI",
    // Locations of toolchains; without them many builds do not start.
    "CARGO_HOME",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
    "GOPATH",
    "GOROOT",
    "JAVA_HOME",
    "NVM_DIR",
    "PNPM_HOME",
    "PYENV_ROOT",
    "VIRTUAL_ENV",
    "LD_LIBRARY_PATH",
    "PKG_CONFIG_PATH",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
];

/// Keeps the variables that a confined child may get.
pub fn filter_allowed(
    variables: impl IntoIterator<Item = (OsString, OsString)>,
) -> Vec<(OsString, OsString)> {
    variables.into_iter().filter(|(name, _)| is_allowed(name)).collect()
}

/// The configuration of git in every command, like `-c`, which no file of a repository
/// overrides. Without the first, a folder in the project that looks like a repository is
/// one, and its configuration names programs; without the second, any repository runs
/// its file system monitor on `git status`.
const GIT_CONFIG: [(&str, &str); 2] =
    [("safe.bareRepository", "explicit"), ("core.fsmonitor", "false")];

/// The variables with this configuration.
pub fn build_git_variables() -> Vec<(OsString, OsString)> {
    let mut variables = vec![("GIT_CONFIG_COUNT".into(), GIT_CONFIG.len().to_string().into())];
    for (number, (name, value)) in GIT_CONFIG.iter().enumerate() {
        variables.push((format!("GIT_CONFIG_KEY_{number}").into(), name.into()));
        variables.push((format!("GIT_CONFIG_VALUE_{number}").into(), value.into()));
    }
    variables
}

/// Variables that describe a terminal, and those that only hold in the terminal that
/// Provost was started from.
const TERMINAL_SPECIFIC_NAMES: &[&str] = &[
    "TERM",
    "COLORTERM",
    "COLUMNS",
    "LINES",
    "PWD",
    "OLDPWD",
    "SHLVL",
    "SHELL",
    "HOME",
    "_",
    "TMUX",
    "TMUX_PANE",
    "STY",
    "WINDOW",
    "WINDOWID",
    "INSIDE_EMACS",
    "KONSOLE_VERSION",
    "VTE_VERSION",
    "WT_SESSION",
    "CI",
];

/// The variables of the user's own shell in our terminal: all of the user's, except
/// those that describe another terminal and Provost's own settings.
pub fn build_terminal_variables(
    variables: impl IntoIterator<Item = (OsString, OsString)>,
    home: &Path,
    shell: &Path,
) -> Vec<(OsString, OsString)> {
    let elsewhere = |name: &OsStr| {
        name.to_str().is_some_and(|name| {
            TERMINAL_SPECIFIC_NAMES.contains(&name)
                || ["PROVOST_", "TERM_"].iter().any(|prefix| name.starts_with(prefix))
        })
    };
    let mut kept: Vec<_> = variables.into_iter().filter(|(name, _)| !elsewhere(name)).collect();
    kept.push(("TERM".into(), "xterm-256color".into()));
    kept.push(("COLORTERM".into(), "truecolor".into()));
    kept.push(("TERM_PROGRAM".into(), "provost".into()));
    kept.push(("HOME".into(), home.into()));
    kept.push(("SHELL".into(), shell.into()));
    kept
}

/// The user's shell: `SHELL`, else the user database, else `bash` or `sh`.
pub fn find_user_shell(variables: &[(OsString, OsString)]) -> PathBuf {
    let named = variables.iter().find(|(name, _)| name == "SHELL").map(|(_, path)| path.into());
    let users = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let listed = parse_passwd_shell(rustix::process::getuid().as_raw(), &users);
    let usable = |path: &PathBuf| {
        path.is_absolute() && path.is_file() && access(path, Access::EXEC_OK).is_ok()
    };
    let candidates = named.into_iter().chain(listed).chain(["/bin/bash".into()]);
    candidates.into_iter().find(usable).unwrap_or_else(|| "/bin/sh".into())
}

fn parse_passwd_shell(user: u32, users: &str) -> Option<PathBuf> {
    let user = user.to_string();
    let mut entries = users.lines().map(|line| line.split(':').collect::<Vec<_>>());
    let entry = entries.find(|fields| fields.get(2) == Some(&user.as_str()))?;
    entry.get(6).filter(|shell| !shell.is_empty()).map(PathBuf::from)
}

fn is_allowed(name: &OsStr) -> bool {
    name.to_str().is_some_and(|name| ALLOWED_NAMES.contains(&name) || name.starts_with("LC_"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_gets_what_its_person_has_but_nothing_that_is_only_so_elsewhere() {
        let theirs = ["SSH_AUTH_SOCK", "EDITOR", "TMUX", "TERM", "PROVOST_DATA", "LINES"];
        let theirs = theirs.map(|name| (name.into(), "there".into()));
        let kept = build_terminal_variables(theirs, Path::new("/home/u"), Path::new("/bin/zsh"));
        let value = |name: &str| {
            let mut named = kept.iter().filter(|(known, _)| known == name);
            let value = named.next().and_then(|(_, value)| value.to_str());
            assert!(named.next().is_none(), "{name} twice");
            value
        };
        assert_eq!(value("SSH_AUTH_SOCK"), Some("there"));
        assert_eq!(value("EDITOR"), Some("there"));
        assert_eq!(value("TERM"), Some("xterm-256color"));
        assert_eq!((value("HOME"), value("SHELL")), (Some("/home/u"), Some("/bin/zsh")));
        assert_eq!((value("TMUX"), value("PROVOST_DATA"), value("LINES")), (None, None, None));
    }

    #[test]
    fn the_shell_is_the_one_that_the_person_chose_if_it_is_there() {
        let named = |path: &str| find_user_shell(&[("SHELL".into(), path.into())]);
        assert_eq!(named("/bin/sh"), PathBuf::from("/bin/sh"));
        for path in ["/nowhere/zsh", "sh", "/etc/passwd"] {
            let chosen = named(path);
            assert!(chosen.is_absolute() && chosen != *path, "{path} became {chosen:?}");
        }
        let users = "root:x:0:0::/root:/bin/bash\nann:x:7:7::/home/ann:/bin/zsh\nbob:x:8:8::/:\n";
        assert_eq!(parse_passwd_shell(7, users), Some("/bin/zsh".into()));
        assert_eq!((parse_passwd_shell(8, users), parse_passwd_shell(9, users)), (None, None));
    }

    #[test]
    fn keys_and_ways_out_do_not_pass() {
        let names = [
            "PATH",
            "LC_ALL",
            "OPENAI_API_KEY",
            "SSH_AUTH_SOCK",
            "DBUS_SESSION_BUS_ADDRESS",
            "DISPLAY",
            "XDG_RUNTIME_DIR",
            "LD_PRELOAD",
            "path",
        ];
        let kept = filter_allowed(names.map(|name| (name.into(), "x".into())));
        let kept: Vec<_> = kept.iter().filter_map(|(name, _)| name.to_str()).collect();
        assert_eq!(kept, ["PATH", "LC_ALL"]);
    }
}
