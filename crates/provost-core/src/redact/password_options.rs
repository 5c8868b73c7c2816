//! How well-known programs take a password: after which option, or at which position. Whether
//! `-p` is a password, a port or a folder depends on the program, so each one is listed.

/// The position of a secret relative to its option.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PasswordForm {
    /// In the same word: `mysql -pSECRET`.
    Joined,
    /// As the next word: `redis-cli -a SECRET`.
    Next,
    /// Either.
    Either,
    /// Either, after a colon: `curl -u ann:SECRET`.
    AfterColon,
    /// Either, if it is not a file: `curl -b name=SECRET`.
    Cookie,
    /// Either, after a percent sign: `smbclient -U ann%SECRET`.
    AfterPercent,
    /// Either, after `pass:`: `openssl -passin pass:SECRET`.
    AfterPass,
}

/// An option of some programs.
struct PasswordOption {
    programs: &'static str,
    /// A subcommand that must be present: `docker login`, but not `docker run`.
    with: Option<&'static str>,
    options: &'static str,
    form: PasswordForm,
}

const PASSWORD_OPTIONS: &[PasswordOption] = &[
    password_option(
        "mysql mysqldump mysqladmin mysqlimport mysqlcheck mysqlshow mysqlslap mysqlbinlog mysqlsh \
         mariadb mariadb-dump mariadb-admin mariadb-import mycli",
        "-p",
        PasswordForm::Joined,
    ),
    PasswordOption {
        programs: "docker podman nerdctl buildah skopeo helm oc az cf oras crane",
        with: Some("login"),
        options: "-p",
        form: PasswordForm::Either,
    },
    password_option("redis-cli valkey-cli", "-a --pass", PasswordForm::Next),
    password_option("sshpass", "-p", PasswordForm::Either),
    password_option("curl", "-u -U --user --proxy-user -E --cert", PasswordForm::AfterColon),
    password_option("curl", "-b --cookie", PasswordForm::Cookie),
    password_option(
        "curl",
        "--pass --oauth2-bearer --proxy-pass --tlspassword",
        PasswordForm::Either,
    ),
    password_option("http https xh xhs", "-a --auth", PasswordForm::AfterColon),
    password_option(
        "openssl",
        "-passin -passout -pass -password -kdfopt -macopt",
        PasswordForm::AfterPass,
    ),
    password_option("openssl", "-k -K -psk -srppass", PasswordForm::Next),
    password_option("apksigner", "--ks-pass --key-pass", PasswordForm::AfterPass),
    password_option("unzip zip zipcloak", "-P --password", PasswordForm::Either),
    password_option("7z 7za 7zz 7zr rar unrar", "-p -hp", PasswordForm::Joined),
    password_option(
        "ldapsearch ldapmodify ldapadd ldapdelete ldapwhoami ldapcompare ldapmodrdn ldapexop ldappasswd",
        "-w",
        PasswordForm::Either,
    ),
    password_option("ldappasswd", "-s -a", PasswordForm::Either),
    password_option(
        "mongo mongosh mongodump mongorestore mongoexport mongoimport mongostat",
        "-p",
        PasswordForm::Either,
    ),
    password_option("sqlcmd bcp", "-P", PasswordForm::Either),
    password_option("cqlsh rdesktop xfreerdp hydra ncftpput ncftpget", "-p", PasswordForm::Either),
    password_option("smbclient rpcclient smbget net", "-U --user", PasswordForm::AfterPercent),
    password_option(
        "keytool jarsigner",
        "-storepass -keypass -destkeypass -deststorepass -srcstorepass",
        PasswordForm::Next,
    ),
    password_option("ssh-keygen", "-N -P", PasswordForm::Next),
    password_option("useradd usermod", "-p", PasswordForm::Either),
    password_option("gpg gpg2 borg restic", "--passphrase", PasswordForm::Next),
    password_option("influx", "-password", PasswordForm::Next),
    password_option("vncviewer x11vnc", "-passwd", PasswordForm::Next),
    password_option("sqlplus isql", "-P", PasswordForm::Either),
    PasswordOption {
        programs: "gh",
        with: Some("secret"),
        options: "-b --body",
        form: PasswordForm::Either,
    },
];

const fn password_option(
    programs: &'static str,
    options: &'static str,
    form: PasswordForm,
) -> PasswordOption {
    PasswordOption { programs, with: None, options, form }
}

/// Programs whose last argument is a password, if this option is present: `htpasswd -b f ann
/// SECRET`.
const LAST_WORD_PROGRAMS: &[(&str, Option<char>)] =
    &[("htpasswd", Some('b')), ("wpa_passphrase", None), ("rclone", None), ("vault", None)];

/// The passwords in the words of one command, each with a name.
pub(super) fn find_passwords(words: &[&str]) -> Vec<(String, String)> {
    let mut found = Vec::new();
    // The program may be behind others: `sudo mysql`, `docker exec db mysql`.
    for (at, word) in words.iter().enumerate() {
        let program = word.rsplit('/').next().unwrap_or(word);
        let rest = &words[at + 1..];
        for row in PASSWORD_OPTIONS.iter().filter(|row| contains_word(row.programs, program)) {
            if row.with.is_none_or(|with| is_subcommand(with, rest)) {
                let values = row.find_values(rest).into_iter();
                found.extend(values.map(|value| (format!("password of {program}"), value)));
            }
        }
        let last = LAST_WORD_PROGRAMS.iter().find(|(name, _)| *name == program);
        if let Some(value) = last.and_then(|(_, letter)| last_word_password(program, *letter, rest))
        {
            found.push((format!("password of {program}"), value));
        }
    }
    // An expansion is not a secret.
    found.retain(|(_, value)| !value.starts_with(['$', '`']) && !value.is_empty());
    found
}

/// The program that reads a password from stdin.
pub(super) fn password_stdin_program<'a>(words: &[&'a str]) -> Option<&'a str> {
    const OPTIONS: [&str; 5] =
        ["--password-stdin", "--with-token", "--passphrase-fd", "--token-stdin", "--stdin"];
    let name = words.first().map(|word| word.rsplit('/').next().unwrap_or(word))?;
    let reads = match name {
        "chpasswd" => true,
        "sudo" => words.contains(&"-S"),
        _ => words.iter().any(|word| OPTIONS.contains(word)),
    };
    reads.then_some(name)
}

impl PasswordOption {
    fn find_values(&self, words: &[&str]) -> Vec<String> {
        let mut found = Vec::new();
        for (at, word) in words.iter().enumerate() {
            let next = words.get(at + 1).copied();
            for option in self.options.split_ascii_whitespace() {
                let Some(rest) = word.strip_prefix(option) else { continue };
                let value = match (rest, self.form) {
                    ("", PasswordForm::Joined) => None,
                    ("", _) => next,
                    (_, PasswordForm::Next) => None,
                    // `--cookie=x`, `-p=x`.
                    (rest, _) => match rest.strip_prefix('=') {
                        Some(value) => Some(value),
                        // A long option is followed by `=` only.
                        None if option.len() > 2 && self.form != PasswordForm::Joined => None,
                        None => Some(rest),
                    },
                };
                found.extend(
                    value.and_then(|value| self.form.extract_secret(value)).map(str::to_owned),
                );
            }
        }
        found
    }
}

impl PasswordForm {
    /// The secret in the value of an option.
    fn extract_secret(self, value: &str) -> Option<&str> {
        match self {
            Self::Joined | Self::Next | Self::Either => Some(value),
            Self::Cookie => value.contains('=').then_some(value),
            Self::AfterColon => value.split_once(':').map(|(_, secret)| secret),
            Self::AfterPercent => value.split_once('%').map(|(_, secret)| secret),
            Self::AfterPass => {
                let names = ["pass:", "key:", "hexkey:", "hexpass:"];
                names.iter().find_map(|name| value.strip_prefix(name))
            }
        }
    }
}

/// The last argument of a program, if it is a password.
fn last_word_password(program: &str, letter: Option<char>, words: &[&str]) -> Option<String> {
    let is_there = |letter: char| {
        words
            .iter()
            .any(|word| word.starts_with('-') && !word.starts_with("--") && word.contains(letter))
    };
    let operands: Vec<&&str> = words.iter().filter(|word| !word.starts_with('-')).collect();
    let is_password = match (program, operands.as_slice()) {
        ("rclone", [first, ..]) => **first == "obscure",
        ("vault", [first, ..]) => **first == "login",
        _ => letter.is_none_or(is_there),
    };
    let enough = operands.len() > 1;
    operands.last().filter(|_| is_password && enough).map(|word| (**word).to_owned())
}

/// Whether this is one of the first two operands: `helm registry login`.
fn is_subcommand(name: &str, words: &[&str]) -> bool {
    words.iter().filter(|word| !word.starts_with('-')).take(2).any(|word| *word == name)
}

fn contains_word(names: &str, name: &str) -> bool {
    names.split_ascii_whitespace().any(|known| known == name)
}
