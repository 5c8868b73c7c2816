/** What the store may use of the network. Nothing above the store imports this. */
export { Seat } from './terminal/terminal-socket.ts'
export type { Attachment, Display, Size, Surroundings, Watcher } from './terminal/types.ts'
export { Follower, type Connection, type Sink, type World } from './events/event-stream.ts'
export { ask, commandId, type Answer, type Ask } from './http/request.ts'
export { Nap } from './retry/cancellable-delay.ts'
export { adopt } from './http/page-token.ts'
