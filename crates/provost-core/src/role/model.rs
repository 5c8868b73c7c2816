//! The model of a role, and how to change it in the file without changing anything else.

use serde_saphyr::Spanned;

use super::error::RoleErrorBuilder;
use super::{Role, RoleError, RoleFault, RoleSource, frontmatter};

/// The longest name of a model.
const LONGEST: usize = 200;

/// Words that YAML does not parse as strings unless they are quoted.
const WORDS: [&str; 8] = ["null", "true", "false", "yes", "no", "on", "off", "inherit"];

pub(super) fn check_model_name(
    at: &RoleErrorBuilder<'_>,
    name: Spanned<String>,
) -> Result<String, RoleError> {
    let Spanned { value, referenced, .. } = name;
    if is_model(&value) {
        Ok(value)
    } else {
        Err(at.at_location(referenced, RoleFault::BadModel(value)))
    }
}

fn is_model(text: &str) -> bool {
    text.len() <= LONGEST
        && text.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-:/@+".contains(&byte))
}

/// The file's text with another model. Everything else is preserved byte for byte: comments, the
/// order of keys, line ends, quotes.
///
/// The result is parsed again; if anything but the model differs, nothing is changed and the
/// error says what to write by hand.
pub fn set_model(
    file: &str,
    text: &str,
    source: RoleSource,
    model: &str,
) -> Result<String, RoleError> {
    let at = RoleErrorBuilder::new(file);
    if !is_model(model) || WORDS.contains(&model.to_ascii_lowercase().as_str()) {
        return Err(at.at_start(RoleFault::BadModel(model.to_owned())));
    }
    let old = Role::parse(file, text, source)?;
    let parts = frontmatter::split(text).map_err(|(line, fault)| at.at_line(line, fault))?;
    let refused = |line| at.at_line(line, RoleFault::ModelNotEditable(model.to_owned()));
    let start = parts.head.len();
    let mut before = start;
    let mut found = None;
    for (number, line) in parts.yaml.split_inclusive('\n').enumerate() {
        if let Some(value) = value_of_model(line) {
            found = Some((before + value, number + 2));
            break;
        }
        before += line.len();
    }
    let (changed, line) = match found {
        Some((value, line)) => {
            (replace_model_value(text, value, model).ok_or_else(|| refused(line))?, line)
        }
        None => (insert_model_key(text, &parts, model), 1),
    };
    let expected = Role { model: Some(model.to_owned()), ..old };
    match Role::parse(file, &changed, source) {
        Ok(new) if new == expected => Ok(changed),
        Ok(_) | Err(_) => Err(refused(line)),
    }
}

/// In a line that begins with the key `model`, the position of its value.
fn value_of_model(line: &str) -> Option<usize> {
    let keys = ["model", "\"model\"", "'model'"];
    let rest = keys.iter().find_map(|key| line.strip_prefix(key))?;
    let rest = rest.trim_start_matches([' ', '\t']).strip_prefix(':')?;
    rest.is_empty()
        .then_some(line.len())
        .or_else(|| rest.starts_with([' ', '\t', '\r', '\n']).then_some(line.len() - rest.len()))
}

/// Replaces the value, keeping its quotes.
fn replace_model_value(text: &str, colon: usize, model: &str) -> Option<String> {
    let line = text[colon..].split_inclusive('\n').next().unwrap_or_default();
    let line = line.trim_end_matches(['\r', '\n']);
    let value = line.trim_start_matches([' ', '\t']);
    let start = line.len() - value.len();
    let (length, quote) = match value.chars().next() {
        // No value: a comment may follow, and the space before it is preserved.
        None | Some('#') => {
            let put = format!(" {model}");
            return Some(format!("{}{put}{}", &text[..colon], &text[colon..]));
        }
        Some(quote @ ('"' | '\'')) => (value[1..].find(quote)? + 2, quote.to_string()),
        // A block, a tag, an anchor, an alias or a list cannot be replaced.
        Some('|' | '>' | '!' | '&' | '*' | '[' | '{') => return None,
        Some(_) => {
            let end = value.find([' ', '\t']).unwrap_or(value.len());
            (end, String::new())
        }
    };
    let (from, to) = (colon + start, colon + start + length);
    Some(format!("{}{quote}{model}{quote}{}", &text[..from], &text[to..]))
}

/// Adds the key at the end of the frontmatter.
fn insert_model_key(text: &str, parts: &frontmatter::FrontmatterParts<'_>, model: &str) -> String {
    let end_of_line = if parts.head.ends_with("\r\n") { "\r\n" } else { "\n" };
    let (before, after) = text.split_at(parts.head.len() + parts.yaml.len());
    format!("{before}model: {model}{end_of_line}{after}")
}
