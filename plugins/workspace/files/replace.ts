/** Replaces a passage of a text, matched exactly. Pure. */
import { invalidRequest } from "@svc/sdk";

export interface Replacement {
  readonly oldText: string;
  readonly newText: string;
  /** Replace every occurrence. Default false: exactly one must exist. */
  readonly replaceAll?: boolean | undefined;
}

/** @param name file name for error messages @throws GatewayError `INVALID_REQUEST`: the passage is missing or not unique */
export function replaced(
  text: string,
  { oldText, newText, replaceAll = false }: Replacement,
  name: string,
): { readonly text: string; readonly count: number } {
  if (oldText === "") invalidRequest("oldText is empty; give the passage to replace, or use write");
  if (oldText === newText) invalidRequest("oldText and newText are the same; nothing would change");
  const parts = text.split(oldText);
  const count = parts.length - 1;
  if (count === 0) {
    invalidRequest(
      `oldText is not in ${name}; read the file and copy the passage exactly, including blanks and line ends`,
    );
  }
  if (count > 1 && !replaceAll) {
    invalidRequest(`oldText is in ${name} ${count} times; include more of the surrounding text, or set replaceAll`);
  }
  return { text: parts.join(newText), count };
}
