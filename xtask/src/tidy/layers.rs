//! A crate depends only on crates of strictly lower layers.

use std::collections::HashMap;

use anyhow::{Context, Result};
use serde_json::Value;

/// Crates that only tests may depend on, and tools.
const FOR_TESTS: &[&str] = &["provost-fake-model"];

pub(crate) fn check(metadata: &Value) -> Result<Vec<String>> {
    let packages = metadata["packages"].as_array().context("cargo metadata has no packages")?;
    let ours: Vec<&Value> = packages.iter().filter(|package| package["source"].is_null()).collect();
    let name = |package: &Value| package["name"].as_str().unwrap_or_default().to_owned();
    let mut found = Vec::new();
    let mut layers: HashMap<String, u64> = HashMap::new();
    for package in &ours {
        let about = &package["metadata"]["provost"];
        match about["layer"].as_u64() {
            Some(layer) => drop(layers.insert(name(package), layer)),
            None if about["tool"] == true => {}
            None => found.push(format!("{} states no layer in its Cargo.toml", name(package))),
        }
    }
    for package in &ours {
        let Some(own) = layers.get(&name(package)) else { continue };
        for dependency in package["dependencies"].as_array().into_iter().flatten() {
            let to = dependency["name"].as_str().unwrap_or_default();
            let local = dependency["source"].is_null();
            if FOR_TESTS.contains(&to) && dependency["kind"] != "dev" {
                found.push(format!("{} needs {to} for more than tests", name(package)));
            }
            match layers.get(to) {
                Some(layer) if layer < own => {}
                Some(layer) => found.push(format!(
                    "{} (layer {own}) depends on {to} (layer {layer}); calls go down only",
                    name(package)
                )),
                None if local => found.push(format!("{} depends on the tool {to}", name(package))),
                None => {}
            }
        }
    }
    Ok(found)
}
