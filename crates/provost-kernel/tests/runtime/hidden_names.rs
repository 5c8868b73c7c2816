//! Names that begin with a dot and that no list has: what an agent's action leaves there.

use std::fs;

use serde_json::json;

use crate::Kernel;

#[tokio::test]
async fn a_setting_that_nobody_thought_of_is_set_aside() {
    let kernel = Kernel::start(&[("src/.jedi/project.json", "mine\n"), ("src/a", "")]).await;
    let app = kernel.folder.path().join("app");
    for (command, paths) in [
        (
            "mkdir -p x/.ropeproject && echo x > x/.ropeproject/config.py",
            "x/.ropeproject/config.py",
        ),
        ("mkdir -p .new/a && echo x > .new/a/b && ln -s /etc .new/c", ".new/a/b .new/c"),
        ("echo x > .lintstagedrc", ".lintstagedrc"),
        ("ln -s ../tools .fvm", ".fvm"),
        ("mkfifo .pipe", ".pipe"),
        ("mkdir -p .x/build && echo x > .x/build/b", ".x/build/b"),
        // Beside the files of a repository.
        (
            "mkdir -p .r/objects .r/refs && touch .r/HEAD && echo x > .r/project.json",
            ".r/project.json",
        ),
        ("echo evil > .jedi/project.json", ".jedi/project.json"),
        ("echo ./evil > .python-version", ".python-version"),
    ] {
        let mut found = kernel.set_aside_by(command).await;
        found.sort();
        let expected: Vec<String> = paths.split(' ').map(|path| format!("src/{path}")).collect();
        assert_eq!(found, expected, "{command}");
    }
    assert!(!app.join("src/.new").exists(), "no empty folders remain");
    assert_eq!(fs::read_to_string(app.join("src/.jedi/project.json")).unwrap(), "mine\n");
}

#[tokio::test]
async fn an_unknown_setting_that_a_person_was_shown_stays() {
    let kernel = Kernel::start(&[("src/.jedi/project.json", "mine\n")]).await;
    let none: [&str; 0] = [];
    let params = json!({ "path": "src/.jedi/project.json", "content": "shown\n" });
    let result = kernel.act_for_agent("fs.writeFile", params.clone(), false).await.unwrap();
    assert_eq!(result["setAside"]["entries"][0]["path"], "src/.jedi/project.json", "{result}");
    let result = kernel.act_for_agent("fs.writeFile", params, true).await.unwrap();
    assert_eq!(result.get("setAside"), None, "{result}");
    let large = "x".repeat(300 * 1024);
    let params = json!({ "path": "src/.large", "content": large });
    let result = kernel.act_for_agent("fs.writeFile", params, true).await.unwrap();
    assert_eq!(result.get("setAside"), None, "{result}");
    assert_eq!(kernel.set_aside_by("touch x").await, none);
    assert!(kernel.folder.path().join("app/src/.large").exists());
}

#[tokio::test]
async fn what_tools_of_the_person_keep_is_not_lost() {
    let kernel = Kernel::start(&[("src/.tool/state", "mine\n"), ("src/a", "")]).await;
    let app = kernel.folder.path().join("app/src");
    let none: [&str; 0] = [];
    // Too many to be compared, and too large.
    fs::create_dir(app.join(".many")).unwrap();
    for number in 0..2001 {
        fs::write(app.join(".many").join(number.to_string()), "").unwrap();
    }
    fs::write(app.join(".data"), vec![b'x'; 300 * 1024]).unwrap();
    assert_eq!(kernel.set_aside_by("echo 1 > .many/7; echo 1 >> .data; rm .many/8").await, none);
    assert_eq!(fs::read_to_string(app.join(".many/7")).unwrap(), "1\n");
    assert_eq!(kernel.set_aside_by("echo 1 > .tool/state").await, ["src/.tool/state"]);
    // Another folder with the name of one that is gone.
    fs::remove_dir_all(app.join(".many")).unwrap();
    let found = kernel.set_aside_by("mkdir .many && echo x > .many/x").await;
    assert_eq!(found, ["src/.many/x"]);
}

#[tokio::test]
async fn what_popular_tools_leave_stays() {
    let kernel = Kernel::start(&[("src/a", "")]).await;
    for path in [
        ".next/server/x.js",
        ".pytest_cache/v/x",
        ".venv/bin/python",
        ".venv/lib/.hidden/x",
        ".terraform/providers/x",
        ".terraform.lock.hcl",
        ".gradle/8.8/x",
        "obj/Debug/.NETCoreApp,Version=v8.0.AssemblyAttributes.cs",
        "build/.cmake/x",
        "node_modules/.cache/x",
        ".ipynb_checkpoints/a.ipynb",
        ".python-version",
        ".prettierrc",
        ".eslintcache",
        ".coverage",
        ".env.example",
        ".github/CODEOWNERS",
        ".worktrees/a/.gitignore",
    ] {
        let command = format!("mkdir -p \"$(dirname '{path}')\" && echo 3.12 > '{path}'");
        assert_eq!(kernel.set_aside_by(&command).await, [""; 0], "{path}");
    }
}

#[tokio::test]
async fn a_copy_that_git_makes_of_an_unknown_setting_stays() {
    let kernel = Kernel::start(&[("src/a", "")]).await;
    let app = kernel.folder.path().join("app");
    let git = "export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a \
               GIT_COMMITTER_EMAIL=a@b; git";
    crate::quarantine::run_outside(
        kernel.folder.path(),
        &format!(
            "mkdir -p src/.jedi/sub && echo mine > src/.jedi/sub/x && {git} init -q . && git add . && git commit -qm one"
        ),
    );
    assert_eq!(kernel.set_aside_by("git worktree add -q w").await, [""; 0]);
    assert!(app.join("src/w/src/.jedi/sub/x").exists());
    let found = kernel.set_aside_by("mkdir -p .other && cp -r .jedi/sub .other/").await;
    assert_eq!(found, ["src/.other/sub/x"], "for another program");
}
