/** Why a configuration was refused. Pure. */
import { commandText } from "@svc/sdk/cli";
import { isGatewayError } from "@svc/sdk/errors";

export interface ConfigIssue {
  /** Dotted key; `""`: the whole file. */
  readonly path: string;
  readonly message: string;
}

/** The issues in an error of the configuration store; empty: it lists none. */
export function issuesOf(error: unknown): readonly ConfigIssue[] {
  const { issues } = Object(isGatewayError(error) && error.details) as { readonly issues?: unknown };
  return Array.isArray(issues) ? (issues as ConfigIssue[]) : [];
}

export function issueLines(issues: readonly ConfigIssue[]): string[] {
  return issues.map(({ path, message }) => `${path || "(file)"}: ${message}`);
}

/** Path of the first issue, if a text is expected there. */
export function textPathOf([first]: readonly ConfigIssue[]): string | undefined {
  return first?.message.includes("string") ? first.path : undefined;
}

/** A missing variable is set in the shell, not in the file. */
export function stepAfter([first]: readonly ConfigIssue[]): string {
  const [, variable] = /^environment variable (\w+) /.exec(first?.message ?? "") ?? [];
  if (variable) return `export ${variable}=..., here and where the gateway is started`;
  return first?.path ? commandText(["svc", "config", "schema", first.path]) : "svc config validate";
}
