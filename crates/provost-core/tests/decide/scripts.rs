//! Which files an approval pins: approve `sh build.sh`, then edit it (THREATS 26).

use super::*;
use provost_core::action::RelPath;

const ROOT: &str = "/home/ann/app";

#[track_caller]
fn pins(action: Action, expected: &[&str]) {
    let what = action.describe();
    let found = requested(action).script_paths(ROOT);
    for path in expected {
        assert!(found.iter().any(|found| found.as_str() == *path), "{what}: {found:?}");
    }
    if expected.is_empty() {
        assert!(found.is_empty(), "{what}: {found:?}");
    }
}

#[test]
fn what_runs_is_pinned_however_it_is_named() {
    for (command, script) in [
        ("sh build.sh", "build.sh"),
        ("sh -x build.sh", "build.sh"),
        ("bash -- build.sh", "build.sh"),
        ("bash -eux ./build.sh arg", "build.sh"),
        ("/bin/sh build.sh", "build.sh"),
        ("./build.sh", "build.sh"),
        ("tools/build", "tools/build"),
        (". ./env.sh", "env.sh"),
        ("source env.sh", "env.sh"),
        ("cd web && sh ../build.sh", "build.sh"),
        ("cd web; ./x", "web/x"),
        ("sh a/../build.sh", "build.sh"),
        ("sh .//build.sh", "build.sh"),
        ("sh /home/ann/app/build.sh", "build.sh"),
        ("/home/ann/app/web/../build.sh", "build.sh"),
        ("cd /home/ann/app/web && sh ../build.sh", "build.sh"),
        ("sh ../app/build.sh", "build.sh"),
        ("python3.12 run.py", "run.py"),
        ("node --require ./hook.js main.js", "hook.js"),
        ("node --require=./hook.js main.js", "hook.js"),
        ("java -jar app.jar", "app.jar"),
        ("make -f other.mk", "other.mk"),
        ("make -fother.mk", "other.mk"),
        ("make --file=other.mk", "other.mk"),
        ("make -C web", "web/Makefile"),
        ("npm run build", "package.json"),
        ("npm --prefix web run build", "web/package.json"),
        ("just build", "justfile"),
        ("cargo test --manifest-path=x/Cargo.toml", "x/Cargo.toml"),
        ("env A=1 timeout 5 sh build.sh", "build.sh"),
        ("nohup ./build.sh", "build.sh"),
        ("sh -c 'sh build.sh'", "build.sh"),
        ("bash < build.sh", "build.sh"),
        ("cat build.sh | bash", "build.sh"),
        ("eval \"$(cat build.sh)\"", "build.sh"),
        ("true && { sh build.sh; }", "build.sh"),
    ] {
        pins(line(command), &[script]);
    }
    pins(run(json!({ "argv": ["sh", "build.sh"], "cwd": "web" })), &["web/build.sh"]);
    pins(run(json!({ "argv": ["sh", "../build.sh"], "cwd": "web" })), &["build.sh"]);
}

#[test]
fn what_runs_is_pinned_by_its_module_manifest_or_entry_too() {
    for (command, script) in [
        ("python3 -m pkg", "pkg/__main__.py"),
        ("python3 -m pkg", "pkg.py"),
        ("python3 -mpkg.tool", "pkg/tool.py"),
        ("python3 -m pkg.tool", "pkg/__init__.py"),
        ("python3 -m pytest tests/a.py", "tests/a.py"),
        ("python3 -m pytest", "conftest.py"),
        ("python3 tool", "tool/__main__.py"),
        ("node .", "package.json"),
        ("node .", "index.js"),
        ("node lib", "lib/index.js"),
        ("node lib/run", "lib/run.js"),
        ("env -C web sh x.sh", "web/x.sh"),
        ("env --chdir=web A=1 ./x.sh", "web/x.sh"),
        ("sed -f x.sed a.txt", "x.sed"),
        ("sed -nf x.sed a.txt", "x.sed"),
        ("awk -f x.awk a.txt", "x.awk"),
        ("prove t/a.t", "t/a.t"),
        ("bats a.bats", "a.bats"),
        ("mocha test/a.js", "test/a.js"),
        ("jest test/a.js", "jest.config.js"),
        ("pytest tests/a.py::test_x", "tests/a.py"),
        ("npm test -C web", "web/package.json"),
        ("npm test --prefix web", "web/package.json"),
        ("cargo run", "src/main.rs"),
    ] {
        pins(line(command), &[script]);
    }
}

#[test]
fn what_is_only_data_or_lies_elsewhere_is_not() {
    for command in ["cat notes.txt", "ls -la src", "/usr/bin/ls", "git add a", "/home/ann/apple/x"]
    {
        pins(line(command), &[]);
    }
}

#[test]
fn what_is_run_is_told_from_what_is_only_named() {
    let pin = |path: &str| provost_proto::PinnedFile { path: path.to_owned(), hash: Hash::ZERO };
    let pins = ["build.sh", "gen.py", "out.json", "package.json", "tools/x"].map(pin);
    for (command, expected) in [
        ("sh build.sh", &["build.sh"][..]),
        ("sh -x ./build.sh out.json", &["build.sh"]),
        ("python3 gen.py out.json", &["gen.py"]),
        ("cd tools && ./x ../out.json", &["tools/x"]),
        ("sh build.sh && tools/x", &["build.sh", "tools/x"]),
        // These write their own configuration.
        ("npm install left-pad", &[]),
        ("sed -i s/a/b/ build.sh", &[]),
    ] {
        assert_eq!(requested(line(command)).pinned_programs(ROOT, &pins), expected, "{command}");
    }
}

#[test]
fn a_file_that_says_what_to_fetch_or_to_run_is_pinned() {
    for (command, file) in [
        ("curl -s -K req.cfg", "req.cfg"),
        ("curl --config=req.cfg", "req.cfg"),
        ("wget -q -O - -i urls.txt", "urls.txt"),
        ("xargs -a urls.txt curl -s", "urls.txt"),
        ("xargs --arg-file=urls.txt curl -s", "urls.txt"),
        ("cat urls.txt | xargs curl -s", "urls.txt"),
        ("vim -es -S edit.vim +qa!", "edit.vim"),
        ("ssh -F ssh.cfg host", "ssh.cfg"),
    ] {
        pins(line(command), &[file]);
    }
}

#[test]
fn files_of_addresses_are_told_from_other_files() {
    for (command, expected) in [
        ("curl -s -K req.cfg -o page.html", &["req.cfg"][..]),
        ("curl -sSKreq.cfg", &["req.cfg"]),
        ("curl --config=req.cfg https://a.example", &["req.cfg"]),
        ("curl --conf req.cfg", &["req.cfg"]),
        ("cd sub && wget -qi urls.txt -O out.html", &["sub/urls.txt"]),
        ("wget --input-file=urls.txt", &["urls.txt"]),
        ("cat urls.txt | xargs curl -s", &["urls.txt"]),
        ("curl -K - < req.cfg", &["req.cfg"]),
        ("xargs --arg-file=urls.txt curl -s", &["urls.txt"]),
        ("curl -o page.html https://a.example", &[]),
        ("cat urls.txt", &[]),
    ] {
        let found = requested(line(command)).address_lists(ROOT);
        for path in expected {
            assert!(found.iter().any(|found| found.as_str() == *path), "{command}: {found:?}");
        }
        assert!(!expected.is_empty() || found.is_empty(), "{command}: {found:?}");
        assert!(found.iter().all(|path| !path.as_str().ends_with("html")), "{command}");
    }
}

#[test]
fn hosts_are_found_in_files_of_addresses() {
    let text = "# mine\nurl = \"https://u:p@Evil.example:8080/x\"\nproxy=proxy.example:3128\n\
                url=http://[::1]/\nhttps://a.example/?u=http://b.example\nc.example/x\n-o out\n\
                http://a.example\n";
    let found = provost_core::command::find_hosts_in_text(text);
    let expected = ["evil.example", "proxy.example", "::1", "a.example", "b.example", "c.example"];
    assert_eq!(found, expected);
}

#[test]
fn where_what_runs_is_not_pinned_it_is_said() {
    let pins = [pin("build.sh", "x"), pin("package.json", "x"), pin("tests/a.py", "x")];
    for command in [
        "sh b*.sh",
        "sh $F",
        "F=b.sh; sh $F",
        "sh -x $F",
        "python3 $F",
        "find . -name '*.sh' -exec sh {} ';'",
        "pytest",
        "pytest -q tests",
        "python3 -m pytest",
        "python3 -m unittest",
        "bats .",
        "prove -r",
    ] {
        let reason = requested(line(command)).unpinned_reason(ROOT, &pins);
        assert!(reason.is_some(), "{command}");
    }
    for command in ["curl x | sh", "echo x | bash", "$(echo ls)"] {
        let reason = requested(line(command)).unpinned_reason(ROOT, &[]);
        assert!(reason.is_some(), "{command}");
    }
    for command in [
        "sh build.sh $X",
        "cat build.sh | bash",
        "npm test",
        "npm run $X",
        "pytest tests/a.py",
        "python3 -m pytest tests/a.py::test_x",
        "ls *.sh",
        "cat $X",
        "git status",
    ] {
        assert_eq!(requested(line(command)).unpinned_reason(ROOT, &pins), None, "{command}");
    }
}

#[test]
fn a_manifest_says_which_file_node_runs() {
    let found = |command: &str| requested(line(command)).manifests(ROOT);
    assert_eq!(found("node ."), [RelPath::new("package.json").unwrap()]);
    assert_eq!(found("cd web && node --test ."), [RelPath::new("web/package.json").unwrap()]);
    assert!(found("npm test").is_empty());
}
