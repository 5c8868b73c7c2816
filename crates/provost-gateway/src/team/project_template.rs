//! Creating a project folder with files in it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use provost_sandbox::root_dir::{FileWriteMode, RootDir};

use crate::team::project_folder;
use crate::{GatewayConfig, GatewayError};

/// How many numbered names are tried before a person has to choose one.
const MAX_NAME_ATTEMPTS: u32 = 99;

/// A project folder to create.
#[derive(Debug, Clone)]
pub struct NewProjectFolder {
    /// The path of the folder; if absent, `name` in the home folder.
    pub path: Option<String>,
    /// The name of the folder; a number is appended if it is taken.
    pub name: &'static str,
    /// Paths in the folder, and what the files contain.
    pub files: &'static [(&'static str, &'static str)],
}

/// The first folder in the home folder that was created from this template and of which no
/// file has changed since.
pub(crate) fn find_unmodified_folder(
    folder: &NewProjectFolder,
    config: &GatewayConfig,
) -> Option<PathBuf> {
    let paths = config.home.iter().flat_map(|home| candidate_paths(home, folder.name));
    paths.into_iter().find(|path| is_unmodified(path, folder.files))
}

fn is_unmodified(path: &Path, files: &[(&str, &str)]) -> bool {
    let is_same = |root: &RootDir, (file, text): &(&str, &str)| {
        let read = root.read(Path::new(file), u64::try_from(text.len()).unwrap_or(u64::MAX));
        read.is_ok_and(|bytes| bytes == text.as_bytes())
    };
    RootDir::open(path).is_ok_and(|root| files.iter().all(|file| is_same(&root, file)))
}

/// The paths that are tried, in order.
fn candidate_paths(home: &Path, name: &str) -> Vec<PathBuf> {
    let numbered = |number| match number {
        1 => home.join(name),
        _ => home.join(format!("{name}-{number}")),
    };
    (1..=MAX_NAME_ATTEMPTS).map(numbered).collect()
}

pub(crate) fn create_project_folder(
    folder: &NewProjectFolder,
    config: &GatewayConfig,
) -> Result<PathBuf, GatewayError> {
    let path = match &folder.path {
        Some(text) => {
            let path = project_folder::parse_folder_path(text, config)?;
            fs::create_dir(&path).map_err(|error| create_folder_error(&path, &error))?;
            path
        }
        None => create_numbered_folder(folder.name, config)?,
    };
    // Checked before anything is written, so that a refused folder leaves nothing behind.
    let checked = project_folder::resolve_project_folder(&path.to_string_lossy(), config);
    let path = checked.inspect_err(|_| {
        if let Err(error) = fs::remove_dir(&path) {
            tracing::warn!(%error, "cannot remove the empty folder of a refused project");
        }
    })?;
    let failed = |error: provost_sandbox::root_dir::RootDirError| GatewayError::PathRefused {
        path: path.display().to_string(),
        why: error.to_string(),
    };
    let root = RootDir::open(&path).map_err(failed)?;
    for (file, text) in folder.files {
        let file = Path::new(file);
        if let Some(above) = file.parent().filter(|above| !above.as_os_str().is_empty()) {
            root.create_dir_all(above).map_err(failed)?;
        }
        root.write(file, text.as_bytes(), FileWriteMode::Create).map_err(failed)?;
    }
    Ok(path)
}

/// Creates a folder in the home folder, under the first free name.
fn create_numbered_folder(name: &str, config: &GatewayConfig) -> Result<PathBuf, GatewayError> {
    let why = || "there is no home folder; name a path".to_owned();
    let home = config
        .home
        .as_ref()
        .ok_or_else(|| GatewayError::InvalidField { field: "path", why: why() })?;
    for path in candidate_paths(home, name) {
        match fs::create_dir(&path) {
            Ok(()) => return Ok(path),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(create_folder_error(&path, &error)),
        }
    }
    let why = format!("{MAX_NAME_ATTEMPTS} folders of that name exist; name a path");
    Err(GatewayError::PathRefused { path: home.join(name).display().to_string(), why })
}

fn create_folder_error(path: &Path, error: &io::Error) -> GatewayError {
    let why = if error.kind() == io::ErrorKind::AlreadyExists {
        "it exists, and nothing is overwritten".to_owned()
    } else {
        format!("it cannot be created: {error}")
    };
    GatewayError::PathRefused { path: path.display().to_string(), why }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILES: &[(&str, &str)] = &[("a/b.txt", "b"), ("c.txt", "c")];

    fn folder(path: Option<String>) -> NewProjectFolder {
        NewProjectFolder { path, name: "tour", files: FILES }
    }

    #[test]
    fn uses_the_first_free_name_and_overwrites_nothing() {
        let temp = tempfile::tempdir().unwrap();
        let base = temp.path().canonicalize().unwrap();
        let (home, data) = (base.join("home"), base.join("home/.data"));
        fs::create_dir_all(&data).unwrap();
        let config = GatewayConfig {
            home: Some(home.clone()),
            data: data.clone(),
            ..GatewayConfig::default()
        };

        assert_eq!(create_project_folder(&folder(None), &config).unwrap(), home.join("tour"));
        fs::write(home.join("tour/c.txt"), "mine").unwrap();
        assert_eq!(create_project_folder(&folder(None), &config).unwrap(), home.join("tour-2"));
        assert_eq!(fs::read_to_string(home.join("tour/c.txt")).unwrap(), "mine");
        assert_eq!(fs::read_to_string(home.join("tour-2/a/b.txt")).unwrap(), "b");

        assert!(!is_unmodified(&home.join("tour"), FILES), "a file changed");
        assert!(is_unmodified(&home.join("tour-2"), FILES));
        assert!(!is_unmodified(&home.join("tour-3"), FILES), "no such folder");

        let path = |path: PathBuf| Some(path.to_str().unwrap().to_owned());
        assert_eq!(
            create_project_folder(&folder(Some("~/mine".to_owned())), &config).unwrap(),
            home.join("mine")
        );
        let error = create_project_folder(&folder(path(home.join("tour"))), &config).unwrap_err();
        assert!(error.to_string().contains("it exists"), "{error}");
        let error = create_project_folder(&folder(path(data.join("tour"))), &config).unwrap_err();
        assert!(error.to_string().contains("Provost keeps its own data"), "{error}");
        assert!(!data.join("tour").exists(), "left behind");
        let error = create_project_folder(
            &folder(None),
            &GatewayConfig { data, ..GatewayConfig::default() },
        )
        .unwrap_err();
        assert!(error.to_string().contains("no home folder"), "{error}");
    }
}
