/** Questions of the commands to the person at the terminal, and changes of the configuration. */
import { invalidRequest } from "@svc/sdk";
import { askYes, canAsk, type CommandContext } from "@svc/sdk/cli";
import { config } from "@svc/sdk/config";

export type Client = Awaited<ReturnType<CommandContext["connect"]>>;

/** Asks; every answer except yes means no. If the command is not interactive, it prints the text and does not ask. */
export async function agrees(context: CommandContext, text: string): Promise<boolean> {
  if (canAsk(context)) return askYes(text, context);
  context.note(text);
  return false;
}

/**
 * The key in an environment variable of this terminal.
 * @throws GatewayError `INVALID_REQUEST` for a name that is none, or a variable that is not set
 */
export function keyOf(name: string, env: NodeJS.ProcessEnv): string {
  if (!/^[A-Z_][A-Z0-9_]*$/.test(name))
    invalidRequest(
      `--key-env needs the name of an environment variable, in capitals, not the key\nNext: export ACME_API_KEY=..., then --key-env ACME_API_KEY`,
    );
  return env[name] || invalidRequest(`${name} is not set in this terminal\nNext: export ${name}=...`);
}

/** `models.providers` of a parsed configuration file. */
export function providersOf(parsed: unknown): Readonly<Record<string, unknown>> {
  const { models } = Object(parsed) as { models?: { providers?: unknown } };
  return Object(models?.providers) as Readonly<Record<string, unknown>>;
}

/** Merges `provider` into `models.providers.<name>`; refused if the file has changed since `snapshot`. */
export async function writeProvider(
  client: Client,
  snapshot: { readonly hash: string; readonly exists: boolean },
  name: string,
  provider: object,
) {
  const raw = JSON.stringify({ models: { providers: { [name]: provider } } });
  return client.call(config.patch, { raw, ...(snapshot.exists ? { baseHash: snapshot.hash } : {}) });
}
