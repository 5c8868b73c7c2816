//! A crate depends only on crates of lower layers.

use std::collections::HashMap;

use anyhow::{Context, Result};
use serde_json::Value;

/// Crates that only tests may depend on.
const TEST_CRATES: &[&str] = &["provost-fake-model"];

pub(crate) fn check(metadata: &Value) -> Result<Vec<String>> {
    let packages = metadata["packages"].as_array().context("cargo metadata has no packages")?;
    let ours: Vec<&Value> = packages.iter().filter(|package| package["source"].is_null()).collect();
    let name = |package: &Value| package["name"].as_str().unwrap_or_default().to_owned();
    let mut found = Vec::new();
    let mut layers: HashMap<String, u64> = HashMap::new();
    for package in &ours {
        let settings = &package["metadata"]["provost"];
        match settings["layer"].as_u64() {
            Some(layer) => drop(layers.insert(name(package), layer)),
            None if settings["tool"] == true => {}
            None => found.push(format!("{} has no layer in its Cargo.toml", name(package))),
        }
    }
    for package in &ours {
        let Some(own) = layers.get(&name(package)) else { continue };
        for dependency in package["dependencies"].as_array().into_iter().flatten() {
            let to = dependency["name"].as_str().unwrap_or_default();
            let local = dependency["source"].is_null();
            if TEST_CRATES.contains(&to) && dependency["kind"] != "dev" {
                found.push(format!("{} depends on {to}, which is only for tests", name(package)));
            }
            match layers.get(to) {
                Some(layer) if layer < own => {}
                Some(layer) => found.push(format!(
                    "{} (layer {own}) depends on {to} (layer {layer}); only lower layers are allowed",
                    name(package)
                )),
                None if local => found.push(format!("{} depends on the tool {to}", name(package))),
                None => {}
            }
        }
    }
    Ok(found)
}
