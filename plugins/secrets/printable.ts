/** Texts of configuration, files and plugins in sentences for people. Pure. */
import { visible } from "@svc/sdk/cli";

/** Choice: characters of a reason; a source of another plugin may say anything. */
const MOST_CHARS = 500;

/** One line of at most 500 characters; what steers a terminal becomes visible, e.g. `\u001b`. */
export function printable(text: string): string {
  const short = text.length <= MOST_CHARS ? text : `${text.slice(0, MOST_CHARS - 3)}...`;
  return visible(short);
}

/** The system's code of an error, e.g. `EACCES`. Its message is left out: it may quote what was read. */
export function codeOf(error: unknown): string {
  const code: unknown = typeof error === "object" && error !== null && "code" in error ? error.code : undefined;
  return typeof code === "string" ? code : "unknown error";
}
