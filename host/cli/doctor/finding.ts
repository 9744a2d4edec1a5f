/** What a check found, and what can be done about it. */

/** A change that can be taken back: nothing is destroyed. */
export type Repair =
  /** Of a file or directory. */
  | { readonly kind: "mode"; readonly path: string; readonly mode: number }
  /** It is taken out of the way, and kept. */
  | { readonly kind: "remove"; readonly path: string };

export interface Finding {
  readonly severity: "error" | "warning";
  /** Name of the check. */
  readonly check: string;
  /** A file, a key, a plugin. */
  readonly about: string;
  readonly message: string;
  /** What to type or do. */
  readonly next: string;
  /** What `--fix` does. Absent: a person has to. */
  readonly repair?: Repair;
}

export function octal(mode: number): string {
  return (mode & 0o777).toString(8).padStart(3, "0");
}

/** Worst first, in the order of the checks. */
export function sorted(findings: readonly Finding[]): Finding[] {
  return [
    ...findings.filter(({ severity }) => severity === "error"),
    ...findings.filter(({ severity }) => severity !== "error"),
  ];
}
