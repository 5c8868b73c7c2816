//! `provost notebook import`, `export` and `run`.

use serde_json::{Value, json};

use crate::Home;

fn code(source: &str) -> Value {
    json!({
        "cell_type": "code", "execution_count": null, "id": format!("c{}", source.len()),
        "metadata": {}, "outputs": [], "source": [source],
    })
}

impl Home {
    /// Writes a notebook of shell cells.
    fn put_notebook(&self, name: &str, sources: &[&str]) -> String {
        let cells: Vec<_> = sources.iter().map(|source| code(source)).collect();
        let file = json!({
            "cells": cells, "nbformat": 4, "nbformat_minor": 5,
            "metadata": { "kernelspec": { "language": "bash", "name": "bash", "display_name": "Bash" } },
        });
        let path = self.path(name);
        std::fs::write(&path, file.to_string()).unwrap();
        path.to_str().unwrap().to_owned()
    }

    fn read_json(&self, name: &str) -> Value {
        serde_json::from_slice(&std::fs::read(self.path(name)).unwrap()).unwrap()
    }
}

#[test]
fn a_file_is_imported_with_its_outputs_and_exported_as_it_was() {
    let home = Home::new();
    home.up();
    let file = json!({
        "cells": [
            { "cell_type": "markdown", "id": "m1", "metadata": { "tags": ["x"] }, "source": ["# A\n", "b"],
              "attachments": { "a.png": { "image/png": "iVBORw0KGgo=" } } },
            { "cell_type": "code", "execution_count": 7, "id": "c1", "metadata": {},
              "source": ["print(1)"], "outputs": [
                { "output_type": "stream", "name": "stdout", "text": ["1\n", "2\n"] },
                { "output_type": "display_data", "metadata": { "k": 1 },
                  "data": { "text/plain": ["x"], "application/vnd.custom+json": { "a": [1] } } },
                { "output_type": "execute_result", "execution_count": 7, "metadata": {},
                  "data": { "text/html": ["<b>1</b>"] } },
              ] },
            { "cell_type": "code", "execution_count": 3, "id": "c2", "metadata": {},
              "source": ["boom"], "outputs": [
                { "output_type": "error", "ename": "E", "evalue": "v", "traceback": ["a", "b"] } ] },
            { "cell_type": "code", "execution_count": null, "id": "c3", "metadata": {},
              "source": [], "outputs": [] },
        ],
        "metadata": { "kernelspec": { "name": "python3", "language": "python", "display_name": "P" },
                      "custom": { "deep": [1, 2] } },
        "nbformat": 4, "nbformat_minor": 5,
    });
    std::fs::write(home.path("sales.ipynb"), file.to_string()).unwrap();
    let path = home.path("sales.ipynb").to_str().unwrap().to_owned();
    let printed = home.run_ok(&["notebook", "import", &path, "--project", "app"]);
    assert!(printed.contains("Imported: ") && printed.contains("sales"), "{printed}");
    let out = home.path("out.ipynb").to_str().unwrap().to_owned();
    home.run_ok(&["notebook", "export", "sales", "--output", &out, "--project", "app"]);
    assert_eq!(home.read_json("out.ipynb"), file);
    let shown = home.run_ok(&["notebook", "show", "sales", "--project", "app"]);
    assert!(shown.contains("[7] code, ok") && shown.contains("E: v"), "{shown}");
    std::fs::write(home.path("bad.ipynb"), "[]").unwrap();
    let bad = home.path("bad.ipynb").to_str().unwrap().to_owned();
    let why = home.run_failing(&["notebook", "import", &bad, "--project", "app"], 1);
    assert!(why.contains("not a notebook file"), "{why}");
}

#[test]
fn a_notebook_runs_headless_and_exits_with_its_result() {
    let home = Home::new();
    home.up();
    let good = home.put_notebook("good.ipynb", &["echo one; echo err >&2", "echo \"two $name\""]);
    let run = |args: &[&str], code| {
        let args = [&["notebook", "run"], args, &["--project", "app"]].concat();
        let output = home.provost(&args).assert().code(code);
        let output = output.get_output();
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        (text(&output.stdout), text(&output.stderr))
    };
    let done = home.path("done.ipynb").to_str().unwrap().to_owned();
    let (out, err) = run(&[&good, "--param", "name=ann", "--output", &done], 0);
    assert_eq!(out, "one\ntwo ann\n");
    assert!(err.contains("err\n") && err.contains("2 of 2 cells passed."), "{err}");
    let done = home.read_json("done.ipynb");
    assert_eq!(done["cells"][1]["outputs"][0]["text"], json!(["two ann\n"]));
    let list = home.run_ok(&["notebook", "list", "--project", "app"]);
    assert!(list.contains("No notebooks"), "the copy was deleted: {list}");

    let bad = home.put_notebook("bad.ipynb", &["echo before", "exit 4", "echo after"]);
    let junit = home.path("junit.xml").to_str().unwrap().to_owned();
    let (out, err) = run(&[&bad, "--junit", &junit, "--keep"], 1);
    assert_eq!(out, "before\n");
    assert!(err.contains("Cell 2 failed: exit code 4"), "{err}");
    let report = std::fs::read_to_string(&junit).unwrap();
    assert!(report.contains("tests=\"3\" failures=\"1\" skipped=\"1\""), "{report}");
    let (_, err) = run(&["bad (run)"], 1);
    assert!(err.contains("exit code 4"), "the kept one runs again: {err}");

    let slow = home.put_notebook("slow.ipynb", &["echo begun; sleep 600"]);
    let (out, err) = run(&[&slow, "--timeout", "2"], 124);
    assert!(out == "begun\n" && err.contains("the time is up"), "{out} {err}");
    let (_, err) = run(&[&slow, "--type", "cobol"], 1);
    assert!(err.contains("no runtime of the type `cobol`"), "{err}");
}
