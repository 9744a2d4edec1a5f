/** The findings of `svc doctor`, and the repairs it can make. */
import type { DoctorFinding } from "@svc/sdk/cli";

/** A change that can be taken back: nothing is destroyed. */
export type Repair =
  /** Sets the mode of a file or directory. */
  | { readonly kind: "mode"; readonly path: string; readonly mode: number }
  /** Moves a file out of the way, and keeps it. */
  | { readonly kind: "remove"; readonly path: string };

export interface Finding extends DoctorFinding {
  /** What `--fix` does. Absent: only a person can repair it. */
  readonly repair?: Repair;
}

export function octal(mode: number): string {
  return (mode & 0o777).toString(8).padStart(3, "0");
}

/** Errors first, then warnings, each in the order of the checks. */
export function sorted(findings: readonly Finding[]): Finding[] {
  const order = ["error", "warning", "info"] as const;
  return order.flatMap((severity) => findings.filter((finding) => finding.severity === severity));
}

/** What two checks found in the same words stands once, as the first of them says it. */
export function withoutRepeats(findings: readonly Finding[]): Finding[] {
  const said = ({ message, next }: Finding) => JSON.stringify([message, next]);
  return findings.filter(
    (finding, index) =>
      !findings.slice(0, index).some((one) => one.check !== finding.check && said(one) === said(finding)),
  );
}
