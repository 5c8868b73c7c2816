//! The server over real HTTP: authentication, errors, streams.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod audit;
mod auth;
mod events;
mod expiry;
mod golden;
mod history;
mod history_cost;
mod login;
mod openapi;
mod project_codes;
mod projects;
mod refusals;
mod terminal;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use history::SeededHistory;
use provost_gateway::{DaemonOwner, Gateway, GatewayConfig, Secret};
use provost_proto::{ErrorResponse, Project};
use provost_runner::model::{
    ModelClient, ModelTimeouts, PriceTable, ProviderRegistry, RetryPolicy,
};
use provost_runner::session::Runner;
use provost_runtimes::LocalRuntimes;
use provost_server::{BoundPort, ServedParts, ServerSettings};
use provost_store::{
    AppendRequest, Clock, EventStore, SqliteStore, StatementObserver, StoreOptions,
};
use reqwest::{Method, RequestBuilder, Response};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// A real server on a free port, with a log of its own and a clock that tests can advance.
struct Server {
    address: SocketAddr,
    token: String,
    gateway: Arc<Gateway>,
    http: reqwest::Client,
    folder: TempDir,
    later: Arc<AtomicU64>,
    closing: CancellationToken,
    task: JoinHandle<()>,
}

/// The folders of a server, and its clock.
struct ServerFiles {
    folder: TempDir,
    data: PathBuf,
    later: Arc<AtomicU64>,
    clock: Clock,
}

impl ServerFiles {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let later = Arc::new(AtomicU64::new(0));
        let (system, shift) = (Clock::system(), Arc::clone(&later));
        let clock = Clock::from_fn(move || system.now() + shift.load(Ordering::Relaxed));
        let data = folder.path().join("data");
        std::fs::create_dir_all(&data).unwrap();
        std::fs::create_dir_all(folder.path().join("home")).unwrap();
        Self { folder, data, later, clock }
    }

    fn store_options(&self) -> StoreOptions {
        StoreOptions { path: self.data.join("log.db"), clock: self.clock.clone() }
    }
}

impl Server {
    async fn start() -> Self {
        Self::after(None).await
    }

    /// A server whose log has earlier events.
    async fn after(past: Option<AppendRequest>) -> Self {
        let files = ServerFiles::new();
        let store = SqliteStore::open(files.store_options()).unwrap();
        if let Some(past) = past {
            store.append(past).await.unwrap();
        }
        Self::serve(files, Arc::new(store)).await
    }

    /// A server whose log has sessions, with an observer of what its readers execute.
    async fn with_history(n_sessions: u64, observer: StatementObserver) -> (Self, SeededHistory) {
        let files = ServerFiles::new();
        let history = history::write(files.folder.path(), &files.data, n_sessions).await;
        let store = SqliteStore::open_observed(files.store_options(), observer).unwrap();
        history::await_search_file(&files.data, n_sessions).await;
        (Self::serve(files, Arc::new(store)).await, history)
    }

    async fn serve(files: ServerFiles, store: Arc<dyn EventStore>) -> Self {
        let ServerFiles { folder, data, later, clock } = files;
        let secret = Secret::random("test_").unwrap();
        let owner = DaemonOwner { principal: "local:ann".to_owned(), digest: secret.digest() };
        let home = Some(folder.path().join("home"));
        let policy = folder.path().join("policy.toml");
        let config = folder.path().join("settings/provost/config.toml");
        let approval_ttl = Duration::from_mins(15);
        let places =
            GatewayConfig { home, data, policy, config, approval_ttl, ..GatewayConfig::default() };
        let gateway = Arc::new(Gateway::open(store, clock, owner, places).await.unwrap());
        let port = BoundPort::bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let address = port.address();
        let settings =
            ServerSettings { allowed_hosts: Vec::new(), previews: None, checks_responses: true };
        let closing = CancellationToken::new();
        let models = ModelClient::new(
            ProviderRegistry::default(),
            RetryPolicy::never(),
            ModelTimeouts::default(),
        );
        let runner = Runner::open(
            Arc::clone(&gateway),
            models.unwrap(),
            PriceTable::built_in().unwrap(),
            provost_runner::session::SessionSettings::default(),
        );
        let runner = runner.await.unwrap();
        let runtimes = Arc::new(LocalRuntimes::new(Arc::clone(&gateway), Vec::new()));
        let parts = ServedParts { runner, runtimes };
        let serve = provost_server::serve(port, parts, settings, closing.clone());
        let task = tokio::spawn(async { serve.await.unwrap() });
        let redirect = reqwest::redirect::Policy::none();
        let http =
            provost_runner::model::local_http_client_builder().redirect(redirect).build().unwrap();
        let token = secret.reveal().to_owned();
        Self { address, token, gateway, http, folder, later, closing, task }
    }

    /// A request without a token.
    fn anyone(&self, method: Method, path: &str) -> RequestBuilder {
        self.http.request(method, format!("http://{}{path}", self.address))
    }

    /// A request with the owner's token.
    fn owner(&self, method: Method, path: &str) -> RequestBuilder {
        self.anyone(method, path).bearer_auth(&self.token)
    }

    async fn get(&self, path: &str) -> Value {
        let response = self.owner(Method::GET, path).send().await.unwrap();
        assert_eq!(response.status(), 200, "{path}");
        response.json().await.unwrap()
    }

    fn open(&self, path: &Path) -> RequestBuilder {
        self.owner(Method::POST, "/api/projects").json(&json!({ "path": path }))
    }

    /// A project in a new folder.
    async fn project(&self, name: &str) -> Project {
        let path = self.folder.path().join(name);
        std::fs::create_dir_all(&path).unwrap();
        self.open(&path).send().await.unwrap().json().await.unwrap()
    }

    /// Creates a token.
    async fn token(&self, wanted: Value) -> String {
        let created = self.owner(Method::POST, "/api/tokens").json(&wanted).send().await.unwrap();
        let created: Value = created.json().await.unwrap();
        assert!(created["token"].is_string(), "{created}");
        created["token"].as_str().unwrap_or_default().to_owned()
    }

    /// A ticket for the terminal of a project.
    async fn ticket(&self, project: &str) -> String {
        let path = format!("/api/projects/{project}/terminal/ticket");
        let answer = self.owner(Method::POST, &path).send().await.unwrap();
        let answer: Value = answer.json().await.unwrap();
        answer["ticket"].as_str().unwrap().to_owned()
    }

    fn pass_minutes(&self, minutes: u64) {
        self.later.fetch_add(minutes * 60_000_000, Ordering::Relaxed);
    }
}

/// Fails unless the response is this error, well formed, with its status.
async fn refused(response: Response, code: &str, sentence: &str) {
    let status = response.status().as_u16();
    let text = response.text().await.unwrap();
    let problem: ErrorResponse =
        serde_json::from_str(&text).map_err(|error| format!("{error}: {text}")).unwrap();
    assert_eq!(problem.code.as_str(), code, "{}", problem.error);
    assert_eq!(problem.status, status);
    assert!(problem.error.contains(sentence), "{}", problem.error);
}
