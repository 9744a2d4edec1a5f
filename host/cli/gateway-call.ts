/** `svc gateway call <method>`: one call over one socket. `svc gateway methods`: lists the callable methods. Loads no plugin. */
import { detailsCode, GatewayError, isGatewayError } from "@svc/sdk/errors";
import { withNext } from "@svc/sdk/cli";
import { EXIT, type Output, refuse } from "./output.ts";
import { atGateway } from "./connect.ts";
import type { TargetFlags } from "./target.ts";

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
    const example = `Example: svc gateway call ${method} --params '{"limit": 5}'`;
    return refuse(`--params is not JSON: ${(error as Error).message}\n${example}`, output, EXIT.usage);
  }
  const timeoutMs = flags.timeout === undefined ? 30_000 : Number(flags.timeout);
  if (!Number.isFinite(timeoutMs) || timeoutMs < 0) {
    const example = `Example: svc gateway call ${method} --timeout 60000`;
    const why = `--timeout ${flags.timeout}: must be milliseconds, 0 for no limit`;
    return refuse(`${why}\n${example}`, output, EXIT.usage);
  }
  const answer = await atGateway(flags, (client) =>
    client.request(method, params, { timeoutMs, expectFinal: flags.final ?? false }).catch((error: unknown) => {
      throw withNextStep(error, method, client.hello.features.methods);
    }),
  );
  output.print(answer);
  return EXIT.ok;
}

/** Prints the methods the gateway advertises. @returns the exit code */
export async function listMethods(flags: TargetFlags, output: Output): Promise<number> {
  const methods = await atGateway(flags, ({ hello }) => Promise.resolve(hello.features.methods.toSorted()));
  output.print(output.json ? { methods } : methods.join("\n"));
  return EXIT.ok;
}

/** For an unknown method: suggests the advertised methods of its namespace, which is more helpful than naming a plugin. */
function withNextStep(error: unknown, method: string, advertised: readonly string[]): unknown {
  if (!isGatewayError(error) || detailsCode(error) !== "UNKNOWN_METHOD") return error;
  const { code, message, details } = error;
  const { plugin } = Object(details) as { readonly plugin?: unknown };
  const [namespace = method] = method.split(".", 1);
  if (plugin !== undefined) return withNext(error, { plugin: namespace, step: () => undefined }); // the error names the plugin that would serve the method
  const near = advertised.filter((name) => name.startsWith(`${namespace}.`));
  const next =
    near.length > 0 ? `one of ${near.join(", ")}` : "svc gateway methods, to list the methods of this gateway";
  return new GatewayError(code, `${message}\nNext: ${next}`, { details });
}
