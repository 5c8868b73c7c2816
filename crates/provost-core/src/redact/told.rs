//! Where well-known programs are told a password: after which option, or in
//! which place. Of `-p`, only the program says whether it is a password, a port
//! or a folder, so each is named here.

/// How a secret follows an option.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// In the same word: `mysql -pSECRET`. The next word is something else.
    Joined,
    /// As the next word: `redis-cli -a SECRET`.
    Next,
    /// Either.
    Either,
    /// Either, behind a colon: `curl -u ann:SECRET`.
    AfterColon,
    /// Either, if it is no file: `curl -b name=SECRET`.
    Cookie,
    /// Either, behind a percent sign: `smbclient -U ann%SECRET`.
    AfterPercent,
    /// Either, behind `pass:`: `openssl -passin pass:SECRET`.
    AfterPass,
}

/// Options of some programs.
struct Row {
    programs: &'static str,
    /// A word that must stand among the others: `docker login`, but not `docker run`.
    with: Option<&'static str>,
    options: &'static str,
    form: Form,
}

const ROWS: &[Row] = &[
    row(
        "mysql mysqldump mysqladmin mysqlimport mysqlcheck mysqlshow mysqlslap mysqlbinlog mysqlsh \
         mariadb mariadb-dump mariadb-admin mariadb-import mycli",
        "-p",
        Form::Joined,
    ),
    Row {
        programs: "docker podman nerdctl buildah skopeo helm oc az cf oras crane",
        with: Some("login"),
        options: "-p",
        form: Form::Either,
    },
    row("redis-cli valkey-cli", "-a --pass", Form::Next),
    row("sshpass", "-p", Form::Either),
    row("curl", "-u -U --user --proxy-user -E --cert", Form::AfterColon),
    row("curl", "-b --cookie", Form::Cookie),
    row("curl", "--pass --oauth2-bearer --proxy-pass --tlspassword", Form::Either),
    row("http https xh xhs", "-a --auth", Form::AfterColon),
    row("openssl", "-passin -passout -pass -password -kdfopt -macopt", Form::AfterPass),
    row("openssl", "-k -K -psk -srppass", Form::Next),
    row("apksigner", "--ks-pass --key-pass", Form::AfterPass),
    row("unzip zip zipcloak", "-P --password", Form::Either),
    row("7z 7za 7zz 7zr rar unrar", "-p -hp", Form::Joined),
    row(
        "ldapsearch ldapmodify ldapadd ldapdelete ldapwhoami ldapcompare ldapmodrdn ldapexop ldappasswd",
        "-w",
        Form::Either,
    ),
    row("ldappasswd", "-s -a", Form::Either),
    row(
        "mongo mongosh mongodump mongorestore mongoexport mongoimport mongostat",
        "-p",
        Form::Either,
    ),
    row("sqlcmd bcp", "-P", Form::Either),
    row("cqlsh rdesktop xfreerdp hydra ncftpput ncftpget", "-p", Form::Either),
    row("smbclient rpcclient smbget net", "-U --user", Form::AfterPercent),
    row(
        "keytool jarsigner",
        "-storepass -keypass -destkeypass -deststorepass -srcstorepass",
        Form::Next,
    ),
    row("ssh-keygen", "-N -P", Form::Next),
    row("useradd usermod", "-p", Form::Either),
    row("gpg gpg2 borg restic", "--passphrase", Form::Next),
    row("influx", "-password", Form::Next),
    row("vncviewer x11vnc", "-passwd", Form::Next),
    row("sqlplus isql", "-P", Form::Either),
    Row { programs: "gh", with: Some("secret"), options: "-b --body", form: Form::Either },
];

const fn row(programs: &'static str, options: &'static str, form: Form) -> Row {
    Row { programs, with: None, options, form }
}

/// Programs whose last word is one, if the first of these options is there: `htpasswd -b f ann SECRET`.
const LAST: &[(&str, Option<char>)] =
    &[("htpasswd", Some('b')), ("wpa_passphrase", None), ("rclone", None), ("vault", None)];

/// The passwords that the words of one command tell, each with what it is.
pub(super) fn passwords(words: &[&str]) -> Vec<(String, String)> {
    let mut found = Vec::new();
    // It may stand behind others: `sudo mysql`, `docker exec db mysql`.
    for (at, word) in words.iter().enumerate() {
        let program = word.rsplit('/').next().unwrap_or(word);
        let rest = &words[at + 1..];
        for row in ROWS.iter().filter(|row| is_one_of(row.programs, program)) {
            if row.with.is_none_or(|with| is_subcommand(with, rest)) {
                let values = row.values(rest).into_iter();
                found.extend(values.map(|value| (format!("password of {program}"), value)));
            }
        }
        let last = LAST.iter().find(|(name, _)| *name == program);
        if let Some(value) = last.and_then(|(_, letter)| last_word(program, *letter, rest)) {
            found.push((format!("password of {program}"), value));
        }
    }
    // What is not known yet is no secret.
    found.retain(|(_, value)| !value.starts_with(['$', '`']) && !value.is_empty());
    found
}

/// The program of a command that reads a password from what it is given.
pub(super) fn reads_password<'a>(words: &[&'a str]) -> Option<&'a str> {
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

impl Row {
    fn values(&self, words: &[&str]) -> Vec<String> {
        let mut found = Vec::new();
        for (at, word) in words.iter().enumerate() {
            let next = words.get(at + 1).copied();
            for option in self.options.split_ascii_whitespace() {
                let Some(rest) = word.strip_prefix(option) else { continue };
                let value = match (rest, self.form) {
                    ("", Form::Joined) => None,
                    ("", _) => next,
                    (_, Form::Next) => None,
                    // `--cookie=x`, `-p=x`.
                    (rest, _) => match rest.strip_prefix('=') {
                        Some(value) => Some(value),
                        // Of a long option nothing is left over but `=`.
                        None if option.len() > 2 && self.form != Form::Joined => None,
                        None => Some(rest),
                    },
                };
                found.extend(value.and_then(|value| self.form.secret(value)).map(str::to_owned));
            }
        }
        found
    }
}

impl Form {
    /// The secret in what an option is given.
    fn secret(self, value: &str) -> Option<&str> {
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

/// The last word of what is given to a program, if it is a password there.
fn last_word(program: &str, letter: Option<char>, words: &[&str]) -> Option<String> {
    let is_there = |letter: char| {
        words
            .iter()
            .any(|word| word.starts_with('-') && !word.starts_with("--") && word.contains(letter))
    };
    let operands: Vec<&&str> = words.iter().filter(|word| !word.starts_with('-')).collect();
    let said = match (program, operands.as_slice()) {
        ("rclone", [first, ..]) => **first == "obscure",
        ("vault", [first, ..]) => **first == "login",
        _ => letter.is_none_or(is_there),
    };
    let enough = operands.len() > 1;
    operands.last().filter(|_| said && enough).map(|word| (**word).to_owned())
}

/// Whether this is one of the first two words that are no options: `helm registry login`.
fn is_subcommand(name: &str, words: &[&str]) -> bool {
    words.iter().filter(|word| !word.starts_with('-')).take(2).any(|word| *word == name)
}

fn is_one_of(names: &str, name: &str) -> bool {
    names.split_ascii_whitespace().any(|known| known == name)
}
