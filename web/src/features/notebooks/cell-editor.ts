/**
 * A text editor on a cell of the store.
 *
 * What is typed goes into the store as change sets, at once; what the store shows after changes of
 * others goes into the editor as the smallest change, so that the selection stays where it was.
 */
import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands'
import { bracketMatching, HighlightStyle, indentOnInput, syntaxHighlighting } from '@codemirror/language'
import { Annotation, Compartment, EditorState, Transaction, type Extension } from '@codemirror/state'
import { drawSelection, EditorView, keymap } from '@codemirror/view'
import { tags } from '@lezer/highlight'
import type { NotebookStore } from '@provost/runtime-core'
import type { CellId, CellKind } from '../../proto/index.ts'

/** The colors of both themes, from the design tokens. */
const COLORS = HighlightStyle.define([
  { tag: [tags.keyword, tags.operatorKeyword, tags.modifier, tags.bool, tags.null], color: 'var(--violet)' },
  { tag: [tags.string, tags.special(tags.string), tags.regexp], color: 'var(--good)' },
  { tag: tags.number, color: 'var(--teal)' },
  { tag: tags.comment, color: 'var(--text-faint)', fontStyle: 'italic' },
  { tag: [tags.function(tags.definition(tags.variableName)), tags.definition(tags.className), tags.typeName, tags.link, tags.url], color: 'var(--accent)' },
  { tag: [tags.heading, tags.strong], fontWeight: '600' },
  { tag: tags.emphasis, fontStyle: 'italic' },
  { tag: tags.invalid, color: 'var(--bad)' },
])

/** Marks changes that come from the store. */
const fromStore = Annotation.define<true>()

/** What an editor tells its cell. */
export type CellEditorEvents = { readonly focused: () => void; readonly failed: (why: string) => void }

/** An editor and how to end it. */
export type CellEditor = { readonly view: EditorView; readonly update: () => void; readonly setKind: (kind: CellKind, language: string) => void; readonly destroy: () => void }

/** The language of a cell, loaded when there is a cell of it: together they are larger than the editor. */
async function loadLanguage(kind: CellKind, language: string): Promise<Extension> {
  if (kind === 'code') return language === 'python' || language === '' ? (await import('@codemirror/lang-python')).python() : []
  if (kind === 'markdown' || kind === 'ai') return (await import('@codemirror/lang-markdown')).markdown()
  return kind === 'sql' ? (await import('@codemirror/lang-sql')).sql() : []
}

/** Creates the editor of a cell. */
export function createCellEditor(parent: HTMLElement, store: NotebookStore, id: CellId, label: string, events: CellEditorEvents): CellEditor {
  const language = new Compartment()
  const cell = store.cell(id)
  const submit = (transaction: Transaction): void => {
    if (!transaction.docChanged || transaction.annotation(fromStore) === true) return
    const base = store.cell(id)?.revision
    if (base === undefined) return
    void store.submit({ name: 'editCell', args: { cell: id, base, changes: transaction.changes.toJSON() as unknown } }).then((result) => {
      if (result.kind === 'rejected') events.failed(result.error)
    })
  }
  const view = new EditorView({
    parent,
    state: EditorState.create({
      doc: cell?.source ?? '',
      extensions: [
        // A carriage return is a character like any other: lengths are those of the store.
        EditorState.lineSeparator.of('\n'),
        EditorView.clipboardInputFilter.of((text) => text.replace(/\r\n?/g, '\n')),
        history(),
        drawSelection(),
        indentOnInput(),
        bracketMatching(),
        syntaxHighlighting(COLORS),
        language.of([]),
        EditorView.lineWrapping,
        EditorView.contentAttributes.of({ 'aria-label': label }),
        EditorView.domEventHandlers({ focus: () => events.focused() }),
        // These belong to the notebook.
        keymap.of([{ key: 'Shift-Enter', run: () => true }, { key: 'Mod-Enter', run: () => true }, { key: 'Alt-Enter', run: () => true }]),
        keymap.of([...defaultKeymap, ...historyKeymap, indentWithTab]),
      ],
    }),
    dispatchTransactions: (transactions, target) => {
      // One after the other: each is on the revision that the one before made.
      for (const transaction of transactions) submit(transaction)
      target.update(transactions)
    },
  })
  const update = (): void => {
    const source = store.cell(id)?.source
    if (source === undefined) return
    const change = smallestChange(view.state.doc.toString(), source)
    if (change !== null) view.dispatch({ changes: change, annotations: [fromStore.of(true), Transaction.addToHistory.of(false)] })
  }
  let wanted = ''
  let isDestroyed = false
  const setKind = (kind: CellKind, name: string): void => {
    const key = `${kind} ${name}`
    wanted = key
    // Without its colors a text can be edited as well.
    void loadLanguage(kind, name).catch((): Extension => []).then((loaded) => {
      if (wanted === key && !isDestroyed) view.dispatch({ effects: language.reconfigure(loaded) })
    })
  }
  const destroy = (): void => {
    isDestroyed = true
    view.destroy()
  }
  return { view, update, setKind, destroy }
}

/** What turns one text into another: all between their common start and their common end. */
export function smallestChange(before: string, after: string): { readonly from: number; readonly to: number; readonly insert: string } | null {
  if (before === after) return null
  const shorter = Math.min(before.length, after.length)
  let start = 0
  while (start < shorter && before[start] === after[start]) start++
  let end = 0
  while (end < shorter - start && before[before.length - 1 - end] === after[after.length - 1 - end]) end++
  return { from: start, to: before.length - end, insert: after.slice(start, after.length - end) }
}
