//! Which values are secrets.
//!
//! The name of the variable decides. A value that is short, or is a word, a number or a path, is
//! not a secret: redacting it would hide half of the output.

use std::cmp::Reverse;
use std::collections::HashSet;
use std::fmt;

use provost_proto::kernel::KnownSecret;

/// The shortest secret, in bytes.
const MIN_SECRET_BYTES: usize = 8;

/// The most secrets. The longest are kept: they are the least likely to be ordinary words.
const MAX_SECRETS: usize = 256;

/// Parts of names that indicate a secret.
const SECRET_NAME_PARTS: &[&str] = &[
    "KEY",
    "TOKEN",
    "SECRET",
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "CREDENTIAL",
    "AUTH",
    "PRIVATE",
    "DSN",
    "WEBHOOK",
    "COOKIE",
];

/// Whole names that indicate a secret.
const SECRET_NAMES: &[&str] =
    &["PGPASS", "MYSQL_PWD", "DATABASE_URL", "GH_PAT", "GITHUB_PAT", "NPM_PAT"];

/// Parts of names that only look like it; they are removed first.
const MISLEADING_NAME_PARTS: &[&str] = &[
    "SSH_AUTH_SOCK",
    "AUTHOR_",
    "AUTHORS",
    "KEYBOARD",
    "KEYMAP",
    "KEYRING",
    "PUBLIC_KEY",
    "MONKEY",
    "HOTKEY",
];

/// Common values of eight bytes and more that are not secrets.
const COMMON_VALUES: &[&str] = &[
    "anonymous",
    "changeme",
    "changeit",
    "default1",
    "developer",
    "development",
    "disabled",
    "explicit",
    "external",
    "localhost",
    "optional",
    "password",
    "postgres",
    "postgresql",
    "production",
    "provided",
    "required",
    "undefined",
    "username",
];

/// Secret values, each with the name of its source.
///
/// `{:?}` shows only how many there are.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secrets {
    known: Vec<KnownSecret>,
    omitted: usize,
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secrets({})", self.known.len())
    }
}

impl Secrets {
    /// The secrets in an environment.
    pub fn from_environment(variables: impl IntoIterator<Item = (String, String)>) -> Self {
        let secrets = variables.into_iter().flat_map(|(name, value)| {
            let values = secrets_in_value(&name, &value);
            values.into_iter().map(move |value| KnownSecret { name: name.clone(), value })
        });
        Self::new(secrets)
    }

    /// These values, except those that look like ordinary text.
    pub fn new(secrets: impl IntoIterator<Item = KnownSecret>) -> Self {
        let mut known: Vec<_> =
            secrets.into_iter().filter(|secret| is_distinctive(&secret.value)).collect();
        known.sort_by_key(|secret| Reverse(secret.value.len()));
        let mut seen = HashSet::new();
        known.retain(|secret| seen.insert(secret.value.clone()));
        let omitted = known.len().saturating_sub(MAX_SECRETS);
        known.truncate(MAX_SECRETS);
        Self { known, omitted }
    }

    /// Adds one secret.
    #[must_use]
    pub fn with_secret(self, name: &str, value: &str) -> Self {
        let more = KnownSecret { name: name.to_owned(), value: value.to_owned() };
        let left_out = self.omitted;
        let mut all = Self::new(self.known.into_iter().chain([more]));
        all.omitted += left_out;
        all
    }

    /// The secrets, the longest first.
    pub fn known(&self) -> &[KnownSecret] {
        &self.known
    }

    /// How many were dropped because of the limit.
    pub fn omitted_count(&self) -> usize {
        self.omitted
    }
}

/// The secret parts of a variable's value.
fn secrets_in_value(name: &str, value: &str) -> Vec<String> {
    let (name, value) = (name.to_ascii_uppercase(), value.trim());
    let telling = is_secret_name(&name);
    if let Some(user) = url_userinfo(value) {
        // In the DSN of some services, the user of the URL is the secret.
        let secret = user.split_once(':').map(|(_, password)| password);
        let secret = secret.or(name.contains("DSN").then_some(user));
        let decoded = secret.map(percent_decode);
        return secret.map(str::to_owned).into_iter().chain(decoded).collect();
    }
    let is_url = value.contains("://") && !name.contains("WEBHOOK") && !name.contains("SECRET");
    if !telling || is_url {
        return Vec::new();
    }
    if let Some(password) = dsn_password(value) {
        return vec![password.to_owned()];
    }
    vec![value.to_owned()]
}

fn is_secret_name(name: &str) -> bool {
    let plain =
        MISLEADING_NAME_PARTS.iter().fold(name.to_owned(), |name, part| name.replace(part, ""));
    let plain = plain.strip_suffix("AUTHOR").unwrap_or(&plain);
    SECRET_NAMES.contains(&plain) || SECRET_NAME_PARTS.iter().any(|part| plain.contains(part))
}

/// The part of a URL before the `@`.
fn url_userinfo(value: &str) -> Option<&str> {
    let (_, rest) = value.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    // A password that is not encoded may contain a slash.
    let (user, _) = authority.rsplit_once('@').or_else(|| rest.rsplit_once('@'))?;
    Some(user)
}

/// The password in `host=… password=…`.
fn dsn_password(value: &str) -> Option<&str> {
    let parts = value.split([' ', ';']).filter_map(|part| part.split_once('='));
    let is_password = |name: &str| ["password", "pwd"].contains(&name.to_lowercase().as_str());
    parts.into_iter().find(|(name, _)| is_password(name)).map(|(_, password)| password)
}

/// Decodes a part of a URL.
fn percent_decode(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut plain = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let code = text.get(at + 1..at + 3).and_then(|code| u8::from_str_radix(code, 16).ok());
        if let Some(code) = code.filter(|_| byte == b'%') {
            plain.push(code);
            at += 3;
        } else {
            plain.push(byte);
            at += 1;
        }
    }
    String::from_utf8_lossy(&plain).into_owned()
}

/// Whether a value can be distinguished from ordinary text.
fn is_distinctive(value: &str) -> bool {
    let distinct: HashSet<_> = value.bytes().collect();
    value.len() >= MIN_SECRET_BYTES
        && distinct.len() > 3
        && !value.bytes().all(|byte| byte.is_ascii_digit())
        && !COMMON_VALUES.contains(&value.to_ascii_lowercase().as_str())
        && !is_path(value)
}

/// Whether this is a path. Base64 may begin with a slash too, so a part that looks random is not
/// part of a path.
fn is_path(value: &str) -> bool {
    let random = |part: &str| {
        let has = |is: fn(&u8) -> bool| part.as_bytes().iter().any(is);
        part.len() >= 12
            && has(u8::is_ascii_lowercase)
            && has(u8::is_ascii_uppercase)
            && has(u8::is_ascii_digit)
    };
    ["/", "./", "../", "~/"].iter().any(|start| value.starts_with(start))
        && !value.split('/').any(random)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(name: &str, value: &str, expected: &[&str]) {
        let found = Secrets::from_environment([(name.to_owned(), value.to_owned())]);
        let values: Vec<_> = found.known().iter().map(|known| known.value.as_str()).collect();
        assert_eq!(values, expected, "{name}={value}");
    }

    #[test]
    fn a_variable_is_a_secret_by_its_name_and_its_value() {
        let random = "s3cr3t-Value-42";
        for name in [
            "OPENAI_API_KEY",
            "ANTHROPIC_API_KEY",
            "AWS_SECRET_ACCESS_KEY",
            "GITHUB_TOKEN",
            "gh_token",
            "npm_config__authToken",
            "PGPASSWORD",
            "MYSQL_PWD",
            "GITHUB_PAT",
            "SUDO_PASSWD",
            "GPG_PASSPHRASE",
            "GOOGLE_CREDENTIALS",
            "BASIC_AUTH",
            "AUTHORIZATION",
            "SSH_PRIVATE",
            "APIKEY",
        ] {
            check(name, random, &[random]);
        }
        for name in [
            "PATH",
            "LANG",
            "GIT_AUTHOR_NAME",
            "CARGO_PKG_AUTHORS",
            "AUTHOR",
            "SSH_AUTH_SOCK",
            "KEYBOARD_LAYOUT",
            "MINISIGN_PUBLIC_KEY",
            "EDITOR",
        ] {
            check(name, random, &[]);
        }
    }

    #[test]
    fn what_cannot_be_told_from_ordinary_text_is_no_secret() {
        for value in [
            "",
            "true",
            "short",
            "seven77",
            "12345678901234",
            "/usr/bin",
            "~/.config/keys/id",
            "/run/user/1000/keyring",
            "password",
            "Changeme",
            "xxxxxxxxxxxx",
            "        ",
        ] {
            check("SOME_KEY", value, &[]);
        }
        let base64 = "/Kx9bR7mPq2LwT4vZs8YnD3fJ6hC1gA5eU0iOkXl";
        check("SOME_KEY", base64, &[base64]);
        check("SOME_KEY", "  padded-v4lue\n", &["padded-v4lue"]);
    }

    #[test]
    fn of_a_url_the_password_is_the_secret_whatever_the_variable_is_called() {
        check("DATABASE_URL", "postgres://ann:hunter2-hunter@db:5432/app", &["hunter2-hunter"]);
        check("REDIS_URL", "redis://:p%40ssw0rd-x@cache/0", &["p%40ssw0rd-x", "p@ssw0rd-x"]);
        check("HTTPS_PROXY", "http://ann:pa/ss@word9@proxy:8080", &["pa/ss@word9"]);
        check("SENTRY_DSN", "https://0123abcd4567ef@sentry.io/1", &["0123abcd4567ef"]);
        check("PG_DSN", "host=db user=ann password=hunter2-hunter", &["hunter2-hunter"]);
        check("AUTH_URL", "https://auth.example.com/login", &[]);
        let hook = "https://hooks.example.com/services/T0/B0/abcdef";
        check("SLACK_WEBHOOK_URL", hook, &[hook]);
    }

    #[test]
    fn there_are_at_most_so_many_and_the_longest_stay() {
        let many = (0..300).map(|n| (format!("KEY_{n}"), format!("value-{n}-{}", "ab".repeat(n))));
        let secrets = Secrets::from_environment(many);
        assert_eq!((secrets.known().len(), secrets.omitted_count()), (MAX_SECRETS, 44));
        assert_eq!(secrets.known()[0].name, "KEY_299");
        assert_eq!(secrets.with_secret("TOKEN", &"cd12".repeat(500)).known()[0].name, "TOKEN");
    }

    #[test]
    fn no_value_is_shown_by_debug() {
        let secrets = Secrets::default().with_secret("API_KEY", "s3cr3t-Value-42");
        let shown = format!("{secrets:?} {:?}", secrets.known());
        assert!(!shown.contains("s3cr3t") && shown.contains("API_KEY"), "{shown}");
    }
}
