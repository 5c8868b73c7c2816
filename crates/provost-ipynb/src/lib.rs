//! Notebook files of Jupyter (`.ipynb`): read with a list of what was repaired, and written.
//!
//! It works on JSON as it is, so that metadata and MIME types that it does not know survive. What
//! a notebook here has no place for, such as the id of a cell in the file, is kept in the metadata
//! under [`KEPT`] and put back when the file is written.

mod outputs;
mod read;
mod upgrade;
mod write;

use provost_proto::notebook::{CellKind, OutputContent};
use serde_json::{Map, Value};

pub use read::read_ipynb;
pub use write::write_ipynb;

/// The name of the metadata that holds what only the file knows.
pub const KEPT: &str = "provost";

/// A notebook as a file has it.
#[derive(Debug, Clone, PartialEq)]
pub struct IpynbNotebook {
    /// The title in its metadata.
    pub title: Option<String>,
    /// The language of its kernel.
    pub language: Option<String>,
    /// Its metadata.
    pub metadata: Map<String, Value>,
    /// Its cells, in order.
    pub cells: Vec<IpynbCell>,
}

/// A cell as a file has it.
#[derive(Debug, Clone, PartialEq)]
pub struct IpynbCell {
    /// Its kind.
    pub kind: CellKind,
    /// Its source.
    pub source: String,
    /// Its metadata.
    pub metadata: Map<String, Value>,
    /// The number of its last execution.
    pub count: Option<u32>,
    /// Its outputs.
    pub outputs: Vec<OutputContent>,
}

/// A file that is not a notebook.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IpynbError {
    /// It is not one at all.
    #[error("this is not a notebook file: {0}")]
    NotANotebook(&'static str),
    /// It is of a format that is not known.
    #[error("notebook format {0} is not known; this reads 3 and 4")]
    UnknownFormat(u64),
}
