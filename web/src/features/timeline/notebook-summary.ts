/** One-line summaries of the events of a notebook. */
import type { Event, NotebookFact, OutputContent } from '../../proto/index.ts'
import { isTruncated } from './truncated.ts'

/** The events of a notebook. */
export type NotebookLogEvent = Extract<Event, { kind: NotebookFact['kind'] }>

type CellEvent = Extract<NotebookLogEvent, { kind: `CELL_${string}` }>

type RunEvent = Exclude<NotebookLogEvent, CellEvent | { kind: `NOTEBOOK_${string}` }>

/** Events of a notebook, its cells, executions, outputs and runtime sessions. */
export function summarizeNotebookEvent(event: NotebookLogEvent): string {
  if (isTruncated(event)) return 'Large body: open the event to read it'
  switch (event.kind) {
    case 'NOTEBOOK_CREATED':
      return `Notebook ${event.body.title} created`
    case 'NOTEBOOK_RENAMED':
      return `Notebook renamed to ${event.body.title}`
    case 'NOTEBOOK_METADATA_SET':
      return `Metadata ${event.body.key} set`
    case 'NOTEBOOK_SLOTS_SET':
      return `Slots: ${event.body.slots.map((slot) => slot.name).join(', ')}`
    case 'NOTEBOOK_BOUND':
      return event.body.path === null ? 'No longer saved to a file' : `Saved to ${event.body.path} from now on`
    case 'NOTEBOOK_SAVED':
      return `Same as ${event.body.path}`
    case 'NOTEBOOK_DELETED':
      return 'Notebook deleted'
    case 'CELL_CREATED':
    case 'CELL_EDITED':
    case 'CELL_REPLACED':
    case 'CELL_MOVED':
    case 'CELL_KIND_SET':
    case 'CELL_METADATA_SET':
    case 'CELL_SLOT_SET':
    case 'CELL_DELETED':
    case 'CELL_RESTORED':
    case 'CELL_OUTPUTS_CLEARED':
      return summarizeCellEvent(event)
    default:
      return summarizeRunEvent(event)
  }
}

function summarizeCellEvent(event: CellEvent): string {
  switch (event.kind) {
    case 'CELL_CREATED':
      return `Cell created (${event.body.cellKind}): ${event.body.source}`
    case 'CELL_EDITED':
      return `Cell edited, revision ${String(event.body.revision)}`
    case 'CELL_REPLACED':
      return `Cell replaced, revision ${String(event.body.revision)}: ${event.body.source}`
    case 'CELL_MOVED':
      return 'Cell moved'
    case 'CELL_KIND_SET':
      return `Cell is ${event.body.cellKind} now`
    case 'CELL_METADATA_SET':
      return `Metadata ${event.body.key} of a cell set`
    case 'CELL_SLOT_SET':
      return event.body.slot === null ? 'Cell runs by its kind' : `Cell runs in ${event.body.slot}`
    case 'CELL_DELETED':
      return 'Cell deleted'
    case 'CELL_RESTORED':
      return 'Cell restored'
    case 'CELL_OUTPUTS_CLEARED':
      return 'Outputs of a cell cleared'
  }
}

function summarizeRunEvent(event: RunEvent): string {
  switch (event.kind) {
    case 'EXECUTION_REQUESTED':
      return `Execution ${String(event.body.count)} requested: ${event.body.source}`
    case 'EXECUTION_ASSIGNED':
      return 'Execution claimed by a runtime'
    case 'EXECUTION_RETURNED':
      return 'Execution back in the queue'
    case 'EXECUTION_STARTED':
      return 'Execution started'
    case 'EXECUTION_INPUT_ASKED':
      return `Input requested: ${event.body.input.prompt}`
    case 'EXECUTION_INPUT_ANSWERED':
      return event.body.text === null ? 'Secret input given' : `Input: ${event.body.text}`
    case 'EXECUTION_CANCELLED':
      return `Cancellation requested${because(event.body.why)}`
    case 'EXECUTION_FINISHED':
      return `Execution ended: ${event.body.outcome}${because(event.body.why)}`
    case 'OUTPUT_ADDED':
    case 'OUTPUT_APPENDED':
      return describeContent(event.body.content)
    case 'OUTPUT_REPLACED':
      return `Output replaced: ${Object.keys(event.body.data).join(', ')}`
    case 'OUTPUTS_CLEARED':
      return event.body.wait ? 'Outputs are cleared by the next one' : 'Outputs cleared'
    case 'RUNTIME_SESSION_STARTED':
      return `Runtime ${event.body.runtimeType} started in ${event.body.slot}`
    case 'RUNTIME_SESSION_STATUS':
      return `Runtime is ${event.body.status}`
    case 'RUNTIME_SESSION_ENDED':
      return `Runtime ended: ${event.body.reason}${because(event.body.why)}`
    case 'ARTIFACT_ADDED':
      return `Artifact stored: ${event.body.name ?? event.body.mime}, ${String(event.body.size)} bytes`
    default:
      return JSON.stringify((event satisfies never as Event).body)
  }
}

function because(why: string | null): string {
  return why === null ? '' : `: ${why}`
}

function describeContent(content: OutputContent): string {
  switch (content.type) {
    case 'stream':
      return `${content.name}: ${content.text.trimEnd()}`
    case 'markdown':
      return content.text
    case 'error':
      return `${content.name}: ${content.value}`
    case 'display':
    case 'result':
      return `Output: ${Object.keys(content.data).join(', ')}`
  }
}
