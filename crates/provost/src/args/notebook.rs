//! Arguments of `provost notebook`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::{JsonArgs, ProfileArg};

#[derive(Debug, Subcommand)]
pub(crate) enum NotebookSubcommand {
    /// List the notebooks of a project, the newest first.
    List {
        #[command(flatten)]
        project: NotebookProjectArgs,
        #[command(flatten)]
        json: JsonArgs,
    },
    /// Create an empty notebook.
    New {
        /// Its title.
        title: String,
        /// The language of its code cells; default: python.
        #[arg(long, value_name = "NAME")]
        language: Option<String>,
        #[command(flatten)]
        project: NotebookProjectArgs,
        #[command(flatten)]
        json: JsonArgs,
    },
    /// Create a notebook with the content of an `.ipynb` file.
    Import {
        /// The file.
        file: PathBuf,
        /// The title; default: that of the file, or its name.
        #[arg(long)]
        title: Option<String>,
        #[command(flatten)]
        project: NotebookProjectArgs,
        #[command(flatten)]
        json: JsonArgs,
    },
    /// Write a notebook as an `.ipynb` file.
    Export {
        /// Its title, or the beginning or end of its id.
        #[arg(value_name = "NOTEBOOK")]
        notebook: String,
        /// The file; default: standard output.
        #[arg(long, short, value_name = "FILE")]
        output: Option<PathBuf>,
        #[command(flatten)]
        project: NotebookProjectArgs,
    },
    /// Execute a notebook from the first cell to the last, for CI.
    ///
    /// It prints what the cells output as it comes, and stops at the first cell that
    /// fails. A file, and a notebook with parameters, are executed as a copy, which is
    /// deleted afterwards. Exits with 1 if a cell failed, with 124 if the time was up.
    Run(NotebookRunArgs),
    /// Print the cells of a notebook and what they printed.
    Show {
        /// Its title, or the beginning or end of its id.
        #[arg(value_name = "NOTEBOOK")]
        notebook: String,
        #[command(flatten)]
        project: NotebookProjectArgs,
        #[command(flatten)]
        json: JsonArgs,
    },
}

#[derive(Debug, Args)]
pub(crate) struct NotebookProjectArgs {
    /// The project: id or short name; default: the project of the current folder.
    #[arg(long, value_name = "P")]
    pub(crate) project: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct NotebookRunArgs {
    /// A notebook, by title or id, or an `.ipynb` file.
    #[arg(value_name = "NOTEBOOK|FILE")]
    pub(crate) notebook: String,
    /// The most time for the whole run, in seconds.
    #[arg(long, value_name = "SECONDS")]
    pub(crate) timeout: Option<u64>,
    /// A parameter: a variable of the environment of shell cells, a variable in Python.
    #[arg(long = "param", value_name = "NAME=VALUE")]
    pub(crate) params: Vec<String>,
    /// The type of runtime; default: the active one, else one for the notebook's language.
    #[arg(long = "type", value_name = "TYPE")]
    pub(crate) runtime_type: Option<String>,
    /// The role in which cells request actions; default: act as yourself.
    #[arg(long, value_name = "R")]
    pub(crate) role: Option<String>,
    /// Write a report for CI in the format of `JUnit`, with a test for each cell.
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
    /// Write the executed notebook as an `.ipynb` file.
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Keep the copy that was executed.
    #[arg(long)]
    pub(crate) keep: bool,
    #[command(flatten)]
    pub(crate) project: NotebookProjectArgs,
}

#[derive(Debug, Args)]
pub(crate) struct NotebookRuntimeArgs {
    /// The notebook: its title, or the beginning or end of its id; with --server, its id.
    #[arg(long, value_name = "N")]
    pub(crate) notebook: String,
    /// What executes the cells.
    #[arg(long = "type", value_enum, value_name = "TYPE")]
    pub(crate) runtime_type: RuntimeTypeArg,
    /// The daemon, such as `http://127.0.0.1:3001`; default: the one of the data folder.
    ///
    /// [env: `PROVOST_SERVER`]
    #[arg(long, value_name = "URL")]
    pub(crate) server: Option<String>,
    /// A file with a token for this notebook; default: your own token.
    ///
    /// `provost token create --class runtime --notebook ID` creates one. The variable
    /// `PROVOST_TOKEN` can hold it instead.
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// The slot of the notebook; default: its first one.
    #[arg(long, value_name = "NAME")]
    pub(crate) slot: Option<String>,
    /// The name of the runtime in the log; default: the type and the name of this machine.
    #[arg(long, value_name = "ID")]
    pub(crate) id: Option<String>,
    /// The sandbox profile in which shell cells run.
    #[arg(long, value_enum, default_value = "build")]
    pub(crate) profile: ProfileArg,
    #[command(flatten)]
    pub(crate) project: NotebookProjectArgs,
}

/// The types of runtimes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RuntimeTypeArg {
    /// Prints the source of each cell: for tests.
    Echo,
    /// Runs each cell as a shell script of its own, in the sandbox, in the current folder.
    Shell,
}

impl RuntimeTypeArg {
    /// The name in the log.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Echo => "echo",
            Self::Shell => "shell",
        }
    }
}
