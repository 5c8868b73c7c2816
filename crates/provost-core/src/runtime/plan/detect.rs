//! Detects what to run from the files of the project.

use super::{DevServerProgram, ProjectFiles, RuntimePlan, RuntimePlanError, node, python, rust};

/// Folders with pages, the most likely first.
const PAGES: &[&str] = &[".", "public", "dist", "build", "static", "www", "site", "docs"];

/// Makefile targets that serve, the most likely first.
const SERVING: &[&str] = &["dev", "serve", "run", "start"];

pub(super) fn detect_plan(
    files: &impl ProjectFiles,
) -> Result<Option<RuntimePlan>, RuntimePlanError> {
    let mut only_build = None;
    if let Some(plan) = node::detect_node(files)? {
        if plan.dev.is_some() {
            return Ok(Some(plan));
        }
        only_build = Some(plan);
    }
    let others = [
        detect_procfile(files),
        python::detect_python(files),
        rust::detect_rust(files),
        detect_go(files),
        detect_makefile(files),
    ];
    let mut others: Vec<RuntimePlan> = others.into_iter().flatten().collect();
    if let Some(at) = others.iter().position(|plan| plan.dev.is_some()) {
        return Ok(Some(others.swap_remove(at)));
    }
    if let Some(plan) = detect_static_pages(files) {
        return Ok(Some(plan));
    }
    Ok(only_build.or_else(|| others.into_iter().next()))
}

fn detect_procfile(files: &impl ProjectFiles) -> Option<RuntimePlan> {
    let text = files.read_text("Procfile")?;
    let entry = |line: &str| {
        let (name, command) = line.split_once(':')?;
        let command = command.trim();
        let named = name.trim().chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
        let known = named && !name.trim().is_empty() && !command.is_empty();
        known.then(|| (name.trim().to_owned(), command.to_owned()))
    };
    let entries: Vec<_> = text.lines().filter_map(entry).collect();
    let web = entries.iter().find(|(name, _)| name == "web");
    // `release` runs once per release, such as a migration, so it must not be chosen.
    let other = || entries.iter().find(|(name, _)| name != "release");
    let (name, command) = web.or_else(other)?;
    Some(
        RuntimePlan::new(format!("the Procfile has the process `{name}`"))
            .with_dev_command(command),
    )
}

fn detect_go(files: &impl ProjectFiles) -> Option<RuntimePlan> {
    if !files.exists("go.mod") {
        return None;
    }
    let plan = RuntimePlan::new("there is a go.mod").with_build_command("go build ./...");
    if files.exists("main.go") {
        let why = "there are a go.mod and a main.go".to_owned();
        return Some(RuntimePlan { build_first: true, why, ..plan.with_dev_command("go run .") });
    }
    let is_program =
        |name: &String| is_shell_safe_name(name) && files.exists(&format!("cmd/{name}/main.go"));
    let mut programs = files.list_names("cmd").into_iter().filter(is_program);
    // With several, only a person can say which one serves.
    let (Some(name), None) = (programs.next(), programs.next()) else { return Some(plan) };
    let why = format!("there are a go.mod and a cmd/{name}/main.go");
    Some(RuntimePlan {
        build_first: true,
        why,
        ..plan.with_dev_command(format!("go run ./cmd/{name}"))
    })
}

/// Whether a name needs no quoting in a shell.
pub(super) fn is_shell_safe_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    !name.is_empty() && !name.starts_with(['-', '.']) && name.chars().all(plain)
}

fn detect_makefile(files: &impl ProjectFiles) -> Option<RuntimePlan> {
    let names = ["Makefile", "makefile", "GNUmakefile"];
    let (name, text) = names.iter().find_map(|name| Some((name, files.read_text(name)?)))?;
    let has = |target: &str| {
        text.lines().any(|line| {
            let rest = line.strip_prefix(target);
            // `dev:`, `dev other:` and not `dev := 1`.
            rest.is_some_and(|rest| {
                let rest = rest.trim_start();
                rest.starts_with(':') && !rest.starts_with(":=") && !rest.starts_with("::=")
            })
        })
    };
    let dev = SERVING.iter().find(|target| has(target));
    let build = has("build").then_some("make build");
    let why = match (dev, build) {
        (Some(dev), _) => format!("the {name} has the target `{dev}`"),
        (None, Some(_)) => format!("the {name} has the target `build`"),
        (None, None) => return None,
    };
    let dev = dev.map(|dev| DevServerProgram::Shell(format!("make {dev}")));
    Some(RuntimePlan { dev, build: build.map(str::to_owned), ..RuntimePlan::new(why) })
}

fn detect_static_pages(files: &impl ProjectFiles) -> Option<RuntimePlan> {
    let page = |folder: &str| match folder {
        "." => "index.html".to_owned(),
        folder => format!("{folder}/index.html"),
    };
    let folder = PAGES.iter().find(|folder| files.exists(&page(folder)))?;
    let plan = RuntimePlan::new(format!("there is a page, {}", page(folder)));
    Some(RuntimePlan { dev: Some(DevServerProgram::Static { root: (*folder).to_owned() }), ..plan })
}
