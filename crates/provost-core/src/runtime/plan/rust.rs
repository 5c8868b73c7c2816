//! Rust: a package with a program, or a workspace with exactly one.

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
    // One that cargo cannot read either: it says so when it is asked to build.
    let manifest: CargoManifest = toml::from_str(&text).unwrap_or_default();
    // The build tells its errors apart from what the program says.
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
    // Of several, which one serves only a person can say.
    Some(match (programs.next(), programs.next()) {
        (Some(folder), None) => {
            runs(format!("the workspace in Cargo.toml has one program, in {folder}"))
        }
        (None, _) | (Some(_), Some(_)) => plan,
    })
}

/// The folders that a member means: `crates/*` is all of them there.
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
