//! The instructions that a model gets about its role and its project.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use provost_proto::ProjectMode;

/// Names of files with instructions for a folder; the first that exists counts.
pub const GUIDE_FILE_NAMES: [&str; 3] = ["AGENTS.md", "CLAUDE.md", "GEMINI.md"];

/// The most bytes of one guide that are included.
pub const MAX_GUIDE_BYTES: usize = 64 * 1024;

/// The most bytes of all guides together.
pub const MAX_ALL_GUIDES_BYTES: usize = 128 * 1024;

/// The most paths that are considered.
const PATHS: usize = 256;

/// The paths in the arguments of a tool call.
pub fn paths_in_arguments(arguments: &str) -> Vec<String> {
    let Ok(arguments) = serde_json::from_str::<serde_json::Value>(arguments) else {
        return Vec::new();
    };
    let named = ["path", "from", "to", "cwd"].iter().filter_map(|name| arguments[name].as_str());
    let patch = arguments["patch"].as_str().unwrap_or_default().lines();
    let patched = patch.filter_map(|line| line.strip_prefix("+++ b/"));
    let all = named.chain(patched).map(|path| path.trim_start_matches("./").to_owned());
    all.filter(|path| !path.is_empty() && !path.starts_with('/')).take(PATHS).collect()
}

/// The folders from the project down to these paths, including the paths, each with a slash at
/// the end.
pub fn ancestor_folders(paths: &[String]) -> BTreeSet<String> {
    let all = paths.iter().flat_map(|path| {
        let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        (1..=parts.len()).map(move |n| format!("{}/", parts[..n].join("/"))).collect::<Vec<_>>()
    });
    all.filter(|folder| !folder.split('/').any(|part| part == "..")).take(PATHS).collect()
}

/// A file with instructions for a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GuideFile {
    /// The file, relative to the project.
    pub file: String,
    /// Its content.
    pub text: String,
}

/// What the instructions say about the project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectPromptContext<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its mode.
    pub mode: ProjectMode,
    /// What it runs, in short.
    pub runs: &'a str,
    /// The date, `2026-11-16`.
    pub date: &'a str,
}

/// The guide for a path: that of its own folder, or of the nearest parent.
pub fn nearest_guide<'a>(guides: &'a [GuideFile], path: &str) -> Option<&'a GuideFile> {
    fn folder(file: &str) -> &str {
        file.rsplit_once('/').map_or("", |(folder, _)| folder)
    }
    let holds = |guide: &&GuideFile| {
        let folder = folder(&guide.file);
        folder.is_empty() || path == folder || path.starts_with(&format!("{folder}/"))
    };
    guides.iter().filter(holds).max_by_key(|guide| folder(&guide.file).len())
}

/// The complete instructions. Content of project files is separate from what the person trusted,
/// and marked as such. Guides of folders are included if a file in the folder was touched; the
/// others are listed by name.
pub fn build_instructions(
    role: &str,
    body: &str,
    project: &ProjectPromptContext<'_>,
    guides: &[GuideFile],
    touched: &[String],
) -> String {
    let mut text = body.trim().to_owned();
    let ProjectPromptContext { name, mode, runs, date } = project;
    let asks = match mode {
        ProjectMode::Sandbox => "reads pass, everything else asks a person first",
        ProjectMode::Auto => {
            "what stays inside the sandbox runs, what crosses it asks a person first"
        }
        ProjectMode::Full => "nothing asks, everything is confined and recorded",
    };
    // Writing to a string cannot fail.
    let _ = write!(
        text,
        "\n\n# Where you are\n\nYou act in the role `{role}` in the project `{name}`, through \
         Provost: your tools are all you can do, paths are relative to the project, and every \
         call is decided, confined and recorded. Now {asks}. A call that is denied says why; do \
         not try to get around it. The project: {runs}. Today is {date}."
    );
    if let Some(root) = nearest_guide(guides, "") {
        let _ = write!(text, "\n\n# {} of the project\n\n{}", root.file, root.text.trim());
    }
    append_folder_guides(&mut text, guides, touched);
    text.trim().to_owned()
}

/// Appends the guides of folders.
fn append_folder_guides(text: &mut String, guides: &[GuideFile], touched: &[String]) {
    let near: BTreeSet<&str> = touched
        .iter()
        .filter_map(|path| nearest_guide(guides, path))
        .map(|guide| guide.file.as_str())
        .collect();
    let most = text.len() + MAX_ALL_GUIDES_BYTES;
    let mut named = Vec::new();
    for guide in guides.iter().filter(|guide| guide.file.contains('/')) {
        let folder = guide.file.rsplit_once('/').map_or("", |(folder, _)| folder);
        if near.contains(guide.file.as_str()) && text.len() + guide.text.len() <= most {
            let _ = write!(
                text,
                "\n\n# {}\n\nFor what is in `{folder}`, above what is said farther up:\n\n{}",
                guide.file,
                guide.text.trim()
            );
        } else {
            named.push(&guide.file);
        }
    }
    if !named.is_empty() {
        text.push_str(
            "\n\n# Folders with instructions of their own\n\nRead the nearest before you change \
             something there:\n",
        );
        for file in named {
            let _ = write!(text, "\n- {file}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guide(file: &str) -> GuideFile {
        GuideFile { file: file.to_owned(), text: format!("says {file}") }
    }

    #[test]
    fn the_nearest_guide_wins() {
        let guides = [guide("AGENTS.md"), guide("web/CLAUDE.md"), guide("web/app/AGENTS.md")];
        let of = |path| nearest_guide(&guides, path).unwrap().file.as_str();
        assert_eq!(of("src/main.rs"), "AGENTS.md");
        assert_eq!(of("web/x.ts"), "web/CLAUDE.md");
        assert_eq!(of("website/x.ts"), "AGENTS.md");
        assert_eq!(of("web/app/deep/y.ts"), "web/app/AGENTS.md");
        assert_eq!(nearest_guide(&guides[1..], "src/main.rs"), None);
    }

    #[test]
    fn the_role_comes_first_and_the_project_after_it() {
        let project = ProjectPromptContext {
            name: "shop",
            mode: ProjectMode::Sandbox,
            runs: "stopped",
            date: "2026-11-16",
        };
        let guides = [guide("AGENTS.md"), guide("a/AGENTS.md")];
        let text = build_instructions("dev", "You are careful.\n", &project, &guides, &[]);
        let offsets = ["You are careful.", "role `dev`", "says AGENTS.md", "- a/AGENTS.md"]
            .map(|part| text.find(part).unwrap());
        assert!(offsets.is_sorted(), "{text}");
        assert!(!text.contains("says a/AGENTS.md"));
    }
    #[test]
    fn what_a_folder_says_is_told_when_something_in_it_is_touched() {
        let project = ProjectPromptContext {
            name: "shop",
            mode: ProjectMode::Sandbox,
            runs: "stopped",
            date: "2026-11-16",
        };
        let guides = [guide("AGENTS.md"), guide("web/CLAUDE.md"), guide("web/app/AGENTS.md")];
        let included = |path: &str| {
            let text = build_instructions("dev", "x", &project, &guides, &[path.to_owned()]);
            ["says web/CLAUDE.md", "says web/app/AGENTS.md"].map(|says| text.contains(says))
        };
        assert_eq!(included("src/main.rs"), [false, false]);
        assert_eq!(included("web/index.html"), [true, false]);
        assert_eq!(included("web/app/x.ts"), [false, true]);
    }

    #[test]
    fn guides_are_told_up_to_a_limit_and_named_beyond_it() {
        let project = ProjectPromptContext {
            name: "shop",
            mode: ProjectMode::Sandbox,
            runs: "stopped",
            date: "2026-11-16",
        };
        let guide =
            |file: &str| GuideFile { file: file.to_owned(), text: "x".repeat(MAX_GUIDE_BYTES) };
        let guides = ["a/AGENTS.md", "b/AGENTS.md", "c/AGENTS.md"].map(guide);
        let touched = ["a/1", "b/2", "c/3"].map(str::to_owned);
        let text = build_instructions("dev", "x", &project, &guides, &touched);
        assert!(text.len() < MAX_ALL_GUIDES_BYTES + 4096, "{}", text.len());
        assert!(text.contains("\n- c/AGENTS.md"));
    }

    #[test]
    fn the_paths_of_a_call_and_the_folders_on_their_way() {
        let call = r#"{"path":"./web/app/x.ts","cwd":"api","patch":"--- a/y\n+++ b/lib/y.rs\n"}"#;
        assert_eq!(paths_in_arguments(call), ["web/app/x.ts", "api", "lib/y.rs"]);
        assert_eq!(paths_in_arguments(r#"{"path":"/etc/passwd"}"#), Vec::<String>::new());
        assert_eq!(paths_in_arguments("not JSON"), Vec::<String>::new());
        let folders = ancestor_folders(&["web/app/x.ts".to_owned(), "../out/z".to_owned()]);
        let folders: Vec<_> = folders.iter().map(String::as_str).collect();
        assert_eq!(folders, ["web/", "web/app/", "web/app/x.ts/"]);
    }
}
