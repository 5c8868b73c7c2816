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
struct Guarded {
    path: &'static str,
    why: &'static str,
}

const fn guarded(path: &'static str, why: &'static str) -> Guarded {
    Guarded { path, why }
}

/// Where a repository is.
pub const REPOSITORY: &str = ".git";

/// Where a repository keeps those of its submodules.
pub const SUBMODULES: &str = "modules";

/// What of a repository decides what git runs.
pub const PARTS: &[&str] = &["hooks", "config", "config.worktree", "info/attributes"];

const GIT: &str = "git runs what its hooks and configuration name";
const PROVOST: &str = "it governs what Provost allows and runs";
const AGENT: &str = "it governs what agents are told and may do";
const TOOLS: &str = "it names programs that agents and editors start";
const SHELL: &str = "shells run it when they enter the folder";
const CI: &str = "it runs with the secrets of the project's automation";

/// Names are compared without regard to case, because some file systems do.
const GUARDED: &[Guarded] = &[
    guarded(REPOSITORY, GIT),
    // The short name that Windows file systems give it.
    guarded("git~1", GIT),
    guarded(".gitmodules", GIT),
    guarded(".husky", GIT),
    guarded(".pre-commit-config.yaml", GIT),
    guarded("lefthook.yml", GIT),
    guarded("lefthook.yaml", GIT),
    guarded(".lefthook.yml", GIT),
    guarded(".lefthook.yaml", GIT),
    guarded("lefthook-local.yml", GIT),
    guarded(".provost", PROVOST),
    guarded("provost.toml", PROVOST),
    guarded(".agent", AGENT),
    guarded(".claude", AGENT),
    guarded(".codex", AGENT),
    guarded(".cursor", AGENT),
    guarded(".gemini", AGENT),
    guarded(".windsurf", AGENT),
    guarded(".windsurfrules", AGENT),
    guarded(".cursorrules", AGENT),
    guarded(".clinerules", AGENT),
    guarded(".roo", AGENT),
    guarded(".kiro", AGENT),
    guarded(".continue", AGENT),
    guarded("opencode.json", AGENT),
    guarded("opencode.jsonc", AGENT),
    guarded(".opencode", AGENT),
    guarded("AGENTS.md", AGENT),
    guarded("CLAUDE.md", AGENT),
    guarded("GEMINI.md", AGENT),
    guarded(".mcp.json", TOOLS),
    guarded(".vscode/tasks.json", TOOLS),
    guarded(".vscode/launch.json", TOOLS),
    guarded(".vscode/settings.json", TOOLS),
    guarded(".vscode/mcp.json", TOOLS),
    guarded(".zed", TOOLS),
    guarded(".idea", TOOLS),
    guarded(".devcontainer", TOOLS),
    guarded(".devcontainer.json", TOOLS),
    guarded(".envrc", SHELL),
    guarded("mise.toml", SHELL),
    guarded(".mise.toml", SHELL),
    guarded(".mise", SHELL),
    guarded(".github/workflows", CI),
    guarded(".github/actions", CI),
    guarded(".forgejo/workflows", CI),
    guarded(".gitea/workflows", CI),
    guarded(".gitlab-ci.yml", CI),
    guarded(".cirrus.yml", CI),
    guarded("appveyor.yml", CI),
    guarded(".circleci", CI),
    guarded(".buildkite", CI),
    guarded(".travis.yml", CI),
    guarded(".drone.yml", CI),
    guarded(".woodpecker.yml", CI),
    guarded(".woodpecker", CI),
    guarded("azure-pipelines.yml", CI),
    guarded("bitbucket-pipelines.yml", CI),
    guarded("Jenkinsfile", CI),
];

/// How the name of an editor's workspace ends.
const WORKSPACE: &str = ".code-workspace";

/// Why a path may not be changed without a person's word, if so.
///
/// A folder that holds such a path is protected too (`.github` for its
/// workflows): whoever moves it away or puts another in its place changes them.
pub fn protected(path: &RelPath) -> Option<&'static str> {
    static FOLDED: LazyLock<Vec<(Vec<String>, &'static str)>> = LazyLock::new(|| {
        let parts = |guarded: &Guarded| guarded.path.split('/').map(fold).collect();
        GUARDED.iter().map(|guarded| (parts(guarded), guarded.why)).collect()
    });
    let names: Vec<String> = path.components().map(fold).collect();
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
pub fn for_commands() -> impl Iterator<Item = String> {
    GUARDED.iter().flat_map(|guarded| {
        if guarded.path == REPOSITORY {
            PARTS.iter().map(|part| format!("{REPOSITORY}/{part}")).collect()
        } else {
            vec![guarded.path.to_owned()]
        }
    })
}

/// Up and down again, so that letters with two small forms (`ſ`) become one.
fn fold(name: &str) -> String {
    if name.is_ascii() {
        return name.to_ascii_lowercase();
    }
    name.chars().flat_map(char::to_uppercase).flat_map(char::to_lowercase).collect()
}
