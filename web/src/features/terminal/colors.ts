/** The colors of the terminal. xterm.js draws on a canvas, so it cannot use the design tokens. */
import type { ITheme } from '@xterm/xterm'

const LIGHT = {
  background: '#ffffff',
  foreground: '#1d1d1b',
  cursor: '#4a55c8',
  cursorAccent: '#ffffff',
  selectionBackground: '#4a55c840',
  colors: ['#1d1d1b', '#b3261e', '#1f7a45', '#8a5a00', '#2f5fc4', '#7a3fb0', '#0d6e78', '#55544f', '#63625c', '#c0362c', '#2a7d4c', '#875a08', '#3f6fd0', '#8a4cc4', '#13737d', '#2c2c2a'],
} as const

const DARK = {
  background: '#141518',
  foreground: '#e7e7e4',
  cursor: '#939cff',
  cursorAccent: '#141518',
  selectionBackground: '#939cff4d',
  colors: ['#3a3d44', '#ff8a80', '#5dc98a', '#e3b04b', '#7fabff', '#c79bf2', '#5cc4d0', '#d0d1d4', '#9a9ca3', '#ffa59c', '#82dba6', '#f0c878', '#a2c2ff', '#d8b6f7', '#85d7e0', '#f2f2f0'],
} as const

const NAMES = ['black', 'red', 'green', 'yellow', 'blue', 'magenta', 'cyan', 'white'] as const

/** The colors for a light or a dark page. */
export function terminalTheme(dark: boolean): ITheme {
  const { colors, ...rest } = dark ? DARK : LIGHT
  const theme: Record<string, string> = { ...rest }
  NAMES.forEach((name, index) => {
    theme[name] = colors[index] ?? ''
    theme[`bright${name.charAt(0).toUpperCase()}${name.slice(1)}`] = colors[index + 8] ?? ''
  })
  return theme
}
