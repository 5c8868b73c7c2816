//! Python: Django, `FastAPI` with uvicorn, Flask.

use super::{ProjectFiles, RuntimePlan};

/// Modules in which an application is searched.
const MODULES: &[&str] = &[
    "main.py",
    "app.py",
    "server.py",
    "api.py",
    "wsgi.py",
    "asgi.py",
    "app/main.py",
    "app/__init__.py",
    "api/main.py",
    "src/main.py",
    "src/app.py",
    "src/api/main.py",
    "src/app/main.py",
];

/// Folders of virtual environments.
const ENVIRONMENTS: &[&str] = &[".venv", "venv"];

/// The usual name of a function that creates an application.
const FACTORY: &str = "create_app";

pub(super) fn detect_python(files: &impl ProjectFiles) -> Option<RuntimePlan> {
    let plan = detect_django(files)
        .or_else(|| detect_flaskenv(files))
        .or_else(|| detect_app_module(files))?;
    let Some(folder) =
        ENVIRONMENTS.iter().find(|name| files.exists(&format!("{name}/bin/python3")))
    else {
        return Some(plan);
    };
    let why = format!("{}; it runs with what is in {folder}", plan.why);
    let dev = plan.dev.as_ref().map(super::DevServerProgram::describe).unwrap_or_default();
    Some(
        RuntimePlan { why, ..plan }
            .with_dev_command(format!("PATH=\"$PWD/{folder}/bin:$PATH\" {dev}")),
    )
}

fn detect_django(files: &impl ProjectFiles) -> Option<RuntimePlan> {
    let why = "there is a manage.py, as Django has it";
    files
        .exists("manage.py")
        .then(|| RuntimePlan::new(why).with_dev_command("python3 manage.py runserver"))
}

/// The application that `.flaskenv` names. The command repeats it, since Flask reads the file
/// only if another package is installed.
fn detect_flaskenv(files: &impl ProjectFiles) -> Option<RuntimePlan> {
    let text = files.read_text(".flaskenv")?;
    let value = |name: &str| {
        // The last assignment counts.
        text.lines().rev().find_map(|line| {
            let line = line.trim();
            let (key, value) = line.strip_prefix("export ").unwrap_or(line).split_once('=')?;
            (key.trim() == name).then(|| value.trim().trim_matches(['"', '\'']).to_owned())
        })
    };
    let fits = |c: char| c.is_ascii_alphanumeric() || "_.:/-".contains(c);
    let app = value("FLASK_APP").filter(|app| !app.is_empty() && app.chars().all(fits))?;
    let port = value("FLASK_RUN_PORT").and_then(|port| port.parse().ok()).filter(|port| *port != 0);
    let listens = port.map(|port: u16| format!(" --port {port}")).unwrap_or_default();
    let plan = RuntimePlan::new(format!(".flaskenv names the application {app}"));
    Some(RuntimePlan {
        port,
        ..plan.with_dev_command(format!("python3 -m flask --app {app} run --debug{listens}"))
    })
}

fn detect_app_module(files: &impl ProjectFiles) -> Option<RuntimePlan> {
    MODULES.iter().find_map(|path| {
        let text = files.read_text(path)?;
        let whole = path.trim_end_matches(".py").trim_end_matches("/__init__");
        // A module in `src` is imported without that prefix, unless `src` is a package itself.
        let inside = whole.strip_prefix("src/").filter(|_| !files.exists("src/__init__.py"));
        let module = inside.unwrap_or(whole).replace('/', ".");
        let uvicorn = if inside.is_some() { "uvicorn --app-dir src" } else { "uvicorn" };
        let flask = if inside.is_some() { "PYTHONPATH=src python3" } else { "python3" };
        if let Some(name) =
            find_app_variable(&text, "FastAPI(").or_else(|| find_app_variable(&text, "Starlette("))
        {
            let why = format!("{path} makes a FastAPI application, `{name}`");
            let line = format!("python3 -m {uvicorn} {module}:{name} --reload");
            return Some(RuntimePlan::new(why).with_dev_command(line));
        }
        if let Some(name) = find_app_variable(&text, "Flask(") {
            let why = format!("{path} makes a Flask application, `{name}`");
            let line = format!("{flask} -m flask --app {module}:{name} run --debug");
            return Some(RuntimePlan::new(why).with_dev_command(line));
        }
        if !text.lines().any(|line| line.starts_with(&format!("def {FACTORY}("))) {
            return None;
        }
        if text.contains("FastAPI(") {
            let why = format!("{path} has a function that makes a FastAPI application");
            let line = format!("python3 -m {uvicorn} {module}:{FACTORY} --factory --reload");
            return Some(RuntimePlan::new(why).with_dev_command(line));
        }
        let why = format!("{path} has a function that makes a Flask application");
        let line = format!("{flask} -m flask --app {module}:{FACTORY} run --debug");
        text.contains("Flask(").then(|| RuntimePlan::new(why).with_dev_command(line))
    })
}

/// The module-level variable that the result of a call is assigned to.
fn find_app_variable<'a>(text: &'a str, call: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let (name, value) = line.split_once('=')?;
        let name = name.split(':').next().unwrap_or(name).trim_end();
        let called = value.trim_start();
        let called =
            called.strip_prefix("fastapi.").or(called.strip_prefix("flask.")).unwrap_or(called);
        let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        (plain && !name.is_empty() && called.starts_with(call)).then_some(name)
    })
}
