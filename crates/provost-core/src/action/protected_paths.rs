//! Paths that govern what Provost, git, editors and other agents do: the one list.
//!
//! Who may write one of them may run whatever they like the next time a person
//! commits, opens the folder or pushes. So no mode and no rule skips the
//! question for them.
//!
//! Actions on files are refused wherever in the project such a path lies. A
//! command cannot be asked path by path, so the wall around it makes read-only
//! what [`for_commands`] says: all of the list at the top of the project, but of
//! a repository only the [`PARTS`] that run something, since `git commit` must
//! write the rest; and those parts of the repositories inside the project.

use std::sync::LazyLock;

use super::RelPath;

/// A path, matched wherever it lies in the project, with all beneath it.
struct ProtectedPath {
    path: &'static str,
    why: &'static str,
}

const fn protected_path(path: &'static str, why: &'static str) -> ProtectedPath {
    ProtectedPath { path, why }
}

/// Where a repository is.
pub const REPOSITORY: &str = ".git";

/// Where a repository keeps those of its submodules.
pub const SUBMODULES: &str = "modules";

/// What of a repository decides what git runs.
pub const GIT_CONTROL_PATHS: &[&str] = &["hooks", "config", "config.worktree", "info/attributes"];

const GIT: &str = "git runs what its hooks and configuration name";
const PROVOST: &str = "it governs what Provost allows and runs";
const AGENT: &str = "it governs what agents are told and may do";
const TOOLS: &str = "it names programs that agents and editors start";
const SHELL: &str = "shells run it when they enter the folder";
const CI: &str = "it runs with the secrets of the project's automation";

/// Names are compared without regard to case, because some file systems do.
const PROTECTED_PATHS: &[ProtectedPath] = &[
    protected_path(REPOSITORY, GIT),
    // The short name that Windows file systems give it.
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

/// How the name of an editor's workspace ends.
const WORKSPACE: &str = ".code-workspace";

/// Why a path may not be changed without a person's word, if so.
///
/// A folder that holds such a path is protected too (`.github` for its
/// workflows): whoever moves it away or puts another in its place changes them.
pub fn protection_reason(path: &RelPath) -> Option<&'static str> {
    static FOLDED: LazyLock<Vec<(Vec<String>, &'static str)>> = LazyLock::new(|| {
        let parts = |guarded: &ProtectedPath| guarded.path.split('/').map(fold_case).collect();
        PROTECTED_PATHS.iter().map(|guarded| (parts(guarded), guarded.why)).collect()
    });
    let names: Vec<String> = path.components().map(fold_case).collect();
    let hit = |(parts, _): &&(Vec<String>, &str)| {
        (0..names.len()).any(|start| {
            // Either the whole guarded path lies on the way, or the way ends within it.
            parts.iter().zip(&names[start..]).all(|(part, name)| part == name)
        })
    };
    // An editor's workspace may have any name.
    let workspace = names.last().is_some_and(|name| name.ends_with(WORKSPACE));
    let workspace = workspace.then_some(TOOLS);
    FOLDED.iter().find(hit).map(|(_, why)| *why).or(workspace)
}

/// What a command may not write, relative to the top of the project.
pub fn command_read_only_paths() -> impl Iterator<Item = String> {
    PROTECTED_PATHS.iter().flat_map(|guarded| {
        if guarded.path == REPOSITORY {
            GIT_CONTROL_PATHS.iter().map(|part| format!("{REPOSITORY}/{part}")).collect()
        } else {
            vec![guarded.path.to_owned()]
        }
    })
}

/// Up and down again, so that letters with two small forms (`ſ`) become one.
fn fold_case(name: &str) -> String {
    if name.is_ascii() {
        return name.to_ascii_lowercase();
    }
    name.chars().flat_map(char::to_uppercase).flat_map(char::to_lowercase).collect()
}
