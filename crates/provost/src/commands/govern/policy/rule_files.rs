//! Checks rule files without a daemon.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use provost_core::policy::{Policy, PolicyFault, RuleLayer};
use serde::Serialize;

use crate::config::Config;
use crate::output::{self, print_line, sanitize_text};

/// Path of a project's rules, below its folder.
const PROJECT_POLICY_FILE: &str = ".provost/policy.toml";

/// The result of checking one file.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RuleFileReport {
    file: String,
    rules: usize,
    examples: usize,
    /// Number of failed examples; they are among the errors.
    failed: usize,
    errors: Vec<String>,
}

/// Prints the errors in the files.
pub(super) fn check_rule_files(
    files: &[PathBuf],
    json: bool,
    config: &Config,
) -> anyhow::Result<ExitCode> {
    report_rule_files(files, json, config, |file| {
        format!("{}: {} rules, no errors", sanitize_text(&file.file), file.rules)
    })
}

/// Prints how many examples pass, and those that fail.
pub(super) fn test_rule_examples(
    files: &[PathBuf],
    json: bool,
    config: &Config,
) -> anyhow::Result<ExitCode> {
    report_rule_files(files, json, config, |file| {
        format!(
            "{}: {} of {} examples pass",
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
    describe_valid: impl Fn(&RuleFileReport) -> String,
) -> anyhow::Result<ExitCode> {
    let files = if files.is_empty() { find_default_files(config)? } else { files.to_vec() };
    let checked =
        files.iter().map(|file| check_rule_file(file)).collect::<anyhow::Result<Vec<_>>>()?;
    if json {
        output::print_json(&checked)?;
    } else if checked.is_empty() {
        print_line("No rule files; only the built-in rules apply.")?;
    } else {
        for file in &checked {
            for error in &file.errors {
                print_line(&sanitize_text(error))?;
            }
            if file.errors.is_empty() {
                print_line(&describe_valid(file))?;
            } else if file.failed == file.errors.len() {
                let passed = file.examples.saturating_sub(file.failed);
                print_line(&format!(
                    "{}: {passed} of {} examples pass",
                    sanitize_text(&file.file),
                    file.examples
                ))?;
            }
        }
    }
    let has_errors = checked.iter().any(|file| !file.errors.is_empty());
    Ok(if has_errors { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// The user's own rules, and those of the project that contains the current folder.
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

/// The number of examples in a file, even if the file is invalid.
fn count_examples(text: &str) -> usize {
    let Ok(table) = text.parse::<toml::Table>() else { return 0 };
    let rules = table.get("rule").and_then(toml::Value::as_array);
    let count =
        |rule: &toml::Value, key| rule.get(key).and_then(toml::Value::as_array).map_or(0, Vec::len);
    let examples = |rule: &toml::Value| count(rule, "match") + count(rule, "not_match");
    rules.into_iter().flatten().map(examples).sum()
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

    #[test]
    fn what_is_printed_of_a_file_keeps_its_fields() {
        let checked = RuleFileReport {
            file: "policy.toml".to_owned(),
            rules: 1,
            examples: 2,
            failed: 3,
            errors: vec!["line 1".to_owned()],
        };
        expect_test::expect![[
            r#"{"file":"policy.toml","rules":1,"examples":2,"failed":3,"errors":["line 1"]}"#
        ]]
        .assert_eq(&serde_json::to_string(&checked).unwrap());
    }
}
