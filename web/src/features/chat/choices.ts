/** Which roles and models can be chosen, and why not the others. Pure. */
import type { ModelList, RoleView } from '../../proto/index.ts'
import { isScripted } from './words.ts'

/** Something to choose. */
export type Choice = {
  readonly value: string
  readonly label: string
  /** Why it cannot be chosen, or null. */
  readonly missing: string | null
}

/** Why a model cannot be asked, or null. */
export function missingOf(model: string, { models, providers }: ModelList): string | null {
  const [name = '', rest = ''] = [model.slice(0, Math.max(0, model.indexOf('/'))), model.slice(model.indexOf('/') + 1)]
  if (name === '' || rest === '') return 'a model is written as provider/model'
  if (name === 'script') return models.some((known) => known.name === model) ? null : 'there is no such script'
  const provider = providers.find((known) => known.name === name)
  if (provider === undefined) return `there is no provider “${name}”`
  return provider.ready ? null : (provider.missing ?? 'it is not ready')
}

/** The models to choose from; the empty one stands for what the role or the daemon says. */
export function modelChoices(role: RoleView | null, list: ModelList): readonly Choice[] {
  const usual = role?.model ?? list.default
  const whose = role?.model == null ? 'the usual one' : 'as the role says'
  const first: Choice =
    usual === null || usual === undefined
      ? { value: '', label: 'As usual', missing: 'neither the role nor the configuration names a model' }
      : { value: '', label: `${usual}, ${whose}`, missing: missingOf(usual, list) }
  const others = list.models.filter(({ name }) => name !== usual)
  return [
    first,
    ...others.map(({ name, title, scripted }): Choice => ({ value: name, label: scripted ? `${name} (scripted, no model)` : title === null || title === name ? name : `${name} (${title})`, missing: null })),
  ]
}

/** Whether any real model can be asked. */
export function hasModel(list: ModelList): boolean {
  return list.providers.some(({ ready }) => ready) || list.models.some(({ name }) => !isScripted(name))
}

/** The role that is chosen where nobody has chosen. */
export function usualRole(roles: readonly RoleView[]): RoleView | null {
  return roles.find(({ trusted }) => trusted) ?? roles[0] ?? null
}
