//! An agent that reads, writes and runs commands in a project through Provost.
//!
//! It uses Provost's HTTP API only, none of its crates; README.md says how to run it.
#![expect(clippy::print_stdout, reason = "an example shows what comes back")]

use std::env;
use std::error::Error;
use std::fmt;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, bail};
use reqwest::{Client, Method};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use uuid::Uuid;

/// A refused or failed request. Branch on `code`: it is stable, the message is not.
#[derive(Debug, Deserialize)]
struct ProvostError {
    code: String,
    /// Named `error` in the body of a response, `message` in the outcome of an action.
    #[serde(alias = "error")]
    message: String,
}

impl fmt::Display for ProvostError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.message)
    }
}

impl Error for ProvostError {}

/// The response to a submitted action.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Submitted {
    action_id: String,
    status: String,
    /// Set when the action has ended.
    result: Value,
}

/// An action, as `GET /api/actions/{id}` shows it.
#[derive(Deserialize)]
struct Action {
    status: String,
    outcome: Option<Outcome>,
    #[serde(default)]
    result: Value,
}

#[derive(Deserialize)]
struct Outcome {
    fault: Option<ProvostError>,
}

/// A client for one project.
struct Provost {
    http: Client,
    url: String,
    project: String,
    token: String,
}

impl Provost {
    fn from_env() -> Result<Self> {
        // Provost's workspace builds reqwest without a TLS provider, so one has to be chosen even
        // for plain HTTP. With reqwest's default features you do not need this.
        let provider = rustls::crypto::ring::default_provider();
        provider.install_default().map_err(|_| anyhow!("a TLS provider is installed already"))?;
        let variable = |name| env::var(name).with_context(|| format!("set {name}; see README.md"));
        Ok(Self {
            http: Client::new(),
            url: variable("PROVOST_URL").unwrap_or_else(|_| "http://127.0.0.1:3001".to_owned()),
            project: variable("PROVOST_PROJECT")?,
            token: variable("PROVOST_TOKEN")?,
        })
    }

    /// Sends a request and returns the JSON body of the response.
    async fn request<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
        key: Option<&str>,
    ) -> Result<T> {
        let mut request = self.http.request(method, format!("{}{path}", self.url));
        request = request.bearer_auth(&self.token);
        if let Some(key) = key {
            request = request.header("Idempotency-Key", key);
        }
        if let Some(body) = body {
            request = request.json(body);
        }
        let response = request.send().await?;
        if !response.status().is_success() {
            // All errors have the same body: {"error": "…", "code": "POLICY_DENIED", "status": 403}.
            return Err(response.json::<ProvostError>().await?.into());
        }
        Ok(response.json().await?)
    }

    /// Asks for an action and waits for its end, at most as long as `wait`.
    ///
    /// The response is 200 with the result when the action has ended, and 202 while it runs or
    /// waits for a person. A denied action is 403, which is an error here.
    async fn submit(
        &self,
        action: &str,
        params: &Value,
        wait: Duration,
        key: Option<&str>,
    ) -> Result<Submitted> {
        let path = format!("/api/projects/{}/actions?wait={}", self.project, wait.as_millis());
        let body = json!({ "action": action, "params": params });
        self.request(Method::POST, &path, Some(&body), key).await
    }

    /// Returns the result of a submitted action; waits for its end if it got a 202.
    ///
    /// This ends in any case: a question that nobody answers expires, 15 minutes by default.
    async fn outcome(&self, submitted: Submitted) -> Result<Value> {
        if submitted.status == "finished" {
            return Ok(submitted.result);
        }
        let path = format!("/api/actions/{}", submitted.action_id);
        loop {
            let action: Action = self.request(Method::GET, &path, None, None).await?;
            if action.status == "finished" || action.status == "denied" {
                let fault = action.outcome.and_then(|outcome| outcome.fault);
                return fault.map_or(Ok(action.result), |fault| Err(fault.into()));
            }
            tokio::time::sleep(Duration::from_millis(250)).await;
        }
    }

    /// Stops an action that runs, or withdraws one that waits for a person.
    async fn cancel(&self, submitted: &Submitted) -> Result<Value> {
        let path = format!("/api/actions/{}/cancel", submitted.action_id);
        self.request(Method::POST, &path, None, None).await
    }
}

/// The error that Provost answered with; anything else is a failure of this program.
fn refusal<T>(response: Result<T>) -> Result<ProvostError> {
    match response {
        Ok(_) => bail!("this should have been refused"),
        Err(error) => error.downcast(),
    }
}

#[tokio::main]
async fn main() -> Result<()> {
    let provost = Provost::from_env()?;
    let no_wait = Duration::ZERO;

    // A read passes without a question, for a role with the skill `fs.read`.
    let read =
        provost.submit("fs.readFile", &json!({ "path": "README.md" }), no_wait, None).await?;
    let file = provost.outcome(read).await?;
    let title = file["content"].as_str().and_then(|text| text.lines().next());
    println!("read README.md: {}", title.unwrap_or_default());

    // A write needs a person's approval. Without a wait the response comes at once.
    let note = json!({ "path": "notes.md", "content": "An agent was here.\n" });
    let key = Uuid::new_v4().to_string();
    let write = provost.submit("fs.writeFile", &note, no_wait, Some(&key)).await?;
    println!("write notes.md: {}", write.status);
    provost.outcome(write).await?;
    println!("write notes.md: finished");

    // After a broken connection, send the request again with the same key: it happens once.
    let again = refusal(provost.submit("fs.writeFile", &note, no_wait, Some(&key)).await)?;
    println!("write notes.md again: {again}");

    // A command. Here the response waits for the person and for the command, up to a minute.
    let cat = json!({ "command": "cat notes.md" });
    let minute = Duration::from_mins(1);
    let run = provost.submit("terminal.runCommand", &cat, minute, None).await?;
    let result = provost.outcome(run).await?;
    let printed = result["stdout"].as_str().unwrap_or_default().trim_end();
    println!("run cat: exit code {}: {printed}", result["exitCode"]);

    // An agent may change its mind, also while the person has not answered.
    let sleep = json!({ "command": "sleep 600" });
    let sleeping = provost.submit("terminal.runCommand", &sleep, no_wait, None).await?;
    provost.cancel(&sleeping).await?;
    println!("run sleep: {}", refusal(provost.outcome(sleeping).await)?);

    // What the person's rules, the role or Provost itself forbid is denied without a question.
    let role = json!({ "path": ".provost/roles/admin.md", "content": "x" });
    let denied = refusal(provost.submit("fs.writeFile", &role, no_wait, None).await)?;
    println!("write a role: {denied}");
    Ok(())
}
