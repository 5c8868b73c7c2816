//! Making a new folder with files in it, and opening it as a project.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use provost_proto::Project;
use provost_sandbox::root_dir::{FileWriteMode, RootDir};

use crate::{Gateway, GatewayError, Opened, Places, Request, paths};

/// How many names are tried before a person has to choose one.
const NAMES: u32 = 99;

/// A folder that is to be made.
#[derive(Debug, Clone)]
pub struct NewFolder {
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
    pub async fn make_project(
        self: &Arc<Self>,
        request: Request<'_>,
        folder: NewFolder,
    ) -> Result<Project, GatewayError> {
        let places = self.places.clone();
        let made = tokio::task::spawn_blocking(move || make(&folder, &places));
        let path = made.await.map_err(|_| GatewayError::Stopping)??;
        match self.open_project(request, &path.to_string_lossy()).await? {
            Opened::Fresh(project) | Opened::Already(project) => Ok(project),
        }
    }
}

impl Gateway {
    /// The first folder in the home folder that was made like this before, and in which
    /// each of its files still is what it was.
    pub async fn untouched(&self, folder: NewFolder) -> Result<Option<String>, GatewayError> {
        let places = self.places.clone();
        let found = tokio::task::spawn_blocking(move || {
            let names = places.home.iter().flat_map(|home| names(home, folder.name));
            names.into_iter().find(|path| is_as_made(path, folder.files))
        });
        let found = found.await.map_err(|_| GatewayError::Stopping)?;
        Ok(found.map(|path| path.to_string_lossy().into_owned()))
    }
}

fn is_as_made(path: &Path, files: &[(&str, &str)]) -> bool {
    let is_same = |root: &RootDir, (file, text): &(&str, &str)| {
        let read = root.read(Path::new(file), u64::try_from(text.len()).unwrap_or(u64::MAX));
        read.is_ok_and(|bytes| bytes == text.as_bytes())
    };
    RootDir::open(path).is_ok_and(|root| files.iter().all(|file| is_same(&root, file)))
}

/// The places where such a folder is made, in their order.
fn names(home: &Path, name: &str) -> Vec<PathBuf> {
    let numbered = |number| match number {
        1 => home.join(name),
        _ => home.join(format!("{name}-{number}")),
    };
    (1..=NAMES).map(numbered).collect()
}

fn make(folder: &NewFolder, places: &Places) -> Result<PathBuf, GatewayError> {
    let path = match &folder.path {
        Some(text) => {
            let path = paths::typed(text, places)?;
            fs::create_dir(&path).map_err(|error| cannot(&path, &error))?;
            path
        }
        None => free(folder.name, places)?,
    };
    // Not fit to be a project: nothing was written yet, and nothing stays behind.
    let checked = paths::project_folder(&path.to_string_lossy(), places);
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
fn free(name: &str, places: &Places) -> Result<PathBuf, GatewayError> {
    let why = || "there is no home folder; name one".to_owned();
    let home =
        places.home.as_ref().ok_or_else(|| GatewayError::Invalid { field: "path", why: why() })?;
    for path in names(home, name) {
        match fs::create_dir(&path) {
            Ok(()) => return Ok(path),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(cannot(&path, &error)),
        }
    }
    let why = format!("{NAMES} folders like it are there already; name another");
    Err(GatewayError::PathRefused { path: home.join(name).display().to_string(), why })
}

fn cannot(path: &Path, error: &io::Error) -> GatewayError {
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

    fn folder(path: Option<String>) -> NewFolder {
        NewFolder { path, name: "tour", files: FILES }
    }

    #[test]
    fn a_folder_is_made_under_the_first_free_name_and_nothing_is_written_over() {
        let temp = tempfile::tempdir().unwrap();
        let base = temp.path().canonicalize().unwrap();
        let (home, data) = (base.join("home"), base.join("home/.data"));
        fs::create_dir_all(&data).unwrap();
        let places = Places { home: Some(home.clone()), data: data.clone(), ..Places::default() };

        assert_eq!(make(&folder(None), &places).unwrap(), home.join("tour"));
        fs::write(home.join("tour/c.txt"), "mine").unwrap();
        assert_eq!(make(&folder(None), &places).unwrap(), home.join("tour-2"));
        assert_eq!(fs::read_to_string(home.join("tour/c.txt")).unwrap(), "mine");
        assert_eq!(fs::read_to_string(home.join("tour-2/a/b.txt")).unwrap(), "b");

        assert!(!is_as_made(&home.join("tour"), FILES), "somebody wrote into it");
        assert!(is_as_made(&home.join("tour-2"), FILES));
        assert!(!is_as_made(&home.join("tour-3"), FILES), "it is not there");

        let path = |path: PathBuf| Some(path.to_str().unwrap().to_owned());
        assert_eq!(make(&folder(Some("~/mine".to_owned())), &places).unwrap(), home.join("mine"));
        let error = make(&folder(path(home.join("tour"))), &places).unwrap_err();
        assert!(error.to_string().contains("is there already"), "{error}");
        let error = make(&folder(path(data.join("tour"))), &places).unwrap_err();
        assert!(error.to_string().contains("Provost keeps its own data"), "{error}");
        assert!(!data.join("tour").exists(), "it stayed behind");
        let error = make(&folder(None), &Places { data, ..Places::default() }).unwrap_err();
        assert!(error.to_string().contains("no home folder"), "{error}");
    }
}
