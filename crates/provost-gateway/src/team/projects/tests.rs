//! Opening, closing and finding projects in a real log.

use std::path::Path;

use provost_proto::ProjectStatus;

use crate::test_support::TestProject;
use crate::{GatewayError, OpenProjectOutcome};

#[tokio::test]
async fn a_folder_is_one_project_however_often_it_is_opened_and_closed() {
    let test = TestProject::open(&[("a.txt", "a")]).await;
    let (lifecycle, projects) = (&test.gateway.lifecycle, &test.gateway.projects);
    let again = lifecycle.open_project(test.request(), &test.project.path).await.unwrap();
    assert_eq!(again, OpenProjectOutcome::AlreadyOpen(test.project.clone()));
    let closed = lifecycle.close_project(test.request(), &test.project.slug).await.unwrap();
    assert_eq!(closed.status, ProjectStatus::Closed);
    assert_eq!(lifecycle.close_project(test.request(), &closed.slug).await.unwrap(), closed);
    let opened = lifecycle.open_project(test.request(), &test.project.path).await.unwrap();
    let OpenProjectOutcome::Opened(opened) = opened else { panic!("{opened:?}") };
    assert_eq!((opened.id, &opened.slug), (test.project.id, &test.project.slug));
    assert_eq!(projects.list_projects().await.unwrap(), [opened]);
}

#[tokio::test]
async fn a_project_is_found_by_its_id_and_by_a_slug_of_its_own() {
    let test = TestProject::open(&[("a.txt", "a"), ("inner/project/b.txt", "b")]).await;
    let (lifecycle, projects) = (&test.gateway.lifecycle, &test.gateway.projects);
    let inner = Path::new(&test.project.path).join("inner/project");
    let other = lifecycle.open_project(test.request(), inner.to_str().unwrap()).await.unwrap();
    let OpenProjectOutcome::Opened(other) = other else { panic!("{other:?}") };
    assert_ne!(other.slug, test.project.slug, "two folders of one name");
    for project in [&test.project, &other] {
        assert_eq!(projects.get_project(&project.slug).await.unwrap(), *project);
        let id = project.id.uuid().to_string();
        assert_eq!(projects.get_project(&id).await.unwrap(), *project);
    }
    let unknown = projects.get_project("unknown").await;
    assert!(matches!(unknown, Err(GatewayError::ProjectNotFound(name)) if name == "unknown"));
}
