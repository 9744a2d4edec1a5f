/** What a profile of a program is: the arguments that are known to read and to do nothing else. Data. Choice: the shape. */

/**
 * What a value or an operand may be. `text`: anything that the program does not take for a path or a program; `number`: digits with
 * a sign and a unit (`10`, `+5`, `-1`, `20k`); `path`: a file or directory inside the place of the command; a RegExp: a word that it matches as a whole.
 */
export type Value = "text" | "number" | "path" | RegExp;

/** A program's arguments. What is not named here is a miss. */
export interface Profile {
  /**
   * `options`: as `getopt` reads them, `-la`, `-n 5`, `-n5`, `--lines 5`, `--lines=5`; `words`: each flag is a word of its own, with one
   * dash or none (`find`, `test`); `raw`: any words do. Default `options`.
   */
  readonly style?: "words" | "raw";
  /** Flags without a value, with blanks between them. */
  readonly flags?: string;
  /** Flags that take the next word, or words, as their value. */
  readonly values?: Readonly<Record<string, Value | readonly Value[]>>;
  /** Long flags with or without `=value`. */
  readonly optional?: Readonly<Record<string, Value>>;
  /** `-20` is a flag. */
  readonly digits?: true;
  /** What the first operand is, where it differs from the others. */
  readonly first?: Value;
  /** With one of these flags the first operand is as the others. */
  readonly firstUnless?: string;
  /** What operands are. Absent: there are none. */
  readonly operands?: Value;
  /** Operands at most. Default: any number. */
  readonly most?: number;
  /** It looks into the working directory when it is told no path. */
  readonly walks?: true;
}

/** Profiles by the name of the program. */
export type Profiles = Readonly<Record<string, Profile>>;
