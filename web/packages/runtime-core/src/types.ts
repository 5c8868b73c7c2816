/** The wire types of notebooks, as the Rust side generates them, and what a page makes of them. */
import type { CellId, ExecutionId, MimeData, NotebookCommand, NotebookDocument, NotebookView, RuntimeEndReason, CellKind, RuntimeSessionId, Code } from '../../../src/proto/index.ts'

export type {
  Artifact, Cell, CellId, CellKind, Code, Execution, ExecutionId, ExecutionOutcome, InputRequest, MimeData, Notebook,
  NotebookCommand, NotebookDocument, NotebookId, NotebookPresence, NotebookSlot, NotebookView, OutputContent, OutputId, OutputPage, OutputPart,
  RuntimeCapabilities, RuntimeEndReason, RuntimeLocation, RuntimeSession, RuntimeSessionId, RuntimeSessionStatus, ServerSyncMessage, ClientSyncMessage,
} from '../../../src/proto/index.ts'

declare const authenticated: unique symbol

/**
 * The principal that the daemon authenticated for this connection. Only a connection makes one, from
 * the daemon's greeting: there is no way to choose, generate or inherit it.
 */
export type ClientId = string & { readonly [authenticated]: true }

/** Representations of one output by MIME type. */
export type MimeBundle = { [mime: string]: MimeData }

/** What a runtime must do, as the store says. */
export type AgentOrder =
  | { readonly execute: { readonly execution: ExecutionId; readonly cell: CellId; readonly kind: CellKind; readonly count: number; readonly source: string; readonly isResumed: boolean } }
  | { readonly interrupt: { readonly execution: ExecutionId } }
  | { readonly stopped: { readonly reason: RuntimeEndReason; readonly why: string | null } }

/** Commands that do not hold any more. Nothing typed is lost: they are here. */
export type RejectedCommands = { readonly id: string; readonly index: number; readonly code: Code; readonly error: string; readonly commands: readonly NotebookCommand[] }

/** What came of a request to the module. */
export type ClientReply = {
  readonly isEverything?: true
  readonly documents: readonly { readonly view: NotebookView; readonly key: string; readonly document: NotebookDocument | null }[]
  readonly confirmed: readonly string[]
  readonly rejected: readonly RejectedCommands[]
  readonly messages: readonly unknown[]
  readonly journaled: readonly unknown[]
  readonly journal?: unknown
  readonly orders: readonly { readonly session: RuntimeSessionId; readonly order: AgentOrder }[]
  readonly backlog: number
  readonly isLive: boolean
  readonly pending: number
  readonly position?: string
  readonly hash?: string
  readonly error?: { readonly code: Code; readonly error: string }
}
