//! Documents and pages of events over HTTP.

use serde_json::{Value, json};

use super::{Home, Running};

/// A client of `GET /api/documents`.
struct DocumentClient {
    response: reqwest::Response,
    text: String,
}

impl DocumentClient {
    async fn connect(daemon: &Running, token: &str, query: &str, last: Option<&str>) -> Self {
        let mut request = get(daemon, token, &format!("/api/documents{query}"));
        if let Some(last) = last {
            request = request.header("Last-Event-ID", last);
        }
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), 200);
        Self { response, text: String::new() }
    }

    /// Reads until a text was sent.
    async fn read_until(&mut self, wanted: &str) {
        while !self.text.contains(wanted) {
            let piece = self.response.chunk().await.unwrap();
            assert!(piece.is_some(), "no {wanted} in {}", self.text);
            self.text.push_str(&String::from_utf8_lossy(&piece.unwrap_or_default()));
        }
    }

    /// Reads until the page is live; the last cursor.
    async fn read_until_live(&mut self) -> String {
        self.read_until("event: live").await;
        self.read_until("\"cursor\":\"").await;
        self.read_until("\"}\n\n").await;
        let (_, cursor) = self.text.rsplit_once("\nid: ").unwrap();
        cursor.lines().next().unwrap().to_owned()
    }
}

fn get(daemon: &Running, token: &str, path: &str) -> reqwest::RequestBuilder {
    let http = provost_runner::model::local_http_client_builder().build().unwrap();
    http.get(format!("{}{path}", daemon.base)).bearer_auth(token)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_continues_after_a_restart_of_the_daemon() {
    let home = Home::new();
    let daemon = home.up();
    let mut page = DocumentClient::connect(&daemon, &daemon.token, "", None).await;
    let cursor = page.read_until_live().await;
    for view in ["daemon", "projects"] {
        assert!(page.text.contains(&format!("\"view\":\"{view}\"")), "{view}: {}", page.text);
    }
    home.run_ok(&["mode", "auto", "--project", "app"]);
    page.read_until("\"view\":\"modes\"").await;
    drop(page);
    home.run_ok(&["down"]);
    let daemon = home.up();
    let mut page = DocumentClient::connect(&daemon, &daemon.token, "", Some(&cursor)).await;
    page.read_until_live().await;
    assert!(!page.text.contains("event: resync"), "{}", page.text);
    assert!(!page.text.contains("event: snapshot"), "{}", page.text);
    assert!(page.text.contains("\"view\":\"modes\""), "{}", page.text);
    assert!(page.text.contains("\"status\":\"started\""), "{}", page.text);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_viewer_of_one_project_gets_its_documents_only() {
    let home = Home::new();
    let daemon = home.up();
    let projects: Value =
        get(&daemon, &daemon.token, "/api/projects").send().await.unwrap().json().await.unwrap();
    let project = projects["projects"][0]["id"].as_str().unwrap();
    let http = provost_runner::model::local_http_client_builder().build().unwrap();
    let created = http.post(format!("{}/api/tokens", daemon.base)).bearer_auth(&daemon.token);
    let created = created.json(&json!({ "class": "viewer", "project": project }));
    let created: Value = created.send().await.unwrap().json().await.unwrap();
    let viewer = created["token"].as_str().unwrap();
    let mut page = DocumentClient::connect(&daemon, viewer, "", None).await;
    page.read_until_live().await;
    assert!(page.text.contains("\"view\":\"projects\""), "{}", page.text);
    assert!(!page.text.contains("\"view\":\"daemon\""), "{}", page.text);
    for query in
        ["?views=daemon", "?views=sessions", "?session=01920000-0000-7000-8000-000000000000"]
    {
        let refused = get(&daemon, viewer, &format!("/api/documents{query}")).send().await.unwrap();
        assert_eq!(refused.status(), 403, "{query}");
    }
    for (query, status) in [("?views=nothing", 422), ("?after=7", 422), ("?project=nobody", 404)] {
        let refused =
            get(&daemon, &daemon.token, &format!("/api/documents{query}")).send().await.unwrap();
        assert_eq!(refused.status(), status, "{query}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn events_come_in_pages_newest_first_and_filtered() {
    let home = Home::new();
    let daemon = home.up();
    home.run_ok(&["mode", "auto", "--project", "app"]);
    let page = async |query: &str| -> Value {
        let response = get(&daemon, &daemon.token, &format!("/api/events{query}"));
        response.send().await.unwrap().json().await.unwrap()
    };
    let newest = page("?limit=2").await;
    let seqs: Vec<_> =
        newest["events"].as_array().unwrap().iter().map(|event| event["seq"].as_u64()).collect();
    assert_eq!(seqs.len(), 2);
    assert!(seqs[0] > seqs[1], "{seqs:?}");
    assert!(newest["head"].as_u64() >= seqs[0]);
    let next = page(&format!("?limit=1&before={}", newest["next"])).await;
    assert_eq!(next["events"][0]["seq"].as_u64(), seqs[1].map(|seq| seq - 1));
    let at = &newest["events"][1]["seq"];
    let from = page(&format!("?limit=2&from={at}")).await;
    assert_eq!(from["events"][0]["id"], newest["events"][1]["id"], "its event is on the page");
    assert_eq!(from["events"][1]["id"], newest["events"][0]["id"]);
    let first = page("?limit=1&after=start").await;
    assert_eq!(first["events"][0]["prev"], "0".repeat(64), "the first event");
    let rest = page(&format!("?limit=1&after={}", first["next"])).await;
    assert_eq!(rest["events"][0]["prev"], first["events"][0]["hash"]);
    for query in ["?from=1&before=2", "?from=1&after=2", "?after=1&before=2", "?from=start"] {
        let refused = get(&daemon, &daemon.token, &format!("/api/events{query}"));
        assert_eq!(refused.send().await.unwrap().status(), 422, "{query}");
    }
    for query in
        ["?limit=9&kind=mode_changed", "?limit=9&text=MODE_changed", "?limit=9&text=auto%20mode_"]
    {
        let found = page(query).await;
        assert_eq!(found["events"].as_array().unwrap().len(), 1, "{query}: {found}");
        assert_eq!(found["events"][0]["kind"], "MODE_CHANGED", "{query}");
    }
    let printed = home.run_ok(&["events", "--limit", "5", "--kind", "MODE_CHANGED"]);
    assert!(printed.lines().count() == 1 && printed.contains("MODE_CHANGED"), "{printed}");
    let printed = home.run_ok(&["events", "--text", "no such words"]);
    assert!(printed.is_empty(), "{printed}");
}
