//! Building a project runs the project's own build, and nothing swapped in beside it.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use super::*;

/// Runs a script as the person would, outside any sandbox; returns its output.
fn run_outside(folder: &Path, script: &str) -> String {
    let mut bash = assert_cmd::Command::new("/bin/bash");
    bash.args(["-c", script]).current_dir(folder).env_clear();
    bash.env("PATH", "/usr/local/bin:/usr/bin:/bin").env("HOME", folder);
    let output = bash.output().unwrap();
    String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
}

/// The project's file, the agent's beside it, what a person runs, and what it then prints.
struct BuildFileSwap {
    own: (&'static str, &'static str),
    swapped_in: (&'static str, &'static str),
    build: &'static str,
    prints: &'static str,
}

/// Those of the families whose programs are on every machine that builds Provost.
const SWAPS: &[BuildFileSwap] = &[
    BuildFileSwap {
        own: ("Makefile", "all:\n\t@echo own\n"),
        swapped_in: ("makefile", "all:\n\t@echo evil\n"),
        build: "make",
        prints: "own",
    },
    BuildFileSwap {
        own: ("makefile", "all:\n\t@echo own\n"),
        swapped_in: ("GNUmakefile", "all:\n\t@echo evil\n"),
        build: "make",
        prints: "own",
    },
];

#[tokio::test]
async fn nothing_is_swapped_in_beside_the_projects_build() {
    for BuildFileSwap { own, swapped_in, build, prints } in SWAPS {
        // Without Provost the tool uses the other file, or the test would prove nothing.
        let control = tempfile::tempdir().unwrap();
        fs::write(control.path().join(own.0), own.1).unwrap();
        let before = run_outside(control.path(), build);
        assert!(before.contains(prints), "{build}: {before}");
        fs::write(control.path().join(swapped_in.0), swapped_in.1).unwrap();
        let after = run_outside(control.path(), build);
        assert!(!after.contains(prints), "{build} prefers {}: {after}", own.0);
        let kernel = Kernel::start(&[(&format!("src/{}", own.0), own.1)]).await;
        let source = kernel.folder.path().join("app/src");
        let text = swapped_in.1.replace('\'', "'\\''");
        let set_aside =
            kernel.set_aside_by(&format!("printf %s '{text}' > {}", swapped_in.0)).await;
        assert_eq!(set_aside, [format!("src/{}", swapped_in.0)]);
        let printed = run_outside(&source, build);
        assert!(printed.contains(prints), "{build}: {printed}");
    }
}

/// The project's file, and one that an agent creates beside it.
const SHADOWS: &[(&str, &str)] = &[
    ("vite.config.ts", "vite.config.js"),
    ("vitest.config.mts", "vitest.config.ts"),
    (".eslintrc.json", "eslint.config.js"),
    ("eslint.config.mjs", "eslint.config.js"),
    ("jest.config.ts", "jest.config.js"),
    ("webpack.config.ts", "webpack.config.js"),
    (".babelrc", ".babelrc.js"),
    ("babel.config.json", "babel.config.js"),
    ("postcss.config.cjs", "postcss.config.js"),
    ("next.config.mjs", "next.config.js"),
    (".mocharc.json", ".mocharc.cjs"),
    ("build.gradle.kts", "build.gradle"),
    ("settings.gradle.kts", "settings.gradle"),
    ("rust-toolchain.toml", "rust-toolchain"),
    ("docker-compose.yml", "compose.yaml"),
    ("BUILD", "BUILD.bazel"),
    ("Taskfile.dist.yml", "Taskfile.yml"),
    ("Rakefile", "rakefile"),
    ("phpunit.xml.dist", "phpunit.xml"),
    ("Justfile", "justfile"),
    ("package-lock.json", "npm-shrinkwrap.json"),
    ("pyproject.toml", "pytest.ini"),
    ("setup.cfg", "tox.ini"),
];

#[tokio::test]
async fn a_second_build_file_of_a_tool_is_set_aside() {
    let kernel = Kernel::start(&[("src/a", "")]).await;
    let source = kernel.folder.path().join("app/src");
    let mut command = String::new();
    let mut expected = Vec::new();
    for (number, (own, new)) in SHADOWS.iter().enumerate() {
        let folder = source.join(format!("d{number}"));
        fs::create_dir(&folder).unwrap();
        // The sections of the tools that share a file.
        fs::write(folder.join(own), "[tool.pytest.ini_options]\n[tool:pytest]\n").unwrap();
        write!(command, "echo '[pytest]' > d{number}/{new};").unwrap();
        expected.push(format!("src/d{number}/{new}"));
    }
    // The first of its kind, one of another tool, one without the section, and a link.
    fs::create_dir(source.join("free")).unwrap();
    fs::write(source.join("free/pyproject.toml"), "[project]\nname = 'a'\n").unwrap();
    command += "cd free; echo > Makefile; echo > vite.config.ts; echo > vitest.config.ts; \
                echo > pytest.ini; cd ..; ln -s ../a d0/vite.config.mjs";
    expected.push("src/d0/vite.config.mjs".to_owned());
    let mut set_aside = kernel.set_aside_by(&command).await;
    set_aside.sort();
    expected.sort();
    assert_eq!(set_aside, expected);
    for name in ["Makefile", "vite.config.ts", "vitest.config.ts", "pytest.ini"] {
        assert!(source.join("free").join(name).exists(), "{name}");
    }
}

#[tokio::test]
async fn a_build_file_may_be_renamed_and_not_come_back_as_a_second() {
    let kernel = Kernel::start(&[("src/Makefile", "all:\n")]).await;
    let source = kernel.folder.path().join("app/src");
    let none: [&str; 0] = [];
    assert_eq!(kernel.set_aside_by("mv Makefile old; echo > makefile").await, none);
    assert_eq!(kernel.set_aside_by("echo more >> makefile").await, none);
    assert_eq!(kernel.set_aside_by("mv old Makefile").await, ["src/makefile"]);
    assert!(source.join("Makefile").exists() && !source.join("makefile").exists());
    // What the person has beside each other stays, and so does a copy of both.
    fs::write(source.join("makefile"), "mine").unwrap();
    let copy = "mkdir c && cp Makefile makefile c/ && echo >> makefile";
    assert_eq!(kernel.set_aside_by(copy).await, none);
    assert!(source.join("makefile").exists() && source.join("c/makefile").exists());
}

#[tokio::test]
async fn a_file_action_swaps_no_build_file_in_either() {
    let kernel = Kernel::start(&[("src/vite.config.ts", "")]).await;
    let params = json!({ "path": "src/vite.config.js", "content": "evil" });
    let result = kernel.act_for_agent("fs.writeFile", params, false).await.unwrap();
    assert_eq!(result["setAside"]["entries"][0]["path"], "src/vite.config.js", "{result}");
    assert!(!kernel.folder.path().join("app/src/vite.config.js").exists());
    let params = json!({ "path": "src/vite.config.ts", "content": "changed" });
    let result = kernel.act_for_agent("fs.writeFile", params, false).await.unwrap();
    assert!(!result.to_string().contains("setAside"), "{result}");
}

/// A setting of the person leads to them: then any change counts, not only a second file.
#[tokio::test]
async fn a_build_file_that_a_setting_names_stays_protected() {
    let envrc = "dotenv\nsource ./gulpfile.js\n";
    let files = [("src/.envrc", envrc), ("src/gulpfile.js", "own"), ("src/.env", "A=1\n")];
    let kernel = Kernel::start(&files).await;
    let source = kernel.folder.path().join("app/src");
    let mut set_aside = kernel.set_aside_by("echo evil > gulpfile.js; echo B=1 >> .env").await;
    set_aside.sort();
    assert_eq!(set_aside, ["src/.env", "src/gulpfile.js"]);
    assert_eq!(fs::read_to_string(source.join("gulpfile.js")).unwrap(), "own");
    assert_eq!(fs::read_to_string(source.join(".env")).unwrap(), "A=1\n");
}

#[tokio::test]
async fn variables_that_run_code_are_set_aside_and_others_stay() {
    let kernel = Kernel::start(&[("src/.env", "KEY=mine\n")]).await;
    let source = kernel.folder.path().join("app/src");
    let none: [&str; 0] = [];
    let data = "echo PORT=3000 >> .env; echo A=1 > .env.local; echo 'B=$(c)' > .env.example";
    assert_eq!(kernel.set_aside_by(data).await, none);
    for attack in [
        "echo 'touch evil' >> .env",
        "echo 'A=$(touch evil)' >> .env",
        "echo 'BASH_ENV=./x' >> .env",
        "mv .env real; ln -s real .env; echo 'touch evil' >> real",
    ] {
        assert_eq!(kernel.set_aside_by(attack).await, ["src/.env"], "{attack}");
        run_outside(&source, ". ./.env");
        assert!(!source.join("evil").exists(), "{attack}");
        let text = fs::read_to_string(source.join(".env")).unwrap();
        assert_eq!(text, "KEY=mine\nPORT=3000\n", "{attack}");
    }
    let set_aside = kernel.set_aside_by("echo 'NODE_OPTIONS=--require=./x' > .env.test").await;
    assert_eq!(set_aside, ["src/.env.test"]);
}
