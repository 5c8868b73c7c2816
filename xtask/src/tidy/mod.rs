//! What no compiler checks.

mod layers;
mod licences;
mod lints;
mod sources;

use anyhow::{Result, bail};

use crate::shell::{cargo, output};

/// Runs all checks and tells everything they found.
pub(crate) fn all() -> Result<()> {
    let metadata = output(&mut cargo(&["metadata", "--format-version=1", "--locked"]))?;
    let metadata: serde_json::Value = serde_json::from_str(&metadata)?;
    let mut found = Vec::new();
    found.extend(layers::check(&metadata)?);
    found.extend(lints::check()?);
    found.extend(sources::check()?);
    found.extend(licences::check(&metadata)?);
    if found.is_empty() {
        println!("tidy");
        return Ok(());
    }
    bail!("not tidy:\n  {}", found.join("\n  "));
}
