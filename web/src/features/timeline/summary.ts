/** One line that says what an event is about. Kinds we do not know show their body. */
import type { Event, ProjectId } from '../../proto/index.ts'

/** The longest line; the whole body is one click away. */
const LIMIT = 300

/** The name of a project, if the log knows it. */
export type NameOf = (project: ProjectId) => string | undefined

/** The line. It may hold text that an agent wrote: draw it with `Text` only. */
export function summary(event: Event, nameOf: NameOf): string {
  return shorten(sentence(event, nameOf))
}

/** The project whose stream the event is of, by name; null when it is of none. */
export function projectOf(event: Event, nameOf: NameOf): string | null {
  if (!event.stream.startsWith('project/')) return null
  const id = event.stream.slice('project/'.length)
  return nameOf(id) ?? id
}

function sentence(event: Event, nameOf: NameOf): string {
  if ('$blob' in event.body) return 'A large body, kept beside the log'
  switch (event.kind) {
    case 'DAEMON_STARTED':
      return `Daemon ${event.body.version} listens on ${event.body.listen}, process ${String(event.body.pid)}`
    case 'DAEMON_STOPPED':
      return `Daemon stopped: ${event.body.reason}`
    case 'PROJECT_OPENED':
      return `${event.body.name} opened at ${event.body.path}`
    case 'PROJECT_CLOSED':
      return `${nameOf(event.body.project) ?? event.body.project} closed`
    case 'TOKEN_CREATED':
      return event.body.label === ''
        ? `New token of class ${event.body.class}`
        : `New token of class ${event.body.class}: ${event.body.label}`
    case 'TOKEN_REVOKED':
      return `Token ${event.body.token} revoked`
    default:
      return JSON.stringify((event satisfies never as Event).body)
  }
}

/** Cuts a long line, and says how much is missing. */
export function shorten(line: string): string {
  if (line.length <= LIMIT) return line
  return `${line.slice(0, LIMIT).replace(/[\ud800-\udbff]$/, '')}… (${String(line.length - LIMIT)} more characters)`
}

/** The colour of a kind: by what it is about. */
export function tone(kind: string): 'plain' | 'accent' | 'violet' | 'teal' {
  if (kind.startsWith('PROJECT_')) return 'accent'
  if (kind.startsWith('TOKEN_')) return 'violet'
  if (kind.startsWith('DAEMON_')) return 'teal'
  return 'plain'
}
