//! Which folders may be projects.

use std::io;
use std::path::{Path, PathBuf};

use provost_proto::limits;
use provost_sandbox::sandbox_policy::list_home_secrets;

use crate::symlink_resolution::resolve_symlinks;
use crate::{GatewayConfig, GatewayError};

/// Folders of the operating system. A project there could give an agent control of the
/// machine.
const SYSTEM_FOLDERS: &[&str] = &[
    "/bin", "/boot", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/proc", "/run", "/sbin", "/sys",
    "/usr",
];

/// Folders that contain those of other people and of the system, and may contain a project.
const SHARED_FOLDERS: &[&str] =
    &["/home", "/media", "/mnt", "/opt", "/root", "/srv", "/var", "/var/home"];

/// Folders in `/var` that may contain a project: some systems keep `/home` and the like
/// there. The rest of it belongs to the system.
const USER_FOLDERS_IN_VAR: &[&str] =
    &["/var/home", "/var/mnt", "/var/opt", "/var/srv", "/var/tmp", "/var/www"];

/// The folder that a request names: absolute, existing, without links, and allowed to be a
/// project. Reads the disk; to be called on a blocking thread.
pub(crate) fn resolve_project_folder(
    text: &str,
    config: &GatewayConfig,
) -> Result<PathBuf, GatewayError> {
    let wanted = parse_folder_path(text, config)?;
    let folder = wanted.canonicalize().map_err(|error| {
        if error.kind() == io::ErrorKind::NotFound {
            GatewayError::PathNotFound(text.to_owned())
        } else if error.kind() == io::ErrorKind::NotADirectory {
            GatewayError::NotADirectory(text.to_owned())
        } else {
            path_refused_error(text, error.to_string())
        }
    })?;
    if !folder.is_dir() {
        return Err(GatewayError::NotADirectory(text.to_owned()));
    }
    if folder.to_str().is_none_or(|path| path.chars().any(char::is_control)) {
        return Err(path_refused_error(text, "its name holds characters that cannot be shown"));
    }
    if folder.as_os_str().len() > limits::MAX_PROJECT_PATH_BYTES {
        return Err(path_refused_error(text, "its path is longer than 1024 bytes"));
    }
    match find_refusal_reason(&folder, config) {
        Some(why) => Err(path_refused_error(&folder.display().to_string(), why)),
        None => Ok(folder),
    }
}

pub(crate) fn parse_folder_path(
    text: &str,
    config: &GatewayConfig,
) -> Result<PathBuf, GatewayError> {
    let invalid = |why: &str| GatewayError::InvalidField { field: "path", why: why.to_owned() };
    if text.is_empty() {
        return Err(invalid("it is empty; name a folder"));
    }
    if text.len() > limits::MAX_PATH_BYTES {
        return Err(invalid("it is longer than 4096 bytes"));
    }
    if text.chars().any(char::is_control) {
        return Err(invalid("it holds control characters"));
    }
    match (text.strip_prefix('~'), &config.home) {
        (Some(""), Some(home)) => Ok(home.clone()),
        (Some(rest), Some(home)) if rest.starts_with('/') => {
            Ok(home.join(rest.trim_start_matches('/')))
        }
        _ if Path::new(text).is_absolute() => Ok(PathBuf::from(text)),
        _ => Err(invalid("it must be absolute, or begin with ~/")),
    }
}

/// The home folders, as they are named and with their links resolved.
pub(crate) fn collect_home_folders(config: &GatewayConfig) -> Vec<String> {
    let named = config.home.iter().chain(&config.homes);
    let both = named.flat_map(|home| [Some(home.clone()), home.canonicalize().ok()]);
    let mut homes: Vec<String> =
        both.flatten().filter_map(|home| home.to_str().map(str::to_owned)).collect();
    homes.sort();
    homes.dedup();
    homes
}

fn find_refusal_reason(folder: &Path, config: &GatewayConfig) -> Option<&'static str> {
    if folder.parent().is_none() {
        return Some("it is the root of the whole file system; open a folder in it");
    }
    let homes: Vec<_> =
        config.home.iter().chain(&config.homes).map(|home| resolve_symlinks(home)).collect();
    for home in &homes {
        if folder == home {
            return Some(
                "it is your home folder, with your keys and settings; open a folder in it",
            );
        }
        if home.starts_with(folder) {
            return Some("your home folder is inside it; open a folder further down");
        }
    }
    let data = resolve_symlinks(&config.data);
    if folder.starts_with(&data) || data.starts_with(folder) {
        return Some("Provost keeps its own data there");
    }
    if [&config.policy, &config.config].into_iter().any(|file| contains_file_or_link(folder, file))
    {
        return Some("your own rules or settings for Provost are in it");
    }
    if homes.iter().flat_map(|home| list_home_secrets(home)).any(|secret| {
        secret.starts_with(folder)
            || folder.starts_with(&secret)
            || folder.starts_with(resolve_symlinks(&secret))
    }) {
        return Some("keys, tokens or logins of yours are kept there");
    }
    if SHARED_FOLDERS.iter().any(|shared| folder == Path::new(shared)) {
        return Some("it is a shared system folder; open a folder in it");
    }
    let is_in = |folders: &[&str]| folders.iter().any(|outer| folder.starts_with(outer));
    let in_home = homes.iter().any(|home| folder.starts_with(home));
    if is_in(SYSTEM_FOLDERS)
        || (folder.starts_with("/var") && !is_in(USER_FOLDERS_IN_VAR) && !in_home)
    {
        return Some("it belongs to the system");
    }
    None
}

/// Whether a file, or a link on its path, is in a folder: whoever can replace either can
/// replace the file, even if it does not exist yet.
fn contains_file_or_link(folder: &Path, file: &Path) -> bool {
    let resolve_parent =
        |path: &Path| Some(resolve_symlinks(path.parent()?).join(path.file_name()?));
    let links = file.ancestors().filter_map(resolve_parent);
    links.chain([resolve_symlinks(file)]).any(|path| path.starts_with(folder))
}

fn path_refused_error(path: &str, why: impl Into<String>) -> GatewayError {
    GatewayError::PathRefused { path: path.to_owned(), why: why.into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn refuses_folders_with_a_reason() {
        let temp = tempfile::tempdir().unwrap();
        let base = temp.path().canonicalize().unwrap();
        let at = |name: &str| base.join(name);
        for name in ["home/me/app", "data/sub", "passwd/me/app"] {
            fs::create_dir_all(at(name)).unwrap();
        }
        fs::write(at("file"), "").unwrap();
        std::os::unix::fs::symlink("/", at("link-to-root")).unwrap();
        std::os::unix::fs::symlink(at("home/me/app"), at("link-to-app")).unwrap();
        std::os::unix::fs::symlink(at("nowhere"), at("dangling")).unwrap();
        let deep = vec!["deep".repeat(50); 6].join("/");
        fs::create_dir_all(at(&deep)).unwrap();
        let config = GatewayConfig {
            home: Some(at("home/me")),
            homes: vec![at("passwd/me"), at("passwd/gone")],
            data: at("data"),
            ..GatewayConfig::default()
        };

        let text = |name: &str| at(name).to_str().unwrap().to_owned();
        for (path, expected) in [
            ("/".to_owned(), "the root of the whole file system"),
            (text("link-to-root"), "the root of the whole file system"),
            (text("home/me"), "it is your home folder"),
            ("~".to_owned(), "it is your home folder"),
            ("~/".to_owned(), "it is your home folder"),
            (text("home/me/app/.."), "it is your home folder"),
            (text("home"), "your home folder is inside it"),
            (text("passwd/me"), "it is your home folder"),
            (text("passwd"), "your home folder is inside it"),
            ("/home".to_owned(), "it is a shared system folder"),
            ("/opt".to_owned(), "it is a shared system folder"),
            ("/var".to_owned(), "it is a shared system folder"),
            (text("data"), "Provost keeps its own data there"),
            (text("data/sub"), "Provost keeps its own data there"),
            ("/usr/share".to_owned(), "it belongs to the system"),
            ("/var/lib".to_owned(), "it belongs to the system"),
            ("/var/log".to_owned(), "it belongs to the system"),
            (text("file"), "is not a folder"),
            (text("file/x"), "is not a folder"),
            (text("nowhere"), "does not exist"),
            (text("dangling"), "does not exist"),
            (String::new(), "it is empty"),
            ("home".to_owned(), "it must be absolute"),
            ("~root".to_owned(), "it must be absolute"),
            ("/tmp/\0".to_owned(), "control characters"),
            (format!("/{}", "x".repeat(limits::MAX_PATH_BYTES)), "longer than 4096"),
            (text(&deep), "longer than 1024"),
        ] {
            let error = resolve_project_folder(&path, &config).unwrap_err().to_string();
            assert!(error.contains(expected), "{path}: {error}");
        }
        for path in [text("home/me/app"), text("link-to-app"), "~/app".to_owned()] {
            assert_eq!(
                resolve_project_folder(&path, &config).unwrap(),
                at("home/me/app"),
                "{path}"
            );
        }
    }

    #[test]
    fn refuses_folders_with_rules_settings_or_secrets() {
        let temp = tempfile::tempdir().unwrap();
        let base = temp.path().canonicalize().unwrap();
        let at = |name: &str| base.join(name);
        let secret = [".ssh/keys", ".config/gh", ".local/share", "dotfiles/aws"].map(|name| {
            let folder = at("me").join(name);
            fs::create_dir_all(&folder).unwrap();
            folder
        });
        for name in ["me/app", "me/dotfiles/provost", "me/links/to", "settings", "passwd/.kube"] {
            fs::create_dir_all(at(name)).unwrap();
        }
        std::os::unix::fs::symlink(at("me/dotfiles/aws"), at("me/.aws")).unwrap();
        std::os::unix::fs::symlink(at("me/dotfiles/provost"), at("me/links/to/provost")).unwrap();
        let config = GatewayConfig {
            home: Some(at("me")),
            homes: vec![at("passwd")],
            data: at("data"),
            policy: at("me/links/to/provost/policy.toml"),
            config: at("settings/not/there/yet/config.toml"),
            ..GatewayConfig::default()
        };
        let check = |folder: &Path, expected: &str| {
            let error =
                resolve_project_folder(folder.to_str().unwrap(), &config).unwrap_err().to_string();
            assert!(error.contains(expected), "{}: {error}", folder.display());
        };
        for name in ["links", "links/to", "links/to/provost", "dotfiles", "dotfiles/provost"] {
            check(&at("me").join(name), "your own rules or settings");
        }
        check(&at("settings"), "your own rules or settings");
        for folder in &secret {
            check(folder, "keys, tokens or logins");
        }
        for name in ["me/.ssh", "me/.config", "me/.local", "me/.aws", "passwd/.kube"] {
            check(&at(name), "keys, tokens or logins");
        }
        assert_eq!(resolve_project_folder("~/app", &config).unwrap(), at("me/app"));
    }
}
