//! What executions output.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::session::{body, wire};
use crate::{Hash, OutputId};

/// Representations of one output by MIME type.
pub type MimeBundle = BTreeMap<String, MimeData>;

wire! {
    /// One representation of an output.
    pub enum MimeData {
        /// The data itself: text as a string, binary as base64, JSON as it is.
        #[cfg_attr(feature = "openapi", schema(value_type = Object))]
        Inline(#[cfg_attr(feature = "ts", ts(type = "unknown"))] Value),
        /// Data that is an artifact of the notebook.
        Artifact {
            /// The hash of the data.
            hash: Hash,
            /// Its size in bytes.
            #[cfg_attr(feature = "ts", ts(type = "number"))]
            size: u64,
        },
    }

    /// Which stream of a program printed.
    #[derive(Copy, Eq, PartialOrd, Ord)]
    pub enum StreamName {
        /// Standard output.
        Stdout,
        /// Standard error.
        Stderr,
    }

    /// One output.
    #[serde(tag = "type")]
    pub enum OutputContent {
        /// Printed text; more can be appended.
        Stream {
            /// The stream.
            name: StreamName,
            /// The text, with ANSI sequences and carriage returns as they were printed.
            text: String,
        },
        /// Something to show.
        Display {
            /// Its representations.
            data: MimeBundle,
            /// Metadata by MIME type.
            #[serde(default, skip_serializing_if = "serde_json::Map::is_empty")]
            #[cfg_attr(feature = "ts", ts(type = "Record<string, unknown>"))]
            #[cfg_attr(feature = "openapi", schema(value_type = Object))]
            metadata: serde_json::Map<String, Value>,
            /// The name under which it can be replaced.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            #[cfg_attr(feature = "ts", ts(optional))]
            display: Option<String>,
        },
        /// The value of the last expression.
        Result {
            /// Its representations.
            data: MimeBundle,
            /// Metadata by MIME type.
            #[serde(default, skip_serializing_if = "serde_json::Map::is_empty")]
            #[cfg_attr(feature = "ts", ts(type = "Record<string, unknown>"))]
            #[cfg_attr(feature = "openapi", schema(value_type = Object))]
            metadata: serde_json::Map<String, Value>,
            /// The name under which it can be replaced.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            #[cfg_attr(feature = "ts", ts(optional))]
            display: Option<String>,
            /// The number of the execution.
            count: u32,
        },
        /// An exception.
        Error {
            /// Its class.
            name: String,
            /// Its message.
            value: String,
            /// The lines of the traceback, with ANSI sequences.
            traceback: Vec<String>,
        },
        /// Markdown; more can be appended.
        Markdown {
            /// The text.
            text: String,
        },
    }
}

body! {
    /// An output, or the continuation of one, in a page.
    pub struct OutputPart {
        /// The output.
        pub output: OutputId,
        /// Its number in the execution, from 0; later ones are shown below.
        pub ordinal: u32,
        /// Whether this continues a text that began in an earlier page.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        #[cfg_attr(feature = "ts", ts(optional, as = "Option<bool>"))]
        pub continues: bool,
        /// The content.
        pub content: OutputContent,
    }
}
