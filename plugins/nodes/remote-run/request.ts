/** Parses the arguments of `svc nodes run`. Pure. */
import { refusedVariable } from "@svc/kit/exec";
import { invalidRequest } from "@svc/sdk";
import type { CommandContext } from "@svc/sdk/cli";

/** Timeouts of a program and of an approval, in milliseconds. A node has the same limits. */
export const RUN_TIMEOUT_MS = { default: 120_000, most: 3_600_000 } as const;

export interface RunRequest {
  readonly node: string;
  readonly command: readonly string[];
  readonly cwd: string | null;
  readonly env: Readonly<Record<string, string>> | undefined;
  /** Milliseconds. */
  readonly timeoutMs: number;
  /** Milliseconds to wait for an approval. */
  readonly askTimeoutMs: number;
  readonly agentId: string | null;
  readonly sessionKey: string | null;
  /** Whether to request and await an approval if one is needed. */
  readonly wait: boolean;
}

/** @throws GatewayError `INVALID_REQUEST` naming the fault and the right format */
export function readRunRequest({ args, options }: Pick<CommandContext, "args" | "options">): RunRequest {
  const [node = "", ...command] = args;
  return {
    node,
    command,
    cwd: text(options["cwd"]),
    env: readEnvironment(options["env"]),
    timeoutMs: readTimeout(options, "timeout"),
    askTimeoutMs: readTimeout(options, "ask-timeout", "askTimeout"),
    agentId: text(options["agent"]),
    sessionKey: text(options["session"]),
    wait: options["wait"] !== false,
  };
}

function text(value: unknown): string | null {
  return typeof value === "string" && value.trim() !== "" ? value : null;
}

function readEnvironment(given: unknown): Record<string, string> | undefined {
  const pairs = Array.isArray(given) ? given.map(String) : [];
  const env = pairs.map((pair): [string, string] => {
    const at = pair.indexOf("=");
    if (at < 1) invalidRequest("--env takes a name and a value\nNext: write it like --env LANG=C"); // not quoted: the text may be a secret
    const name = pair.slice(0, at);
    const why = refusedVariable(name);
    if (why !== undefined) invalidRequest(`--env: ${why}\nNext: omit it, or set it on the node itself`);
    return [name, pair.slice(at + 1)];
  });
  return env.length === 0 ? undefined : Object.fromEntries(env);
}

/** @param key property of the parsed option, which is in camel case */
function readTimeout(options: CommandContext["options"], name: string, key: string = name): number {
  const given = options[key];
  const written = typeof given === "string" ? given : String(RUN_TIMEOUT_MS.default);
  const ms = /^[1-9]\d{0,9}$/.test(written) ? Number(written) : 0;
  return ms >= 1 && ms <= RUN_TIMEOUT_MS.most
    ? ms
    : invalidRequest(
        `--${name} takes milliseconds from 1 to ${RUN_TIMEOUT_MS.most}, not "${written}"\nNext: e.g. --${name} 60000`,
      );
}
