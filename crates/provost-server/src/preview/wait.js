// Asks how it stands and shows the project's own page as soon as there is one.
const first = document.querySelector('h1').textContent
const again = (ms) => setTimeout(look, ms)

async function look() {
  try {
    const answer = await fetch('/.provost/state', { cache: 'no-store' })
    if (!answer.ok) return again(2000)
    const state = await answer.json()
    if (state.answers || state.title !== first) return location.reload()
    again(500)
  } catch {
    again(1000)
  }
}

again(500)
