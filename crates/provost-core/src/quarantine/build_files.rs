//! Files that a tool uses in place of the project's own: of the names of a family it takes one,
//! so a second one beside it would be swapped in, or the project's own would be ignored.
//!
//! A project that has none of a family and gets its first one gets its build; one whose file is
//! replaced by another of the family, in the same action, is changed and not shadowed.

/// The names of one family.
struct BuildFileFamily {
    tool: &'static str,
    names: &'static [&'static str],
    /// Names of files that are for several tools, with the section of this one.
    sections: &'static [(&'static str, &'static str)],
}

const fn family(tool: &'static str, names: &'static [&'static str]) -> BuildFileFamily {
    BuildFileFamily { tool, names, sections: &[] }
}

/// The extensions of a configuration that is a program for node.
const SCRIPT_EXTENSIONS: &[&str] = &["js", "mjs", "cjs", "ts", "mts", "cts", "json"];

/// Configurations with any of [`SCRIPT_EXTENSIONS`].
const SCRIPT_CONFIGS: &[&str] = &[
    "astro.config",
    "ava.config",
    "babel.config",
    ".babelrc",
    ".dumirc",
    ".eleventy",
    ".fatherrc",
    ".postcssrc",
    ".template-lintrc",
    ".umirc",
    "commitlint.config",
    "cypress.config",
    "esbuild.config",
    "gatsby-config",
    "gulpfile",
    "jest.config",
    "karma.conf",
    "lint-staged.config",
    "metro.config",
    "next.config",
    "nuxt.config",
    "playwright.config",
    "postcss.config",
    "prettier.config",
    "remix.config",
    "rollup.config",
    "rspack.config",
    "snowpack.config",
    "stylelint.config",
    "svelte.config",
    "tailwind.config",
    "tsup.config",
    "unocss.config",
    "vite.config",
    "vitest.config",
    "vue.config",
    "webdriverio.conf",
    "webpack.config",
];

const FAMILIES: &[BuildFileFamily] = &[
    family("make", &["GNUmakefile", "makefile", "Makefile"]),
    family("Gradle", &["build.gradle", "build.gradle.kts", "build.gradle.dcl"]),
    family("Gradle", &["settings.gradle", "settings.gradle.kts", "settings.gradle.dcl"]),
    family("Bazel", &["BUILD", "BUILD.bazel"]),
    family("Bazel", &["WORKSPACE", "WORKSPACE.bazel"]),
    family("Meson", &["meson.options", "meson_options.txt"]),
    family("rustup", &["rust-toolchain", "rust-toolchain.toml"]),
    family("npm", &["npm-shrinkwrap.json", "package-lock.json"]),
    family("bun", &["bun.lock", "bun.lockb"]),
    family("Deno", &["deno.json", "deno.jsonc"]),
    family("Turborepo", &["turbo.json", "turbo.jsonc"]),
    family(
        "ESLint",
        &[
            "eslint.config.js",
            "eslint.config.mjs",
            "eslint.config.cjs",
            "eslint.config.ts",
            "eslint.config.mts",
            "eslint.config.cts",
            ".eslintrc.js",
            ".eslintrc.cjs",
            ".eslintrc.yaml",
            ".eslintrc.yml",
            ".eslintrc.json",
            ".eslintrc",
        ],
    ),
    family(
        "Mocha",
        &[
            ".mocharc.cjs",
            ".mocharc.js",
            ".mocharc.mjs",
            ".mocharc.yaml",
            ".mocharc.yml",
            ".mocharc.jsonc",
            ".mocharc.json",
        ],
    ),
    family(
        "Prettier",
        &[
            ".prettierrc",
            ".prettierrc.json",
            ".prettierrc.yml",
            ".prettierrc.yaml",
            ".prettierrc.json5",
            ".prettierrc.toml",
            ".prettierrc.js",
            ".prettierrc.cjs",
            ".prettierrc.mjs",
            ".prettierrc.ts",
            ".prettierrc.cts",
            ".prettierrc.mts",
            "prettier.config.js",
            "prettier.config.cjs",
            "prettier.config.mjs",
            "prettier.config.ts",
            "prettier.config.cts",
            "prettier.config.mts",
        ],
    ),
    family(
        "Stylelint",
        &[
            "stylelint.config.js",
            "stylelint.config.cjs",
            "stylelint.config.mjs",
            ".stylelintrc.js",
            ".stylelintrc.cjs",
            ".stylelintrc.mjs",
            ".stylelintrc",
            ".stylelintrc.json",
            ".stylelintrc.yml",
            ".stylelintrc.yaml",
        ],
    ),
    family("Grunt", &["Gruntfile.js", "Gruntfile.cjs", "Gruntfile.ts", "Gruntfile.coffee"]),
    family(
        "Docker Compose",
        &["compose.yaml", "compose.yml", "docker-compose.yaml", "docker-compose.yml"],
    ),
    family("just", &["justfile", "Justfile", "JUSTFILE", ".justfile"]),
    family(
        "Task",
        &[
            "Taskfile.yml",
            "taskfile.yml",
            "Taskfile.yaml",
            "taskfile.yaml",
            "Taskfile.dist.yml",
            "taskfile.dist.yml",
            "Taskfile.dist.yaml",
            "taskfile.dist.yaml",
        ],
    ),
    family("Rake", &["rakefile", "Rakefile", "rakefile.rb", "Rakefile.rb"]),
    family("Vagrant", &["Vagrantfile", "vagrantfile"]),
    family("PHPUnit", &["phpunit.xml", "phpunit.dist.xml", "phpunit.xml.dist"]),
    family("Psalm", &["psalm.xml", "psalm.xml.dist"]),
    family("PHPStan", &["phpstan.neon", "phpstan.neon.dist", "phpstan.dist.neon"]),
    family("PHP CS Fixer", &[".php-cs-fixer.php", ".php-cs-fixer.dist.php"]),
    BuildFileFamily {
        tool: "pytest",
        names: &["pytest.toml", ".pytest.toml", "pytest.ini", ".pytest.ini"],
        sections: &[
            ("pyproject.toml", "[tool.pytest"),
            ("tox.ini", "[pytest]"),
            ("setup.cfg", "[tool:pytest]"),
        ],
    },
    BuildFileFamily {
        tool: "tox",
        names: &["tox.toml"],
        sections: &[
            ("tox.ini", "[tox]"),
            ("setup.cfg", "[tox:tox]"),
            ("pyproject.toml", "[tool.tox"),
        ],
    },
    BuildFileFamily {
        tool: "flake8",
        names: &[".flake8"],
        sections: &[("setup.cfg", "[flake8"), ("tox.ini", "[flake8")],
    },
    BuildFileFamily {
        tool: "coverage",
        names: &[".coveragerc", ".coveragerc.toml"],
        sections: &[
            ("setup.cfg", "[coverage:"),
            ("tox.ini", "[coverage:"),
            ("pyproject.toml", "[tool.coverage"),
        ],
    },
];

/// Whether a name belongs to a family. Names are compared exactly: `makefile` is not `Makefile`.
pub fn is_build_file(name: &str) -> bool {
    find_script_config(name).is_some()
        || FAMILIES.iter().any(|family| {
            family.names.contains(&name) || family.sections.iter().any(|(known, _)| *known == name)
        })
}

/// The other names of the families of this name: files that a tool may use in its place.
pub fn list_family_names(name: &str) -> Vec<String> {
    let families = FAMILIES.iter().filter(|family| {
        family.names.contains(&name) || family.sections.iter().any(|(known, _)| *known == name)
    });
    let shared = families.flat_map(|family| {
        family.names.iter().chain(family.sections.iter().map(|(known, _)| known))
    });
    let config = find_script_config(name);
    let bare = config.filter(|stem| stem.starts_with('.'));
    let scripts = config.into_iter().flat_map(|stem| {
        SCRIPT_EXTENSIONS.iter().map(move |extension| format!("{stem}.{extension}"))
    });
    let all = shared.chain(&bare).map(|known| (*known).to_owned()).chain(scripts);
    all.filter(|other| other != name).collect()
}

/// Whether a file of this name counts only with a certain content.
pub fn needs_content(name: &str) -> bool {
    FAMILIES.iter().any(|family| family.sections.iter().any(|(known, _)| *known == name))
}

/// A file that may belong to a family.
#[derive(Debug, Clone, Copy)]
pub struct BuildFile<'a> {
    /// Its name, without its folder.
    pub name: &'a str,
    /// Its content, if it is known; otherwise the file counts.
    pub content: Option<&'a [u8]>,
}

impl BuildFile<'_> {
    /// The tool that uses one of these two files of one folder and ignores the other, if there
    /// is one.
    pub fn find_shared_tool(self, other: Self) -> Option<&'static str> {
        if self.name == other.name {
            return None;
        }
        if let (Some(config), Some(other)) =
            (find_script_config(self.name), find_script_config(other.name))
            && config == other
        {
            return Some(config.trim_start_matches('.').split(['.', '-']).next().unwrap_or(config));
        }
        let families = FAMILIES.iter();
        let mut shared =
            families.filter(|family| self.is_member(family) && other.is_member(family));
        shared.next().map(|family| family.tool)
    }

    fn is_member(self, family: &BuildFileFamily) -> bool {
        let has_section = |(known, section): &(&str, &str)| {
            *known == self.name
                && self.content.is_none_or(|content| {
                    content.windows(section.len()).any(|part| part == section.as_bytes())
                })
        };
        family.names.contains(&self.name) || family.sections.iter().any(has_section)
    }
}

/// The configuration that is a program and has this name with any extension.
fn find_script_config(name: &str) -> Option<&'static str> {
    let is_stem = |stem: &&&str| {
        name.strip_prefix(**stem).is_some_and(|end| {
            end.is_empty() && stem.starts_with('.')
                || end.strip_prefix('.').is_some_and(|end| SCRIPT_EXTENSIONS.contains(&end))
        })
    };
    SCRIPT_CONFIGS.iter().find(is_stem).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_of_a_family_is_found_and_others_are_not() {
        let file = |name, content| BuildFile { name, content };
        let none: Option<&[u8]> = Some(b"");
        for (name, other, tool) in [
            ("makefile", "Makefile", Some("make")),
            ("Makefile", "Makefile", None),
            ("Makefile", "README.md", None),
            ("vite.config.js", "vite.config.ts", Some("vite")),
            ("vite.config.js", "vitest.config.ts", None),
            ("vite.config.local.js", "vite.config.js", None),
            ("eslint.config.js", ".eslintrc.json", Some("ESLint")),
            (".babelrc", ".babelrc.js", Some("babelrc")),
            (".prettierrc", "prettier.config.js", Some("Prettier")),
            ("build.gradle", "build.gradle.kts", Some("Gradle")),
            ("npm-shrinkwrap.json", "package-lock.json", Some("npm")),
            ("pytest.ini", "pyproject.toml", None),
        ] {
            let found = file(name, none).find_shared_tool(file(other, none));
            assert_eq!(found, tool, "{name} {other}");
        }
        let section: Option<&[u8]> = Some(b"[project]\n[tool.pytest.ini_options]\n");
        let found =
            |content| file("pytest.ini", none).find_shared_tool(file("pyproject.toml", content));
        assert_eq!(found(section), Some("pytest"));
        assert_eq!(found(None), Some("pytest"), "not known");
        for (name, other) in
            [("makefile", "Makefile"), (".babelrc.js", ".babelrc"), ("pytest.ini", "setup.cfg")]
        {
            assert!(list_family_names(name).contains(&other.to_owned()), "{name} {other}");
        }
        assert!(list_family_names("README.md").is_empty());
        for family in FAMILIES {
            assert!(family.names.iter().all(|name| is_build_file(name)), "{}", family.tool);
        }
    }
}
