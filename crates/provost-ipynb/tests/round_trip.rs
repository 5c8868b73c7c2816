//! Files that are read and written again.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;

use proptest::prelude::*;
use provost_ipynb::{IpynbError, read_ipynb, write_ipynb};
use provost_proto::notebook::{CellKind, MimeData, OutputContent};
use serde_json::{Map, Value, json};

fn round_trip(file: &Value) -> (Value, Vec<String>) {
    let (notebook, repaired) = read_ipynb(file).unwrap();
    (write_ipynb(&notebook, &BTreeMap::new()), repaired)
}

/// A file with everything that format 4.5 knows, and things that it does not.
fn full() -> Value {
    json!({
        "nbformat": 4,
        "nbformat_minor": 5,
        "future": { "x": [1, null] },
        "metadata": {
            "kernelspec": { "name": "python3", "display_name": "Python 3", "language": "python" },
            "language_info": { "name": "python", "version": "3.13" },
            "widgets": { "application/vnd.jupyter.widget-state+json": { "state": {} } },
            "title": "All there is",
        },
        "cells": [
            {
                "cell_type": "markdown", "id": "intro-1",
                "metadata": { "tags": ["a"], "slideshow": { "slide_type": "skip" } },
                "attachments": { "a.png": { "image/png": "iVBORw0K" } },
                "source": ["# Title\n", "\n", "text"],
            },
            {
                "cell_type": "code", "id": "code_2", "metadata": { "collapsed": false },
                "execution_count": 7,
                "source": ["print(1)\n", "2"],
                "outputs": [
                    { "output_type": "stream", "name": "stdout", "text": ["1\n", "é\u{1F600}\r2"] },
                    { "output_type": "stream", "name": "stderr", "text": ["warn\n"] },
                    {
                        "output_type": "display_data",
                        "data": {
                            "text/plain": ["<Figure>"],
                            "image/png": ["iVBORw0KGgo=\n"],
                            "application/json": { "a": ["x", "y"] },
                            "application/vnd.vegalite.v5+json": { "mark": "bar" },
                            "application/x-unknown": ["some\n", "thing"],
                        },
                        "metadata": { "image/png": { "width": 10 } },
                    },
                    {
                        "output_type": "execute_result", "execution_count": 7,
                        "data": { "text/plain": ["2"] }, "metadata": {},
                    },
                    {
                        "output_type": "error", "ename": "E", "evalue": "v",
                        "traceback": ["\u{1b}[31mline\u{1b}[0m"],
                    },
                    { "output_type": "later", "anything": [1, 2] },
                    { "output_type": "stream", "name": "other", "text": ["x"], "extra": 1 },
                ],
            },
            { "cell_type": "code", "id": "empty", "metadata": {}, "execution_count": null,
              "source": [], "outputs": [] },
            { "cell_type": "raw", "id": "raw", "metadata": { "format": "text/latex" },
              "source": ["\\alpha\n"] },
        ],
    })
}

#[test]
fn a_file_of_format_4_5_is_written_as_it_was_read() {
    let (written, repaired) = round_trip(&full());
    assert_eq!(written, full());
    assert!(repaired.is_empty(), "{repaired:?}");
}

#[test]
fn what_is_known_is_read() {
    let (notebook, _) = read_ipynb(&full()).unwrap();
    assert_eq!(notebook.title.as_deref(), Some("All there is"));
    assert_eq!(notebook.language.as_deref(), Some("python"));
    let kinds: Vec<_> = notebook.cells.iter().map(|cell| cell.kind).collect();
    assert_eq!(kinds, [CellKind::Markdown, CellKind::Code, CellKind::Code, CellKind::Raw]);
    let code = &notebook.cells[1];
    assert_eq!((&*code.source, code.count, code.outputs.len()), ("print(1)\n2", Some(7), 7));
    assert!(matches!(&code.outputs[0], OutputContent::Stream { text, .. } if text.contains("é")));
    let OutputContent::Display { data, .. } = &code.outputs[2] else { panic!("{code:?}") };
    assert_eq!(data["image/png"], MimeData::Inline(json!("iVBORw0KGgo=\n")));
}

#[test]
fn text_may_be_one_string() {
    let mut file = full();
    file["cells"][1]["source"] = json!("print(1)\n2");
    file["cells"][1]["outputs"][0]["text"] = json!("1\né\u{1F600}\r2");
    assert_eq!(round_trip(&file).0, full());
}

#[test]
fn an_older_file_of_format_4_gets_ids() {
    let mut file = full();
    file["nbformat_minor"] = json!(2);
    for cell in file["cells"].as_array_mut().unwrap() {
        cell.as_object_mut().unwrap().remove("id");
    }
    // One that a made-up id must not take.
    file["cells"][3]["id"] = json!("cell-0");
    let (written, _) = round_trip(&file);
    let ids: Vec<_> = written["cells"].as_array().unwrap().iter().map(|cell| &cell["id"]).collect();
    assert_eq!(ids, ["cell-1", "cell-2", "cell-3", "cell-0"]);
    assert_eq!(written["nbformat_minor"], 5);
}

#[test]
fn a_file_of_format_3_is_upgraded() {
    let file = json!({
        "nbformat": 3, "nbformat_minor": 0, "metadata": { "name": "Old", "signature": "x" },
        "worksheets": [{ "cells": [
            { "cell_type": "heading", "level": 2, "source": ["Head\n", "line"], "metadata": {} },
            { "cell_type": "code", "input": ["1"], "prompt_number": 3, "language": "python",
              "collapsed": true, "metadata": {}, "outputs": [
                { "output_type": "pyout", "prompt_number": 3, "text": ["1"], "png": "iVBO",
                  "metadata": {} },
                { "output_type": "pyerr", "ename": "E", "evalue": "v", "traceback": ["t"] },
                { "output_type": "stream", "stream": "stdout", "text": ["out"] },
            ] },
        ] }],
    });
    let (written, repaired) = round_trip(&file);
    assert_eq!(repaired, ["it was of format 3"]);
    assert_eq!(written["metadata"], json!({ "title": "Old" }));
    assert_eq!(written["cells"][0]["source"], json!(["## Head line"]));
    let code = &written["cells"][1];
    assert_eq!(
        (&code["execution_count"], &code["metadata"]["collapsed"]),
        (&json!(3), &json!(true))
    );
    assert_eq!(code["outputs"][0]["data"], json!({ "text/plain": ["1"], "image/png": ["iVBO"] }));
    assert_eq!(code["outputs"][0]["output_type"], "execute_result");
    assert_eq!(code["outputs"][1]["output_type"], "error");
    assert_eq!(code["outputs"][2]["name"], "stdout");
}

#[test]
fn damage_is_repaired_and_told_and_what_is_no_notebook_is_refused() {
    let file = json!({ "nbformat": 4, "metadata": 7, "cells": [
        3,
        { "cell_type": "video", "source": { "no": "text" } },
        { "cell_type": "code", "source": "x", "outputs": [1], "execution_count": -1 },
    ] });
    let (written, repaired) = round_trip(&file);
    assert_eq!(repaired.len(), 5, "{repaired:?}");
    assert_eq!(written["cells"].as_array().unwrap().len(), 2);
    assert_eq!(round_trip(&written).0, written);
    for (file, error) in [
        (json!([]), IpynbError::NotANotebook("it is no JSON object")),
        (json!({}), IpynbError::NotANotebook("it has no `nbformat`")),
        (json!({ "nbformat": 4, "cells": 1 }), IpynbError::NotANotebook("its `cells` are no list")),
        (json!({ "nbformat": 9 }), IpynbError::UnknownFormat(9)),
    ] {
        assert_eq!(read_ipynb(&file).unwrap_err(), error);
    }
}

#[test]
fn cells_of_kinds_that_files_do_not_know_are_recognized_again() {
    let (mut notebook, _) = read_ipynb(&full()).unwrap();
    notebook.cells[1].kind = CellKind::Sql;
    notebook.cells[2].kind = CellKind::Ai;
    let written = write_ipynb(&notebook, &BTreeMap::new());
    assert_eq!(written["cells"][1]["cell_type"], "code");
    let (again, _) = read_ipynb(&written).unwrap();
    assert_eq!((again.cells[1].kind, again.cells[2].kind), (CellKind::Sql, CellKind::Ai));
    assert_eq!(write_ipynb(&again, &BTreeMap::new()), written);
}

#[test]
fn artifacts_are_written_as_what_they_are() {
    let hash = |n| provost_proto::Hash::new([n; 32]);
    let (mut notebook, _) = read_ipynb(&full()).unwrap();
    let data = [("image/png", 1), ("text/html", 2), ("application/json", 3), ("image/gif", 4)];
    let data =
        data.map(|(mime, n)| (mime.to_owned(), MimeData::Artifact { hash: hash(n), size: 3 }));
    notebook.cells[2].outputs = vec![OutputContent::Display {
        data: BTreeMap::from(data),
        metadata: Map::new(),
        display: None,
    }];
    let artifacts = BTreeMap::from([
        (hash(1), vec![0x89, b'P']),
        (hash(2), b"<p>\n</p>".to_vec()),
        (hash(3), b"{\"a\":1}".to_vec()),
    ]);
    let written = write_ipynb(&notebook, &artifacts);
    let expected = json!({
        "image/png": "iVA=", "text/html": ["<p>\n", "</p>"], "application/json": { "a": 1 },
    });
    assert_eq!(written["cells"][2]["outputs"][0]["data"], expected);
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "\\PC{0,8}\n?".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-z_/+]{0,20}", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn any_output() -> impl Strategy<Value = Value> {
    let kind = prop_oneof![
        Just("stream"),
        Just("display_data"),
        Just("execute_result"),
        Just("error"),
        Just("other")
    ];
    let fields = ["name", "text", "data", "metadata", "execution_count", "ename", "evalue"];
    let fields = prop::sample::select(fields.to_vec());
    (kind, prop::collection::btree_map(fields, any_json(), 0..5)).prop_map(|(kind, fields)| {
        let mut output: Map<_, _> =
            fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        output.insert("output_type".to_owned(), json!(kind));
        Value::Object(output)
    })
}

proptest! {
    #[test]
    fn whatever_is_read_is_stable_once_written(
        outputs in prop::collection::vec(any_output(), 0..4),
        metadata in any_json(),
        source in any_json(),
    ) {
        let file = json!({ "nbformat": 4, "nbformat_minor": 5, "metadata": metadata, "cells": [
            { "cell_type": "code", "id": "a", "source": source, "metadata": {}, "outputs": outputs },
        ] });
        let (written, _) = round_trip(&file);
        let (again, repaired) = round_trip(&written);
        prop_assert_eq!(&again, &written);
        prop_assert!(repaired.is_empty(), "{:?}", repaired);
        let n_written = written["cells"][0]["outputs"].as_array().map(Vec::len);
        prop_assert_eq!(n_written, Some(outputs.len()), "no output is lost");
    }

    #[test]
    fn nothing_that_is_no_notebook_ends_in_a_panic(file in any_json()) {
        drop(read_ipynb(&file));
    }
}
