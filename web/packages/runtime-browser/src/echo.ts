/** A runtime that prints what it is given. It shows how one is written, and tests use it. */
import type { ExecutionHandler } from './execution-context.ts'

/** Prints the source of a cell. */
export const runEcho: ExecutionHandler = ({ cell, stdout }) => {
  stdout(cell.source.endsWith('\n') || cell.source === '' ? cell.source : `${cell.source}\n`)
}
