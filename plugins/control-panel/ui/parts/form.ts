/** Values of forms. */

/** The text of a field; empty if it is absent. */
export function textOf(data: FormData, name: string): string {
  const value = data.get(name);
  return typeof value === "string" ? value : "";
}
