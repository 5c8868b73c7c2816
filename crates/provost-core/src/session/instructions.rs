//! What a model is told of its role and its project.

use std::fmt::Write as _;

use provost_proto::Mode;

/// The files that say how to work in a folder, the first that is there counts.
pub const GUIDES: [&str; 3] = ["AGENTS.md", "CLAUDE.md", "GEMINI.md"];

/// The most of one that is told, in bytes.
pub const GUIDE: usize = 64 * 1024;

/// A file that says how to work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guide {
    /// The file, relative to the project.
    pub file: String,
    /// What it says.
    pub text: String,
}

/// The project, as the model is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Project<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its mode.
    pub mode: Mode,
    /// What it runs, in a few words.
    pub runs: &'a str,
    /// The date, `2026-11-16`.
    pub date: &'a str,
}

/// The guide for a path: that of its own folder, or of the nearest above it.
pub fn nearest<'a>(guides: &'a [Guide], path: &str) -> Option<&'a Guide> {
    fn folder(file: &str) -> &str {
        file.rsplit_once('/').map_or("", |(folder, _)| folder)
    }
    let holds = |guide: &&Guide| {
        let folder = folder(&guide.file);
        folder.is_empty() || path == folder || path.starts_with(&format!("{folder}/"))
    };
    guides.iter().filter(holds).max_by_key(|guide| folder(&guide.file).len())
}

/// All of it. What comes from files of the project stands apart from what the
/// person trusted, and is named as such.
pub fn instructions(role: &str, body: &str, project: &Project<'_>, guides: &[Guide]) -> String {
    let mut text = body.trim().to_owned();
    let Project { name, mode, runs, date } = project;
    let asks = match mode {
        Mode::Sandbox => "reads pass, everything else asks a person first",
        Mode::Auto => "what stays inside the sandbox runs, what crosses it asks a person first",
        Mode::Full => "nothing asks, everything is confined and recorded",
    };
    // Writing to a text does not fail.
    let _ = write!(
        text,
        "\n\n# Where you are\n\nYou act in the role `{role}` in the project `{name}`, through \
         Provost: your tools are all you can do, paths are relative to the project, and every \
         call is decided, confined and recorded. Now {asks}. A call that is denied says why; do \
         not try to get around it. The project: {runs}. Today is {date}."
    );
    if let Some(root) = nearest(guides, "") {
        let _ = write!(text, "\n\n# {} of the project\n\n{}", root.file, root.text.trim());
    }
    let nested: Vec<_> = guides.iter().filter(|guide| guide.file.contains('/')).collect();
    if !nested.is_empty() {
        text.push_str("\n\n# Folders with instructions of their own\n\nRead the nearest before you change something there:\n");
        for guide in nested {
            let _ = write!(text, "\n- {}", guide.file);
        }
    }
    text.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guide(file: &str) -> Guide {
        Guide { file: file.to_owned(), text: format!("says {file}") }
    }

    #[test]
    fn the_nearest_guide_wins() {
        let guides = [guide("AGENTS.md"), guide("web/CLAUDE.md"), guide("web/app/AGENTS.md")];
        let of = |path| nearest(&guides, path).unwrap().file.as_str();
        assert_eq!(of("src/main.rs"), "AGENTS.md");
        assert_eq!(of("web/x.ts"), "web/CLAUDE.md");
        assert_eq!(of("website/x.ts"), "AGENTS.md");
        assert_eq!(of("web/app/deep/y.ts"), "web/app/AGENTS.md");
        assert_eq!(nearest(&guides[1..], "src/main.rs"), None);
    }

    #[test]
    fn the_role_comes_first_and_the_project_after_it() {
        let project =
            Project { name: "shop", mode: Mode::Sandbox, runs: "stopped", date: "2026-11-16" };
        let text = instructions(
            "dev",
            "You are careful.\n",
            &project,
            &[guide("AGENTS.md"), guide("a/AGENTS.md")],
        );
        let places = ["You are careful.", "role `dev`", "says AGENTS.md", "- a/AGENTS.md"]
            .map(|part| text.find(part).unwrap());
        assert!(places.is_sorted(), "{text}");
        assert!(!text.contains("says a/AGENTS.md"));
    }
}
