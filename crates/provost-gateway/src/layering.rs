//! Checks that the modules of this crate depend on each other in one direction only.

use std::path::{Path, PathBuf};

/// The modules, from the bottom up. A module may use itself and those before it.
const LAYERS: &[&str] = &[
    "error",
    "secret",
    "config",
    "caller",
    "token_lease",
    "one_time_codes",
    "symlink_resolution",
    "event_log",
    "document_lists",
    "live_drafts",
    "audit_log",
    "log_archive",
    "project::principal_directory",
    "team::project_folder",
    "team::project_template",
    "team::projects",
    "team::auth",
    "project::request_context",
    "project::governance",
    "project::sessions",
    "project::decisions",
    "project::kernels",
    "project::executor",
    "project::approvals",
    "project::trust",
    "project::actions",
    "project::runtime",
    "project::terminal",
    "project::preview",
    "project::notebooks",
    "documents",
    "project_lifecycle",
    "gateway",
];

/// The module that defines a type which other modules import from the crate root.
const ROOT_TYPES: &[(&str, &str)] = &[
    ("ActionSubmission", "project::actions"),
    ("AuthorizedReader", "caller"),
    ("ByteAllowance", "config"),
    ("Caller", "caller"),
    ("DaemonOwner", "config"),
    ("Gateway", "gateway"),
    ("GatewayConfig", "config"),
    ("GatewayError", "error"),
    ("LogArchiveSettings", "config"),
    ("LogQuotaLimits", "config"),
    ("NotebookAccess", "caller"),
    ("NewProjectFolder", "team::project_template"),
    ("OpenProjectOutcome", "team::projects"),
    ("Operator", "caller"),
    ("OperatorRequest", "caller"),
    ("RequestCredentials", "team::auth"),
    ("Secret", "secret"),
    ("SubmissionOutcome", "project::actions"),
    ("TokenLease", "token_lease"),
    ("secret", "secret"),
];

#[test]
fn modules_depend_on_lower_ones_only() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut upward = Vec::new();
    for file in list_files(&root) {
        let path = file.strip_prefix(&root).unwrap().with_extension("");
        let module = path.to_str().unwrap().replace('/', "::");
        if module.ends_with("::tests") {
            continue;
        }
        let Some(layer) = find_layer(&module) else {
            let known = ["lib", "layering", "test_support", "team", "project"];
            assert!(known.contains(&&*module), "{module} is in no layer");
            continue;
        };
        for used in list_used_modules(&std::fs::read_to_string(&file).unwrap()) {
            let used_layer = find_layer(&used).unwrap_or_else(|| panic!("{module} uses {used}"));
            if used_layer > layer {
                upward.push(format!("{module} uses {used}"));
            }
            // A project may run on another machine than the team's services.
            if module.starts_with("project::") && used.starts_with("team::") {
                upward.push(format!("{module} uses {used}, a service of the team"));
            }
        }
    }
    assert!(upward.is_empty(), "{upward:#?}");
}

fn list_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(list_files(&path));
        } else {
            files.push(path);
        }
    }
    files.sort();
    files
}

/// The position of the layer that a path belongs to.
fn find_layer(path: &str) -> Option<usize> {
    let is_in = |layer: &&str| {
        path.strip_prefix(*layer).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
    };
    LAYERS.iter().position(is_in)
}

/// The modules of this crate that the code of a file names, without its tests.
fn list_used_modules(text: &str) -> Vec<String> {
    let code = text.split("\n#[cfg(test)]\nmod ").next().unwrap_or_default();
    let code: String = code
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .collect::<Vec<_>>()
        .join(" ");
    let mut used = Vec::new();
    for path in code.split("crate::").skip(1) {
        if let Some(group) = path.strip_prefix('{') {
            let names = group.split('}').next().unwrap_or_default().split(',').map(str::trim);
            used.extend(names.filter(|name| !name.is_empty()).map(resolve_root_name));
        } else {
            let is_path = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
            let end = path.find(|c: char| !is_path(c)).unwrap_or(path.len());
            used.push(resolve_root_name(path[..end].trim_end_matches(':')));
        }
    }
    used
}

/// The module of a name that is imported from the crate root.
fn resolve_root_name(name: &str) -> String {
    let known = ROOT_TYPES.iter().find(|(root, _)| *root == name);
    known.map_or_else(|| name.to_owned(), |(_, module)| (*module).to_owned())
}

#[test]
fn imports_are_found_in_groups_and_paths() {
    let text = "use crate::{Caller, GatewayError};\nuse crate::project::kernels::{A, B};\n\
                // crate::gateway\nlet x = crate::team::auth::y();\n\
                \n#[cfg(test)]\nmod tests { use crate::gateway; }";
    let expected = ["caller", "error", "project::kernels", "team::auth::y"];
    assert_eq!(list_used_modules(text), expected);
}
