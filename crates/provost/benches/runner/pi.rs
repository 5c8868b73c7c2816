//! pi, an agent that runs commands without a sandbox and without a log of decisions.

use std::path::Path;

use provost_sandbox::launch;
use serde_json::json;
use tempfile::TempDir;

use crate::provider::Provider;

const PACKAGE: &str = "@mariozechner/pi-coding-agent";

pub(crate) struct Pi {
    folder: TempDir,
}

impl Pi {
    /// From the npm registry; `None` if it is not available.
    pub(crate) fn install(provider: &Provider) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().to_str().unwrap();
        let install = ["install", "--silent", "--no-audit", "--no-fund", "--prefix", place];
        let done = launch::run_and_capture(Path::new("npm"), &[&install[..], &[PACKAGE]].concat());
        if !done.is_ok_and(|done| done.status.success()) {
            return None;
        }
        let models = json!({ "providers": { "fake": {
            "baseUrl": format!("http://{}/v1", provider.address),
            "api": "openai-completions",
            "apiKey": "none",
            "models": [{ "id": "calls" }],
        } } });
        std::fs::create_dir_all(folder.path().join("own")).unwrap();
        std::fs::create_dir_all(folder.path().join("app")).unwrap();
        std::fs::write(folder.path().join("own/models.json"), models.to_string()).unwrap();
        Some(Self { folder })
    }

    /// One turn with all its calls.
    pub(crate) async fn turn(&self) {
        let place = self.folder.path().display().to_string();
        let line = format!(
            "cd {place}/app && PI_CODING_AGENT_DIR={place}/own PI_OFFLINE=1 node \
             {place}/node_modules/{PACKAGE}/dist/cli.js --provider fake --model calls \
             --tools bash -p go </dev/null"
        );
        let work = move || launch::run_and_capture(Path::new("sh"), &["-c", &line]);
        let done = tokio::task::spawn_blocking(work).await.unwrap().unwrap();
        let (said, wrong) =
            (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
        assert!(done.status.success() && said.contains("Done."), "{said}\n{wrong}");
    }
}
