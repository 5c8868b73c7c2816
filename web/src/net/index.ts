/** The part of the network layer that the store may use. No layer above the store imports it. */
export { EventStream, type ConnectionState, type EventSink, type StreamEnvironment } from './events/event-stream.ts'
export { adoptPageToken } from './http/page-token.ts'
export { newCommandId, sendRequest, type ApiRequest, type ApiResult } from './http/request.ts'
export { CancellableDelay } from './retry/cancellable-delay.ts'
export { TerminalSocket, type AttachMode } from './terminal/terminal-socket.ts'
export type { TerminalConnectionState, TerminalDisplay, TerminalEnvironment, TerminalObserver } from './terminal/types.ts'
