/** Makes text from configuration, files and plugins safe to print. Pure. */
import { visible } from "@svc/sdk/cli";

/** Choice: maximum length of a reason; a source of another plugin may return any text. */
const MOST_CHARS = 500;

/** One line of at most 500 characters with control characters escaped, e.g. `\u001b`. */
export function printable(text: string): string {
  const short = text.length <= MOST_CHARS ? text : `${text.slice(0, MOST_CHARS - 3)}...`;
  return visible(short);
}

/** The system error code, e.g. `EACCES`. The message is left out: it may quote a secret. */
export function codeOf(error: unknown): string {
  const code: unknown = typeof error === "object" && error !== null && "code" in error ? error.code : undefined;
  return typeof code === "string" ? code : "unknown error";
}
