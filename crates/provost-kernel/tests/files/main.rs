//! The file actions on real folders, in normal use and under attack.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]
#![expect(clippy::needless_pass_by_value, reason = "requests are built at the call")]

mod edit;
mod golden;
mod hostile;
mod list;
mod model;
mod names;
mod patch;
mod read;
mod rollback;
mod search;
mod visibility;
mod write;

use std::fs;
use std::path::{Path, PathBuf};

use provost_core::action::Action;
use provost_kernel::{ActionError, files};
use provost_proto::Code;
use provost_sandbox::root_dir::RootDir;
use serde_json::Value;

/// A project in a temporary folder, with another folder outside of it.
struct Project {
    _dir: tempfile::TempDir,
    inside: PathBuf,
    outside: PathBuf,
    root: RootDir,
}

impl Project {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let (inside, outside) = (dir.path().join("inside"), dir.path().join("outside"));
        fs::create_dir(&inside).unwrap();
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("secret"), "SECRET\n").unwrap();
        let root = RootDir::open(&inside).unwrap();
        Self { _dir: dir, inside, outside, root }
    }

    /// A project with files; names that end with a slash are folders.
    fn with(files: &[(&str, &str)]) -> Self {
        let project = Self::new();
        for (path, content) in files {
            let path = project.at(path);
            if path.as_os_str().as_encoded_bytes().ends_with(b"/") {
                fs::create_dir_all(path).unwrap();
                continue;
            }
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        project
    }

    fn at(&self, path: impl AsRef<Path>) -> PathBuf {
        self.inside.join(path)
    }

    /// The only function that calls the API.
    fn attempt(&self, name: &str, params: Value) -> Result<Value, ActionError> {
        run(&self.root, name, params)
    }

    #[track_caller]
    fn done(&self, name: &str, params: Value) -> Value {
        match self.attempt(name, params) {
            Ok(answer) => answer,
            Err(error) => panic!("{}: {error} {:?}", error.code, error.details),
        }
    }

    #[track_caller]
    fn fails(&self, name: &str, params: Value, code: Code) -> ActionError {
        match self.attempt(name, params.clone()) {
            Ok(answer) => panic!("{name} {params} succeeded: {answer}"),
            Err(error) => {
                assert_eq!(error.code, code, "{name} {params}: {error}");
                error
            }
        }
    }

    #[track_caller]
    fn holds(&self, path: &str, content: &str) {
        assert_eq!(fs::read_to_string(self.at(path)).unwrap(), content, "{path}");
    }

    /// The names in the project's root, sorted.
    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.inside).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

fn run(root: &RootDir, name: &str, params: Value) -> Result<Value, ActionError> {
    match Action::parse(name, params).unwrap() {
        Action::File(action) => files::execute_file_action(root, &action, &|| false),
        Action::Process(action) => panic!("{action:?} is not a file action"),
        Action::Runtime(action) => panic!("{action:?} is not a file action"),
    }
}

/// The paths in `changed`, with the kind of the change.
fn changed(answer: &Value) -> Vec<String> {
    let one = |change: &Value| {
        let text = |field: &str| change[field].as_str().unwrap().to_owned();
        format!("{} {}", text("kind"), text("path"))
    };
    answer["changed"].as_array().unwrap().iter().map(one).collect()
}

fn hash(content: impl AsRef<[u8]>) -> String {
    blake3::hash(content.as_ref()).to_hex().to_string()
}

/// Runs as an ordinary user, on a thread that stays one.
fn as_nobody(test: impl FnOnce() + Send) {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            if rustix::process::geteuid().is_root() {
                let nobody = rustix::fs::Uid::from_raw(65534);
                rustix::thread::set_thread_res_uid(nobody, nobody, nobody).unwrap();
            }
            test();
        });
        thread.join().unwrap();
    });
}
