//! The skills of a role as tools of a model.
//!
//! A model sees only the actions that its role may request. The tools have the names of the
//! actions with `_` for the dot, since providers do not accept dots.

mod schema;

use serde_json::{Value, json};

use crate::action::Action;

/// The tool that hands off a task to another role.
pub const HANDOFF: &str = "handoff";

/// One tool.
#[derive(Debug, Clone, PartialEq)]
pub struct OfferedTool {
    /// Its name, for the model.
    pub name: String,
    /// What it does, for the model.
    pub description: String,
    /// The JSON schema of its arguments.
    pub schema: Value,
}

/// The action of a tool.
pub fn action_for_tool(tool: &str) -> Option<&'static str> {
    Action::NAMES.iter().copied().find(|name| tool_name(name) == tool)
}

/// The tool name of an action.
pub fn tool_name(action: &str) -> String {
    action.replace('.', "_")
}

/// The tools for these skills, in the order of the table of actions, so that the prefix stays the
/// same for the provider's cache.
pub fn tools_for_skills<'a>(skills: impl Iterator<Item = &'a str>) -> Vec<OfferedTool> {
    let skills: Vec<_> = skills.collect();
    let known = Action::NAMES.iter().filter(|name| skills.contains(name));
    known.filter_map(|name| tool_for_action(name)).collect()
}

/// The tool that hands off a task to one of these roles, given as names with descriptions.
pub fn handoff_tool<'a>(roles: impl Iterator<Item = (&'a str, &'a str)>) -> Option<OfferedTool> {
    let (mut names, mut text) = (Vec::new(), String::new());
    for (name, about) in roles {
        names.push(name);
        text.extend(["\n- ", name, ": ", about]);
    }
    let description = format!(
        "Give a task to another role, which works on it in a session of its own and answers \
         when it is done. It knows nothing but what you write. It may use the skills that both \
         of you have.{text}"
    );
    let schema = json!({
        "type": "object",
        "properties": {
            "role": { "type": "string", "enum": names, "description": "Who does it." },
            "task": { "type": "string", "description": "All that is needed to do it." },
        },
        "required": ["role", "task"],
        "additionalProperties": false,
    });
    (!names.is_empty()).then(|| OfferedTool { name: HANDOFF.to_owned(), description, schema })
}

fn tool_for_action(name: &str) -> Option<OfferedTool> {
    let (description, parameters) = schema::schema_for_action(name)?;
    let mut properties = serde_json::Map::new();
    let mut required = Vec::new();
    for (parameter, need, schema) in parameters {
        if need == schema::ParameterNeed::Required {
            required.push(parameter);
        }
        properties.insert(parameter.to_owned(), schema);
    }
    let schema = json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    });
    Some(OfferedTool { name: tool_name(name), description: description.to_owned(), schema })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_action_is_a_tool_that_providers_take_and_can_be_found_again() {
        let all = tools_for_skills(Action::NAMES.iter().copied());
        assert_eq!(all.len(), Action::NAMES.len());
        for (tool, name) in all.iter().zip(Action::NAMES) {
            assert_eq!(action_for_tool(&tool.name), Some(*name));
            assert!(tool.name.len() <= 64 && !tool.name.contains('.'), "{}", tool.name);
            assert!(tool.description.len() > 10, "{}", tool.name);
        }
        assert_eq!(action_for_tool("fs.readFile"), None);
        assert_eq!(action_for_tool(HANDOFF), None);
    }

    #[test]
    fn a_role_is_offered_its_skills_and_nothing_else() {
        let names: Vec<_> = tools_for_skills(["fs.stat", "fs.readFile", "nonsense"].into_iter())
            .into_iter()
            .map(|t| t.name)
            .collect();
        assert_eq!(names, ["fs_readFile", "fs_stat"]);
        assert!(tools_for_skills(std::iter::empty()).is_empty());
    }

    /// The schema matches the action: no unknown names, and optional parameters can be omitted.
    #[test]
    fn a_schema_says_neither_more_nor_less_than_its_action_takes() {
        for tool in tools_for_skills(Action::NAMES.iter().copied()) {
            let name = action_for_tool(&tool.name).unwrap();
            for parameter in tool.schema["properties"].as_object().unwrap().keys() {
                let error = Action::parse(name, json!({ parameter: { "never": "this" } }));
                let error = error.unwrap_err().to_string();
                assert!(!error.contains("unknown field"), "{name}: {error}");
            }
            let required = tool.schema["required"].as_array().unwrap();
            if required.is_empty() && name != "terminal.runCommand" && name != "terminal.write" {
                Action::parse(name, json!({})).unwrap();
            }
            for left_out in required {
                let mut given = serde_json::Map::new();
                for other in required.iter().filter(|other| *other != left_out) {
                    given.insert(other.as_str().unwrap().to_owned(), json!("x"));
                }
                assert!(Action::parse(name, Value::Object(given)).is_err(), "{name} {left_out}");
            }
        }
    }
}
