/** Command lines as typed by people. Pure. */

/** Words that need no quoting in a POSIX shell. */
const PLAIN = /^[A-Za-z0-9_@%+=:,./-]+$/;

/** The command line that passes these arguments through a POSIX shell; for display. */
export function commandText(argv: readonly string[]): string {
  return argv.map((word) => (PLAIN.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`)).join(" ");
}
