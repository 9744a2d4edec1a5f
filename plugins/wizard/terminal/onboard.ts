/** Runs `svc onboard`: a gateway, its setup, and what happens to the gateway afterwards. */
import { isAbsolute, resolve } from "node:path";
import { invalidRequest, messageOf } from "@svc/sdk";
import type { CommandContext } from "@svc/sdk/cli";
import { type Answers, byDefaults, byJson, byPerson, Ended } from "./answers.ts";
import { conduct } from "./conduct.ts";
import { afterSetup } from "./after.ts";
import type { OnboardFlags } from "./flags.ts";
import { openGateway } from "./gateway.ts";
import { type Lines, openLines } from "./lines.ts";

/** Exit code of a command that Ctrl-C ended. */
const INTERRUPTED = 130;

/** @returns the exit code: 0 done, 1 refused, failed or cancelled, 130 after Ctrl-C */
export async function onboard(context: CommandContext): Promise<number> {
  const flags = context.options as OnboardFlags;
  if (flags.keyEnv !== undefined && !/^[A-Z_][A-Z0-9_]*$/.test(flags.keyEnv))
    invalidRequest(
      "--key-env needs the name of an environment variable, in capitals, not the key\nNext: export ACME_API_KEY=..., then --key-env ACME_API_KEY",
    );
  const stop = new AbortController();
  const interrupt = () => stop.abort();
  const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
  for (const signal of signals) process.on(signal, interrupt);
  const lines = openLines(context, interrupt);
  try {
    const gateway = await openGateway(context, stop.signal);
    try {
      const answers = answersOf(context, flags, lines);
      const workspace = flags.workspace === undefined ? {} : { workspace: pathOf(flags.workspace) };
      await conduct({ context, client: gateway.client, answers, signal: stop.signal, ...workspace });
      return await afterSetup({ context, gateway, flags, answers, signal: stop.signal });
    } finally {
      await gateway.close();
    }
  } catch (error) {
    if (!stop.signal.aborted && !(error instanceof Ended)) throw error;
    const why = stop.signal.aborted ? "The setup was cancelled." : messageOf(error);
    context.note(`${why} What was set up so far stays.\nNext: svc onboard`);
    return stop.signal.aborted ? INTERRUPTED : 1;
  } finally {
    lines.close();
    for (const signal of signals) process.off(signal, interrupt);
  }
}

function answersOf(context: CommandContext, { yes, provider, keyEnv }: OnboardFlags, lines: Lines): Answers {
  const given = {
    ...(provider === undefined ? {} : { provider }),
    ...(keyEnv === undefined ? {} : { key: `\${${keyEnv}}` }),
  };
  if (yes === true) return byDefaults(given, context);
  return context.json ? byJson(context, lines, given) : byPerson(context, lines, given);
}

/** Relative paths start in the directory of this terminal, which the gateway does not know. */
function pathOf(path: string): string {
  return isAbsolute(path) || /^~(?:\/|$)/.test(path) ? path : resolve(path);
}
