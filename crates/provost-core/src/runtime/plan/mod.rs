//! What to run: `provost.toml` says it, or it is detected.
//!
//! Pure: the files come through [`Listing`]. Everything chosen says why.

mod detect;
mod file;
mod node;
mod python;
mod rust;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

pub use file::PlanError;

/// The file that says what to run.
pub const FILE: &str = "provost.toml";

/// The files that decide what is run. What they hold is pinned with an answer.
pub const FILES: &[&str] = &[
    FILE,
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
pub trait Listing {
    /// Whether a file or folder is there; the path is relative.
    fn has(&self, path: &str) -> bool;
    /// What a small text file holds; none if it is not there, too large or no text.
    fn read(&self, path: &str) -> Option<String>;
    /// The names in a folder, in the order of the alphabet; none if it is not there.
    /// Of a folder with very many, some.
    fn names(&self, folder: &str) -> Vec<String>;
}

/// What to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// How it is built.
    pub build: Option<String>,
    /// Whether a run begins with the build.
    pub build_first: bool,
    /// What serves it.
    pub dev: Option<Program>,
    /// The port it will listen on, if that is known.
    pub port: Option<u16>,
    /// Variables for both.
    pub env: BTreeMap<String, String>,
    /// Whether it is restarted.
    pub restart: Restart,
    /// Why just this, in plain words.
    pub why: String,
}

/// What serves a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Program {
    /// A line for the shell.
    Shell(String),
    /// Our own server for files.
    Static {
        /// The folder, relative to the project.
        root: String,
    },
}

impl Program {
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
pub enum Restart {
    /// A person looks first.
    #[default]
    Never,
    /// After a wait that grows.
    OnCrash,
}

impl Plan {
    fn new(why: impl Into<String>) -> Self {
        Self {
            build: None,
            build_first: false,
            dev: None,
            port: None,
            env: BTreeMap::new(),
            restart: Restart::default(),
            why: why.into(),
        }
    }

    fn dev(self, line: impl Into<String>) -> Self {
        Self { dev: Some(Program::Shell(line.into())), ..self }
    }

    fn build(self, line: impl Into<String>) -> Self {
        Self { build: Some(line.into()), ..self }
    }

    /// What the project's files say: `provost.toml`, else what is detected.
    pub fn find(files: &impl Listing) -> Result<Option<Self>, PlanError> {
        match files.read(FILE) {
            Some(text) => Self::parse(&text).map(Some),
            None if files.has(FILE) => Err(PlanError::unreadable()),
            None => detect::detect(files),
        }
    }

    /// What is detected, whatever `provost.toml` says.
    pub fn detect(files: &impl Listing) -> Result<Option<Self>, PlanError> {
        detect::detect(files)
    }

    /// Reads `provost.toml`.
    pub fn parse(text: &str) -> Result<Self, PlanError> {
        file::read(text)
    }

    /// The text of a `provost.toml` that says the same.
    pub fn to_toml(&self) -> String {
        file::write(self)
    }

    /// What the state machine needs to know.
    pub fn shape(&self) -> super::step::Shape {
        super::step::Shape {
            build: self.build_first && self.build.is_some(),
            restart: self.restart == Restart::OnCrash,
        }
    }
}
