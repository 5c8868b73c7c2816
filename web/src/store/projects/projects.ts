/** The projects of the log: a pure fold, so that a reload is a replay. */
import type { Event, Project, ProjectId } from '../../proto/index.ts'

/** Every project the log knows, open or closed, in the order they first appeared. */
export type Projects = ReadonlyMap<ProjectId, Project>

/** Before the first event. */
export const NO_PROJECTS: Projects = new Map()

/** Folds one event; kinds that say nothing about projects change nothing. */
export function foldProject(projects: Projects, event: Event): Projects {
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

/** The open ones, by name. */
export function openProjects(projects: Projects): readonly Project[] {
  return byName([...projects.values()].filter((project) => project.status === 'open'))
}

/** The closed ones whose folder is not open under another id, by name. */
export function closedProjects(projects: Projects): readonly Project[] {
  const open = new Set(openProjects(projects).map((project) => project.path))
  const closed = new Map<string, Project>()
  for (const project of projects.values()) {
    if (project.status === 'closed' && !open.has(project.path)) closed.set(project.path, project)
  }
  return byName([...closed.values()])
}

/** The project with this slug. Slugs are unique among the projects of a log. */
export function projectBySlug(projects: Projects, slug: string): Project | undefined {
  for (const project of projects.values()) if (project.slug === slug) return project
  return undefined
}

function byName(projects: Project[]): Project[] {
  return projects.sort((a, b) => a.name.localeCompare(b.name) || a.slug.localeCompare(b.slug))
}
