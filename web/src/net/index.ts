/** What the store may use of the network. Nothing above the store imports this. */
export { Seat } from './attach.ts'
export type { Attachment, Display, Size, Surroundings, Watcher } from './attachment.ts'
export { Follower, type Connection, type Sink, type World } from './follow.ts'
export { ask, commandId, type Answer, type Ask } from './http.ts'
export { Nap } from './nap.ts'
export { adopt } from './page.ts'
