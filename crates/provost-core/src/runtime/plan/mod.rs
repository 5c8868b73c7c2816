//! What to run: `provost.toml` says it, or it is detected.
//!
//! Pure: the files come through [`ProjectFiles`]. Everything chosen says why.

mod detect;
mod node;
mod plan_file;
mod python;
mod rust;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

pub use plan_file::RuntimePlanError;

/// The file that says what to run.
pub const PLAN_FILE: &str = "provost.toml";

/// The files that decide what is run. What they hold is pinned with an answer.
pub const PLAN_SOURCE_FILES: &[&str] = &[
    PLAN_FILE,
    "package.json",
    "Procfile",
    "manage.py",
    ".flaskenv",
    "main.py",
    "app.py",
    "Cargo.toml",
    "build.rs",
    "go.mod",
    "Makefile",
    "makefile",
    "GNUmakefile",
];

/// The few things that a detection asks of a project's folder.
pub trait ProjectFiles {
    /// Whether a file or folder is there; the path is relative.
    fn exists(&self, path: &str) -> bool;
    /// What a small text file holds; none if it is not there, too large or no text.
    fn read_text(&self, path: &str) -> Option<String>;
    /// The names in a folder, in the order of the alphabet; none if it is not there.
    /// Of a folder with very many, some.
    fn list_names(&self, folder: &str) -> Vec<String>;
}

/// What to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuntimePlan {
    /// How it is built.
    pub build: Option<String>,
    /// Whether a run begins with the build.
    pub build_first: bool,
    /// What serves it.
    pub dev: Option<DevServerProgram>,
    /// The port it will listen on, if that is known.
    pub port: Option<u16>,
    /// Variables for both.
    pub env: BTreeMap<String, String>,
    /// Whether it is restarted.
    pub restart: RestartPolicy,
    /// Why just this, in plain words.
    pub why: String,
}

/// What serves a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DevServerProgram {
    /// A line for the shell.
    Shell(String),
    /// Our own server for files.
    Static {
        /// The folder, relative to the project.
        root: String,
    },
}

impl DevServerProgram {
    /// As people read it.
    pub fn describe(&self) -> String {
        match self {
            Self::Shell(line) => line.clone(),
            Self::Static { root } => format!("serve the files in {root}"),
        }
    }
}

/// Whether a dev server comes back after a crash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RestartPolicy {
    /// A person looks first.
    #[default]
    Never,
    /// After a wait that grows.
    OnCrash,
}

impl RuntimePlan {
    fn new(why: impl Into<String>) -> Self {
        Self {
            build: None,
            build_first: false,
            dev: None,
            port: None,
            env: BTreeMap::new(),
            restart: RestartPolicy::default(),
            why: why.into(),
        }
    }

    fn with_dev_command(self, line: impl Into<String>) -> Self {
        Self { dev: Some(DevServerProgram::Shell(line.into())), ..self }
    }

    fn with_build_command(self, line: impl Into<String>) -> Self {
        Self { build: Some(line.into()), ..self }
    }

    /// What the project's files say: `provost.toml`, else what is detected.
    pub fn from_project(files: &impl ProjectFiles) -> Result<Option<Self>, RuntimePlanError> {
        match files.read_text(PLAN_FILE) {
            Some(text) => Self::parse(&text).map(Some),
            None if files.exists(PLAN_FILE) => Err(RuntimePlanError::unreadable()),
            None => detect::detect_plan(files),
        }
    }

    /// What is detected, whatever `provost.toml` says.
    pub fn detect(files: &impl ProjectFiles) -> Result<Option<Self>, RuntimePlanError> {
        detect::detect_plan(files)
    }

    /// Reads `provost.toml`.
    pub fn parse(text: &str) -> Result<Self, RuntimePlanError> {
        plan_file::parse_plan(text)
    }

    /// The text of a `provost.toml` that says the same.
    pub fn to_toml(&self) -> String {
        plan_file::format_plan(self)
    }

    /// What the state machine needs to know.
    pub fn dev_server_options(&self) -> super::state_machine::DevServerOptions {
        super::state_machine::DevServerOptions {
            build: self.build_first && self.build.is_some(),
            restart: self.restart == RestartPolicy::OnCrash,
        }
    }
}
