//! The configuration: defaults < `config.toml` < environment < flags. Nothing
//! else in the workspace reads the environment.
//!
//! All variables:
//!
//! | variable | sets |
//! |---|---|
//! | `PROVOST_DATA` | the data folder (`--data`) |
//! | `PROVOST_CONFIG` | path of `config.toml`, which must exist then |
//! | `PROVOST_LISTEN` | address the daemon listens on (`--listen`) |
//! | `PROVOST_ALLOW_HOSTS` | additional host names of requests (`--allow-host`) |
//! | `PROVOST_PREVIEW_PORT` | first port of the previews (`--preview-port`) |
//! | `PROVOST_LOG` | log filter (`--log`) |
//! | `PROVOST_POLICY` | file with your own rules; default: `policy.toml` beside `config.toml` |
//! | `PROVOST_APPROVAL_MINUTES` | minutes until a pending approval expires |
//! | `PROVOST_MODEL` | the default model |
//! | `ANTHROPIC_API_KEY`, `OPENAI_API_KEY`, … | API keys of model providers, under each provider's own name |
//! | `PROVOST_SERVER` | the daemon of `provost runtime` (`--server`) |
//! | `PROVOST_TOKEN` | the token of `provost runtime`, if `--token-file` names none |
//! | `PROVOST_KERNEL_IDLE_MINUTES` | minutes after which a kernel without daemon and work exits |

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{Context, anyhow, bail};
use etcetera::BaseStrategy;
use provost_core::redact::Secrets;
use serde::{Deserialize, Serialize};

use crate::args::{Cli, CliCommand};
use crate::output;

mod log_archive;
mod log_quota;
mod models;
mod sandbox_folders;
mod telemetry;

use log_archive::LogArchiveSection;
use log_quota::LogQuotaSection;
pub(crate) use models::ModelsConfig;
use models::ModelsSection;
pub(crate) use sandbox_folders::SandboxFolders;
pub(crate) use telemetry::TelemetrySection;

/// The layer that a value comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum ConfigSource {
    /// Built in.
    Default,
    /// `config.toml`.
    File,
    /// A `PROVOST_…` variable.
    Environment,
    /// A command-line option.
    Flag,
}

/// A value and its source.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct ConfigValue<T> {
    pub(crate) value: T,
    pub(crate) source: ConfigSource,
}

/// The configuration, resolved.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Config {
    /// Path of `config.toml`, which need not exist.
    pub(crate) file: PathBuf,
    pub(crate) data: ConfigValue<PathBuf>,
    pub(crate) listen: ConfigValue<SocketAddr>,
    pub(crate) allow_hosts: ConfigValue<Vec<String>>,
    /// First port of the previews; none by default.
    pub(crate) preview_port: ConfigValue<Option<u16>>,
    pub(crate) log: ConfigValue<String>,
    pub(crate) kernel_idle_minutes: ConfigValue<u64>,
    /// File with the user's own rules, which need not exist.
    pub(crate) policy: ConfigValue<PathBuf>,
    /// Minutes until a pending approval expires.
    pub(crate) approval_minutes: ConfigValue<u64>,
    /// How much agents may add to the log.
    pub(crate) log_quota: LogQuotaSection,
    /// When older events move into segment files.
    pub(crate) log_archive: LogArchiveSection,
    /// The default model.
    pub(crate) model: ConfigValue<Option<String>>,
    /// Providers, prices, budgets and limits, without keys.
    pub(crate) models: ModelsConfig,
    /// Where telemetry of sessions is exported; nowhere by default.
    pub(crate) telemetry: Option<TelemetrySection>,
    #[serde(skip)]
    pub(crate) home: Option<PathBuf>,
    /// The user's home in `/etc/passwd`, which may differ from `HOME`.
    #[serde(skip)]
    pub(crate) passwd_home: Option<PathBuf>,
    #[serde(skip)]
    pub(crate) user: String,
    #[serde(skip)]
    pub(crate) browser: BrowserConfig,
    /// Values that are redacted wherever text is stored or streamed.
    #[serde(skip)]
    pub(crate) secrets: Secrets,
    /// Where `provost runtime` finds a daemon on another machine.
    #[serde(skip)]
    pub(crate) remote: RemoteConfig,
    #[serde(skip)]
    path: Option<OsString>,
    #[serde(skip)]
    daemon: bool,
    /// Whether a test started this process.
    #[serde(skip)]
    pub(crate) is_test: bool,
}

/// A daemon on another machine, and a token for it.
#[derive(Clone, Default)]
pub(crate) struct RemoteConfig {
    pub(crate) server: Option<String>,
    pub(crate) token: Option<String>,
}

impl RemoteConfig {
    fn read() -> anyhow::Result<Self> {
        Ok(Self { server: read_env("PROVOST_SERVER")?, token: read_env("PROVOST_TOKEN")? })
    }
}

impl std::fmt::Debug for RemoteConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RemoteConfig").field("server", &self.server).finish_non_exhaustive()
    }
}

/// Whether a browser can be opened, and the preferred one.
#[derive(Debug, Clone, Default)]
pub(crate) struct BrowserConfig {
    pub(crate) display: bool,
    pub(crate) preferred: Option<String>,
}

/// The content of `config.toml`. An unknown key is an error, so that a typo is found.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct ConfigFile {
    data: Option<PathBuf>,
    listen: Option<String>,
    allow_hosts: Option<Vec<String>>,
    preview_port: Option<u16>,
    log: Option<String>,
    kernel_idle_minutes: Option<u64>,
    policy: Option<PathBuf>,
    approval_minutes: Option<u64>,
    log_quota: Option<LogQuotaSection>,
    log_archive: Option<LogArchiveSection>,
    model: Option<String>,
    providers: Option<BTreeMap<String, toml::Value>>,
    prices: Option<PathBuf>,
    budget: Option<models::BudgetSection>,
    turn: Option<models::TurnSection>,
    telemetry: Option<TelemetrySection>,
}

impl ConfigFile {
    /// Takes the settings of models out of the file.
    fn take_models(&mut self) -> ModelsSection {
        ModelsSection {
            providers: self.providers.take().unwrap_or_default(),
            prices: self.prices.take(),
            budget: self.budget.unwrap_or_default(),
            turn: self.turn.unwrap_or_default(),
        }
    }
}

impl Config {
    /// Merges the layers. If the file is invalid, commands that look after the daemon print a
    /// warning and continue without it: a running daemon can always be stopped.
    pub(crate) fn resolve(cli: &Cli) -> anyhow::Result<Self> {
        match Self::from_layers(cli, read_config_file) {
            Err(error) if cli.command.tolerates_broken_config() => {
                let config = Self::from_layers(cli, |_, _| Ok(ConfigFile::default()))?;
                output::print_warning(&error.context(
                    "continuing without config.toml\nhint: if it sets the data folder, pass it \
                     with --data",
                ));
                Ok(config)
            }
            resolved => resolved,
        }
    }

    fn from_layers(
        cli: &Cli,
        read: impl FnOnce(&Path, MissingFilePolicy) -> anyhow::Result<ConfigFile>,
    ) -> anyhow::Result<Self> {
        let base_dirs = etcetera::choose_base_strategy();
        let config_dir = base_dirs.as_ref().ok().map(etcetera::BaseStrategy::config_dir);
        let (file, missing) = locate_config_file(config_dir);
        let mut written = read(&file, missing)?;
        let models = written.take_models();
        let keys = models.collect_secrets(written.telemetry.as_ref());
        let models = ModelsConfig::resolve(models, &file)?;
        let policy = file.with_file_name("policy.toml");
        let default_data = base_dirs.as_ref().map(|dirs| dirs.data_dir().join("provost"));
        let data = resolve_data_folder(default_data.ok(), written.data, cli)?;
        let serve = cli.command.serve_args().cloned().unwrap_or_default();
        let listen = merge_layers(
            default_listen_address().to_string(),
            written.listen,
            read_env("PROVOST_LISTEN")?,
            serve.listen.map(|address| address.to_string()),
        );
        let listen = resolve_listen_address(&listen, &file, cli)?;
        let set = read_env("PROVOST_MODEL")?;
        let config = Self {
            model: merge_layers(None, written.model.map(Some), set.map(Some), None),
            models,
            telemetry: written.telemetry,
            file,
            data,
            listen,
            allow_hosts: resolve_allow_hosts(written.allow_hosts, serve.allow_hosts)?,
            preview_port: resolve_preview_port(written.preview_port, serve.preview_port)?,
            log: merge_layers("info".to_owned(), written.log, read_env("PROVOST_LOG")?, serve.log),
            kernel_idle_minutes: merge_layers(
                10,
                written.kernel_idle_minutes,
                read_env("PROVOST_KERNEL_IDLE_MINUTES")?,
                None,
            ),
            policy: merge_layers(policy, written.policy, read_env("PROVOST_POLICY")?, None),
            approval_minutes: merge_layers(
                15,
                written.approval_minutes,
                read_env("PROVOST_APPROVAL_MINUTES")?,
                None,
            ),
            log_quota: written.log_quota.unwrap_or_default(),
            log_archive: written.log_archive.unwrap_or_default(),
            home: base_dirs.ok().map(|base_dirs| base_dirs.home_dir().to_owned()),
            passwd_home: parse_passwd_home(&fs::read_to_string("/etc/passwd").unwrap_or_default()),
            user: detect_user_name(),
            browser: detect_browser(),
            secrets: keys.iter().fold(collect_env_secrets(), |all, key| {
                all.with_secret("a key of config.toml", key)
            }),
            remote: RemoteConfig::read()?,
            path: env::var_os("PATH"),
            daemon: matches!(cli.command, CliCommand::Serve(_)),
            // The variable is set by the test runner.
            is_test: cfg!(debug_assertions) && env::var_os("NEXTEST").is_some(),
        };
        config.validate()?;
        Ok(config)
    }

    /// The first of these programs that is found in `PATH`.
    pub(crate) fn find_program(&self, names: &[&str]) -> Option<PathBuf> {
        let folders = || self.path.iter().flat_map(env::split_paths);
        names.iter().find_map(|name| folders().map(|f| f.join(name)).find(|file| file.is_file()))
    }

    /// The folders of `PATH`.
    pub(crate) fn search_path(&self) -> Vec<PathBuf> {
        self.path.iter().flat_map(env::split_paths).collect()
    }

    /// Worker threads of the async runtime. The daemon leaves the processors to the work
    /// it supervises; a client waits for one response.
    pub(crate) fn worker_threads(&self) -> usize {
        if self.daemon { 2 } else { 1 }
    }

    fn validate(&self) -> anyhow::Result<()> {
        // An empty name would accept requests without a host name.
        let invalid = |name: &str| {
            name.is_empty() || name.chars().any(|c| c.is_whitespace() || c.is_control() || c == '/')
        };
        if let Some(name) = self.allow_hosts.value.iter().find(|name| invalid(name)) {
            let setting = match self.allow_hosts.source {
                ConfigSource::Default => "the defaults",
                ConfigSource::File => "`allow_hosts` in config.toml",
                ConfigSource::Environment => "PROVOST_ALLOW_HOSTS",
                ConfigSource::Flag => "--allow-host",
            };
            bail!(
                "{setting} contains `{name}`, which is not a host name\nhint: write it as in the \
                 address bar, without scheme and port, or remove it"
            );
        }
        if !(1..=7 * 24 * 60).contains(&self.approval_minutes.value) {
            bail!(
                "approval_minutes is {}, but approvals expire after 1 minute to 7 days\n\
                 hint: set it in config.toml or with PROVOST_APPROVAL_MINUTES",
                self.approval_minutes.value
            );
        }
        self.log_quota.to_limits()?;
        self.log_archive.to_settings()?;
        if !self.listen.value.ip().is_loopback() && self.allow_hosts.value.is_empty() {
            bail!(
                "listening on {} makes Provost reachable from other machines, and the host name \
                 they use is not configured\nhint: add --allow-host NAME with that name, and use \
                 a reverse proxy with TLS",
                self.listen.value
            );
        }
        Ok(())
    }
}

/// The configuration file: named by `PROVOST_CONFIG`, or the default, which may be missing.
fn locate_config_file(config_dir: Option<PathBuf>) -> (PathBuf, MissingFilePolicy) {
    let named = env::var_os("PROVOST_CONFIG").filter(|path| !path.is_empty());
    if let Some(path) = named {
        return (PathBuf::from(path), MissingFilePolicy::Fail);
    }
    let config_dir = config_dir.map(|dir| dir.join("provost"));
    let config_dir = config_dir.unwrap_or_else(|| PathBuf::from("/etc/provost"));
    (config_dir.join("config.toml"), MissingFilePolicy::UseDefaults)
}

fn resolve_allow_hosts(
    file: Option<Vec<String>>,
    flag: Option<Vec<String>>,
) -> anyhow::Result<ConfigValue<Vec<String>>> {
    let listed = |names: String| names.split(',').map(|name| name.trim().to_owned()).collect();
    Ok(merge_layers(Vec::new(), file, read_env("PROVOST_ALLOW_HOSTS")?.map(listed), flag))
}

fn resolve_preview_port(
    file: Option<u16>,
    flag: Option<u16>,
) -> anyhow::Result<ConfigValue<Option<u16>>> {
    let set = read_env("PROVOST_PREVIEW_PORT")?;
    Ok(merge_layers(None, file.map(Some), set.map(Some), flag.map(Some)))
}

fn resolve_listen_address(
    text: &ConfigValue<String>,
    file: &Path,
    cli: &Cli,
) -> anyhow::Result<ConfigValue<SocketAddr>> {
    match parse_listen_address(text, file) {
        Ok(address) => Ok(ConfigValue { value: address, source: text.source }),
        // Other commands read the address from the data folder, so this one does not matter.
        Err(_) if !cli.command.needs_listen_address() => {
            Ok(merge_layers(default_listen_address(), None, None, None))
        }
        Err(error) => Err(error),
    }
}

fn default_listen_address() -> SocketAddr {
    (Ipv4Addr::LOCALHOST, 3001).into()
}

fn merge_layers<T>(
    default: T,
    file: Option<T>,
    environment: Option<T>,
    flag: Option<T>,
) -> ConfigValue<T> {
    let (value, source) = match (flag, environment, file) {
        (Some(value), _, _) => (value, ConfigSource::Flag),
        (None, Some(value), _) => (value, ConfigSource::Environment),
        (None, None, Some(value)) => (value, ConfigSource::File),
        (None, None, None) => (default, ConfigSource::Default),
    };
    ConfigValue { value, source }
}

/// Parses the address; the error names the setting it comes from.
fn parse_listen_address(listen: &ConfigValue<String>, file: &Path) -> anyhow::Result<SocketAddr> {
    let text = &listen.value;
    text.parse().map_err(|_| {
        let setting = match listen.source {
            ConfigSource::Default | ConfigSource::Flag => "--listen".to_owned(),
            ConfigSource::Environment => "the variable PROVOST_LISTEN".to_owned(),
            ConfigSource::File => format!("`listen` in {}", file.display()),
        };
        anyhow!(
            "{setting} is `{text}`, which is not an address to listen on\n\
             hint: it is an IP address and a port, such as 127.0.0.1:3001 or [::1]:3001"
        )
    })
}

/// An environment variable, if it is set and not empty.
fn read_env<T: FromStr>(name: &str) -> anyhow::Result<Option<T>>
where
    T::Err: std::error::Error + Send + Sync + 'static,
{
    match env::var(name) {
        Ok(text) if text.is_empty() => Ok(None),
        Ok(text) => {
            let value =
                text.parse().with_context(|| format!("{name} has the invalid value `{text}`"))?;
            Ok(Some(value))
        }
        Err(env::VarError::NotPresent) => Ok(None),
        Err(env::VarError::NotUnicode(_)) => bail!("{name} is not UTF-8"),
    }
}

/// What to do if the file does not exist.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MissingFilePolicy {
    /// The file is optional.
    UseDefaults,
    /// The user named the file, so it must exist.
    Fail,
}

fn read_config_file(file: &Path, missing: MissingFilePolicy) -> anyhow::Result<ConfigFile> {
    match fs::read_to_string(file) {
        Ok(text) => {
            toml::from_str(&text).with_context(|| format!("cannot parse {}", file.display()))
        }
        Err(error)
            if error.kind() == io::ErrorKind::NotFound
                && missing == MissingFilePolicy::UseDefaults =>
        {
            Ok(ConfigFile::default())
        }
        Err(error) => Err(error).with_context(|| format!("cannot read {}", file.display())),
    }
}

fn resolve_data_folder(
    default: Option<PathBuf>,
    file: Option<PathBuf>,
    cli: &Cli,
) -> anyhow::Result<ConfigValue<PathBuf>> {
    let default = default.unwrap_or_default();
    let data = merge_layers(default, file, read_env("PROVOST_DATA")?, cli.data.clone());
    Ok(ConfigValue { value: make_absolute(&data.value)?, ..data })
}

fn make_absolute(path: &Path) -> anyhow::Result<PathBuf> {
    if path.as_os_str().is_empty() {
        bail!(
            "there is no home folder to store data in\nhint: set HOME, or pass a folder with --data"
        );
    }
    std::path::absolute(path).with_context(|| format!("`{}` is not a valid path", path.display()))
}

/// The home of the current user in the text of `/etc/passwd`.
fn parse_passwd_home(passwd: &str) -> Option<PathBuf> {
    let own = rustix::process::getuid().as_raw().to_string();
    passwd.lines().find_map(|line| {
        let mut fields = line.split(':');
        let (uid, home) = (fields.nth(2)?, fields.nth(2)?);
        (uid == own && home.len() > 1 && home.starts_with('/')).then(|| PathBuf::from(home))
    })
}

fn detect_user_name() -> String {
    let named = ["USER", "LOGNAME"].into_iter().find_map(|name| env::var(name).ok());
    let named = named.filter(|name| !name.is_empty() && !name.chars().any(char::is_control));
    named.unwrap_or_else(|| format!("uid{}", rustix::process::getuid().as_raw()))
}

/// The environment variables that hold secrets. Values that are not UTF-8 are skipped:
/// redaction works on text.
fn collect_env_secrets() -> Secrets {
    let text = |(name, value): (OsString, OsString)| {
        Some((name.into_string().ok()?, value.into_string().ok()?))
    };
    Secrets::from_environment(env::vars_os().filter_map(text))
}

fn detect_browser() -> BrowserConfig {
    let set = |name| env::var_os(name).is_some_and(|value| !value.is_empty());
    BrowserConfig {
        display: set("DISPLAY") || set("WAYLAND_DISPLAY") || set("BROWSER"),
        preferred: env::var("BROWSER").ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    #[test]
    fn the_home_of_this_user_is_found_in_passwd() {
        let uid = rustix::process::getuid().as_raw();
        let other = uid + 1;
        let passwd = format!(
            "broken\nann:x:{other}:7:Ann:/home/ann:/bin/sh\nme:x:{uid}:9:Me:/home/me:/bin/sh\n"
        );
        assert_eq!(parse_passwd_home(&passwd), Some(PathBuf::from("/home/me")));
        assert_eq!(
            parse_passwd_home(&format!("me:x:{uid}:9::/:/bin/sh")),
            None,
            "a service account"
        );
        assert_eq!(parse_passwd_home(""), None);
    }

    /// The keys that would have been taken in place of an unknown one.
    #[track_caller]
    fn keys(text: &str) -> String {
        let error = toml::from_str::<ConfigFile>(text).unwrap_err().to_string();
        let (_, expected) = error.split_once("expected ").unwrap();
        expected.split('`').skip(1).step_by(2).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn the_configuration_file_keeps_its_keys() {
        expect!["data listen allow_hosts preview_port log kernel_idle_minutes policy approval_minutes log_quota log_archive model providers prices budget turn telemetry"].assert_eq(&keys("zzz = 1"));
        expect!["session_usd session_tokens project_usd day_usd"]
            .assert_eq(&keys("[budget]\nzzz = 1"));
        expect!["calls tokens usd minutes compact_at"].assert_eq(&keys("[turn]\nzzz = 1"));
        expect!["token_mib token_kib_per_second project_mib project_kib_per_second log_mib"]
            .assert_eq(&keys("[log_quota]\nzzz = 1"));
        expect!["age_days size_mib"].assert_eq(&keys("[log_archive]\nzzz = 1"));
        expect!["endpoint content headers"].assert_eq(&keys("[telemetry]\nzzz = 1"));
    }

    fn value<T>(value: T, source: ConfigSource) -> ConfigValue<T> {
        ConfigValue { value, source }
    }

    #[test]
    fn the_printed_configuration_keeps_its_fields() {
        let text = "prices = 'p'\n[budget]\nday_usd = 1.5\n[turn]\ncompact_at = 7\n\
                    [telemetry]\nendpoint = 'http://x'\nheaders = { A = 'secret' }";
        let mut file: ConfigFile = toml::from_str(text).unwrap();
        let mut models =
            ModelsConfig::resolve(file.take_models(), Path::new("config.toml")).unwrap();
        // Which are ready depends on the keys in the environment.
        models.ready = vec!["anthropic".to_owned()];
        let config = Config {
            file: PathBuf::from("config.toml"),
            data: value(PathBuf::from("data"), ConfigSource::Default),
            listen: value("127.0.0.1:3001".parse().unwrap(), ConfigSource::File),
            allow_hosts: value(vec!["h".to_owned()], ConfigSource::Environment),
            preview_port: value(Some(4000), ConfigSource::Flag),
            log: value("info".to_owned(), ConfigSource::Default),
            kernel_idle_minutes: value(1, ConfigSource::Default),
            policy: value(PathBuf::from("policy.toml"), ConfigSource::Default),
            approval_minutes: value(2, ConfigSource::Default),
            log_quota: LogQuotaSection::default(),
            log_archive: LogArchiveSection::default(),
            model: value(None, ConfigSource::Default),
            models,
            telemetry: file.telemetry,
            home: None,
            passwd_home: None,
            user: String::new(),
            browser: BrowserConfig::default(),
            secrets: Secrets::default(),
            remote: RemoteConfig::default(),
            path: None,
            daemon: false,
            is_test: false,
        };
        expect![[r#"{"file":"config.toml","data":{"value":"data","source":"default"},"listen":{"value":"127.0.0.1:3001","source":"file"},"allowHosts":{"value":["h"],"source":"environment"},"previewPort":{"value":4000,"source":"flag"},"log":{"value":"info","source":"default"},"kernelIdleMinutes":{"value":1,"source":"default"},"policy":{"value":"policy.toml","source":"default"},"approvalMinutes":{"value":2,"source":"default"},"logQuota":{"tokenMib":null,"tokenKibPerSecond":null,"projectMib":null,"projectKibPerSecond":null,"logMib":null},"logArchive":{"ageDays":null,"sizeMib":null},"model":{"value":null,"source":"default"},"models":{"ready":["anthropic"],"prices":"p","budget":{"sessionUsd":null,"sessionTokens":null,"projectUsd":null,"dayUsd":1.5},"turn":{"calls":null,"tokens":null,"usd":null,"minutes":null,"compactAt":7}},"telemetry":{"endpoint":"http://x","content":false}}"#]].assert_eq(&serde_json::to_string(&config).unwrap());
    }
}
