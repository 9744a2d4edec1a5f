/** Texts of configuration, files and plugins in sentences for people. Pure. */

/** Control characters and those that turn the direction of writing: they must not steer a terminal or break a log line. */
// oxlint-disable-next-line no-control-regex -- they are what is looked for
const STEERING = /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** Choice: characters of a reason; a source of another plugin may say anything. */
const MOST_CHARS = 500;

/** One line of at most 500 characters; what steers a terminal becomes visible, e.g. `\u001b`. */
export function printable(text: string): string {
  const short = text.length <= MOST_CHARS ? text : `${text.slice(0, MOST_CHARS - 3)}...`;
  return short.replace(STEERING, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** The system's code of an error, e.g. `EACCES`. Its message is left out: it may quote what was read. */
export function codeOf(error: unknown): string {
  const code: unknown = typeof error === "object" && error !== null && "code" in error ? error.code : undefined;
  return typeof code === "string" ? code : "unknown error";
}
