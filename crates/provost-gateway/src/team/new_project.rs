//! Making a new folder with files in it, and opening it as a project.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use provost_proto::Project;
use provost_sandbox::root_dir::{FileWriteMode, RootDir};

use crate::team::project_folder;
use crate::{Gateway, GatewayConfig, GatewayError, OpenProjectOutcome, OperatorRequest};

/// How many names are tried before a person has to choose one.
const MAX_NAME_ATTEMPTS: u32 = 99;

/// A folder that is to be made.
#[derive(Debug, Clone)]
pub struct NewProjectFolder {
    /// Where; in the home folder, under the name, if absent.
    pub path: Option<String>,
    /// Its name; a number follows if that is taken.
    pub name: &'static str,
    /// Its files, with their paths in it.
    pub files: &'static [(&'static str, &'static str)],
}

impl Gateway {
    /// Makes a folder and opens it as a project. What is there already is never
    /// written over: a folder that exists is refused.
    pub async fn create_project(
        self: &Arc<Self>,
        request: OperatorRequest<'_>,
        folder: NewProjectFolder,
    ) -> Result<Project, GatewayError> {
        let config = self.config.clone();
        let made = tokio::task::spawn_blocking(move || create_project_folder(&folder, &config));
        let path = made.await.map_err(|_| GatewayError::Stopping)??;
        match self.open_project(request, &path.to_string_lossy()).await? {
            OpenProjectOutcome::Opened(project) | OpenProjectOutcome::AlreadyOpen(project) => {
                Ok(project)
            }
        }
    }
}

impl Gateway {
    /// The first folder in the home folder that was made like this before, and in which
    /// each of its files still is what it was.
    pub async fn find_unmodified_folder(
        &self,
        folder: NewProjectFolder,
    ) -> Result<Option<String>, GatewayError> {
        let config = self.config.clone();
        let found = tokio::task::spawn_blocking(move || {
            let names = config.home.iter().flat_map(|home| candidate_paths(home, folder.name));
            names.into_iter().find(|path| is_unmodified(path, folder.files))
        });
        let found = found.await.map_err(|_| GatewayError::Stopping)?;
        Ok(found.map(|path| path.to_string_lossy().into_owned()))
    }
}

fn is_unmodified(path: &Path, files: &[(&str, &str)]) -> bool {
    let is_same = |root: &RootDir, (file, text): &(&str, &str)| {
        let read = root.read(Path::new(file), u64::try_from(text.len()).unwrap_or(u64::MAX));
        read.is_ok_and(|bytes| bytes == text.as_bytes())
    };
    RootDir::open(path).is_ok_and(|root| files.iter().all(|file| is_same(&root, file)))
}

/// The places where such a folder is made, in their order.
fn candidate_paths(home: &Path, name: &str) -> Vec<PathBuf> {
    let numbered = |number| match number {
        1 => home.join(name),
        _ => home.join(format!("{name}-{number}")),
    };
    (1..=MAX_NAME_ATTEMPTS).map(numbered).collect()
}

fn create_project_folder(
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
    // Not fit to be a project: nothing was written yet, and nothing stays behind.
    let checked = project_folder::resolve_project_folder(&path.to_string_lossy(), config);
    let path = checked.inspect_err(|_| {
        if let Err(error) = fs::remove_dir(&path) {
            tracing::warn!(%error, "an empty folder stays behind");
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

/// A new folder in the home folder, under the first name that is free.
fn create_numbered_folder(name: &str, config: &GatewayConfig) -> Result<PathBuf, GatewayError> {
    let why = || "there is no home folder; name one".to_owned();
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
    let why = format!("{MAX_NAME_ATTEMPTS} folders like it are there already; name another");
    Err(GatewayError::PathRefused { path: home.join(name).display().to_string(), why })
}

fn create_folder_error(path: &Path, error: &io::Error) -> GatewayError {
    let why = if error.kind() == io::ErrorKind::AlreadyExists {
        "it is there already, and nothing is written over".to_owned()
    } else {
        format!("it cannot be made: {error}")
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
    fn a_folder_is_made_under_the_first_free_name_and_nothing_is_written_over() {
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

        assert!(!is_unmodified(&home.join("tour"), FILES), "somebody wrote into it");
        assert!(is_unmodified(&home.join("tour-2"), FILES));
        assert!(!is_unmodified(&home.join("tour-3"), FILES), "it is not there");

        let path = |path: PathBuf| Some(path.to_str().unwrap().to_owned());
        assert_eq!(
            create_project_folder(&folder(Some("~/mine".to_owned())), &config).unwrap(),
            home.join("mine")
        );
        let error = create_project_folder(&folder(path(home.join("tour"))), &config).unwrap_err();
        assert!(error.to_string().contains("is there already"), "{error}");
        let error = create_project_folder(&folder(path(data.join("tour"))), &config).unwrap_err();
        assert!(error.to_string().contains("Provost keeps its own data"), "{error}");
        assert!(!data.join("tour").exists(), "it stayed behind");
        let error = create_project_folder(
            &folder(None),
            &GatewayConfig { data, ..GatewayConfig::default() },
        )
        .unwrap_err();
        assert!(error.to_string().contains("no home folder"), "{error}");
    }
}
