//! Rust: a package with a binary, or a workspace with exactly one.

use serde::Deserialize;

use super::{ProjectFiles, RuntimePlan};

#[derive(Deserialize, Default)]
struct CargoManifest {
    workspace: Option<CargoWorkspace>,
    #[serde(default)]
    bin: Vec<toml::Table>,
}

#[derive(Deserialize, Default)]
struct CargoWorkspace {
    #[serde(default)]
    members: Vec<String>,
}

pub(super) fn detect_rust(files: &impl ProjectFiles) -> Option<RuntimePlan> {
    let text = files.read_text("Cargo.toml")?;
    let plan = RuntimePlan::new("there is a Cargo.toml").with_build_command("cargo build");
    // Cargo cannot read it either, and reports that at the build.
    let manifest: CargoManifest = toml::from_str(&text).unwrap_or_default();
    // A separate build keeps its errors apart from the program's output.
    let runs = |why: String| RuntimePlan {
        build_first: true,
        why,
        ..plan.clone().with_dev_command("cargo run")
    };
    if files.exists("src/main.rs") || !manifest.bin.is_empty() {
        return Some(runs("there is a Cargo.toml with a program".to_owned()));
    }
    let members = manifest.workspace.unwrap_or_default().members;
    let folders = members.iter().flat_map(|member| expand_member(files, member));
    let mut programs = folders.filter(|folder| has_program(files, folder));
    // With several, only a person can say which one serves.
    Some(match (programs.next(), programs.next()) {
        (Some(folder), None) => {
            runs(format!("the workspace in Cargo.toml has one program, in {folder}"))
        }
        (None, _) | (Some(_), Some(_)) => plan,
    })
}

/// The folders of a workspace member: `crates/*` is all folders there.
fn expand_member(files: &impl ProjectFiles, member: &str) -> Vec<String> {
    match member.strip_suffix("/*") {
        Some(above) if !above.contains('*') => {
            files.list_names(above).iter().map(|name| format!("{above}/{name}")).collect()
        }
        Some(_) => Vec::new(),
        None => vec![member.to_owned()],
    }
}

fn has_program(files: &impl ProjectFiles, folder: &str) -> bool {
    let Some(text) = files.read_text(&format!("{folder}/Cargo.toml")) else { return false };
    let manifest: CargoManifest = toml::from_str(&text).unwrap_or_default();
    files.exists(&format!("{folder}/src/main.rs")) || !manifest.bin.is_empty()
}
