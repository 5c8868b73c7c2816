//! Links, pipes, devices, permissions: nothing leaves the project and nothing hangs.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::net::UnixListener;

use provost_proto::Code;
use provost_sandbox::root_dir::RootDir;
use serde_json::{Value, json};

use crate::{Project, as_nobody, run};

/// Every action that accesses a path, reading and writing.
fn every_action(path: &str) -> Vec<(&'static str, Value)> {
    let edits = json!([{"old": "SECRET", "new": "x"}]);
    let diff = format!("--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-SECRET\n+x\n");
    vec![
        ("fs.readFile", json!({"path": path})),
        ("fs.readFile", json!({"path": path, "startLine": 1})),
        ("fs.writeFile", json!({"path": path, "content": "x"})),
        ("fs.writeFile", json!({"path": path, "content": "x", "mode": "create"})),
        ("fs.writeFile", json!({"path": path, "content": "x", "mode": "append"})),
        ("fs.editFile", json!({"path": path, "edits": edits})),
        ("fs.applyPatch", json!({"patch": diff})),
        ("fs.listFiles", json!({"path": path})),
        ("fs.searchFiles", json!({"path": path, "pattern": "SECRET"})),
        ("fs.createDir", json!({"path": path})),
    ]
}

/// All content of the folder outside.
fn outside(project: &Project) -> Vec<(String, Vec<u8>)> {
    let mut found: Vec<_> = fs::read_dir(&project.outside)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| (path.display().to_string(), fs::read(&path).unwrap_or_default()))
        .collect();
    found.sort();
    found
}

#[test]
fn no_link_leads_out() {
    let project = Project::with(&[("d/", "")]);
    symlink(project.outside.join("secret"), project.at("file")).unwrap();
    symlink(&project.outside, project.at("folder")).unwrap();
    symlink("../outside", project.at("relative")).unwrap();
    symlink("../../outside/secret", project.at("d/up")).unwrap();
    symlink(project.outside.join("new"), project.at("dangling")).unwrap();
    symlink("/proc/self/root", project.at("proc")).unwrap();
    symlink("loop", project.at("loop")).unwrap();
    let before = outside(&project);
    let proc = format!("proc{}", project.outside.join("secret").display());
    for path in [
        "file",
        "folder",
        "folder/secret",
        "folder/new",
        "folder/new/deeper",
        "relative/secret",
        "d/up",
        "dangling",
        &proc,
        "loop",
        "loop/x",
    ] {
        for (name, params) in every_action(path) {
            let outcome = project.attempt(name, params.clone());
            assert!(outcome.is_err(), "{name} {params}: {outcome:?}");
            let message = outcome.unwrap_err().to_string();
            assert!(!message.contains("SECRET"), "{message}");
        }
        for target in ["folder/moved", "relative/moved"] {
            let moved = project.attempt("fs.moveFile", json!({"from": "d", "to": target}));
            assert_eq!(moved.unwrap_err().code, Code::OutsideProject);
        }
    }
    assert_eq!(outside(&project), before);
}

#[test]
fn walking_does_not_follow_links() {
    let project = Project::with(&[("a/f", "SECRET\n")]);
    symlink(&project.outside, project.at("out")).unwrap();
    symlink("../a", project.at("a/self")).unwrap();
    symlink(project.outside.join("secret"), project.at("a/secret")).unwrap();
    let found = project.done("fs.searchFiles", json!({"pattern": "SECRET"}));
    assert_eq!(found["matches"].as_array().unwrap().len(), 1, "{found}");
    let listed = project.done("fs.listFiles", json!({"depth": 64}));
    assert_eq!(listed["entries"].as_array().unwrap().len(), 5, "{listed}");
}

#[test]
fn rules_to_ignore_are_not_read_from_outside() {
    let project = Project::with(&[("f", "x\n")]);
    fs::write(project.outside.join("rules"), "f\n").unwrap();
    symlink(project.outside.join("rules"), project.at(".gitignore")).unwrap();
    let listed = project.done("fs.listFiles", json!({}));
    assert_eq!(listed["entries"][0]["path"], "f");
}

#[test]
fn a_link_that_stays_inside_is_read_and_never_written_through() {
    let project = Project::with(&[("real/f", "SECRET\n")]);
    symlink("real/f", project.at("link")).unwrap();
    symlink("real", project.at("folder")).unwrap();
    assert_eq!(project.done("fs.readFile", json!({"path": "link"}))["content"], "SECRET\n");
    project.done("fs.searchFiles", json!({"path": "folder", "pattern": "SECRET"}));
    project.done("fs.listFiles", json!({"path": "folder"}));
    for (name, params) in every_action("link") {
        if name.starts_with("fs.write") || name == "fs.editFile" || name == "fs.applyPatch" {
            let error = project.attempt(name, params).unwrap_err();
            assert!(matches!(error.code, Code::NotAFile | Code::Exists), "{name}: {error}");
        }
    }
    project.holds("real/f", "SECRET\n");
    project.done("fs.moveFile", json!({"from": "link", "to": "moved"}));
    project.done("fs.deleteFile", json!({"path": "moved"}));
    project.done("fs.deleteFile", json!({"path": "folder", "recursive": true}));
    project.holds("real/f", "SECRET\n");
}

#[test]
fn a_file_with_a_second_name_is_not_written() {
    let project = Project::new();
    fs::hard_link(project.outside.join("secret"), project.at("hard")).unwrap();
    for (name, params) in
        every_action("hard").into_iter().filter(|(_, params)| params["mode"] != "create")
    {
        if name.starts_with("fs.write") || name == "fs.editFile" || name == "fs.applyPatch" {
            project.fails(name, params, Code::Hardlink);
        }
    }
    assert_eq!(fs::read_to_string(project.outside.join("secret")).unwrap(), "SECRET\n");
}

#[test]
fn pipes_sockets_and_devices_are_refused_without_waiting() {
    let project = Project::new();
    let fifo = project.at("fifo");
    rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, 0o644.into(), 0)
        .unwrap();
    let _socket = UnixListener::bind(project.at("socket")).unwrap();
    for path in ["fifo", "socket"] {
        for (name, params) in every_action(path) {
            project.attempt(name, params).unwrap_err();
        }
        project.fails("fs.readFile", json!({"path": path}), Code::NotAFile);
        assert_eq!(project.done("fs.stat", json!({"path": path}))["kind"], "other");
    }
    let found = project.done("fs.searchFiles", json!({"pattern": "x"}));
    assert_eq!(found["files"], json!(0));
    project.done("fs.deleteFile", json!({"path": "fifo"}));
    let devices = RootDir::open("/dev".as_ref()).unwrap();
    for name in ["zero", "null"] {
        let error = run(&devices, "fs.readFile", json!({"path": name})).unwrap_err();
        assert_eq!(error.code, Code::NotAFile, "{error}");
    }
}

#[test]
fn a_folder_swapped_for_a_link_while_we_look_never_leads_out() {
    let project = Project::with(&[("d/secret", "inside\n")]);
    symlink(&project.outside, project.at("link")).unwrap();
    let before = outside(&project);
    let over = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let (a, b) = (project.at("d"), project.at("link"));
            while !over.load(std::sync::atomic::Ordering::Relaxed) {
                let flags = rustix::fs::RenameFlags::EXCHANGE;
                let cwd = rustix::fs::CWD;
                rustix::fs::renameat_with(cwd, &a, cwd, &b, flags).unwrap();
            }
        });
        let begun = std::time::Instant::now();
        while begun.elapsed().as_millis() < 1500 {
            for (name, params) in [
                ("fs.readFile", json!({"path": "d/secret"})),
                ("fs.searchFiles", json!({"pattern": "."})),
                ("fs.listFiles", json!({"depth": 9})),
                ("fs.writeFile", json!({"path": "d/written", "content": "x"})),
                (
                    "fs.editFile",
                    json!({"path": "d/secret", "edits": [{"old": "SECRET", "new": "x"}]}),
                ),
                ("fs.deleteFile", json!({"path": "d/written"})),
            ] {
                let outcome = format!("{:?}", project.attempt(name, params));
                assert!(!outcome.contains("SECRET"), "{outcome}");
            }
        }
        over.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    assert_eq!(outside(&project), before);
}

#[test]
fn what_the_user_may_not_do_is_said() {
    let project = Project::with(&[("f", "x\n"), ("d/x", "x\n"), ("ok/x", "x\n")]);
    let parent = project.inside.parent().unwrap();
    for (path, mode) in [(parent.to_owned(), 0o755), (project.at("f"), 0), (project.at("d"), 0)] {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }
    fs::set_permissions(&project.inside, fs::Permissions::from_mode(0o555)).unwrap();
    as_nobody(|| {
        project.fails("fs.readFile", json!({"path": "f"}), Code::PermissionDenied);
        project.fails("fs.listFiles", json!({"path": "d"}), Code::PermissionDenied);
        project.fails(
            "fs.writeFile",
            json!({"path": "new", "content": ""}),
            Code::PermissionDenied,
        );
        project.fails("fs.createDir", json!({"path": "new"}), Code::PermissionDenied);
        project.fails("fs.deleteFile", json!({"path": "f"}), Code::PermissionDenied);
        // One unreadable folder does not hide the others.
        let listed = project.done("fs.listFiles", json!({"depth": 2}));
        assert_eq!(listed["entries"].as_array().unwrap().len(), 4, "{listed}");
        assert_eq!(listed["skipped"][0]["path"], "d");
        let found = project.done("fs.searchFiles", json!({"pattern": "x"}));
        assert_eq!(found["matches"][0]["path"], "ok/x");
        assert_eq!(found["skipped"].as_array().unwrap().len(), 2, "{found}");
    });
    for path in ["", "d"] {
        fs::set_permissions(project.at(path), fs::Permissions::from_mode(0o755)).unwrap();
    }
}

/// The gateway denies these; the kernel rejects them too.
#[test]
fn what_was_decided_about_is_what_is_touched_and_nothing_protected_is() {
    use provost_core::action::Action;
    use provost_kernel::files;
    use provost_proto::kernel::{ObservedLink, Preconditions};
    let project = Project::with(&[(".git/hooks/", ""), ("plain/", "")]);
    std::os::unix::fs::symlink("plain", project.at("d")).unwrap();
    let attempt = |path: &str, target: &str| {
        let seen = ObservedLink { path: "d".to_owned(), target: target.to_owned() };
        let root = files::restrict_root_links(
            &project.root,
            &Preconditions { links: vec![seen], ..Preconditions::default() },
        );
        let params = json!({ "path": path, "content": "x" });
        let Action::File(action) = Action::parse("fs.writeFile", params).unwrap() else { panic!() };
        files::reject_protected_paths(&root, &action)?;
        files::execute_file_action(&root, &action, &|| false)
    };
    for (path, target) in [("d/pre-commit", ".git/hooks"), ("plain/.git/config", "plain")] {
        let error = attempt(path, target).unwrap_err();
        assert_eq!(error.code, Code::ProtectedPath, "{path}: {error}");
    }
    attempt("d/one", "plain").unwrap();
    project.holds("plain/one", "x");
    std::os::unix::fs::symlink("plain", project.at("e")).unwrap();
    let error = attempt("e/two", "plain").unwrap_err();
    assert_eq!(error.code, Code::Conflict, "that link was not observed: {error}");
}
