//! HTTP client of the daemon that owns the data folder.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use anyhow::{Context, anyhow};
use provost_gateway::Secret;
use provost_proto::{Approval, ApprovalId, ErrorResponse};
use reqwest::{Method, RequestBuilder, Response};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::config::Config;
use crate::daemon::data_folder::{DataFolder, RunningDaemon};

/// Limit for a response. Verifying a large log takes longest.
const RESPONSE_TIMEOUT: Duration = Duration::from_mins(10);

/// Limit for a response that waits for a person: longer than an approval lasts by default.
const HUMAN_RESPONSE_TIMEOUT: Duration = Duration::from_mins(70);

/// A connection to the running daemon, with the owner's token.
#[derive(Debug)]
pub(crate) struct DaemonClient {
    http: reqwest::Client,
    base: String,
    token: Secret,
    pub(crate) running: RunningDaemon,
}

impl DaemonClient {
    /// The running daemon, or an error that says how to start one.
    pub(crate) fn connect(config: &Config) -> anyhow::Result<Self> {
        Self::connect_if_running(config)?
            .ok_or_else(|| anyhow!("no daemon is running\nhint: `provost up` starts one"))
    }

    /// The running daemon, if there is one.
    pub(crate) fn connect_if_running(config: &Config) -> anyhow::Result<Option<Self>> {
        let folder = DataFolder::from_path(&config.data.value);
        let Some(running) = folder.running_daemon() else { return Ok(None) };
        let token = folder.read_token()?;
        // Never through a proxy: the daemon is on this machine.
        let http = provost_runner::model::local_http_client_builder()
            .connect_timeout(Duration::from_secs(5))
            .build()?;
        let mut address = running.address;
        match address {
            SocketAddr::V4(_) if address.ip().is_unspecified() => {
                address.set_ip(Ipv4Addr::LOCALHOST.into());
            }
            SocketAddr::V6(_) if address.ip().is_unspecified() => {
                address.set_ip(Ipv6Addr::LOCALHOST.into());
            }
            SocketAddr::V4(_) | SocketAddr::V6(_) => {}
        }
        Ok(Some(Self { http, base: format!("http://{address}"), token, running }))
    }

    /// The URL of a path.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }

    /// Host and port, for connections other than HTTP.
    pub(crate) fn address(&self) -> &str {
        self.base.trim_start_matches("http://")
    }

    /// The owner's token.
    pub(crate) fn token(&self) -> &Secret {
        &self.token
    }

    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.http.request(method, self.url(path)).bearer_auth(self.token.reveal())
    }

    pub(crate) async fn get<T: DeserializeOwned>(&self, path: &str) -> anyhow::Result<T> {
        let request = self.request(Method::GET, path).timeout(RESPONSE_TIMEOUT);
        Ok(send_request(request).await?.json().await?)
    }

    /// Replaces the excerpts in a list by the whole approvals: nobody answers an excerpt.
    pub(crate) async fn fetch_whole_approvals(
        &self,
        approvals: &mut [Approval],
        truncated: &[ApprovalId],
    ) -> anyhow::Result<()> {
        for approval in approvals.iter_mut().filter(|one| truncated.contains(&one.id)) {
            *approval = self.get(&format!("/api/approvals/{}", approval.id.uuid())).await?;
        }
        Ok(())
    }

    pub(crate) async fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
    ) -> anyhow::Result<T> {
        let request = self.request(Method::POST, path).timeout(RESPONSE_TIMEOUT).json(body);
        Ok(send_request(request).await?.json().await?)
    }

    /// Posts, and returns an error response of the daemon as a value.
    pub(crate) async fn post_or_problem<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
    ) -> anyhow::Result<ApiResponse<T>> {
        let request = self.request(Method::POST, path).timeout(HUMAN_RESPONSE_TIMEOUT).json(body);
        let response = request.send().await.context("the daemon did not respond")?;
        let status = response.status();
        let text = response.text().await.context("the daemon closed the connection")?;
        if status.is_success() {
            let body = serde_json::from_str(&text).context("cannot parse the daemon's response")?;
            return Ok(ApiResponse::Success(body));
        }
        match serde_json::from_str(&text) {
            Ok(problem) => Ok(ApiResponse::Problem(problem)),
            Err(_) => Err(anyhow!("the daemon answered {status}: {text}")),
        }
    }

    pub(crate) async fn put<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
    ) -> anyhow::Result<T> {
        let request = self.request(Method::PUT, path).timeout(RESPONSE_TIMEOUT).json(body);
        Ok(send_request(request).await?.json().await?)
    }

    pub(crate) async fn patch<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
    ) -> anyhow::Result<T> {
        let request = self.request(Method::PATCH, path).timeout(RESPONSE_TIMEOUT).json(body);
        Ok(send_request(request).await?.json().await?)
    }

    /// Posts with an idempotency key, and waits as long as a person may need.
    pub(crate) async fn post_idempotent<T: DeserializeOwned>(
        &self,
        path: &str,
        key: &str,
        body: &impl Serialize,
    ) -> anyhow::Result<T> {
        let request = self.request(Method::POST, path).header("idempotency-key", key);
        Ok(send_request(request.timeout(HUMAN_RESPONSE_TIMEOUT).json(body)).await?.json().await?)
    }

    /// Sends a request whose response has no body.
    pub(crate) async fn send_no_content(&self, method: Method, path: &str) -> anyhow::Result<()> {
        send_request(self.request(method, path).timeout(RESPONSE_TIMEOUT)).await.map(|_| ())
    }

    pub(crate) async fn delete<T: DeserializeOwned>(&self, path: &str) -> anyhow::Result<T> {
        let request = self.request(Method::DELETE, path).timeout(RESPONSE_TIMEOUT);
        Ok(send_request(request).await?.json().await?)
    }

    /// Opens a stream: a response without a time limit.
    pub(crate) async fn get_stream(&self, path: &str) -> anyhow::Result<Response> {
        send_request(self.request(Method::GET, path)).await
    }
}

/// A response of the daemon.
#[derive(Debug)]
pub(crate) enum ApiResponse<T> {
    /// The requested body.
    Success(T),
    /// An error response.
    Problem(ErrorResponse),
}

/// The daemon rejected the request (4xx); a retry would not help.
#[derive(Debug)]
pub(crate) struct RequestRejected(String);

impl std::fmt::Display for RequestRejected {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for RequestRejected {}

async fn send_request(request: RequestBuilder) -> anyhow::Result<Response> {
    let response = request.send().await.context("the daemon did not respond")?;
    let status = response.status();
    if status.is_success() {
        return Ok(response);
    }
    let text = response.text().await.unwrap_or_default();
    let message = match serde_json::from_str::<ErrorResponse>(&text) {
        Ok(problem) => format!("{} ({})", problem.error, problem.code),
        Err(_) => format!("the daemon answered {status}: {text}"),
    };
    if status.is_client_error() {
        Err(RequestRejected(message).into())
    } else {
        Err(anyhow!(message))
    }
}
