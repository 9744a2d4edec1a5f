/** Optional properties of plain data: absent instead of `undefined`. */

/** `{ [key]: value }`, or `{}` for `undefined`. */
export function given<K extends string, V>(key: K, value: V | undefined): { readonly [P in K]?: V } {
  return (value === undefined ? {} : { [key]: value }) as { readonly [P in K]?: V }; // TypeScript widens computed keys
}
