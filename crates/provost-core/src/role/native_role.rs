//! A role in Provost's own format.

use serde::Deserialize;
use serde_saphyr::Spanned;

use super::error::RoleErrorBuilder;
use super::{Role, RoleError, RoleFault, RoleSource, frontmatter, is_name, model, stem};
use crate::action::text::{self, LineBreaks};
use crate::skill::SkillSet;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NativeRoleKeys {
    name: Spanned<String>,
    description: Option<Spanned<String>>,
    model: Option<Spanned<String>>,
    skills: Option<Vec<Spanned<String>>>,
}

pub(super) fn parse_native_role(
    at: &RoleErrorBuilder<'_>,
    yaml: &str,
    source: RoleSource,
) -> Result<Role, RoleError> {
    let keys: NativeRoleKeys =
        frontmatter::parse_yaml(yaml).map_err(|error| at.yaml_error(&error))?;
    let location = keys.name.referenced;
    let name = check_role_name(at, keys.name)?;
    let stem = stem(at.file());
    if name != stem {
        let stem = stem.to_owned();
        return Err(at.at_location(location, RoleFault::FileNameMismatch { name, stem }));
    }
    let mut skills = SkillSet::default();
    for skill in keys.skills.unwrap_or_default() {
        skills.add(&skill.value).map_err(|error| at.at_location(skill.referenced, error.into()))?;
    }
    let mut notes = Vec::new();
    if skills.is_empty() {
        notes.push("this role has no skills, so it may ask for nothing".to_owned());
    }
    Ok(Role {
        name,
        description: check_description(at, keys.description)?,
        model: keys.model.map(|name| model::check_model_name(at, name)).transpose()?,
        skills,
        instructions: String::new(),
        source,
        file: at.file().to_owned(),
        notes,
    })
}

pub(super) fn check_role_name(
    at: &RoleErrorBuilder<'_>,
    name: Spanned<String>,
) -> Result<String, RoleError> {
    let Spanned { value, referenced, .. } = name;
    if is_name(&value) {
        Ok(value)
    } else {
        Err(at.at_location(referenced, RoleFault::BadName(value)))
    }
}

/// People read it before they trust the role, so it must not contain invisible characters.
pub(super) fn check_description(
    at: &RoleErrorBuilder<'_>,
    text: Option<Spanned<String>>,
) -> Result<String, RoleError> {
    let Some(Spanned { value, referenced, .. }) = text else { return Ok(String::new()) };
    match text::check_visible(&value, LineBreaks::Allowed) {
        Ok(()) => Ok(value),
        Err(why) => {
            Err(at.at_location(referenced, RoleFault::InvisibleText { key: "description", why }))
        }
    }
}
