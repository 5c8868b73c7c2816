//! Data of notebooks under its hash.

use provost_core::hash_chain;
use provost_proto::NotebookId;
use reqwest::{Method, Response, StatusCode};
use serde_json::json;

use crate::{Home, Running};

async fn put(
    daemon: &Running,
    token: &str,
    notebook: NotebookId,
    bytes: &[u8],
    hash: &str,
) -> Response {
    let http = provost_runner::model::local_http_client_builder().build().unwrap();
    let url = format!("{}/api/notebooks/{}/artifacts/{hash}", daemon.base, notebook.uuid());
    let request = http.put(url).bearer_auth(token).header("content-type", "image/png");
    request.body(bytes.to_vec()).send().await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_artifact_is_stored_once_and_read_by_who_sees_its_notebook() {
    let home = Home::new();
    let daemon = home.up();
    std::fs::create_dir(home.path("other")).unwrap();
    home.run_ok(&["up", "--no-open", home.path("other").to_str().unwrap()]);
    let notebook = daemon.create_notebook("Images").await;
    let bytes: Vec<u8> = (0..100_000_u32).map(|n| n.to_le_bytes()[0]).collect();
    let hash = hash_chain::digest(&bytes).to_string();
    let token = home.runtime_token(notebook);
    for token in [&token, &daemon.token] {
        let stored = put(&daemon, token, notebook, &bytes, &hash).await;
        assert_eq!(stored.status(), 200);
        let stored: serde_json::Value = stored.json().await.unwrap();
        assert_eq!((&stored["mime"], &stored["size"]), (&json!("image/png"), &json!(100_000)));
    }
    assert_eq!(daemon.events("ARTIFACT_ADDED").await.len(), 1);
    let wrong = put(&daemon, &token, notebook, b"other bytes", &hash).await;
    assert_eq!(wrong.status(), 409);

    let path = format!("/api/notebooks/{}/artifacts/{hash}", notebook.uuid());
    let own = home.token(&["viewer", "--project", "app"]);
    let foreign = home.token(&["viewer", "--project", "other"]);
    let elsewhere = home.runtime_token(daemon.create_notebook("Other").await);
    for (token, status) in
        [(&*own, 200), (&*token, 200), (&*foreign, 404), (&*elsewhere, 404), ("guess", 401)]
    {
        let answer = daemon.request(token, Method::GET, &path, None).await;
        assert_eq!(answer.status(), status, "{token}");
    }
    assert_eq!(put(&daemon, &own, notebook, &bytes, &hash).await.status(), 403, "a viewer");
    let http = provost_runner::model::local_http_client_builder().build().unwrap();
    let url = format!("{}{path}", daemon.base);
    let answer = http.get(&url).send().await.unwrap();
    assert_eq!(answer.status(), StatusCode::UNAUTHORIZED, "without a token");
    let whole = http.get(&url).bearer_auth(&own).send().await.unwrap();
    let policy = whole.headers()["content-security-policy"].to_str().unwrap().to_owned();
    assert!(policy.starts_with("sandbox;"), "{policy}");
    assert_eq!(whole.bytes().await.unwrap(), bytes);
    let part =
        http.get(&url).bearer_auth(&own).header("range", "bytes=10-19").send().await.unwrap();
    assert_eq!(part.status(), 206);
    assert_eq!(part.headers()["content-range"], "bytes 10-19/100000");
    assert_eq!(part.bytes().await.unwrap(), bytes[10..20]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_artifact_that_is_too_large_is_refused() {
    let home = Home::new();
    let daemon = home.up();
    let notebook = daemon.create_notebook("Large").await;
    let bytes = vec![0; (16 << 20) + 1];
    let hash = hash_chain::digest(&bytes).to_string();
    let http = provost_runner::model::local_http_client_builder().build().unwrap();
    let url = format!("{}/api/notebooks/{}/artifacts/{hash}", daemon.base, notebook.uuid());
    // The answer may come before the body was sent, and the connection ends with it.
    match http.put(url).bearer_auth(&daemon.token).body(bytes).send().await {
        Ok(refused) => assert_eq!(refused.status(), 413),
        Err(error) => assert!(error.is_request(), "{error}"),
    }
    assert!(daemon.events("ARTIFACT_ADDED").await.is_empty());
}
