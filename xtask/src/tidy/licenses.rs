//! Every dependency has a license that `deny.toml` allows.

use std::fs;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::shell::root;

pub(crate) fn check(metadata: &Value) -> Result<Vec<String>> {
    let deny: toml::Table = toml::from_str(&fs::read_to_string(root().join("deny.toml"))?)?;
    let allowed =
        deny["licenses"]["allow"].as_array().context("deny.toml has no list of licenses")?;
    let allowed: Vec<&str> = allowed.iter().filter_map(toml::Value::as_str).collect();
    let packages = metadata["packages"].as_array().context("cargo metadata has no packages")?;
    let mut found = Vec::new();
    for package in packages {
        let license = package["license"].as_str().unwrap_or_default();
        if !is_allowed(license, &allowed) {
            found.push(format!(
                "{} has the license `{license}`, which deny.toml does not allow",
                package["name"]
            ));
        }
    }
    Ok(found)
}

/// Whether one alternative of the expression needs only allowed licenses.
fn is_allowed(expression: &str, allowed: &[&str]) -> bool {
    let flat = expression.replace(['(', ')'], " ").replace('/', " OR ");
    if expression.contains('(') {
        // Nesting is not parsed: then every license in the expression must be allowed.
        let names = flat.split(" OR ").flat_map(|part| part.split(" AND "));
        return names.map(str::trim).all(|name| allowed.contains(&name));
    }
    flat.split(" OR ")
        .any(|choice| choice.split(" AND ").all(|name| allowed.contains(&name.trim())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_license_is_allowed_if_one_alternative_is() {
        let allowed = ["MIT", "Apache-2.0", "Unicode-3.0"];
        for (expression, expected) in [
            ("MIT", true),
            ("MIT/Apache-2.0", true),
            ("MIT OR GPL-3.0", true),
            ("GPL-3.0", false),
            ("MIT AND GPL-3.0", false),
            ("(MIT OR Apache-2.0) AND Unicode-3.0", true),
            ("(MIT OR GPL-3.0) AND Unicode-3.0", false),
            ("", false),
        ] {
            assert_eq!(is_allowed(expression, &allowed), expected, "{expression}");
        }
    }
}
