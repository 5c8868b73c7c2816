// @vitest-environment happy-dom
/** Untrusted text never becomes markup. */
import { render } from '@testing-library/svelte'
import { expect, it } from 'vitest'
import UntrustedText from './UntrustedText.svelte'

it('draws markup as text and invisible characters as code points', () => {
  const { container } = render(UntrustedText, { text: '<img src=x onerror=alert(1)>\u202E' })
  expect(container.querySelector('img')).toBeNull()
  expect(container.textContent).toBe('<img src=x onerror=alert(1)>\\u{202E}')
  expect(container.querySelector('.escaped')?.textContent).toBe('\\u{202E}')
})
