//! Variables and options that run code that is not in the line: they need an approval each time,
//! and the files that they name are pinned.

use super::*;

const ROOT: &str = "/home/ann/app";

fn builtin() -> PolicyRules {
    PolicyRules::new(Policy::builtin().unwrap(), Policy::empty(RuleLayer::User), None)
}

/// Lines, and the file of the project that each of them runs.
const LOADING: &[(&str, Option<&str>)] = &[
    ("BASH_ENV=x.sh bash build.sh", Some("x.sh")),
    ("env BASH_ENV=x.sh bash build.sh", Some("x.sh")),
    ("export BASH_ENV=x.sh; bash build.sh", Some("x.sh")),
    ("export BASH_ENV=x.sh && cd web && bash build.sh", Some("x.sh")),
    ("BASH_ENV=x.sh; export BASH_ENV; bash build.sh", Some("x.sh")),
    ("declare -x BASH_ENV=x.sh; bash build.sh", Some("x.sh")),
    ("bash -c 'BASH_ENV=x.sh bash build.sh'", Some("x.sh")),
    ("X=BASH_ENV=x.sh; export $X; bash build.sh", None),
    ("ENV=./x.sh sh build.sh", Some("x.sh")),
    ("env 'BASH_FUNC_ls%%=() { id; }' bash -c ls", None),
    ("NODE_OPTIONS='--require ./x.js' npm test", Some("x.js")),
    ("NODE_OPTIONS='--require ./x' node a.js", Some("x.js")),
    ("NODE_OPTIONS=--import=./x.mjs node a.js", Some("x.mjs")),
    ("NODE_OPTIONS=$X node a.js", None),
    ("PYTHONSTARTUP=x.py python3 a.py", Some("x.py")),
    ("PYTHONPATH=. python3 a.py", None),
    ("PYTHONPATH=lib python3 -m pkg", None),
    ("PYTHONWARNINGS=ignore::x.Y python3 a.py", None),
    ("PERL5OPT=-Mx perl a.pl", None),
    ("PERL5LIB=lib perl a.pl", None),
    ("RUBYOPT=-r./x.rb ruby a.rb", Some("x.rb")),
    ("RUBYLIB=lib ruby a.rb", None),
    ("LD_PRELOAD=./x.so ls", Some("x.so")),
    ("LD_LIBRARY_PATH=. ls", None),
    ("LD_AUDIT=x.so ls", Some("x.so")),
    ("PATH=.:$PATH cmd", Some("cmd")),
    ("PATH=bin:$PATH make", Some("bin/make")),
    ("export PATH=\"$PWD/bin:$PATH\"; make", None),
    ("export PATH+=:.; cmd", None),
    ("PATH=$PATH: cmd", None),
    ("for PATH in bin; do cmd; done", None),
    ("GIT_SSH_COMMAND=./x git fetch", Some("x")),
    ("GIT_EXTERNAL_DIFF=./x git diff", Some("x")),
    ("GIT_PAGER=./x git log", Some("x")),
    ("PAGER='sh x.sh' git log", Some("x.sh")),
    ("EDITOR=./x git commit", Some("x")),
    ("EDITOR=unheard-of git commit", None),
    ("GIT_CONFIG_GLOBAL=x git status", Some("x")),
    ("GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=core.pager GIT_CONFIG_VALUE_0=./x git log", Some("x")),
    ("HOME=. git status", None),
    ("git -c core.pager=./x log", Some("x")),
    ("git -c core.sshCommand=./x fetch", Some("x")),
    ("git -c core.fsmonitor=./x status", Some("x")),
    ("git -c core.hooksPath=hooks commit -m x", None),
    ("git -c alias.x='!./x' x", None),
    ("git -c diff.external=./x diff", Some("x")),
    ("git -c credential.helper=./x fetch", Some("x")),
    ("git -c filter.a.clean=./x add .", Some("x")),
    ("git -c \"$X\" log", None),
    ("git -C web -c core.pager=./x log", None),
    ("git --exec-path=bin status", None),
    ("perl -Ilib a.pl", None),
    ("perl -I lib a.pl", None),
    ("perl -MX a.pl", None),
    ("perl -wMX a.pl", None),
    ("ruby -r ./x a.rb", Some("x.rb")),
    ("ruby -r./x.rb a.rb", Some("x.rb")),
    ("ruby -Ilib a.rb", None),
    ("node -r ./x.js a.js", Some("x.js")),
    ("node --import ./x.mjs a.js", Some("x.mjs")),
    ("node --loader=./x.mjs a.js", Some("x.mjs")),
    ("node --env-file=x.env a.js", Some("x.env")),
    ("python3 -W ignore::x.Y a.py", None),
    ("python3 -X pycache_prefix=x a.py", None),
    ("java -javaagent:x.jar -jar a.jar", Some("x.jar")),
    ("java -agentpath:./x.so Main", Some("x.so")),
    ("JAVA_TOOL_OPTIONS=-javaagent:x.jar mvn test", Some("x.jar")),
    ("php -d auto_prepend_file=x.php a.php", Some("x.php")),
    ("lua -l x a.lua", None),
    ("/lib64/ld-linux-x86-64.so.2 --preload ./x.so /bin/ls", Some("x.so")),
    ("RUSTC_WRAPPER=./x cargo build", Some("x")),
    ("CARGO_BUILD_RUSTC_WRAPPER=./x cargo build", Some("x")),
    ("CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER=./x cargo test", Some("x")),
    ("RUSTFLAGS='-C linker=./x' cargo build", Some("x")),
    ("CC=./x make", Some("x")),
    ("make CC=./x", Some("x")),
    ("CC='gcc -fplugin=./x.so' make", Some("x.so")),
    ("CGO_CFLAGS=-fplugin=./x.so go build", Some("x.so")),
    ("make SHELL=./x", Some("x")),
    ("MAKEFLAGS=--eval=x make", None),
    ("MAKEFILES=x.mk make", Some("x.mk")),
    ("npm_config_script_shell=./x npm test", Some("x")),
    ("npm_config_node_options='--require ./x.js' npm test", Some("x.js")),
    ("PYTEST_ADDOPTS='-p x' pytest", Some("x.py")),
    ("RIPGREP_CONFIG_PATH=x rg a", Some("x")),
    ("TAR_OPTIONS=--to-command=./x tar xf a.tar", Some("x")),
];

#[test]
fn what_has_other_code_run_is_asked_about_in_words_once_and_pinned() {
    let builtin = builtin();
    for (command, file) in LOADING {
        let bound = requested(line(command));
        let scripts = bound.script_paths(ROOT);
        if let Some(file) = file {
            assert!(scripts.iter().any(|it| it.as_str() == *file), "{command}: {scripts:?}");
        }
        let pins: Vec<PinnedFile> = scripts.iter().map(|path| pin(path.as_str(), "x")).collect();
        assert!(bound.unpinned_reason(ROOT, &pins).is_some(), "an answer holds once: {command}");
        for mode in [ProjectMode::Sandbox, ProjectMode::Auto] {
            match decide(
                bound.clone(),
                ActingRole::Trusted(&able()),
                &policy_context(&builtin, mode),
            ) {
                Decision::RequireApproval(asking) => {
                    assert!(asking.gate.is_none(), "no hard gate: {command}");
                }
                Decision::Allow(_) | Decision::Deny(_) => panic!("{mode:?}: {command}"),
            }
        }
    }
}

#[test]
fn the_question_says_what_a_variable_does() {
    for (command, words) in [
        (
            "BASH_ENV=x.sh bash a.sh",
            "`BASH_ENV=x.sh` names code that runs before anything else does",
        ),
        ("PYTHONPATH=. python3 a.py", "`PYTHONPATH=.` sets where programs load code from"),
        ("ruby -r ./x a.rb", "`-r ./x` has a program load other code first"),
        (
            "PATH=.:/bin cmd",
            "`PATH=.:/bin` says where programs are looked for, so that others of the same names may run",
        ),
        ("PAGER=./x git log", "`PAGER=./x` names a command that another program runs"),
        (
            "git -c core.pager=./x log",
            "`-c core.pager=./x` gives a program settings, which can name commands",
        ),
    ] {
        let Decision::RequireApproval(asking) = in_mode(ProjectMode::Auto, line(command)) else {
            panic!("{command}")
        };
        assert_eq!(asking.why, format!("which programs it runs cannot be read: {words}"));
        let bound = asking.bound_action();
        assert_eq!(bound.unpinned_reason(ROOT, &[]).as_deref(), Some(words), "{command}");
    }
}

#[test]
fn variables_of_a_request_are_judged_like_those_of_a_line() {
    for (name, value, file) in [
        ("NODE_OPTIONS", "--require ./x.js", Some("x.js")),
        ("PYTHONPATH", ".", None),
        ("PAGER", "./x", Some("x")),
        ("RUBYOPT", "-r./x.rb", Some("x.rb")),
        ("HOME", ".", None),
    ] {
        let action = || run(json!({ "command": "make", "env": { name: value } }));
        let bound = requested(action());
        assert!(bound.unpinned_reason(ROOT, &[]).is_some(), "{name}");
        let scripts = bound.script_paths(ROOT);
        if let Some(file) = file {
            assert!(scripts.iter().any(|it| it.as_str() == file), "{name}: {scripts:?}");
        }
        assert_eq!(word(&in_mode(ProjectMode::Auto, action())), "ask", "{name}");
    }
    let action = run(json!({ "command": "make", "env": { "NODE_ENV": "test", "CC": "gcc" } }));
    assert_eq!(word(&in_mode(ProjectMode::Auto, action)), "allow mode");
}

#[test]
fn many_other_reasons_do_not_crowd_out_what_is_loaded() {
    let many: Vec<String> = (0..40).map(|n| format!("echo $a{n}")).collect();
    let command = format!("{}; BASH_ENV=x.sh bash build.sh", many.join("; "));
    assert!(requested(line(&command)).unpinned_reason(ROOT, &[pin("build.sh", "x")]).is_some());
}

#[test]
fn in_mode_auto_values_that_name_no_code_are_not_asked_about() {
    let builtin = builtin();
    for command in [
        "NODE_OPTIONS=--max-old-space-size=4096 npm run build",
        "NODE_OPTIONS='--no-warnings --enable-source-maps' node a.js",
        "NODE_ENV=production npm run build",
        "ENV=test npm test",
        "PATH=/usr/local/go/bin:$PATH go build",
        "export PATH=\"$PATH:/usr/local/bin\"; make",
        "PATH=/opt/x/bin:$PATH; export PATH; make",
        "MAKEFLAGS=-j4 make",
        "make CC=gcc -j4",
        "make SHELL=/bin/bash",
        "CC=clang CXX=clang++ make",
        "PYTHON=python3.11 make",
        "RUSTC_WRAPPER=sccache cargo build",
        "RUSTFLAGS='-D warnings' cargo build",
        "CFLAGS=-O2 make",
        "GIT_PAGER=cat git log",
        "PAGER= git log",
        "GIT_EDITOR=true git commit --amend",
        "git -c core.pager=cat log",
        "git -c user.name=x -c user.email=y commit -m z",
        "git -c color.ui=always diff",
        "LD_PRELOAD= ls",
        "unset NODE_OPTIONS; node a.js",
        "PYTHONWARNINGS=ignore python3 a.py",
        "PYTHONUNBUFFERED=1 python3 a.py",
        "RUST_BACKTRACE=1 cargo test",
        "SLACK_WEBHOOK=https://example.com/x npm test",
        "npm_config_loglevel=silent npm ci",
        "BROWSER=none npm start",
        "LD_LIBRARY_PATH=/usr/local/lib ./x",
        "TS_NODE_TRANSPILE_ONLY=1 npm test",
        "java -jar a.jar",
        "java -Xmx2g -cp build Main",
    ] {
        let decision = decide(
            requested(line(command)),
            ActingRole::Trusted(&able()),
            &policy_context(&builtin, ProjectMode::Auto),
        );
        assert_eq!(word(&decision), "allow mode", "{command}");
        assert_eq!(requested(line(command)).unpinned_reason(ROOT, &[]), None, "{command}");
    }
}
