/** `svc gateway call <method>`: one call over one socket. Loads no plugin. */
import { EXIT, type Output } from "./output.ts";
import { connectTo, resolveTarget, type TargetFlags } from "./target.ts";

export interface CallFlags extends TargetFlags {
  readonly params?: string;
  readonly timeout?: string;
  readonly final?: boolean;
}

/** Prints the result. @returns the exit code */
export async function callMethod(method: string, flags: CallFlags, output: Output): Promise<number> {
  let params: unknown;
  try {
    params = flags.params === undefined ? undefined : JSON.parse(flags.params);
  } catch (error) {
    output.note(
      `--params is not JSON: ${(error as Error).message}\nExample: svc gateway call ${method} --params '{"limit": 5}'`,
    );
    return EXIT.usage;
  }
  const timeoutMs = flags.timeout === undefined ? 30_000 : Number(flags.timeout);
  if (!Number.isFinite(timeoutMs) || timeoutMs < 0) {
    output.note(
      `--timeout ${flags.timeout}: it must be milliseconds, 0 for no limit\nExample: svc gateway call ${method} --timeout 60000`,
    );
    return EXIT.usage;
  }
  const client = await connectTo(await resolveTarget(flags, process.env));
  try {
    output.print(await client.request(method, params, { timeoutMs, expectFinal: flags.final ?? false }));
    return EXIT.ok;
  } finally {
    await client.close();
  }
}
