//! Services over a real store in a temporary folder, for the unit tests of the crate.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use provost_proto::{
    CreateTokenRequest, GovernanceFileKind, Hash, Project, RoleView, SubmitActionRequest,
    TokenClass, TrustFileRequest, TrustedFile,
};
use provost_store::{Clock, SqliteStore, StoreOptions};
use serde_json::json;

use crate::event_log::EventLog;
use crate::team::auth::Auth;
use crate::team::projects::Projects;
use crate::{
    ActionSubmission, Caller, DaemonOwner, Gateway, GatewayConfig, GatewayError,
    OpenProjectOutcome, Operator, OperatorRequest, RequestCredentials, Secret, SubmissionOutcome,
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

/// The file of the role.
pub(crate) const ROLE: &str = ".provost/roles/dev.md";
/// What it holds at first.
pub(crate) const ROLE_TEXT: &str =
    "---\nname: dev\nskills: [fs.read, fs.write, terminal.*]\n---\nWork.\n";

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
        std::fs::create_dir_all(&root).unwrap();
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

    /// Opens a project with these files and a trusted role, and an agent in that role.
    pub(crate) async fn open_with_agent(files: &[(&str, &str)]) -> (Self, Caller) {
        let test = Self::open(&[files, &[(ROLE, ROLE_TEXT)]].concat()).await;
        test.trust_role(test.role().await.hash).await.unwrap();
        let agent = test.create_agent().await;
        (test, agent)
    }

    /// The role, as its file is now.
    pub(crate) async fn role(&self) -> RoleView {
        self.gateway.governance.list_roles(&self.project).await.unwrap().roles.remove(0)
    }

    /// Trusts the role in the version with this hash.
    pub(crate) async fn trust_role(&self, hash: Hash) -> Result<TrustedFile, GatewayError> {
        let what = GovernanceFileKind::Role;
        let wanted = TrustFileRequest { what, file: ROLE.to_owned(), hash };
        self.gateway.trust.trust_file(self.request(), &self.project, wanted).await
    }

    /// An agent in the role.
    pub(crate) async fn create_agent(&self) -> Caller {
        let wanted = CreateTokenRequest {
            class: TokenClass::Agent,
            project: Some(self.project.slug.clone()),
            role: Some("dev".to_owned()),
            notebook: None,
            label: None,
            ttl_minutes: None,
        };
        let (token, _) = self.gateway.auth.create_token(self.request(), wanted).await.unwrap();
        self.gateway.auth.authenticate(RequestCredentials::Header(token.reveal())).unwrap()
    }

    /// A request of the person.
    pub(crate) fn request(&self) -> OperatorRequest<'_> {
        OperatorRequest { by: &self.operator, command: None }
    }

    /// Submits a command of an agent, and does not wait for its end.
    pub(crate) async fn submit_command(&self, agent: &Caller, line: &str) -> SubmissionOutcome {
        let wanted = SubmitActionRequest {
            action: "terminal.runCommand".to_owned(),
            params: json!({ "command": line }),
            role: None,
            session_id: None,
        };
        let submission = ActionSubmission { wanted, id: None, command: None, wait: Duration::ZERO };
        let actions = &self.gateway.actions;
        actions.submit_action(agent, &self.project.slug, submission).await.unwrap()
    }

    /// Changes a file of the project.
    pub(crate) fn write(&self, file: &str, text: &str) {
        std::fs::write(Path::new(&self.project.path).join(file), text).unwrap();
    }
}
