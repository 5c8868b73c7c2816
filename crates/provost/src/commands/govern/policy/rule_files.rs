//! Checking files of rules as they lie there, without a daemon.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use provost_core::policy::{Policy, PolicyFault, RuleLayer};
use serde::Serialize;

use crate::config::Config;
use crate::output::{self, print_line, sanitize_text};

/// Where a project keeps its rules.
const PROJECT_POLICY_FILE: &str = ".provost/policy.toml";

/// What came of one file.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RuleFileReport {
    file: String,
    rules: usize,
    examples: usize,
    /// The examples that do not hold; they are among the errors.
    failed: usize,
    errors: Vec<String>,
}

/// Prints everything that is wrong.
pub(super) fn check_rule_files(
    files: &[PathBuf],
    json: bool,
    config: &Config,
) -> anyhow::Result<ExitCode> {
    report_rule_files(files, json, config, |file| {
        format!("{}: {} rules, nothing wrong with them", sanitize_text(&file.file), file.rules)
    })
}

/// Prints how many examples hold, and those that do not.
pub(super) fn test_rule_examples(
    files: &[PathBuf],
    json: bool,
    config: &Config,
) -> anyhow::Result<ExitCode> {
    report_rule_files(files, json, config, |file| {
        format!(
            "{}: {} of {} examples hold",
            sanitize_text(&file.file),
            file.examples,
            file.examples
        )
    })
}

fn report_rule_files(
    files: &[PathBuf],
    json: bool,
    config: &Config,
    good: impl Fn(&RuleFileReport) -> String,
) -> anyhow::Result<ExitCode> {
    let files = if files.is_empty() { find_default_files(config)? } else { files.to_vec() };
    let checked =
        files.iter().map(|file| check_rule_file(file)).collect::<anyhow::Result<Vec<_>>>()?;
    if json {
        output::print_json(&checked)?;
    } else if checked.is_empty() {
        print_line("There are no files of rules; the built-in ones hold.")?;
    } else {
        for file in &checked {
            for error in &file.errors {
                print_line(&sanitize_text(error))?;
            }
            if file.errors.is_empty() {
                print_line(&good(file))?;
            } else if file.failed == file.errors.len() {
                let held = file.examples.saturating_sub(file.failed);
                print_line(&format!(
                    "{}: {held} of {} examples hold",
                    sanitize_text(&file.file),
                    file.examples
                ))?;
            }
        }
    }
    let wrong = checked.iter().any(|file| !file.errors.is_empty());
    Ok(if wrong { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// The person's own rules, and those of the project around the current folder.
fn find_default_files(config: &Config) -> anyhow::Result<Vec<PathBuf>> {
    let here = std::env::current_dir()?;
    let own = Some(config.policy.value.clone()).filter(|file| file.exists());
    let project =
        here.ancestors().map(|folder| folder.join(PROJECT_POLICY_FILE)).find(|file| file.exists());
    Ok(own.into_iter().chain(project).collect())
}

fn check_rule_file(file: &Path) -> anyhow::Result<RuleFileReport> {
    let name = file.display().to_string();
    let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {name}"))?;
    let examples = count_examples(&text);
    Ok(match Policy::parse(RuleLayer::User, &name, &text) {
        Ok(policy) => {
            let rules = policy.rules().len();
            RuleFileReport { file: name, rules, examples, failed: 0, errors: Vec::new() }
        }
        Err(errors) => {
            let example = |fault: &PolicyFault| matches!(fault, PolicyFault::Example { .. });
            let failed = errors.0.iter().filter(|error| example(&error.fault)).count();
            let errors = errors.0.iter().map(ToString::to_string).collect();
            RuleFileReport { file: name, rules: 0, examples, failed, errors }
        }
    })
}

/// How many examples a file holds, whether or not it can be used.
fn count_examples(text: &str) -> usize {
    let Ok(table) = text.parse::<toml::Table>() else { return 0 };
    let rules = table.get("rule").and_then(toml::Value::as_array);
    let count =
        |rule: &toml::Value, key| rule.get(key).and_then(toml::Value::as_array).map_or(0, Vec::len);
    let of = |rule: &toml::Value| count(rule, "match") + count(rule, "not_match");
    rules.into_iter().flatten().map(of).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_are_counted_whether_they_hold_or_not() {
        let text = "[[rule]]\nid = \"a\"\nmatch = [\"x\", \"y\"]\nnot_match = [\"z\"]\n\
                    [[rule]]\nid = \"b\"\n";
        assert_eq!(count_examples(text), 3);
        assert_eq!(count_examples("= no toml"), 0);
    }
}
