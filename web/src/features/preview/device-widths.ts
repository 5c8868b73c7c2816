/** Widths of common devices, in CSS pixels. */

/** The name of a width; `full` uses all available space. */
export type Width = 'full' | 'phone' | 'tablet' | 'laptop'

/** The label and size of each width. */
export const WIDTHS = {
  full: { label: 'Full width', px: null },
  phone: { label: 'Phone, 390', px: 390 },
  tablet: { label: 'Tablet, 820', px: 820 },
  laptop: { label: 'Laptop, 1280', px: 1280 },
} as const satisfies Record<Width, { readonly label: string; readonly px: number | null }>
