/** Parses commands that need no shell: a program and plain words. Pure. */

/** A word or a part of one: unquoted, in single quotes, or in double quotes without characters that a shell expands. */
const PART = /[A-Za-z0-9_@%+=:,./-]+|'[^'\0]*'|"[^"$`\\!\0]*"/y;
const BLANKS = /[ \t]+/y;

/**
 * The words of a command that a shell would only split: no variables, patterns, pipes, redirections, assignments or line
 * ends. `undefined`: the command needs a shell.
 */
export function plainWords(command: string): readonly string[] | undefined {
  const text = command.trim();
  const words: string[] = [];
  let at = 0;
  while (at < text.length) {
    let word: string | undefined;
    for (let part = match(PART, text, at); part !== undefined; part = match(PART, text, at)) {
      word = (word ?? "") + (/^['"]/.test(part) ? part.slice(1, -1) : part);
      at += part.length;
    }
    if (word === undefined) return undefined;
    words.push(word);
    const blanks = match(BLANKS, text, at);
    if (blanks === undefined && at < text.length) return undefined;
    at += blanks?.length ?? 0;
  }
  const [program = ""] = words;
  return program === "" || program.includes("=") ? undefined : words;
}

/** @param pattern must be sticky */
function match(pattern: RegExp, text: string, at: number): string | undefined {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0];
}
