//! A role as Provost's own folders hold it.

use serde::Deserialize;
use serde_saphyr::Spanned;

use super::error::At;
use super::{Role, RoleError, RoleFault, Source, frontmatter, is_name, model, stem};
use crate::action::text::{self, Breaks};
use crate::skill::Skills;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Keys {
    name: Spanned<String>,
    description: Option<Spanned<String>>,
    model: Option<Spanned<String>>,
    skills: Option<Vec<Spanned<String>>>,
}

pub(super) fn read(at: &At<'_>, yaml: &str, source: Source) -> Result<Role, RoleError> {
    let keys: Keys = frontmatter::read(yaml).map_err(|error| at.yaml(&error))?;
    let place = keys.name.referenced;
    let name = name(at, keys.name)?;
    let stem = stem(at.file());
    if name != stem {
        let stem = stem.to_owned();
        return Err(at.place(place, RoleFault::NotTheFile { name, stem }));
    }
    let mut skills = Skills::default();
    for skill in keys.skills.unwrap_or_default() {
        skills.add(&skill.value).map_err(|error| at.place(skill.referenced, error.into()))?;
    }
    let mut notes = Vec::new();
    if skills.is_empty() {
        notes.push("this role has no skills, so it may ask for nothing".to_owned());
    }
    Ok(Role {
        name,
        description: description(at, keys.description)?,
        model: keys.model.map(|name| model::check(at, name)).transpose()?,
        skills,
        instructions: String::new(),
        source,
        file: at.file().to_owned(),
        notes,
    })
}

pub(super) fn name(at: &At<'_>, name: Spanned<String>) -> Result<String, RoleError> {
    let Spanned { value, referenced, .. } = name;
    if is_name(&value) { Ok(value) } else { Err(at.place(referenced, RoleFault::BadName(value))) }
}

/// People read it before they trust the role, so it must be what it looks like.
pub(super) fn description(at: &At<'_>, text: Option<Spanned<String>>) -> Result<String, RoleError> {
    let Some(Spanned { value, referenced, .. }) = text else { return Ok(String::new()) };
    match text::check(&value, Breaks::Yes) {
        Ok(()) => Ok(value),
        Err(why) => Err(at.place(referenced, RoleFault::Unseen { key: "description", why })),
    }
}
