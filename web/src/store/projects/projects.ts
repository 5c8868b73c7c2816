/** The projects, folded from the log. Pure. */
import type { Event, Project, ProjectId } from '../../proto/index.ts'

/** All projects, open or closed, in the order they were first opened. */
export type Projects = ReadonlyMap<ProjectId, Project>

/** The state before the first event. */
export const NO_PROJECTS: Projects = new Map()

/** Folds one event; events about other things change nothing. */
export function foldProjects(projects: Projects, event: Event): Projects {
  if (event.kind === 'PROJECT_OPENED') {
    const { project: id, name, slug, path } = event.body
    const project: Project = {
      id,
      name,
      slug,
      path,
      status: 'open',
      openedAt: event.at,
      openedBy: event.principal,
    }
    return new Map(projects).set(id, project)
  }
  if (event.kind === 'PROJECT_CLOSED') {
    const project = projects.get(event.body.project)
    if (project === undefined) return projects
    return new Map(projects).set(project.id, { ...project, status: 'closed' })
  }
  return projects
}

/** The open projects, by name. */
export function openProjects(projects: Projects): readonly Project[] {
  return sortByName([...projects.values()].filter((project) => project.status === 'open'))
}

/** The closed projects whose folder is not open under another id, by name. */
export function closedProjects(projects: Projects): readonly Project[] {
  const open = new Set(openProjects(projects).map((project) => project.path))
  const closed = new Map<string, Project>()
  for (const project of projects.values()) {
    if (project.status === 'closed' && !open.has(project.path)) closed.set(project.path, project)
  }
  return sortByName([...closed.values()])
}

/** The project with this slug. Slugs are unique within a log. */
export function projectBySlug(projects: Projects, slug: string): Project | undefined {
  for (const project of projects.values()) if (project.slug === slug) return project
  return undefined
}

function sortByName(projects: Project[]): Project[] {
  return projects.sort((a, b) => a.name.localeCompare(b.name) || a.slug.localeCompare(b.slug))
}
