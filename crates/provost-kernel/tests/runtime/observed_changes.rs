//! The files that changed while a command ran, as its outcome reports them.

use std::fs;
use std::os::unix::fs::MetadataExt as _;

use super::*;

/// A project with its files in a subfolder, because not every machine lets a command
/// create names at the top level.
const FILES: [(&str, &str); 8] = [
    (".gitignore", "out\n*.log\n"),
    ("src/a.log", ""),
    ("src/out/x", ""),
    ("src/README.md", "hello\n"),
    ("src/a.c", "int a;\n"),
    ("src/b.c", "int b;\n"),
    ("src/old/x", "x"),
    ("src/old/y", "y"),
];

impl Kernel {
    /// Waits until a change gets a later time than earlier ones, which takes a clock tick on
    /// older Linux versions.
    fn tick(&self) {
        let path = self.folder.path().join("clock");
        let touch = || {
            fs::write(&path, "").unwrap();
            let meta = fs::metadata(&path).unwrap();
            (meta.ctime(), meta.ctime_nsec())
        };
        let before = touch();
        while touch() <= before {}
    }

    /// The outcome of a command with these parameters.
    pub(super) async fn outcome(&self, id: Uuid) -> Value {
        let mut reports = self.reports.clone();
        let end = |reports: &Vec<Value>| {
            let ours = |report: &&Value| {
                report["action"] == json!(id) && report["what"]["kind"] == "finished"
            };
            reports.iter().find(ours).map(|report| report["what"].clone())
        };
        let reports = timeout(LONG, reports.wait_for(|reports| end(reports).is_some()))
            .await
            .unwrap()
            .unwrap();
        end(&reports).unwrap()
    }

    async fn check(&self, command: &str, wanted: &Value) {
        self.tick();
        let (id, params) = (Uuid::new_v4(), json!({ "command": command, "cwd": "src" }));
        self.act_as(id, "terminal.runCommand", params).await.unwrap();
        let outcome = self.outcome(id).await;
        assert_eq!(outcome["summary"]["meanwhile"], *wanted, "{command}: {outcome}");
    }
}

#[tokio::test]
async fn what_a_command_changed_is_named_at_its_end() {
    let kernel = Kernel::start(&FILES).await;
    for (command, wanted) in [
        (
            "mkdir -p gen && echo z > gen/newfile && sed -i s/hello/bye/ README.md",
            json!({ "changed": ["src/README.md", "src/gen/newfile"] }),
        ),
        ("echo more >> a.c", json!({ "changed": ["src/a.c"] })),
        ("echo x > half; exit 3", json!({ "changed": ["src/half"] })),
        ("ln -s nowhere link", json!({ "changed": ["src/link"] })),
        ("chmod +x half", json!({ "changed": ["src/half"] })),
        // A modification time that was set back hides nothing.
        ("echo b >> a.c; touch -d 2001-01-01 a.c", json!({ "changed": ["src/a.c"] })),
        ("mkdir empty", json!({ "changed": ["src/empty/"] })),
        ("chmod g-w old", json!({ "changed": ["src/old/"] })),
        ("echo y > s3cr3t-Value-42.txt", json!({ "changed": ["src/[redacted: KEY].txt"] })),
    ] {
        kernel.check(command, &wanted).await;
    }
}

#[tokio::test]
async fn of_what_is_gone_the_folder_is_named_where_it_was() {
    let kernel = Kernel::start(&FILES).await;
    for (command, wanted) in [
        ("rm old/x", json!({ "folders": ["src/old"] })),
        (
            "rm a.c; echo z >> README.md",
            json!({ "changed": ["src/README.md"], "folders": ["src"] }),
        ),
        ("mv old new", json!({ "changed": ["src/new/"], "folders": ["src"] })),
        ("rm -r new", json!({ "folders": ["src"] })),
        // An ignored new file does not hide a deleted one.
        ("rm b.c; echo x > new.log", json!({ "folders": ["src"] })),
        // A new file explains the change of the folder.
        ("rm README.md; echo x > other", json!({ "changed": ["src/other"] })),
    ] {
        kernel.check(command, &wanted).await;
    }
}

#[tokio::test]
async fn a_command_that_changes_nothing_of_the_project_is_not_said_to() {
    let kernel = Kernel::start(&FILES).await;
    for command in [
        "true",
        "cat README.md old/* > /dev/null; ls -R > /dev/null; exit 1",
        "echo x > /tmp/elsewhere; rm /tmp/elsewhere",
        "mkdir -p out/deep && echo x > out/deep/y && rm out/x && echo z > a.log",
        "mkdir .git && echo x > .git/index",
    ] {
        kernel.check(command, &Value::Null).await;
    }
}

#[tokio::test]
async fn rules_that_a_command_made_hide_nothing_of_it() {
    let kernel = Kernel::start(&FILES).await;
    let wanted = json!({ "changed": ["src/.gitignore", "src/evil"] });
    kernel.check("echo '*' > .gitignore; echo x > evil", &wanted).await;
}

#[tokio::test]
async fn of_many_changes_some_are_named_and_it_is_said_that_there_are_more() {
    let kernel = Kernel::start(&FILES).await;
    let many = "mkdir many && for i in $(seq 100 249); do : > many/$i; done";
    let names: Vec<_> = (100..200).map(|n| format!("src/many/{n}")).collect();
    kernel.check(many, &json!({ "changed": names, "more": true })).await;
    // Few long names fill an event as well.
    let long = "mkdir long && for i in $(seq 10 50); do : > long/$i$(printf %0200d 0); done";
    let names: Vec<_> = (10..24).map(|n| format!("src/long/{n}{:0200}", 0)).collect();
    kernel.check(long, &json!({ "changed": names, "more": true })).await;
}

#[tokio::test]
async fn of_a_command_in_the_background_it_is_told_when_it_ends() {
    let kernel = Kernel::start(&FILES).await;
    kernel.tick();
    let id = Uuid::new_v4();
    let params =
        json!({ "command": "read line; echo $line > src/late; read line", "background": true });
    kernel.act_as(id, "terminal.runCommand", params).await.unwrap();
    let late = json!({ "id": id, "text": "one\ntwo\n" });
    kernel.act("terminal.write", late).await.unwrap();
    let outcome = kernel.outcome(id).await;
    assert_eq!(outcome["summary"]["meanwhile"], json!({ "changed": ["src/late"] }), "{outcome}");
}
