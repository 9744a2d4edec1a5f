/** Replacing a passage of a text, exactly as it is written. Pure. */
import { invalidRequest } from "@svc/sdk";

export interface Replacement {
  readonly oldText: string;
  readonly newText: string;
  /** Each occurrence. Default false: there has to be exactly one. */
  readonly replaceAll?: boolean | undefined;
}

/** @param name of the file, for refusals @throws GatewayError `INVALID_REQUEST` when the passage is not there, or not once */
export function replaced(
  text: string,
  { oldText, newText, replaceAll = false }: Replacement,
  name: string,
): { readonly text: string; readonly count: number } {
  if (oldText === "") invalidRequest("oldText is empty; give the passage that is to be replaced, or use write");
  if (oldText === newText) invalidRequest("oldText and newText are the same; nothing would change");
  const parts = text.split(oldText);
  const count = parts.length - 1;
  if (count === 0) {
    invalidRequest(
      `oldText is not in ${name}; read the file and copy the passage exactly, with its blanks and line ends`,
    );
  }
  if (count > 1 && !replaceAll) {
    invalidRequest(`oldText is in ${name} ${count} times; give more of its surroundings, or say replaceAll`);
  }
  return { text: parts.join(newText), count };
}
