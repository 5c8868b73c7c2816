//! Every crate uses the workspace's lints. A crate's own `clippy.toml` replaces the
//! root's, so it must equal the root's without the lines that the crate may leave out.

use std::fs;

use anyhow::Result;

use crate::shell::root;

/// Crates with exceptions, and the methods that they may call.
const EXCEPTIONS: &[(&str, &[&str])] = &[
    ("crates/provost-sandbox", &["Command::new"]),
    ("crates/provost-store", &["SystemTime::now"]),
    ("crates/provost", &["env::var"]),
    ("xtask", &["Command::new", "env::var"]),
];

pub(crate) fn check() -> Result<Vec<String>> {
    let mut found = Vec::new();
    let rules = read_rules(&fs::read_to_string(root().join("clippy.toml"))?);
    let mut folders: Vec<String> = vec!["xtask".to_owned()];
    for entry in fs::read_dir(root().join("crates"))? {
        folders.push(format!("crates/{}", entry?.file_name().to_string_lossy()));
    }
    for folder in &folders {
        let manifest = fs::read_to_string(root().join(folder).join("Cargo.toml"))?;
        if !manifest.contains("[lints]\nworkspace = true") {
            found.push(format!("{folder}/Cargo.toml does not use the workspace's lints"));
        }
        let own = fs::read_to_string(root().join(folder).join("clippy.toml")).ok();
        let exception = EXCEPTIONS.iter().find(|(name, _)| name == folder);
        match (own, exception) {
            (None, None) => {}
            (None, Some(_)) => found.push(format!("{folder}/clippy.toml is missing")),
            (Some(_), None) => {
                found.push(format!("{folder} must not have its own clippy.toml"));
            }
            (Some(own), Some((_, without))) => {
                let expected: Vec<_> = rules
                    .iter()
                    .filter(|rule| !without.iter().any(|left_out| rule.contains(left_out)))
                    .cloned()
                    .collect();
                if read_rules(&own) != expected {
                    found.push(format!(
                        "{folder}/clippy.toml differs from the root's by more than {without:?}"
                    ));
                }
            }
        }
    }
    Ok(found)
}

fn read_rules(text: &str) -> Vec<String> {
    let lines = text.lines().map(str::trim);
    lines.filter(|line| !line.is_empty() && !line.starts_with('#')).map(str::to_owned).collect()
}
