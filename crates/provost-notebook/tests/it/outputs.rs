//! Outputs in pages: exact, in order, and bounded where they are cleared.

use provost_proto::limits;
use provost_proto::notebook::{
    MimeBundle, MimeData, NotebookCommand, NotebookFact, NotebookView, OutputContent, StreamName,
};
use serde_json::{Map, json};

use crate::world::{World, append, id, print, shown_text};

fn display(text: &str) -> MimeBundle {
    MimeBundle::from([("text/plain".to_owned(), MimeData::Inline(json!(text)))])
}

fn show(fence: u64, output: u128, name: Option<&str>, text: &str) -> NotebookCommand {
    NotebookCommand::AddOutput {
        execution: id(20),
        fence,
        output: id(output),
        content: OutputContent::Display {
            data: display(text),
            metadata: Map::new(),
            display: name.map(str::to_owned),
        },
    }
}

fn pages(world: &World) -> usize {
    let pages = world.state.documents().filter(|(key, _)| key.view == NotebookView::OutputPages);
    pages.count()
}

#[test]
fn a_thousand_appends_give_the_exact_text() {
    let mut world = World::with_cell();
    let fence = world.run(20, 10, 30);
    world.apply(print(20, fence, 40, "start\n"));
    let mut expected = "start\n".to_owned();
    for n in 0..1000 {
        let text = format!("line {n} with some text \u{1f44b}\n");
        expected.push_str(&text);
        world.apply(append(20, fence, 40, &text));
    }
    assert_eq!(shown_text(&world.state, 20), expected);
    let parts = world.state.outputs(id(20));
    assert!(parts.len() > 1, "the text has more than one page");
    assert!(parts.iter().all(|part| part.ordinal == 0 && part.output == id(40)));
    assert!(parts.iter().skip(1).all(|part| part.continues));
    let limit = limits::MAX_PAGE_OUTPUT_BYTES as usize;
    for page in world.state.output_pages(id(20)) {
        assert!(serde_json::to_string(page).unwrap().len() < limit * 2);
    }
}

#[test]
fn ten_thousand_outputs_are_in_small_pages_in_order() {
    let mut world = World::with_cell();
    let fence = world.run(20, 10, 30);
    for n in 0..10_000_u128 {
        world.apply(show(fence, 1000 + n, None, &n.to_string()));
    }
    let ordinals: Vec<_> = world.state.outputs(id(20)).iter().map(|part| part.ordinal).collect();
    assert_eq!(ordinals, (0..10_000).collect::<Vec<_>>());
    let pages = world.state.output_pages(id(20));
    assert!(pages.iter().all(|page| page.parts.len() <= limits::MAX_PAGE_OUTPUTS as usize));
    assert!(serde_json::to_string(world.state.execution(id(20)).unwrap()).unwrap().len() < 1000);
}

#[test]
fn a_program_that_clears_in_a_loop_does_not_make_pages_without_end() {
    let mut world = World::with_cell();
    let fence = world.run(20, 10, 30);
    let mut output = 1000;
    for frame in 0..200 {
        for wait in [true, false] {
            world.apply(NotebookCommand::ClearOutputs { execution: id(20), fence, wait });
            for _ in 0..40 {
                output += 1;
                world.apply(show(fence, output, None, &format!("frame {frame}")));
            }
            let shown = world.state.outputs(id(20));
            assert_eq!(shown.len(), 40);
            let expected = OutputContent::Display {
                data: display(&format!("frame {frame}")),
                metadata: Map::new(),
                display: None,
            };
            assert!(shown.iter().all(|part| part.content == expected));
        }
    }
    assert!(pages(&world) <= 2, "{}", pages(&world));
}

#[test]
fn what_is_cleared_with_the_next_output_stays_until_then() {
    let mut world = World::with_cell();
    let fence = world.run(20, 10, 30);
    world.apply(print(20, fence, 40, "old"));
    world.apply(NotebookCommand::ClearOutputs { execution: id(20), fence, wait: true });
    assert_eq!(shown_text(&world.state, 20), "old");
    world.apply(print(20, fence, 41, "new"));
    assert_eq!(shown_text(&world.state, 20), "new");
    world.apply(NotebookCommand::ClearOutputs { execution: id(20), fence, wait: false });
    assert_eq!(shown_text(&world.state, 20), "");
}

#[test]
fn a_text_continues_on_pages_that_were_cleared() {
    let mut world = World::with_cell();
    let fence = world.run(20, 10, 30);
    let line = format!("{}\n", "x".repeat(9_000));
    world.apply(print(20, fence, 40, &line));
    for _ in 0..9 {
        world.apply(append(20, fence, 40, &line));
    }
    let had = pages(&world);
    world.apply(NotebookCommand::ClearOutputs { execution: id(20), fence, wait: false });
    let line = format!("{}\n", "y".repeat(9_000));
    world.apply(print(20, fence, 41, &line));
    world.apply(append(20, fence, 41, &line));
    world.apply(append(20, fence, 41, &line));
    assert_eq!(shown_text(&world.state, 20), line.repeat(3));
    assert_eq!(pages(&world), had);
}

#[test]
fn all_places_of_a_display_name_are_replaced() {
    let mut world = World::with_cell();
    let fence = world.run(20, 10, 30);
    for output in 40..43 {
        world.apply(show(fence, output, Some("figure"), "old"));
    }
    let replace = |text| NotebookCommand::ReplaceDisplay {
        session: id(30),
        fence,
        display: "figure".to_owned(),
        data: display(text),
        metadata: Map::new(),
    };
    assert_eq!(world.apply(replace("new")).len(), 3);
    for part in world.state.outputs(id(20)) {
        let OutputContent::Display { data, display: name, .. } = &part.content else { panic!() };
        assert_eq!((data, name.as_deref()), (&display("new"), Some("figure")));
    }
    // What was cleared is not written any more.
    world.apply(NotebookCommand::ClearOutputs { execution: id(20), fence, wait: false });
    assert!(world.apply(replace("newer")).is_empty());
    world.apply(show(fence, 50, Some("figure"), "again"));
    assert_eq!(world.apply(replace("newest")).len(), 1);
    let unknown = NotebookCommand::ReplaceDisplay {
        session: id(30),
        fence,
        display: "unknown".to_owned(),
        data: display("x"),
        metadata: Map::new(),
    };
    assert!(world.apply(unknown).is_empty());
}

#[test]
fn a_display_name_in_a_loop_keeps_its_latest_places_only() {
    let mut world = World::with_cell();
    let fence = world.run(20, 10, 30);
    for output in 0..200 {
        world.apply(show(fence, 1000 + output, Some("figure"), "old"));
    }
    let places = &world.state.display("figure").unwrap().places;
    assert_eq!(places.len(), limits::MAX_DISPLAY_PLACES);
    assert_eq!(places.last().unwrap().output, id(1199));
}

#[test]
fn a_person_clears_the_outputs_of_a_cell() {
    let mut world = World::with_cell();
    let fence = world.run(20, 10, 30);
    let clear = || NotebookCommand::ClearCellOutputs { cell: id(10) };
    assert!(world.apply(clear()).is_empty());
    world.apply(print(20, fence, 40, "old"));
    let facts = world.apply(clear());
    assert!(matches!(facts[..], [NotebookFact::OutputsCleared(_)]), "it runs on: {facts:?}");
    world.apply(print(20, fence, 41, "new"));
    assert_eq!(shown_text(&world.state, 20), "new");
    world.apply(crate::world::finish(20, fence, provost_proto::notebook::ExecutionOutcome::Ok));
    world.apply(clear());
    assert_eq!(world.state.cell(id(10)).unwrap().execution, None);
    assert!(world.apply(clear()).is_empty());
}

#[test]
fn the_streams_of_a_program_stay_apart() {
    let mut world = World::with_cell();
    let fence = world.run(20, 10, 30);
    world.apply(print(20, fence, 40, "out"));
    world.apply(NotebookCommand::AddOutput {
        execution: id(20),
        fence,
        output: id(41),
        content: OutputContent::Stream { name: StreamName::Stderr, text: "err".to_owned() },
    });
    world.apply(append(20, fence, 41, "or"));
    let contents: Vec<_> =
        world.state.outputs(id(20)).iter().map(|part| part.content.clone()).collect();
    let stream = |name, text: &str| OutputContent::Stream { name, text: text.to_owned() };
    let expected = [stream(StreamName::Stdout, "out"), stream(StreamName::Stderr, "error")];
    assert_eq!(contents, expected);
}
