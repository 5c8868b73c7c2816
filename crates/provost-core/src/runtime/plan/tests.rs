//! Detection and `provost.toml`, as tables.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::{DevServerProgram, ProjectFiles, RestartPolicy, RuntimePlan};

/// Files with their content.
struct Folder<'a>(&'a [(&'a str, &'a str)]);

impl ProjectFiles for Folder<'_> {
    fn exists(&self, path: &str) -> bool {
        self.0.iter().any(|(name, _)| *name == path)
    }

    fn read_text(&self, path: &str) -> Option<String> {
        self.0.iter().find(|(name, _)| *name == path).map(|(_, text)| (*text).to_owned())
    }

    fn list_names(&self, folder: &str) -> Vec<String> {
        let inside = |(path, _): &(&str, &str)| {
            let rest = path.strip_prefix(folder)?.strip_prefix('/')?;
            rest.split('/').next().map(str::to_owned)
        };
        let names: std::collections::BTreeSet<_> = self.0.iter().filter_map(inside).collect();
        names.into_iter().collect()
    }
}

fn summary(plan: &RuntimePlan) -> String {
    let dev = plan.dev.as_ref().map_or("-".to_owned(), DevServerProgram::describe);
    let build = plan.build.as_deref().unwrap_or("-");
    let first = if plan.build_first { " first" } else { "" };
    format!("{dev} | {build}{first} | {}", plan.why)
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn what_lies_in_a_folder_says_what_to_run() {
    let vite = r#"{"scripts": {"dev": "vite", "build": "vite build"}}"#;
    let start = r#"{"scripts": {"start": "node .", "build": "tsc"}, "packageManager": "pnpm@9.1"}"#;
    for (files, expected) in [
        (
            &[("package.json", vite)][..],
            "npm run dev | npm run build | package.json has the script `dev`, and nothing asks for another than npm",
        ),
        (
            &[("package.json", vite), ("yarn.lock", "")],
            "yarn run dev | yarn run build | package.json has the script `dev`, and there is a yarn.lock",
        ),
        (
            &[("package.json", vite), ("bun.lock", "")],
            "bun run dev | bun run build | package.json has the script `dev`, and there is a bun.lock",
        ),
        (
            &[("package.json", start), ("yarn.lock", "")],
            "pnpm run start | pnpm run build first | package.json has the script `start`, and it asks for pnpm",
        ),
        (
            &[("package.json", "{}"), ("index.html", "")],
            "serve the files in . | - | there is a page, index.html",
        ),
        (
            &[("package.json", r#"{"scripts":{"build":"x"}}"#)],
            "- | npm run build | package.json has the script `build`, and nothing asks for another than npm",
        ),
        (
            &[("Cargo.toml", "[package]"), ("src/main.rs", "")],
            "cargo run | cargo build first | there is a Cargo.toml with a program",
        ),
        (&[("Cargo.toml", "[package]")], "- | cargo build | there is a Cargo.toml"),
        (
            &[("manage.py", "")],
            "python3 manage.py runserver | - | there is a manage.py, as Django has it",
        ),
        (
            &[("main.py", "from fastapi import FastAPI\napp = FastAPI()\n")],
            "python3 -m uvicorn main:app --reload | - | main.py makes a FastAPI application, `app`",
        ),
        (
            &[("app.py", "web: Flask = flask.Flask(__name__)\n")],
            "python3 -m flask --app app:web run --debug | - | app.py makes a Flask application, `web`",
        ),
        (
            &[("go.mod", ""), ("main.go", "")],
            "go run . | go build ./... first | there are a go.mod and a main.go",
        ),
        (
            &[("Procfile", "worker: w\nweb: gunicorn app\n")],
            "gunicorn app | - | the Procfile has the process `web`",
        ),
        (
            &[("Procfile", "release: ./migrate\nworker: w\nclock: c\n")],
            "w | - | the Procfile has the process `worker`",
        ),
        (
            &[("Procfile", "release: ./migrate\n"), ("Makefile", "run:\n\t./x\n")],
            "make run | - | the Makefile has the target `run`",
        ),
        (
            &[("Makefile", "dev := 1\nbuild: a\n\tcc\nserve :\n\t./x\n")],
            "make serve | make build | the Makefile has the target `serve`",
        ),
        (
            &[("public/index.html", "")],
            "serve the files in public | - | there is a page, public/index.html",
        ),
    ] {
        let plan = RuntimePlan::from_project(&Folder(files)).unwrap().unwrap();
        assert_eq!(summary(&plan), expected);
    }
    assert_eq!(RuntimePlan::from_project(&Folder(&[("README.md", "")])).unwrap(), None);
    assert_eq!(
        RuntimePlan::from_project(&Folder(&[("Procfile", "release: ./migrate\n")])).unwrap(),
        None
    );
}

#[test]
fn programs_are_found_where_larger_projects_have_them() {
    let factory = "from flask import Flask\ndef create_app(config=None):\n    app = Flask(__name__)\n    return app\n";
    let fast = "from fastapi import FastAPI\napp = FastAPI()\n";
    let fast_factory =
        "from fastapi import FastAPI\n\ndef create_app() -> FastAPI:\n    return FastAPI()\n";
    for (files, expected) in [
        (
            &[("app/__init__.py", factory)][..],
            "python3 -m flask --app app:create_app run --debug | - | app/__init__.py has a function that makes a Flask application",
        ),
        (
            &[("app.py", "def create_app():\n    pass\n"), ("index.html", "")],
            "serve the files in . | - | there is a page, index.html",
        ),
        (
            &[
                ("app.py", factory),
                (".flaskenv", "# x\nexport FLASK_APP='site:make'\nFLASK_RUN_PORT=5050\n"),
            ],
            "python3 -m flask --app site:make run --debug --port 5050 | - | .flaskenv names the application site:make",
        ),
        (
            &[("app.py", factory), (".flaskenv", "FLASK_APP=x;rm -r .\n")],
            "python3 -m flask --app app:create_app run --debug | - | app.py has a function that makes a Flask application",
        ),
        (
            &[("src/api/main.py", fast)],
            "python3 -m uvicorn --app-dir src api.main:app --reload | - | src/api/main.py makes a FastAPI application, `app`",
        ),
        (
            &[("src/api/main.py", fast), ("src/__init__.py", "")],
            "python3 -m uvicorn src.api.main:app --reload | - | src/api/main.py makes a FastAPI application, `app`",
        ),
        (
            &[("app/main.py", fast_factory), (".venv/bin/python3", "")],
            "PATH=\"$PWD/.venv/bin:$PATH\" python3 -m uvicorn app.main:create_app --factory --reload | - | app/main.py has a function that makes a FastAPI application; it runs with what is in .venv",
        ),
        (
            &[("manage.py", ""), ("venv/bin/python3", "")],
            "PATH=\"$PWD/venv/bin:$PATH\" python3 manage.py runserver | - | there is a manage.py, as Django has it; it runs with what is in venv",
        ),
        (
            &[("go.mod", ""), ("cmd/server/main.go", ""), ("cmd/README.md", "")],
            "go run ./cmd/server | go build ./... first | there are a go.mod and a cmd/server/main.go",
        ),
        (
            &[("go.mod", ""), ("cmd/a/main.go", ""), ("cmd/b/main.go", "")],
            "- | go build ./... | there is a go.mod",
        ),
        (&[("go.mod", ""), ("cmd/$(x)/main.go", "")], "- | go build ./... | there is a go.mod"),
        (
            &[
                ("Cargo.toml", "[workspace]\nmembers = ['crates/*', 'tool']\n"),
                ("crates/core/Cargo.toml", "[package]"),
                ("crates/core/src/lib.rs", ""),
                ("crates/web/Cargo.toml", "[package]"),
                ("crates/web/src/main.rs", ""),
            ],
            "cargo run | cargo build first | the workspace in Cargo.toml has one program, in crates/web",
        ),
        (
            &[
                ("Cargo.toml", "[workspace]\nmembers = ['a', 'b']\n"),
                ("a/Cargo.toml", "[package]"),
                ("a/src/main.rs", ""),
                ("b/Cargo.toml", "[[bin]]\nname = 'b'\n"),
            ],
            "- | cargo build | there is a Cargo.toml",
        ),
        (
            &[("Cargo.toml", "[package]\n[[bin]]\nname = 'x'\n")],
            "cargo run | cargo build first | there is a Cargo.toml with a program",
        ),
    ] {
        let plan = RuntimePlan::from_project(&Folder(files)).unwrap().unwrap();
        assert_eq!(summary(&plan), expected);
    }
}

#[test]
fn what_is_written_wins_over_what_is_detected() {
    let files =
        [("package.json", r#"{"scripts":{"dev":"x"}}"#), ("provost.toml", "[runtime]\ndev = 'y'")];
    assert_eq!(
        summary(&RuntimePlan::from_project(&Folder(&files)).unwrap().unwrap()),
        "y | - | provost.toml says so"
    );
    assert!(
        summary(&RuntimePlan::detect(&Folder(&files)).unwrap().unwrap()).starts_with("npm run dev")
    );
}

#[test]
fn what_is_wrong_is_told_with_its_place() {
    for (text, expected) in [
        ("", "provost.toml:1:1: missing field `runtime`"),
        (
            "[runtime]\n",
            "provost.toml:1:1: expected `dev`, `static` or `build`: it says nothing to run",
        ),
        ("[runtime]\ndev = ''\n", "provost.toml:2:7: expected a command in one line"),
        (
            "[runtime]\ndev = 'a'\nprot = 1\n",
            "provost.toml:3:1: unknown field `prot`, expected one of `build`, `build_first`, `dev`, `static`, `port`, `env`, `restart`",
        ),
        (
            "[runtime]\ndev = 'a'\nport = 70000\n",
            "provost.toml:3:8: invalid value: integer `70000`, expected a nonzero u16",
        ),
        (
            "[runtime]\ndev = 'a'\nrestart = 'yes'\n",
            "provost.toml:3:11: unknown variant `yes`, expected `never` or `on-crash`",
        ),
        (
            "[runtime]\ndev = 'a'\nstatic = 'b'\n",
            "provost.toml:3:10: expected `dev` or `static`, not both",
        ),
        ("[runtime]\nstatic = '../x'\n", "provost.toml:2:10: expected a folder of the project: "),
        (
            "[runtime]\ndev = 'a'\nenv = { '1A' = 'x' }\n",
            "provost.toml:3:9: expected the name of a variable: letters, digits and `_`",
        ),
        (
            "[runtime]\ndev = 'a'\nbuild_first = true\n",
            "provost.toml:1:1: expected `build`, since `build_first` is true",
        ),
        ("[runtime", "provost.toml:1:9: "),
    ] {
        let error = RuntimePlan::parse(text).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{text:?}\n{error}\n{expected}");
    }
    let error =
        RuntimePlan::from_project(&Folder(&[("package.json", "{\n]")])).unwrap_err().to_string();
    assert!(error.starts_with("package.json:2:1: expected a package: "), "{error}");
}

proptest! {
    #[test]
    fn what_is_written_reads_back_as_the_same_plan(
        dev in "[^\\p{C}\\s][^\\p{C}]{0,30}[^\\p{C}\\s]", build in prop::option::of("[a-z\"\\\\]{1,9}"),
        first in any::<bool>(), port in prop::option::of(1..=u16::MAX), on_crash in any::<bool>(),
        env in prop::collection::btree_map("[A-Z_][A-Z0-9_]{0,5}", "[^\\x00]{0,9}", 0..3),
        folder in any::<bool>(),
    ) {
        let plan = RuntimePlan {
            build_first: first && build.is_some(),
            build,
            dev: Some(if folder {
                DevServerProgram::Static { root: "dist".to_owned() }
            } else {
                DevServerProgram::Shell(dev)
            }),
            port,
            env: env.into_iter().collect::<BTreeMap<_, _>>(),
            restart: if on_crash { RestartPolicy::OnCrash } else { RestartPolicy::Never },
            why: "provost.toml says so".to_owned(),
        };
        prop_assert_eq!(RuntimePlan::parse(&plan.to_toml()), Ok(plan));
    }
}
