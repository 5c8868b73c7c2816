//! What a command leaves does not run outside the sandbox: attacks with the real git.

use std::fs;
use std::path::Path;

use super::*;

/// Runs a script as the person would, outside any sandbox; returns its output.
pub(crate) fn run_outside(folder: &Path, script: &str) -> String {
    let home = folder.join("home");
    let mut bash = assert_cmd::Command::new("/bin/bash");
    bash.args(["-c", script]).current_dir(folder.join("app")).env_clear();
    bash.env("PATH", "/usr/local/bin:/usr/bin:/bin").env("HOME", &home);
    bash.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_EDITOR", "true");
    let output = bash.output().unwrap();
    String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
}

/// The person's own repository, and a script that proves that it ran.
fn prepare(folder: &Path) {
    fs::create_dir_all(folder.join("home")).unwrap();
    fs::create_dir_all(folder.join("app/tools")).unwrap();
    let evil = format!("#!/bin/sh\necho ran >> {}\n", folder.join("marker").display());
    for name in ["app/evil.sh", "app/tools/pre-commit", "app/tools/post-checkout"] {
        fs::write(folder.join(name), &evil).unwrap();
    }
    let printed = run_outside(
        folder,
        "chmod +x evil.sh tools/* && git config --global user.name a && \
         git config --global user.email a@b && git init -q -b main && echo a > a && \
         git add . && git commit -q -m one && echo b >> a && git commit -qam two && echo fine",
    );
    assert!(printed.ends_with("fine\n"), "{printed}");
}

/// What a person does to look at a project.
const LOOKS: &str = "for d in . $(find . -name .git -prune -o -type d -print); do \
    for c in 'status' 'diff' 'log -1' 'commit --allow-empty -m x' 'checkout -q -b new' \
    'rebase --continue'; do (cd $d && git $c </dev/null); done; done";

/// Commands of an agent, each with the effect that looking runs `evil.sh`.
const ATTACKS: &[(&str, &str)] = &[
    (
        "commondir",
        "git init -q --bare c && git -C c config core.bare false && cp -r .git/refs .git/objects c/ && \
         git -C c config core.fsmonitor $PWD/evil.sh; echo ../c > .git/commondir",
    ),
    (
        "nested repository with a gitlink",
        "git init -q n && git -C n -c user.name=a -c user.email=a@b commit -q --allow-empty -m x && \
         git update-index --add --cacheinfo 160000,$(git -C n rev-parse HEAD),n && \
         git -C n config core.fsmonitor $PWD/evil.sh",
    ),
    ("hooks path", "printf '[core]\\n\\thooksPath = tools\\n' >> .git/config"),
    (
        "hooks path in a nested repository",
        "git init -q n && printf '[core]\\n\\thooksPath = ../tools\\n' >> n/.git/config",
    ),
    ("hooks as a link", "git init -q n && rm -rf n/.git/hooks && ln -s ../../tools n/.git/hooks"),
    ("hooks of the project as a link", "mv .git/hooks .git/h; ln -s ../tools .git/hooks"),
    (
        "include",
        "git init -q n && printf '[core]\\n\\tfsmonitor = %s/evil.sh\\n' $PWD > inc && \
         printf '[include]\\n\\tpath = ../../inc\\n' >> n/.git/config",
    ),
    (
        "repository as a link",
        "git init -q n && git -C n config core.fsmonitor $PWD/evil.sh && mv n/.git n/real && \
         ln -s real n/.git",
    ),
    (
        "repository as a file that points into git's data",
        "git init -q n && git -C n config core.fsmonitor $PWD/evil.sh && \
         mv n/.git .git/objects/zz && echo gitdir: $PWD/.git/objects/zz > n/.git",
    ),
    (
        "bare repository",
        "git init -q --bare n && git -C n config core.bare false && \
         git -C n config core.worktree . && git -C n config core.fsmonitor $PWD/evil.sh",
    ),
    (
        "forged rebase",
        "mkdir .git/rebase-merge && cd .git/rebase-merge && git rev-parse HEAD > onto && \
         cp onto orig-head && echo refs/heads/main > head-name && touch interactive author-script && \
         echo 'exec ./evil.sh' > git-rebase-todo && touch done && echo 1 > msgnum && echo 1 > end",
    ),
    (
        "forged worktree",
        "git worktree add -q w && git init -q --bare c && git -C c config core.bare false && \
         cp -r .git/refs .git/objects c/ && git -C c config core.fsmonitor $PWD/evil.sh; \
         echo ../../../c > .git/worktrees/w/commondir",
    ),
    (
        "hook in a folder that is not readable",
        "mkdir n && git init -q n && cp tools/pre-commit n/.git/hooks/ && chmod 311 n/.git/hooks",
    ),
];

#[tokio::test]
async fn looking_at_a_project_runs_nothing_that_a_command_left() {
    for (name, attack) in ATTACKS {
        // Without Provost the attack works, or it would prove nothing.
        let control = tempfile::tempdir().unwrap();
        prepare(control.path());
        run_outside(control.path(), attack);
        let printed = run_outside(control.path(), LOOKS);
        assert!(control.path().join("marker").exists(), "{name} does not work: {printed}");

        let kernel = Kernel::start(&[]).await;
        prepare(kernel.folder.path());
        fs::write(kernel.folder.path().join("app/tools/log"), "").unwrap();
        let outcome = kernel.runs(attack).await;
        let printed = run_outside(kernel.folder.path(), LOOKS);
        assert!(!kernel.folder.path().join("marker").exists(), "{name}: {outcome} {printed}");
    }
}

/// Attacks in several commands, each with the effect that looking or continuing runs `evil.sh`.
const ATTACKS_IN_STEPS: &[(&str, &[&str])] = &[
    (
        "commondir that was the list of a rebase",
        &[
            "mkdir -p e .git/rebase-merge && cp -r .git/refs .git/objects e/ && \
             echo ../e > .git/rebase-merge/git-rebase-todo && \
             printf '[core]\\n\\tfsmonitor = %s/evil.sh\\n' $PWD > e/config",
            "mv .git/rebase-merge/git-rebase-todo .git/commondir; rmdir .git/rebase-merge",
        ],
    ),
    (
        "hook that was the settings of a submodule",
        &[
            "git init -q n && mkdir x && printf '#!/bin/sh\\n#' > x/.gitmodules && \
             printf '\\n%s/evil.sh\\n' $PWD >> x/.gitmodules && chmod +x x/.gitmodules",
            "mv x/.gitmodules n/.git/hooks/post-checkout; mv tools/post-checkout n/.git/hooks/",
        ],
    ),
    (
        "settings of a submodule that no sandbox holds yet",
        &[
            "git init -q m && git -C m -c user.name=a -c user.email=a@b commit -q --allow-empty -m x && \
             mkdir -p .git/modules && mv m/.git .git/modules/m && \
             echo gitdir: ../.git/modules/m > m/.git && \
             git update-index --add --cacheinfo 160000,$(git -C m rev-parse HEAD),m",
            "printf '[core]\\n\\tfsmonitor = %s/evil.sh\\n' $PWD >> .git/modules/m/config",
        ],
    ),
    (
        "settings of a worktree",
        &[
            "git worktree add -q w && git config extensions.worktreeConfig true && \
             printf '[user]\\n\\tname = a\\n' > .git/worktrees/w/config.worktree",
            "printf '[core]\\n\\tfsmonitor = %s/evil.sh\\n' $PWD > .git/worktrees/w/config.worktree",
        ],
    ),
    (
        "strategy of a rebase",
        &["printf '#!/bin/sh\\n%s/evil.sh\\n' $PWD > git-merge-x && chmod +x git-merge-x && \
           mkdir .git/rebase-merge && cd .git/rebase-merge && git rev-parse HEAD > onto && \
           git rev-parse HEAD~1 > onto && cp onto orig-head && echo refs/heads/main > head-name && \
           touch interactive author-script done && echo 1 > msgnum && echo 1 > end && \
           echo x > strategy && echo \"pick $(git rev-parse HEAD)\" > git-rebase-todo"],
    ),
];

#[tokio::test]
async fn an_attack_in_several_commands_runs_nothing_either() {
    for (name, steps) in ATTACKS_IN_STEPS {
        let kernel = Kernel::start(&[]).await;
        prepare(kernel.folder.path());
        fs::write(kernel.folder.path().join("app/tools/log"), "").unwrap();
        let mut set_aside = Vec::new();
        for step in *steps {
            let outcome = kernel.runs(step).await;
            set_aside.push(outcome["summary"]["setAside"]["entries"].clone());
        }
        assert!(set_aside.iter().any(|entries| !entries.is_null()), "{name}: nothing set aside");
        let printed = run_outside(kernel.folder.path(), LOOKS);
        assert!(!kernel.folder.path().join("marker").exists(), "{name}: {set_aside:?} {printed}");
    }
}

#[tokio::test]
async fn links_and_repositories_among_gits_data_are_set_aside() {
    let kernel = Kernel::start(&[("src/a", "")]).await;
    prepare(kernel.folder.path());
    for (command, path) in [
        ("rm -f .git/logs/HEAD; ln -s /tmp/x .git/logs/HEAD", ".git/logs/HEAD"),
        (
            "mkdir -p .git/rr-cache/a; ln -s /tmp/x .git/rr-cache/a/postimage",
            ".git/rr-cache/a/postimage",
        ),
        (
            "git init -q --bare .git/lfs/e && cp tools/pre-commit .git/lfs/e/hooks/pre-receive",
            ".git/lfs/e/hooks/pre-receive",
        ),
        (
            "git init -q --bare .git/objects/zz && cp tools/pre-commit .git/objects/zz/hooks/update",
            ".git/objects/zz/hooks/update",
        ),
    ] {
        let (_, set_aside) = run_command(&kernel, command).await;
        assert_eq!(set_aside[0]["path"], path, "{command}: {set_aside}");
    }
    let app = kernel.folder.path().join("app");
    assert!(app.join(".git/logs/HEAD").symlink_metadata().is_err());
    run_outside(kernel.folder.path(), "git commit -q --allow-empty -m three");
}

#[tokio::test]
async fn a_copy_counts_as_the_projects_own_only_for_the_same_programs() {
    let kernel = Kernel::start(&[("src/a", "")]).await;
    prepare(kernel.folder.path());
    let polyglot = "git init -q n && printf '[user]\\n\\tname = a\\n' > n/.git/config";
    assert_eq!(run_command(&kernel, polyglot).await.1, Value::Null);
    let (_, set_aside) = run_command(&kernel, "mkdir .cargo; cp n/.git/config .cargo/config").await;
    assert_eq!(set_aside[0]["path"], ".cargo/config", "{set_aside}");
    let escaped = "printf '[toolchain]\\n\"p\\\\u0061th\" = \"/x\"\\n' > rust-toolchain.toml";
    let (_, set_aside) = run_command(&kernel, escaped).await;
    assert_eq!(set_aside[0]["path"], "rust-toolchain.toml", "{set_aside}");
}

#[tokio::test]
async fn a_change_through_a_mapping_is_seen() {
    let kernel = Kernel::start(&[("src/a", "")]).await;
    prepare(kernel.folder.path());
    let app = kernel.folder.path().join("app");
    // Both bytes are written before: the times of the file change no more.
    let program = "import mmap, os, time\n\
                   os.makedirs('mm/.git/refs'); os.makedirs('mm/.git/objects')\n\
                   open('mm/.git/HEAD', 'w').write('ref: refs/heads/main\\n')\n\
                   open('mm/.git/config', 'w').write('[core]\\n#fsmonitor = ./evil.sh\\n')\n\
                   f = open('mm/.git/config', 'r+b'); m = mmap.mmap(f.fileno(), 0)\n\
                   m[7:8] = b'#'; open('src/ready', 'w').close()\n\
                   while not os.path.exists('src/go'): time.sleep(0.02)\n\
                   m[7:8] = b' '; open('src/done', 'w').close()\n\
                   while not os.path.exists('src/end'): time.sleep(0.02)\n";
    fs::write(app.join("m.py"), program).unwrap();
    let id = Uuid::new_v4();
    let params = json!({ "command": "exec python3 m.py > /dev/null 2>&1", "background": true });
    kernel.act_as(id, "terminal.runCommand", params).await.unwrap();
    wait_for_file(&app.join("src/ready")).await;
    assert_eq!(run_command(&kernel, "true").await.1, Value::Null);
    fs::write(app.join("src/go"), "").unwrap();
    wait_for_file(&app.join("src/done")).await;
    let (_, set_aside) = run_command(&kernel, "true").await;
    assert_eq!(set_aside[0]["path"], "mm/.git/config", "{set_aside}");
    fs::write(app.join("src/end"), "").unwrap();
    kernel.outcome(id).await;
    let settings = fs::read_to_string(app.join("mm/.git/config")).unwrap_or_default();
    assert!(!settings.contains("\n fsmonitor"), "{settings}");
}

impl Kernel {
    /// The outcome of a command.
    async fn runs(&self, command: &str) -> Value {
        // Its output goes to a file: the harness reads reports without output.
        let (id, command) = (Uuid::new_v4(), format!("{{ {command}\n}} > tools/log 2>&1"));
        self.act_as(id, "terminal.runCommand", json!({ "command": command })).await.unwrap();
        self.outcome(id).await
    }

    /// Runs a command in a subfolder, where every machine lets it create names: the paths that
    /// were set aside.
    pub(crate) async fn set_aside_by(&self, command: &str) -> Vec<String> {
        let (id, params) = (Uuid::new_v4(), json!({ "command": command, "cwd": "src" }));
        self.act_as(id, "terminal.runCommand", params).await.unwrap();
        let outcome = self.outcome(id).await;
        let entries = outcome["summary"]["setAside"]["entries"].as_array().cloned();
        let entries = entries.unwrap_or_default();
        entries.iter().map(|entry| entry["path"].as_str().unwrap().to_owned()).collect()
    }
}

/// Settings that make programs run something.
const SETTINGS: &[&str] = &[
    ".hg/hgrc",
    ".jj/repo/config.toml",
    ".cargo/config.toml",
    ".cargo/config",
    ".npmrc",
    ".yarnrc",
    ".yarnrc.yml",
    ".pnpmfile.cjs",
    ".exrc",
    ".nvim.lua",
    ".vimrc",
    ".dir-locals.el",
    ".envrc",
    ".vscode/settings.json",
    ".vscode/anything",
    ".idea/workspace.xml",
    ".zed/settings.json",
    ".devcontainer/devcontainer.json",
    "CLAUDE.local.md",
    "CLAUDE.md",
    "AGENTS.md",
    ".mise.toml",
    "pip.conf",
    ".gitconfig",
    "bunfig.toml",
    ".bazelrc",
    ".mvn/extensions.xml",
    "x.code-workspace",
    "deep/er/.ENVRC",
    ".envrc.local",
    "mise.production.toml",
    ".ycm_extra_conf.py",
    ".vim/coc-settings.json",
    "hie.yaml",
    "nuget.config",
    "Directory.Build.targets",
    "uv.toml",
    "ansible.cfg",
    "tools/bazel",
    "go.work",
    ".github/hooks/x.json",
];

/// Files that agents may leave.
const HARMLESS: &[&str] = &[
    ".editorconfig",
    ".git-blame-ignore-revs",
    ".gitignore",
    "package.json",
    "node_modules/x/.npmrc",
    "vendor/x/.vscode/settings.json",
    ".github/workflows/ci.yml",
];

#[tokio::test]
async fn settings_that_programs_run_are_set_aside_wherever_they_lie() {
    let kernel = Kernel::start(&[("src/a", "")]).await;
    let app = kernel.folder.path().join("app");
    for path in SETTINGS {
        let command = format!("mkdir -p $(dirname {path}) && echo x > {path}");
        let found = kernel.set_aside_by(&command).await;
        assert_eq!(found, [format!("src/{path}")], "{path}");
        assert!(!app.join("src").join(path).exists(), "{path}");
    }
    for path in HARMLESS {
        let command = format!("mkdir -p $(dirname {path}) && echo x > {path}");
        assert_eq!(kernel.set_aside_by(&command).await, [""; 0], "{path}");
    }
    for (command, path) in [
        ("ln -s ../tools .vscode", "src/.vscode"),
        ("ln -s /etc .cargo", "src/.cargo"),
        ("mkfifo .envrc", "src/.envrc"),
        ("echo 'path = \"./t\"' > rust-toolchain.toml", "src/rust-toolchain.toml"),
        ("echo /tmp/toolchain > rust-toolchain", "src/rust-toolchain"),
        ("echo 'org.gradle.jvmargs=-javaagent:x' > gradle.properties", "src/gradle.properties"),
    ] {
        assert_eq!(kernel.set_aside_by(command).await, [path], "{command}");
        assert!(app.join(path).symlink_metadata().is_err(), "{command}");
    }
}

#[tokio::test]
async fn the_former_content_is_put_back_and_the_new_one_is_kept() {
    let kernel = Kernel::start(&[("src/x/.npmrc", "mine\n"), ("src/y/.npmrc", "other\n")]).await;
    let (app, data) = (kernel.folder.path().join("app"), kernel.folder.path().join("data"));
    let (id, command) =
        (Uuid::new_v4(), "echo script-shell=./evil > src/x/.npmrc; rm src/y/.npmrc");
    self::act(&kernel, id, command).await;
    let outcome = kernel.outcome(id).await;
    let entry = &outcome["summary"]["setAside"]["entries"][0];
    assert_eq!((&entry["path"], &entry["left"]), (&json!("src/x/.npmrc"), &json!("former")));
    assert_eq!(fs::read_to_string(app.join("src/x/.npmrc")).unwrap(), "mine\n");
    let kept = data.join(entry["kept"].as_str().unwrap());
    assert_eq!(fs::read_to_string(kept).unwrap(), "script-shell=./evil\n");
    // What the person does while nothing runs is theirs.
    fs::write(app.join("src/x/.npmrc"), "changed by me\n").unwrap();
    assert_eq!(kernel.set_aside_by("true").await, [""; 0]);
    assert_eq!(fs::read_to_string(app.join("src/x/.npmrc")).unwrap(), "changed by me\n");
    // A copy of what the project has is not new.
    assert_eq!(kernel.set_aside_by("cp -r x z && mv x w").await, [""; 0]);
}

async fn act(kernel: &Kernel, id: Uuid, command: &str) {
    kernel.act_as(id, "terminal.runCommand", json!({ "command": command })).await.unwrap();
}

#[tokio::test]
async fn a_setting_through_a_link_or_a_configured_path_of_the_project_is_set_aside() {
    let kernel = Kernel::start(&[("src/a", "")]).await;
    prepare(kernel.folder.path());
    let app = kernel.folder.path().join("app");
    run_outside(
        kernel.folder.path(),
        "mkdir -p src/cfg src/hooks && echo 1 > src/cfg/settings.json && ln -s cfg src/.vscode && \
         git config core.hooksPath src/hooks",
    );
    let found = kernel.set_aside_by("echo 2 > cfg/settings.json; cp ../tools/* hooks/").await;
    let all = ["src/cfg/settings.json", "src/hooks/post-checkout", "src/hooks/pre-commit"];
    assert_eq!(found, all);
    assert_eq!(fs::read_to_string(app.join("src/cfg/settings.json")).unwrap(), "1\n");
    assert!(!app.join("src/hooks/pre-commit").exists());
}

/// Programs that the person's own settings name: what the person set up, what an agent does, and
/// the path that is set aside.
const NAMED_PROGRAMS: &[(&str, &str, &str)] = &[
    (
        "git config filter.x.clean 'sh src/clean.sh'; echo cat > src/clean.sh",
        "echo ../evil.sh > clean.sh",
        "src/clean.sh",
    ),
    (
        "git config diff.x.textconv 'sh src/show.sh'; echo cat > src/show.sh",
        "echo ../evil.sh > show.sh",
        "src/show.sh",
    ),
    (
        "git config core.hooksPath src/new",
        "mkdir new && cp ../evil.sh new/post-commit",
        "src/new/post-commit",
    ),
    (
        "git config core.hooksPath own && mkdir own && cp tools/log own/pre-commit && git add -f own && git commit -qm own",
        "git worktree add -q w && cp ../evil.sh w/own/pre-commit",
        "src/w/own/pre-commit",
    ),
    (
        "git config core.hooksPath own",
        "mkdir -p v/own && cp ../evil.sh v/own/pre-commit && echo gitdir: ../../.git > v/.git",
        "src/v/own/pre-commit",
    ),
    (
        "echo source_env_if_exists env.local > src/.envrc",
        "echo ../evil.sh > env.local",
        "src/env.local",
    ),
    ("echo dotenv > src/.envrc", "echo PATH=. > .env", "src/.env"),
    (
        "echo PATH_add programs > src/.envrc",
        "mkdir programs; cp ../evil.sh programs/ls",
        "src/programs/ls",
    ),
    (
        "echo 'export PATH=\"$PWD/tools2:$PATH\"' > src/.envrc",
        "mkdir -p tools2; cp ../evil.sh tools2/git",
        "src/tools2/git",
    ),
    (
        "echo 'PATH_add \"$(pwd)/tools3\"' > src/.envrc",
        "mkdir tools3; cp ../evil.sh tools3/ls",
        "src/tools3/ls",
    ),
    ("echo 'source \"${PWD}/env.sh\"' > src/.envrc", "cp ../evil.sh env.sh", "src/env.sh"),
    (
        "echo 'for f in env.d/*; do . $f; done' > src/.envrc",
        "mkdir env.d; echo x > env.d/a",
        "src/env.d/a",
    ),
    (
        "echo 'eval \"$(make -s env)\"' > src/.envrc",
        "echo 'env: ; evil' > Makefile",
        "src/Makefile",
    ),
    ("echo 'eval \"$(python3 -m envgen)\"' > src/.envrc", "echo x > envgen.py", "src/envgen.py"),
    (
        "echo 'use flake ./nix' > src/.envrc",
        "mkdir nix; echo x > nix/flake.nix",
        "src/nix/flake.nix",
    ),
    ("echo 'use devenv' > src/.envrc", "echo x > devenv.nix", "src/devenv.nix"),
    (
        "echo 'export GIT_SSH_COMMAND=\"$PWD/bin/ssh\"' > src/.envrc",
        "mkdir bin; cp ../evil.sh bin/ssh",
        "src/bin/ssh",
    ),
];

/// Lines of an `.envrc` that name folders of the project's own code, in which agents work.
const PROJECT_FOLDERS: &[(&str, &str)] = &[
    ("export PYTHONPATH=$PWD/lib", "lib/a.py"),
    ("export PROJECT_ROOT=$PWD", "lib/a.py"),
    ("cd ./lib", "lib/a.py"),
];

#[tokio::test]
async fn what_a_setting_of_the_person_only_mentions_is_not_set_aside() {
    for (line, path) in PROJECT_FOLDERS {
        let kernel = Kernel::start(&[("src/a", "")]).await;
        prepare(kernel.folder.path());
        fs::write(kernel.folder.path().join("app/src/.envrc"), format!("{line}\n")).unwrap();
        let found = kernel.set_aside_by(&format!("mkdir -p lib; echo x > {path}")).await;
        assert_eq!(found, [""; 0], "{line}");
    }
}

#[tokio::test]
async fn a_program_that_a_setting_of_the_person_names_is_set_aside() {
    for (setup, attack, path) in NAMED_PROGRAMS {
        let kernel = Kernel::start(&[("src/a", "")]).await;
        prepare(kernel.folder.path());
        run_outside(kernel.folder.path(), &format!("touch tools/log; {setup}"));
        let found = kernel.set_aside_by(attack).await;
        // Without mounts of its own, a command cannot create a worktree.
        let is_possible = kernel.folder.path().join("app/src/w/.git").exists();
        let expected: &[&str] =
            if attack.contains("worktree") && !is_possible { &[] } else { &[path] };
        assert_eq!(found, expected, "{setup}");
    }
}

#[tokio::test]
async fn a_file_action_through_a_link_or_a_configured_path_is_set_aside() {
    let kernel = Kernel::start(&[("src/a", "")]).await;
    prepare(kernel.folder.path());
    let app = kernel.folder.path().join("app");
    run_outside(
        kernel.folder.path(),
        "mkdir src/cfg src/own && echo 1 > src/cfg/tasks.json && ln -s cfg src/.vscode && \
         echo 1 > src/own/pre-commit && git config core.hooksPath src/own",
    );
    for path in ["src/cfg/tasks.json", "src/cfg/new.json", "src/own/pre-commit"] {
        let params = json!({ "path": path, "content": "2" });
        let result = kernel.act_for_agent("fs.writeFile", params, false).await.unwrap();
        assert_eq!(result["setAside"]["entries"][0]["path"], *path, "{result}");
    }
    assert_eq!(fs::read_to_string(app.join("src/cfg/tasks.json")).unwrap(), "1\n");
    assert_eq!(fs::read_to_string(app.join("src/own/pre-commit")).unwrap(), "1\n");
    // The person moves the hooks while nothing runs.
    run_outside(kernel.folder.path(), "mkdir src/b && git config core.hooksPath src/b");
    let params = json!({ "path": "src/b/pre-commit", "content": "2" });
    let result = kernel.act_for_agent("fs.writeFile", params, false).await.unwrap();
    assert_eq!(result["setAside"]["entries"][0]["path"], "src/b/pre-commit", "{result}");
}

#[tokio::test]
async fn a_folder_of_the_project_is_judged_also_if_it_is_named_like_gits_data() {
    let kernel = Kernel::start(&[("src/a", "")]).await;
    let bare = "mkdir -p b/objects b/refs && echo ref: refs/heads/main > b/HEAD && cd b &&";
    for path in ["modules/x/.vscode/tasks.json", "logs/.npmrc", "lfs/a/.envrc", "worktrees/.exrc"] {
        let command = format!("{bare} mkdir -p $(dirname {path}) && echo x > {path}");
        assert_eq!(kernel.set_aside_by(&command).await, [format!("src/b/{path}")]);
    }
    let command = format!("{bare} mkdir -p modules/y && ln -s ../../../../.git modules/y/.git");
    assert_eq!(kernel.set_aside_by(&command).await, ["src/b/modules/y/.git"]);
}

/// Starts a background process in `src`.
async fn start_in_background(kernel: &Kernel, command: &str) -> Uuid {
    let id = Uuid::new_v4();
    let params = json!({ "command": command, "cwd": "src", "background": true });
    kernel.act_as(id, "terminal.runCommand", params).await.unwrap();
    id
}

#[tokio::test]
async fn an_answer_does_not_cover_what_a_process_puts_in_its_place() {
    let kernel = Kernel::start(&[("src/a", "")]).await;
    let path = kernel.folder.path().join("app/src/.vscode/tasks.json");
    let replace = "exec 2> /dev/null; while true; do mkdir -p .vscode; echo evil > .vscode/t; mv .vscode/t .vscode/tasks.json; done";
    let id = start_in_background(&kernel, replace).await;
    wait_for_file(&path).await;
    let params = json!({ "path": "src/.vscode/tasks.json", "content": "seen" });
    kernel.act_for_agent("fs.writeFile", params, true).await.unwrap();
    kernel.act("terminal.stop", json!({ "id": id })).await.unwrap();
    kernel.outcome(id).await;
    let left = fs::read_to_string(&path).unwrap_or_default();
    assert!(!left.contains("evil"), "{left}");
}

#[tokio::test]
async fn what_a_background_process_leaves_is_set_aside_while_it_runs() {
    let kernel = Kernel::start(&[("src/a", "")]).await;
    let app = kernel.folder.path().join("app/src");
    let id = start_in_background(&kernel, "echo evil > .npmrc; touch done; exec sleep 600").await;
    wait_for_file(&app.join("done")).await;
    wait_until(|| !app.join(".npmrc").exists()).await;
    // The next action reports it.
    assert_eq!(kernel.set_aside_by("true").await, ["src/.npmrc"]);
    kernel.act("terminal.stop", json!({ "id": id })).await.unwrap();
    kernel.outcome(id).await;
}

#[tokio::test]
async fn what_a_dev_server_leaves_is_set_aside_while_it_runs() {
    let toml = "[runtime]\ndev = \"echo evil > src/.npmrc; touch src/done; exec sleep 600\"\n";
    let kernel = Kernel::start(&[("src/a", ""), ("provost.toml", toml)]).await;
    let app = kernel.folder.path().join("app/src");
    kernel.act("runtime.run", json!({})).await.unwrap();
    wait_for_file(&app.join("done")).await;
    wait_until(|| !app.join(".npmrc").exists()).await;
    kernel.act("runtime.stop", json!({})).await.unwrap();
}

#[tokio::test]
async fn files_that_the_person_makes_hooks_while_a_process_runs_stay() {
    let kernel = Kernel::start(&[("src/a", "")]).await;
    prepare(kernel.folder.path());
    let id = start_in_background(&kernel, "touch done; exec sleep 600").await;
    wait_for_file(&kernel.folder.path().join("app/src/done")).await;
    run_outside(kernel.folder.path(), "git config core.hooksPath tools");
    kernel.set_aside_by("true").await;
    assert_eq!(kernel.set_aside_by("true").await, [""; 0]);
    assert!(kernel.folder.path().join("app/tools/pre-commit").exists());
    kernel.act("terminal.stop", json!({ "id": id })).await.unwrap();
    kernel.outcome(id).await;
}

#[tokio::test]
async fn a_run_with_the_network_finds_no_temporary_files_of_other_runs() {
    let kernel = Kernel::start(&[("src/a", "")]).await;
    for (network, command) in
        [(false, "echo poison > $TMPDIR/x && test -f $TMPDIR/x"), (true, "! test -e $TMPDIR/x")]
    {
        let (id, params) = (Uuid::new_v4(), json!({ "command": command, "network": network }));
        kernel.act_as(id, "terminal.runCommand", params).await.unwrap();
        let outcome = kernel.outcome(id).await;
        assert_eq!(outcome["exitCode"], 0, "{command}: {outcome}");
    }
}

/// The same home for all of them would let one that a person allowed decide what the next does.
#[tokio::test]
async fn a_run_with_the_network_finds_nothing_that_an_earlier_one_left() {
    let kernel = Kernel::start(&[("src/a", "")]).await;
    let leave = "git config --global core.sshCommand ./evil.sh && echo x > ~/.curlrc && \
                 mkdir -p ~/.cache/uv && echo fetched > ~/.cache/uv/package";
    let find = "! git config --global core.sshCommand && ! test -e ~/.curlrc && \
                grep -q fetched ~/.cache/uv/package";
    let run = async |command: &str, background: bool| {
        let (id, command) = (Uuid::new_v4(), format!("{{ {command}\n}} > src/log 2>&1"));
        let home = json!({ "HOME": kernel.folder.path().join("home") });
        let params = json!({
            "command": command, "network": true, "background": background, "env": home,
        });
        kernel.act_as(id, "terminal.runCommand", params).await.unwrap();
        id
    };
    for command in [leave, find, leave, find] {
        let outcome = kernel.outcome(run(command, false).await).await;
        assert_eq!(outcome["exitCode"], 0, "{command}: {outcome}");
    }
    // Nor what one leaves that still runs.
    let running = run("echo x > ~/.curlrc && touch src/ready && cat", true).await;
    wait_for_file(&kernel.folder.path().join("app/src/ready")).await;
    let outcome = kernel.outcome(run("! test -e ~/.curlrc", false).await).await;
    assert_eq!(outcome["exitCode"], 0, "{outcome}");
    kernel.act("terminal.stop", json!({ "id": running })).await.unwrap();
}

#[tokio::test]
async fn a_command_that_does_what_git_does_loses_nothing() {
    let kernel = Kernel::start(&[("src/a", "")]).await;
    prepare(kernel.folder.path());
    let log = kernel.folder.path().join("app/tools/log");
    let read_log = || fs::read_to_string(&log).unwrap_or_default();
    fs::write(&log, "").unwrap();
    let user = "export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a \
                GIT_COMMITTER_EMAIL=a@b; set -e;";
    run_outside(kernel.folder.path(), "echo mine > src/.npmrc; git add . && git commit -qm three");
    for command in [
        "git init -q i && cd i && git commit -q --allow-empty -m x && git branch b && git checkout -q b",
        "git clone -q .. c && git -C c remote add o https://example.com/x && git -C c gc -q",
        "git init -q --bare bare && git clone -q --bare .. bare2",
        "git worktree add -q w && cd w && echo x > x && git add x && git commit -qm x",
        "git clone -q .. s && cd s && git -c protocol.file.allow=always submodule --quiet add $PWD/../.. m",
        "cd s && git commit -qam m && git submodule --quiet update --init",
        "cd c && git rebase -q -x true HEAD~1 && git stash list && git tag t && git status",
        "cd c && echo 1 >> a && git stash -q && git stash pop -q && git commit -qam z && git revert --no-edit -n HEAD",
    ] {
        let (id, line) = (Uuid::new_v4(), format!("{{ {user} {command}\n}} > ../tools/log 2>&1"));
        let params = json!({ "command": line, "cwd": "src" });
        kernel.act_as(id, "terminal.runCommand", params).await.unwrap();
        let outcome = kernel.outcome(id).await;
        assert_eq!(outcome["exitCode"], 0, "{command}: {outcome} {}", read_log());
        assert_eq!(outcome["summary"]["setAside"], Value::Null, "{command}: {outcome}");
    }
    let printed = run_outside(kernel.folder.path(), "cd src/s && git -C m log --oneline | head -1");
    assert!(printed.contains("three"), "{printed}");
}

/// Runs a command in the project; returns its exit code and what was set aside.
async fn run_command(kernel: &Kernel, command: &str) -> (Value, Value) {
    let id = Uuid::new_v4();
    self::act(kernel, id, &format!("{{ {command}\n}} > /dev/null 2>&1")).await;
    let outcome = kernel.outcome(id).await;
    (outcome["exitCode"].clone(), outcome["summary"]["setAside"]["entries"].clone())
}

#[tokio::test]
async fn git_changes_the_settings_of_the_projects_own_repository() {
    let kernel = Kernel::start(&[("src/a", "")]).await;
    prepare(kernel.folder.path());
    for command in [
        "git remote add o https://example.com/x && git config remote.o.url",
        "git checkout -q -b work --track main && git config user.name agent",
        "git -c protocol.file.allow=always submodule --quiet add $PWD m && \
         git -C m config user.name agent",
        "git -C m remote add o https://example.com/m && git -c user.email=a@b commit -qm m",
        "git config --unset user.name && git branch -q -d main",
    ] {
        let (exit, set_aside) = run_command(&kernel, command).await;
        assert_eq!((exit, set_aside), (json!(0), Value::Null), "{command}");
    }
    let settings = "git config remote.o.url; git config branch.work.merge; git config user.name; \
                    git config submodule.m.url; git -C m config remote.o.url; ls -l .git/config";
    let printed = run_outside(kernel.folder.path(), settings);
    assert!(printed.starts_with("https://example.com/x\nrefs/heads/main\na\n/"), "{printed}");
    assert!(printed.contains("\nhttps://example.com/m\n-rw"), "{printed}");
}

#[tokio::test]
async fn settings_that_run_or_redirect_something_never_reach_the_projects_repository() {
    let kernel = Kernel::start(&[("src/a", "")]).await;
    let (folder, app) = (kernel.folder.path(), kernel.folder.path().join("app"));
    prepare(folder);
    run_outside(folder, "git remote add o https://example.com/x");
    let settings = app.join(".git/config");
    let before = fs::read_to_string(&settings).unwrap();
    let alter = "[user]\n\tname = person\n";
    for (command, named) in [
        ("git config core.fsmonitor ./evil.sh", "core.fsmonitor"),
        ("git config alias.st '!./evil.sh'", "alias.st"),
        ("git remote set-url o https://evil.example/x", "remote.o.url"),
        ("git remote remove o && git remote add o https://evil.example/x", "remote.o.url"),
        ("echo '[core' > .git/config", "cannot be read"),
    ] {
        let (_, set_aside) = run_command(&kernel, command).await;
        let why = set_aside[0]["why"].as_str().unwrap_or_default();
        assert!(why.contains(named), "{command}: {set_aside}");
        assert_eq!(set_aside[0]["path"], ".git/config", "{command}");
        let now = fs::read_to_string(&settings).unwrap();
        assert!(!now.contains("evil") && !now.contains("fsmonitor"), "{command}: {now}");
        fs::write(&settings, &before).unwrap();
    }
    // The original is the person's while the command runs, and what they wrote stays.
    let command = "git config core.fsmonitor ./evil.sh && grep -q evil .git/config && \
                   touch src/ready && until [ -e src/go ]; do sleep 0.02; done";
    let id = Uuid::new_v4();
    self::act(&kernel, id, command).await;
    wait_for_file(&app.join("src/ready")).await;
    assert_eq!(fs::read_to_string(&settings).unwrap(), before);
    fs::write(&settings, format!("{before}{alter}")).unwrap();
    fs::write(app.join("src/go"), "").unwrap();
    let outcome = kernel.outcome(id).await;
    let why = &outcome["summary"]["setAside"]["entries"][0]["why"];
    assert!(why.as_str().unwrap_or_default().contains("meanwhile"), "{outcome}");
    assert_eq!(fs::read_to_string(&settings).unwrap(), format!("{before}{alter}"));
    // A copy that was replaced by a link is not read.
    let (_, set_aside) =
        run_command(&kernel, "f=$(readlink .git/config) && ln -sf $PWD/tools/log $f").await;
    assert_eq!(set_aside, json!([]));
    assert_eq!(fs::read_to_string(&settings).unwrap(), format!("{before}{alter}"));
}

async fn wait_for_file(path: &Path) {
    wait_until(|| path.exists()).await;
}

async fn wait_until(condition: impl Fn() -> bool) {
    let reached = async {
        while !condition() {
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_mins(1), reached).await.unwrap();
}

#[tokio::test]
async fn a_command_that_does_not_start_leaves_the_persons_changes_alone() {
    let kernel = Kernel::start(&[("src/a", "")]).await;
    let (id, params) = (Uuid::new_v4(), json!({ "argv": ["no-such-program-here"] }));
    kernel.act_as(id, "terminal.runCommand", params).await.unwrap_err();
    fs::write(kernel.folder.path().join("app/src/.envrc"), "mine").unwrap();
    assert_eq!(kernel.set_aside_by("true").await, [""; 0]);
}

#[test]
fn what_a_killed_kernel_did_not_look_at_is_set_aside_by_the_next_one() {
    use provost_kernel::quarantine::{Quarantine, QuarantineStore};
    use provost_sandbox::root_dir::RootDir;
    let folder = tempfile::tempdir().unwrap();
    let (app, data) = (folder.path().join("app"), folder.path().join("data"));
    fs::create_dir_all(app.join("cfg")).unwrap();
    fs::write(app.join("cfg/tasks.json"), "mine").unwrap();
    std::os::unix::fs::symlink("cfg", app.join(".vscode")).unwrap();
    fs::write(app.join(".npmrc"), "mine").unwrap();
    let open = || {
        let root = RootDir::open(&app).unwrap();
        Arc::new(Quarantine::new(&root, &app, QuarantineStore::new(&data, "p")))
    };
    // A change must get a later time than the file of the person.
    let meta = |name: &str| fs::metadata(app.join(name)).unwrap().modified().unwrap();
    loop {
        fs::write(app.join("clock"), "").unwrap();
        if meta("clock") > meta(".npmrc") + Duration::from_millis(20) {
            break;
        }
    }
    // It is never dropped, as if the process was killed.
    std::mem::forget(open().begin_action(false));
    fs::write(app.join(".envrc"), "left").unwrap();
    let next = open();
    assert!(!app.join(".envrc").exists() && app.join(".npmrc").exists());
    assert!(app.join("cfg/tasks.json").exists(), "the link leads to what was there before");
    let report = next.begin_action(false).settle();
    assert_eq!(report.entries.len(), 1, "{report:?}");
    assert!(next.begin_action(false).settle().is_empty());
    fs::write(app.join(".envrc"), "mine").unwrap();
    assert!(open().begin_action(false).settle().is_empty() && app.join(".envrc").exists());
}
