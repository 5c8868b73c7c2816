//! The fold, as properties over any log.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use proptest::prelude::*;
use provost_core::fold::{
    EventMetadata, MemoryViews, PriorDocument, ViewDocument, ViewKind, affected_documents,
    fold_fact as fold_one,
};
use provost_notebook::{FactMetadata, NotebookState};
use provost_proto::notebook::NotebookFact;
use provost_proto::runtime::{
    BuildFailed, BuildFailureCause, BuildStarted, BuildSucceeded, CrashPhase, CrashReport,
    PortSource, PreviewDetection, PreviewLost, RunCause, RuntimeChange, RuntimeCrashed,
    RuntimeStarted, RuntimeStarting, RuntimeStatus, RuntimeStopped, RuntimeStopping, RuntimeView,
    StopCause, TerminalClosed, TerminalOpened, TerminalSize, TerminalStatus,
};
use provost_proto::{Actor, Event, Fact, Hash, LogCursor, ProjectStatus, Stream, TokenClass};
use uuid::Uuid;

/// One fact a line, under headings with the kind.
const SAMPLES: &str = include_str!("../../provost-proto/tests/golden/files/events.txt");

fn event(seq: u64, kind: &str, body: serde_json::Value) -> Event {
    Event {
        seq,
        stream: Stream::Sys,
        version: seq,
        id: Uuid::from_u128(seq.into()).into(),
        at: seq * 1000,
        principal: format!("local:{}", seq % 3),
        actor: Actor::Cli,
        command: None,
        cause: None,
        kind: kind.to_owned(),
        body,
        prev: Hash::ZERO,
        hash: Hash::ZERO,
    }
}

fn recorded(seq: u64, fact: &Fact) -> Event {
    event(seq, fact.kind(), fact.body().unwrap())
}

/// Facts about four projects and four tokens, in any order, plausible or not.
fn any_spine() -> impl Strategy<Value = Fact> {
    (0..7_u8, 0..4_u128, "[a-z]{0,4}").prop_map(|(which, n, text)| {
        let id = Uuid::from_u128(n);
        match which {
            0 => Fact::DaemonStarted { pid: 1, version: text, listen: String::new() },
            1 => Fact::DaemonStopped { reason: text },
            2 | 3 => Fact::ProjectOpened {
                project: id.into(),
                name: text.clone(),
                slug: text.clone(),
                path: text,
            },
            4 => Fact::ProjectClosed { project: id.into() },
            5 => Fact::TokenCreated {
                token: id.into(),
                class: TokenClass::Viewer,
                project: None,
                role: None,
                holder: None,
                label: text,
                digest: Hash::ZERO,
                page: None,
                notebook: None,
                expires_at: None,
            },
            _ => Fact::TokenRevoked { token: id.into() },
        }
    })
}

/// Changes of the runtimes of two projects, in any order, plausible or not.
fn any_change() -> impl Strategy<Value = RuntimeChange> {
    let cause = StopCause::Stop;
    let run = RuntimeStarted {
        pid: 3,
        command: "npm run dev".to_owned(),
        profile: "serve".to_owned(),
        cause: RunCause::Run,
        restarts: 1,
    };
    let starting = RuntimeStarting {
        command: "npm run dev".to_owned(),
        why: "package.json has a script `dev`".to_owned(),
        cause: RunCause::Run,
        restarts: 0,
    };
    let crash = CrashReport {
        exit_code: Some(1),
        signal: None,
        why: None,
        last_lines: vec!["boom".to_owned()],
        at: 5,
    };
    let phase = CrashPhase::Running;
    let failure = BuildFailed {
        end: BuildFailureCause::Failed,
        exit_code: Some(2),
        signal: None,
        why: None,
        duration_ms: 4,
        errors: Vec::new(),
        omitted: 0,
    };
    let found = PreviewDetection { port: 5173, by: PortSource::Listener, ports: Vec::new() };
    let open = TerminalOpened {
        pid: 9,
        command: "bash".to_owned(),
        profile: "terminal".to_owned(),
        cols: 80,
        rows: 24,
    };
    prop::sample::select(vec![
        RuntimeChange::BuildStarted(BuildStarted { pid: 2, command: "npm run build".to_owned() }),
        RuntimeChange::BuildSucceeded(BuildSucceeded { duration_ms: 3, warnings: Vec::new() }),
        RuntimeChange::BuildFailed(failure),
        RuntimeChange::Starting(starting),
        RuntimeChange::Started(run.clone()),
        RuntimeChange::Restarted(run),
        RuntimeChange::Stopping(RuntimeStopping { cause }),
        RuntimeChange::Stopped(RuntimeStopped { cause, exit_code: Some(0), signal: None }),
        RuntimeChange::Crashed(RuntimeCrashed { phase, crash, restart_in_ms: Some(500) }),
        RuntimeChange::PreviewDetected(found.clone()),
        RuntimeChange::PreviewReady(found),
        RuntimeChange::PreviewLost(PreviewLost {
            port: 5173,
            why: "it went".to_owned(),
            ports: Vec::new(),
        }),
        RuntimeChange::TerminalOpened(open),
        RuntimeChange::TerminalResized(TerminalSize { cols: 1, rows: 2 }),
        RuntimeChange::TerminalClosed(TerminalClosed { cause, exit_code: Some(0), signal: None }),
    ])
}

fn any_fact() -> impl Strategy<Value = Fact> {
    let runtime = (any_change(), 0..2_u128, 1..50_u64).prop_map(|(change, n, report)| {
        change.into_fact(Uuid::from_u128(n).into(), Uuid::from_u128(7).into(), report)
    });
    let kernel = (0..3_u8, 0..2_u128).prop_map(|(which, n)| {
        let (project, boot) = (Uuid::from_u128(n).into(), Uuid::from_u128(n));
        match which {
            0 => Fact::KernelStarted { project, boot, pid: 1, version: "1".to_owned() },
            1 => Fact::KernelLost { project, boot, why: "it ended".to_owned() },
            _ => Fact::KernelStopped { project, boot },
        }
    });
    prop_oneof![any_spine(), runtime, kernel, any_notebook_fact()]
}

/// Facts of one notebook, of every kind, in any order, plausible or not.
fn any_notebook_fact() -> impl Strategy<Value = Fact> {
    let facts: Vec<Fact> = SAMPLES
        .lines()
        .filter(|line| line.starts_with('{'))
        .map(|line| serde_json::from_str(line).unwrap())
        .filter(|fact| NotebookFact::from_fact(fact).is_some())
        .collect();
    prop::sample::select(facts)
}

fn fold<'a>(mut world: MemoryViews, events: impl IntoIterator<Item = &'a Event>) -> MemoryViews {
    for event in events {
        world.apply(event);
    }
    world
}

proptest! {
    #[test]
    fn any_prefix_and_then_the_rest_is_the_whole(
        facts in prop::collection::vec(any_fact(), 0..40), cut in any::<prop::sample::Index>(),
    ) {
        let events: Vec<_> = (1..).zip(&facts).map(|(seq, fact)| recorded(seq, fact)).collect();
        let cut = cut.index(events.len() + 1);
        let whole = fold(MemoryViews::default(), &events);
        let halves = fold(fold(MemoryViews::default(), &events[..cut]), &events[cut..]);
        prop_assert_eq!(whole.hash().unwrap(), halves.hash().unwrap());
    }

    #[test]
    fn a_fact_that_says_it_replaces_a_document_does_not_look_at_it(
        facts in prop::collection::vec(any_fact(), 1..20), last in any_fact(),
    ) {
        let stamp = EventMetadata { cursor: LogCursor::START, at: 1, principal: "local:0", actor: &Actor::Cli, command: None };
        let mut world = MemoryViews::default();
        for fact in &facts {
            world.apply_fact(stamp, fact);
        }
        for (key, before) in affected_documents(&last) {
            let had = world.docs(key.view).find(|(k, _)| **k == key).map(|(_, doc)| doc.clone());
            if before == PriorDocument::Ignored {
                prop_assert_eq!(fold_one(key.view, had, stamp, &last),
                    fold_one(key.view, None, stamp, &last));
            }
        }
    }

    #[test]
    fn a_notebook_in_the_views_is_the_state_that_its_own_crate_folds(
        facts in prop::collection::vec(any_notebook_fact(), 0..60),
    ) {
        let stamp = EventMetadata { cursor: LogCursor::START, at: 1, principal: "local:0", actor: &Actor::Cli, command: None };
        let mut world = MemoryViews::default();
        let mut state = None;
        for fact in &facts {
            world.apply_fact(stamp, fact);
            if let Some(fact) = NotebookFact::from_fact(fact) {
                let state = state.get_or_insert_with(|| NotebookState::new(fact.notebook()));
                state.apply(FactMetadata { at: 1, principal: "local:0" }, &fact);
            }
        }
        let views = ViewKind::ALL.into_iter().flat_map(|view| world.docs(view));
        let folded: Vec<_> =
            views.filter_map(|(_, doc)| doc.clone().into_notebook_document()).collect();
        let own = state.iter().flat_map(NotebookState::documents).map(|(_, doc)| doc.clone());
        prop_assert_eq!(folded, own.collect::<Vec<_>>());
    }

    #[test]
    fn every_fact_is_read_back_from_its_event(fact in any_fact()) {
        prop_assert_eq!(recorded(1, &fact).fact(), Some(fact));
    }

    #[test]
    fn a_runtime_whose_kernel_is_gone_runs_nothing(
        facts in prop::collection::vec(any_fact(), 0..30), which in 0..3_u8,
    ) {
        let stamp = EventMetadata { cursor: LogCursor::START, at: 9, principal: "local:0", actor: &Actor::Kernel, command: None };
        let mut world = MemoryViews::default();
        for fact in &facts {
            world.apply_fact(stamp, fact);
        }
        let (project, boot) = (Uuid::from_u128(1).into(), Uuid::from_u128(1));
        world.apply_fact(stamp, &match which {
            0 => Fact::KernelStarted { project, boot, pid: 1, version: "1".to_owned() },
            1 => Fact::KernelLost { project, boot, why: "it ended".to_owned() },
            _ => Fact::KernelStopped { project, boot },
        });
        let docs = world.docs(ViewKind::Runtimes).filter_map(|(_, doc)| doc.clone().into_runtime());
        for runtime in docs.filter(|runtime: &RuntimeView| runtime.project == project) {
            let gone = matches!(runtime.status, RuntimeStatus::Stopped | RuntimeStatus::Crashed);
            prop_assert!(gone, "{:?}", runtime);
            prop_assert_eq!(runtime.dev_server.pid.or(runtime.build.pid), None);
            prop_assert_eq!(runtime.terminal.pid, None);
            prop_assert!(runtime.terminal.status != TerminalStatus::Live);
            prop_assert!(runtime.preview.port.is_none() && runtime.dev_server.restart_at.is_none());
        }
    }

    #[test]
    fn every_report_of_the_runtime_moves_the_cursor(
        changes in prop::collection::vec(any_change(), 1..20),
    ) {
        let stamp = EventMetadata { cursor: LogCursor::START, at: 9, principal: "local:0", actor: &Actor::Kernel, command: None };
        let (project, boot) = (Uuid::from_u128(1).into(), Uuid::from_u128(1));
        let mut world = MemoryViews::default();
        let started = Fact::KernelStarted { project, boot, pid: 1, version: "1".to_owned() };
        world.apply_fact(stamp, &started);
        for (report, change) in (1..).zip(changes) {
            world.apply_fact(stamp, &change.into_fact(project, Uuid::from_u128(7).into(), report));
            let docs: Vec<_> = world.docs(ViewKind::Kernels).collect();
            prop_assert_eq!(docs.len(), 1);
            let reached = docs[0].1.clone().into_kernel().map(|kernel| kernel.reached);
            prop_assert_eq!(reached, Some(report));
        }
    }

    #[test]
    fn kinds_we_do_not_know_change_nothing(
        facts in prop::collection::vec(any_fact(), 0..20), at in any::<prop::sample::Index>(),
    ) {
        let mut events: Vec<_> = (1..).zip(&facts).map(|(seq, fact)| recorded(seq, fact)).collect();
        let plain = fold(MemoryViews::default(), &events);
        events.insert(at.index(events.len() + 1), event(99, "FROM_THE_FUTURE", serde_json::json!({})));
        prop_assert_eq!(fold(MemoryViews::default(), &events), plain);
    }
}

#[test]
fn a_project_closed_and_opened_again_is_the_same_project() {
    let project = Uuid::from_u128(1).into();
    let opened = Fact::ProjectOpened {
        project,
        name: "app".into(),
        slug: "app".into(),
        path: "/src/app".into(),
    };
    let events =
        [recorded(1, &opened), recorded(2, &Fact::ProjectClosed { project }), recorded(3, &opened)];
    let status = |n: usize| {
        let world = fold(MemoryViews::default(), &events[..n]);
        let docs: Vec<_> = world.docs(ViewKind::Projects).collect();
        match docs[..] {
            [(_, ViewDocument::Project(project))] => project.status,
            _ => panic!("expected one project, got {docs:?}"),
        }
    };
    assert_eq!(status(1), ProjectStatus::Open);
    assert_eq!(status(2), ProjectStatus::Closed);
    assert_eq!(status(3), ProjectStatus::Open);
}
