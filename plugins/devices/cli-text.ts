/** What a device says of itself, in columns and lists. Pure. */
import { cut, visible } from "@svc/sdk/cli";

/** Choice: characters of a name or address in a column. */
const MAX_CELL = 40;

/** `visible`, and no longer than a column; blank is `-`. */
export function cell(text: string | undefined): string {
  return cut(visible(text?.trim() ?? ""), MAX_CELL) || "-";
}

/** `a, b`, or `none`. */
export function listed(texts: readonly string[] | undefined): string {
  return texts === undefined || texts.length === 0 ? "none" : texts.map(visible).join(", ");
}
