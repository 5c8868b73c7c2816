//! Paths that control what Provost, git, editors and other agents do: the only list of them.
//! Of names that begin with a dot, those that are not known count too, see
//! [`hidden_names`](crate::quarantine::hidden_names).
//!
//! Whoever can write one of them can run anything the next time a person commits, opens the
//! folder or pushes. So writing one needs an approval in every mode, whatever the rules say.
//!
//! Actions on files are checked against such a path anywhere in the project. A command cannot be
//! checked path by path, so its sandbox makes [`command_read_only_paths`] read-only: those at the
//! top of the project, but of a repository only the [`GIT_CONTROL_PATHS`] that run something,
//! since `git commit` must write the rest; and the same parts of nested repositories. What cannot
//! be made read-only, because it does not exist or lies deeper, is compared when the command has
//! ended: [`leftover_reason`] tells which files.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::RelPath;

/// A path, matched anywhere in the project, with everything below it.
struct ProtectedPath {
    path: &'static str,
    why: &'static str,
}

const fn protected_path(path: &'static str, why: &'static str) -> ProtectedPath {
    ProtectedPath { path, why }
}

/// Whether an agent can change a protected path by a file action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProtectionLevel {
    /// Never: git's own folders, and what governs Provost and agents.
    Denied,
    /// After a person has seen the content and agreed, every time.
    Asked,
}

/// The folder of a repository.
pub const REPOSITORY: &str = ".git";

/// The folder with the repositories of submodules.
pub const SUBMODULES: &str = "modules";

/// The settings of a repository.
pub const GIT_SETTINGS: &str = "config";

/// The parts of a repository that determine what git runs.
pub const GIT_CONTROL_PATHS: &[&str] =
    &["hooks", GIT_SETTINGS, "config.worktree", "info/attributes"];

const GIT: &str = "git runs what its hooks and configuration name";
const PROVOST: &str = "it governs what Provost allows and runs";
const AGENT: &str = "it governs what agents are told and may do";
const TOOLS: &str = "it names programs that agents and editors start";
const SHELL: &str = "shells run it when they enter the folder";
const BUILD: &str = "it names programs that builds and debuggers run";
const CI: &str = "it runs with the secrets of the project's automation";

/// Names are compared case-insensitively, because some file systems are.
const PROTECTED_PATHS: &[ProtectedPath] = &[
    protected_path(REPOSITORY, GIT),
    // The short name on Windows file systems.
    protected_path("git~1", GIT),
    protected_path(".gitmodules", GIT),
    protected_path(".gitconfig", GIT),
    protected_path(".husky", GIT),
    protected_path(".githooks", GIT),
    protected_path(".pre-commit-config.yaml", GIT),
    protected_path(".pre-commit-config.yml", GIT),
    protected_path("lefthook.yml", GIT),
    protected_path("lefthook.yaml", GIT),
    protected_path(".lefthook.yml", GIT),
    protected_path(".lefthook.yaml", GIT),
    protected_path("lefthook-local.yml", GIT),
    protected_path("lefthook-local.yaml", GIT),
    protected_path(".lefthook-local.yml", GIT),
    protected_path(".lefthook-local.yaml", GIT),
    protected_path(".lefthook", GIT),
    protected_path("lefthook.toml", GIT),
    protected_path("lefthook.json", GIT),
    protected_path(".lefthook.toml", GIT),
    protected_path(".lefthook.json", GIT),
    protected_path("lefthook-local.toml", GIT),
    protected_path("lefthook-local.json", GIT),
    protected_path(".lefthook-local.toml", GIT),
    protected_path(".lefthook-local.json", GIT),
    protected_path(".lefthook-local", GIT),
    protected_path("prek.toml", GIT),
    protected_path("hk.pkl", GIT),
    protected_path(".lfsconfig", GIT),
    protected_path(".sl/config", GIT),
    protected_path(".overcommit.yml", GIT),
    protected_path(".hg/hgrc", GIT),
    protected_path(".hg/hgrc-not-shared", GIT),
    protected_path(".hg/sharedpath", GIT),
    protected_path(".jj/repo/config.toml", GIT),
    protected_path(".jj/repo/store/git_target", GIT),
    protected_path(".jj/workspace-config.toml", GIT),
    protected_path(".sl/sharedpath", GIT),
    protected_path(".bzr/branch/branch.conf", GIT),
    protected_path("_darcs/prefs", GIT),
    protected_path(".pijul/config", GIT),
    protected_path(".fossil-settings", GIT),
    protected_path(".provost", PROVOST),
    protected_path("provost.toml", PROVOST),
    protected_path(".agent", AGENT),
    protected_path(".agents", AGENT),
    protected_path(".claude", AGENT),
    protected_path(".codex", AGENT),
    protected_path(".cursor", AGENT),
    protected_path(".gemini", AGENT),
    protected_path(".windsurf", AGENT),
    protected_path(".windsurfrules", AGENT),
    protected_path(".cursorrules", AGENT),
    protected_path(".clinerules", AGENT),
    protected_path(".roo", AGENT),
    protected_path(".roorules", AGENT),
    protected_path(".kiro", AGENT),
    protected_path(".continue", AGENT),
    protected_path(".junie", AGENT),
    protected_path(".amazonq", AGENT),
    protected_path(".augment", AGENT),
    protected_path(".qwen", AGENT),
    protected_path(".goosehints", AGENT),
    protected_path(".aider.conf.yml", AGENT),
    protected_path(".opencode", AGENT),
    protected_path("opencode.json", AGENT),
    protected_path("opencode.jsonc", AGENT),
    protected_path("AGENTS.md", AGENT),
    protected_path("AGENT.md", AGENT),
    protected_path("AGENTS.override.md", AGENT),
    protected_path("CLAUDE.md", AGENT),
    protected_path("CLAUDE.local.md", AGENT),
    protected_path("GEMINI.md", AGENT),
    protected_path("QWEN.md", AGENT),
    protected_path(".github/copilot-instructions.md", AGENT),
    protected_path(".github/instructions", AGENT),
    protected_path(".github/prompts", AGENT),
    protected_path(".github/chatmodes", AGENT),
    protected_path(".github/agents", AGENT),
    protected_path(".roomodes", AGENT),
    protected_path(".crush.json", AGENT),
    protected_path("crush.json", AGENT),
    protected_path(".openhands", AGENT),
    protected_path(".cline", AGENT),
    protected_path(".kilocode", AGENT),
    protected_path(".kilocodemodes", AGENT),
    protected_path(".trae", AGENT),
    protected_path(".goose", AGENT),
    protected_path(".github/hooks", AGENT),
    protected_path(".github/skills", AGENT),
    protected_path(".copilot", AGENT),
    protected_path(".amp", AGENT),
    protected_path(".factory", AGENT),
    protected_path(".rovodev", AGENT),
    protected_path(".warp", AGENT),
    protected_path("WARP.md", AGENT),
    protected_path(".crush", AGENT),
    protected_path(".iflow", AGENT),
    protected_path("IFLOW.md", AGENT),
    protected_path(".codebuddy", AGENT),
    protected_path("CODEBUDDY.md", AGENT),
    protected_path(".qoder", AGENT),
    protected_path(".devin", AGENT),
    protected_path(".vibe", AGENT),
    protected_path(".aiassistant", AGENT),
    protected_path(".rules", AGENT),
    protected_path(".mcp.json", TOOLS),
    protected_path(".bsp", TOOLS),
    protected_path("rust-analyzer.toml", TOOLS),
    protected_path(".rust-analyzer.toml", TOOLS),
    protected_path(".luarc.json", TOOLS),
    protected_path(".octaverc", TOOLS),
    protected_path(".RData", TOOLS),
    protected_path(".vscode", TOOLS),
    protected_path(".vs", TOOLS),
    protected_path(".zed", TOOLS),
    protected_path(".idea", TOOLS),
    protected_path(".fleet", TOOLS),
    protected_path(".helix", TOOLS),
    protected_path(".nova", TOOLS),
    protected_path(".devcontainer", TOOLS),
    protected_path(".devcontainer.json", TOOLS),
    protected_path(".gitpod.yml", TOOLS),
    protected_path(".exrc", TOOLS),
    protected_path("_exrc", TOOLS),
    protected_path(".vimrc", TOOLS),
    protected_path("_vimrc", TOOLS),
    protected_path(".gvimrc", TOOLS),
    protected_path(".nvimrc", TOOLS),
    protected_path(".nvim.lua", TOOLS),
    protected_path(".nvim", TOOLS),
    protected_path(".lvimrc", TOOLS),
    protected_path(".vimspector.json", TOOLS),
    protected_path(".dir-locals.el", TOOLS),
    protected_path(".dir-locals-2.el", TOOLS),
    protected_path(".vim", TOOLS),
    protected_path(".local.vimrc", TOOLS),
    protected_path(".vimrc.local", TOOLS),
    protected_path(".ycm_extra_conf.py", TOOLS),
    protected_path(".luarc.jsonc", TOOLS),
    protected_path(".neoconf.json", TOOLS),
    protected_path(".merlin", TOOLS),
    protected_path("hie.yaml", TOOLS),
    protected_path(".kateproject", TOOLS),
    protected_path(".theia", TOOLS),
    protected_path(".externalToolBuilders", TOOLS),
    protected_path("omnisharp.json", TOOLS),
    protected_path("conductor.json", TOOLS),
    protected_path("jupyter_server_config.py", TOOLS),
    protected_path("jupyter_notebook_config.py", TOOLS),
    protected_path("jupyter_lab_config.py", TOOLS),
    protected_path("ipython_config.py", TOOLS),
    protected_path("renv/activate.R", TOOLS),
    protected_path("packrat/init.R", TOOLS),
    protected_path("startup.m", TOOLS),
    protected_path(".scilab", TOOLS),
    protected_path("scilab.ini", TOOLS),
    protected_path(".gnuplot", TOOLS),
    protected_path(".erlang", TOOLS),
    protected_path("Session.vim", TOOLS),
    protected_path("_vimrc_local.vim", TOOLS),
    protected_path("gtags.conf", TOOLS),
    protected_path("Steepfile", TOOLS),
    protected_path("phpactor.json", TOOLS),
    protected_path("latexmkrc", TOOLS),
    protected_path("cspell.config.js", TOOLS),
    protected_path("cspell.config.cjs", TOOLS),
    protected_path("cspell.config.mjs", TOOLS),
    protected_path("graphql.config.js", TOOLS),
    protected_path("graphql.config.cjs", TOOLS),
    protected_path("graphql.config.mjs", TOOLS),
    protected_path("graphql.config.ts", TOOLS),
    protected_path(".envrc", SHELL),
    protected_path(".direnv", SHELL),
    protected_path("mise.toml", SHELL),
    protected_path(".mise.toml", SHELL),
    protected_path("mise.local.toml", SHELL),
    protected_path(".mise.local.toml", SHELL),
    protected_path(".mise", SHELL),
    protected_path(".config/mise.toml", SHELL),
    protected_path(".config/mise", SHELL),
    protected_path(".rtx.toml", SHELL),
    protected_path(".autoenv", SHELL),
    protected_path(".autoenv.zsh", SHELL),
    protected_path(".autoenv_leave.zsh", SHELL),
    protected_path(".env.leave", SHELL),
    protected_path(".shadowenv.d", SHELL),
    protected_path(".ondirrc", SHELL),
    protected_path("mise/config.toml", SHELL),
    protected_path(".cargo/config", BUILD),
    protected_path(".cargo/config.toml", BUILD),
    protected_path(".npmrc", BUILD),
    protected_path(".yarnrc", BUILD),
    protected_path(".yarnrc.yml", BUILD),
    protected_path(".yarn/releases", BUILD),
    protected_path(".yarn/plugins", BUILD),
    protected_path(".yarn/sdks", BUILD),
    protected_path(".pnpmfile.cjs", BUILD),
    protected_path(".pnpmfile.mjs", BUILD),
    protected_path("bunfig.toml", BUILD),
    protected_path("pip.conf", BUILD),
    protected_path("pip.ini", BUILD),
    protected_path(".pip", BUILD),
    protected_path(".pypirc", BUILD),
    protected_path("sitecustomize.py", BUILD),
    protected_path("usercustomize.py", BUILD),
    protected_path(".bundle/config", BUILD),
    protected_path(".mvn", BUILD),
    protected_path(".gradle/init.d", BUILD),
    protected_path(".gradle/init.gradle", BUILD),
    protected_path(".gradle/gradle.properties", BUILD),
    protected_path("gradle/wrapper/gradle-wrapper.jar", BUILD),
    protected_path("gradle/wrapper/gradle-wrapper.properties", BUILD),
    protected_path(".bazelrc", BUILD),
    protected_path(".bazeliskrc", BUILD),
    protected_path(".buckconfig", BUILD),
    protected_path(".buckconfig.local", BUILD),
    protected_path("GNUmakefile", BUILD),
    protected_path("compose.override.yml", BUILD),
    protected_path("compose.override.yaml", BUILD),
    protected_path("docker-compose.override.yml", BUILD),
    protected_path("docker-compose.override.yaml", BUILD),
    protected_path(".gdbinit", BUILD),
    protected_path(".lldbinit", BUILD),
    protected_path(".pdbrc", BUILD),
    protected_path(".irbrc", BUILD),
    protected_path(".pryrc", BUILD),
    protected_path(".Rprofile", BUILD),
    protected_path(".Renviron", BUILD),
    protected_path(".ghci", BUILD),
    protected_path(".ocamlinit", BUILD),
    protected_path(".iex.exs", BUILD),
    protected_path("nuget.config", BUILD),
    protected_path("Directory.Build.props", BUILD),
    protected_path("Directory.Build.targets", BUILD),
    protected_path("Directory.Build.rsp", BUILD),
    protected_path("Directory.Packages.props", BUILD),
    protected_path("Directory.Solution.props", BUILD),
    protected_path("Directory.Solution.targets", BUILD),
    protected_path("MSBuild.rsp", BUILD),
    protected_path("local.properties", BUILD),
    protected_path("config.nims", BUILD),
    protected_path("nim.cfg", BUILD),
    protected_path(".config/dotnet-tools.json", BUILD),
    protected_path("uv.toml", BUILD),
    protected_path("poetry.toml", BUILD),
    protected_path("pdm.toml", BUILD),
    protected_path(".pdm-python", BUILD),
    protected_path("ansible.cfg", BUILD),
    protected_path("tools/bazel", BUILD),
    protected_path("user.bazelrc", BUILD),
    protected_path(".pants.bootstrap", BUILD),
    protected_path(".pants.rc", BUILD),
    protected_path(".plzconfig", BUILD),
    protected_path(".plzconfig.local", BUILD),
    protected_path(".buckconfig.d", BUILD),
    protected_path(".sbtopts", BUILD),
    protected_path(".jvmopts", BUILD),
    protected_path(".mill-jvm-opts", BUILD),
    protected_path(".mill-opts", BUILD),
    protected_path("profiles.clj", BUILD),
    protected_path("cabal.project.local", BUILD),
    protected_path("CMakeUserPresets.json", BUILD),
    protected_path(".swiftpm/configuration", BUILD),
    protected_path("go.work", BUILD),
    protected_path("gems.rb", BUILD),
    protected_path(".proverc", BUILD),
    protected_path(".valgrindrc", BUILD),
    protected_path(".byebugrc", BUILD),
    protected_path(".rdbgrc", BUILD),
    protected_path("docker-bake.override.hcl", BUILD),
    protected_path("docker-bake.override.json", BUILD),
    protected_path("gradle/gradle-daemon-jvm.properties", BUILD),
    protected_path(".github/workflows", CI),
    protected_path(".github/actions", CI),
    protected_path(".forgejo/workflows", CI),
    protected_path(".gitea/workflows", CI),
    protected_path(".gitlab-ci.yml", CI),
    protected_path(".cirrus.yml", CI),
    protected_path("appveyor.yml", CI),
    protected_path(".circleci", CI),
    protected_path(".buildkite", CI),
    protected_path(".travis.yml", CI),
    protected_path(".drone.yml", CI),
    protected_path(".woodpecker.yml", CI),
    protected_path(".woodpecker", CI),
    protected_path("azure-pipelines.yml", CI),
    protected_path("bitbucket-pipelines.yml", CI),
    protected_path("Jenkinsfile", CI),
    protected_path(".semaphore", CI),
    protected_path(".teamcity", CI),
    protected_path(".tekton", CI),
    protected_path(".builds", CI),
    protected_path(".build.yml", CI),
    protected_path("azure-pipelines.yaml", CI),
    protected_path(".azure-pipelines", CI),
    protected_path(".azuredevops", CI),
    protected_path("cloudbuild.yaml", CI),
    protected_path("buildspec.yml", CI),
    protected_path(".appveyor.yml", CI),
    protected_path(".cirrus.star", CI),
    protected_path(".drone.star", CI),
    protected_path(".drone.jsonnet", CI),
    protected_path(".woodpecker.yaml", CI),
    protected_path("bitrise.yml", CI),
    protected_path("codemagic.yaml", CI),
    protected_path(".zuul.yaml", CI),
    protected_path(".zuul.d", CI),
];

/// Files that are protected only if their content has one of these words: most versions of them
/// are harmless, and agents change them often.
const CONDITIONAL_PATHS: &[(&str, &[&str])] = &[
    // Without a table it holds the name of a toolchain, or the folder of one.
    ("rust-toolchain", &["path", "/"]),
    ("rust-toolchain.toml", &["path"]),
    (".tool-versions", &["path:", "ref:"]),
    (
        "pnpm-workspace.yaml",
        &[
            "shell",
            "pnpmfile",
            "registry",
            "configdependencies",
            "nodeoptions",
            "npmpath",
            "modulesdir",
            "storedir",
            "dangerously",
        ],
    ),
    (".bazelversion", &["/"]),
    ("gradle.properties", &["jvmargs", "java.", "systemprop"]),
    (".pylintrc", &["init-hook", "load-plugins"]),
    ("pylintrc", &["init-hook", "load-plugins"]),
    ("mypy.ini", &["plugins", "python_executable"]),
    (".mypy.ini", &["plugins", "python_executable"]),
    (".nvmrc", &[".."]),
    (".sdkmanrc", &["/"]),
    (".clang-tidy", &["extraargs", "plugin"]),
    (".golangci.yml", GOLANGCI_WORDS),
    (".golangci.yaml", GOLANGCI_WORDS),
    (".golangci.toml", GOLANGCI_WORDS),
    (".golangci.json", GOLANGCI_WORDS),
    // It is a template, and may require a file of the project.
    (".rubocop.yml", &["<%", "./", "- /", ": /", "://"]),
    (".cspell.json", &["import", "plugin"]),
    ("sgconfig.yml", &["customlanguages", "librarypath"]),
    ("sgconfig.yaml", &["customlanguages", "librarypath"]),
    ("global.json", &["paths", "msbuild-sdks"]),
];

const GOLANGCI_WORDS: &[&str] = &["custom", "plugin", ".so"];

/// The words in a file like `.python-version`, which may hold a path instead of a version.
const VERSION_WORDS: &[&str] = &["/"];

/// The words that make a file with this name, in lower case, a protected one.
fn find_conditional_words(name: &str) -> Option<&'static [&'static str]> {
    let is_version = name.starts_with('.') && name.ends_with("-version");
    let listed = CONDITIONAL_PATHS.iter().find(|(path, _)| *path == name);
    listed.map(|(_, words)| *words).or(is_version.then_some(VERSION_WORDS))
}

/// Folders that package managers and builds fill with code of others. Programs that are started
/// in the project do not take their settings from them.
const PACKAGE_DIRECTORIES: &[&str] = &[
    "node_modules",
    "site-packages",
    "target",
    "vendor",
    ".venv",
    "venv",
    ".tox",
    ".nox",
    ".eggs",
    ".pixi",
    ".conda",
    ".m2",
    ".npm",
    ".pnpm-store",
    ".terraform",
    ".terragrunt-cache",
];

/// The ends of names that may begin with anything: editors' workspaces, and what builds read
/// beside a project's file.
const PROTECTED_SUFFIXES: &[(&str, &str)] = &[
    (".code-workspace", TOOLS),
    (".sublime-project", TOOLS),
    (".ipr", TOOLS),
    (".pro.user", TOOLS),
    (".txt.user", TOOLS),
    ("proj.user", BUILD),
    (".sln.targets", BUILD),
    (".nims", BUILD),
    (".nim.cfg", BUILD),
];

fn find_protected_suffix(name: &str) -> Option<&'static str> {
    PROTECTED_SUFFIXES.iter().find(|(end, _)| name.ends_with(end)).map(|(_, why)| *why)
}

/// Whether a name in lower case is one of the many that direnv and mise read: `.envrc.local`,
/// `mise.production.toml`.
fn is_shell_settings_name(name: &str) -> bool {
    let is_mise = name.starts_with("mise.") || name.starts_with(".mise.");
    let is_template = |end: &str| matches!(end, "example" | "sample" | "template" | "dist");
    name.strip_prefix(".envrc.").is_some_and(|end| !is_template(end))
        || is_mise && name.rsplit_once('.').is_some_and(|(_, end)| end == "toml")
}

/// Why changing a path needs an approval, if it does.
///
/// A folder that contains such a path is protected too (`.github` for its workflows): moving or
/// replacing it changes them.
pub fn protection_reason(path: &RelPath) -> Option<&'static str> {
    // The content of some is not known here.
    let conditional = path.name().is_some_and(is_conditional_path).then_some(BUILD);
    find_protected_name(path).or(conditional)
}

/// Why writing this content to a path needs an approval, if it does.
pub fn content_protection_reason(path: &RelPath, content: &[u8]) -> Option<&'static str> {
    let by_content = || conditional_leftover_reason(path.name()?, content);
    find_protected_name(path).or_else(by_content)
}

/// Why changing a path needs an approval whatever it holds, if it does.
fn find_protected_name(path: &RelPath) -> Option<&'static str> {
    static FOLDED: LazyLock<Vec<(Vec<String>, &'static str)>> = LazyLock::new(|| {
        let parts = |guarded: &ProtectedPath| guarded.path.split('/').map(fold_case).collect();
        PROTECTED_PATHS.iter().map(|guarded| (parts(guarded), guarded.why)).collect()
    });
    let names: Vec<String> = path.components().map(fold_case).collect();
    let hit = |(parts, _): &&(Vec<String>, &str)| {
        (0..names.len()).any(|start| {
            // Either the whole protected path is a part of this one, or this one ends within it.
            parts.iter().zip(&names[start..]).all(|(part, name)| part == name)
        })
    };
    let suffix = names.last().and_then(|name| find_protected_suffix(name));
    let shell = names.iter().any(|name| is_shell_settings_name(name)).then_some(SHELL);
    FOLDED.iter().find(hit).map(|(_, why)| *why).or(suffix).or(shell)
}

/// How strictly a path is protected, if it is.
pub fn protection_level(path: &RelPath) -> Option<ProtectionLevel> {
    protection_reason(path).map(|why| match why {
        GIT if !is_asked_git_path(path) => ProtectionLevel::Denied,
        PROVOST | AGENT => ProtectionLevel::Denied,
        _ => ProtectionLevel::Asked,
    })
}

/// Files of hook managers and of git that lie in the tree: a person can read them in an approval.
fn is_asked_git_path(path: &RelPath) -> bool {
    let is_repository = |name: &str| matches!(&*fold_case(name), ".git" | "git~1" | ".hg" | ".jj");
    !path.components().any(is_repository)
}

/// Whether a folder holds packages of others, see [`leftover_reason`].
pub fn is_package_directory(name: &str) -> bool {
    PACKAGE_DIRECTORIES.contains(&name)
}

/// By the last name of a protected path: the names before it, and the reason.
type PathsByLastName = HashMap<String, Vec<(Vec<String>, &'static str)>>;

/// Why a file, link or folder that a command left must be set aside, if it must: it is a
/// protected path. `names` are the components of its path, none of whose parents is protected;
/// `in_packages` tells whether one of them is a package directory. Git's own folders are not
/// judged here.
pub fn leftover_reason(names: &[&str], in_packages: bool) -> Option<&'static str> {
    static BY_LAST_NAME: LazyLock<PathsByLastName> = LazyLock::new(|| {
        let mut paths = PathsByLastName::new();
        for ProtectedPath { path, why } in PROTECTED_PATHS {
            let mut parts: Vec<String> = path.split('/').map(fold_case).collect();
            let last = parts.pop().unwrap_or_default();
            paths.entry(last).or_default().push((parts, why));
        }
        paths
    });
    let (name, above) = names.split_last().filter(|_| !in_packages)?;
    let name = fold_case(name);
    if let Some(why) = find_protected_suffix(&name) {
        return Some(why);
    }
    if is_shell_settings_name(&name) {
        return Some(SHELL);
    }
    let is_hit = |(parents, why): &&(Vec<String>, &str)| {
        let Some(start) = above.len().checked_sub(parents.len()) else { return false };
        // Automation reads its files at the top of a repository only.
        let may_be_here = *why != CI || start == 0;
        may_be_here && above[start..].iter().zip(parents).all(|(a, b)| fold_case(a) == *b)
    };
    BY_LAST_NAME.get(&name)?.iter().find(is_hit).map(|(_, why)| *why)
}

/// Whether a link with this path would lead to a protected path below it: `.github` does.
pub fn is_protected_parent(names: &[&str]) -> bool {
    PROTECTED_PATHS.iter().any(|guarded| {
        let parts: Vec<String> = guarded.path.split('/').map(fold_case).collect();
        (1..parts.len()).any(|n| {
            names.len() >= n
                && names[names.len() - n..].iter().zip(&parts).all(|(a, b)| fold_case(a) == *b)
        })
    })
}

/// Why a file must be set aside because of its content, if it must.
pub fn conditional_leftover_reason(name: &str, content: &[u8]) -> Option<&'static str> {
    let name = fold_case(name);
    let words = find_conditional_words(&name)?;
    let text = String::from_utf8_lossy(content).to_lowercase();
    // An escape may spell any of the words.
    (text.contains('\\') || words.iter().any(|word| text.contains(word))).then_some(BUILD)
}

/// Whether [`conditional_leftover_reason`] must see the content of this file.
pub fn is_conditional_path(name: &str) -> bool {
    find_conditional_words(&fold_case(name)).is_some()
}

/// The paths that a command must not write, relative to the top of the project.
///
/// Where there are no mounts, nothing new can be created beside such a path, so those in folders
/// that hold other files too are not among them.
pub fn command_read_only_paths() -> impl Iterator<Item = String> {
    let beside_others = |path: &str| path.contains('/') && !path.starts_with('.');
    PROTECTED_PATHS.iter().filter(move |guarded| !beside_others(guarded.path)).flat_map(|guarded| {
        if guarded.path == REPOSITORY {
            GIT_CONTROL_PATHS.iter().map(|part| format!("{REPOSITORY}/{part}")).collect()
        } else {
            vec![guarded.path.to_owned()]
        }
    })
}

/// To upper case and back, so that letters with two lower-case forms (`ſ`) become one.
pub fn fold_case(name: &str) -> String {
    if name.is_ascii() {
        return name.to_ascii_lowercase();
    }
    name.chars().flat_map(char::to_uppercase).flat_map(char::to_lowercase).collect()
}
