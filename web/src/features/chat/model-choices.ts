/** The roles and models that can be chosen, and why others cannot. Pure. */
import type { ModelList, RoleView } from '../../proto/index.ts'
import { isScripted } from './labels.ts'

/** A model in the select box. */
export type ModelChoice = {
  readonly value: string
  readonly label: string
  /** Why it cannot be used, or null. */
  readonly unavailable: string | null
}

/** Why a model cannot be used, or null. */
export function unavailableReason(model: string, { models, providers }: ModelList): string | null {
  const [name = '', rest = ''] = [model.slice(0, Math.max(0, model.indexOf('/'))), model.slice(model.indexOf('/') + 1)]
  if (name === '' || rest === '') return 'use the form provider/model'
  if (name === 'script') return models.some((known) => known.name === model) ? null : 'no such script'
  const provider = providers.find((known) => known.name === name)
  if (provider === undefined) return `unknown provider “${name}”`
  return provider.ready ? null : (provider.missing ?? 'not ready')
}

/** The models to choose from. The empty value stands for the default of the role or the daemon. */
export function modelChoices(role: RoleView | null, list: ModelList): readonly ModelChoice[] {
  const defaultModel = role?.model ?? list.default
  const source = role?.model == null ? 'default' : 'from the role'
  const first: ModelChoice =
    defaultModel === null || defaultModel === undefined
      ? { value: '', label: 'Default', unavailable: 'neither the role nor the configuration names a model' }
      : { value: '', label: `${defaultModel}, ${source}`, unavailable: unavailableReason(defaultModel, list) }
  const others = list.models.filter(({ name }) => name !== defaultModel)
  return [
    first,
    ...others.map(({ name, title, scripted }): ModelChoice => ({ value: name, label: scripted ? `${name} (scripted, no model)` : title === null || title === name ? name : `${name} (${title})`, unavailable: null })),
  ]
}

/** Whether a real model is available. */
export function hasModel(list: ModelList): boolean {
  return list.providers.some(({ ready }) => ready) || list.models.some(({ name }) => !isScripted(name))
}

/** The role that is preselected: the first trusted one. */
export function defaultRole(roles: readonly RoleView[]): RoleView | null {
  return roles.find(({ trusted }) => trusted) ?? roles[0] ?? null
}
