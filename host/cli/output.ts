/** What commands print, and how they end. */
import { namesNextStep, table as columns, visibleLines } from "@svc/sdk/cli";
import { GatewayError, isGatewayError, messageOf } from "@svc/sdk/errors";

/** Exit codes of `svc`. Choice. `renew`: whoever supervises it is to start it again, with the code that lies there now. */
export const EXIT = { ok: 0, refused: 1, usage: 2, unreachable: 3, held: 4, renew: 75 } as const;

export interface Output {
  readonly json: boolean;
  print(value: unknown): void;
  note(line: string): void;
}

/**
 * Plain text goes out line by line, everything else as JSON: compact with `--json`, indented for people. Choice: what steers a terminal or
 * cannot be seen is made visible here, whoever wrote it, so that no command can forget it.
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

/** Says why a command does nothing, with `--json` as its one value. @returns the exit code */
export function refuse(message: string, output: Output, exitCode: number = EXIT.refused): number {
  if (output.json) output.print({ ok: false, error: { code: "LOCAL", message } });
  else output.note(message);
  return exitCode;
}

/** The command line, not the gateway, is at fault. */
export class WrongUsage extends Error {
  override readonly name = "WrongUsage";
}

/** A refusal of the command line, in the words of whoever read it. */
export class Misuse extends GatewayError {}

/** Nobody who could have refused anything answered. */
export class Unreachable extends GatewayError {}

/**
 * Tells a failure to a person, or as JSON.
 * @param help what to type when the failure itself names no next step. @returns the exit code
 */
export function reportFailure(error: unknown, { json }: Output, help: string): number {
  if (isGatewayError(error)) {
    const { code, message, details, retryAfterMs } = error;
    if (json)
      process.stdout.write(
        `${visibleLines(JSON.stringify({ ok: false, error: { code, message, details, retryAfterMs } }))}\n`,
      );
    else {
      const usual = code === "INTERNAL" ? "svc logs --level error" : help;
      const next =
        retryAfterMs === undefined ? nextStep(message, usual) : `Try again in ${Math.ceil(retryAfterMs / 1_000)} s.\n`;
      process.stderr.write(visibleLines(`${code}: ${message}\n${next}`));
    }
    if (error instanceof Misuse) return EXIT.usage;
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

/** By its name: no command but `svc gateway run` loads the gateway that throws it. */
function isStartRefusal(error: unknown): boolean {
  return error instanceof Error && error.name === "StartupRefusal";
}

function nextStep(message: string, help: string): string {
  return namesNextStep(message) ? "" : `Next: ${help}\n`;
}

/** Columns as wide as their widest cell. */
export function table(rows: readonly (readonly string[])[]): string {
  return columns(rows).join("\n");
}
