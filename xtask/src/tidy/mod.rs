//! Checks of what the compiler does not: layers, lints, licenses, names, cursors,
//! documented error codes.

mod cursors;
mod error_codes;
mod identifiers;
mod layers;
mod licenses;
mod lints;
mod named_tests;
mod retired_prose;
mod retired_words;
mod source_files;
mod source_text;
mod sources;
mod type_names;

use anyhow::{Result, bail};

use crate::shell::{cargo, output};

/// Runs all checks and reports everything they found.
pub(crate) fn run_checks() -> Result<()> {
    let metadata = output(&mut cargo(&["metadata", "--format-version=1", "--locked"]))?;
    let metadata: serde_json::Value = serde_json::from_str(&metadata)?;
    let mut found = Vec::new();
    found.extend(layers::check(&metadata)?);
    found.extend(lints::check()?);
    found.extend(named_tests::check()?);
    found.extend(sources::check()?);
    found.extend(retired_words::check()?);
    found.extend(retired_prose::check()?);
    found.extend(type_names::check()?);
    found.extend(cursors::check()?);
    found.extend(error_codes::check()?);
    found.extend(licenses::check(&metadata)?);
    if found.is_empty() {
        println!("tidy");
        return Ok(());
    }
    bail!("not tidy:\n  {}", found.join("\n  "));
}
