// @vitest-environment happy-dom
/** Text that someone else wrote never becomes markup. */
import { render } from '@testing-library/svelte'
import { expect, it } from 'vitest'
import Text from './Text.svelte'

it('draws markup as text, and what cannot be seen as its number', () => {
  const { container } = render(Text, { text: '<img src=x onerror=alert(1)>\u202E' })
  expect(container.querySelector('img')).toBeNull()
  expect(container.textContent).toBe('<img src=x onerror=alert(1)>\\u{202E}')
  expect(container.querySelector('.escaped')?.textContent).toBe('\\u{202E}')
})
