//! Git's configuration, setting by setting.
//!
//! Settings that git writes itself when it initializes, clones, branches or adds a worktree or a
//! submodule are harmless. Of the others many run a program, and new versions of git add more; so
//! every setting that is not on the list is a leftover unless it was there before.

/// One setting of a configuration, with its place in the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitSetting {
    /// The section in lower case: `remote`.
    pub section: String,
    /// The subsection: `origin`.
    pub subsection: Option<String>,
    /// The name in lower case: `url`.
    pub name: String,
    /// The value; a name without one is `true`.
    pub value: String,
    /// Where it begins and ends, in bytes.
    span: (usize, usize),
}

impl GitSetting {
    /// The name as people write it: `remote.origin.url`.
    pub fn full_name(&self) -> String {
        match &self.subsection {
            Some(subsection) => format!("{}.{subsection}.{}", self.section, self.name),
            None => format!("{}.{}", self.section, self.name),
        }
    }

    fn is_same(&self, other: &Self) -> bool {
        (&self.section, &self.subsection, &self.name, &self.value)
            == (&other.section, &other.subsection, &other.name, &other.value)
    }
}

/// The text is not a configuration that git could read, or not for certain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a configuration of git")]
pub struct NotGitConfig;

/// What of a changed configuration is a leftover.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SettingsChange {
    /// Nothing.
    Harmless,
    /// These settings; the text is what remains without them.
    Dangerous {
        /// The full names of the settings.
        names: Vec<String>,
        /// The configuration without them.
        kept: Vec<u8>,
    },
    /// It cannot be read, so all of it.
    Unreadable,
}

/// Compares a configuration with the one before the command, if there was one.
///
/// `depth` is the depth in the project of a submodule's git folder, which has `core.worktree`;
/// other folders have none.
pub fn compare_settings(
    before: Option<&[u8]>,
    after: &[u8],
    depth: Option<usize>,
) -> SettingsChange {
    let known = before.map_or(Ok(Vec::new()), parse_settings).unwrap_or_default();
    let Ok(settings) = parse_settings(after) else { return SettingsChange::Unreadable };
    let is_leftover = |setting: &&GitSetting| {
        let is_new_danger = !is_harmless(setting, depth) || redirects_known(setting, &known);
        is_new_danger && !known.iter().any(|old| old.is_same(setting))
    };
    let removed = find_removed_guards(&known, &settings);
    if let (false, Some(before)) = (removed.is_empty(), before) {
        return SettingsChange::Dangerous { names: removed, kept: before.to_vec() };
    }
    let leftovers: Vec<&GitSetting> = settings.iter().filter(is_leftover).collect();
    if leftovers.is_empty() {
        return SettingsChange::Harmless;
    }
    let mut kept = after.to_vec();
    for setting in leftovers.iter().rev() {
        kept.drain(setting.span.0..setting.span.1);
    }
    // The rest must read as the harmless part, or all of it goes.
    match parse_settings(&kept) {
        Ok(rest) if !rest.iter().any(|setting| is_leftover(&setting)) => {
            let names = leftovers.iter().map(|setting| setting.full_name()).collect();
            SettingsChange::Dangerous { names, kept }
        }
        Ok(_) | Err(NotGitConfig) => SettingsChange::Unreadable,
    }
}

/// Names that are harmless with any value, by section, without a subsection.
const HARMLESS: &[(&str, &[&str])] = &[
    (
        "core",
        &[
            "repositoryformatversion",
            "filemode",
            "bare",
            "logallrefupdates",
            "ignorecase",
            "precomposeunicode",
            "symlinks",
            "autocrlf",
            "eol",
            "safecrlf",
            "sparsecheckout",
            "sparsecheckoutcone",
            "quotepath",
            "abbrev",
            "sharedrepository",
            "longpaths",
            "protecthfs",
            "protectntfs",
            "untrackedcache",
            "splitindex",
            "commitgraph",
            "multipackindex",
        ],
    ),
    (
        "extensions",
        &[
            "worktreeconfig",
            "objectformat",
            "compatobjectformat",
            "refstorage",
            "partialclone",
            "noop",
            "preciousobjects",
            "relativeworktrees",
        ],
    ),
    ("user", &["name", "email"]),
    ("author", &["name", "email"]),
    ("committer", &["name", "email"]),
    ("init", &["defaultbranch"]),
    ("pull", &["rebase", "ff"]),
    ("push", &["default", "autosetupremote", "followtags"]),
    ("fetch", &["prune", "prunetags"]),
    ("rebase", &["autostash", "autosquash", "updaterefs"]),
    ("merge", &["ff", "conflictstyle"]),
    ("rerere", &["enabled", "autoupdate"]),
    ("gc", &["auto", "autodetach"]),
    ("maintenance", &["auto", "strategy"]),
    ("index", &["version", "sparse"]),
    ("status", &["showuntrackedfiles", "submodulesummary"]),
    ("diff", &["renames", "algorithm", "noprefix", "mnemonicprefix"]),
    ("submodule", &["active", "recurse", "alternatelocation", "alternateerrorstrategy"]),
    ("lfs", &["repositoryformatversion"]),
    ("clone", &["defaultremotename"]),
    ("checkout", &["defaultremote"]),
];

/// Names that are harmless with any value, by section, in a subsection.
const HARMLESS_IN_SUBSECTION: &[(&str, &[&str])] = &[
    ("remote", &["fetch", "push", "tagopt", "prune", "mirror", "promisor", "partialclonefilter"]),
    ("branch", &["merge", "rebase", "description"]),
    ("submodule", &["active", "branch", "ignore", "shallow", "fetchrecursesubmodules", "path"]),
    ("lfs", &["access"]),
];

fn is_harmless(setting: &GitSetting, depth: Option<usize>) -> bool {
    let GitSetting { section, subsection, name, value, .. } = setting;
    let table = if subsection.is_some() { HARMLESS_IN_SUBSECTION } else { HARMLESS };
    let listed = table.iter().find(|(known, _)| known == section);
    if listed.is_some_and(|(_, names)| names.contains(&&**name)) {
        return true;
    }
    match (&**section, subsection.is_some(), &**name) {
        ("remote" | "submodule", true, "url") | ("remote", true, "pushurl") => is_safe_url(value),
        ("branch", true, "remote" | "pushremote") | ("remote", false, "pushdefault") => {
            is_safe_url(value)
        }
        ("submodule", true, "update") => {
            matches!(&**value, "checkout" | "rebase" | "merge" | "none")
        }
        // Another value is a program.
        ("core", false, "fsmonitor") | ("commit" | "tag", false, "gpgsign") => {
            matches!(&*value.to_ascii_lowercase(), "true" | "false" | "0" | "1" | "yes" | "no")
        }
        ("core", false, "worktree") => {
            depth.is_some_and(|depth| is_submodule_worktree(value, depth))
        }
        _ => false,
    }
}

/// Whether a setting changes where a remote or a branch that was there before pushes to or
/// fetches from, or whether commits are signed.
fn redirects_known(setting: &GitSetting, known: &[GitSetting]) -> bool {
    let GitSetting { section, subsection, name, value, .. } = setting;
    let mut same_section =
        known.iter().filter(|old| (&old.section, &old.subsection) == (section, subsection));
    match (&**section, &**name) {
        ("remote", "url" | "pushurl" | "push" | "mirror") | ("branch", "pushremote") => {
            same_section.next().is_some()
        }
        // Git would fetch objects that are missing from there, by looking.
        ("remote", "promisor" | "partialclonefilter") | ("extensions", "partialclone") => {
            !known.is_empty()
        }
        ("remote", "pushdefault") | ("push", "default") => !known.is_empty(),
        ("branch", "remote" | "merge") => same_section.any(|old| old.name == *name),
        ("commit" | "tag", "gpgsign") => !is_true(value) || same_section.any(|o| o.name == *name),
        _ => false,
    }
}

/// The names of settings that were removed although they keep pushes and signatures as they are.
fn find_removed_guards(known: &[GitSetting], settings: &[GitSetting]) -> Vec<String> {
    let is_guard = |setting: &&GitSetting| {
        matches!(
            (&*setting.section, &*setting.name),
            ("remote", "url" | "pushurl" | "pushdefault" | "push")
                | ("branch", "pushremote")
                | ("push", "default")
                | ("commit" | "tag", "gpgsign")
        )
    };
    let is_gone = |setting: &&GitSetting| !settings.iter().any(|new| new.is_same(setting));
    known.iter().filter(is_guard).filter(is_gone).map(GitSetting::full_name).collect()
}

fn is_true(value: &str) -> bool {
    matches!(&*value.to_ascii_lowercase(), "true" | "1" | "yes" | "on")
}

/// Whether a URL names no program: no remote helper (`ext::sh -c …`), no option.
fn is_safe_url(url: &str) -> bool {
    const SCHEMES: &[&str] = &["http", "https", "ssh", "git", "file", "git+ssh", "ssh+git"];
    let is_scheme =
        |text: &str| text.bytes().all(|c| c.is_ascii_alphanumeric() || b"+.-".contains(&c));
    let has_helper = url.split_once("::").is_some_and(|(helper, _)| is_scheme(helper));
    let scheme = url.split_once("://").map(|(scheme, _)| scheme.to_ascii_lowercase());
    let known = scheme.is_none_or(|scheme| !is_scheme(&scheme) || SCHEMES.contains(&&*scheme));
    // What lies in a git folder is git's data to us, and may be a repository to git.
    let in_git_folder = url.split('/').rev().skip(1).any(super::git_entries::is_git_name);
    !url.starts_with('-')
        && !in_git_folder
        && !has_helper
        && known
        && !url.contains(|c: char| c.is_control())
}

/// `../../../lib`: out of `.git/modules/lib` and down again, inside the project.
fn is_submodule_worktree(value: &str, depth: usize) -> bool {
    let mut names = value.split('/').skip_while(|name| *name == "..").peekable();
    let n_up = value.split('/').take_while(|name| *name == "..").count();
    let is_plain =
        |name: &str| !matches!(name, "" | "." | "..") && !super::git_entries::is_git_name(name);
    (3..=depth).contains(&n_up) && names.peek().is_some() && names.all(is_plain)
}

/// Parses a configuration as git does.
pub fn parse_settings(text: &[u8]) -> Result<Vec<GitSetting>, NotGitConfig> {
    let text = std::str::from_utf8(text).map_err(|_| NotGitConfig)?;
    if text.contains('\0') {
        return Err(NotGitConfig);
    }
    let start = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    ConfigParser { text, at: start, section: None, settings: Vec::new() }.parse()
}

struct ConfigParser<'a> {
    text: &'a str,
    at: usize,
    section: Option<(String, Option<String>)>,
    settings: Vec<GitSetting>,
}

impl ConfigParser<'_> {
    fn parse(mut self) -> Result<Vec<GitSetting>, NotGitConfig> {
        while let Some(c) = self.peek() {
            match c {
                c if c.is_ascii_whitespace() || c == '\u{b}' => self.bump(),
                '#' | ';' => self.skip_line(),
                '[' => self.parse_section()?,
                c if c.is_ascii_alphabetic() => self.parse_setting()?,
                _ => return Err(NotGitConfig),
            }
        }
        Ok(self.settings)
    }

    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    fn bump(&mut self) {
        self.at += self.peek().map_or(0, char::len_utf8);
    }

    fn take(&mut self) -> Option<char> {
        let c = self.peek();
        self.bump();
        c
    }

    fn skip_line(&mut self) {
        while self.peek().is_some_and(|c| c != '\n') {
            self.bump();
        }
    }

    /// `[remote "origin"]`, or `[branch.main]` of the old kind.
    fn parse_section(&mut self) -> Result<(), NotGitConfig> {
        self.bump();
        let mut name = String::new();
        loop {
            match self.take().ok_or(NotGitConfig)? {
                ']' => {
                    let (section, old) = match name.split_once('.') {
                        Some((section, old)) => (section.to_owned(), Some(old.to_owned())),
                        None => (name, None),
                    };
                    self.section = Some((section, old));
                    return Ok(());
                }
                c if c.is_ascii_alphanumeric() || c == '-' || c == '.' => {
                    name.push(c.to_ascii_lowercase());
                }
                c if c == ' ' || c == '\t' => break,
                _ => return Err(NotGitConfig),
            }
        }
        while self.peek().is_some_and(|c| c == ' ' || c == '\t') {
            self.bump();
        }
        if self.take() != Some('"') {
            return Err(NotGitConfig);
        }
        let mut subsection = String::new();
        loop {
            match self.take().ok_or(NotGitConfig)? {
                '"' => break,
                '\n' => return Err(NotGitConfig),
                '\\' => match self.take().ok_or(NotGitConfig)? {
                    '\n' => return Err(NotGitConfig),
                    c => subsection.push(c),
                },
                c => subsection.push(c),
            }
        }
        if self.take() != Some(']') {
            return Err(NotGitConfig);
        }
        // `[a.b "c"]` is one subsection to git; no tool writes it.
        if name.contains('.') {
            return Err(NotGitConfig);
        }
        self.section = Some((name, Some(subsection)));
        Ok(())
    }

    fn parse_setting(&mut self) -> Result<(), NotGitConfig> {
        let start = self.at;
        let (section, subsection) = self.section.clone().ok_or(NotGitConfig)?;
        let mut name = String::new();
        while let Some(c) = self.peek().filter(|c| c.is_ascii_alphanumeric() || *c == '-') {
            name.push(c.to_ascii_lowercase());
            self.bump();
        }
        while self.peek().is_some_and(|c| c == ' ' || c == '\t') {
            self.bump();
        }
        let value = match self.take() {
            None | Some('\n') => "true".to_owned(),
            Some('\r') if self.peek() == Some('\n') => {
                self.bump();
                "true".to_owned()
            }
            Some('=') => self.parse_value()?,
            Some(_) => return Err(NotGitConfig),
        };
        let span = (start, self.at);
        self.settings.push(GitSetting { section, subsection, name, value, span });
        Ok(())
    }

    /// A value up to the end of its line, with quotes, escapes and continued lines.
    fn parse_value(&mut self) -> Result<String, NotGitConfig> {
        let (mut value, mut quoted, mut spaces) = (String::new(), false, String::new());
        loop {
            let Some(c) = self.take() else {
                return if quoted { Err(NotGitConfig) } else { Ok(value) };
            };
            match c {
                '\n' if quoted => return Err(NotGitConfig),
                '\n' => return Ok(value),
                '\r' if self.peek() == Some('\n') => {}
                '#' | ';' if !quoted => self.skip_line(),
                ' ' | '\t' if !quoted => {
                    if !value.is_empty() {
                        spaces.push(c);
                    }
                }
                '"' => {
                    quoted = !quoted;
                    value.push_str(&std::mem::take(&mut spaces));
                }
                '\\' => {
                    let escaped = match self.take().ok_or(NotGitConfig)? {
                        '\n' => continue,
                        '\r' if self.peek() == Some('\n') => {
                            self.bump();
                            continue;
                        }
                        't' => '\t',
                        'b' => '\u{8}',
                        'n' => '\n',
                        c @ ('\\' | '"') => c,
                        _ => return Err(NotGitConfig),
                    };
                    value.push_str(&std::mem::take(&mut spaces));
                    value.push(escaped);
                }
                c => {
                    value.push_str(&std::mem::take(&mut spaces));
                    value.push(c);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
