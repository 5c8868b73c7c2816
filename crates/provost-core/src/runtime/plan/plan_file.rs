//! Reads and writes `provost.toml`.

use std::collections::BTreeMap;
use std::num::NonZeroU16;

use serde::Deserialize;
use toml::Spanned;

use super::{DevServerProgram, PLAN_FILE, RestartPolicy, RuntimePlan};
use crate::action::RelPath;

/// The largest file, in bytes.
const SIZE: usize = 64 * 1024;

/// The longest command, in bytes.
const LINE: usize = 8 * 1024;

/// An error in the file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}{}: {why}", format_position(*.line, *.column))]
pub struct RuntimePlanError {
    /// The file.
    pub file: &'static str,
    /// The line, from 1; absent if it concerns the whole file.
    pub line: Option<usize>,
    /// The column, from 1.
    pub column: Option<usize>,
    /// What is wrong and what was expected.
    pub why: String,
}

fn format_position(line: Option<usize>, column: Option<usize>) -> String {
    let number = |n: Option<usize>| n.map_or_else(String::new, |n| format!(":{n}"));
    number(line) + &number(column)
}

impl RuntimePlanError {
    pub(super) fn for_file(file: &'static str, why: impl Into<String>) -> Self {
        Self { file, line: None, column: None, why: why.into() }
    }

    pub(super) fn unreadable() -> Self {
        Self::for_file(PLAN_FILE, format!("cannot be read as a text of at most {SIZE} bytes"))
    }

    fn at_offset(text: &str, offset: usize, why: impl Into<String>) -> Self {
        let before = text.get(..offset).unwrap_or(text);
        let line = before.matches('\n').count() + 1;
        let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
        Self { file: PLAN_FILE, line: Some(line), column: Some(column), why: why.into() }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PlanToml {
    runtime: Spanned<RuntimeSection>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RuntimeSection {
    build: Option<Spanned<String>>,
    #[serde(default)]
    build_first: bool,
    dev: Option<Spanned<String>>,
    r#static: Option<Spanned<String>>,
    port: Option<NonZeroU16>,
    #[serde(default)]
    env: BTreeMap<Spanned<String>, Spanned<String>>,
    #[serde(default)]
    restart: RestartPolicy,
}

pub(super) fn parse_plan(text: &str) -> Result<RuntimePlan, RuntimePlanError> {
    if text.len() > SIZE {
        return Err(RuntimePlanError::unreadable());
    }
    let document: PlanToml = toml::from_str(text).map_err(|error| {
        let why = crate::action::escape_invisible(error.message()).replace("\\`", "`");
        RuntimePlanError::at_offset(text, error.span().map_or(0, |span| span.start), why)
    })?;
    let start = document.runtime.span().start;
    let runtime = document.runtime.into_inner();
    let (build, dev) =
        (check_command_line(text, runtime.build)?, check_command_line(text, runtime.dev)?);
    let dev = select_program(text, dev, runtime.r#static)?;
    if build.is_none() && dev.is_none() {
        let why = "expected `dev`, `static` or `build`: it says nothing to run";
        return Err(RuntimePlanError::at_offset(text, start, why));
    }
    if runtime.build_first && build.is_none() {
        let why = "expected `build`, since `build_first` is true";
        return Err(RuntimePlanError::at_offset(text, start, why));
    }
    Ok(RuntimePlan {
        build,
        build_first: runtime.build_first,
        dev,
        port: runtime.port.map(NonZeroU16::get),
        env: check_variables(text, runtime.env)?,
        restart: runtime.restart,
        why: format!("{PLAN_FILE} says so"),
    })
}

fn check_command_line(
    text: &str,
    line: Option<Spanned<String>>,
) -> Result<Option<String>, RuntimePlanError> {
    let Some(line) = line else { return Ok(None) };
    let words = line.get_ref().trim();
    if words.is_empty() || words.len() > LINE || words.contains(['\0', '\n']) {
        return Err(RuntimePlanError::at_offset(
            text,
            line.span().start,
            "expected a command in one line",
        ));
    }
    Ok(Some(words.to_owned()))
}

fn select_program(
    text: &str,
    dev: Option<String>,
    folder: Option<Spanned<String>>,
) -> Result<Option<DevServerProgram>, RuntimePlanError> {
    let Some(folder) = folder else { return Ok(dev.map(DevServerProgram::Shell)) };
    let refuse = |why: String| RuntimePlanError::at_offset(text, folder.span().start, why);
    if dev.is_some() {
        return Err(refuse("expected `dev` or `static`, not both".to_owned()));
    }
    let path = RelPath::new(folder.get_ref())
        .map_err(|error| refuse(format!("expected a folder of the project: {error}")))?;
    Ok(Some(DevServerProgram::Static { root: path.as_str().to_owned() }))
}

fn check_variables(
    text: &str,
    env: BTreeMap<Spanned<String>, Spanned<String>>,
) -> Result<BTreeMap<String, String>, RuntimePlanError> {
    let mut variables = BTreeMap::new();
    for (name, value) in env {
        if !is_variable_name(name.get_ref()) {
            let why = "expected the name of a variable: letters, digits and `_`";
            return Err(RuntimePlanError::at_offset(text, name.span().start, why));
        }
        if value.get_ref().contains('\0') {
            return Err(RuntimePlanError::at_offset(
                text,
                value.span().start,
                "expected a text without NUL",
            ));
        }
        variables.insert(name.into_inner(), value.into_inner());
    }
    Ok(variables)
}

fn is_variable_name(name: &str) -> bool {
    let part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    !name.is_empty() && name.chars().all(part) && !name.starts_with(|c: char| c.is_ascii_digit())
}

pub(super) fn format_plan(plan: &RuntimePlan) -> String {
    let mut lines = vec!["# What Provost runs in this project.".to_owned()];
    if !plan.why.contains('\n') {
        lines.push(format!("# Chosen because {}.", plan.why));
    }
    lines.extend([String::new(), "[runtime]".to_owned()]);
    lines.extend(plan.build.as_ref().map(|build| format!("build = {}", quote_toml(build))));
    lines.extend(plan.build_first.then(|| "build_first = true".to_owned()));
    lines.extend(plan.dev.as_ref().map(|dev| match dev {
        DevServerProgram::Shell(line) => format!("dev = {}", quote_toml(line)),
        DevServerProgram::Static { root } => format!("static = {}", quote_toml(root)),
    }));
    lines.extend(plan.port.map(|port| format!("port = {port}")));
    if plan.restart == RestartPolicy::OnCrash {
        lines.push("restart = \"on-crash\"".to_owned());
    }
    if !plan.env.is_empty() {
        lines.extend([String::new(), "[runtime.env]".to_owned()]);
        lines
            .extend(plan.env.iter().map(|(name, value)| format!("{name} = {}", quote_toml(value))));
    }
    lines.join("\n") + "\n"
}

/// A basic TOML string.
fn quote_toml(text: &str) -> String {
    let escaped = text.chars().map(|c| match c {
        '"' | '\\' => format!("\\{c}"),
        c if c.is_control() => format!("\\u{:04X}", u32::from(c)),
        c => c.to_string(),
    });
    format!("\"{}\"", escaped.collect::<Vec<_>>().concat())
}
