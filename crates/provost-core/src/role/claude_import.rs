//! A role imported from `.claude/agents/`.
//!
//! Its keys are those of Claude Code. `tools` becomes skills; what has no counterpart is dropped
//! with a note, never widened: a restricted tool (`Bash(git *)`) is dropped, and where Claude
//! Code would give all tools because none is listed, the role gets none.

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_saphyr::Spanned;

use super::error::RoleErrorBuilder;
use super::{Role, RoleError, RoleSource, frontmatter, model, native_role};
use crate::action::text;
use crate::skill::SkillSet;

/// A tool of Claude Code, and the skills that do the same.
const TOOL_SKILLS: &[(&str, &[&str])] = &[
    ("Read", &["fs.readFile", "fs.stat"]),
    ("Glob", &["fs.listFiles"]),
    ("LS", &["fs.listFiles"]),
    ("Grep", &["fs.searchFiles"]),
    ("Write", &["fs.writeFile", "fs.createDir"]),
    ("Edit", &["fs.editFile"]),
    ("MultiEdit", &["fs.editFile"]),
    ("Bash", &["terminal.runCommand", "terminal.list", "terminal.read", "terminal.stop"]),
    ("BashOutput", &["terminal.read"]),
    ("KillShell", &["terminal.stop"]),
    ("KillBash", &["terminal.stop"]),
];

/// The keys of Claude Code. Those without a counterpart are noted and have no effect.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct ClaudeAgentKeys {
    name: Spanned<String>,
    description: Option<Spanned<String>>,
    model: Option<Spanned<String>>,
    tools: Option<ToolList>,
    disallowed_tools: Option<ToolList>,
    permission_mode: Option<IgnoredAny>,
    max_turns: Option<IgnoredAny>,
    skills: Option<IgnoredAny>,
    mcp_servers: Option<IgnoredAny>,
    hooks: Option<IgnoredAny>,
    memory: Option<IgnoredAny>,
    background: Option<IgnoredAny>,
    effort: Option<IgnoredAny>,
    isolation: Option<IgnoredAny>,
    initial_prompt: Option<IgnoredAny>,
    /// Irrelevant, so it gets no note.
    #[serde(rename = "color")]
    _color: Option<IgnoredAny>,
}

/// `Read, Grep` or `[Read, Grep]`.
#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a list of tools, as in `tools: Read, Grep`")]
enum ToolList {
    Text(String),
    Items(Vec<String>),
}

impl ToolList {
    fn tool_names(&self) -> Vec<&str> {
        let names = match self {
            Self::Text(text) => split_outer_commas(text),
            Self::Items(items) => items.iter().map(String::as_str).collect(),
        };
        names.into_iter().map(str::trim).filter(|name| !name.is_empty()).collect()
    }
}

/// Splits at commas outside parentheses: `Bash(a, b), Read` is two tools.
fn split_outer_commas(text: &str) -> Vec<&str> {
    let mut depth = 0_usize;
    let outside = |c: char| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    };
    text.split(outside).collect()
}

pub(super) fn parse_claude_agent(at: &RoleErrorBuilder<'_>, yaml: &str) -> Result<Role, RoleError> {
    let mut keys: ClaudeAgentKeys =
        frontmatter::parse_yaml(yaml).map_err(|error| at.yaml_error(&error))?;
    let mut notes = unused_key_notes(&keys);
    let skills = skills_from_tools(&keys, &mut notes);
    let model = match keys.model.take() {
        Some(name) if name.value == "inherit" => None,
        Some(name) => Some(model::check_model_name(at, name)?),
        None => None,
    };
    Ok(Role {
        name: native_role::check_role_name(at, keys.name)?,
        description: native_role::check_description(at, keys.description)?,
        model,
        skills,
        instructions: String::new(),
        source: RoleSource::Claude,
        file: at.file().to_owned(),
        notes,
    })
}

fn unused_key_notes(keys: &ClaudeAgentKeys) -> Vec<String> {
    let known = [
        ("permissionMode", &keys.permission_mode),
        ("maxTurns", &keys.max_turns),
        ("skills", &keys.skills),
        ("mcpServers", &keys.mcp_servers),
        ("hooks", &keys.hooks),
        ("memory", &keys.memory),
        ("background", &keys.background),
        ("effort", &keys.effort),
        ("isolation", &keys.isolation),
        ("initialPrompt", &keys.initial_prompt),
    ];
    let set = known.iter().filter(|(_, value)| value.is_some());
    set.map(|(key, _)| format!("`{key}` has no effect here")).collect()
}

fn skills_from_tools(keys: &ClaudeAgentKeys, notes: &mut Vec<String>) -> SkillSet {
    let mut skills = SkillSet::default();
    let Some(tools) = &keys.tools else {
        notes.push(
            "no `tools` are listed, so this role has no skills; here, what is not given is denied"
                .to_owned(),
        );
        return skills;
    };
    for tool in tools.tool_names() {
        match skills_for_tool(tool) {
            // The table lists only skills that exist; a test adds every one.
            Some(skills_of_tool) => skills_of_tool.iter().for_each(|skill| drop(skills.add(skill))),
            None => notes.push(dropped_tool_note(tool)),
        }
    }
    for tool in keys.disallowed_tools.iter().flat_map(ToolList::tool_names) {
        // `Bash(rm *)` removes all of `Bash`: fewer skills are always safe.
        let name = tool.split('(').next().unwrap_or(tool).trim();
        for skill in skills_for_tool(name).into_iter().flatten() {
            drop(skills.remove(skill));
        }
    }
    skills
}

fn skills_for_tool(tool: &str) -> Option<&'static [&'static str]> {
    TOOL_SKILLS.iter().find(|(name, _)| *name == tool).map(|(_, skills)| *skills)
}

fn dropped_tool_note(tool: &str) -> String {
    let shown = text::excerpt(tool);
    if tool.contains('(') {
        return format!(
            "the tool {shown} is restricted by a pattern, which is not imported, so it gives no \
             skill; write a role in {} and a rule instead",
            RoleSource::Provost.folder()
        );
    }
    format!("the tool {shown} has no counterpart here and gives no skill")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_skill_that_a_tool_stands_for_exists() {
        for (tool, skills_of_tool) in TOOL_SKILLS {
            for skill in *skills_of_tool {
                assert!(crate::skill::known_skills().any(|name| name == *skill), "{tool}: {skill}");
            }
        }
    }
}
