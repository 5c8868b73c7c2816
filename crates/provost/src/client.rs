//! Talking to the daemon of the data folder.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use anyhow::{Context, anyhow};
use bytes::Bytes;
use provost_gateway::Secret;
use provost_proto::ErrorResponse;
use reqwest::{Method, RequestBuilder, Response};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::config::Config;
use crate::daemon::data_folder::{DataFolder, RunningDaemon};

/// How long an answer may take. Verifying a large log is the slowest thing.
const RESPONSE_TIMEOUT: Duration = Duration::from_mins(10);

/// How long an answer may take that a person has to give.
const HUMAN_RESPONSE_TIMEOUT: Duration = Duration::from_mins(70);

/// The daemon, as a client sees it.
#[derive(Debug)]
pub(crate) struct DaemonClient {
    http: reqwest::Client,
    base: String,
    token: Secret,
    pub(crate) running: RunningDaemon,
}

impl DaemonClient {
    /// The daemon that runs, or an error that says how to start one.
    pub(crate) fn connect(config: &Config) -> anyhow::Result<Self> {
        Self::connect_if_running(config)?
            .ok_or_else(|| anyhow!("no daemon is running\nhint: `provost up` starts one"))
    }

    /// The daemon that runs, if one does.
    pub(crate) fn connect_if_running(config: &Config) -> anyhow::Result<Option<Self>> {
        let folder = DataFolder::from_path(&config.data.value);
        let Some(running) = folder.running_daemon() else { return Ok(None) };
        let token = folder.read_token()?;
        // A proxy has no business between us and a daemon on this machine.
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

    /// The address with a path behind it.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }

    /// Where the daemon listens, for other than HTTP.
    pub(crate) fn address(&self) -> &str {
        self.base.trim_start_matches("http://")
    }

    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.http.request(method, self.url(path)).bearer_auth(self.token.reveal())
    }

    pub(crate) async fn get<T: DeserializeOwned>(&self, path: &str) -> anyhow::Result<T> {
        let request = self.request(Method::GET, path).timeout(RESPONSE_TIMEOUT);
        Ok(send_request(request).await?.json().await?)
    }

    pub(crate) async fn get_bytes(&self, path: &str) -> anyhow::Result<Bytes> {
        let request = self.request(Method::GET, path).timeout(RESPONSE_TIMEOUT);
        Ok(send_request(request).await?.bytes().await?)
    }

    pub(crate) async fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
    ) -> anyhow::Result<T> {
        let request = self.request(Method::POST, path).timeout(RESPONSE_TIMEOUT).json(body);
        Ok(send_request(request).await?.json().await?)
    }

    /// The same where the caller wants to look at a problem itself.
    pub(crate) async fn post_or_problem<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
    ) -> anyhow::Result<ApiResponse<T>> {
        let request = self.request(Method::POST, path).timeout(HUMAN_RESPONSE_TIMEOUT).json(body);
        let response = request.send().await.context("the daemon did not answer")?;
        let status = response.status();
        let text = response.text().await.context("the daemon hung up")?;
        if status.is_success() {
            let answer = serde_json::from_str(&text).context("the daemon's answer is strange")?;
            return Ok(ApiResponse::Success(answer));
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

    /// A request that happens once under this key, and whose answer may take
    /// as long as a person takes.
    pub(crate) async fn post_idempotent<T: DeserializeOwned>(
        &self,
        path: &str,
        key: &str,
        body: &impl Serialize,
    ) -> anyhow::Result<T> {
        let request = self.request(Method::POST, path).header("idempotency-key", key);
        Ok(send_request(request.timeout(HUMAN_RESPONSE_TIMEOUT).json(body)).await?.json().await?)
    }

    /// A request whose answer has no body.
    pub(crate) async fn send_no_content(&self, method: Method, path: &str) -> anyhow::Result<()> {
        send_request(self.request(method, path).timeout(RESPONSE_TIMEOUT)).await.map(|_| ())
    }

    pub(crate) async fn delete<T: DeserializeOwned>(&self, path: &str) -> anyhow::Result<T> {
        let request = self.request(Method::DELETE, path).timeout(RESPONSE_TIMEOUT);
        Ok(send_request(request).await?.json().await?)
    }

    /// An answer without an end.
    pub(crate) async fn get_stream(&self, path: &str) -> anyhow::Result<Response> {
        send_request(self.request(Method::GET, path)).await
    }
}

/// What came back.
#[derive(Debug)]
pub(crate) enum ApiResponse<T> {
    /// What was asked for.
    Success(T),
    /// Why not.
    Problem(ErrorResponse),
}

/// The daemon understood and said no; asking again would not help.
#[derive(Debug)]
pub(crate) struct RequestRejected(String);

impl std::fmt::Display for RequestRejected {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for RequestRejected {}

async fn send_request(request: RequestBuilder) -> anyhow::Result<Response> {
    let response = request.send().await.context("the daemon did not answer")?;
    let status = response.status();
    if status.is_success() {
        return Ok(response);
    }
    let text = response.text().await.unwrap_or_default();
    let said = match serde_json::from_str::<ErrorResponse>(&text) {
        Ok(problem) => format!("{} ({})", problem.error, problem.code),
        Err(_) => format!("the daemon answered {status}: {text}"),
    };
    if status.is_client_error() { Err(RequestRejected(said).into()) } else { Err(anyhow!(said)) }
}
