// Applies the remembered theme before the first paint; see src/store/preferences/theme.svelte.ts.
try {
  const theme = localStorage.getItem('provost.theme')
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme
} catch {
  // Storage may be forbidden; then the system's choice holds.
}
