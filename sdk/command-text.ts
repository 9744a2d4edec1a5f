/** Command lines as people type them. Pure. */

/** Words that a shell takes as they are. */
const PLAIN = /^[A-Za-z0-9_@%+=:,./-]+$/;

/** The command line that means these arguments to a POSIX shell; what people are shown. */
export function commandText(argv: readonly string[]): string {
  return argv.map((word) => (PLAIN.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`)).join(" ");
}
