//! Which of our variables a child gets to see.
//!
//! An allow list, because a list of forbidden names forgets the next key. Agents,
//! buses and displays (`SSH_AUTH_SOCK`, `DBUS_*`, `DISPLAY`, `WAYLAND_DISPLAY`,
//! `XDG_RUNTIME_DIR`) are doors out of the sandbox and are not on it.

use std::ffi::{OsStr, OsString};

/// Names that say who and where, and hold no secret.
const ALLOWED: &[&str] = &[
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
    // Where toolchains live; without them many builds do not start.
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

/// Keeps the variables that a confined child may see.
pub fn allowed(
    variables: impl IntoIterator<Item = (OsString, OsString)>,
) -> Vec<(OsString, OsString)> {
    variables.into_iter().filter(|(name, _)| is_allowed(name)).collect()
}

/// What git is told in every command, as if by `-c`, which no file of a
/// repository overrides. Without the first, a folder in the project that looks
/// like a repository is one, and its configuration names programs; without the
/// second, so does that of any repository when its state is looked at.
const GIT: [(&str, &str); 2] = [("safe.bareRepository", "explicit"), ("core.fsmonitor", "false")];

/// The variables that tell git so.
pub fn git() -> Vec<(OsString, OsString)> {
    let mut variables = vec![("GIT_CONFIG_COUNT".into(), GIT.len().to_string().into())];
    for (number, (name, value)) in GIT.iter().enumerate() {
        variables.push((format!("GIT_CONFIG_KEY_{number}").into(), name.into()));
        variables.push((format!("GIT_CONFIG_VALUE_{number}").into(), value.into()));
    }
    variables
}

fn is_allowed(name: &OsStr) -> bool {
    name.to_str().is_some_and(|name| ALLOWED.contains(&name) || name.starts_with("LC_"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_doors_do_not_pass() {
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
        let kept = allowed(names.map(|name| (name.into(), "x".into())));
        let kept: Vec<_> = kept.iter().filter_map(|(name, _)| name.to_str()).collect();
        assert_eq!(kept, ["PATH", "LC_ALL"]);
    }
}
