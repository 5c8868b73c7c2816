//! Which folders may be projects.

use std::io;
use std::path::{Path, PathBuf};

use provost_proto::limits;

use crate::{GatewayError, Places};

/// Trees that belong to the machine. A project there could hand an agent the
/// machine itself.
const SYSTEM: &[&str] = &[
    "/bin", "/boot", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/proc", "/run", "/sbin", "/sys",
    "/usr",
];

/// Folders that hold other people's folders and the machine's, but in which one
/// of your own may lie.
const SHELVES: &[&str] = &["/home", "/media", "/mnt", "/opt", "/root", "/srv", "/var"];

/// The folder that a request means: absolute, existing, with no link left in
/// it, and fit to be a project. Touches the disk; call it on a blocking thread.
pub(crate) fn project_folder(text: &str, places: &Places) -> Result<PathBuf, GatewayError> {
    let wanted = typed(text, places)?;
    let folder = wanted.canonicalize().map_err(|error| {
        if error.kind() == io::ErrorKind::NotFound {
            GatewayError::PathNotFound(text.to_owned())
        } else if error.kind() == io::ErrorKind::NotADirectory {
            GatewayError::NotADirectory(text.to_owned())
        } else {
            refused(text, error.to_string())
        }
    })?;
    if !folder.is_dir() {
        return Err(GatewayError::NotADirectory(text.to_owned()));
    }
    if folder.to_str().is_none_or(|path| path.chars().any(char::is_control)) {
        return Err(refused(text, "its name holds characters that cannot be shown"));
    }
    if folder.as_os_str().len() > limits::PROJECT_PATH {
        return Err(refused(text, "its path is longer than 1024 bytes"));
    }
    match unfit(&folder, places) {
        Some(why) => Err(refused(&folder.display().to_string(), why)),
        None => Ok(folder),
    }
}

pub(crate) fn typed(text: &str, places: &Places) -> Result<PathBuf, GatewayError> {
    let invalid = |why: &str| GatewayError::Invalid { field: "path", why: why.to_owned() };
    if text.is_empty() {
        return Err(invalid("it is empty; name a folder"));
    }
    if text.len() > limits::PATH {
        return Err(invalid("it is longer than 4096 bytes"));
    }
    if text.chars().any(char::is_control) {
        return Err(invalid("it holds control characters"));
    }
    match (text.strip_prefix('~'), &places.home) {
        (Some(""), Some(home)) => Ok(home.clone()),
        (Some(rest), Some(home)) if rest.starts_with('/') => {
            Ok(home.join(rest.trim_start_matches('/')))
        }
        _ if Path::new(text).is_absolute() => Ok(PathBuf::from(text)),
        _ => Err(invalid("it must be absolute, or begin with ~/")),
    }
}

/// Every folder that is someone's home: as it is called, and where it really is.
pub(crate) fn homes(places: &Places) -> Vec<String> {
    let called = places.home.iter().chain(&places.homes);
    let both = called.flat_map(|home| [Some(home.clone()), home.canonicalize().ok()]);
    let mut homes: Vec<String> =
        both.flatten().filter_map(|home| home.to_str().map(str::to_owned)).collect();
    homes.sort();
    homes.dedup();
    homes
}

fn unfit(folder: &Path, places: &Places) -> Option<&'static str> {
    let resolve = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    if folder.parent().is_none() {
        return Some("it is the root of the whole file system; open a folder in it");
    }
    for home in places.home.iter().chain(&places.homes).map(|home| resolve(home)) {
        if folder == home {
            return Some(
                "it is your home folder, with your keys and settings; open a folder in it",
            );
        }
        if home.starts_with(folder) {
            return Some("your home folder is inside it; open a folder further down");
        }
    }
    let data = resolve(&places.data);
    if folder.starts_with(&data) || data.starts_with(folder) {
        return Some("Provost keeps its own data there");
    }
    if SHELVES.iter().any(|shelf| folder == Path::new(shelf)) {
        return Some("it holds what belongs to many; open a folder in it");
    }
    if SYSTEM.iter().any(|system| folder.starts_with(system)) {
        return Some("it belongs to the system");
    }
    None
}

fn refused(path: &str, why: impl Into<String>) -> GatewayError {
    GatewayError::PathRefused { path: path.to_owned(), why: why.into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn unfit_folders_are_refused_with_a_reason() {
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
        let places = Places {
            home: Some(at("home/me")),
            homes: vec![at("passwd/me"), at("passwd/gone")],
            data: at("data"),
            ..Places::default()
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
            ("/home".to_owned(), "it holds what belongs to many"),
            ("/opt".to_owned(), "it holds what belongs to many"),
            ("/var".to_owned(), "it holds what belongs to many"),
            (text("data"), "Provost keeps its own data there"),
            (text("data/sub"), "Provost keeps its own data there"),
            ("/usr/share".to_owned(), "it belongs to the system"),
            (text("file"), "is not a folder"),
            (text("file/x"), "is not a folder"),
            (text("nowhere"), "does not exist"),
            (text("dangling"), "does not exist"),
            (String::new(), "it is empty"),
            ("home".to_owned(), "it must be absolute"),
            ("~root".to_owned(), "it must be absolute"),
            ("/tmp/\0".to_owned(), "control characters"),
            (format!("/{}", "x".repeat(limits::PATH)), "longer than 4096"),
            (text(&deep), "longer than 1024"),
        ] {
            let error = project_folder(&path, &places).unwrap_err().to_string();
            assert!(error.contains(expected), "{path}: {error}");
        }
        for path in [text("home/me/app"), text("link-to-app"), "~/app".to_owned()] {
            assert_eq!(project_folder(&path, &places).unwrap(), at("home/me/app"), "{path}");
        }
    }
}
