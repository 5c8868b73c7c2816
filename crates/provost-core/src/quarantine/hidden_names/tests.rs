//! Which names that begin with a dot count as settings, and that those of popular tools do not.

use super::*;

fn is_unknown(path: &str) -> bool {
    let path = RelPath::new(path).unwrap();
    crate::action::protection_reason(&path).is_none() && unknown_name_reason(&path).is_some()
}

#[test]
fn names_that_nobody_thought_of_count_as_settings() {
    for path in [
        ".jedi/project.json",
        ".ropeproject/config.py",
        ".elixir_ls/build/x.beam",
        ".lsp/config.edn",
        ".phan/config.php",
        ".solargraph.yml",
        ".reviewboardrc",
        ".arcconfig",
        ".lazy.lua",
        ".luacheckrc",
        ".lintstagedrc",
        ".commitlintrc.js",
        ".replit",
        ".tern-project",
        ".projections.json",
        ".paket/Paket.Restore.targets",
        ".fvm/flutter_sdk",
        ".bundle/plugin/index",
        ".cargo/bin/rustc",
        ".config/something.toml",
        ".ghc.environment.x86_64-linux-9.4.7",
        ".profile",
        ".a-new-tool/x/y",
        "deep/er/.jedi/project.json",
        ".github/.jedi/project.json",
        ".jedi/build/x",
        ".Gitignore-not",
    ] {
        assert!(is_unknown(path), "{path}");
    }
}

/// What popular tools create, as of their current versions.
const TOOL_OUTPUTS: &[(&str, &[&str])] = &[
    ("git", &[".gitignore", "src/.gitkeep", ".gitattributes", ".mailmap"]),
    ("npm", &["node_modules/.package-lock.json", "node_modules/.bin/x", "node_modules/x/.npmrc"]),
    ("pnpm", &["node_modules/.pnpm/x", ".pnpm-store/v3/x", "node_modules/.modules.yaml"]),
    ("yarn", &[".yarn/cache/x.zip", ".yarn/install-state.gz", ".pnp.cjs", ".pnp.loader.mjs"]),
    ("next", &[".next/server/x.js", ".next/cache/.rscinfo", "next-env.d.ts"]),
    ("nuxt", &[".nuxt/types/x.d.ts", ".output/server/index.mjs", ".nitro/x"]),
    ("vite", &["node_modules/.vite/deps/x.js", "dist/.vite/manifest.json"]),
    ("svelte", &[".svelte-kit/generated/x.js", ".prettierrc", ".prettierignore"]),
    ("astro", &[".astro/types.d.ts"]),
    ("angular", &[".angular/cache/x", ".editorconfig"]),
    ("eslint", &[".eslintcache", ".eslintrc.json", ".eslintignore"]),
    ("nest", &[".prettierrc"]),
    ("turbo and nx", &[".turbo/x.log", ".nx/cache/x", ".nx/workspace-data/x"]),
    ("parcel", &[".parcel-cache/data.mdb"]),
    ("expo", &[".expo/devices.json"]),
    ("storybook", &[".storybook/main.ts"]),
    ("jest and nyc", &["coverage/.last-run.json", ".nyc_output/x.json"]),
    ("wrangler", &[".wrangler/state/x", ".dev.vars"]),
    ("cargo", &["target/.rustc_info.json", "target/debug/.cargo-lock", ".gitignore"]),
    ("sqlx", &[".sqlx/query-1.json"]),
    ("pytest", &[".pytest_cache/v/cache/lastfailed", ".coverage", ".coverage.host.1.x"]),
    ("mypy and ruff", &[".mypy_cache/3.12/x.json", ".ruff_cache/0.4/x", ".dmypy.json"]),
    ("venv", &[".venv/bin/python", ".venv/lib/python3.12/site-packages/x.pth"]),
    ("tox and nox", &[".tox/py/log/x", ".nox/tests/bin/x"]),
    ("setuptools", &[".eggs/README.txt", "build/lib/.x"]),
    ("jupyter", &[".ipynb_checkpoints/a.ipynb", ".virtual_documents/a", ".jupyter_ystore.db"]),
    ("hypothesis", &[".hypothesis/examples/x"]),
    ("gradle", &[".gradle/8.8/fileHashes/x.bin", ".kotlin/sessions/x", "build/tmp/.cache/x"]),
    ("android", &["app/.cxx/Debug/x", "app/.externalNativeBuild/x"]),
    ("maven", &["target/.plxarc"]),
    ("scala", &[".scala-build/x", ".scalafmt.conf"]),
    ("clojure", &[".cpcache/1.cp", ".nrepl-port", ".clj-kondo/.cache/x"]),
    ("terraform", &[".terraform/providers/x", ".terraform.lock.hcl", ".terraform/modules/.x"]),
    ("dotnet", &["obj/Debug/net8.0/.NETCoreApp,Version=v8.0.AssemblyAttributes.cs", "bin/x"]),
    ("swift", &[".build/debug/x", ".swiftpm/xcode/x"]),
    ("flutter", &[".dart_tool/package_config.json", ".metadata", ".flutter-plugins-dependencies"]),
    ("elixir", &["_build/dev/lib/a/.mix/compile.elixir", "deps/x/.hex", ".formatter.exs"]),
    ("rails", &[".dockerignore", ".rspec", "tmp/.keep", ".byebug_history"]),
    ("jekyll and hugo", &[".jekyll-cache/x", ".hugo_build.lock", ".sass-cache/x"]),
    ("phpunit", &[".phpunit.result.cache", ".phpunit.cache/test-results", ".php-cs-fixer.cache"]),
    ("cmake and ninja", &["build/.cmake/api/v1/x", ".ninja_log", ".ninja_deps", "x/.qt/x"]),
    ("automake", &["src/.deps/a.Po", "src/.libs/a.o", "src/.dirstamp"]),
    ("linux", &[".config", ".config.old", ".version", "kernel/.fork.o.cmd"]),
    ("zig, godot, platformio", &[".zig-cache/x", ".godot/x", ".pio/build/x"]),
    ("editors", &[".main.rs.swp", ".#main.rs", ".~lock.a.odt#", ".a.un~", ".DS_Store", "._a"]),
    ("temporary files", &[".tmpA1b2C3/x", ".tmp", ".nfs000000001", ".fuse_hidden0001"]),
    ("templates", &[".env.example", ".npmrc.sample"]),
    ("other version control", &[".svn/wc.db", ".hg/store/x", ".jj/repo/store/x"]),
    ("worktrees", &[".worktrees/a/src/x", ".worktrees/a/.gitignore"]),
    ("services", &[".github/CODEOWNERS", ".github/ISSUE_TEMPLATE/a.md", ".gitlab/x.md"]),
];

#[test]
fn what_popular_tools_create_is_harmless() {
    for (tool, paths) in TOOL_OUTPUTS {
        for path in *paths {
            assert!(!is_unknown(path), "{tool}: {path}");
        }
    }
}

#[test]
fn a_version_is_harmless_and_a_path_in_its_place_is_not() {
    use crate::action::protected_paths::{conditional_leftover_reason, leftover_reason};
    for (name, harmless, dangerous) in [
        (".python-version", "3.12\n", "./evil/bin/python\n"),
        (".node-version", "22.1.0", "../../evil"),
        (".nvmrc", "lts/iron\n", "../../evil"),
        (".rubocop.yml", "inherit_gem:\n  a: b.yml\n", "require: ./evil.rb\n"),
        (".clang-tidy", "Checks: '*'\n", "ExtraArgs: [-fplugin=x.so]\n"),
        ("global.json", "{\"sdk\":{\"version\":\"8.0.1\"}}", "{\"sdk\":{\"paths\":[\"x\"]}}"),
    ] {
        assert_eq!(leftover_reason(&[name], false), None, "{name}");
        assert!(!is_unknown(name), "{name}");
        assert_eq!(conditional_leftover_reason(name, harmless.as_bytes()), None, "{name}");
        assert!(conditional_leftover_reason(name, dangerous.as_bytes()).is_some(), "{name}");
    }
}

#[test]
fn each_harmless_name_is_listed_once_and_is_no_setting() {
    let mut all: Vec<_> = [FILES, PROJECT_FOLDERS, OUTPUT_FOLDERS].concat();
    all.sort_unstable();
    for pair in all.windows(2) {
        assert_ne!(pair[0], pair[1]);
    }
    for name in all {
        let reason = crate::action::protected_paths::leftover_reason(&[name], false);
        assert_eq!(reason, None, "{name}");
    }
}
