/** Selections of the projects. Pure. */
import type { Project, ProjectId } from '../../proto/index.ts'

/** All projects, open or closed. */
export type Projects = ReadonlyMap<ProjectId, Project>

/** The open projects, by name. */
export function openProjects(projects: Projects): readonly Project[] {
  return sortByName([...projects.values()].filter((project) => project.status === 'open'))
}

/** The closed projects whose folder is not open under another id, by name. */
export function closedProjects(projects: Projects): readonly Project[] {
  const open = new Set(openProjects(projects).map((project) => project.path))
  const closed = new Map<string, Project>()
  // Of those with the same folder, the last one that was opened.
  for (const project of [...projects.values()].sort((a, b) => a.openedAt - b.openedAt)) {
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
