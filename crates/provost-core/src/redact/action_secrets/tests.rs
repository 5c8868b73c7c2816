//! Which values in an action are secrets.

use serde_json::{Value, json};

use super::find_action_secrets;

fn secrets(params: &Value) -> Vec<String> {
    find_action_secrets(params).known().iter().map(|known| known.value.clone()).collect()
}

#[test]
fn what_an_action_brings_along_under_a_telling_name_is_a_secret() {
    for params in [
        json!({ "command": "x", "env": { "API_KEY": "hunter2hunter2" } }),
        json!({ "command": "API_KEY=hunter2hunter2 x" }),
        json!({ "command": "ls; export API_KEY='hunter2hunter2'; x" }),
        json!({ "command": "env A=1 API_KEY=\"hunter2hunter2\" x" }),
        json!({ "argv": ["env", "API_KEY=hunter2hunter2", "x"] }),
        json!({ "command": "curl -H \"Authorization: Bearer hunter2hunter2\" x" }),
        json!({ "command": "curl --header='X-Api-Key: hunter2hunter2' x" }),
        json!({ "argv": ["curl", "-H", "authorization: Basic hunter2hunter2"] }),
        json!({ "command": "gh auth login --token=hunter2hunter2" }),
        json!({ "command": "x --api-key hunter2hunter2 --fast" }),
        json!({ "argv": ["x", "--password", "hunter2hunter2"] }),
        json!({ "command": "curl https://ann:hunter2hunter2@example.com/x" }),
        json!({ "command": "curl -u ann:hunter2hunter2 x" }),
        json!({ "command": "curl 'http://localhost/?api_key=hunter2hunter2'" }),
        json!({ "command": "psql 'host=x password=hunter2hunter2'" }),
        json!({ "command": "curl -d '{\"user\": \"ann\", \"password\": \"hunter2hunter2\"}' x" }),
        json!({ "command": "cat", "stdin": "{\"api-key\":\"hunter2hunter2\"}" }),
    ] {
        assert_eq!(secrets(&params), ["hunter2hunter2"], "{params}");
    }
    for command in [
        "RUST_LOG=debugdebug x",
        "curl -H 'Content-Type: application/json' https://example.com/abcdefgh",
        "cargo test --workspace something-long",
        "git log --author somebody-long",
        "curl -d '{\"user\": \"somebody-long\"}' x",
    ] {
        assert!(secrets(&json!({ "command": command })).is_empty(), "{command}");
    }
}

#[test]
fn what_a_program_is_told_after_an_option_of_its_own_is_a_secret() {
    for command in [
        "mysql -phunter2hunter2 db",
        "mysql -u root -p'hunter2hunter2' db",
        "mysqldump -uroot -phunter2hunter2 --all-databases > x.sql",
        "sudo mysql -phunter2hunter2",
        "docker exec db mysql -phunter2hunter2",
        "sh -c \"mysql -phunter2hunter2 db\"",
        "true && /usr/bin/mysql -phunter2hunter2",
        "docker login -u ann -p hunter2hunter2 registry",
        "docker login -phunter2hunter2",
        "helm registry login -p hunter2hunter2 x",
        "echo hunter2hunter2 | docker login --password-stdin -u ann",
        "echo ann:hunter2hunter2 | chpasswd",
        "redis-cli -a hunter2hunter2 ping",
        "redis-cli --pass hunter2hunter2 ping",
        "redis-cli -u redis://ann:hunter2hunter2@x",
        "sshpass -p hunter2hunter2 ssh -p 2222 host",
        "sshpass -phunter2hunter2 ssh host",
        "curl -uann:hunter2hunter2 x",
        "curl --proxy-user ann:hunter2hunter2 x",
        "curl --oauth2-bearer hunter2hunter2 x",
        "http -a ann:hunter2hunter2 x",
        "psql postgres://ann:hunter2hunter2@host/db",
        "PGPASSWORD=hunter2hunter2 psql",
        "MYSQL_PWD=hunter2hunter2 mysql",
        "openssl enc -aes-256-cbc -pass pass:hunter2hunter2 -in x",
        "openssl rsa -passin pass:hunter2hunter2 -in x",
        "openssl enc -k hunter2hunter2 -in x",
        "unzip -P hunter2hunter2 x.zip",
        "zip -Phunter2hunter2 x.zip y",
        "7z x -phunter2hunter2 x.7z",
        "rar a -hphunter2hunter2 x.rar y",
        "ldapsearch -x -D cn=ann -w hunter2hunter2",
        "ldapsearch -whunter2hunter2",
        "htpasswd -b .htpasswd ann hunter2hunter2",
        "htpasswd -nb ann hunter2hunter2",
        "mongosh -u ann -p hunter2hunter2",
        "sqlcmd -S host -U ann -P hunter2hunter2",
        "smbclient -U ann%hunter2hunter2 //host/x",
        "keytool -genkey -storepass hunter2hunter2",
        "ssh-keygen -t ed25519 -N hunter2hunter2 -f x",
        "vault login hunter2hunter2",
    ] {
        assert_eq!(secrets(&json!({ "command": command })), ["hunter2hunter2"], "{command}");
        let argv: Vec<&str> = command.split(' ').collect();
        if !command.contains(['"', '\'', '|', '&', '>']) {
            assert_eq!(secrets(&json!({ "argv": argv })), ["hunter2hunter2"], "{argv:?}");
        }
    }
    let cookie = secrets(&json!({ "command": "curl -b 'session=hunter2hunter2; a=b' x" }));
    assert!(cookie.iter().any(|it| it.contains("hunter2hunter2")), "{cookie:?}");
    let input = json!({ "command": "docker login --password-stdin", "stdin": "hunter2hunter2\n" });
    assert_eq!(secrets(&input), ["hunter2hunter2"]);
}

#[test]
fn what_the_same_option_means_elsewhere_is_none() {
    for command in [
        "docker run -p 127.0.0.1:8080:80 nginx",
        "docker run -p 127.0.0.1:8080:80 image run login",
        "mkdir -p some/folder/deep",
        "ssh -p 22222222 some-long-host",
        "cp -a source-folder target-folder",
        "tar -b 20-blocks-long -cf archive.tar source-folder",
        "curl -b cookies.txt https://example.com",
        "mysql -p some_database",
        "mysql --port=3306 --protocol=TCP-long",
        "mysql -p\"$DB_PASSWORD_LONG\"",
        "redis-cli -h some-long-host ping-something",
        "unzip -d some-long-folder archive-file.zip",
        "7z a archive-file.7z some-long-folder",
        "ldapsearch -b dc=example,dc=com",
        "grep -w some-long-word some-file.txt",
        "htpasswd -c some-file somebody-long",
        "openssl x509 -in some-long-file.crt",
        "curl --user-agent some-long-agent:1.0 https://example.com",
        "gh pr create --body some-long-text-here",
        "git commit -a -m some-long-message",
        "python3 -u some-long-script.py",
        "npx -p some-package some-command-long",
        "echo some-long-text | cat",
    ] {
        assert!(secrets(&json!({ "command": command })).is_empty(), "{command}");
    }
}
