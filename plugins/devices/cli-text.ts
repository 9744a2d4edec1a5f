/** Formats a device's own texts for columns and lists. Pure. */
import { cut, visible } from "@svc/sdk/cli";

/** Choice: maximum characters of a name or address in a column. */
const MAX_CELL = 40;

/** Escapes and truncates a text for a column; a blank text becomes `-`. */
export function cell(text: string | undefined): string {
  return cut(visible(text?.trim() ?? ""), MAX_CELL) || "-";
}

/** `a, b`, or `none`. */
export function listed(texts: readonly string[] | undefined): string {
  return texts === undefined || texts.length === 0 ? "none" : texts.map(visible).join(", ");
}
