/** The widths of common devices, in CSS pixels. */

/** One of them, or as wide as there is room. */
export type Width = 'full' | 'phone' | 'tablet' | 'laptop'

/** How wide, and how it is called. */
export const WIDTHS = {
  full: { name: 'Full width', px: null },
  phone: { name: 'Phone, 390', px: 390 },
  tablet: { name: 'Tablet, 820', px: 820 },
  laptop: { name: 'Laptop, 1280', px: 1280 },
} as const satisfies Record<Width, { readonly name: string; readonly px: number | null }>
