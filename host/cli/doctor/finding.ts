/** Findings of `svc doctor` and their repairs. */
import type { DoctorFinding } from "@svc/sdk/cli";

/** A reversible change: no data is destroyed. */
export type Repair =
  /** Sets the mode of a file or directory. */
  | { readonly kind: "mode"; readonly path: string; readonly mode: number }
  /** Moves a file to the directory of the repair. */
  | { readonly kind: "remove"; readonly path: string };

export interface Finding extends DoctorFinding {
  /** The repair that `--fix` makes. Absent: needs a manual repair. */
  readonly repair?: Repair;
}

export function octal(mode: number): string {
  return (mode & 0o777).toString(8).padStart(3, "0");
}

/** Errors, then warnings, then infos, each in the order of the checks. */
export function sorted(findings: readonly Finding[]): Finding[] {
  const order = ["error", "warning", "info"] as const;
  return order.flatMap((severity) => findings.filter((finding) => finding.severity === severity));
}

/** Keeps only the first of several findings of different checks with the same message and next step. */
export function withoutRepeats(findings: readonly Finding[]): Finding[] {
  const said = ({ message, next }: Finding) => JSON.stringify([message, next]);
  return findings.filter(
    (finding, index) =>
      !findings.slice(0, index).some((one) => one.check !== finding.check && said(one) === said(finding)),
  );
}
