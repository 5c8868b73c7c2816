// Applies the stored theme before the first paint; see src/store/preferences/theme.svelte.ts.
try {
  const theme = localStorage.getItem('provost.theme')
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme
} catch {
  // Storage is forbidden; the system theme is used.
}
