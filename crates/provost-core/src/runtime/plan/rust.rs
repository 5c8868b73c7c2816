//! Rust: a package with a program, or a workspace with exactly one.

use serde::Deserialize;

use super::{Listing, Plan};

#[derive(Deserialize, Default)]
struct Manifest {
    workspace: Option<Workspace>,
    #[serde(default)]
    bin: Vec<toml::Table>,
}

#[derive(Deserialize, Default)]
struct Workspace {
    #[serde(default)]
    members: Vec<String>,
}

pub(super) fn detect(files: &impl Listing) -> Option<Plan> {
    let text = files.read("Cargo.toml")?;
    let plan = Plan::new("there is a Cargo.toml").build("cargo build");
    // One that cargo cannot read either: it says so when it is asked to build.
    let manifest: Manifest = toml::from_str(&text).unwrap_or_default();
    // The build tells its errors apart from what the program says.
    let runs = |why: String| Plan { build_first: true, why, ..plan.clone().dev("cargo run") };
    if files.has("src/main.rs") || !manifest.bin.is_empty() {
        return Some(runs("there is a Cargo.toml with a program".to_owned()));
    }
    let members = manifest.workspace.unwrap_or_default().members;
    let folders = members.iter().flat_map(|member| expanded(files, member));
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
fn expanded(files: &impl Listing, member: &str) -> Vec<String> {
    match member.strip_suffix("/*") {
        Some(above) if !above.contains('*') => {
            files.names(above).iter().map(|name| format!("{above}/{name}")).collect()
        }
        Some(_) => Vec::new(),
        None => vec![member.to_owned()],
    }
}

fn has_program(files: &impl Listing, folder: &str) -> bool {
    let Some(text) = files.read(&format!("{folder}/Cargo.toml")) else { return false };
    let manifest: Manifest = toml::from_str(&text).unwrap_or_default();
    files.has(&format!("{folder}/src/main.rs")) || !manifest.bin.is_empty()
}
