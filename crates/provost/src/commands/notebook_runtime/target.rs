//! Which daemon and which notebook, with which token.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use futures::future::BoxFuture;
use provost_core::hash_chain;
use provost_gateway::Secret;
use provost_proto::notebook::{Notebook, NotebookDetail, RuntimeLocation};
use provost_proto::{ErrorResponse, Hash, NotebookId};
use provost_runtimes::{ArtifactFailure, ArtifactUploader, RemoteTarget, TargetLocator};

use super::read_token_file;
use crate::args::NotebookRuntimeArgs;
use crate::client::DaemonClient;
use crate::commands::project::notebooks::find_notebook;
use crate::config::Config;
use crate::output::print_warning;

/// Time limit for a request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

/// A notebook of a daemon, for a runtime.
pub(super) struct RuntimeTarget {
    pub(super) notebook: NotebookId,
    pub(super) title: String,
    pub(super) location: RuntimeLocation,
    source: Arc<TargetSource>,
    http: reqwest::Client,
}

/// How the daemon is found, for each connection anew.
enum TargetSource {
    /// The one of the data folder, which may listen elsewhere when it was started again.
    DataFolder { config: Box<Config>, token: Option<Secret> },
    /// At a fixed address.
    Address(RemoteTarget),
}

impl TargetLocator for TargetSource {
    fn locate(&self) -> Result<RemoteTarget, String> {
        match self {
            Self::Address(target) => Ok(target.clone()),
            Self::DataFolder { config, token } => {
                let client = DaemonClient::connect(config).map_err(|error| error.to_string())?;
                let token = token.clone().unwrap_or_else(|| client.token().clone());
                Ok(RemoteTarget { address: client.address().to_owned(), token })
            }
        }
    }
}

impl RuntimeTarget {
    /// Finds the daemon and the notebook, and checks that the token is one for it.
    pub(super) async fn find(args: &NotebookRuntimeArgs, config: &Config) -> anyhow::Result<Self> {
        let token = match &args.token_file {
            Some(path) => Some(read_token_file(path)?),
            None => config.remote.token.clone(),
        };
        let token = token.map(Secret::from_text);
        let server = args.server.as_ref().or(config.remote.server.as_ref());
        let http = provost_runner::model::local_http_client_builder()
            .connect_timeout(REQUEST_TIMEOUT)
            .build()?;
        let (source, location, id) = if let Some(server) = server {
            let Some(token) = token else {
                bail!(
                    "a daemon on another machine needs a token\nhint: there, `provost token \
                     create --class runtime --notebook ID` creates one; pass it with --token-file"
                );
            };
            let address = parse_server(server)?;
            let id = parse_notebook_id(&args.notebook)?;
            let target = RemoteTarget { address, token };
            (TargetSource::Address(target), RuntimeLocation::Remote, id)
        } else {
            let id = if let Ok(id) = args.notebook.parse() {
                id
            } else if token.is_some() {
                parse_notebook_id(&args.notebook)?
            } else {
                let client = DaemonClient::connect(config)?;
                find_notebook(&client, &args.project, &args.notebook).await?.id
            };
            let config = Box::new(config.clone());
            (TargetSource::DataFolder { config, token }, RuntimeLocation::Native, id)
        };
        let notebook = fetch_notebook(&http, &source, id).await?;
        Ok(Self { notebook: id, title: notebook.title, location, source: Arc::new(source), http })
    }

    pub(super) fn locator(&self) -> Arc<dyn TargetLocator> {
        Arc::<TargetSource>::clone(&self.source)
    }

    pub(super) fn artifact_uploader(&self) -> Arc<dyn ArtifactUploader> {
        Arc::new(HttpArtifacts {
            notebook: self.notebook,
            source: Arc::clone(&self.source),
            http: self.http.clone(),
        })
    }
}

fn parse_notebook_id(text: &str) -> anyhow::Result<NotebookId> {
    text.parse().map_err(|_| {
        anyhow::anyhow!(
            "`{}` is not the id of a notebook\nhint: a runtime's token cannot list notebooks; \
             `provost notebook list` shows the ids",
            crate::output::sanitize_text(text)
        )
    })
}

/// Host and port of a URL.
fn parse_server(url: &str) -> anyhow::Result<String> {
    let Some(rest) = url.strip_prefix("http://") else {
        bail!(
            "--server takes a URL such as http://127.0.0.1:3001\n\
             hint: for a daemon on another machine, forward its port: ssh -L 3001:127.0.0.1:3001 HOST"
        );
    };
    let address = rest.trim_end_matches('/');
    let has_port = address.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    if address.contains('/') || !has_port {
        bail!("`{url}` is not a URL with a host and a port, such as http://127.0.0.1:3001");
    }
    let is_loopback = address.starts_with("localhost:")
        || address.parse::<SocketAddr>().is_ok_and(|address| address.ip().is_loopback());
    if !is_loopback {
        print_warning(&anyhow::anyhow!(
            "the connection to {address} is not encrypted: everybody between can read the token"
        ));
    }
    Ok(address.to_owned())
}

async fn fetch_notebook(
    http: &reqwest::Client,
    source: &TargetSource,
    id: NotebookId,
) -> anyhow::Result<Notebook> {
    let RemoteTarget { address, token } =
        source.locate().map_err(|error| anyhow::anyhow!("{error}"))?;
    let request = http.get(format!("http://{address}/api/notebooks/{}", id.uuid()));
    let request = request.bearer_auth(token.reveal()).timeout(REQUEST_TIMEOUT);
    let response =
        request.send().await.with_context(|| format!("the daemon at {address} does not answer"))?;
    if response.status().is_success() {
        return Ok(response.json::<NotebookDetail>().await?.notebook);
    }
    let status = response.status();
    match response.json::<ErrorResponse>().await {
        Ok(problem) => bail!("{} ({})", problem.error, problem.code),
        Err(_) => bail!("the daemon at {address} answered {status}"),
    }
}

/// Stores artifacts over HTTP.
struct HttpArtifacts {
    notebook: NotebookId,
    source: Arc<TargetSource>,
    http: reqwest::Client,
}

impl std::fmt::Debug for HttpArtifacts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HttpArtifacts").field("notebook", &self.notebook).finish_non_exhaustive()
    }
}

impl ArtifactUploader for HttpArtifacts {
    fn upload(&self, mime: String, bytes: Vec<u8>) -> BoxFuture<'_, Result<Hash, ArtifactFailure>> {
        Box::pin(async move {
            let hash = hash_chain::digest(&bytes);
            let RemoteTarget { address, token } = self.source.locate().map_err(ArtifactFailure)?;
            let notebook = self.notebook.uuid();
            let url = format!("http://{address}/api/notebooks/{notebook}/artifacts/{hash}");
            let request = self.http.put(url).bearer_auth(token.reveal());
            let request = request.header("content-type", mime).timeout(REQUEST_TIMEOUT);
            let sent = request.body(bytes).send().await;
            let answer = sent.and_then(reqwest::Response::error_for_status);
            answer.map_err(|error| ArtifactFailure(error.to_string()))?;
            Ok(hash)
        })
    }
}
