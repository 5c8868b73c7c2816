/** Outputs as they are drawn: parts that continue each other joined, and the best representation chosen. Pure. */
import type { MimeData, OutputContent, OutputId, OutputPart } from '../../proto/index.ts'

/** One output. */
export type ShownOutput = { readonly id: OutputId; readonly content: OutputContent }

/** What is shown rather than the others, the best first. */
export const MIME_ORDER = [
  'application/vnd.dataresource+json', 'text/html', 'image/svg+xml', 'image/png', 'image/jpeg', 'image/gif', 'image/webp', 'text/markdown', 'application/json', 'text/plain',
] as const

/** The name of a representation that can be drawn. */
export type ShownMime = (typeof MIME_ORDER)[number]

/** The outputs of an execution, with continued texts in one. */
export function joinOutputs(parts: readonly OutputPart[]): readonly ShownOutput[] {
  const shown: ShownOutput[] = []
  for (const { output, content, continues } of parts) {
    const last = shown.at(-1)
    if (continues === true && last?.id === output && 'text' in last.content && 'text' in content) {
      shown[shown.length - 1] = { id: output, content: { ...last.content, text: last.content.text + content.text } }
    } else shown.push({ id: output, content })
  }
  return shown
}

/** The best representation of a bundle, or null if none can be drawn. */
export function chooseMime(data: Readonly<Partial<Record<string, MimeData>>>): { readonly mime: ShownMime; readonly data: MimeData } | null {
  for (const mime of MIME_ORDER) {
    const found = data[mime]
    if (found !== undefined) return { mime, data: found }
  }
  return null
}

/** Rows of a table. */
export type TableData = { readonly columns: readonly string[]; readonly rows: readonly (readonly string[])[] }

/** A Tabular Data Resource as a table, or null if it is none. */
export function readTable(value: unknown): TableData | null {
  const { schema, data } = (value ?? {}) as { readonly schema?: { readonly fields?: readonly { readonly name?: unknown }[] }; readonly data?: unknown }
  if (!Array.isArray(data) || !Array.isArray(schema?.fields)) return null
  const columns = schema.fields.map(({ name }) => String(name))
  const cell = (content: unknown): string => (content === null || content === undefined ? '' : typeof content === 'object' ? JSON.stringify(content) : String(content))
  return { columns, rows: data.map((row: unknown) => columns.map((column) => cell((row as Record<string, unknown> | null)?.[column]))) }
}

/** Text that may be a list of lines, as in files of notebooks. */
export function readText(value: unknown): string {
  return Array.isArray(value) ? value.map(String).join('') : typeof value === 'string' ? value : JSON.stringify(value, null, 2)
}
