//! Collects all roles of a project, and the errors of the others.

use std::collections::BTreeMap;

use super::{Role, RoleError, RoleFault, RoleSource, stem};

/// Reads all files, given as source, path and text. If two files claim a name, neither gets it,
/// whichever folders they are in: an added file must not replace an existing one.
pub fn collect_roles(files: Vec<(RoleSource, String, String)>) -> (Vec<Role>, Vec<RoleError>) {
    let mut roles = Vec::new();
    let mut errors = Vec::new();
    let mut broken: BTreeMap<String, String> = BTreeMap::new();
    for (source, file, text) in files {
        match Role::parse(&file, &text, source) {
            Ok(role) => roles.push(role),
            Err(error) => {
                broken.insert(stem(&file).to_owned(), file);
                errors.push(error);
            }
        }
    }
    let mut named: BTreeMap<String, Vec<Role>> = BTreeMap::new();
    for role in roles {
        named.entry(role.name.clone()).or_default().push(role);
    }
    let mut good = Vec::new();
    for (name, claims) in named {
        let files: Vec<String> = claims.iter().map(|role| role.file.clone()).collect();
        for role in claims {
            let other = files.iter().find(|file| **file != role.file);
            let fault = match (other, broken.get(&name)) {
                (Some(other), _) => {
                    RoleFault::DuplicateName { name: name.clone(), other: other.clone() }
                }
                (None, Some(other)) => {
                    RoleFault::NameClaimed { name: name.clone(), other: other.clone() }
                }
                (None, None) => {
                    good.push(role);
                    continue;
                }
            };
            errors.push(RoleError { file: role.file, line: 1, column: None, fault });
        }
    }
    errors.sort_by(|a, b| (&a.file, a.line, a.column).cmp(&(&b.file, b.line, b.column)));
    (good, errors)
}
