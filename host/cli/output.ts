/** Output and exit codes of commands. */
import { namesNextStep, table as columns, visibleLines } from "@svc/sdk/cli";
import { GatewayError, isGatewayError, messageOf } from "@svc/sdk/errors";
import { issueLines, issuesOf, stepAfter } from "./config/issues.ts";

/** Exit codes of `svc`. Choice. `renew`: the supervisor must start the process again, with the code now on disk. */
export const EXIT = { ok: 0, refused: 1, usage: 2, unreachable: 3, held: 4, renew: 75 } as const;

export interface Output {
  readonly json: boolean;
  print(value: unknown): void;
  note(line: string): void;
}

/**
 * Prints plain text as it is and any other value as JSON: compact with `--json`, else indented. Choice: escapes control and
 * invisible characters here, so that no command can forget to.
 */
export function createOutput(json: boolean): Output {
  return {
    json,
    print(value) {
      const text = typeof value === "string" && !json ? value : JSON.stringify(value, null, json ? undefined : 2);
      process.stdout.write(`${visibleLines(text)}\n`);
    },
    note: (line) => void process.stderr.write(`${visibleLines(line)}\n`),
  };
}

/** Prints why a command did nothing; with `--json`, as its one JSON value. @returns the exit code */
export function refuse(message: string, output: Output, exitCode: number = EXIT.refused): number {
  if (output.json) output.print({ ok: false, error: { code: "LOCAL", message } });
  else output.note(message);
  return exitCode;
}

/** The command line, not the gateway, is at fault. */
export class WrongUsage extends Error {
  override readonly name = "WrongUsage";
}

/** Refusal by a plugin's verb that has its own exit code. */
export class VerbRefusal extends GatewayError {
  readonly exitCode: number;

  constructor({ code, message, details }: GatewayError, exitCode: number) {
    super(code, message, { details });
    this.exitCode = exitCode;
  }
}

/** No gateway answered. */
export class Unreachable extends GatewayError {}

/**
 * Prints a failure as text or JSON.
 * @param help command to suggest if the failure names no next step @returns the exit code
 */
export function reportFailure(error: unknown, { json }: Output, help: string): number {
  if (isGatewayError(error)) {
    const { code, message, details, retryAfterMs } = error;
    if (json)
      process.stdout.write(
        `${visibleLines(JSON.stringify({ ok: false, error: { code, message, details, retryAfterMs } }))}\n`,
      );
    else {
      const issues = issuesOf(error);
      const usual = code === "INTERNAL" ? "svc logs --level error" : issues.length > 0 ? stepAfter(issues) : help;
      const next =
        retryAfterMs === undefined ? nextStep(message, usual) : `Try again in ${Math.ceil(retryAfterMs / 1_000)} s.\n`;
      process.stderr.write(visibleLines([`${code}: ${message}`, ...issueLines(issues), next].join("\n")));
    }
    if (error instanceof VerbRefusal) return error.exitCode;
    return error instanceof Unreachable ? EXIT.unreachable : EXIT.refused;
  }
  const message = messageOf(error);
  if (json) process.stdout.write(`${visibleLines(JSON.stringify({ ok: false, error: { code: "LOCAL", message } }))}\n`);
  else
    process.stderr.write(
      visibleLines(`${isStartRefusal(error) ? "" : "error: "}${message}\n${nextStep(message, help)}`),
    );
  return error instanceof WrongUsage ? EXIT.usage : EXIT.refused;
}

/** Compares the name because only `svc gateway run` loads the class. */
function isStartRefusal(error: unknown): boolean {
  return error instanceof Error && error.name === "StartupRefusal";
}

function nextStep(message: string, help: string): string {
  return namesNextStep(message) ? "" : `Next: ${help}\n`;
}

/** Aligns the cells in columns. */
export function table(rows: readonly (readonly string[])[]): string {
  return columns(rows).join("\n");
}
