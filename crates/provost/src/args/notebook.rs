//! Arguments of `provost notebook`.

use clap::{Args, Subcommand};

use super::JsonArgs;

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
