//! Skills: which actions a role may request, and which a rule is about.
//!
//! A skill is the name of an action. A role or a rule lists skills by name, by a pattern
//! (`fs.*`), or by a shorthand: `fs.read` is every action that reads files, `fs.write` every one
//! that changes them. An unknown name is an error: a typo must not silently take away a right or
//! a rule.

use std::fmt;

use crate::action::{Action, ActionKind};
use crate::glob::WordPattern;
use crate::spelling;

/// Names for several skills.
const SHORTHANDS: &[(&str, ActionKind)] =
    &[("fs.read", ActionKind::Read), ("fs.write", ActionKind::Write)];

/// A set of skills. The empty set permits nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SkillSet {
    /// Sorted, without duplicates.
    names: Vec<&'static str>,
}

/// The text matches no skill.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnknownSkill {
    /// No skill has this name.
    #[error("unknown skill {}{}", crate::action::text::excerpt(.name), spelling::suggestion(*.similar))]
    Name {
        /// The name as written.
        name: String,
        /// A known skill with a similar name.
        similar: Option<&'static str>,
    },
    /// No skill matches the pattern.
    #[error(
        "the pattern {} matches no skill; skills are named like `fs.readFile`, \
         patterns like `fs.*`",
        crate::action::text::excerpt(.0)
    )]
    Pattern(String),
}

/// All skills, by name.
pub fn known_skills() -> impl Iterator<Item = &'static str> {
    Action::NAMES.iter().copied()
}

impl SkillSet {
    /// Adds the skills of a name, a shorthand or a pattern.
    pub fn add(&mut self, text: &str) -> Result<(), UnknownSkill> {
        let found = resolve_skills(text)?;
        self.names.extend(found);
        self.names.sort_unstable();
        self.names.dedup();
        Ok(())
    }

    /// Removes the skills of a name, a shorthand or a pattern.
    pub fn remove(&mut self, text: &str) -> Result<(), UnknownSkill> {
        let lost = resolve_skills(text)?;
        self.names.retain(|name| !lost.contains(name));
        Ok(())
    }

    /// Whether the set contains the skill.
    pub fn has(&self, skill: &str) -> bool {
        self.names.binary_search(&skill).is_ok()
    }

    /// Whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// The skills in alphabetical order.
    pub fn iter(&self) -> impl Iterator<Item = &'static str> {
        self.names.iter().copied()
    }
}

fn resolve_skills(text: &str) -> Result<Vec<&'static str>, UnknownSkill> {
    if let Some(name) = known_skills().find(|name| *name == text) {
        return Ok(vec![name]);
    }
    if let Some((_, effect)) = SHORTHANDS.iter().find(|(name, _)| *name == text) {
        let matching = Action::KINDS.iter().filter(|(_, known)| known == effect);
        return Ok(matching.map(|(name, _)| *name).collect());
    }
    if !text.contains('*') {
        let names = SHORTHANDS.iter().map(|(name, _)| *name).chain(known_skills());
        let similar = spelling::nearest_name(text, names);
        return Err(UnknownSkill::Name { name: text.to_owned(), similar });
    }
    let unmatched = || UnknownSkill::Pattern(text.to_owned());
    let pattern = WordPattern::new(text).map_err(|_| unmatched())?;
    let found: Vec<_> = known_skills().filter(|name| pattern.matches(name)).collect();
    if found.is_empty() { Err(unmatched()) } else { Ok(found) }
}

impl fmt::Display for SkillSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.names.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn skills(texts: &[&str]) -> SkillSet {
        let mut skills = SkillSet::default();
        for text in texts {
            skills.add(text).unwrap();
        }
        skills
    }

    #[test]
    fn a_shorthand_is_every_file_action_with_that_effect() {
        assert_eq!(
            skills(&["fs.read"]).to_string(),
            "fs.listFiles, fs.readFile, fs.searchFiles, fs.stat"
        );
        let both = skills(&["fs.write", "fs.read"]);
        assert_eq!(both, skills(&["fs.*"]));
        assert!(!both.has("terminal.runCommand"));
    }

    #[test]
    fn a_pattern_is_every_skill_of_its_kind() {
        assert_eq!(skills(&["pty.*"]).to_string(), "pty.open, pty.read, pty.write");
        let runtime = skills(&["runtime.*", "preview.fetch"]);
        assert!(runtime.has("runtime.build") && runtime.has("preview.fetch"));
        assert!(!runtime.has("pty.write"));
    }

    #[test]
    fn no_skills_have_nothing_and_a_name_is_no_prefix() {
        assert!(!SkillSet::default().has("fs.readFile"));
        let one = skills(&["fs.readFile"]);
        assert!(one.has("fs.readFile"));
        for other in ["fs.read", "fs.readFileX", "fs", "", "FS.READFILE"] {
            assert!(!one.has(other), "{other}");
        }
    }

    #[test]
    fn what_is_unknown_is_refused_with_what_was_meant() {
        for (text, expected) in [
            ("fs.raed", "unknown skill `fs.raed`; did you mean `fs.read`?"),
            ("fs.readfile", "unknown skill `fs.readfile`; did you mean `fs.readFile`?"),
            ("net", "unknown skill `net`"),
            ("", "unknown skill ``"),
            (
                "net.*",
                "the pattern `net.*` matches no skill; skills are named like `fs.readFile`, \
                 patterns like `fs.*`",
            ),
        ] {
            let error = SkillSet::default().add(text).unwrap_err();
            assert_eq!(error.to_string(), expected);
        }
    }

    #[test]
    fn what_is_taken_away_is_gone() {
        let mut skills = skills(&["*"]);
        skills.remove("fs.write").unwrap();
        assert!(skills.has("fs.readFile"));
        assert!(!skills.has("fs.editFile"));
    }
}
