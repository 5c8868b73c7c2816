//! Golden files: the exact bytes of everything that is stored or sent.
//!
//! Rust identifiers may be renamed at any time; what is on disk and on the wire may
//! not change with them. Each file under `files/` holds sections of encoded values.
//! A value must encode to its line, and decode from it. `UPDATE_EXPECT=1 cargo test`
//! rewrites the files; a changed line is a change of the format and needs an issue.
//!
//! Struct literals without `..` and matches without `_` keep the samples of a type complete: a
//! new field or variant does not compile until a sample has it. `completeness` finds new types,
//! and fields that no line shows because every sample holds their default.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod api;
mod completeness;
mod documents;
mod events;
mod governance;
mod kernel;
mod kinds;
mod lists;
mod notebook;
mod notebook_views;
mod optional_fields;
mod runtime;
mod samples;
mod session;
mod session_views;
mod terminal;

use std::fmt::{Debug, Write as _};

use expect_test::ExpectFile;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The text of one golden file, section by section.
#[derive(Debug, Default)]
struct Golden(String);

impl Golden {
    /// Adds one section: a heading, then one line of JSON per value.
    ///
    /// The heading is a word of the format, not the name of a Rust type.
    #[track_caller]
    fn section<T>(&mut self, heading: &str, values: &[T])
    where
        T: Serialize + DeserializeOwned + PartialEq + Debug,
    {
        assert!(!values.is_empty(), "no sample of {heading}");
        self.heading(heading);
        for value in values {
            let line = serde_json::to_string(value).unwrap();
            let decoded: T = serde_json::from_str(&line).unwrap();
            assert_eq!(&decoded, value, "{heading} does not decode from its own encoding");
            self.line(&line);
        }
    }

    #[track_caller]
    fn heading(&mut self, heading: &str) {
        let line = format!("## {heading}\n");
        assert!(!self.0.contains(&line), "{heading} occurs twice");
        let blank = if self.0.is_empty() { "" } else { "\n" };
        write!(self.0, "{blank}{line}").unwrap();
    }

    fn line(&mut self, line: &str) {
        writeln!(self.0, "{line}").unwrap();
    }

    #[track_caller]
    fn check(&self, file: &ExpectFile) {
        file.assert_eq(&self.0);
    }
}

/// What older or terser writers leave out decodes to the same value.
#[track_caller]
fn decodes_to<T: DeserializeOwned + PartialEq + Debug>(json: &str, value: &T) {
    assert_eq!(&serde_json::from_str::<T>(json).unwrap(), value, "{json}");
}

/// Fails to compile if a variant is not listed, and fails if a listed one has no sample.
macro_rules! assert_every_variant {
    ($samples:expr, $enum:ty { $($variant:ident),+ $(,)? }) => {{
        type Variants = $enum;
        let name = |sample: &Variants| match sample {
            $(Variants::$variant { .. } => stringify!($variant),)+
        };
        let seen: Vec<_> = $samples.iter().map(name).collect();
        for variant in [$(stringify!($variant)),+] {
            assert!(seen.contains(&variant), "no sample of {variant}");
        }
    }};
}

/// All variants of an enum without fields. Fails to compile if one is not listed.
macro_rules! every {
    ($enum:ty { $($variant:ident),+ $(,)? }) => {{
        type Variants = $enum;
        let all = [$(Variants::$variant),+];
        crate::assert_every_variant!(all, $enum { $($variant),+ });
        all
    }};
}

use {assert_every_variant, every};
