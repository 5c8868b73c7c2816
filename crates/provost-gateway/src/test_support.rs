//! Services over a real store in a temporary folder, for the unit tests of the crate.

use std::path::Path;
use std::sync::Arc;

use provost_proto::Project;
use provost_store::{Clock, SqliteStore, StoreOptions};

use crate::event_log::EventLog;
use crate::team::auth::Auth;
use crate::team::projects::Projects;
use crate::{
    DaemonOwner, Gateway, GatewayConfig, OpenProjectOutcome, Operator, OperatorRequest,
    RequestCredentials, Secret,
};

/// The owner's token in tests.
pub(crate) const OWNER_TOKEN: &str = "owner";

fn owner() -> DaemonOwner {
    let digest = Secret::from_text(OWNER_TOKEN).digest();
    DaemonOwner { principal: "local:ann".to_owned(), digest }
}

fn open_store(folder: &Path) -> (Arc<SqliteStore>, Clock) {
    let clock = Clock::system();
    let options = StoreOptions { path: folder.join("log.db"), clock: clock.clone() };
    (Arc::new(SqliteStore::open(options).unwrap()), clock)
}

pub(crate) async fn open_log(folder: &Path, config: &GatewayConfig) -> EventLog {
    let (store, clock) = open_store(folder);
    EventLog::open(store, clock, owner(), config).await.unwrap()
}

pub(crate) async fn open_auth(folder: &Path) -> Auth {
    let config = GatewayConfig::default();
    let log = Arc::new(open_log(folder, &config).await);
    let projects = Arc::new(Projects::new(Arc::clone(&log), Arc::new(config)));
    Auth::load(log, projects).await.unwrap()
}

/// A gateway with one open project, without a server and without kernels.
pub(crate) struct TestProject {
    pub(crate) gateway: Arc<Gateway>,
    pub(crate) operator: Operator,
    pub(crate) project: Project,
    _folder: tempfile::TempDir,
}

impl TestProject {
    /// Opens a project with these files.
    pub(crate) async fn open(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        let root = base.join("project");
        std::fs::create_dir_all(base.join("data")).unwrap();
        for (file, text) in files {
            let path = root.join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let config = GatewayConfig {
            data: base.join("data"),
            policy: base.join("config/policy.toml"),
            config: base.join("config/config.toml"),
            approval_ttl: std::time::Duration::from_mins(10),
            ..GatewayConfig::default()
        };
        let (store, clock) = open_store(&base);
        let gateway = Arc::new(Gateway::open(store, clock, owner(), config).await.unwrap());
        let operator = gateway
            .auth
            .authenticate(RequestCredentials::Header(OWNER_TOKEN))
            .unwrap()
            .into_operator()
            .unwrap();
        let request = OperatorRequest { by: &operator, command: None };
        let opened = gateway.lifecycle.open_project(request, root.to_str().unwrap()).await.unwrap();
        let OpenProjectOutcome::Opened(project) = opened else { panic!("{opened:?}") };
        Self { gateway, operator, project, _folder: folder }
    }

    /// Changes a file of the project.
    pub(crate) fn write(&self, file: &str, text: &str) {
        std::fs::write(Path::new(&self.project.path).join(file), text).unwrap();
    }
}
