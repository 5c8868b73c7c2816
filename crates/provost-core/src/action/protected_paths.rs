//! Paths that control what Provost, git, editors and other agents do: the only list of them.
//!
//! Whoever can write one of them can run anything the next time a person commits, opens the
//! folder or pushes. So writing one needs an approval in every mode, whatever the rules say.
//!
//! Actions on files are checked against such a path anywhere in the project. A command cannot be
//! checked path by path, so its sandbox makes [`command_read_only_paths`] read-only: the whole
//! list at the top of the project, but of a repository only the [`GIT_CONTROL_PATHS`] that run
//! something, since `git commit` must write the rest; and the same parts of nested repositories.

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

/// The folder of a repository.
pub const REPOSITORY: &str = ".git";

/// The folder with the repositories of submodules.
pub const SUBMODULES: &str = "modules";

/// The parts of a repository that determine what git runs.
pub const GIT_CONTROL_PATHS: &[&str] = &["hooks", "config", "config.worktree", "info/attributes"];

const GIT: &str = "git runs what its hooks and configuration name";
const PROVOST: &str = "it governs what Provost allows and runs";
const AGENT: &str = "it governs what agents are told and may do";
const TOOLS: &str = "it names programs that agents and editors start";
const SHELL: &str = "shells run it when they enter the folder";
const CI: &str = "it runs with the secrets of the project's automation";

/// Names are compared case-insensitively, because some file systems are.
const PROTECTED_PATHS: &[ProtectedPath] = &[
    protected_path(REPOSITORY, GIT),
    // The short name on Windows file systems.
    protected_path("git~1", GIT),
    protected_path(".gitmodules", GIT),
    protected_path(".husky", GIT),
    protected_path(".pre-commit-config.yaml", GIT),
    protected_path("lefthook.yml", GIT),
    protected_path("lefthook.yaml", GIT),
    protected_path(".lefthook.yml", GIT),
    protected_path(".lefthook.yaml", GIT),
    protected_path("lefthook-local.yml", GIT),
    protected_path(".provost", PROVOST),
    protected_path("provost.toml", PROVOST),
    protected_path(".agent", AGENT),
    protected_path(".claude", AGENT),
    protected_path(".codex", AGENT),
    protected_path(".cursor", AGENT),
    protected_path(".gemini", AGENT),
    protected_path(".windsurf", AGENT),
    protected_path(".windsurfrules", AGENT),
    protected_path(".cursorrules", AGENT),
    protected_path(".clinerules", AGENT),
    protected_path(".roo", AGENT),
    protected_path(".kiro", AGENT),
    protected_path(".continue", AGENT),
    protected_path("opencode.json", AGENT),
    protected_path("opencode.jsonc", AGENT),
    protected_path(".opencode", AGENT),
    protected_path("AGENTS.md", AGENT),
    protected_path("CLAUDE.md", AGENT),
    protected_path("GEMINI.md", AGENT),
    protected_path(".mcp.json", TOOLS),
    protected_path(".vscode/tasks.json", TOOLS),
    protected_path(".vscode/launch.json", TOOLS),
    protected_path(".vscode/settings.json", TOOLS),
    protected_path(".vscode/mcp.json", TOOLS),
    protected_path(".zed", TOOLS),
    protected_path(".idea", TOOLS),
    protected_path(".devcontainer", TOOLS),
    protected_path(".devcontainer.json", TOOLS),
    protected_path(".envrc", SHELL),
    protected_path("mise.toml", SHELL),
    protected_path(".mise.toml", SHELL),
    protected_path(".mise", SHELL),
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
];

/// The suffix of an editor's workspace file.
const WORKSPACE: &str = ".code-workspace";

/// Why changing a path needs an approval, if it does.
///
/// A folder that contains such a path is protected too (`.github` for its workflows): moving or
/// replacing it changes them.
pub fn protection_reason(path: &RelPath) -> Option<&'static str> {
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
    // An editor's workspace file may have any name.
    let workspace = names.last().is_some_and(|name| name.ends_with(WORKSPACE));
    let workspace = workspace.then_some(TOOLS);
    FOLDED.iter().find(hit).map(|(_, why)| *why).or(workspace)
}

/// The paths that a command must not write, relative to the top of the project.
pub fn command_read_only_paths() -> impl Iterator<Item = String> {
    PROTECTED_PATHS.iter().flat_map(|guarded| {
        if guarded.path == REPOSITORY {
            GIT_CONTROL_PATHS.iter().map(|part| format!("{REPOSITORY}/{part}")).collect()
        } else {
            vec![guarded.path.to_owned()]
        }
    })
}

/// To upper case and back, so that letters with two lower-case forms (`ſ`) become one.
fn fold_case(name: &str) -> String {
    if name.is_ascii() {
        return name.to_ascii_lowercase();
    }
    name.chars().flat_map(char::to_uppercase).flat_map(char::to_lowercase).collect()
}
