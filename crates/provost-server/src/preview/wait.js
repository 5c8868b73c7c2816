// Polls the state and reloads the page as soon as the project's server responds.
const first = document.querySelector('h1').textContent
const again = (ms) => setTimeout(poll, ms)

async function poll() {
  try {
    const response = await fetch('/.provost/state', { cache: 'no-store' })
    if (!response.ok) return again(2000)
    const state = await response.json()
    if (state.answers || state.title !== first) return location.reload()
    again(500)
  } catch {
    again(1000)
  }
}

again(500)
