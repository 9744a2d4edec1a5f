/** The source `exec`: secrets that a program looks up, e.g. the command line of a vault. Spec: http/config.md §6. */
import type { Clock } from "@svc/sdk";
import type { SecretSource } from "@svc/sdk/secrets";
import { trustedCommand } from "./exec-command.ts";
import { question, readAnswer } from "./exec-protocol.ts";
import { runProgram } from "./exec-run.ts";
import { ExecSettings, problemOf, settingsOf } from "./source-settings.ts";

const ID = /^[A-Za-z0-9][A-Za-z0-9._:/-]{0,255}$/u;

export interface ExecSourceOptions {
  readonly clock: Pick<Clock, "setTimeout">;
  /** Environment from which `passEnv` selects. Default: the environment of the process. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** User of the gateway. Default: the user of the process; `undefined` on platforms without user ids. */
  readonly uid?: number | undefined;
}

export function createExecSource(options: ExecSourceOptions): SecretSource {
  const { clock, env = process.env, uid = process.getuid?.() } = options;
  return {
    check: (provider) => problemOf(ExecSettings, provider),

    checkId: (id) =>
      ID.test(id)
        ? undefined
        : "the id must be at most 256 letters, digits and . _ : / -, starting with a letter or digit",

    async resolve(provider, ids, signal) {
      const settings = settingsOf(ExecSettings, provider);
      const { args, timeoutMs, noOutputTimeoutMs = timeoutMs, maxOutputBytes, jsonOnly } = settings;
      try {
        const output = await runProgram({
          command: await trustedCommand(settings, uid),
          args,
          env: environmentOf(settings, env),
          input: question(provider.name, ids),
          timeoutMs,
          noOutputTimeoutMs,
          maxOutputBytes,
          signal,
          clock,
        });
        return readAnswer(output, ids, { jsonOnly });
      } catch (error) {
        // All errors thrown above are worded by this plugin and quote no output.
        // oxlint-disable-next-line preserve-caught-error -- nothing else may be attached to it
        throw new Error(`secrets.providers.${provider.name}: ${error instanceof Error ? error.message : "it failed"}`);
      }
    },
  };
}

/** Contains only the configured variables. */
function environmentOf(
  { passEnv, env }: ExecSettings,
  own: Readonly<Record<string, string | undefined>>,
): Record<string, string> {
  const passed = passEnv.flatMap((name) => {
    const value = Object.hasOwn(own, name) ? own[name] : undefined;
    return value === undefined ? [] : [[name, value] as const];
  });
  return { ...Object.fromEntries(passed), ...env };
}
