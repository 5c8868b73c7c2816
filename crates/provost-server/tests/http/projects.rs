//! Projects over HTTP.

use std::fs;
use std::os::unix::fs::symlink;

use provost_proto::{Project, ProjectStatus};
use reqwest::Method;
use serde_json::{Value, json};

use super::{Server, refused};

#[tokio::test]
async fn unfit_folders_are_refused_with_a_reason_and_leave_no_trace() {
    let server = Server::start().await;
    let base = server.folder.path();
    fs::write(base.join("file"), "").unwrap();
    for name in ["home/.ssh", "home/.gnupg", "home/.config/gh", "home/.docker", "settings/provost"]
    {
        fs::create_dir_all(base.join(name)).unwrap();
    }
    for (path, code, sentence) in [
        (base.join("nowhere"), "PATH_NOT_FOUND", "does not exist"),
        (base.join("file"), "NOT_A_DIRECTORY", "not a folder"),
        ("/".into(), "PATH_REFUSED", "root of the whole file system"),
        (base.join("home"), "PATH_REFUSED", "your home folder"),
        (base.join("data"), "PATH_REFUSED", "its own data"),
        (base.join("settings"), "PATH_REFUSED", "your own rules or settings"),
        (base.join("settings/provost"), "PATH_REFUSED", "your own rules or settings"),
        (base.join("home/.ssh"), "PATH_REFUSED", "keys, tokens or logins"),
        (base.join("home/.gnupg"), "PATH_REFUSED", "keys, tokens or logins"),
        (base.join("home/.config"), "PATH_REFUSED", "keys, tokens or logins"),
        (base.join("home/.config/gh"), "PATH_REFUSED", "keys, tokens or logins"),
        (base.join("home/.docker"), "PATH_REFUSED", "keys, tokens or logins"),
        ("/etc".into(), "PATH_REFUSED", "belongs to the system"),
        ("/var/lib".into(), "PATH_REFUSED", "belongs to the system"),
        ("/var/log".into(), "PATH_REFUSED", "belongs to the system"),
        ("relative".into(), "INVALID_REQUEST", "must be absolute"),
    ] {
        refused(server.open(&path).send().await.unwrap(), code, sentence).await;
    }
    assert_eq!(server.get("/api/audit").await["events"], json!([]));
}

#[tokio::test]
async fn a_folder_is_one_project_however_it_is_reached() {
    let server = Server::start().await;
    let project = server.project("app").await;
    symlink(server.folder.path().join("app"), server.folder.path().join("link")).unwrap();
    for path in ["app", "link", "app/../app", "app/."] {
        let again = server.open(&server.folder.path().join(path)).send().await.unwrap();
        assert_eq!(again.status(), 200, "{path}");
        assert_eq!(again.json::<Project>().await.unwrap(), project, "{path}");
    }
    assert_eq!(server.get("/api/projects").await["projects"].as_array().unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_opened_many_times_at_once_is_opened_once() {
    let server = Server::start().await;
    let path = server.folder.path().join("app");
    fs::create_dir(&path).unwrap();
    let sent: Vec<_> = (0..16).map(|_| tokio::spawn(server.open(&path).send())).collect();
    let mut n_created = 0;
    for response in sent {
        let status = response.await.unwrap().unwrap().status().as_u16();
        assert!(matches!(status, 200 | 201), "{status}");
        n_created += usize::from(status == 201);
    }
    assert_eq!(n_created, 1);
    assert_eq!(server.get("/api/audit").await["events"].as_array().unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_project_closed_many_times_at_once_is_closed_once() {
    let server = Server::start().await;
    server.project("app").await;
    let close = |_| tokio::spawn(server.owner(Method::DELETE, "/api/projects/app").send());
    let sent: Vec<_> = (0..24).map(close).collect();
    for response in sent {
        assert_eq!(response.await.unwrap().unwrap().status(), 200);
    }
    assert_eq!(server.get("/api/audit").await["events"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn a_repeated_request_is_answered_even_if_the_folder_is_gone() {
    let server = Server::start().await;
    let path = server.folder.path().join("app");
    fs::create_dir(&path).unwrap();
    let open = || server.open(&path).header("idempotency-key", "k").send();
    let first: Project = open().await.unwrap().json().await.unwrap();
    fs::remove_dir(&path).unwrap();
    let again = open().await.unwrap();
    assert_eq!(again.status(), 200);
    assert_eq!(again.json::<Project>().await.unwrap(), first);
}

#[tokio::test]
async fn a_closed_project_keeps_its_id_when_it_is_opened_again() {
    let server = Server::start().await;
    let project = server.project("app").await;
    let closed = server.owner(Method::DELETE, "/api/projects/app").send().await.unwrap();
    assert_eq!(closed.json::<Project>().await.unwrap().status, ProjectStatus::Closed);
    assert_eq!(server.get("/api/projects").await["projects"], json!([]));
    let all = server.get("/api/projects?all=true").await;
    assert_eq!(all["projects"][0]["status"], "closed");
    let again = server.project("app").await;
    assert_eq!((again.id, again.status), (project.id, ProjectStatus::Open));
}

#[tokio::test]
async fn two_folders_of_one_name_get_two_slugs() {
    let server = Server::start().await;
    server.project("a/app").await;
    server.project("b/app").await;
    let show = server.get("/api/projects/app-2").await;
    assert!(show["path"].as_str().unwrap().ends_with("b/app"), "{show}");
}

#[tokio::test]
async fn an_idempotency_key_makes_a_request_happen_once() {
    let server = Server::start().await;
    for name in ["one", "two"] {
        fs::create_dir(server.folder.path().join(name)).unwrap();
    }
    let open = |name: &str| {
        let request = server.open(&server.folder.path().join(name));
        request.header("idempotency-key", "k-1").send()
    };
    assert_eq!(open("one").await.unwrap().status(), 201);
    let close = server.owner(Method::DELETE, "/api/projects/one").send().await.unwrap();
    assert_eq!(close.status(), 200);
    let again = open("one").await.unwrap();
    assert!(again.status().is_success());
    let log = server.get("/api/audit").await;
    let events = log["events"].as_array().unwrap();
    assert_eq!(events.len(), 2, "sent again, it did not open it again");
    assert_eq!(events[0]["command"], "k-1");
    refused(open("two").await.unwrap(), "COMMAND_REUSED", "another request").await;
    let too_long = server.open(server.folder.path()).header("idempotency-key", "x".repeat(129));
    refused(too_long.send().await.unwrap(), "INVALID_REQUEST", "Idempotency-Key").await;
}

#[tokio::test]
async fn a_repeated_request_tells_how_things_are_and_a_reused_key_is_noticed_first() {
    let server = Server::start().await;
    for name in ["one", "two"] {
        fs::create_dir(server.folder.path().join(name)).unwrap();
    }
    let open = |name: &str| {
        let request = server.open(&server.folder.path().join(name));
        request.header("idempotency-key", "k").send()
    };
    assert_eq!(open("one").await.unwrap().status(), 201);
    server.project("two").await;
    refused(open("two").await.unwrap(), "COMMAND_REUSED", "another request").await;
    server.owner(Method::DELETE, "/api/projects/one").send().await.unwrap();
    let again = open("one").await.unwrap();
    assert_eq!(again.status(), 200);
    assert_eq!(again.json::<Project>().await.unwrap().status, ProjectStatus::Closed);
}

#[tokio::test]
async fn a_cursor_beyond_the_end_of_any_log_is_an_empty_page() {
    let server = Server::start().await;
    server.project("app").await;
    for after in [2, u64::MAX - 1, u64::MAX] {
        let page = server.get(&format!("/api/audit?after={after}")).await;
        assert_eq!((&page["events"], &page["next"]), (&json!([]), &Value::Null), "{after}");
    }
}

#[tokio::test]
async fn the_audit_is_read_in_pages_and_verifies() {
    let server = Server::start().await;
    for n in 0..5 {
        server.project(&format!("p{n}")).await;
    }
    let mut after = json!(0);
    let mut seen = Vec::new();
    while !after.is_null() {
        let page = server.get(&format!("/api/audit?limit=2&after={after}")).await;
        let events = page["events"].as_array().unwrap();
        seen.extend(events.iter().map(|event| event["seq"].as_u64().unwrap()));
        after = page["next"].clone();
    }
    assert_eq!(seen, [1, 2, 3, 4, 5]);
    let report: Value = server.get("/api/audit/verify").await;
    assert_eq!((&report["events"], &report["bad"]), (&json!(5), &Value::Null));
}
