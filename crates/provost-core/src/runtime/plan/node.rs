//! `package.json`: its scripts, and the package manager that runs them.

use serde::Deserialize;
use std::collections::BTreeMap;

use super::{ProjectFiles, RuntimePlan, RuntimePlanError};

const NAME: &str = "package.json";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PackageJson {
    #[serde(default)]
    scripts: BTreeMap<String, String>,
    package_manager: Option<String>,
}

/// Lock files and their package managers.
const LOCKS: &[(&str, &str)] = &[
    ("pnpm-lock.yaml", "pnpm"),
    ("yarn.lock", "yarn"),
    ("bun.lock", "bun"),
    ("bun.lockb", "bun"),
    ("package-lock.json", "npm"),
    ("npm-shrinkwrap.json", "npm"),
];

pub(super) fn detect_node(
    files: &impl ProjectFiles,
) -> Result<Option<RuntimePlan>, RuntimePlanError> {
    let Some(text) = files.read_text(NAME) else { return Ok(None) };
    let package: PackageJson =
        serde_json::from_str(text.trim_start_matches('\u{feff}')).map_err(|error| {
            RuntimePlanError {
                file: NAME,
                line: Some(error.line()),
                column: Some(error.column()),
                why: format!("expected a package: {error}"),
            }
        })?;
    let named = package.package_manager.as_deref().and_then(|named| {
        let name = named.split('@').next().unwrap_or(named);
        ["npm", "pnpm", "yarn", "bun"].into_iter().find(|known| *known == name)
    });
    let lock = LOCKS.iter().find(|(lock, _)| files.exists(lock));
    let (manager, because) = match (named, lock) {
        (Some(name), _) => (name, format!("it asks for {name}")),
        (None, Some((lock, name))) => (*name, format!("there is a {lock}")),
        (None, None) => ("npm", "nothing asks for another than npm".to_owned()),
    };
    let has = |script: &str| package.scripts.contains_key(script);
    let script = ["dev", "start", "serve"].into_iter().find(|script| has(script));
    let build = has("build").then(|| format!("{manager} run build"));
    let why = match (script, &build) {
        (Some(script), _) => format!("{NAME} has the script `{script}`, and {because}"),
        (None, Some(_)) => format!("{NAME} has the script `build`, and {because}"),
        (None, None) => return Ok(None),
    };
    // `start` serves the result of a build; `dev` builds as it runs.
    let build_first = script == Some("start") && build.is_some();
    let plan = RuntimePlan { build, build_first, ..RuntimePlan::new(why) };
    Ok(Some(match script {
        Some(script) => plan.with_dev_command(format!("{manager} run {script}")),
        None => plan,
    }))
}
