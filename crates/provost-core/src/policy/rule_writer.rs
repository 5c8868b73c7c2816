//! Writes a rule as TOML and adds it to a file.

use std::fmt::Write as _;

use provost_proto::ProjectMode;

use super::error::{PolicyError, PolicyErrors, PolicyFault};
use super::rule::PolicyRule;
use super::rule_text::{quote_toml, quote_toml_list};
use super::{Policy, RuleLayer};

impl PolicyRule {
    /// The rule as TOML, with the keys in the order of the documentation.
    pub fn to_toml(&self) -> String {
        let written = &self.written;
        let mut text = format!("[[rule]]\nid = {}\n", quote_toml(&written.id));
        let mut key = |key: &str, value: Option<String>| {
            if let Some(value) = value {
                // Writing to a string cannot fail.
                let _ = writeln!(text, "{key} = {value}");
            }
        };
        let list = |name: &str| written.lists.get(name).map(|texts| quote_toml_list(texts));
        key("effect", Some(quote_toml(self.effect.as_str())));
        key("on", list("on"));
        for name in ["roles", "project", "cwd"] {
            key(name, list(name));
        }
        key(
            "modes",
            written.modes.as_ref().map(|modes| {
                quote_toml_list(
                    &modes.iter().map(|mode| mode_name(*mode).to_owned()).collect::<Vec<_>>(),
                )
            }),
        );
        key(
            "argv",
            written.argv.as_ref().map(|positions| {
                let positions: Vec<_> =
                    positions.iter().map(|words| format_argv_position(words)).collect();
                format!("[{}]", positions.join(", "))
            }),
        );
        for name in ["with", "without", "line", "path", "except", "host"] {
            key(name, list(name));
        }
        key("reason", written.reason.as_ref().map(|reason| quote_toml(reason)));
        key("match", list("match"));
        key("not_match", list("not_match"));
        text
    }
}

fn format_argv_position(words: &[String]) -> String {
    match words {
        [word] => quote_toml(word),
        words => quote_toml_list(words),
    }
}

/// As written in a rule.
fn mode_name(mode: ProjectMode) -> &'static str {
    match mode {
        ProjectMode::Sandbox => "sandbox",
        ProjectMode::Auto => "auto",
        ProjectMode::Full => "full",
    }
}

/// The text of a policy file with one more rule; the rest is unchanged. A rule that exists
/// already is not added again.
pub fn append_rule(
    layer: RuleLayer,
    file: &str,
    text: &str,
    rule: &PolicyRule,
) -> Result<String, PolicyErrors> {
    let old = Policy::parse(layer, file, text)?;
    if old.rules().iter().any(|known| known.written == rule.written) {
        return Ok(text.to_owned());
    }
    let end_of_line = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let gap = match text {
        "" => "",
        text if text.ends_with('\n') => end_of_line,
        _ => &end_of_line.repeat(2),
    };
    let added = rule.to_toml().replace('\n', end_of_line);
    let new = format!("{text}{gap}{added}");
    let read = Policy::parse(layer, file, &new)?;
    // TOML itself refuses a `[[rule]]` after `rule = [{…}]`. Any other change of what the file
    // means is refused here.
    let kept = read.rules().len() == old.rules().len() + 1
        && read.rules().last().is_some_and(|last| last.written == rule.written);
    if kept {
        return Ok(new);
    }
    let fault = PolicyFault::Contradiction("the rule cannot be added to this file as it is");
    let id = Some(rule.id().to_owned());
    Err(PolicyErrors(vec![PolicyError {
        file: file.to_owned(),
        line: 1,
        column: 1,
        rule: id,
        fault,
    }]))
}
