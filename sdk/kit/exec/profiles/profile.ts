/** Profile of a program: the arguments known only to read. Data. Choice: the shape. */

/**
 * Kind of a value or an operand. `text`: anything that the program treats neither as a path nor as a program; `number`:
 * digits with a sign and a unit (`10`, `+5`, `-1`, `20k`); `path`: a file or directory inside the place of the command;
 * a RegExp: must match the whole word.
 */
export type Value = "text" | "number" | "path" | RegExp;

/** Allowed arguments of a program. Anything not named here is a miss. */
export interface Profile {
  /**
   * `options`: parsed like `getopt`: `-la`, `-n 5`, `-n5`, `--lines 5`, `--lines=5`; `words`: each flag is a separate
   * word with one dash or none (`find`, `test`); `raw`: any words. Default `options`.
   */
  readonly style?: "words" | "raw";
  /** Flags without a value, separated by blanks. */
  readonly flags?: string;
  /** Flags whose value is the next word or words. */
  readonly values?: Readonly<Record<string, Value | readonly Value[]>>;
  /** Long flags with an optional `=value`. */
  readonly optional?: Readonly<Record<string, Value>>;
  /** `-20` is a flag. */
  readonly digits?: true;
  /** Kind of the first operand, if it differs from the others. */
  readonly first?: Value;
  /** With one of these flags, the first operand has the kind of the others. */
  readonly firstUnless?: string;
  /** Kind of the operands. Absent: none allowed. */
  readonly operands?: Value;
  /** Maximum number of operands. Default: unlimited. */
  readonly most?: number;
  /** Reads the working directory if no path is given. */
  readonly walks?: true;
}

/** Profiles by the name of the program. */
export type Profiles = Readonly<Record<string, Profile>>;
