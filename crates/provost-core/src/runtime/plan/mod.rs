//! What to run: as `provost.toml` says, or else detected.
//!
//! It does no I/O: the files come through [`ProjectFiles`]. Every plan contains the reason for
//! its choice.

mod detect;
mod node;
mod plan_file;
mod python;
mod rust;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

pub use plan_file::RuntimePlanError;

/// The file that configures what to run.
pub const PLAN_FILE: &str = "provost.toml";

/// The files that determine what runs. Their hashes are pinned with an approval.
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

/// Access to the project's files.
pub trait ProjectFiles {
    /// Whether a file or folder exists; the path is relative.
    fn exists(&self, path: &str) -> bool;
    /// The content of a small text file; `None` if it is missing, too large or not text.
    fn read_text(&self, path: &str) -> Option<String>;
    /// The sorted names in a folder; empty if it is missing. Of a very large folder, some.
    fn list_names(&self, folder: &str) -> Vec<String>;
}

/// What to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuntimePlan {
    /// The build command.
    pub build: Option<String>,
    /// Whether a run begins with a build.
    pub build_first: bool,
    /// The dev server.
    pub dev: Option<DevServerProgram>,
    /// The port that it will listen on, if it is known.
    pub port: Option<u16>,
    /// Variables for both.
    pub env: BTreeMap<String, String>,
    /// Whether the dev server is restarted after a crash.
    pub restart: RestartPolicy,
    /// The reason for this plan, as text for people.
    pub why: String,
}

/// The program that serves a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DevServerProgram {
    /// A line for a shell.
    Shell(String),
    /// Provost's own server for static files.
    Static {
        /// The folder, relative to the project.
        root: String,
    },
}

impl DevServerProgram {
    /// The program as text for people.
    pub fn describe(&self) -> String {
        match self {
            Self::Shell(line) => line.clone(),
            Self::Static { root } => format!("serve the files in {root}"),
        }
    }
}

/// Whether a dev server is restarted after a crash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RestartPolicy {
    /// A person has to restart it.
    #[default]
    Never,
    /// After a growing delay.
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

    /// The plan of `provost.toml`, or else the detected one.
    pub fn from_project(files: &impl ProjectFiles) -> Result<Option<Self>, RuntimePlanError> {
        match files.read_text(PLAN_FILE) {
            Some(text) => Self::parse(&text).map(Some),
            None if files.exists(PLAN_FILE) => Err(RuntimePlanError::unreadable()),
            None => detect::detect_plan(files),
        }
    }

    /// The detected plan, ignoring `provost.toml`.
    pub fn detect(files: &impl ProjectFiles) -> Result<Option<Self>, RuntimePlanError> {
        detect::detect_plan(files)
    }

    /// Parses `provost.toml`.
    pub fn parse(text: &str) -> Result<Self, RuntimePlanError> {
        plan_file::parse_plan(text)
    }

    /// The text of an equivalent `provost.toml`.
    pub fn to_toml(&self) -> String {
        plan_file::format_plan(self)
    }

    /// The options for the state machine.
    pub fn dev_server_options(&self) -> super::state_machine::DevServerOptions {
        super::state_machine::DevServerOptions {
            build: self.build_first && self.build.is_some(),
            restart: self.restart == RestartPolicy::OnCrash,
        }
    }
}
