/** The part of the network layer that the store may use. No layer above the store imports it. */
export { DocumentStream, type DocumentSink } from './documents/document-stream.ts'
export { EventStream, type EventSink } from './events/event-stream.ts'
export { adoptPageToken } from './http/page-token.ts'
export { fetchWithLogin, newCommandId, sendRequest, type ApiRequest, type ApiResult } from './http/request.ts'
export { CancellableDelay } from './retry/cancellable-delay.ts'
export type { ConnectionState, StreamEnvironment } from './stream/reconnecting-stream.ts'
export { TerminalSocket, type AttachMode } from './terminal/terminal-socket.ts'
export type { TerminalConnectionState, TerminalDisplay, TerminalEnvironment, TerminalObserver } from './terminal/types.ts'
