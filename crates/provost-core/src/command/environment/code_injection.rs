//! Variables that make programs run code that is not in the line.
//!
//! Such a variable names a file, a folder or a command, and whoever can write there decides what
//! runs. So a line that sets one is opaque, and an approval of it is valid once. Common values
//! that name nothing (`NODE_OPTIONS=--no-warnings`) are accepted.

/// How a variable or an option makes programs run code that is not in the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum CodeInjection {
    /// `BASH_ENV`, `PYTHONSTARTUP`.
    #[error("names code that runs before anything else does")]
    Startup,
    /// `PYTHONPATH`, `LD_LIBRARY_PATH`, `perl -I`.
    #[error("sets where programs load code from")]
    Modules,
    /// `LD_PRELOAD`, `NODE_OPTIONS=--require x`, `ruby -r`.
    #[error("has a program load other code first")]
    Preload,
    /// `PATH`, `JAVA_HOME`.
    #[error("says where programs are looked for, so that others of the same names may run")]
    Path,
    /// `PAGER`, `GIT_SSH_COMMAND`, `RUSTC_WRAPPER`.
    #[error("names a command that another program runs")]
    Command,
    /// `GIT_CONFIG_GLOBAL`, `HOME`, `git -c`.
    #[error("gives a program settings, which can name commands")]
    Settings,
}

/// Variables of one kind, and which of their values are harmless.
struct InjectionVariables {
    how: CodeInjection,
    /// In capitals. A `*` at the end or at the beginning matches any rest.
    names: &'static str,
    harmless: fn(&str) -> bool,
}

const INJECTION_VARIABLES: &[InjectionVariables] = &[
    InjectionVariables {
        how: CodeInjection::Path,
        names: "PATH",
        harmless: has_only_system_folders,
    },
    InjectionVariables {
        how: CodeInjection::Path,
        names: "JAVA_HOME JDK_HOME GOROOT DOTNET_ROOT RUSTUP_TOOLCHAIN GOTOOLDIR",
        harmless: |value| !value.contains(['/', '$']) || has_only_system_folders(value),
    },
    InjectionVariables { how: CodeInjection::Startup, names: "ENV", harmless: is_environment_name },
    InjectionVariables {
        how: CodeInjection::Startup,
        names: "BASH_ENV BASH_FUNC_* ZDOTDIR PYTHONSTARTUP PERL5DB LUA_INIT* R_PROFILE* R_ENVIRON* \
                BUNDLE_GEMFILE MAKEFILES CMAKE_TOOLCHAIN_FILE PSQLRC VIMINIT EXINIT GVIMINIT INPUTRC \
                GRADLE_USER_HOME",
        harmless: str::is_empty,
    },
    InjectionVariables {
        how: CodeInjection::Modules,
        names: "PYTHONPATH PYTHONHOME PYTHONUSERBASE PYTHONBREAKPOINT PYTHONPYCACHEPREFIX \
                PYTHONPLATLIBDIR PYTEST_PLUGINS PERL5LIB PERLLIB RUBYLIB GEM_HOME GEM_PATH BUNDLE_PATH \
                NODE_PATH CLASSPATH R_LIBS* LUA_PATH* LUA_CPATH* TCLLIBPATH ERL_LIBS OCAMLPATH \
                LD_LIBRARY_PATH DYLD_*PATH BASH_LOADABLES_PATH EMACSLOADPATH PKG_CONFIG_PATH \
                CMAKE_MODULE_PATH CMAKE_PREFIX_PATH *LIBRARY_PATH *LOAD_PATH *PLUGIN_PATH *MODULE_PATH \
                GCONV_PATH JULIA_DEPOT_PATH GUILE_LOAD_COMPILED_PATH GIO_EXTRA_MODULES",
        harmless: |value| value.is_empty() || has_only_system_folders(value),
    },
    InjectionVariables {
        how: CodeInjection::Modules,
        names: "PYTHONWARNINGS",
        harmless: is_python_warning_filter,
    },
    InjectionVariables {
        how: CodeInjection::Preload,
        names: "LD_* DYLD_* *PRELOAD NODE_REPL_EXTERNAL_MODULE OPENSSL_CONF OPENSSL_MODULES \
                OPENSSL_ENGINES GTK_MODULES DOTNET_STARTUP_HOOKS DOTNET_ADDITIONAL_DEPS \
                DOTNET_SHARED_STORE CORECLR_PROFILER* CORECLR_ENABLE_PROFILING",
        harmless: str::is_empty,
    },
    InjectionVariables {
        how: CodeInjection::Preload,
        names: "NODE_OPTIONS",
        harmless: |it| all_words_match(it, is_harmless_node_flag),
    },
    InjectionVariables {
        how: CodeInjection::Preload,
        names: "PERL5OPT RUBYOPT",
        harmless: |it| {
            all_words_match(it, |word| {
                matches!(word, "-w" | "-W" | "-W0" | "-W1" | "-W2" | "--yjit")
            })
        },
    },
    InjectionVariables {
        how: CodeInjection::Preload,
        names: "JAVA_TOOL_OPTIONS _JAVA_OPTIONS JDK_JAVA_OPTIONS JAVA_OPTS MAVEN_OPTS MAVEN_ARGS \
                GRADLE_OPTS SBT_OPTS ANT_OPTS CATALINA_OPTS JVM_OPTS",
        harmless: |it| all_words_match(it, is_harmless_jvm_flag),
    },
    InjectionVariables {
        how: CodeInjection::Settings,
        names: "GIT_CONFIG* GIT_EXEC_PATH GIT_DIR GIT_COMMON_DIR GIT_TEMPLATE_DIR GIT_ALLOW_PROTOCOL \
                HOME XDG_CONFIG_HOME XDG_CONFIG_DIRS XDG_DATA_DIRS CARGO_HOME RUSTUP_HOME PHPRC \
                PHP_INI_SCAN_DIR GOENV TAR_OPTIONS ZIPOPT RIPGREP_CONFIG_PATH WGETRC CURL_HOME \
                AWS_CONFIG_FILE AWS_SHARED_CREDENTIALS_FILE KUBECONFIG HGRCPATH DOCKER_CONFIG \
                ANSIBLE_CONFIG PIP_CONFIG_FILE PIP_PYTHON UV_CONFIG_FILE UV_PYTHON SHELLOPTS BASHOPTS \
                YARN_RC_FILENAME YARN_YARN_PATH YARN_PLUGINS* GLIBC_TUNABLES TS_NODE_COMPILER TS_NODE_PROJECT TS_NODE_DIR GNUPGHOME \
                COREPACK_ROOT ERL_FLAGS ERL_AFLAGS ERL_ZFLAGS ELIXIR_ERL_OPTIONS",
        harmless: str::is_empty,
    },
    InjectionVariables {
        how: CodeInjection::Settings,
        names: "MAKEFLAGS MFLAGS GNUMAKEFLAGS",
        harmless: |it| all_words_match(it, is_harmless_make_flag),
    },
    InjectionVariables {
        how: CodeInjection::Settings,
        names: "PYTEST_ADDOPTS",
        harmless: |it| all_words_match(it, is_harmless_pytest_flag),
    },
    InjectionVariables {
        how: CodeInjection::Settings,
        names: "GOFLAGS",
        harmless: |it| all_words_match(it, is_harmless_go_flag),
    },
    InjectionVariables {
        how: CodeInjection::Settings,
        names: "*RUSTFLAGS *RUSTDOCFLAGS",
        harmless: are_harmless_rust_flags,
    },
    InjectionVariables {
        how: CodeInjection::Settings,
        names: "*CFLAGS *CXXFLAGS *CPPFLAGS *LDFLAGS LDLIBS *FFLAGS",
        harmless: are_harmless_c_flags,
    },
    InjectionVariables {
        how: CodeInjection::Settings,
        names: "CARGO_BUILD_TARGET",
        harmless: |it| !it.contains(['/', '.', '$']),
    },
];

/// Parts of the names of `npm` settings that name code, without `npm_config_`.
const NPM_CODE_SETTINGS: &[&str] = &[
    "SCRIPT",
    "SHELL",
    "NODE_OPTIONS",
    "CONFIG",
    "GIT",
    "EDITOR",
    "VIEWER",
    "BROWSER",
    "PREFIX",
    "GYP",
    "PYTHON",
    "ONLOAD",
    "MODULE",
    "CALL",
    "REQUIRE",
];

/// How this variable makes code run, if it does. The name is in capitals; an unknown `value` is
/// as written.
pub(crate) fn find_code_injection(name: &str, value: Option<&str>) -> Option<CodeInjection> {
    if let Some(setting) = name.strip_prefix("NPM_CONFIG_").or(name.strip_prefix("PNPM_CONFIG_")) {
        let names_code = NPM_CODE_SETTINGS.iter().any(|part| setting.contains(part));
        return (names_code && setting != "IGNORE_SCRIPTS").then_some(CodeInjection::Settings);
    }
    let known = |row: &&InjectionVariables| {
        row.names.split_ascii_whitespace().any(|known| matches_variable_name(known, name))
    };
    let row = INJECTION_VARIABLES.iter().find(known)?;
    let harmless = value.is_some_and(row.harmless);
    (!harmless).then_some(row.how)
}

fn matches_variable_name(known: &str, name: &str) -> bool {
    match (known.strip_prefix('*'), known.split_once('*')) {
        (Some(end), _) => name.ends_with(end),
        (None, Some((start, end))) => name.starts_with(start) && name.ends_with(end),
        (None, None) => name == known,
    }
}

fn all_words_match(value: &str, is_harmless: fn(&str) -> bool) -> bool {
    value.split_ascii_whitespace().all(is_harmless)
}

/// Whether the value has only system folders and the previous path.
fn has_only_system_folders(value: &str) -> bool {
    const FOLDERS: [&str; 6] = ["/usr/", "/bin/", "/sbin/", "/opt/", "/snap/", "/nix/store/"];
    // The value is as written: `"$PATH:/usr/bin"`.
    let value = value.replace('"', "");
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._+-".contains(c);
    value.split(':').all(|folder| {
        let at = format!("{folder}/");
        matches!(folder, "$PATH" | "${PATH}")
            || FOLDERS.iter().any(|known| at.starts_with(known))
                && !at.contains("/../")
                && folder.chars().all(plain)
    })
}

/// `ENV=test`: only interactive shells run a file of that name.
fn is_environment_name(value: &str) -> bool {
    const KINDS: [&str; 13] = [
        "",
        "test",
        "testing",
        "dev",
        "development",
        "prod",
        "production",
        "stage",
        "staging",
        "local",
        "ci",
        "debug",
        "release",
    ];
    KINDS.contains(&value)
}

/// `ignore`, `error::DeprecationWarning`: Python imports a category that contains a dot.
pub(crate) fn is_python_warning_filter(value: &str) -> bool {
    value.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, ':' | ',' | '_' | ' '))
}

/// Options of node that change output or resource limits.
pub(crate) fn is_harmless_node_flag(word: &str) -> bool {
    const FLAGS: &str = "--no-warnings --trace-warnings --trace-deprecation --no-deprecation \
        --throw-deprecation --trace-uncaught --enable-source-maps --experimental-vm-modules \
        --experimental-strip-types --experimental-transform-types --experimental-global-webcrypto \
        --experimental-fetch --openssl-legacy-provider --preserve-symlinks --expose-gc --use-openssl-ca \
        --experimental-specifier-resolution=node --experimental-json-modules --watch-preserve-output \
        --experimental-test-coverage --test-only --test-force-exit --no-experimental-strip-types";
    const VALUED: &str = "--max-old-space-size --max_old_space_size --max-semi-space-size \
        --max-http-header-size --stack-size --stack-trace-limit --unhandled-rejections \
        --dns-result-order --disable-warning --test-concurrency --test-timeout --test-name-pattern \
        --test-skip-pattern --watch-path --input-type --tls-min-v1.2 --v8-pool-size --secure-heap";
    let (name, value) = word.split_once('=').unwrap_or((word, ""));
    FLAGS.split_ascii_whitespace().any(|known| known == word)
        || !value.is_empty() && VALUED.split_ascii_whitespace().any(|known| known == name)
}

/// Memory limits: `-Xmx2g`.
fn is_harmless_jvm_flag(word: &str) -> bool {
    let size = ["-Xmx", "-Xms", "-Xss"].iter().find_map(|start| word.strip_prefix(start));
    size.is_some_and(|size| size.bytes().all(|byte| byte.is_ascii_alphanumeric()))
        || word == "-Dfile.encoding=UTF-8"
}

/// Parallelism and error handling: `-j4`, `-k`.
fn is_harmless_make_flag(word: &str) -> bool {
    let jobs = word.strip_prefix("-j").or(word.strip_prefix("--jobs="));
    jobs.is_some_and(|jobs| jobs.bytes().all(|byte| byte.is_ascii_digit()))
        || matches!(word, "-k" | "-s" | "-B" | "--no-print-directory" | "--silent" | "--keep-going")
}

/// Output and error handling.
fn is_harmless_pytest_flag(word: &str) -> bool {
    let valued = ["--tb=", "--color=", "--maxfail=", "--durations="];
    matches!(word, "-q" | "-qq" | "-v" | "-vv" | "-x" | "-s" | "-ra" | "-rA" | "--lf" | "--ff")
        || valued.iter().any(|start| word.starts_with(start))
}

fn is_harmless_go_flag(word: &str) -> bool {
    let valued = ["-mod=", "-tags=", "-count=", "-buildvcs=", "-p=", "-timeout="];
    matches!(word, "-v" | "-race" | "-trimpath" | "-x")
        || valued.iter().any(|start| word.starts_with(start))
}

/// All but those that name a linker, a library or a plugin of the compiler.
fn are_harmless_rust_flags(value: &str) -> bool {
    const NAMING: [&str; 9] =
        ["link", "-Z", "@", "backend", "sysroot", "-L", "extern", "plugin", "$"];
    !NAMING.iter().any(|part| value.contains(part))
}

fn are_harmless_c_flags(value: &str) -> bool {
    const NAMING: [&str; 9] =
        ["plugin", "wrapper", "specs", "-B", "@", "-fuse-ld", "-Xclang", "-load", "$"];
    !NAMING.iter().any(|part| value.contains(part))
}
