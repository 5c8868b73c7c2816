//! Python: Django, `FastAPI` with uvicorn, Flask.

use super::{Listing, Plan};

/// Where an application is looked for.
const MODULES: &[&str] = &[
    "main.py",
    "app.py",
    "server.py",
    "api.py",
    "wsgi.py",
    "asgi.py",
    "app/main.py",
    "src/main.py",
];

pub(super) fn detect(files: &impl Listing) -> Option<Plan> {
    if files.has("manage.py") {
        let why = "there is a manage.py, as Django has it";
        return Some(Plan::new(why).dev("python3 manage.py runserver"));
    }
    MODULES.iter().find_map(|path| {
        let text = files.read(path)?;
        let module = path.trim_end_matches(".py").replace('/', ".");
        if let Some(name) = made(&text, "FastAPI(").or_else(|| made(&text, "Starlette(")) {
            let why = format!("{path} makes a FastAPI application, `{name}`");
            let line = format!("python3 -m uvicorn {module}:{name} --reload");
            return Some(Plan::new(why).dev(line));
        }
        let name = made(&text, "Flask(")?;
        let why = format!("{path} makes a Flask application, `{name}`");
        Some(Plan::new(why).dev(format!("python3 -m flask --app {module}:{name} run --debug")))
    })
}

/// The variable to which the result of a call is bound, at the top of a module.
fn made<'a>(text: &'a str, call: &str) -> Option<&'a str> {
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
